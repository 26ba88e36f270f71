//! The text on which a turn rests. While an earlier question is open, or if a step was denied or refused, the agent's
//! answer is not the result of the turn but a message; it is printed as the answer all the same.

use obelus_kernel::session::{CallReport, CallStatus, Reply, TurnEnd};
use obelus_runtime::{EventBody, SessionEvent};

/// The latest message of the agent, until it is known whether the turn rests on it.
#[derive(Default)]
pub(super) struct LastWords {
    latest: Option<String>,
    /// The message on which the turn rests without a result.
    reply: Option<String>,
}

impl LastWords {
    /// Takes the next event. Returns an earlier message, if the turn does not rest on it.
    pub(super) fn take(&mut self, event: &SessionEvent) -> Option<String> {
        match &event.body {
            _ if event.is_transient => None,
            EventBody::AgentSaid { text } => {
                let before = self.reply.take().or(self.latest.take());
                self.latest = Some(text.clone());
                before
            }
            EventBody::Rested { reply } if reply.ends == TurnEnd::Waiting || lacks_result(reply) => {
                std::mem::replace(&mut self.reply, self.latest.take())
            }
            EventBody::Rested { .. } => self.reply.take().or(self.latest.take()),
            _ => self.latest.take(),
        }
    }

    /// The latest message, if nothing has followed it.
    pub(super) fn take_latest(&mut self) -> Option<String> {
        self.latest.take()
    }

    /// The message on which the turn rests.
    pub(super) fn into_reply(self) -> Option<String> {
        self.reply
    }
}

/// Whether a turn has no result because a step was denied or refused.
fn lacks_result(reply: &Reply) -> bool {
    let is_declined = |call: &CallReport| matches!(call.status, CallStatus::Denied | CallStatus::Refused);
    reply.output.is_null() && reply.calls.iter().any(is_declined)
}
