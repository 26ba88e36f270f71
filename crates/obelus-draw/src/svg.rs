//! SVG: a self-contained picture for browsers.
//!
//! Without scripts, ids and references, so that it can be embedded in any page. Its style sheet applies only within
//! `svg.obelus`.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    Drawing, DrawnNode,
    layout::{BoxSize, Layout, Link, Point, Route, lay_out},
    style,
    text::{shorten, visible, width, xml},
};

/// The margin around the picture.
const MARGIN: f64 = 24.0;
/// Font sizes, as in [`style`].
const LABEL: f64 = 13.0;
const DETAIL: f64 = 11.0;
const HEADING: f64 = 15.0;
/// The most columns of a text; longer ones are cut.
const LINE: usize = 34;
const HEADING_LINE: usize = 60;
/// The most detail lines; for others only their number is shown.
const DETAILS: usize = 6;
/// How far an arrow from a box to itself extends to the right.
const LOOP: f64 = 30.0;

pub(super) fn write(drawing: &Drawing) -> String {
    let arrows = merge(drawing);
    let (loops, links): (Vec<&Arrow>, Vec<&Arrow>) = arrows.iter().partition(|arrow| arrow.from == arrow.to);
    let boxes = measure(drawing, &loops, &links);
    let sizes: Vec<BoxSize> = boxes.iter().map(|text| text.size).collect();
    let spans: Vec<Link> = links.iter().map(|arrow| arrow.link()).collect();
    let layout = lay_out(&sizes, &spans);
    let heading = shorten(&drawing.title, HEADING_LINE);
    let top = if heading.is_empty() { MARGIN } else { MARGIN + 36.0 };

    let mut out = open(drawing, &layout, &heading, top);
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {top})\">");
    for (arrow, route) in links.iter().zip(&layout.routes) {
        draw_arrow(&mut out, arrow, route);
    }
    for arrow in &loops {
        draw_loop(&mut out, arrow, layout.centres[arrow.from], sizes[arrow.from]);
    }
    for ((node, text), centre) in drawing.nodes.iter().zip(&boxes).zip(&layout.centres) {
        draw_box(&mut out, node, text, *centre);
    }
    for (arrow, route) in links.iter().zip(&layout.routes) {
        draw_label(&mut out, arrow, route.label);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// All edges between two boxes in one direction.
struct Arrow {
    from: usize,
    to: usize,
    dashed: bool,
    label: String,
}

impl Arrow {
    fn short(&self) -> String {
        shorten(&self.label, LINE)
    }

    fn link(&self) -> Link {
        Link {
            from: self.from,
            to: self.to,
            dashed: self.dashed,
            label: match self.short() {
                none if none.is_empty() => 0.0,
                label => width(&label, DETAIL) + 8.0,
            },
        }
    }
}

/// Merges parallel edges into one arrow. It is dashed if all of them are.
fn merge(drawing: &Drawing) -> Vec<Arrow> {
    let mut merged: Vec<Arrow> = Vec::new();
    let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for edge in drawing.arrows() {
        let place = *places.entry((edge.from, edge.to)).or_insert(merged.len());
        if let Some(arrow) = merged.get_mut(place) {
            arrow.dashed &= edge.dashed;
            if !arrow.label.is_empty() && !edge.label.is_empty() {
                arrow.label.push_str(", ");
            }
            arrow.label.push_str(&edge.label);
        } else {
            merged.push(Arrow { from: edge.from, to: edge.to, dashed: edge.dashed, label: edge.label.clone() });
        }
    }
    merged
}

/// The texts of a box, and its size.
struct BoxText {
    label: String,
    details: Vec<String>,
    size: BoxSize,
}

/// Measures every box. Boxes without arrows get equal widths, because they are arranged in columns.
fn measure(drawing: &Drawing, loops: &[&Arrow], links: &[&Arrow]) -> Vec<BoxText> {
    let mut boxes: Vec<BoxText> = drawing.nodes.iter().map(text_of).collect();
    let mut alone = vec![true; boxes.len()];
    for arrow in loops {
        alone[arrow.from] = false;
        boxes[arrow.from].size.beside = LOOP + 4.0 + width(&arrow.short(), DETAIL);
    }
    for arrow in links {
        alone[arrow.from] = false;
        alone[arrow.to] = false;
    }
    let singles = || (0..alone.len()).filter(|&node| alone[node]);
    let widest = singles().map(|node| boxes[node].size.width).fold(0.0, f64::max);
    for node in singles() {
        boxes[node].size.width = widest;
    }
    boxes
}

fn text_of(node: &DrawnNode) -> BoxText {
    let label = shorten(&node.label, LINE);
    let mut details: Vec<String> = (node.details.iter()).take(DETAILS).map(|line| shorten(line, LINE)).collect();
    if node.details.len() > DETAILS {
        details.push(format!("… {} more", node.details.len() - DETAILS));
    }
    let widest = (details.iter()).map(|line| width(line, DETAIL)).fold(width(&label, LABEL * 1.08), f64::max);
    let lines = details.len() as f64;
    BoxText {
        size: BoxSize {
            width: (widest + 28.0).max(84.0).round(),
            height: if lines > 0.0 { 40.0 + 16.0 * lines } else { 38.0 },
            beside: 0.0,
        },
        label,
        details,
    }
}

/// The head of the document: size, accessible names, style, page and heading.
fn open(drawing: &Drawing, layout: &Layout, heading: &str, top: f64) -> String {
    let room = layout.width.max(width(heading, HEADING * 1.08));
    let (wide, high) = (number(room + 2.0 * MARGIN), number(layout.height + top + MARGIN));
    let (boxes, arrows) = (drawing.nodes.len(), drawing.arrows().count());
    let name = match xml(&drawing.title) {
        none if none.is_empty() => "Graph".to_owned(),
        title => title,
    };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"obelus\" role=\"img\" \
         aria-label=\"{name}: boxes {boxes}, arrows {arrows}\" \
         width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\">"
    );
    let _ = writeln!(out, "<title>{name}</title>\n<style>{}</style>", style::sheet(drawing.kinds()));
    let _ = writeln!(out, "<rect class=\"page\" width=\"{wide}\" height=\"{high}\" rx=\"8\"/>");
    if !heading.is_empty() {
        let y = MARGIN + HEADING;
        let _ = writeln!(out, "<text class=\"heading\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", xml(heading));
    }
    out
}

fn draw_box(out: &mut String, node: &DrawnNode, text: &BoxText, centre: Point) {
    let BoxSize { width, height, .. } = text.size;
    let (left, top) = (centre.x - width / 2.0, centre.y - height / 2.0);
    let radius = if node.kind.is_terminal() { height.min(38.0) / 2.0 } else { 7.0 };
    let _ = write!(out, "<g class=\"{}\"><title>{}", node.kind.class(), xml(&node.label));
    for line in &node.details {
        let _ = write!(out, "\n{}", xml(line));
    }
    let _ = write!(
        out,
        "</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
        number(left),
        number(top),
        number(width),
        number(height),
        number(radius)
    );
    let x = number(centre.x);
    let mut baseline = top + if text.details.is_empty() { 23.5 } else { 22.0 };
    let _ = write!(out, "<text class=\"label\" x=\"{x}\" y=\"{}\">{}</text>", number(baseline), xml(&text.label));
    baseline += 2.0;
    for line in &text.details {
        baseline += 16.0;
        let _ = write!(out, "<text class=\"detail\" x=\"{x}\" y=\"{}\">{}</text>", number(baseline), xml(line));
    }
    out.push_str("</g>\n");
}

fn draw_arrow(out: &mut String, arrow: &Arrow, route: &Route) {
    let mut points = route.points.clone();
    let tip = match points.as_mut_slice() {
        // The line ends inside the arrowhead, not at its tip.
        [.., before, last] if route.tip => {
            let tip = *last;
            let back = if before.y < last.y { -6.0 } else { 6.0 };
            last.y += back;
            Some((tip, back))
        }
        _ => None,
    };
    let class = if arrow.dashed { "line dashed" } else { "line" };
    let _ = write!(out, "<path class=\"{class}\" d=\"{}\"/>", trace(&points));
    if let Some((Point { x, y }, back)) = tip {
        let (left, right, base) = (number(x - 4.5), number(x + 4.5), number(y + 1.5 * back));
        let (x, y) = (number(x), number(y));
        let _ = write!(out, "<path class=\"tip\" d=\"M{x} {y}L{left} {base}H{right}Z\"/>");
    }
    out.push('\n');
}

/// The path through all points: straight lines down, or curves that are vertical at both ends.
fn trace(points: &[Point]) -> String {
    let mut path = String::new();
    let mut last: Option<Point> = None;
    for point in points {
        let (x, y) = (number(point.x), number(point.y));
        let _ = match last {
            None => write!(path, "M{x} {y}"),
            Some(last) if (last.x - point.x).abs() < 0.05 => write!(path, "V{y}"),
            Some(last) => {
                let middle = number(f64::midpoint(last.y, point.y));
                write!(path, "C{} {middle} {x} {middle} {x} {y}", number(last.x))
            }
        };
        last = Some(*point);
    }
    path
}

fn draw_loop(out: &mut String, arrow: &Arrow, centre: Point, size: BoxSize) {
    let class = if arrow.dashed { "line dashed" } else { "line" };
    let x = centre.x + size.width / 2.0;
    let (right, base, far) = (number(x), number(x + 9.0), number(x + LOOP));
    let (start, end) = (centre.y - 10.0, centre.y + 10.0);
    let (from, to) = (number(start), number(end));
    let (high, low) = (number(end - 4.5), number(end + 4.5));
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{right} {from}C{far} {from} {far} {to} {base} {to}\"/>\
         <path class=\"tip\" d=\"M{right} {to}L{base} {high}V{low}Z\"/>"
    );
    let short = arrow.short();
    let middle = x + LOOP - 2.0 + width(&short, DETAIL) / 2.0;
    draw_label(out, arrow, Point { x: middle, y: centre.y });
}

fn draw_label(out: &mut String, arrow: &Arrow, middle: Point) {
    if arrow.label.is_empty() {
        return;
    }
    let short = arrow.short();
    let wide = width(&short, DETAIL);
    let (left, top) = (number(middle.x - wide / 2.0), number(middle.y - 8.0));
    let (x, y, wide) = (number(middle.x), number(middle.y + 4.0), number(wide));
    out.push_str("<g>");
    if short != visible(&arrow.label) {
        let _ = write!(out, "<title>{}</title>", xml(&arrow.label));
    }
    let _ = writeln!(
        out,
        "<rect class=\"halo\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"16\" rx=\"4\"/>\
         <text class=\"note\" x=\"{x}\" y=\"{y}\">{}</text></g>",
        xml(&short)
    );
}

/// A coordinate, rounded to a tenth of a pixel.
fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() as i64;
    if tenths % 10 == 0 { (tenths / 10).to_string() } else { format!("{:.1}", tenths as f64 / 10.0) }
}

#[cfg(test)]
mod tests;
