//! What a running call asks of a person, in parts: its own text, and the values that it requests.

use obelus_notebook::describe::mark;
use obelus_notebook::requested::{RequestedField, requested};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::question::Question;
use crate::origin::Origins;
use crate::visible::visible;

/// The limit of characters of a call's text.
const MOST_CHARS: usize = 4_000;

/// The beginning of a line of the call's own text.
const LINE_MARK: &str = "  │ ";

/// An elicitation in parts, for channels with other languages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitationForm {
    /// Whether the call's tool is trusted.
    pub is_trusted: bool,
    /// The lines of the call's own text, each after a mark.
    pub own_lines: Vec<String>,
    /// The number of characters that are shown, if the text is longer.
    pub shown: Option<usize>,
    /// The requested values.
    pub fields: Vec<RequestedField>,
}

impl ElicitationForm {
    /// The parts of a call's text, and of the schema of the answer.
    pub(in crate::session) fn new(text: &str, schema: &Value, origins: &Origins) -> Self {
        let shown: String = text.chars().take(MOST_CHARS).collect();
        let is_cut = shown.len() < text.len();
        Self {
            is_trusted: origins.is_trusted(),
            own_lines: shown.lines().map(|line| format!("{LINE_MARK}{}", visible(line))).collect(),
            shown: is_cut.then_some(MOST_CHARS),
            fields: requested(schema).collect(),
        }
    }

    /// The description for a person: who asks, and the parts.
    pub(in crate::session) fn describe(&self, tool: &str, origins: &Origins) -> String {
        let (head, parts) = (format!("{} asks, in its own words:{}", visible(tool), mark(origins)), self.in_english());
        if parts.is_empty() { head } else { head + "\n" + &parts }
    }

    /// The parts as they stand in the description of the question.
    pub fn in_english(&self) -> String {
        let cut = self.shown.map(|most| format!("  (only the first {most} characters are shown)"));
        let fields = self.fields.iter().map(ToString::to_string);
        self.own_lines.iter().cloned().chain(cut).chain(fields).collect::<Vec<_>>().join("\n")
    }
}

impl Question {
    /// The parts of an open elicitation; none for another question.
    pub fn elicitation_form(&self) -> Option<&ElicitationForm> {
        self.elicitation.as_ref()?.form.as_ref()
    }
}
