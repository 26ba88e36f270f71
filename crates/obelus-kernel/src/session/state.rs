//! The state of the session, the provenance of its values, its goals, and events from outside.

use std::sync::Arc;

use serde_json::{Value, json};

use super::ids::{QuestionId, Routed};
use super::inbox::{Question, headline};
use super::refusals::RefusalCode as Code;
use super::{Refused, Session};
use crate::expr::Expr;
use crate::fault::Fault;
use crate::fold::Method;
use crate::message::Message;
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::policy::{ValueWrite, Why, last_write, why};

/// The limit of goals; older ones are dropped.
const MOST_GOALS: usize = 500;

/// The kind of events, oldest first.
const EVENTS: &str = "events";

impl Session {
    /// The last write of an expression's value, such as `†state.deal.title`; none if it was never written.
    pub fn last_write(&self, expr: &str, instance: Option<&str>) -> Result<Option<ValueWrite>, Fault> {
        let write = last_write(self.context(), &Expr::parse(expr)?, instance);
        Ok(write.map(|write| {
            let message = self.context().messages().get(write.message);
            let output = message.and_then(|message| match message {
                Message::Data(data) => data.output.as_ref(),
                _ => None,
            });
            ValueWrite {
                consent: output.and_then(|output| self.call_rules.consents.of_proposal(&output.call)),
                ..write
            }
        }))
    }

    /// The provenance of an expression's value, such as `†state.letter.to`. Of `a || b`, the part that is read.
    pub fn why(&self, expr: &str, instance: Option<&str>) -> Result<Why, Fault> {
        let expr = Expr::parse(expr)?;
        let index = self.current_grounds();
        let grounding = index.as_deref().map(|index| self.grounding_in(index, instance));
        let mut provenance = why(self.context(), &expr, instance, grounding);
        provenance.each_write(&mut |one| {
            let Some(Message::Data(data)) = self.context().messages().get(one.message) else { return };
            let Some(output) = &data.output else { return };
            one.consent = self.call_rules.consents.of_proposal(&output.call);
            self.mark_edits(one, &output.call);
        });
        Ok(provenance)
    }

    /// The folded state, with the fields that the session maintains.
    pub fn state(&self) -> Value {
        let context = self.context();
        let root = context.read(&Path::root("state"), None);
        let mut state = root.map_or_else(|| json!({}), std::borrow::Cow::into_owned);
        let managed = &self.settings.managed;
        let Value::Object(fields) = &mut state else { return state };
        if let Some(name) = &managed.in_progress {
            fields.insert(name.clone(), self.in_progress());
        }
        if let Some(name) = &managed.planned {
            fields.insert(name.clone(), self.projection.planned(&self.calls(), &self.inbox, context));
        }
        if let Some(name) = &managed.confirmations {
            fields.insert(name.clone(), self.projection.confirmations(&self.inbox, self.naming()));
        }
        state
    }

    /// The same for the model, with imported confirmations marked as `imported`.
    pub(super) fn state_for_model(&self) -> Value {
        let mut state = self.state();
        if let Some(name) = &self.settings.managed.confirmations {
            for key in self.projection.adopted().keys() {
                if let Some(entry) = state[name].get_mut(key).filter(|entry| entry.is_object()) {
                    entry["imported"] = true.into();
                }
            }
        }
        state
    }

    /// What waits for a value or a decision: questions, and what the agent asked for in its last message.
    fn in_progress(&self) -> Value {
        let naming = self.naming();
        let entry = |question: &Question| json!({"description": headline(naming, question), "requested_at": question.requested_at.to_string()});
        let request = self.turn.asked_for();
        let request = request.map(|(text, at)| json!({"description": text, "requested_at": at.to_string()}));
        self.questions().iter().filter(|question| question.is_open()).map(entry).chain(request).collect()
    }

    /// The call of a confirmation with this key: its question, and its index there.
    pub fn confirmation(&self, key: &str) -> Option<(QuestionId, usize)> {
        self.projection.confirmation(key).map(|(number, index)| (Routed::own(number), index))
    }

    /// Adds the user's request before earlier goals.
    pub(super) fn note_goal(&mut self, text: &str) {
        let Some(name) = self.settings.managed.goals.clone() else { return };
        if self.constants.depth > 0 || self.settings.consent.only_answers(text) {
            return;
        }
        let path = Path::field("state", name.clone());
        let before = self.context().read(&path, None);
        let mut goals = before.and_then(|goals| goals.as_array().cloned()).unwrap_or_default();
        if goals.first().is_some_and(|latest| latest == text) {
            return;
        }
        goals.insert(0, text.into());
        goals.truncate(MOST_GOALS);
        self.transcript.note_listed(&name);
        self.memory.write_state(path, goals.into());
    }

    /// Takes an event. It is stored once, shown with the next request, and starts nothing: whatever it says, it is
    /// not a request, a message or a consent of the user.
    pub(super) fn take_event(&mut self, id: String, event: Value) -> Result<(), Refused> {
        if self.projection.knows_event(&id) {
            return Ok(());
        }
        let (call, event) =
            (json!({"_tool": "event", "id": id}).into(), json!({"at": *self.memory.date(), "event": event}));
        let origins = Origins::of(Origin::Tool { name: "event".into(), trusted: false });
        let (path, transcribed) = (Arc::new(Path::root(EVENTS)), event.clone());
        let written = self.memory.write(call, path, None, Method::Push, event, origins.clone());
        written.map_err(|fault| Refused::new(Code::BadEvent, fault.to_string()))?;
        self.transcribe_event(&transcribed, &origins);
        self.projection.note_event(id);
        Ok(())
    }
}
