//! The y of rows, and the lines between them.

use super::{
    GAP, Layout, Link, Point, Route,
    labels::{LANE, RowLabels, hang_labels},
    mesh::{Mesh, MeshSegment},
    place::Columns,
};

/// How far a line runs straight before its curve begins: room for an arrowhead.
const STUB: f64 = 11.0;

/// Computes the y of rows, the lines of links and the positions of labels.
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
    for (row, labels) in labels.iter().enumerate() {
        for label in &labels.hung {
            let (top, bottom) = (rows[row].bottom + STUB, rows[row + 1].top - STUB);
            layout.routes[label.link].label = Point { x: label.x, y: top + label.depth * (bottom - top) };
        }
    }
    trim(mesh, links, &mut layout);
    layout
}

/// The vertical extent of a row.
#[derive(Clone, Copy)]
struct RowExtent {
    top: f64,
    bottom: f64,
}

impl RowExtent {
    fn middle(self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }
}

/// Stacks the rows. The space between them depends on the length of curves and the number of label lanes.
fn stack(mesh: &Mesh, columns: &Columns, labels: &[RowLabels]) -> Vec<RowExtent> {
    let mut furthest = vec![None::<f64>; mesh.rows.len()];
    for (segment, (from, to)) in mesh.segments.iter().zip(&columns.segments) {
        let far = &mut furthest[mesh.slots[segment.upper].row];
        *far = Some(far.unwrap_or(0.0).max((to - from).abs()));
    }
    let mut top = 0.0;
    (mesh.rows.iter().enumerate())
        .map(|(index, slots)| {
            let height = slots.iter().map(|&slot| mesh.slots[slot].height);
            let row = RowExtent { top, bottom: top + height.fold(0.0, f64::max) };
            let lanes = labels.get(index).map_or(0, |labels| labels.lanes) as f64;
            let curves = match furthest[index] {
                // Flat curves are hard to follow, and some of every line should be visible above and below its label.
                Some(far) => 2.0 * STUB + (16.0 + far * 0.08).clamp(28.0, 90.0).max(14.0 + lanes * LANE),
                None => GAP,
            };
            top = row.bottom + curves;
            row
        })
        .collect()
}

/// One segment, from top to bottom. At a waypoint, the segment on the side where the bundle is one line also draws the
/// vertical part through the row.
fn stretch(mesh: &Mesh, columns: &Columns, rows: &[RowExtent], segment: usize) -> [Point; 4] {
    let (from, to) = columns.segments[segment];
    let MeshSegment { upper, lower } = mesh.segments[segment];
    let (high, low) = (rows[mesh.slots[upper].row], rows[mesh.slots[lower].row]);
    let (leave, arrive) = (high.bottom + STUB, low.top - STUB);
    let start = match mesh.above[upper].len() {
        _ if mesh.is_box(upper) => high.middle() + mesh.slots[upper].height / 2.0,
        1 => leave,
        _ => high.top - STUB,
    };
    let end = match mesh.above[lower].len() {
        _ if mesh.is_box(lower) => low.middle() - mesh.slots[lower].height / 2.0,
        1 => low.bottom + STUB,
        _ => arrive,
    };
    [(from, start), (from, leave), (to, arrive), (to, end)].map(|(x, y)| Point { x, y })
}

/// A direct line for a link without waypoints. It may pass behind boxes.
fn across(mesh: &Mesh, columns: &Columns, rows: &[RowExtent], link: &Link, upward: bool) -> Vec<Point> {
    let (upper, lower) = if upward { (link.to, link.from) } else { (link.from, link.to) };
    let (high, low) = (rows[mesh.slots[upper].row], rows[mesh.slots[lower].row]);
    let (from, to) = (columns.slots[upper], columns.slots[lower]);
    let start = high.middle() + mesh.slots[upper].height / 2.0;
    let end = low.middle() - mesh.slots[lower].height / 2.0;
    let corners = [(from, start), (from, high.bottom + STUB), (to, low.top - STUB), (to, end)];
    corners.map(|(x, y)| Point { x, y }).to_vec()
}

/// Moves everything so that the leftmost part is at zero.
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
