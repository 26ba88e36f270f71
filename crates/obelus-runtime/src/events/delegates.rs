//! Events of calls that delegates carry out.

use std::sync::Arc;

use obelus_kernel::session::{CallId, CallStatus, Input, Session, Task};

use super::EventBody;

/// The calls of delegates that an input began or ended. The session is in its state right after the input.
pub(super) fn progress(session: &Session, input: &Input, tasks: &[Task]) -> Vec<EventBody> {
    let mut begun: Vec<CallId> = tasks.iter().filter_map(first_request).collect();
    if let Input::Loaded { id, .. } = input
        && !begun.contains(id)
    {
        begun.push(id.clone());
    }
    // An inner delegate ends before its caller.
    let ended = callers(input).into_iter().rev().filter(|id| !begun.contains(id));
    let mut all: Vec<EventBody> = ended.filter_map(|id| delegated(session, id)).collect();
    all.retain(|event| matches!(event, EventBody::Delegated { report, .. } if is_over(report.status)));
    all.extend(begun.iter().filter_map(|id| delegated(session, id.clone())));
    all
}

/// The call whose delegate sends its first request to the model.
fn first_request(task: &Task) -> Option<CallId> {
    match task {
        Task::AskModel { id } if id.is_first() => id.callers().pop(),
        _ => None,
    }
}

/// The calls whose delegates get an input.
fn callers(input: &Input) -> Vec<CallId> {
    match input {
        Input::Answer { id, .. } => id.callers(),
        Input::Ended { id, .. } | Input::InDoubt { id } | Input::DidNot { id, .. } | Input::Loaded { id, .. } => {
            id.callers()
        }
        Input::Decide { question, .. } => question.callers(),
        _ => Vec::new(),
    }
}

fn delegated(session: &Session, id: CallId) -> Option<EventBody> {
    let report = session.report_of(&id)?;
    let tools = session.delegate(&id).map(|delegate| delegate.context().tools().map(Arc::clone).collect());
    Some(EventBody::Delegated { id, report, tools: tools.unwrap_or_default() })
}

fn is_over(status: CallStatus) -> bool {
    use CallStatus::{Denied, Done, Failed, Refused, Skipped};
    matches!(status, Done | Failed | Denied | Skipped | Refused)
}
