//! Columns: the x of every slot.
//!
//! Each row in turn takes the positions nearest to those that would make its lines straight, as far as order and
//! distances within the row permit. The nearest positions are computed exactly in linear time, by pooling slots that
//! would collide (isotonic regression).

use super::{
    GAP,
    mesh::{Mesh, MeshSegment},
    straighten::straighten,
};

/// The space beside a waypoint.
const LINE_GAP: f64 = 12.0;
/// The space between lines at a box, if it is wide enough.
const PORT_GAP: f64 = 20.0;
/// Sweeps that move connected slots together, and then sweeps that straighten lines.
const GATHER: usize = 32;
const ALIGN: usize = 8;

/// Horizontal positions.
pub(super) struct Columns {
    /// The centre of each slot.
    pub(super) slots: Vec<f64>,
    /// The x of the upper and lower end of each segment.
    pub(super) segments: Vec<(f64, f64)>,
}

/// Computes the x of every slot.
pub(super) fn place(mesh: &Mesh) -> Columns {
    let ports = ports(mesh);
    let mut x = pack(mesh);
    for sweep in 0..GATHER + ALIGN {
        let gather = sweep < GATHER;
        for step in 0..mesh.rows.len() {
            let row = if sweep % 2 == 0 { step } else { mesh.rows.len() - 1 - step };
            let wishes: Vec<Wish> = (mesh.rows[row].iter())
                .map(|&slot| {
                    let mut wishes = wishes(mesh, slot, &x, &ports);
                    let middle = if gather { mean(&wishes) } else { median(&mut wishes) };
                    middle.unwrap_or(Wish { x: x[slot], weight: 0.01 })
                })
                .collect();
            settle(mesh, row, &wishes, &mut x);
        }
        if !gather {
            straighten(mesh, &ports, &mut x);
        }
    }
    let segments = (mesh.segments.iter().zip(&ports))
        .map(|(segment, port)| (x[segment.upper] + port.0, x[segment.lower] + port.1))
        .collect();
    Columns { slots: x, segments }
}

/// The offsets of a segment's ends from the centres of its upper and its lower slot. Lines leave a box in the order of
/// their other ends, so that they do not cross at the box.
fn ports(mesh: &Mesh) -> Vec<(f64, f64)> {
    let mut place = vec![0; mesh.slots.len()];
    for row in &mesh.rows {
        for (index, &slot) in row.iter().enumerate() {
            place[slot] = index;
        }
    }
    let mut ports = vec![(0.0, 0.0); mesh.segments.len()];
    for slot in 0..mesh.boxes {
        let room = 2.0 * mesh.slots[slot].left - 24.0;
        let offset = |index: usize, count: usize| {
            let gap = PORT_GAP.min(room / count as f64);
            (index as f64 - (count - 1) as f64 / 2.0) * gap
        };
        let mut below = mesh.below[slot].clone();
        below.sort_by_key(|&segment| (place[mesh.segments[segment].lower], segment));
        for (index, &segment) in below.iter().enumerate() {
            ports[segment].0 = offset(index, below.len());
        }
        let mut above = mesh.above[slot].clone();
        above.sort_by_key(|&segment| (place[mesh.segments[segment].upper], segment));
        for (index, &segment) in above.iter().enumerate() {
            ports[segment].1 = offset(index, above.len());
        }
    }
    ports
}

/// The initial positions: every row packed, centred at zero.
fn pack(mesh: &Mesh) -> Vec<f64> {
    let mut x = vec![0.0; mesh.slots.len()];
    for row in &mesh.rows {
        let mut end = 0.0;
        let mut previous = None;
        for &slot in row {
            if let Some(previous) = previous {
                end += distance(mesh, previous, slot);
            }
            x[slot] = end;
            previous = Some(slot);
        }
        for &slot in row {
            x[slot] -= end / 2.0;
        }
    }
    x
}

/// The least distance between the centres of two adjacent slots.
pub(super) fn distance(mesh: &Mesh, left: usize, right: usize) -> f64 {
    let gap = if mesh.is_box(left) && mesh.is_box(right) { GAP } else { LINE_GAP };
    mesh.slots[left].right + gap + mesh.slots[right].left
}

/// A preferred position of a slot, with its weight.
#[derive(Clone, Copy)]
struct Wish {
    x: f64,
    weight: f64,
}

/// The positions at which each line of a slot would be straight.
fn wishes(mesh: &Mesh, slot: usize, x: &[f64], ports: &[(f64, f64)]) -> Vec<Wish> {
    let above = mesh.above[slot].iter().map(|&segment| Wish {
        x: x[mesh.segments[segment].upper] + ports[segment].0 - ports[segment].1,
        weight: weight(mesh, segment),
    });
    let below = mesh.below[slot].iter().map(|&segment| Wish {
        x: x[mesh.segments[segment].lower] + ports[segment].1 - ports[segment].0,
        weight: weight(mesh, segment),
    });
    above.chain(below).collect()
}

/// How important it is that a segment is straight: most between two waypoints. The segments that join a bundle at a
/// waypoint share one weight, so that their number does not matter.
fn weight(mesh: &Mesh, segment: usize) -> f64 {
    let MeshSegment { upper, lower } = mesh.segments[segment];
    match (mesh.is_box(upper), mesh.is_box(lower)) {
        (true, true) => 1.0,
        (false, false) => 8.0,
        (true, false) => 1.2 / mesh.above[lower].len() as f64,
        (false, true) => 1.2 / mesh.below[upper].len() as f64,
    }
}

/// The weighted mean. Repeated sweeps with it converge.
fn mean(wishes: &[Wish]) -> Option<Wish> {
    let weight: f64 = wishes.iter().map(|wish| wish.weight).sum();
    let sum: f64 = wishes.iter().map(|wish| wish.x * wish.weight).sum();
    (weight > 0.0).then(|| Wish { x: sum / weight, weight })
}

/// The weighted median, which makes at least one line straight; the midpoint of two if both sides have equal weight.
fn median(wishes: &mut [Wish]) -> Option<Wish> {
    wishes.sort_by(|a, b| a.x.total_cmp(&b.x));
    let weight: f64 = wishes.iter().map(|wish| wish.weight).sum();
    let mut passed = 0.0;
    for (index, wish) in wishes.iter().enumerate() {
        passed += wish.weight;
        if 2.0 * passed > weight {
            return Some(Wish { x: wish.x, weight });
        }
        if 2.0 * passed == weight {
            let x = f64::midpoint(wish.x, wishes[index + 1].x);
            return Some(Wish { x, weight });
        }
    }
    None
}

/// Moves a row as near to its wishes as its order and distances permit.
fn settle(mesh: &Mesh, row: usize, wishes: &[Wish], x: &mut [f64]) {
    let slots = &mesh.rows[row];
    // Relative to the positions in a packed row, the distances become a simple order: no slot left of the one before.
    let mut offsets = Vec::with_capacity(slots.len());
    let mut offset = 0.0;
    // Slots that move together: their number, and their common wish with its weight.
    let mut pools: Vec<(usize, Wish)> = Vec::new();
    for (index, wish) in wishes.iter().enumerate() {
        if index > 0 {
            offset += distance(mesh, slots[index - 1], slots[index]);
        }
        offsets.push(offset);
        let mut pool = (1, Wish { x: wish.x - offset, ..*wish });
        while let Some((count, before)) = pools.pop_if(|(_, before)| before.x > pool.1.x) {
            let weight = before.weight + pool.1.weight;
            let x = (before.x * before.weight + pool.1.x * pool.1.weight) / weight;
            pool = (count + pool.0, Wish { x, weight });
        }
        pools.push(pool);
    }
    let settled = pools.iter().flat_map(|(count, wish)| std::iter::repeat_n(wish.x, *count));
    for ((&slot, offset), settled) in slots.iter().zip(offsets).zip(settled) {
        x[slot] = settled + offset;
    }
}

#[cfg(test)]
mod tests {
    use super::{super::BoxSize, *};

    fn wish(x: f64, weight: f64) -> Wish {
        Wish { x, weight }
    }

    #[test]
    fn the_median_follows_weight_and_splits_ties() {
        let middle = |wishes: &mut [Wish]| median(wishes).map(|wish| wish.x);
        assert_eq!(middle(&mut [wish(9.0, 1.0), wish(0.0, 1.0), wish(4.0, 1.0)]), Some(4.0));
        assert_eq!(middle(&mut [wish(9.0, 8.0), wish(0.0, 1.0), wish(4.0, 1.0)]), Some(9.0));
        assert_eq!(middle(&mut [wish(8.0, 1.0), wish(0.0, 1.0)]), Some(4.0));
        assert_eq!(middle(&mut []), None);
    }

    #[test]
    fn slots_with_the_same_preferred_position_are_centred_on_it() {
        let size = BoxSize { width: 100.0 - GAP, height: 40.0, beside: 0.0 };
        let mesh = Mesh::new(&[size; 3], &[], &[], &[0; 3]);
        let mut x = [0.0; 3];
        settle(&mesh, 0, &[wish(50.0, 1.0); 3], &mut x);
        assert_eq!(x, [-50.0, 50.0, 150.0]);
        settle(&mesh, 0, &[wish(-300.0, 1.0), wish(0.0, 3.0), wish(0.0, 1.0)], &mut x);
        assert_eq!(x, [-300.0, -25.0, 75.0]);
    }
}
