//! The positions of boxes and arrows: a layered drawing after Sugiyama.
//!
//! Each connected part is arranged separately, then the parts are set side by side, in lines from left to right:
//! 1. [`rank`]: finds the links that close cycles and reverses them, so that all run down; gives each box a row, and
//!    wraps rows that are too wide;
//! 2. [`mesh`]: routes links across rows through waypoints; links with a common end share them as a bundle;
//! 3. [`order`]: permutes each row to reduce crossings;
//! 4. [`place`], [`straighten`]: set the x of each slot so that lines are straight;
//! 5. [`labels`], [`route`]: set the y of each row, with space for labels, and compute the lines.
//!
//! Lines curve only between two rows and pass through a row vertically, so that no arrow or label touches another box.
//! Only links without waypoints may pass behind boxes.

mod labels;
mod mesh;
mod order;
mod place;
mod rank;
mod route;
mod straighten;

/// A box to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoxSize {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Free space on its right, for an arrow to itself.
    pub(super) beside: f64,
}

/// An arrow to be routed. At most one link exists for each pair of ends, and the ends are different boxes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) dashed: bool,
    /// The width of its label; zero without one.
    pub(super) label: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// The line of one arrow, from its tail to its head.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    /// Corners. Two with different x are joined by a curve that is vertical at both ends. Within a bundle only the part
    /// that no earlier arrow has drawn.
    pub(super) points: Vec<Point>,
    /// Whether the line reaches the head itself; otherwise it joins another line that does.
    pub(super) tip: bool,
    /// The middle of the label.
    pub(super) label: Point,
}

/// The arrangement, with the indices of the boxes and links that it was computed from.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The middle of each box.
    pub(super) centres: Vec<Point>,
    pub(super) routes: Vec<Route>,
}

/// The space between boxes in a row, and between parts of a drawing.
const GAP: f64 = 28.0;

/// Arranges the boxes so that links run down where they can.
pub(super) fn lay_out(sizes: &[BoxSize], links: &[Link]) -> Layout {
    let page = page_width(sizes);
    let mut whole = Layout {
        centres: vec![Point::default(); sizes.len()],
        routes: vec![Route::default(); links.len()],
        ..Layout::default()
    };
    let mut shelf = Shelf::default();
    for part in parts(sizes.len(), links) {
        let local_sizes: Vec<BoxSize> = part.boxes.iter().map(|&node| sizes[node]).collect();
        let layout = arrange(&local_sizes, &part.links, page);
        let corner = shelf.put(layout.width, layout.height, page);
        for (&node, centre) in part.boxes.iter().zip(layout.centres) {
            whole.centres[node] = centre.moved(corner);
        }
        for (&link, mut route) in part.origin.iter().zip(layout.routes) {
            for point in &mut route.points {
                *point = point.moved(corner);
            }
            route.label = route.label.moved(corner);
            whole.routes[link] = route;
        }
    }
    whole.width = shelf.widest;
    whole.height = shelf.top + shelf.tallest;
    whole
}

/// One connected part.
fn arrange(sizes: &[BoxSize], links: &[Link], page: f64) -> Layout {
    let backward = rank::backward(sizes.len(), links);
    let downward: Vec<(usize, usize)> = (links.iter().zip(&backward))
        .map(|(link, &back)| if back { (link.to, link.from) } else { (link.from, link.to) })
        .collect();
    let layers = rank::layers(sizes.len(), &downward);
    let rows = rank::wrap(&layers, sizes, &downward, page);
    let mut mesh = mesh::Mesh::new(sizes, links, &downward, &rows);
    order::untangle(&mut mesh);
    let columns = place::place(&mesh);
    route::route(&mesh, links, &columns)
}

/// The width of the page: proportional to the root of the boxes' area, between a minimum and a maximum.
fn page_width(sizes: &[BoxSize]) -> f64 {
    let area: f64 = sizes.iter().map(|size| (size.width + size.beside + GAP) * (size.height + GAP)).sum();
    (1.6 * area.sqrt()).clamp(1400.0, 2400.0)
}

/// A connected part of the graph, with indices of its own.
struct Component {
    boxes: Vec<usize>,
    links: Vec<Link>,
    /// The index of each link in the whole graph.
    origin: Vec<usize>,
}

/// The connected parts. Single boxes come last, so that they fill rows of their own.
fn parts(count: usize, links: &[Link]) -> Vec<Component> {
    let mut neighbours = vec![Vec::new(); count];
    for link in links {
        neighbours[link.from].push(link.to);
        neighbours[link.to].push(link.from);
    }
    let mut part_of = vec![usize::MAX; count];
    let mut found = 0;
    for start in 0..count {
        if part_of[start] != usize::MAX {
            continue;
        }
        part_of[start] = found;
        let mut reached = vec![start];
        while let Some(node) = reached.pop() {
            for &next in &neighbours[node] {
                if part_of[next] == usize::MAX {
                    part_of[next] = found;
                    reached.push(next);
                }
            }
        }
        found += 1;
    }
    let mut parts: Vec<Component> =
        (0..found).map(|_| Component { boxes: Vec::new(), links: Vec::new(), origin: Vec::new() }).collect();
    let mut local = vec![0; count];
    for node in 0..count {
        let boxes = &mut parts[part_of[node]].boxes;
        local[node] = boxes.len();
        boxes.push(node);
    }
    for (index, link) in links.iter().enumerate() {
        let part = &mut parts[part_of[link.from]];
        part.origin.push(index);
        part.links.push(Link { from: local[link.from], to: local[link.to], ..*link });
    }
    parts.sort_by_key(|part| part.boxes.len() == 1);
    parts
}

/// Packs rectangles from left to right, with a new line when the page is full.
#[derive(Default)]
struct Shelf {
    left: f64,
    top: f64,
    tallest: f64,
    widest: f64,
}

impl Shelf {
    /// Reserves space for a rectangle and returns its upper left corner.
    fn put(&mut self, width: f64, height: f64, page: f64) -> Point {
        if self.left > 0.0 && self.left + width > page {
            self.top += self.tallest + GAP;
            self.left = 0.0;
            self.tallest = 0.0;
        }
        let corner = Point { x: self.left, y: self.top };
        self.widest = self.widest.max(self.left + width);
        self.tallest = self.tallest.max(height);
        self.left += width + GAP;
        corner
    }
}

impl Point {
    fn moved(self, by: Self) -> Self {
        Self { x: self.x + by.x, y: self.y + by.y }
    }
}

#[cfg(test)]
mod tests;
