//! Drawings of plans and of agents' graphs, as Mermaid (for Markdown), DOT (for Graphviz) and SVG.
//!
//! [`plan_drawing`] and [`steps_drawing`] make a [`Drawing`] out of boxes and arrows; its methods write it.
//! A person may approve what a drawing shows, so text in it is always escaped (see `text`).
//!
//! # Layout
//! - `plan`, `steps`: what is drawn;
//! - `text`: escaping, measuring and cutting of text;
//! - `palette`: the colours of each [`NodeKind`];
//! - `mermaid`, `dot`: writers for tools that arrange the boxes themselves;
//! - `layout`, `svg`, `style`: our own arrangement, the SVG made from it, and its style sheet.

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

/// Boxes and arrows, without their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The heading; may be empty.
    pub title: String,
    /// The boxes; an edge names them by their place in this list.
    pub nodes: Vec<DrawnNode>,
    /// The arrows. One that names a box which does not exist is ignored.
    pub edges: Vec<DrawnEdge>,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnNode {
    /// The line that names it.
    pub label: String,
    /// Smaller lines below the label.
    pub details: Vec<String>,
    /// What it does; sets its colour.
    pub kind: NodeKind,
}

/// What a box stands for. Each kind has its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Looks something up.
    Read,
    /// Makes something new.
    Create,
    /// Changes what exists.
    Update,
    /// Removes what exists.
    Delete,
    /// Changes how something works.
    Configure,
    /// A request to the model.
    Thought,
    /// Hands work to another agent.
    Delegate,
    /// Asks a person.
    Question,
    /// Where a graph begins.
    Start,
    /// Where a graph ends.
    End,
    /// Cannot run: something is wrong with it.
    Faulty,
}

/// An arrow between two boxes, or from a box to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnEdge {
    /// The box it leaves.
    pub from: usize,
    /// The box it points at.
    pub to: usize,
    /// What it carries; may be empty.
    pub label: String,
    /// Drawn as a broken line.
    pub dashed: bool,
}

impl Drawing {
    /// The drawing as a Mermaid flowchart.
    ///
    /// Mermaid itself refuses very large charts (500 arrows unless configured).
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

    /// The edges whose two ends exist.
    fn arrows(&self) -> impl Iterator<Item = &DrawnEdge> {
        let count = self.nodes.len();
        self.edges.iter().filter(move |edge| edge.from < count && edge.to < count)
    }

    /// The kinds that occur, each once, in the order of [`NodeKind::ALL`].
    fn kinds(&self) -> impl Iterator<Item = NodeKind> {
        NodeKind::ALL.into_iter().filter(|kind| self.nodes.iter().any(|node| node.kind == *kind))
    }
}

/// Drawings that the tests of all writers share.
#[cfg(test)]
mod samples {
    use super::{Drawing, DrawnEdge, DrawnNode, NodeKind};

    /// Text that would break a careless writer, one danger each.
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

    /// A box with nothing but a label.
    pub(super) fn node(label: &str, kind: NodeKind) -> DrawnNode {
        DrawnNode { label: label.to_owned(), details: Vec::new(), kind }
    }

    /// A plain arrow.
    pub(super) fn edge(from: usize, to: usize, label: &str) -> DrawnEdge {
        DrawnEdge { from, to, label: label.to_owned(), dashed: false }
    }

    /// `count` boxes named by their number, and plain arrows between them.
    pub(super) fn graph(count: usize, edges: &[(usize, usize)]) -> Drawing {
        Drawing {
            title: String::new(),
            nodes: (0..count).map(|i| node(&format!("box {i}"), NodeKind::Read)).collect(),
            edges: edges.iter().map(|&(a, b)| edge(a, b, "")).collect(),
        }
    }

    /// The steps of an agent that loops, asks and ends.
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

    /// Hostile text in every place that takes text.
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
