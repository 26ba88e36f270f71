//! What a fork would do, instances, and usage.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "http")]
use utoipa::ToSchema;

/// What a fork at a record would and would not do again.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ForkForecastView {
    /// The record after which it would begin.
    pub at: u64,
    /// How many records the session has.
    pub records: u64,
    /// Whether it would be paused, until a person resumes it.
    pub paused: bool,
    /// Done before that: not done again.
    pub kept: Vec<ForkedCallView>,
    /// Under way there, and its end is known: that is taken over.
    pub known: Vec<ForkedCallView>,
    /// Under way there, and harmless: it is done again.
    pub again: Vec<ForkedCallView>,
    /// Under way there, and nobody knows whether it happened: a person is asked.
    pub in_doubt: Vec<ForkedCallView>,
    /// What the session did later. It stays done, and the fork does not know of it: it may do it a second time.
    pub later: Vec<ForkedCallView>,
}

/// A call that a fork is judged by. Reads are left out where they have ended.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ForkedCallView {
    /// Its id.
    pub id: String,
    /// What it does, in one line.
    pub headline: String,
    /// The tool.
    pub tool: String,
    /// What the tool does to the world.
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
    /// How many of them are wanted.
    pub matching: usize,
    /// How many there are by status.
    pub counts: BTreeMap<String, usize>,
    /// What went wrong, the most frequent first.
    pub errors: Vec<ErrorGroup>,
    /// The instances of this part.
    pub rows: Vec<InstanceRow>,
    /// What to give as `after` for the next part; none at the end.
    pub next: Option<String>,
}

/// Instances that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ErrorGroup {
    /// A stable name of the cause.
    pub code: String,
    /// What happened, in words.
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
    /// How it stands: that of its calls which says most.
    pub status: String,
    /// What went wrong, in words.
    pub error: Option<String>,
    /// The code of that.
    pub code: Option<String>,
    /// Its calls.
    pub calls: Vec<InstanceCall>,
    /// What it was given.
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
    pub status: String,
}

/// Which instances are wanted.
#[derive(Clone, Debug, Default)]
pub struct InstanceFilter {
    /// Those of this status.
    pub status: Option<String>,
    /// Those with this text in their name.
    pub text: Option<String>,
    /// Those that failed with this code.
    pub error: Option<String>,
    /// The instance after which the part begins.
    pub after: Option<String>,
    /// The most rows.
    pub limit: usize,
}

/// Which records are wanted.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Those with this text in them.
    pub text: Option<String>,
    /// Those of this kind.
    pub kind: Option<String>,
}

/// What requests to the model took.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct UsageView {
    /// The requests, oldest first.
    pub requests: Vec<RequestUsage>,
    /// All of them together.
    pub sum: UsageSum,
}

/// What one request to the model took.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct RequestUsage {
    /// The request.
    pub request: String,
    /// The record with which it was told.
    pub record: u64,
    /// When.
    pub at: String,
    /// The user's words of the turn.
    pub turn: Option<String>,
    /// What came of the answer: calls that began and words that were said until the next request.
    pub led_to: Vec<String>,
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by it.
    pub output: u64,
    /// What that costs; none where no price was given.
    pub cost: Option<f64>,
}

/// What several requests took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct UsageSum {
    /// How many requests.
    pub requests: usize,
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by it.
    pub output: u64,
    /// What that costs; none where no price was given.
    pub cost: Option<f64>,
}
