//! The order of slots within rows, with few crossings.

use super::mesh::{Mesh, MeshSegment};

/// Permutes the rows. Sweeps down and up sort each row by the mean position of connected slots, then neighbours are
/// exchanged if that reduces crossings. The best result of all sweeps is kept.
pub(super) fn untangle(mesh: &mut Mesh) {
    let mut place = vec![0; mesh.slots.len()];
    for row in &mesh.rows {
        number(row, &mut place);
    }
    let mut best = mesh.rows.clone();
    let mut fewest = crossings(mesh, &place);
    // Large graphs get fewer sweeps, to limit the time.
    let sweeps = (1_000_000 / (mesh.segments.len() + 1)).clamp(4, 24);
    for sweep in 0..sweeps {
        if fewest == 0 {
            break;
        }
        let down = sweep % 2 == 0;
        for step in 1..mesh.rows.len() {
            let row = if down { step } else { mesh.rows.len() - 1 - step };
            sort(mesh, row, down, &mut place);
        }
        exchange(mesh, &mut place);
        let count = crossings(mesh, &place);
        if count < fewest {
            fewest = count;
            best.clone_from(&mesh.rows);
        }
    }
    mesh.rows = best;
}

/// Sorts a row by the mean position of each slot's neighbours in the previous row of the sweep. A slot without
/// neighbours is sorted by its current position.
fn sort(mesh: &mut Mesh, row: usize, down: bool, place: &mut [usize]) {
    let mut keyed: Vec<(f64, usize)> = (mesh.rows[row].iter())
        .map(|&slot| {
            let near = neighbours(mesh, slot, down, place);
            let mean = match near.len() {
                0 => place[slot] as f64,
                count => near.iter().sum::<usize>() as f64 / count as f64,
            };
            (mean, slot)
        })
        .collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    mesh.rows[row] = keyed.into_iter().map(|(_, slot)| slot).collect();
    number(&mesh.rows[row], place);
}

/// Exchanges adjacent slots while this reduces the crossings of their own lines.
fn exchange(mesh: &mut Mesh, place: &mut [usize]) {
    for _ in 0..4 {
        let mut changed = false;
        for row in 0..mesh.rows.len() {
            for left in 0..mesh.rows[row].len().saturating_sub(1) {
                let (a, b) = (mesh.rows[row][left], mesh.rows[row][left + 1]);
                let (mut kept, mut swapped) = (0, 0);
                for up in [true, false] {
                    let of_a = neighbours(mesh, a, up, place);
                    let of_b = neighbours(mesh, b, up, place);
                    kept += inversions(&of_a, &of_b);
                    swapped += inversions(&of_b, &of_a);
                }
                if swapped < kept {
                    mesh.rows[row].swap(left, left + 1);
                    place[a] = left + 1;
                    place[b] = left;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
}

/// The sorted positions of a slot's neighbours in the row above or below.
fn neighbours(mesh: &Mesh, slot: usize, above: bool, place: &[usize]) -> Vec<usize> {
    let mut places: Vec<usize> = if above {
        let upper = |&s: &usize| place[mesh.segments[s].upper];
        mesh.above[slot].iter().map(upper).collect()
    } else {
        let lower = |&s: &usize| place[mesh.segments[s].lower];
        mesh.below[slot].iter().map(lower).collect()
    };
    places.sort_unstable();
    places
}

/// How many pairs of lines cross if the slot of `left` is left of the slot of `right`.
fn inversions(left: &[usize], right: &[usize]) -> usize {
    let mut passed = 0;
    left.iter()
        .map(|&place| {
            while right.get(passed).is_some_and(|&other| other < place) {
                passed += 1;
            }
            passed
        })
        .sum()
}

fn number(row: &[usize], place: &mut [usize]) {
    for (index, &slot) in row.iter().enumerate() {
        place[slot] = index;
    }
}

/// How many pairs of segments cross.
fn crossings(mesh: &Mesh, place: &[usize]) -> usize {
    let mut total = 0;
    for (row, slots) in mesh.rows.iter().enumerate() {
        let mut ends: Vec<(usize, usize)> = (slots.iter())
            .flat_map(|&slot| &mesh.below[slot])
            .map(|&segment| {
                let MeshSegment { upper, lower } = mesh.segments[segment];
                (place[upper], place[lower])
            })
            .collect();
        ends.sort_unstable();
        let width = mesh.rows.get(row + 1).map_or(0, Vec::len);
        total += count_inversions(&ends, width);
    }
    total
}

/// Counts pairs of sorted lines whose lower ends are in reverse order, by a Fenwick tree over the lower positions: O(E
/// log V).
fn count_inversions(ends: &[(usize, usize)], width: usize) -> usize {
    let mut tree = vec![0_usize; width + 1];
    let mut total = 0;
    for (before, &(_, lower)) in ends.iter().enumerate() {
        let mut not_right = 0;
        let mut index = lower + 1;
        while index > 0 {
            not_right += tree[index];
            index &= index - 1;
        }
        total += before - not_right;
        let mut index = lower + 1;
        while index <= width {
            tree[index] += 1;
            index += index & index.wrapping_neg();
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_counted_correctly() {
        let mut ends = vec![(0, 2), (0, 3), (1, 0), (1, 2), (2, 1), (2, 3), (3, 0)];
        ends.sort_unstable();
        let by_hand = (ends.iter().enumerate())
            .map(|(i, a)| ends[i..].iter().filter(|b| a.0 < b.0 && a.1 > b.1).count())
            .sum::<usize>();
        assert_eq!(count_inversions(&ends, 4), by_hand);
        assert_eq!(count_inversions(&[(0, 0), (0, 1), (1, 1)], 2), 0);
    }

    #[test]
    fn swapping_neighbours_counts_only_real_crossings() {
        assert_eq!(inversions(&[1, 2], &[0, 1]), 3);
        assert_eq!(inversions(&[0, 1], &[1, 2]), 0);
    }
}
