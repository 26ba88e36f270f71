//! Straightens lines that are almost straight.
//!
//! Placing row by row leaves small steps in lines that pass many rows. Here such lines move as a whole, as far as their
//! neighbours permit.

use super::{mesh::Mesh, place::distance};

/// Steps at boxes are removed if they are smaller than this.
const STEP: f64 = 18.0;

/// Aligns runs of slots; no slot moves past a neighbour.
pub(super) fn straighten(mesh: &Mesh, ports: &[(f64, f64)], x: &mut [f64]) {
    let next = runs(mesh, ports, x);
    let room = Room::new(mesh);
    let mut follows = vec![false; next.len()];
    for segment in next.iter().flatten() {
        follows[mesh.segments[*segment].lower] = true;
    }
    for start in (0..next.len()).filter(|&slot| !follows[slot]) {
        let mut run = AlignedRun::at(start, 0.0, &room, x);
        let mut slot = start;
        let mut offset = 0.0;
        while let Some(segment) = next[slot] {
            slot = mesh.segments[segment].lower;
            offset += ports[segment].0 - ports[segment].1;
            if !run.extend(slot, offset, &room, x) {
                run.align(x);
                run = AlignedRun::at(slot, offset, &room, x);
            }
        }
        run.align(x);
    }
}

/// For each slot the segment along which a run continues below it: between waypoints always, at boxes only if they are
/// almost aligned. Segments between waypoints come first, then the straightest.
fn runs(mesh: &Mesh, ports: &[(f64, f64)], x: &[f64]) -> Vec<Option<usize>> {
    let mut candidates: Vec<(bool, f64, usize)> = (mesh.segments.iter().zip(ports).enumerate())
        .map(|(index, (segment, port))| {
            let boxes = mesh.is_box(segment.upper) || mesh.is_box(segment.lower);
            let step = x[segment.upper] + port.0 - x[segment.lower] - port.1;
            (boxes, step.abs(), index)
        })
        .filter(|&(boxes, step, _)| !boxes || step < STEP)
        .collect();
    candidates.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut next = vec![None; mesh.slots.len()];
    let mut follows = vec![false; mesh.slots.len()];
    for (_, _, index) in candidates {
        let segment = mesh.segments[index];
        if next[segment.upper].is_none() && !follows[segment.lower] {
            next[segment.upper] = Some(index);
            follows[segment.lower] = true;
        }
    }
    next
}

/// The neighbours of each slot, and their least distances.
struct Room {
    left: Vec<Option<(usize, f64)>>,
    right: Vec<Option<(usize, f64)>>,
}

impl Room {
    fn new(mesh: &Mesh) -> Self {
        let mut room = Self { left: vec![None; mesh.slots.len()], right: vec![None; mesh.slots.len()] };
        for pair in mesh.rows.iter().flat_map(|row| row.windows(2)) {
            let distance = distance(mesh, pair[0], pair[1]);
            room.right[pair[0]] = Some((pair[1], distance));
            room.left[pair[1]] = Some((pair[0], distance));
        }
        room
    }
}

/// Slots to be aligned, and the permitted range of their line.
struct AlignedRun {
    /// Each slot, and the offset of its centre from the line.
    slots: Vec<(usize, f64)>,
    from: f64,
    to: f64,
}

impl AlignedRun {
    fn at(slot: usize, offset: f64, room: &Room, x: &[f64]) -> Self {
        let mut run = Self { slots: Vec::new(), from: f64::MIN, to: f64::MAX };
        run.extend(slot, offset, room, x);
        run
    }

    /// Adds a slot, if the line can stay straight with it.
    fn extend(&mut self, slot: usize, offset: f64, room: &Room, x: &[f64]) -> bool {
        let least = room.left[slot].map_or(f64::MIN, |(other, gap)| x[other] + gap - offset);
        let most = room.right[slot].map_or(f64::MAX, |(other, gap)| x[other] - gap - offset);
        let (from, to) = (self.from.max(least), self.to.min(most));
        if from > to && !self.slots.is_empty() {
            return false;
        }
        (self.from, self.to) = (from, to);
        self.slots.push((slot, offset));
        true
    }

    /// Puts all slots on one line, as near as possible to their positions.
    fn align(&self, x: &mut [f64]) {
        let sum: f64 = self.slots.iter().map(|&(slot, offset)| x[slot] - offset).sum();
        let line = (sum / self.slots.len() as f64).min(self.to).max(self.from);
        for &(slot, offset) in &self.slots {
            x[slot] = line + offset;
        }
    }
}
