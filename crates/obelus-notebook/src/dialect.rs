//! Dialects: the forms of a model's answers.

pub mod blocks;
mod chosen;
pub(crate) mod entries;
mod solution;
pub mod stream;

use serde::{Deserialize, Serialize};

use blocks::Blocks;
pub use chosen::{ChosenOutput, chosen_output};
pub use solution::Solution;

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// One JSON object with `say`, `calls` and `output`.
    #[default]
    Json,
    /// Blocks `THOUGHT:`, `ACTION:`, `ASSISTANT:`.
    Blocks,
}

impl Dialect {
    /// Whether it is the default.
    pub fn is_json(&self) -> bool {
        *self == Dialect::Json
    }

    /// Parses an answer. The error is for the model.
    pub fn read(self, text: &str) -> Result<Solution, String> {
        match self {
            Dialect::Json => Solution::from_text(text),
            Dialect::Blocks => blocks::read(text).map(Blocks::into_solution).map_err(|error| error.to_string()),
        }
    }
}
