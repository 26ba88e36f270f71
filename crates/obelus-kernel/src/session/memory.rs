//! The session's memory: its context, the time, and everything that is written there.
//!
//! It takes results, texts, events and edits, validates them against the schemas of their kinds, and appends them
//! with their call, date and origins. It does not decide anything: no policy, no questions.

mod instances;
mod observations;
mod results;
mod scopes;
mod side_writes;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::context::{Context, ContextCheckpoint, LoadPast, View};
use crate::fault::Fault;
use crate::fold::Method;
use crate::message::{Data, Message, Plan, Role};
use crate::names::Name;
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::time::Time;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::grounding::GroundIndex;
pub(super) use observations::{DigestPlace, mentions};
pub(super) use results::{Author, CallFailure, ReadMessages, Written};

/// The context of a session, and the caches for writing to it.
pub(super) struct Memory {
    context: Context,
    /// The number of the request's own messages.
    base: usize,
    /// The request's own kinds, each with its initial value.
    given: BTreeMap<Name, Option<Value>>,
    /// The request's own instances.
    given_instances: BTreeSet<String>,
    now: Time,
    /// `now` as text, because many results have the same date.
    date: Option<(Time, Arc<str>)>,
    /// Validators for parts of kinds' schemas.
    validators: BTreeMap<PartOfKind, (Value, Arc<Validator>)>,
    /// The places of observations' digests.
    digests: Vec<DigestPlace>,
    /// The user's messages and texts of trusted results, indexed as far as needed (POL-7).
    grounds: GroundIndex,
}

/// A kind, an instance, and the schema path of a part.
type PartOfKind = (Name, Option<String>, String);

impl Memory {
    pub(super) fn new(context: Context) -> Self {
        let base = context.length();
        let value = |kind: &str, view: &View| match kind {
            // `state` is never unchanged.
            "state" => None,
            _ => view.read(&[], None).map(Cow::into_owned),
        };
        let given = context.views().map(|(kind, view)| (kind.into(), value(kind, view))).collect();
        let given_instances = context.instances().iter().cloned().collect();
        Self {
            context,
            base,
            given,
            given_instances,
            now: Time::default(),
            date: None,
            validators: BTreeMap::new(),
            digests: Vec::new(),
            grounds: GroundIndex::default(),
        }
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// The number of the request's own messages.
    pub(super) fn base(&self) -> usize {
        self.base
    }

    /// Whether a kind is the request's own.
    pub(super) fn is_given(&self, kind: &str) -> bool {
        self.given.contains_key(kind)
    }

    /// Whether a kind still has its initial value.
    pub(super) fn is_unchanged(&self, kind: &str) -> bool {
        let given = self.given.get(kind).and_then(Option::as_ref);
        let now = || self.context.view(kind).filter(|view| !view.is_instanced())?.read(&[], None);
        given.is_some_and(|given| now().is_some_and(|now| *now == *given))
    }

    /// The request's own plan, not one that a model has proposed since.
    pub(super) fn given_plan(&self) -> Option<&Plan> {
        self.context.opening(self.base).iter().rev().find_map(|message| match message {
            Message::Plan(plan) => Some(plan),
            _ => None,
        })
    }

    /// The request's own instances.
    pub(super) fn given_instances(&self) -> impl Iterator<Item = &String> {
        self.given_instances.iter()
    }

    /// Sets the time. It does not run backwards.
    pub(super) fn set_now(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Takes a time back that came with a refused input.
    pub(super) fn undo_set_now(&mut self, before: Time) {
        self.now = before;
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// The date of results.
    pub(super) fn date(&mut self) -> Arc<str> {
        match &self.date {
            Some((time, text)) if *time == self.now => text.clone(),
            _ => {
                let text: Arc<str> = self.now.to_string().into();
                self.date = Some((self.now, text.clone()));
                text
            }
        }
    }

    /// Appends a message that cannot be refused: texts, plans and errors are not folded.
    pub(super) fn remember(&mut self, message: Message) {
        let appended = self.context.append(vec![message]);
        debug_assert!(appended.is_ok());
    }

    /// Writes a value at a path, by a call that only names the author.
    pub(super) fn write(
        &mut self,
        call: CallJson,
        path: Arc<Path>,
        instance: Option<String>,
        method: Method,
        value: Value,
        origins: Origins,
    ) -> Result<(), Fault> {
        let mut data = Data::result(call, path, Some(self.date()), value);
        data.instance = instance;
        data.method = Some(method);
        data.origins = Some(origins);
        self.context.append(vec![Message::Data(Box::new(data))])
    }

    /// Sets the same value at several paths, or at none.
    pub(super) fn write_at_all(
        &mut self,
        call: &CallJson,
        paths: impl IntoIterator<Item = Arc<Path>>,
        value: &Value,
        origins: &Origins,
    ) -> Result<(), Fault> {
        let date = self.date();
        let batch = paths.into_iter().map(|path| {
            let mut data = Data::result(call.clone(), path, Some(date.clone()), value.clone());
            data.method = Some(Method::Set);
            data.origins = Some(origins.clone());
            Message::Data(Box::new(data))
        });
        self.context.append(batch.collect())
    }

    /// Writes a part of the state for a person. Its origins stay, because the old value may still be in it.
    pub(super) fn write_state(&mut self, path: Path, value: Value) {
        let origins = self.context.origins(&path, None).joined(&Origins::of(Origin::User));
        let written = self.write(CallJson::of_user(), Arc::new(path), None, Method::Set, value, origins);
        debug_assert!(written.is_ok());
    }

    /// Replaces the state by these fields, for a person. Origins of fields stay.
    pub(super) fn replace_state(&mut self, fields: &Map<String, Value>) {
        let origins_of = |name: &String| {
            let known = self.context.origins(&Path::field("state", name.clone()), None);
            (name.clone(), known.joined(&Origins::of(Origin::User)))
        };
        let each: Vec<(String, Origins)> = fields.keys().map(origins_of).collect();
        let all = each.iter().fold(Origins::of(Origin::User), |all, (_, origins)| all.joined(origins));
        let whole = Value::Object(fields.clone());
        let mut written = self.write(CallJson::of_user(), Arc::new(Path::root("state")), None, Method::Set, whole, all);
        for ((name, origins), value) in each.into_iter().zip(fields.values()) {
            let path = Arc::new(Path::field("state", name));
            written = written.and(self.write(CallJson::of_user(), path, None, Method::Set, value.clone(), origins));
        }
        debug_assert!(written.is_ok());
    }

    /// The user's latest message, if it came after this many messages.
    pub(super) fn user_text_since(&self, length: usize) -> Option<&str> {
        let since = self.context.length().saturating_sub(length);
        self.context.latest().take(since).find_map(|message| match message {
            Message::Text(text) if text.role == Role::User => Some(text.text.as_str()),
            _ => None,
        })
    }

    /// Drops everything but the request and the texts. Returns a map from old to new indexes; none if the texts are
    /// invalid without the rest, and then nothing was dropped.
    pub(super) fn keep_texts_only(&mut self) -> Option<impl Fn(usize) -> usize + use<>> {
        let base = self.base;
        let stays = |(index, message): &(usize, &Message)| *index < base || matches!(message, Message::Text(_));
        let (places, messages): (Vec<usize>, Vec<Message>) =
            self.context.messages().iter().enumerate().filter(stays).map(|(at, message)| (at, message.clone())).unzip();
        let mut context = Context::new();
        context.append(messages).ok()?;
        self.context = context;
        self.grounds = GroundIndex::default();
        Some(move |length: usize| places.partition_point(|at| *at < length))
    }

    pub(super) fn digests(&self) -> &[DigestPlace] {
        &self.digests
    }

    /// Restores the context; `past` loads the messages that are not stored.
    pub(super) fn restore(
        &mut self,
        context: ContextCheckpoint<'_>,
        past: LoadPast,
        digests: Vec<DigestPlace>,
    ) -> Result<(), String> {
        self.digests = digests;
        self.context.restore(context, past)
    }

    pub(super) fn grounds(&self) -> &GroundIndex {
        &self.grounds
    }

    pub(super) fn catch_up_grounds(&mut self, texts_by_people: &[String]) {
        self.grounds.catch_up(&self.context, texts_by_people);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn memory(messages: Value) -> Memory {
        Memory::new(Context::from_value(messages).unwrap())
    }

    #[test]
    fn time_does_not_run_backwards() {
        let mut memory = memory(json!([]));
        memory.set_now(Time(5_000));
        memory.set_now(Time(4_000));
        assert_eq!((memory.now(), memory.date().as_ref()), (Time(5_000), Time(5_000).to_string().as_str()));
        memory.set_now(Time(6_000));
        assert_eq!(memory.date().as_ref(), Time(6_000).to_string(), "the date follows");
    }

    #[test]
    fn only_messages_of_the_user_after_a_given_position_count() {
        let mut memory = memory(json!([{"type": "text", "role": "user", "text": "old"}]));
        let asked = memory.context.length();
        assert_eq!(memory.user_text_since(asked), None);
        memory.remember(Message::text(Role::User, "yes"));
        memory.remember(Message::text(Role::Assistant, "well"));
        assert_eq!((memory.user_text_since(asked), memory.user_text_since(0)), (Some("yes"), Some("yes")));
    }

    #[test]
    fn an_edit_by_a_person_keeps_the_origins_of_unchanged_values() {
        let mut memory = memory(json!([{"type": "state", "data": {}}]));
        let path = || Path::field("state", "note");
        let page = Origins::of(Origin::Tool { name: "page".into(), trusted: false });
        let call = CallJson::of_tool("page");
        memory.write(call, Arc::new(path()), None, Method::Set, json!("read"), page.clone()).unwrap();
        memory.write_state(path(), json!("read, and edited"));
        assert_eq!(memory.context.origins(&path(), None), page.joined(&Origins::of(Origin::User)));
    }

    #[test]
    fn a_one_off_request_keeps_its_initial_context_and_the_messages() {
        let mut memory = memory(json!([{"type": "state", "data": {"a": 1}}]));
        memory.remember(Message::text(Role::User, "one"));
        memory.write_state(Path::field("state", "a"), json!(2));
        memory.remember(Message::text(Role::User, "two"));
        let place = memory.keep_texts_only().unwrap();
        let state = memory.context.read(&Path::root("state"), None).unwrap().into_owned();
        assert_eq!((memory.context.length(), state), (3, json!({"a": 1})));
        assert_eq!(
            [0, 1, 2, 3, 4].map(place),
            [0, 1, 2, 2, 3],
            "what came after the write comes after the first words"
        );
    }
}
