//! Dialects: the ways in which a model writes its answers.

pub mod blocks;
pub mod entries;
mod solution;
pub mod stream;

use serde::{Deserialize, Serialize};

pub use solution::Solution;

/// How an answer is written.
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
    /// Whether it is the plain one.
    pub fn is_json(&self) -> bool {
        *self == Dialect::Json
    }

    /// Reads an answer. What is wrong with it is said in words for the model.
    pub fn read(self, text: &str) -> Result<Solution, String> {
        match self {
            Dialect::Json => Solution::from_text(text),
            Dialect::Blocks => match blocks::read(text) {
                Ok(blocks) => Ok(blocks.into_solution()),
                Err(error) => Err(error.to_string()),
            },
        }
    }
}
