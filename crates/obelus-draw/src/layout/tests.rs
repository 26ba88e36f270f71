//! Properties of every arrangement, tested on graphs of many shapes.

use super::*;

const SIZE: BoxSize = BoxSize { width: 120.0, height: 40.0, beside: 0.0 };

fn links(ends: &[(usize, usize)]) -> Vec<Link> {
    ends.iter().map(|&(from, to)| Link { from, to, dashed: false, label: 60.0 }).collect()
}

/// Boxes of several sizes.
fn boxes(count: usize) -> Vec<BoxSize> {
    (0..count)
        .map(|i| BoxSize {
            width: 90.0 + 17.0 * (i % 7) as f64,
            height: 38.0 + 16.0 * (i % 4) as f64,
            beside: if i % 9 == 0 { 40.0 } else { 0.0 },
        })
        .collect()
}

/// A pseudo-random graph with cycles, long links and several parts. No two links have the same ends.
fn tangle(count: usize, mut seed: u64) -> Vec<Link> {
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % count
    };
    let mut ends: Vec<(usize, usize)> = (0..2 * count).map(|_| (next(), next())).collect();
    ends.retain(|(from, to)| from != to);
    ends.sort_unstable();
    ends.dedup();
    links(&ends)
}

fn shapes() -> Vec<(Vec<BoxSize>, Vec<Link>)> {
    let fan: Vec<(usize, usize)> = (2..62).flat_map(|leaf| [(0, leaf), (leaf, 1)]).collect();
    let wheel: Vec<(usize, usize)> = (0..12).flat_map(|i| [(i, (i + 1) % 12), ((i + 5) % 12, i)]).collect();
    let mut shapes = vec![
        (boxes(1), Vec::new()),
        (boxes(5), links(&[(0, 1), (1, 2), (2, 3), (3, 4)])),
        (boxes(2), links(&[(0, 1), (1, 0)])),
        (boxes(60), Vec::new()),
        (boxes(62), links(&fan)),
        (boxes(12), links(&wheel)),
    ];
    shapes.extend((1..20).map(|seed| (boxes(8 + 3 * seed), tangle(8 + 3 * seed, seed as u64))));
    shapes
}

/// Whether a point is inside a box rather than on its border or outside.
fn inside(point: Point, centre: Point, size: BoxSize) -> bool {
    (point.x - centre.x).abs() < size.width / 2.0 - 0.1 && (point.y - centre.y).abs() < size.height / 2.0 - 0.1
}

#[test]
fn no_two_boxes_overlap() {
    for (sizes, links) in shapes() {
        let layout = lay_out(&sizes, &links);
        for a in 0..sizes.len() {
            for b in 0..a {
                let (p, q) = (layout.centres[a], layout.centres[b]);
                let apart_x = (p.x - q.x).abs() >= (sizes[a].width + sizes[b].width) / 2.0;
                let apart_y = (p.y - q.y).abs() >= (sizes[a].height + sizes[b].height) / 2.0;
                assert!(apart_x || apart_y, "{a} and {b} of {}", sizes.len());
            }
        }
    }
}

#[test]
fn every_arrow_leaves_and_reaches_its_boxes() {
    let touches = |point: Point, centre: Point, size: BoxSize| {
        (point.x - centre.x).abs() <= size.width / 2.0 && ((point.y - centre.y).abs() - size.height / 2.0).abs() < 0.01
    };
    for (sizes, links) in shapes() {
        let layout = lay_out(&sizes, &links);
        for (link, route) in links.iter().zip(&layout.routes) {
            let head = touches(route.points[route.points.len() - 1], layout.centres[link.to], sizes[link.to]);
            let tail = touches(route.points[0], layout.centres[link.from], sizes[link.from]);
            assert_eq!(head, route.tip);
            // In a bundle one end may join the line of another arrow.
            assert!(head || tail);
        }
        for node in 0..sizes.len() {
            let at_head = links.iter().zip(&layout.routes).filter(|(link, _)| link.to == node);
            let (mut any, mut tip) = (false, false);
            for (_, route) in at_head {
                any = true;
                tip |= route.tip;
            }
            assert_eq!(any, tip, "an arrowhead at box {node}");
        }
    }
}

#[test]
fn no_line_and_no_label_touches_a_box() {
    for (sizes, links) in shapes() {
        let layout = lay_out(&sizes, &links);
        for (link, route) in links.iter().zip(&layout.routes) {
            for (centre, size) in layout.centres.iter().zip(&sizes) {
                let padded = BoxSize { width: size.width + link.label, height: size.height + 12.0, ..*size };
                assert!(!inside(route.label, *centre, padded), "label of {link:?}");
                for pair in route.points.windows(2) {
                    // Samples of the cubic curve, which is vertical at both ends with control points at half its
                    // height.
                    for step in 0..=16_u8 {
                        let t = f64::from(step) / 16.0;
                        let on_curve = Point {
                            x: pair[0].x + (pair[1].x - pair[0].x) * t * t * (3.0 - 2.0 * t),
                            y: pair[0].y + (pair[1].y - pair[0].y) * (1.5 * t * (1.0 - t) + t * t * t),
                        };
                        assert!(!inside(on_curve, *centre, *size), "line of {link:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn everything_is_within_the_picture() {
    for (sizes, links) in shapes() {
        let layout = lay_out(&sizes, &links);
        let boxes = layout.centres.iter().zip(&sizes).map(|(centre, size)| (*centre, size.width, size.height));
        let labels = layout.routes.iter().zip(&links).map(|(route, link)| (route.label, link.label, 12.0));
        for (Point { x, y }, width, height) in boxes.chain(labels) {
            assert!(x - width / 2.0 >= -0.01 && x + width / 2.0 <= layout.width + 0.01);
            assert!(y - height / 2.0 >= -0.01 && y + height / 2.0 <= layout.height + 0.01);
        }
    }
}

#[test]
fn a_chain_is_one_straight_line() {
    let layout = lay_out(&boxes(5), &links(&[(0, 1), (1, 2), (2, 3), (3, 4)]));
    for route in &layout.routes {
        assert!(route.points.iter().all(|point| (point.x - layout.centres[0].x).abs() < 0.01));
    }
    assert!(layout.centres.is_sorted_by(|a, b| a.y < b.y));
}

#[test]
fn a_diamond_is_symmetric() {
    let layout = lay_out(&[SIZE; 4], &links(&[(0, 1), (0, 2), (1, 3), (2, 3)]));
    let [top, left, right, bottom] = layout.centres[..] else { panic!("four boxes") };
    assert!((top.x - bottom.x).abs() < 0.01);
    assert!((top.x - left.x - (right.x - top.x)).abs() < 0.01);
    assert!((left.y - right.y).abs() < 0.01 && left.x < right.x);
}

#[test]
fn an_arrow_against_the_flow_points_up() {
    let layout = lay_out(&[SIZE; 3], &links(&[(0, 1), (1, 2), (2, 0)]));
    let back = &layout.routes[2].points;
    assert!(back[0].y > back[back.len() - 1].y);
    assert!((back[0].y - (layout.centres[2].y - 20.0)).abs() < 0.01, "leaves the top of its box");
}

#[test]
fn two_arrows_between_two_boxes_do_not_lie_on_each_other() {
    let layout = lay_out(&[SIZE; 2], &links(&[(0, 1), (1, 0)]));
    assert!((layout.routes[0].points[0].x - layout.routes[1].points[0].x).abs() >= 10.0);
}

#[test]
fn two_trees_are_drawn_without_crossings() {
    // Two trees whose leaves are listed in an order that causes crossings.
    let ends = [(0, 2), (0, 4), (1, 3), (1, 5), (6, 0), (6, 1), (2, 7), (3, 8), (4, 9), (5, 10)];
    let layout = lay_out(&[SIZE; 11], &links(&ends));
    for a in &layout.routes {
        for b in &layout.routes {
            let (from, to) = (a.points[0], a.points[a.points.len() - 1]);
            let (other_from, other_to) = (b.points[0], b.points[b.points.len() - 1]);
            if (from.y - other_from.y).abs() < 0.01 && from.x < other_from.x {
                assert!(to.x <= other_to.x);
            }
        }
    }
}

#[test]
fn wide_layers_become_several_rows() {
    let alone = lay_out(&[SIZE; 60], &[]);
    assert!(alone.width <= 1400.0);
    let fan: Vec<(usize, usize)> = (2..62).flat_map(|leaf| [(0, leaf), (leaf, 1)]).collect();
    let fan = lay_out(&[SIZE; 62], &links(&fan));
    assert!(fan.width <= 2000.0, "{}", fan.width);
}

#[test]
fn labels_side_by_side_do_not_overlap() {
    let layout = lay_out(&[SIZE; 6], &links(&[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (5, 0)]));
    for (i, a) in layout.routes.iter().enumerate() {
        for b in &layout.routes[..i] {
            let (x, y) = ((a.label.x - b.label.x).abs(), (a.label.y - b.label.y).abs());
            assert!(x >= 59.0 || y >= 12.0, "{:?} {:?}", a.label, b.label);
        }
    }
}

#[test]
fn large_graphs_use_bounded_memory() {
    // A chain with links across thousands of rows: with a waypoint in each row there would be millions.
    let count = 2_000;
    let mut ends: Vec<(usize, usize)> = (1..count).map(|i| (i - 1, i)).collect();
    ends.extend((0..count / 2 - 1).map(|i| (i, count - 1 - i)));
    let layout = lay_out(&vec![SIZE; count], &links(&ends));
    let points: usize = layout.routes.iter().map(|route| route.points.len()).sum();
    assert!(points < 100_000, "{points}");
    assert!(layout.routes.iter().all(|route| route.points.len() > 1));
}
