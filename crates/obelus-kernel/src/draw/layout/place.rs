//! Columns: the x of every slot.
//!
//! Each row in turn takes the positions that its neighbours in other rows would
//! like best, as near as order and distances within the row allow. The nearest
//! such positions are found exactly, by pooling slots that would collide
//! (isotonic regression), in linear time.

use super::{GAP, mesh::Mesh};

/// The space beside a waypoint.
const LINE_GAP: f64 = 12.0;
/// The space between lines at a box, where it is wide enough.
const PORT_GAP: f64 = 20.0;
const SWEEPS: usize = 40;

/// Where everything stands from left to right.
pub(super) struct Columns {
    /// The middle of each slot.
    pub(super) slots: Vec<f64>,
    /// Where each segment begins and ends.
    pub(super) segments: Vec<(f64, f64)>,
}

/// Gives every slot its x.
pub(super) fn place(mesh: &Mesh) -> Columns {
    let ports = ports(mesh);
    let mut x = pack(mesh);
    for sweep in 0..SWEEPS {
        // First each row follows one neighbour, so that all move to their place
        // quickly; then both, so that no side is preferred.
        let settling = sweep >= SWEEPS / 2;
        let down = sweep % 2 == 0;
        for step in 0..mesh.rows.len() {
            let row = if down { step } else { mesh.rows.len() - 1 - step };
            let wishes: Vec<Wish> = (mesh.rows[row].iter())
                .map(|&slot| wish(mesh, slot, &x, &ports, settling || down, settling || !down))
                .collect();
            settle(mesh, row, &wishes, &mut x);
        }
    }
    let segments = (mesh.segments.iter().zip(&ports))
        .map(|(segment, port)| (x[segment.upper] + port.0, x[segment.lower] + port.1))
        .collect();
    Columns { slots: x, segments }
}

/// How far from the middle of its upper and its lower slot a segment is
/// attached. Lines leave a box in the order of where they go, so that they do
/// not cross at once.
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

/// To begin with: every row packed, its middle at zero.
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

/// How far apart the middles of two slots side by side have to be.
fn distance(mesh: &Mesh, left: usize, right: usize) -> f64 {
    let gap = if mesh.is_box(left) && mesh.is_box(right) { GAP } else { LINE_GAP };
    mesh.slots[left].right + gap + mesh.slots[right].left
}

/// Where a slot would like to be, and how much.
#[derive(Clone, Copy)]
struct Wish {
    x: f64,
    weight: f64,
}

/// The weighted median of the places at which a slot's lines would be straight:
/// unlike the mean it makes one of them straight, and long lines first.
fn wish(mesh: &Mesh, slot: usize, x: &[f64], ports: &[(f64, f64)], from_above: bool, from_below: bool) -> Wish {
    let mut wishes: Vec<Wish> = Vec::new();
    let mut add = |other: usize, x: f64| {
        let weight = match (mesh.is_box(slot), mesh.is_box(other)) {
            (true, true) => 1.0,
            (false, false) => 8.0,
            _ => 2.0,
        };
        wishes.push(Wish { x, weight });
    };
    if from_above {
        for &segment in &mesh.above[slot] {
            let other = mesh.segments[segment].upper;
            add(other, x[other] + ports[segment].0 - ports[segment].1);
        }
    }
    if from_below {
        for &segment in &mesh.below[slot] {
            let other = mesh.segments[segment].lower;
            add(other, x[other] + ports[segment].1 - ports[segment].0);
        }
    }
    median(&mut wishes).unwrap_or(Wish { x: x[slot], weight: 0.01 })
}

/// The middle of the wishes with their whole weight; between two where neither
/// side has more.
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

/// Moves a row as near to its wishes as its order and distances allow.
fn settle(mesh: &Mesh, row: usize, wishes: &[Wish], x: &mut [f64]) {
    let slots = &mesh.rows[row];
    // Measured from where each slot would be in a packed row, distances become
    // "not further left than the one before".
    let mut offsets = Vec::with_capacity(slots.len());
    let mut offset = 0.0;
    // Slots that move as one: how many, their common wish and its weight.
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
