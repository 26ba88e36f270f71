//! Pictures of graphs: a plan before it is approved, the steps of an agent.
//!
//! Whoever wants a picture describes it as a [`Drawing`], boxes and arrows, and
//! takes it as Mermaid (for Markdown), DOT (for Graphviz) or SVG (to look at).
//! A picture may be what a person approves, so no text in it can pass for
//! anything but text: see `text`.
//!
//! # Layout
//! - `text`: what may be shown, how wide it is, where it is cut;
//! - `palette`: the colours of each [`Look`];
//! - `mermaid`, `dot`: writers for tools that arrange the boxes themselves;
//! - `layout`, `svg`, `style`: our own arrangement, the picture made from
//!   it, and how that looks.

mod dot;
mod layout;
mod mermaid;
mod palette;
mod style;
mod svg;
mod text;

/// What a drawing shows: boxes and arrows, nothing about how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The heading; may be empty.
    pub title: String,
    /// The boxes; an edge names them by their place in this list.
    pub nodes: Vec<Node>,
    /// The arrows. One that names a box which does not exist is ignored.
    pub edges: Vec<Edge>,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The line that names it.
    pub label: String,
    /// Smaller lines below the label.
    pub details: Vec<String>,
    /// What it does, shown as its colour.
    pub look: Look,
}

/// How a box is coloured: by what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
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
    /// Thinks: a call of the model.
    Thought,
    /// Hands work to another agent.
    Delegate,
    /// Asks a person.
    Question,
    /// Where it begins.
    Start,
    /// Where it ends.
    End,
    /// Cannot work as it stands.
    Faulty,
}

/// An arrow between two boxes, or from a box to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
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
    fn arrows(&self) -> impl Iterator<Item = &Edge> {
        let count = self.nodes.len();
        self.edges.iter().filter(move |edge| edge.from < count && edge.to < count)
    }

    /// The looks that occur, each once, in the order of [`Look::ALL`].
    fn looks(&self) -> impl Iterator<Item = Look> {
        Look::ALL.into_iter().filter(|look| self.nodes.iter().any(|node| node.look == *look))
    }
}

/// Drawings that the tests of all writers share.
#[cfg(test)]
mod samples {
    use super::{Drawing, Edge, Look, Node};

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
    pub(super) fn node(label: &str, look: Look) -> Node {
        Node { label: label.to_owned(), details: Vec::new(), look }
    }

    /// A plain arrow.
    pub(super) fn edge(from: usize, to: usize, label: &str) -> Edge {
        Edge { from, to, label: label.to_owned(), dashed: false }
    }

    /// `count` boxes named by their number, and plain arrows between them.
    pub(super) fn graph(count: usize, edges: &[(usize, usize)]) -> Drawing {
        Drawing {
            title: String::new(),
            nodes: (0..count).map(|i| node(&format!("box {i}"), Look::Read)).collect(),
            edges: edges.iter().map(|&(a, b)| edge(a, b, "")).collect(),
        }
    }

    /// The steps of an agent that loops, asks and ends.
    pub(super) fn steps() -> Drawing {
        Drawing {
            title: "Steps".to_owned(),
            nodes: vec![
                node("goal", Look::Start),
                node("plan", Look::Thought),
                node("observe", Look::Read),
                node("decide", Look::Thought),
                node("act", Look::Update),
                node("record", Look::Create),
                node("ask", Look::Question),
                node("end", Look::End),
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
                .map(|text| Node { label: (*text).to_owned(), details: vec![(*text).to_owned()], look: Look::Delete })
                .collect(),
            edges: HOSTILE.iter().enumerate().map(|(i, text)| edge(i, (i + 1) % HOSTILE.len(), text)).collect(),
        }
    }
}
