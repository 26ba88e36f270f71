//! Rows in height, and the lines between them.

use std::collections::BTreeMap;

use super::{GAP, Layout, Link, Point, Route, mesh::Mesh, place::Columns};

/// How far a line runs straight before its curve begins: room for an arrowhead.
const STUB: f64 = 11.0;
/// The height of a line of labels.
const LANE: f64 = 19.0;
/// At most so many lines of labels between two rows.
const LANES: usize = 6;

/// Gives rows their height, and links their lines and the places of labels.
pub(super) fn route(mesh: &Mesh, links: &[Link], columns: &Columns) -> Layout {
    let labels = hang_labels(mesh, links, columns);
    let rows = stack(mesh, columns, &labels);
    let routes = (mesh.paths.iter().zip(links))
        .map(|(path, link)| {
            let mut points = Vec::new();
            for &segment in &path.segments {
                points.extend(stretch(mesh, columns, &rows, segment));
            }
            if points.is_empty() {
                points = across(mesh, columns, &rows, link, path.upward);
            }
            points.dedup();
            let end = path.segments.last().map(|&s| mesh.segments[s].lower);
            let start = path.segments.first().map(|&s| mesh.segments[s].upper);
            let head = if path.upward { start } else { end };
            if path.upward {
                points.reverse();
            }
            Route { tip: head.is_none_or(|slot| slot == link.to), label: points[points.len() / 2], points }
        })
        .collect();
    let mut layout = Layout {
        height: rows.last().map_or(0.0, |row| row.bottom),
        width: 0.0,
        centres: (0..mesh.boxes)
            .map(|slot| Point { x: columns.slots[slot], y: rows[mesh.slots[slot].row].middle() })
            .collect(),
        routes,
    };
    for (upper, gap) in labels.iter().enumerate() {
        for (&link, label) in gap.links.iter().zip(&gap.labels) {
            let (top, bottom) = (rows[upper].bottom + STUB, rows[upper + 1].top - STUB);
            layout.routes[link].label = Point { x: label.x, y: top + label.depth * (bottom - top) };
        }
    }
    trim(mesh, links, &mut layout);
    layout
}

/// From where to where a row reaches.
#[derive(Clone, Copy)]
struct Row {
    top: f64,
    bottom: f64,
}

impl Row {
    fn middle(self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }
}

/// The labels between a row and the next.
#[derive(Default)]
struct Gap {
    links: Vec<usize>,
    labels: Vec<Label>,
    lanes: usize,
}

/// Where on its curve a label hangs.
#[derive(Clone, Copy)]
struct Label {
    /// Its middle.
    x: f64,
    /// How far down the curve it is, from 0 to 1.
    depth: f64,
}

/// Finds a place for every label, in as few lanes as keep them apart.
fn hang_labels(mesh: &Mesh, links: &[Link], columns: &Columns) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    gaps.resize_with(mesh.rows.len().saturating_sub(1), Gap::default);
    for (link, path) in mesh.paths.iter().enumerate() {
        if links[link].label > 0.0 && !path.segments.is_empty() {
            let row = mesh.slots[mesh.segments[path.label].upper].row;
            gaps[row].links.push(link);
        }
    }
    for gap in &mut gaps {
        let curves: Vec<(f64, f64, f64)> = (gap.links.iter())
            .map(|&link| {
                let (from, to) = columns.segments[mesh.paths[link].label];
                (from, to, links[link].label)
            })
            .collect();
        let most = LANES.min(curves.len());
        for lanes in 1..=most {
            let (labels, clashes) = spread(&curves, lanes);
            (gap.labels, gap.lanes) = (labels, lanes);
            if clashes == 0 {
                break;
            }
        }
    }
    gaps
}

/// Hangs each label in the first lane where it has room; says how many have none.
fn spread(curves: &[(f64, f64, f64)], lanes: usize) -> (Vec<Label>, usize) {
    // For each lane what is taken: left end to right end, in tenths of a pixel
    // because floats have no order.
    let mut taken: Vec<BTreeMap<i64, i64>> = vec![BTreeMap::new(); lanes];
    let mut clashes = 0;
    // The middle lanes first: a label belongs in the middle of its line.
    let mut order: Vec<usize> = (0..lanes).collect();
    order.sort_by_key(|&lane| (2 * lane + 1).abs_diff(lanes));
    let labels = (curves.iter())
        .map(|&(from, to, width)| {
            let at = |lane: usize| {
                let depth = (lane as f64 + 0.5) / lanes as f64;
                let x = from + (to - from) * across_at(depth);
                Label { x, depth }
            };
            for &lane in &order {
                let label = at(lane);
                let left = (10.0 * (label.x - width / 2.0)) as i64;
                let right = left + (10.0 * width) as i64;
                let before = taken[lane].range(..right).next_back();
                if before.is_none_or(|(_, &end)| end <= left) {
                    taken[lane].insert(left, right);
                    return label;
                }
            }
            clashes += 1;
            at(order[0])
        })
        .collect();
    (labels, clashes)
}

/// How far across a curve is where it is this far down: it begins and ends
/// vertical, with its control points at half its height.
fn across_at(depth: f64) -> f64 {
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

/// Stacks the rows, with more room between them the more has to fit there.
fn stack(mesh: &Mesh, columns: &Columns, labels: &[Gap]) -> Vec<Row> {
    let mut furthest = vec![None::<f64>; mesh.rows.len()];
    for (segment, (from, to)) in mesh.segments.iter().zip(&columns.segments) {
        let far = &mut furthest[mesh.slots[segment.upper].row];
        *far = Some(far.unwrap_or(0.0).max((to - from).abs()));
    }
    let mut top = 0.0;
    (mesh.rows.iter().enumerate())
        .map(|(index, slots)| {
            let height = slots.iter().map(|&slot| mesh.slots[slot].height);
            let row = Row { top, bottom: top + height.fold(0.0, f64::max) };
            let lanes = labels.get(index).map_or(0, |gap| gap.lanes) as f64;
            let curves = match furthest[index] {
                Some(far) => 2.0 * STUB + (16.0 + far * 0.07).clamp(24.0, 90.0).max(lanes * LANE),
                None => GAP,
            };
            top = row.bottom + curves;
            row
        })
        .collect()
}

/// One segment, from top to bottom. The way through the row of a waypoint
/// belongs to what leaves it.
fn stretch(mesh: &Mesh, columns: &Columns, rows: &[Row], segment: usize) -> [Point; 4] {
    let (from, to) = columns.segments[segment];
    let segment = mesh.segments[segment];
    let (upper, lower) = (rows[mesh.slots[segment.upper].row], rows[mesh.slots[segment.lower].row]);
    let start = if mesh.is_box(segment.upper) {
        upper.middle() + mesh.slots[segment.upper].height / 2.0
    } else {
        upper.top - STUB
    };
    let end = if mesh.is_box(segment.lower) {
        lower.middle() - mesh.slots[segment.lower].height / 2.0
    } else {
        lower.top - STUB
    };
    [
        Point { x: from, y: start },
        Point { x: from, y: upper.bottom + STUB },
        Point { x: to, y: lower.top - STUB },
        Point { x: to, y: end },
    ]
}

/// A line that passes behind everything, for a link without waypoints.
fn across(mesh: &Mesh, columns: &Columns, rows: &[Row], link: &Link, upward: bool) -> Vec<Point> {
    let (upper, lower) = if upward { (link.to, link.from) } else { (link.from, link.to) };
    let (high, low) = (rows[mesh.slots[upper].row], rows[mesh.slots[lower].row]);
    let (from, to) = (columns.slots[upper], columns.slots[lower]);
    vec![
        Point { x: from, y: high.middle() + mesh.slots[upper].height / 2.0 },
        Point { x: from, y: high.bottom + STUB },
        Point { x: to, y: low.top - STUB },
        Point { x: to, y: low.middle() - mesh.slots[lower].height / 2.0 },
    ]
}

/// Moves everything so that the leftmost thing begins at zero.
fn trim(mesh: &Mesh, links: &[Link], layout: &mut Layout) {
    let (mut left, mut right) = (f64::MAX, f64::MIN);
    let mut cover = |from: f64, to: f64| {
        left = left.min(from);
        right = right.max(to);
    };
    for (centre, slot) in layout.centres.iter().zip(&mesh.slots) {
        cover(centre.x - slot.left, centre.x + slot.right);
    }
    for (route, link) in layout.routes.iter().zip(links) {
        let half = link.label / 2.0;
        cover(route.label.x - half, route.label.x + half);
        for point in &route.points {
            cover(point.x, point.x);
        }
    }
    layout.width = right - left;
    let corner = Point { x: -left, y: 0.0 };
    for centre in &mut layout.centres {
        *centre = centre.moved(corner);
    }
    for route in &mut layout.routes {
        route.label = route.label.moved(corner);
        for point in &mut route.points {
            *point = point.moved(corner);
        }
    }
}
