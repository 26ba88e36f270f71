//! What a running call asks of a person, in parts: its own text, and the values that it requests.

use obelus_notebook::describe::mark;
use obelus_notebook::requested::{RequestedField, requested};
use serde_json::Value;

use super::question::Question;
use crate::origin::Origins;
use crate::visible::visible;

/// The limit of characters of a call's text.
const MOST_CHARS: usize = 4_000;

/// The beginning of a line of the call's own text.
const LINE_MARK: &str = "  │ ";

/// An elicitation in parts, for channels with other languages.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The text for a person: who asks, its own text with each line marked, and the requested values.
pub(in crate::session) fn describe_elicitation(tool: &str, text: &str, schema: &Value, origins: &Origins) -> String {
    let mut lines = vec![head(tool) + &mark(origins)];
    let shown: String = text.chars().take(MOST_CHARS).collect();
    lines.extend(shown.lines().map(|line| format!("{LINE_MARK}{}", visible(line))));
    if shown.len() < text.len() {
        lines.push(format!("  (only the first {MOST_CHARS} characters are shown)"));
    }
    lines.extend(requested(schema).map(|field| field.to_string()));
    lines.join("\n")
}

fn head(tool: &str) -> String {
    format!("{} asks, in its own words:", visible(tool))
}

impl Question {
    /// The parts of an elicitation; none for another question. The description has the call's own text; what it
    /// requests is in the schema.
    pub fn elicitation_form(&self) -> Option<ElicitationForm> {
        let tool = self.asked_by()?;
        let (first, rest) = self.description.split_once('\n').unwrap_or((&self.description, ""));
        let own_lines: Vec<String> =
            rest.lines().take_while(|line| line.starts_with(LINE_MARK)).map(str::to_owned).collect();
        let fields: Vec<RequestedField> = self.schema.as_ref().map(|schema| requested(schema).collect())?;
        let is_cut = rest.lines().count() > own_lines.len() + fields.len();
        let shown = is_cut.then_some(MOST_CHARS);
        Some(ElicitationForm { is_trusted: first == head(tool), own_lines, shown, fields })
    }
}
