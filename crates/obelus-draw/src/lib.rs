//! Drawings of plans and of agents' graphs, as Mermaid (for Markdown), DOT (for Graphviz) and SVG.
//!
//! [`plan_drawing`] and [`steps_drawing`] build a [`Drawing`] of boxes and arrows; its methods write it in each format.
//! People approve plans by their drawings, so text in them is always escaped (see `text`).
//!
//! # Layout
//! - `plan`, `steps`: drawings of plans and of graphs of steps;
//! - `text`: escapes, measures and shortens text;
//! - `palette`: the colours of each [`NodeKind`];
//! - `mermaid`, `dot`: writers for tools that do the layout themselves;
//! - `layout`, `svg`, `style`: our own layout, the SVG picture, and its style sheet.

mod dot;
mod layout;
mod mermaid;
mod palette;
mod plan;
mod steps;
mod style;
mod svg;
mod text;

pub use plan::plan_drawing;
pub use steps::steps_drawing;

/// Boxes and arrows, without positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The heading; may be empty.
    pub title: String,
    /// The boxes; edges refer to them by index.
    pub nodes: Vec<DrawnNode>,
    /// The arrows. Those with an index that does not exist are ignored.
    pub edges: Vec<DrawnEdge>,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnNode {
    /// Its title line.
    pub label: String,
    /// Smaller lines below the label.
    pub details: Vec<String>,
    /// Its kind, which sets the colour.
    pub kind: NodeKind,
}

/// The kind of a box. Each kind has its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Reads something.
    Read,
    /// Creates something.
    Create,
    /// Changes something that exists.
    Update,
    /// Deletes something that exists.
    Delete,
    /// Changes configuration.
    Configure,
    /// A request to the model.
    Thought,
    /// Delegates work to another agent.
    Delegate,
    /// Asks a person.
    Question,
    /// The start of a graph.
    Start,
    /// The end of a graph.
    End,
    /// Has errors and cannot run.
    Faulty,
}

/// An arrow between two boxes, or from a box to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnEdge {
    /// The box at its tail.
    pub from: usize,
    /// The box at its head.
    pub to: usize,
    /// Its text; may be empty.
    pub label: String,
    /// Whether the line is dashed.
    pub dashed: bool,
}

impl Drawing {
    /// The drawing as a Mermaid flowchart.
    ///
    /// Mermaid refuses very large charts (more than 500 arrows, unless configured).
    #[must_use]
    pub fn mermaid(&self) -> String {
        mermaid::write(self)
    }

    /// The drawing in the DOT language of Graphviz.
    #[must_use]
    pub fn dot(&self) -> String {
        dot::write(self)
    }

    /// The drawing as a self-contained SVG picture, for light and dark pages.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::write(self)
    }

    /// The edges whose two boxes exist.
    fn arrows(&self) -> impl Iterator<Item = &DrawnEdge> {
        let count = self.nodes.len();
        self.edges.iter().filter(move |edge| edge.from < count && edge.to < count)
    }

    /// The kinds in use, each once, in the order of [`NodeKind::ALL`].
    fn kinds(&self) -> impl Iterator<Item = NodeKind> {
        NodeKind::ALL.into_iter().filter(|kind| self.nodes.iter().any(|node| node.kind == *kind))
    }
}

/// Drawings for the tests of all writers.
#[cfg(test)]
mod samples {
    use super::{Drawing, DrawnEdge, DrawnNode, NodeKind};

    /// Text that would break a careless writer, each in another way.
    pub(super) const HOSTILE: [&str; 12] = [
        "\"]; n9[\"pwned",
        "]) --> n0 %%{init: {'theme':'dark'}}%%",
        "<script>alert(1)</script>",
        "two\nlines\r\tand a tab",
        "#quot; #35; &quot; &#34; &lt;b&gt;",
        "`code` **bold** _em_ $$x$$ fa:fa-ban",
        "\u{202e}desrever\u{2066}\u{200f}\u{61c}",
        "nul\0 bell\u{7} del\u{7f} c1\u{85} \u{ffff}",
        "\\N \\G \\l \\\" \\",
        "]]></style><style>*{display:none}",
        "click n0 href \"javascript:alert(1)\"; end",
        "",
    ];

    /// A box with a label only.
    pub(super) fn node(label: &str, kind: NodeKind) -> DrawnNode {
        DrawnNode { label: label.to_owned(), details: Vec::new(), kind }
    }

    /// A solid arrow.
    pub(super) fn edge(from: usize, to: usize, label: &str) -> DrawnEdge {
        DrawnEdge { from, to, label: label.to_owned(), dashed: false }
    }

    /// `count` boxes labelled with their numbers, and solid arrows between them.
    pub(super) fn graph(count: usize, edges: &[(usize, usize)]) -> Drawing {
        Drawing {
            title: String::new(),
            nodes: (0..count).map(|i| node(&format!("box {i}"), NodeKind::Read)).collect(),
            edges: edges.iter().map(|&(a, b)| edge(a, b, "")).collect(),
        }
    }

    /// The steps of an agent, with a loop, a question and an end.
    pub(super) fn steps() -> Drawing {
        Drawing {
            title: "Steps".to_owned(),
            nodes: vec![
                node("goal", NodeKind::Start),
                node("plan", NodeKind::Thought),
                node("observe", NodeKind::Read),
                node("decide", NodeKind::Thought),
                node("act", NodeKind::Update),
                node("record", NodeKind::Create),
                node("ask", NodeKind::Question),
                node("end", NodeKind::End),
            ],
            edges: vec![
                edge(0, 1, ""),
                edge(1, 2, ""),
                edge(2, 3, ""),
                edge(3, 4, "a call"),
                edge(4, 5, ""),
                edge(5, 3, "next"),
                edge(3, 6, "unsure"),
                edge(6, 2, "answer"),
                edge(3, 7, "done"),
            ],
        }
    }

    /// Hostile text in all fields.
    pub(super) fn hostile() -> Drawing {
        Drawing {
            title: HOSTILE.concat(),
            nodes: HOSTILE
                .iter()
                .map(|text| DrawnNode {
                    label: (*text).to_owned(),
                    details: vec![(*text).to_owned()],
                    kind: NodeKind::Delete,
                })
                .collect(),
            edges: HOSTILE.iter().enumerate().map(|(i, text)| edge(i, (i + 1) % HOSTILE.len(), text)).collect(),
        }
    }
}
