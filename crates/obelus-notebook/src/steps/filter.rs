//! A filter as it stands in a graph.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::jq::{Filter, Read};

/// The text of a filter, made ready to run once for all sessions that walk the graph.
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

    /// It, or what is wrong with it.
    pub(super) fn compiled(&self) -> Result<&Filter, String> {
        let compiled = self.compiled.get_or_init(|| Filter::compile(&self.text).map(Arc::new));
        compiled.as_deref().map_err(String::clone)
    }

    /// What it makes of an input. The error names it.
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
