//! The graph as rows of slots. Each segment of a line connects slots of two neighbouring rows.

use std::collections::BTreeMap;

use super::{BoxSize, Link};

/// Half the width of a waypoint.
const WAYPOINT: f64 = 2.0;

/// An item of a row: a box, or a waypoint of passing lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeshSlot {
    pub(super) row: usize,
    /// Its extent left and right of its centre.
    pub(super) left: f64,
    pub(super) right: f64,
    /// The height of the box; zero for a waypoint.
    pub(super) height: f64,
}

/// A part of a line between a slot and one in the row below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeshSegment {
    pub(super) upper: usize,
    pub(super) lower: usize,
}

/// The segments that a link draws.
#[derive(Clone, Debug, Default)]
pub(super) struct MeshPath {
    /// Its segments from top to bottom, without those that earlier links of its bundle have drawn. Empty if it is drawn
    /// straight across all rows.
    pub(super) segments: Vec<usize>,
    /// The segment with the label; it belongs to this link alone.
    pub(super) label: usize,
    /// Whether its arrow points up.
    pub(super) upward: bool,
}

/// Slots in rows, and segments between them.
pub(super) struct Mesh {
    /// How many slots are boxes. They come first, in the order of the input.
    pub(super) boxes: usize,
    pub(super) slots: Vec<MeshSlot>,
    /// The slots of each row from left to right.
    pub(super) rows: Vec<Vec<usize>>,
    pub(super) segments: Vec<MeshSegment>,
    /// The segments that end and begin at each slot.
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
    /// One for each link.
    pub(super) paths: Vec<MeshPath>,
}

/// A group of links that share an end and a style, and therefore their waypoints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bundle {
    end: usize,
    at_top: bool,
    upward: bool,
    dashed: bool,
}

impl Mesh {
    /// Builds the mesh. `downward` has the ends of each link, the upper first.
    pub(super) fn new(sizes: &[BoxSize], links: &[Link], downward: &[(usize, usize)], rows: &[usize]) -> Self {
        let slots: Vec<MeshSlot> = (sizes.iter().zip(rows))
            .map(|(size, &row)| MeshSlot {
                row,
                left: size.width / 2.0,
                right: size.width / 2.0 + size.beside,
                height: size.height,
            })
            .collect();
        let mut mesh = Self {
            boxes: slots.len(),
            above: vec![Vec::new(); slots.len()],
            below: vec![Vec::new(); slots.len()],
            slots,
            rows: Vec::new(),
            segments: Vec::new(),
            paths: vec![MeshPath::default(); links.len()],
        };
        let from_top = mesh.lead(links, downward);
        mesh.fill_rows(&from_top);
        mesh
    }

    /// Whether a slot is a box rather than a waypoint.
    pub(super) fn is_box(&self, slot: usize) -> bool {
        slot < self.boxes
    }

    /// Routes every link from row to row, short ones first. Returns for each waypoint whether its bundle begins at the
    /// top.
    fn lead(&mut self, links: &[Link], downward: &[(usize, usize)]) -> Vec<bool> {
        let bundles = |link: usize| {
            let (upper, lower) = downward[link];
            let upward = links[link].from != upper;
            let dashed = links[link].dashed;
            [(upper, true), (lower, false)].map(|(end, at_top)| Bundle { end, at_top, upward, dashed })
        };
        let span = |mesh: &Self, link: usize| {
            let (upper, lower) = downward[link];
            mesh.slots[lower].row - mesh.slots[upper].row
        };
        let mut users: BTreeMap<Bundle, usize> = BTreeMap::new();
        for link in (0..links.len()).filter(|&link| span(self, link) > 1) {
            for bundle in bundles(link) {
                *users.entry(bundle).or_default() += 1;
            }
        }
        // Long links in a deep graph may each need a waypoint in every row. With too many waypoints for a picture, the
        // longest links are drawn straight across instead.
        let limit = 4 * self.boxes + 2_000;
        let mut chains: BTreeMap<Bundle, Vec<usize>> = BTreeMap::new();
        let mut from_top = Vec::new();
        let mut shortest_first: Vec<usize> = (0..links.len()).collect();
        shortest_first.sort_by_key(|&link| span(self, link));
        for link in shortest_first {
            let (upper, lower) = downward[link];
            let span = span(self, link);
            let [top, bottom] = bundles(link);
            let path = if span == 1 {
                vec![self.join(upper, lower)]
            } else if self.slots.len() - self.boxes + span > limit {
                Vec::new()
            } else {
                let bundle = match (users[&top], users[&bottom]) {
                    (top_users, bottom_users) if top_users < bottom_users => bottom,
                    _ => top,
                };
                let chain = chains.entry(bundle).or_insert_with(|| vec![bundle.end]);
                let path = self.follow(chain, span, downward[link], bundle.at_top);
                from_top.resize(self.slots.len() - self.boxes, bundle.at_top);
                path
            };
            let shared = span > 1 && users[&top].max(users[&bottom]) > 1;
            let label = match path.as_slice() {
                [.., last] if shared && users[&top] >= users[&bottom] => *last,
                [first, ..] if shared => *first,
                path => path.get(path.len() / 2).copied().unwrap_or_default(),
            };
            self.paths[link] = MeshPath { segments: path, label, upward: links[link].from != upper };
        }
        from_top
    }

    /// Extends the bundle's chain of waypoints as far as the link needs, and branches the link off it. Returns the new
    /// segments, from top to bottom.
    ///
    /// The chain begins at the end that the bundle shares.
    fn follow(
        &mut self,
        chain: &mut Vec<usize>,
        span: usize,
        (upper, lower): (usize, usize),
        at_top: bool,
    ) -> Vec<usize> {
        let mut fresh = Vec::new();
        let anchor = self.slots[chain[0]].row;
        while chain.len() < span {
            let distance = chain.len();
            let row = if at_top { anchor + distance } else { anchor - distance };
            let (last, next) = (chain[distance - 1], self.waypoint(row));
            chain.push(next);
            fresh.push(if at_top { self.join(last, next) } else { self.join(next, last) });
        }
        if at_top {
            fresh.push(self.join(chain[span - 1], lower));
        } else {
            fresh.push(self.join(upper, chain[span - 1]));
            fresh.reverse();
        }
        fresh
    }

    fn waypoint(&mut self, row: usize) -> usize {
        self.slots.push(MeshSlot { row, left: WAYPOINT, right: WAYPOINT, height: 0.0 });
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        self.slots.len() - 1
    }

    fn join(&mut self, upper: usize, lower: usize) -> usize {
        let segment = self.segments.len();
        self.segments.push(MeshSegment { upper, lower });
        self.below[upper].push(segment);
        self.above[lower].push(segment);
        segment
    }

    /// The initial rows: boxes in the order of the input, waypoints in the middle. If a row has waypoints of bundles
    /// that begin at the top and of others, they are put on opposite sides; otherwise their branches would cross.
    fn fill_rows(&mut self, from_top: &[bool]) {
        let count = self.slots.iter().map(|slot| slot.row + 1).max();
        self.rows = vec![Vec::new(); count.unwrap_or(0)];
        for slot in 0..self.boxes {
            self.rows[self.slots[slot].row].push(slot);
        }
        let mut passing = vec![(Vec::new(), Vec::new()); self.rows.len()];
        for (slot, &from_top) in (self.boxes..).zip(from_top) {
            let (left, right) = &mut passing[self.slots[slot].row];
            if from_top { left } else { right }.push(slot);
        }
        for (row, (left, right)) in self.rows.iter_mut().zip(passing) {
            if left.is_empty() || right.is_empty() {
                let middle = row.len() / 2;
                row.splice(middle..middle, left.into_iter().chain(right));
            } else {
                row.splice(0..0, left);
                row.extend(right);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boxes in the given rows, and solid links that all run down.
    fn mesh(rows: &[usize], ends: &[(usize, usize)]) -> Mesh {
        let size = BoxSize { width: 100.0, height: 40.0, beside: 0.0 };
        let links: Vec<Link> = ends.iter().map(|&(from, to)| Link { from, to, dashed: false, label: 9.0 }).collect();
        Mesh::new(&vec![size; rows.len()], &links, ends, rows)
    }

    #[test]
    fn every_segment_leads_to_the_next_row() {
        let mesh = mesh(&[0, 1, 2, 3, 3], &[(0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4)]);
        for segment in &mesh.segments {
            assert_eq!(mesh.slots[segment.upper].row + 1, mesh.slots[segment.lower].row);
        }
        assert!(mesh.paths.iter().all(|path| path.segments.contains(&path.label)));
    }

    #[test]
    fn long_links_with_a_common_end_share_waypoints() {
        let fan_out = mesh(&[0, 3, 3, 3], &[(0, 1), (0, 2), (0, 3)]);
        assert_eq!(fan_out.slots.len() - fan_out.boxes, 2);
        let fan_in = mesh(&[3, 0, 0, 1], &[(1, 0), (2, 0), (3, 0)]);
        assert_eq!(fan_in.slots.len() - fan_in.boxes, 2);
        let apart = mesh(&[0, 0, 3, 3], &[(0, 2), (1, 3)]);
        assert_eq!(apart.slots.len() - apart.boxes, 4);
    }

    #[test]
    fn the_label_of_a_bundled_link_is_placed_where_the_link_runs_alone() {
        let mesh = mesh(&[0, 3, 3], &[(0, 1), (0, 2)]);
        for (path, target) in mesh.paths.iter().zip([1, 2]) {
            assert_eq!(mesh.segments[path.label].lower, target);
        }
    }
}
