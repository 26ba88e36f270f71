//! The positions of labels on their lines.
//!
//! Between two rows labels are placed in lanes, one above the other. More lanes reduce overlaps, but increase the
//! height of the picture.

use std::collections::BTreeMap;

use super::{Link, mesh::Mesh, place::Columns};

/// The height of a lane.
pub(super) const LANE: f64 = 19.0;
/// The most lanes between two rows.
const LANES: usize = 6;

/// The labels between a row and the next.
#[derive(Default)]
pub(super) struct RowLabels {
    pub(super) hung: Vec<Label>,
    pub(super) lanes: usize,
}

/// The position of a label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) link: usize,
    /// Its centre.
    pub(super) x: f64,
    /// Its vertical position between the rows, from 0 to 1.
    pub(super) depth: f64,
}

/// A label to be placed on a curve.
struct WantedLabel {
    link: usize,
    curve: (f64, f64),
    width: f64,
}

/// Finds a position for each label whose link has segments, row by row.
pub(super) fn hang_labels(mesh: &Mesh, links: &[Link], columns: &Columns) -> Vec<RowLabels> {
    let mut texts: Vec<Vec<WantedLabel>> = Vec::new();
    texts.resize_with(mesh.rows.len().saturating_sub(1), Vec::new);
    for (link, path) in mesh.paths.iter().enumerate() {
        if links[link].label > 0.0 && !path.segments.is_empty() {
            let row = mesh.slots[mesh.segments[path.label].upper].row;
            texts[row].push(WantedLabel { link, curve: columns.segments[path.label], width: links[link].label });
        }
    }
    (texts.iter().zip(&mesh.rows))
        .map(|(texts, row)| {
            let below = row.iter().flat_map(|&slot| &mesh.below[slot]);
            let curves: Vec<(f64, f64)> = below.map(|&segment| columns.segments[segment]).collect();
            hang(texts, &curves)
        })
        .collect()
}

/// Tries one lane, then more, and takes the number with the lowest cost. Each lane adds to the cost.
fn hang(texts: &[WantedLabel], curves: &[(f64, f64)]) -> RowLabels {
    let mut best = RowLabels::default();
    let mut least = usize::MAX;
    if texts.is_empty() {
        return best;
    }
    for lanes in 1..=LANES.min(texts.len() + 1) {
        let (hung, cost) = spread(texts, curves, lanes);
        if cost + 2 * lanes < least {
            least = cost + 2 * lanes;
            best = RowLabels { hung, lanes };
        }
    }
    best
}

/// Places each label at the position of least cost: on its curve or just beside it, in the middle lanes first. Also
/// returns the total cost.
fn spread(texts: &[WantedLabel], curves: &[(f64, f64)], count: usize) -> (Vec<Label>, usize) {
    let mut lanes: Vec<Lane> = (0..count).map(|lane| Lane::new(lane, count, curves)).collect();
    lanes.sort_by(|a, b| (a.depth - 0.5).abs().total_cmp(&(b.depth - 0.5).abs()));
    let mut total = 0;
    let mut hung = Vec::with_capacity(texts.len());
    for text in texts {
        let half = text.width / 2.0;
        let tries = [0.0, half, -half].into_iter().flat_map(|shift| (0..count).map(move |lane| (shift, lane)));
        let best = tries
            .map(|(shift, lane)| {
                let x = lanes[lane].x(text.curve) + shift;
                (lanes[lane].cost(x - half, x + half, shift == 0.0), lane, x)
            })
            .min_by_key(|&(cost, ..)| cost);
        if let Some((cost, lane, x)) = best {
            total += cost;
            lanes[lane].take(x - half, x + half);
            hung.push(Label { link: text.link, x, depth: lanes[lane].depth });
        }
    }
    (hung, total)
}

struct Lane {
    depth: f64,
    /// The horizontal progress of a curve at this depth, from 0 to 1.
    across: f64,
    /// The x of each line at this depth, from left to right.
    lines: Vec<f64>,
    /// The left and right ends of labels, in tenths of a pixel, because floats are not `Ord`.
    taken: BTreeMap<i64, i64>,
}

impl Lane {
    fn new(lane: usize, count: usize, curves: &[(f64, f64)]) -> Self {
        let depth = (lane as f64 + 0.5) / count as f64;
        let mut lane = Self { depth, across: across(depth), lines: Vec::new(), taken: BTreeMap::new() };
        lane.lines = curves.iter().map(|&curve| lane.x(curve)).collect();
        lane.lines.sort_by(f64::total_cmp);
        lane
    }

    fn x(&self, (from, to): (f64, f64)) -> f64 {
        from + (to - from) * self.across
    }

    /// The cost of a label here: highest if it overlaps another label, lower for each line of another link that it
    /// covers, lowest if it is beside its own line.
    fn cost(&self, left: f64, right: f64, on_line: bool) -> usize {
        let before = self.taken.range(..tenths(right)).next_back();
        let covers = before.is_some_and(|(_, &end)| end > tenths(left));
        let passed = |x: f64| self.lines.partition_point(|&line| line < x);
        let crossed = passed(right) - passed(left);
        let own = usize::from(on_line);
        20 * usize::from(covers) + 3 * crossed.saturating_sub(own) + 1 - own
    }

    fn take(&mut self, left: f64, right: f64) {
        self.taken.insert(tenths(left), tenths(right));
    }
}

fn tenths(x: f64) -> i64 {
    (10.0 * x) as i64
}

/// The horizontal progress of a curve at a depth. The curve is vertical at both ends, with control points at half its
/// height.
fn across(depth: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..24 {
        let t: f64 = f64::midpoint(low, high);
        if 1.5 * t * (1.0 - t) + t.powi(3) < depth {
            low = t;
        } else {
            high = t;
        }
    }
    low * low * (3.0 - 2.0 * low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(curves: &[(f64, f64)], width: f64) -> Vec<WantedLabel> {
        curves.iter().enumerate().map(|(link, &curve)| WantedLabel { link, curve, width }).collect()
    }

    #[test]
    fn a_single_label_is_centred_on_its_line() {
        let curve = [(0.0, 100.0)];
        let labels = hang(&texts(&curve, 60.0), &curve);
        let [label] = labels.hung[..] else { panic!("one label") };
        assert_eq!((labels.lanes, label.depth), (1, 0.5));
        assert!((label.x - 50.0).abs() < 0.01);
    }

    #[test]
    fn labels_with_room_side_by_side_share_a_lane() {
        let curves = [(0.0, 0.0), (100.0, 100.0), (200.0, 200.0)];
        assert_eq!(hang(&texts(&curves, 60.0), &curves).lanes, 1);
    }

    #[test]
    fn labels_of_close_lines_do_not_cover_each_other() {
        let curves = [(0.0, 0.0), (20.0, 20.0), (40.0, 40.0)];
        let labels = hang(&texts(&curves, 60.0), &curves);
        for (i, a) in labels.hung.iter().enumerate() {
            for b in &labels.hung[..i] {
                assert!(a.depth != b.depth || (a.x - b.x).abs() > 59.0, "{a:?} {b:?}");
            }
        }
    }
}
