//! One row of the table: our figure, that of a peer, and the goal.

use serde_json::{Value, json};

/// A figure, for which less is better, with the same figure of a peer or of a physical limit.
#[derive(Clone, Debug)]
pub(crate) struct BenchRow {
    /// What is measured.
    pub(crate) name: String,
    /// The unit of both figures.
    pub(crate) unit: &'static str,
    pub(crate) ours: f64,
    /// The name of the peer or limit.
    pub(crate) beside: String,
    /// None if the peer could not be measured.
    pub(crate) peer: Option<f64>,
    pub(crate) goal: Goal,
}

/// The goal of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// The peer's figure divided by ours is at least this. For a physical limit it is less than one.
    Ratio(f64),
    /// Our figure is at most this many times the peer's.
    Within(f64),
    /// Our figure is at most this; the peer does not matter.
    Most(f64),
    /// No goal; the row is for information.
    Shown,
}

impl BenchRow {
    /// The peer's figure divided by ours; none without a peer, or if our figure is zero.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.peer.map(|peer| peer / self.ours).filter(|ratio| ratio.is_finite())
    }

    /// Whether the goal is reached; none without a goal, or without a peer to compare with.
    pub(crate) fn holds(&self) -> Option<bool> {
        match self.goal {
            Goal::Ratio(least) => self.peer.map(|peer| peer >= least * self.ours),
            Goal::Within(most) => self.peer.map(|peer| self.ours <= most * peer),
            Goal::Most(most) => Some(self.ours <= most),
            Goal::Shown => None,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "unit": self.unit,
            "ours": self.ours,
            "beside": self.beside,
            "peer": self.peer,
            "ratio": self.ratio(),
            "goal": self.goal.in_words(),
            "holds": self.holds(),
        })
    }
}

impl Goal {
    pub(crate) fn in_words(self) -> String {
        match self {
            Goal::Ratio(least) => format!("ratio ≥ {least}"),
            Goal::Within(most) => format!("≤ {most} × peer"),
            Goal::Most(most) => format!("≤ {most}"),
            Goal::Shown => String::new(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{BenchRow, Goal};

    pub(crate) fn row(ours: f64, peer: Option<f64>, goal: Goal) -> BenchRow {
        BenchRow { name: "a step".to_owned(), unit: "µs", ours, beside: "LangGraph".to_owned(), peer, goal }
    }

    #[test]
    fn a_goal_is_compared_with_the_peer_of_the_same_run() {
        for (ours, peer, goal, holds) in [
            (2.0, Some(200.0), Goal::Ratio(100.0), Some(true)),
            (2.1, Some(200.0), Goal::Ratio(100.0), Some(false)),
            (2.0, Some(1.0), Goal::Ratio(0.35), Some(true)),
            (3.0, Some(2.0), Goal::Within(1.5), Some(true)),
            (3.1, Some(2.0), Goal::Within(1.5), Some(false)),
            (0.0, Some(97.0), Goal::Most(0.0), Some(true)),
            (1.0, Some(97.0), Goal::Most(0.0), Some(false)),
            (1.0, Some(9.0), Goal::Shown, None),
        ] {
            assert_eq!(row(ours, peer, goal).holds(), holds, "{ours} beside {peer:?}, {goal:?}");
        }
    }

    #[test]
    fn a_goal_without_a_measured_peer_is_neither_met_nor_missed() {
        let row = row(2.0, None, Goal::Ratio(100.0));
        assert_eq!((row.holds(), row.ratio()), (None, None));
        assert!(row.to_json()["peer"].is_null());
    }

    #[test]
    fn json_has_the_ratio_the_goal_and_whether_it_holds() {
        let json = row(2.0, Some(400.0), Goal::Ratio(100.0)).to_json();
        assert_eq!((json["ratio"].as_f64(), json["holds"].as_bool()), (Some(200.0), Some(true)));
        assert_eq!(json["goal"], "ratio ≥ 100");
        // Our figure is zero: no repeated effects, and 97 of the peer.
        assert!(row(0.0, Some(97.0), Goal::Most(0.0)).to_json()["ratio"].is_null());
    }
}
