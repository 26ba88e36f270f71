//! A filter in a graph.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::jq::{Filter, Read};

/// The text of a filter, compiled once for all sessions of the graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepFilter {
    text: String,
    #[serde(skip)]
    compiled: OnceLock<Result<Arc<Filter>, String>>,
}

impl StepFilter {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The compiled filter, or the error in it.
    pub(super) fn compiled(&self) -> Result<&Filter, String> {
        let compiled = self.compiled.get_or_init(|| Filter::compile(&self.text).map(Arc::new));
        compiled.as_deref().map_err(String::clone)
    }

    /// The result for an input. The error contains the filter.
    pub fn one(&self, input: &Read) -> Result<Value, String> {
        let made = self.compiled().and_then(|filter| filter.one_read(input));
        made.map_err(|error| format!("`{}`: {error}", self.text))
    }
}

impl PartialEq for StepFilter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for StepFilter {}
