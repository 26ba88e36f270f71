//! The plan as a graph, and the agent's graph of steps.

use obelus_kernel::session::CallStatus;
use serde::Serialize;
use serde_json::{Map, Value};
#[cfg(feature = "http")]
use utoipa::ToSchema;

/// The calls of the latest turn, and the values that flow between them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PlanGraphView {
    /// The session.
    pub session: String,
    /// The calls.
    pub nodes: Vec<PlanNodeView>,
    /// The values that they read.
    pub edges: Vec<PlanEdgeView>,
    /// How many more calls there are.
    pub left_out: usize,
    /// The agent's graph of steps, and where the session is in it.
    pub steps: Option<StepsView>,
}

/// A call of a plan.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PlanNodeView {
    /// Its id: that of the call, such as `1.0`; `p0` and so on in a plan that does not run.
    pub id: String,
    /// Its step; null in a plan that does not run.
    pub step: Option<u32>,
    /// What it does, in one line.
    pub headline: String,
    /// The title of its tool.
    pub title: String,
    /// The tool.
    pub tool: String,
    /// Its status.
    #[cfg_attr(feature = "http", schema(value_type = crate::schemas::CallStatusName))]
    pub status: CallStatus,
    /// The effect of the tool: `read`, `create`, `update`, `delete`, `configure`.
    pub effect: Option<String>,
    /// Its parameters: as it ran, else as it was proposed.
    pub params: Map<String, Value>,
    /// Its parameters as they were proposed, with references.
    pub proposed: Map<String, Value>,
    /// The instance that it works for.
    pub instance: Option<String>,
    /// The open question about it.
    pub question: Option<String>,
    /// The paths that it may write.
    pub writes: Vec<String>,
    /// The error.
    pub error: Option<Value>,
    /// The same in words.
    pub error_words: Option<String>,
    /// What it lacked, in words, if it could not start.
    pub lacks: Option<String>,
    /// Its result, if that was stored; the beginning of a long value.
    pub result: Option<Value>,
    /// The standing consent because of which it ran without a question.
    pub consent: Option<String>,
}

/// A value that a call reads.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct PlanEdgeView {
    /// The call that writes it; null if it existed before.
    pub from: Option<String>,
    /// The call that reads it.
    pub to: String,
    /// The path, such as `†state.deal.id`.
    pub path: String,
    /// The present value; null if there is none yet.
    pub value: Option<Value>,
    /// Whether the value is long and only its beginning is here.
    pub is_cut: bool,
    /// Its origins: `user`, `author`, `model`, `trusted:TOOL`, `untrusted:TOOL`.
    pub origins: Vec<String>,
    /// Its writer.
    pub writer: Option<WriterView>,
}

/// The writer of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct WriterView {
    /// The kind of writer.
    pub kind: WriterKind,
    /// The tool, if there is one.
    pub name: Option<String>,
    /// The title of the tool.
    pub title: Option<String>,
    /// Whether it is trusted.
    pub trusted: bool,
}

/// The writer of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum WriterKind {
    /// The agent's author.
    Author,
    /// A person.
    User,
    /// A tool that was called.
    Tool,
    /// The model.
    Model,
    /// A delegate.
    Delegate,
    /// A call that was made elsewhere.
    Elsewhere,
    /// The runtime, about an error.
    Runtime,
    /// Several of them.
    Several,
}

/// A graph of steps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StepsView {
    /// The nodes.
    pub nodes: Vec<StepNodeView>,
    /// The edges between them.
    pub edges: Vec<StepWayView>,
    /// The node where the session is.
    pub at: Option<String>,
}

/// A node of a graph of steps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StepNodeView {
    /// Its name.
    pub name: String,
    /// Its kind: `request`, `call`, `ask`, `end` or `faulty`.
    pub kind: String,
    /// The tool that it calls, or the name of the end.
    pub detail: Option<String>,
    /// The path of its result.
    pub writes: Option<String>,
    /// Whether a turn may begin here.
    pub is_start: bool,
    /// Whether the session is at this node.
    pub is_here: bool,
}

/// An edge from one node to another.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct StepWayView {
    /// The first node.
    pub from: String,
    /// The second node.
    pub to: String,
    /// Its condition; the last edge of a node has none.
    pub when: Option<String>,
}
