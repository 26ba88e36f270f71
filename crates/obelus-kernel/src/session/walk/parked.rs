//! What people say while a node waits for them.

use serde_json::{Value, json};

use super::{Origin, Origins, Session};
use crate::message::Role;
use crate::session::input::ElicitationAnswer;
use crate::session::naming::Said;
use crate::session::question::{Question, QuestionStatus};
use crate::session::settings::ModelMayConfirm;
use crate::session::{About, Refused};

/// Who decided, where somebody's words did.
const IN_CONVERSATION: &str = "the user, in conversation";

impl Session {
    /// A node asks a person for something else than a yes.
    pub(super) fn ask_at_node(&mut self, words: &str, schema: Option<Value>) {
        let id = self.ask_for_input(words, schema);
        if let Some(walk) = &mut self.walk {
            walk.at.asked = Some(id);
        }
    }

    /// Whether it is the question of the node where the turn is.
    fn is_of_node(&self, id: &str) -> bool {
        self.walk.as_ref().is_some_and(|walk| walk.at.asked.as_deref() == Some(id))
    }

    /// What became of the question of this node, for predicates.
    pub(super) fn note_answer(&mut self) {
        let Some(id) = self.walk.as_mut().and_then(|walk| walk.at.asked.take()) else { return };
        let said =
            self.questions.get(&id).map(|question| json!({"status": question.status, "reason": question.reason}));
        if let Some(walk) = &mut self.walk {
            walk.at.last = said.unwrap_or_default();
        }
    }

    /// Whether words are the value that is waited for where they are no text: a number, a yes or no, a list.
    fn is_said_as_json(&mut self, id: &str, text: &str) -> bool {
        serde_json::from_str(text.trim()).is_ok_and(|value: serde_json::Value| self.take_input(id, value).is_ok())
    }

    /// Words said while a node waits for a value, and for nothing else, are that value; while its call waits for a
    /// yes, words that consent are that yes. Other words are a new message.
    pub(in crate::session) fn is_answer(&mut self, text: &str) -> bool {
        if self.walk.is_none() || !self.is_waiting() {
            return false;
        }
        let open: Vec<String> = self.questions.open().map(|question| question.id.clone()).collect();
        if let [id] = open.as_slice()
            && self.is_of_node(id)
            && (self.take_input(id, text.into()).is_ok() || self.is_said_as_json(id, text))
        {
            self.remember_words(Role::User, text);
            self.questions.decided(id, QuestionStatus::Answered, self.now, IN_CONVERSATION, None);
            self.reopen();
            return true;
        }
        let may = self.settings.model_may_confirm == ModelMayConfirm::AfterConsent;
        if !(may && self.settings.consent.consents(text)) {
            return false;
        }
        let asked = self.only_question().and_then(|id| self.questions.get(&id));
        let Some(asked) = asked.filter(|asked| asked.about == About::Call && asked.expires_at > self.now) else {
            return false;
        };
        let (id, calls): (String, Vec<usize>) = (asked.id.clone(), asked.open_calls().collect());
        self.remember_words(Role::User, text);
        self.approve(&id, &calls, IN_CONVERSATION);
        true
    }

    /// A person gave the value that a node asked for.
    pub(in crate::session) fn take_input(&mut self, id: &str, value: Value) -> Result<(), Refused> {
        if !self.is_of_node(id) {
            return Ok(());
        }
        let Some(node) = self.walk.as_ref().and_then(|walk| walk.current().cloned()) else { return Ok(()) };
        let schema = node.ask.as_ref().and_then(|ask| ask.schema.as_ref());
        if let Some(breach) = self.breach(schema, &value) {
            return Err(Refused::new("bad_answer", breach));
        }
        self.write_for_node(&node, value, &Origins::of(Origin::User))
            .map_err(|fault| Refused::new("bad_answer", fault.words()))
    }

    /// A turn along a graph is at one place: when it leaves that, nothing that was asked there waits any longer. What
    /// may have happened already is still asked about.
    pub(in crate::session) fn withdraw(&mut self, why: Said) {
        let why = why.words(self.settings.language.as_deref());
        let is_elicitation = |question: &Question| question.elicitation.is_some();
        let elicitations: Vec<String> = self
            .questions
            .open()
            .filter(|question| is_elicitation(question))
            .map(|question| question.id.clone())
            .collect();
        for id in elicitations {
            let told = ElicitationAnswer::Declined { reason: why.to_owned() };
            self.settle_elicitation(&id, QuestionStatus::Denied, IN_CONVERSATION, told);
        }
        let is_call = |question: &Question| matches!(question.about, About::Call | About::Plan);
        let open: Vec<(String, Option<Vec<usize>>)> = self
            .questions
            .open()
            .filter(|question| is_call(question) || self.is_of_node(&question.id))
            .map(|question| (question.id.clone(), is_call(question).then(|| question.open_calls().collect())))
            .collect();
        for (id, calls) in open {
            match calls {
                Some(calls) => self.deny(&id, &calls, why, IN_CONVERSATION),
                None => self.questions.decided(&id, QuestionStatus::Denied, self.now, IN_CONVERSATION, Some(why)),
            }
        }
        self.report_errors();
    }
}
