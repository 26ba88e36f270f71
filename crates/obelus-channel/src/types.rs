//! Parameters and results of the calls of a [`Service`](crate::Service). Times are RFC 3339 texts.
//!
//! Clients read the results with the same types. They ignore fields that they do not know.
//!
//! | file | subject |
//! |---|---|
//! | `agents` | agents and their parts |
//! | `sessions` | sessions, turns and their calls |
//! | `questions` | questions, answers and standing consents |
//! | `graph` | the plan as a graph, and the agent's graph of steps |
//! | `edit` | editing a waiting call |
//! | `changes` | changes of the lists of sessions and questions |
//! | `state` | values of the state with their provenance |
//! | `past` | the log, the timeline, forks, instances, usage |

mod agents;
mod changes;
mod edit;
mod graph;
mod past;
mod questions;
mod sessions;
mod state;

pub use agents::{
    AgentFileView, AgentRow, AgentView, PolicyExampleView, PolicyRuleView, PolicyToolView, PolicyView, PromptMessage,
    PromptRequest, PromptSize, PromptView, ToolRow,
};
pub use changes::ListChange;
pub use edit::{
    EditProblem, FieldKindName, FormFieldView, FormView, LookRow, LookView, PictureBytes, PreviewRequest, PreviewView,
};
pub use graph::{
    PlanEdgeView, PlanGraphView, PlanNodeView, StepNodeView, StepWayView, StepsView, WriterKind, WriterView,
};
pub use past::{
    ErrorGroup, ForkForecastView, ForkView, ForkedCallView, InstanceCall, InstanceFilter, InstanceList, InstanceRow,
    Log, LogFilter, LogRow, RequestUsage, Timeline, TurnUsage, UsageSum, UsageView,
};
pub use questions::{AnswerBody, AnswerRequest, ConsentOffer, ConsentRow, InboxFilter, QuestionRow};
pub use sessions::{
    CallRow, MaybeKnown, NewSession, Page, PlanView, SessionList, SessionListRow, SessionView, Taken, TurnView,
};
pub use state::{ChangeKind, StateChange, StateChanges, StateValue, StateValues};
