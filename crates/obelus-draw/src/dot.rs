//! DOT: the language of Graphviz.

use std::fmt::Write as _;

use super::{
    Drawing, NodeKind,
    palette::{INK, Tint},
    text::visible,
};

pub(super) fn write(drawing: &Drawing) -> String {
    let mut out = String::from("digraph obelus {\n    rankdir=TB;\n");
    if !drawing.title.is_empty() {
        let title = escape(&drawing.title);
        let _ = writeln!(out, "    labelloc=t;\n    label=\"{title}\";");
    }
    let _ = writeln!(
        out,
        "    node [shape=box, fontname=\"Helvetica\", fontsize=11, fontcolor=\"{INK}\"];\n    \
         edge [fontname=\"Helvetica\", fontsize=9, color=\"#6b7580\"];"
    );
    for (index, node) in drawing.nodes.iter().enumerate() {
        let mut label = escape(&node.label);
        for detail in &node.details {
            label.push_str("\\n");
            label.push_str(&escape(detail));
        }
        let style = match node.kind {
            NodeKind::Faulty => "rounded,filled,dashed",
            _ => "rounded,filled",
        };
        let Tint { fill, stroke } = node.kind.paint().light;
        let _ = writeln!(
            out,
            "    n{index} [label=\"{label}\", style=\"{style}\", fillcolor=\"{fill}\", color=\"{stroke}\"];"
        );
    }
    for edge in drawing.arrows() {
        let (from, to) = (edge.from, edge.to);
        let mut attributes = Vec::new();
        if !edge.label.is_empty() {
            attributes.push(format!("label=\"{}\"", escape(&edge.label)));
        }
        if edge.dashed {
            attributes.push("style=dashed".to_owned());
        }
        let _ = match attributes.join(", ") {
            none if none.is_empty() => writeln!(out, "    n{from} -> n{to};"),
            some => writeln!(out, "    n{from} -> n{to} [{some}];"),
        };
    }
    out.push_str("}\n");
    out
}

/// Escapes text for a quoted string. Graphviz interprets sequences such as `\N` and HTML entities in it.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{HOSTILE, edge, hostile, steps},
        *,
    };

    #[test]
    fn dot_has_one_line_for_every_box_and_arrow() {
        let mut drawing = steps();
        drawing.edges[0].dashed = true;
        drawing.edges.push(edge(0, 8, "lost"));
        let dot = drawing.dot();
        assert!(dot.starts_with("digraph obelus {\n    rankdir=TB;\n"));
        assert_eq!(dot.matches("fillcolor=").count(), 8);
        assert_eq!(dot.matches(" -> ").count(), 9);
        assert!(dot.contains("    n0 -> n1 [style=dashed];\n"));
        assert!(dot.contains("    n5 -> n3 [label=\"next\"];\n"));
    }

    #[test]
    fn hostile_text_stays_text() {
        let dot = hostile().dot();
        assert_eq!(dot.lines().count(), 7 + 2 * HOSTILE.len());
        for line in dot.lines() {
            // Unescaped quotes come in pairs.
            let bare = line.replace("\\\\", "").replace("\\\"", "");
            assert_eq!(bare.matches('"').count() % 2, 0, "{line}");
        }
        assert!(!dot.contains("&quot;") && !dot.contains('\u{202e}') && !dot.contains('\0'));
        assert_eq!(escape("\\N &lt; \"x\""), "\\\\N &amp;lt; \\\"x\\\"");
    }
}
