//! The words of steps beside the events that tell of them, for clients that show a conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_kernel::session::CallId;
use obelus_runtime::people::{StepLine, Titles};
use obelus_runtime::{EventBody, Language, SessionEvent};
use serde_json::Value;

use super::Service;
use crate::ChannelError;

/// Puts the events of a session into words, in the order in which they come.
pub(crate) struct StepWords {
    titles: Titles,
    language: Language,
    /// The calls that have begun and not ended.
    calls: BTreeMap<CallId, Arc<Value>>,
}

impl Service {
    /// The words of a session's steps in a language.
    pub(crate) async fn step_words(&self, id: &str, language: Language) -> Result<StepWords, ChannelError> {
        let titles = self.read(id, move |session| Titles::of(session.context(), language.code())).await?;
        Ok(StepWords { titles, language, calls: BTreeMap::new() })
    }
}

impl StepWords {
    /// The line of a call that begins or ends; none for other events, and where the call began out of sight.
    pub(crate) fn line(&mut self, event: &SessionEvent) -> Option<StepLine> {
        match &event.body {
            EventBody::CallBegan { id, call, consent, .. } => {
                self.calls.insert(id.clone(), Arc::clone(call));
                Some(StepLine::began(call, *consent, &self.titles, self.language))
            }
            EventBody::CallEnded { id, outcome } => {
                let call = self.calls.remove(id)?;
                Some(StepLine::ended(&call, outcome, &self.titles, self.language))
            }
            _ => None,
        }
    }
}
