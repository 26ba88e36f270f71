//! Mermaid: charts inside Markdown, laid out by the viewer.
//!
//! Quoting is not enough for Mermaid: a label passes a lexer, a Markdown parser, an icon matcher and a formula matcher
//! before it becomes HTML. To be safe with all of them, ASCII characters other than letters and digits (and some
//! separators after these) are written as Mermaid's entities, `#35;` for `#`.

use std::fmt::Write as _;

use super::{
    Drawing,
    palette::{INK, Tint},
    text::visible,
};

pub(super) fn write(drawing: &Drawing) -> String {
    let mut out = String::new();
    if !drawing.title.is_empty() {
        let title = yaml(&drawing.title);
        let _ = writeln!(out, "---\ntitle: \"{title}\"\n---");
    }
    out.push_str("flowchart TD\n");
    for (index, node) in drawing.nodes.iter().enumerate() {
        let mut label = escape(&node.label);
        for detail in &node.details {
            label.push_str("<br/>");
            label.push_str(&escape(detail));
        }
        let (open, close) = if node.kind.is_terminal() { ("([", "])") } else { ("(", ")") };
        let _ = writeln!(out, "    n{index}{open}\"{label}\"{close}");
    }
    for edge in drawing.arrows() {
        let (from, to) = (edge.from, edge.to);
        let arrow = if edge.dashed { "-.->" } else { "-->" };
        if edge.label.is_empty() {
            let _ = writeln!(out, "    n{from} {arrow} n{to}");
        } else {
            let label = escape(&edge.label);
            let _ = writeln!(out, "    n{from} {arrow}|\"{label}\"| n{to}");
        }
    }
    // Classes have lines of their own: a colon on the line of a label would let Mermaid's clean-up of `style…:#…;`
    // change the label.
    for kind in drawing.kinds() {
        let class = kind.class();
        let Tint { fill, stroke } = kind.paint().light;
        let members: Vec<String> = (drawing.nodes.iter().enumerate())
            .filter(|(_, node)| node.kind == kind)
            .map(|(index, _)| format!("n{index}"))
            .collect();
        let members = members.join(",");
        let _ =
            writeln!(out, "    classDef {class} fill:{fill},stroke:{stroke},color:{INK}\n    class {members} {class}");
    }
    out
}

/// Escapes a label for use between quotes.
fn escape(text: &str) -> String {
    if text.is_empty() {
        // Empty quotes are a syntax error.
        return "#32;".to_owned();
    }
    let mut out = String::new();
    let mut after_word = false;
    for c in visible(text).chars() {
        let bare = match c {
            // Harmless after a letter or digit; at the start of a line they begin lists, code blocks or emphasis.
            ' ' | '-' | '_' | ',' => after_word,
            // Mermaid's internal markers of entities.
            '°' | '¶' => false,
            c => c.is_ascii_alphanumeric() || !c.is_ascii(),
        };
        if bare {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
        after_word = c.is_alphanumeric();
    }
    out
}

/// Escapes the title for a double-quoted YAML string.
fn yaml(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        if c == ' ' || c.is_ascii_alphanumeric() || !c.is_ascii() {
            out.push(c);
        } else {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            NodeKind,
            samples::{edge, hostile, node, steps},
        },
        *,
    };

    #[test]
    fn a_drawing_becomes_a_flowchart() {
        let drawing = Drawing {
            title: String::new(),
            nodes: vec![node("find", NodeKind::Read), node("stop", NodeKind::End)],
            edges: vec![edge(0, 1, "deal"), edge(1, 0, "")],
        };
        assert_eq!(
            drawing.mermaid(),
            "flowchart TD\n    n0(\"find\")\n    n1([\"stop\"])\n    n0 -->|\"deal\"| n1\n    \
             n1 --> n0\n    classDef read fill:#e8f1fd,stroke:#3b82c4,color:#1b1f24\n    \
             class n0 read\n    classDef finish fill:#e3e6ea,stroke:#343a40,color:#1b1f24\n    \
             class n1 finish\n"
        );
    }

    #[test]
    fn only_kinds_in_use_are_defined() {
        let chart = steps().mermaid();
        assert_eq!(chart.matches("classDef ").count(), 7);
        assert!(!chart.contains("classDef delete"));
    }

    #[test]
    fn an_edge_to_nowhere_is_ignored() {
        let mut drawing = steps();
        let before = drawing.mermaid();
        drawing.edges.push(edge(0, 99, "lost"));
        drawing.edges.push(edge(usize::MAX, 0, "lost"));
        assert_eq!(drawing.mermaid(), before);
    }

    #[test]
    fn hostile_text_stays_text() {
        let chart = hostile().mermaid();
        let lines: Vec<&str> = chart.lines().collect();
        // Title, header, 12 boxes, 12 arrows, one class: hostile text has added no line.
        assert_eq!(lines.len(), 3 + 1 + 12 + 12 + 2);
        for line in &lines[4..28] {
            let quoted: Vec<&str> = line.split('"').collect();
            assert!(quoted.len() == 3 || !line.contains('|'), "{line}");
            let label = quoted.get(1).copied().unwrap_or_default();
            let rest = label.replace("<br/>", "").replace("#", "").replace(";", "");
            let odd = rest.chars().find(|c| c.is_ascii() && !c.is_ascii_alphanumeric() && !" -_,".contains(*c));
            assert_eq!(odd, None, "{line}");
        }
        assert!(!chart.contains("%%") && !chart.contains("script>"));
        assert!(!chart.contains('\u{202e}') && !chart.contains('\0'));
    }

    #[test]
    fn markdown_punctuation_is_written_as_entities() {
        assert_eq!(escape("1. a"), "1#46;#32;a");
        assert_eq!(escape("    code"), "#32;#32;#32;#32;code");
        assert_eq!(escape("- item"), "#45;#32;item");
        assert_eq!(escape("crm_deal_add, then"), "crm_deal_add,#32;then");
        assert_eq!(escape("fl°°60¶ß"), "fl#176;#176;60#182;ß");
    }
}
