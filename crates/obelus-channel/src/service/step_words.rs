//! Texts of steps for events, for clients that show a conversation.

use std::collections::BTreeMap;

use obelus_kernel::CallJson;
use obelus_kernel::session::CallId;
use obelus_runtime::people::{StepLine, Titles};
use obelus_runtime::{EventBody, Language, SessionEvent};

use super::Service;
use crate::ChannelError;
use crate::who::who;

/// Adds texts to the events of a session, in order.
pub(crate) struct StepWords {
    titles: Titles,
    language: Language,
    /// The running calls.
    calls: BTreeMap<CallId, CallJson>,
}

impl Service {
    /// The texts of a session's steps in a language.
    pub(crate) async fn step_words(&self, id: &str, language: Language) -> Result<StepWords, ChannelError> {
        let titles = self.read(id, move |session| Titles::of(session.context(), language.code())).await?;
        Ok(StepWords { titles, language, calls: BTreeMap::new() })
    }
}

impl StepWords {
    /// The line of a call that begins or ends; none for other events, or if its beginning was not seen.
    pub(crate) fn line(&mut self, event: &SessionEvent) -> Option<StepLine> {
        match &event.body {
            EventBody::CallBegan { id, call, consent, edited_by, .. } => {
                self.calls.insert(id.clone(), call.clone());
                let line = StepLine::began(call, *consent, &self.titles, self.language);
                Some(match edited_by {
                    Some(by) => line.edited_by(&who(by, self.language), self.language),
                    None => line,
                })
            }
            EventBody::CallEnded { id, outcome } => {
                let call = self.calls.remove(id)?;
                Some(StepLine::ended(&call, outcome, &self.titles, self.language))
            }
            _ => None,
        }
    }
}
