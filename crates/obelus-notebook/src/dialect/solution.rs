//! A model's answer, independent of the dialect.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entries;
use crate::call::StepOptions;
use crate::call_json::CallJson;
use crate::message::depth;
use crate::path::MAX_DEPTH;
use crate::wording::type_name;

/// A model's answer: words, calls, and the result if there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Solution {
    /// The model's thoughts; shown only in the journal and the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
    /// Words for the user, shown at once.
    pub say: Option<String>,
    /// Calls.
    pub calls: Vec<CallJson>,
    /// The result; null while there is none.
    pub output: Value,
    /// The chosen path of the result, for one model call with alternatives.
    #[serde(rename = "_outputPath", skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// Whether the calls run one after the other, in the order of the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sequential: bool,
    /// Whether results without an output path are pushed to `†results`, so that the turn waits for them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_results: bool,
}

impl Solution {
    /// How its calls run.
    pub fn step_options(&self) -> StepOptions {
        StepOptions { sequential: self.sequential, keeps_results: self.keeps_results }
    }

    /// Parses an answer in the composed schema. The error is for the model.
    pub fn from_value(value: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = value else {
            return Err(format!("the answer is an object with `say`, `calls` and `output`, not {}", type_name(&value)));
        };
        if !["say", "calls", "output"].iter().any(|name| fields.contains_key(*name)) {
            return Err("the answer has none of `say`, `calls` and `output`".to_owned());
        }
        let say = match fields.shift_remove("say") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(other) => return Err(format!("`say` is a string or null, not {}", type_name(&other))),
        };
        let mut calls = match fields.shift_remove("calls") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(calls)) => calls,
            Some(other) => return Err(format!("`calls` is an array, not {}", type_name(&other))),
        };
        for (index, call) in calls.iter_mut().enumerate() {
            entries::open(call).map_err(|wrong| format!("call {index}: {wrong}"))?;
        }
        // Plan and error messages contain the calls, and messages have a limit of depth.
        const MOST: usize = MAX_DEPTH - 1;
        if let Some(index) = calls.iter().position(|call| depth(call) > MOST) {
            return Err(format!("call {index} is nested deeper than {MOST} levels"));
        }
        let mut output = fields.shift_remove("output").unwrap_or_default();
        entries::open(&mut output).map_err(|wrong| format!("`output`: {wrong}"))?;
        if depth(&output) >= MOST {
            return Err(format!("`output` is nested deeper than {} levels", MOST - 1));
        }
        let output_path = match fields.shift_remove("_outputPath") {
            None | Some(Value::Null) => None,
            Some(Value::String(path)) => Some(path),
            Some(other) => return Err(format!("`_outputPath` is a string, not {}", type_name(&other))),
        };
        let calls = calls.into_iter().map(Into::into).collect();
        Ok(Self { say, calls, output, output_path, ..Self::default() })
    }

    /// Parses an answer from text: one JSON object, with or without a code fence.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let fenced = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
        let text = fenced.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim());
        let value = serde_json::from_str(text).map_err(|error| format!("the answer is not JSON: {error}"))?;
        Self::from_value(value)
    }
}
