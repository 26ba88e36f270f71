//! The log, the timeline, forks, instances, and usage.

use std::collections::BTreeMap;

use obelus_kernel::session::{CallStatus, Used};
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "http")]
use utoipa::ToSchema;

/// One record of a journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct LogRow {
    /// Its number.
    pub record: u64,
    /// When.
    pub at: String,
    /// The kind of input: `user`, `answer`, `ended`, `decide`, …
    pub kind: String,
    /// The input.
    pub input: Value,
}

/// Records of a journal, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct Log {
    /// The records of this page.
    pub records: Vec<LogRow>,
    /// The `after` of the next page; null at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The events of a session, oldest first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct Timeline {
    /// The events: `{number, at, event, …}`.
    #[cfg_attr(feature = "http", schema(value_type = Vec<crate::schemas::SessionEventShape>))]
    pub events: Vec<Value>,
    /// The `after` of the next page; null at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A fork of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ForkView {
    /// The new session.
    pub id: String,
    /// The original session.
    pub of: String,
    /// The record after which it begins.
    pub at: u64,
    /// Whether the original was within a turn there: then the fork is paused until a person resumes it.
    pub paused: bool,
}

/// What a fork at a record would repeat, and what not.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ForkForecastView {
    /// The record after which it would begin.
    pub at: u64,
    /// How many records the session has.
    pub records: u64,
    /// Whether it would be paused, until a person resumes it.
    pub paused: bool,
    /// Calls that ended before: not repeated.
    pub kept: Vec<ForkedCallView>,
    /// Calls that were running, with a known result: the fork uses it.
    pub known: Vec<ForkedCallView>,
    /// Calls that were running and are safe to repeat: repeated.
    pub again: Vec<ForkedCallView>,
    /// Calls that were running and are in doubt: a person is asked.
    pub in_doubt: Vec<ForkedCallView>,
    /// Later calls of the session. Their effects remain, and the fork may repeat them, because it does not know of
    /// them.
    pub later: Vec<ForkedCallView>,
}

/// A call in the forecast of a fork. Reads that have ended are left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ForkedCallView {
    /// Its id.
    pub id: String,
    /// What it does, in one line.
    pub headline: String,
    /// The tool.
    pub tool: String,
    /// The effect of the tool.
    pub effect: Option<String>,
    /// The record with which it began.
    pub record: u64,
    /// When.
    pub at: String,
    /// Whether it failed.
    pub failed: bool,
}

/// The instances of a session.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct InstanceList {
    /// How many there are.
    pub total: usize,
    /// How many of them match the query.
    pub matching: usize,
    /// How many have each status.
    pub counts: BTreeMap<String, usize>,
    /// The errors, most frequent first.
    pub errors: Vec<ErrorGroup>,
    /// The instances of this page.
    pub rows: Vec<InstanceRow>,
    /// The `after` of the next page; null at the end.
    pub next: Option<String>,
}

/// Instances that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ErrorGroup {
    /// A stable name of the cause.
    pub code: String,
    /// The error in words.
    pub message: String,
    /// How many.
    pub count: usize,
}

/// An instance of a session.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct InstanceRow {
    /// Its name.
    pub instance: String,
    /// Its status: the most significant status of its calls.
    pub status: String,
    /// The error in words.
    pub error: Option<String>,
    /// The code of the error.
    pub code: Option<String>,
    /// Its calls.
    pub calls: Vec<InstanceCall>,
    /// Its input.
    pub input: Option<Value>,
}

/// A call of an instance.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct InstanceCall {
    /// Its id.
    pub id: String,
    /// What it does, in one line.
    pub headline: String,
    /// Its status.
    #[cfg_attr(feature = "http", schema(value_type = crate::schemas::CallStatusName))]
    pub status: CallStatus,
}

/// Which instances are wanted.
#[derive(Clone, Debug, Default)]
pub struct InstanceFilter {
    /// Those of this status.
    pub status: Option<String>,
    /// Only those whose name contains this text.
    pub text: Option<String>,
    /// Only those that failed with this code.
    pub error: Option<String>,
    /// The instance after which the part begins.
    pub after: Option<String>,
    /// The most rows.
    pub limit: usize,
}

/// Which records are wanted.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Only those that contain this text.
    pub text: Option<String>,
    /// Those of this kind.
    pub kind: Option<String>,
}

/// The usage of requests to the model.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct UsageView {
    /// The requests, oldest first.
    pub requests: Vec<RequestUsage>,
    /// The turns that have requests, oldest first.
    pub turns: Vec<TurnUsage>,
    /// All of them together.
    pub sum: UsageSum,
}

/// The usage of one request to the model.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct RequestUsage {
    /// The request.
    pub request: String,
    /// The record that has this usage.
    pub record: u64,
    /// When.
    pub at: String,
    /// The user's message of the turn.
    pub turn: Option<String>,
    /// The number of the turn.
    pub turn_number: usize,
    /// The consequences of the answer until the next request: started calls and messages.
    pub led_to: Vec<String>,
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by it.
    pub output: u64,
    /// The cost; null without a price.
    pub cost: Option<f64>,
}

/// The usage of a turn.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct TurnUsage {
    /// Its number: that of the user's message with which it began, counted from 1; 0 without a message.
    pub number: usize,
    /// The user's message.
    pub words: Option<String>,
    /// Its requests together.
    pub sum: UsageSum,
}

/// The usage of several requests.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct UsageSum {
    /// How many requests.
    pub requests: usize,
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by it.
    pub output: u64,
    /// The cost; null without a price.
    pub cost: Option<f64>,
}

impl UsageSum {
    pub(crate) fn of(requests: usize, used: Used) -> Self {
        Self { requests, input: used.input, output: used.output, cost: used.cost.map(f64::from) }
    }
}
