//! Requests for tests.

use obelus_kernel::Time;
use obelus_kernel::compose::Composed;
use obelus_kernel::session::options::FollowUp;
use obelus_kernel::session::{CallEntry, CallReport, CallStatus, Prompt, Purpose, TranscriptEntry, TranscriptEvent};
use serde_json::{Value, json};

/// An empty request.
pub(super) fn bare() -> Prompt {
    Prompt {
        runs_calls: true,
        mode: "full",
        plan_mode: "eager",
        follow_up: FollowUp::Always,
        answer: Composed::new(json!({"type": "object"}), Vec::new()).into(),
        ..Prompt::default()
    }
}

/// A request with a message of the user.
pub(super) fn asked(words: &str) -> Prompt {
    let transcript = vec![happened(0, TranscriptEvent::User { text: words.to_owned(), time: Time(0) })];
    Prompt { texts: vec![("user".to_owned(), words.to_owned())], transcript, ..bare() }
}

/// A part of the session so far.
pub(super) fn happened(batch: u64, what: TranscriptEvent) -> TranscriptEntry {
    TranscriptEntry::new(batch, what)
}

/// A call that has ended.
pub(super) fn ended(call: Value, status: CallStatus) -> CallEntry {
    let (error, result) = match status {
        CallStatus::Done => (None, Some(json!({"id": 7}))),
        _ => (Some(json!({"code": "broken", "message": "it broke"})), None),
    };
    let at = if status == CallStatus::Done { vec!["†state.sent".to_owned()] } else { Vec::new() };
    CallEntry { place: (0, 0), call: call.into(), status, error, at, result, changes: true, approved: false }
}

/// A request to carry out a call.
pub(super) fn model_call(call: Value) -> Prompt {
    let scope = vec![json!({"type": "data", "kind": "page", "data": {"title": "T"}})];
    Prompt { purpose: Purpose::ModelCall { call: call.into(), tool: json!({}), scope }, ..bare() }
}

/// A call of the plan.
pub(super) fn report(call: Value, status: CallStatus) -> CallReport {
    let failed = || serde_json::from_value(json!({"code": "broken", "message": "it broke"})).unwrap();
    let error = (status == CallStatus::Failed).then(failed);
    CallReport { place: (0, 0), call: call.into(), status, error }
}
