//! Properties of every picture.

use super::{
    super::{
        DrawnEdge, NodeKind,
        samples::{HOSTILE, edge, graph, hostile, node, steps},
    },
    *,
};

/// Checks that tags are balanced and text is escaped, and returns all text.
fn well_formed(svg: &str) -> String {
    let (mut open, mut text, mut rest) = (Vec::new(), String::new(), svg);
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        assert!(!before.contains('>'), "{before}");
        for entity in before.split('&').skip(1) {
            let name = entity.split(';').next().unwrap_or_default();
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{entity}");
        }
        text.push_str(before);
        text.push('\n');
        let end = tag.find('>').expect("a tag ends");
        let inner = &tag[1..end];
        assert_eq!(inner.matches('"').count() % 2, 0, "{inner}");
        if let Some(name) = inner.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{inner}");
        } else if !inner.ends_with('/') {
            open.push(inner.split(' ').next().unwrap_or_default());
        }
        rest = &tag[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    text
}

/// The numbers of lines and of arrowheads.
fn strokes(svg: &str) -> (usize, usize) {
    (svg.matches("<path class=\"line").count(), svg.matches("<path class=\"tip").count())
}

#[test]
fn an_empty_drawing_is_a_picture() {
    let svg = graph(0, &[]).svg();
    well_formed(&svg);
    assert!(svg.contains("width=\"48\" height=\"48\""));
}

#[test]
fn a_cycle_is_drawn_with_every_edge() {
    let svg = steps().svg();
    well_formed(&svg);
    assert_eq!(strokes(&svg), (9, 9));
    let around: Vec<(usize, usize)> = (0..7).map(|i| (i, (i + 1) % 7)).collect();
    assert_eq!(strokes(&graph(7, &around).svg()), (7, 7));
}

#[test]
fn an_arrow_to_itself_is_drawn() {
    let mut drawing = graph(1, &[(0, 0)]);
    drawing.edges[0].label = "again".to_owned();
    let svg = drawing.svg();
    assert_eq!(strokes(&svg), (1, 1));
    assert!(well_formed(&svg).contains("again"));
}

#[test]
fn an_edge_to_nowhere_is_ignored() {
    let mut drawing = steps();
    let before = drawing.svg();
    drawing.edges.push(edge(8, 0, "lost"));
    drawing.edges.push(edge(0, usize::MAX, "lost"));
    assert_eq!(drawing.svg(), before);
}

#[test]
fn parallel_edges_become_one_arrow() {
    let mut drawing = graph(2, &[]);
    drawing.edges = vec![
        DrawnEdge { dashed: true, ..edge(0, 1, "a") },
        edge(0, 1, ""),
        DrawnEdge { dashed: true, ..edge(0, 1, "b") },
        DrawnEdge { dashed: true, ..edge(1, 0, "c") },
    ];
    let svg = drawing.svg();
    assert_eq!(strokes(&svg), (2, 2));
    assert_eq!(svg.matches("line dashed").count(), 1, "dashed only if all are");
    assert!(well_formed(&svg).contains("\na, b\n"));
}

#[test]
fn hostile_text_stays_text() {
    let svg = hostile().svg();
    let text = well_formed(&svg);
    assert_eq!(svg.matches("<style").count(), 1);
    assert_eq!(svg.matches("<script").count(), 0);
    let bad = svg.chars().find(|&c| (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{200f}\u{ffff}".contains(c));
    assert_eq!(bad, None);
    for label in HOSTILE {
        assert!(text.contains(&xml(label)), "{label}");
    }
    assert!(text.contains("\\u{202e}desrever"));
}

#[test]
fn a_long_text_is_cut_in_the_box_and_whole_in_the_tooltip() {
    let mut drawing = graph(1, &[]);
    drawing.nodes[0].label = "x".repeat(80);
    drawing.nodes[0].details = (0..9).map(|i| format!("line {i}")).collect();
    let svg = drawing.svg();
    assert!(svg.contains(&format!(">{}…</text>", "x".repeat(34))));
    assert!(svg.contains(&format!("<title>{}\nline 0", "x".repeat(80))));
    assert!(svg.contains("line 8</title>") && !svg.contains("line 8</text>"));
    assert!(svg.contains(">… 3 more</text>"));
}

#[test]
fn the_svg_is_self_contained_and_has_a_title() {
    let svg = steps().svg();
    let rest = svg.replacen("http://www.w3.org/2000/svg", "", 1);
    for reference in ["http", "href", "url(", "@import", "<script", "<image", " id="] {
        assert!(!rest.contains(reference), "{reference}");
    }
    assert!(svg.contains("role=\"img\" aria-label=\"Steps: boxes 8, arrows 9\""));
    assert!(svg.contains("prefers-color-scheme:dark"));
}

#[test]
fn texts_in_wide_scripts_get_wider_boxes() {
    let wide = |label: &str| text_of(&node(label, NodeKind::Read)).size.width;
    assert!(wide("取引先を確認して契約書") > wide("check the d"));
    assert!(wide("Уведомить менеджера") > wide("Notify the managers"));
}

#[test]
fn the_same_drawing_gives_the_same_picture() {
    assert_eq!(steps().svg(), steps().svg());
    assert_eq!(hostile().svg(), hostile().svg());
}
