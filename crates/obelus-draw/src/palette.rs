//! The colours of each kind, the same in every format.

use super::NodeKind;

/// The colours of a box, on a light and on a dark page.
pub(super) struct Paint {
    pub(super) light: Tint,
    pub(super) dark: Tint,
}

/// The fill and the border of a box.
pub(super) struct Tint {
    pub(super) fill: &'static str,
    pub(super) stroke: &'static str,
}

/// The colour of text on light fills.
pub(super) const INK: &str = "#1b1f24";

impl NodeKind {
    /// All kinds, in the order of legends and style sheets.
    pub(super) const ALL: [Self; 11] = [
        Self::Read,
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::Configure,
        Self::Thought,
        Self::Delegate,
        Self::Question,
        Self::Start,
        Self::End,
        Self::Faulty,
    ];

    /// The name of the kind's class, in formats with classes.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Configure => "configure",
            Self::Thought => "thought",
            Self::Delegate => "delegate",
            Self::Question => "question",
            Self::Start => "start",
            // A bare `end` would close a subgraph in Mermaid.
            Self::End => "finish",
            Self::Faulty => "faulty",
        }
    }

    /// Whether it is the start or the end of a graph, which is drawn as a pill.
    pub(super) fn is_terminal(self) -> bool {
        matches!(self, Self::Start | Self::End)
    }

    pub(super) fn paint(self) -> Paint {
        match self {
            Self::Read => paint(["#e8f1fd", "#3b82c4"], ["#16283b", "#5aa2e6"]),
            Self::Create => paint(["#e6f6ea", "#2f9e56"], ["#14301f", "#4cc27a"]),
            Self::Update => paint(["#fff4dc", "#d08a12"], ["#37290f", "#e0a83a"]),
            Self::Delete => paint(["#fde8e8", "#d14343"], ["#3a1a1c", "#ec6a6a"]),
            Self::Configure => paint(["#f1eafc", "#8a5cd0"], ["#281f3d", "#ab85ee"]),
            Self::Thought => paint(["#f1f3f5", "#7b8794"], ["#25292e", "#97a3b0"]),
            Self::Delegate => paint(["#e0f5f5", "#1f9797"], ["#10302f", "#3fbcbc"]),
            Self::Question => paint(["#fde9f3", "#cf4b91"], ["#381c2c", "#ea74b4"]),
            Self::Start => paint(["#ffffff", "#343a40"], ["#1c2025", "#ced4da"]),
            Self::End => paint(["#e3e6ea", "#343a40"], ["#3a4047", "#ced4da"]),
            Self::Faulty => paint(["#fff0f0", "#c01c28"], ["#3a1518", "#ff6b6b"]),
        }
    }
}

const fn paint(light: [&'static str; 2], dark: [&'static str; 2]) -> Paint {
    Paint { light: tint(light), dark: tint(dark) }
}

const fn tint([fill, stroke]: [&'static str; 2]) -> Tint {
    Tint { fill, stroke }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_look_alike() {
        for (i, a) in NodeKind::ALL.into_iter().enumerate() {
            for b in NodeKind::ALL.into_iter().skip(i + 1) {
                assert_ne!(a.class(), b.class());
                let (a, b) = (a.paint(), b.paint());
                assert_ne!(a.light.fill, b.light.fill);
                assert_ne!(a.dark.fill, b.dark.fill);
            }
        }
    }
}
