//! A state from outside: the file of another program, or this session's own with a person's changes.
//!
//! A person's changes count as their input: data is written, and a confirmation with a changed status is decided. An
//! imported question is asked again, with its key and date.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ids::{QuestionNumber, Routed};
use super::inbox::{AskedCall, QuestionStatus};
use super::input::Decision;
use super::refusals::RefusalCode as Code;
use super::scheduler::Trigger;
use super::settings::FollowUp;
use super::state_projection::without_control_fields;
use super::turn::Phase;
use super::{Refused, Session};
use crate::call::Call;
use crate::call::freeze::frozen_call;
use crate::context::Context;
use crate::fold::Method;
use crate::path::Path;
use crate::schema::first_breach;
use crate::time::Time;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::dialect::blocks::Step;
use obelus_notebook::edited::difference;
use obelus_notebook::plan::StepOptions;
use obelus_notebook::wording::plain_text;

/// A confirmation in the state.
struct Entry {
    key: String,
    status: QuestionStatus,
    requested_at: Option<Time>,
    reason: String,
    /// Its step, as a call.
    call: Option<CallJson>,
    whole: Value,
}

/// A valid state in its parts.
struct IncomingState {
    /// The data, by field.
    fields: Map<String, Value>,
    /// Planned steps, as calls.
    planned: Vec<CallJson>,
    entries: Vec<Entry>,
}

impl Session {
    /// Whether a state would be accepted, and if not, the place at fault.
    pub fn would_take(&self, state: &Value) -> Result<(), Refused> {
        self.incoming(state.clone(), false).map(drop)
    }

    /// Adopts a state. An invalid one is refused with the place at fault, and nothing changes. A whole one replaces
    /// the current state.
    pub(super) fn adopt(&mut self, state: Value, by: &str, is_whole: bool) -> Result<(), Refused> {
        let IncomingState { fields, planned, entries } = self.incoming(state, is_whole)?;
        // Late approvals are ignored, wherever they were written.
        self.expire();
        let before = self.state();
        let gone = if is_whole { self.fields_beside(&fields) } else { Vec::new() };
        if !gone.is_empty() {
            gone.iter().chain(fields.keys()).for_each(|name| self.transcript.forget_listed(name));
            self.memory.replace_state(&fields);
        }
        for (name, value) in fields.into_iter().filter(|_| gone.is_empty()) {
            if before.get(&name) != Some(&value) {
                self.transcript.forget_listed(&name);
                self.memory.write_state(Path::field("state", name), value);
            }
        }
        let asked: Vec<&CallJson> = entries.iter().filter_map(|entry| entry.call.as_ref()).collect();
        let is_asked =
            |call: &CallJson| asked.iter().any(|known| without_control_fields(known) == without_control_fields(call));
        let still_planned: Vec<BTreeMap<String, Value>> =
            planned.iter().map(|call| without_control_fields(call)).collect();
        let managed = &self.settings.managed;
        if before[managed.planned.as_deref().unwrap_or_default()].as_array().is_none_or(Vec::is_empty) {
            self.projection.adopt_plan(planned.iter().filter(|call| !is_asked(call)));
        }
        entries.into_iter().try_for_each(|entry| self.adopt_entry(entry, &still_planned, by))
    }

    /// The fields of the state that are not among these.
    fn fields_beside(&self, fields: &Map<String, Value>) -> Vec<String> {
        let state = self.context().read(&Path::root("state"), None);
        let names = state.as_ref().and_then(|state| state.as_object()).into_iter().flat_map(Map::keys);
        names.filter(|name| !fields.contains_key(*name)).cloned().collect()
    }

    /// Parses a state and checks all of it, including decisions.
    fn incoming(&self, state: Value, is_whole: bool) -> Result<IncomingState, Refused> {
        self.turn.must_be_at_rest()?;
        let Value::Object(mut fields) = state else {
            let text = format!("the state is an object, not {}", crate::type_name(&state));
            return Err(Refused::new(Code::BadState, text));
        };
        let managed = self.settings.managed.clone();
        let mut taken = |name: &Option<String>| name.as_ref().and_then(|name| fields.shift_remove(name));
        taken(&managed.in_progress);
        let planned = taken(&managed.planned).unwrap_or_default();
        let entries = entries_of(taken(&managed.confirmations).unwrap_or_default())?;
        let planned = calls_of(&managed.planned, planned)?;
        self.check_state(&fields, is_whole)?;
        for entry in entries.iter().filter(|entry| entry.status == QuestionStatus::Approved) {
            self.check_approval(entry)?;
        }
        Ok(IncomingState { fields, planned, entries })
    }

    /// An approval of changed parameters must be able to run.
    fn check_approval(&self, entry: &Entry) -> Result<(), Refused> {
        let Some((question, asked)) = self.waiting_for(&entry.key) else { return Ok(()) };
        let at_fault =
            |refused: Refused| Refused::new(Code::BadState, format!("`confirmations.{}.action`: {refused}", entry.key));
        if let Some(call) = &entry.call {
            must_be_what_was_asked(&asked.call, call).map_err(|why| at_fault(Refused::new(Code::BadState, why)))?;
        }
        let params = entry.call.as_ref().map(|call| changed(&asked.call, call)).unwrap_or_default();
        if params.is_empty() {
            return Ok(());
        }
        self.edit_of(question, &params).map(drop).map_err(at_fault)
    }

    /// The open call of a confirmation with this key.
    fn waiting_for(&self, key: &str) -> Option<(QuestionNumber, &AskedCall)> {
        let (question, index) = self.projection.confirmation(key)?;
        let open = self.inbox.get(question).filter(|question| question.is_open())?;
        let asked = open.calls.get(index).filter(|asked| asked.decided.is_none())?;
        Some((question, asked))
    }

    /// Refuses data that violates the state's schema. Missing fields keep their values.
    fn check_state(&self, fields: &Map<String, Value>, is_whole: bool) -> Result<(), Refused> {
        let mut whole = self.state();
        if let Some(known) = whole.as_object_mut().filter(|_| is_whole) {
            let gone = self.fields_beside(fields);
            known.retain(|name, _| !gone.contains(name));
        }
        for (name, value) in fields {
            whole[name] = value.clone();
        }
        let schema = self.context().view("state").and_then(|view| view.schema(None));
        match schema.and_then(|schema| first_breach(schema, &whole)) {
            Some(breach) => {
                let text = format!("`{}`: {}", breach.place.join("."), breach.text);
                Err(Refused::new(Code::BadState, text))
            }
            None => Ok(()),
        }
    }

    /// Adopts a confirmation. `planned` are the planned steps of the state.
    fn adopt_entry(&mut self, entry: Entry, planned: &[BTreeMap<String, Value>], by: &str) -> Result<(), Refused> {
        // Reading the same state again does not decide what is offered again.
        if self.projection.is_offered_again(&entry.key, &entry.whole) {
            return Ok(());
        }
        if let Some((question, index)) = self.projection.confirmation(&entry.key) {
            return self.decide_as_written(question, index, &entry, by);
        }
        if self.projection.adopted().get(&entry.key) == Some(&entry.whole) {
            return Ok(());
        }
        // Keep the imported entry until it is asked here.
        let words = entry.whole["description"].as_str().map(str::to_owned);
        let is_left_undone = |call: &CallJson| {
            planned.contains(&without_control_fields(call)) || !was_done(self.context(), &entry, call)
        };
        let is_left_undone =
            entry.status == QuestionStatus::Approved && entry.call.as_ref().is_some_and(is_left_undone);
        self.projection.adopt(entry.key.clone(), entry.whole.clone());
        match (entry.status, entry.call) {
            (QuestionStatus::Requested, Some(call)) if self.can_ask(&call) => {
                self.ask_as_before(entry.key, entry.requested_at, words, call);
            }
            // An approval that was not carried out may be old: it is asked for again.
            (QuestionStatus::Approved, Some(call)) if is_left_undone && self.can_ask(&call) => {
                self.projection.offer_again(entry.key.clone(), entry.whole);
                self.ask_as_before(entry.key, entry.requested_at, words, call);
            }
            (QuestionStatus::Denied, Some(call)) => {
                let hash = self.hash_of_proposal(&call);
                self.inbox.note_denial(hash, self.context().length());
            }
            _ => {}
        }
        Ok(())
    }

    /// A changed status is a decision; with an approval, changed parameters too.
    fn decide_as_written(
        &mut self,
        number: QuestionNumber,
        index: usize,
        entry: &Entry,
        by: &str,
    ) -> Result<(), Refused> {
        let Some((_, asked)) = self.waiting_for(&entry.key) else { return Ok(()) };
        match entry.status {
            QuestionStatus::Approved => {
                let other = entry.call.as_ref().map(|call| changed(&asked.call, call)).unwrap_or_default();
                let decision = if other.is_empty() {
                    Decision::Approve { only: Some(vec![index]) }
                } else {
                    Decision::Edit { params: other }
                };
                self.decide(&Routed::own(number), decision, by, None)?;
            }
            // The others of the same question stay open.
            QuestionStatus::Denied => {
                let decision = Decision::DenySome { only: vec![index], reason: entry.reason.clone() };
                self.decide(&Routed::own(number), decision, by, None)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Asks an imported question again, with the same key and date.
    fn ask_as_before(&mut self, key: String, requested_at: Option<Time>, words: Option<String>, mut call: CallJson) {
        call.ask_confirmation();
        let hash = self.hash_of_proposal(&call);
        self.projection.expect(hash, key, requested_at, words);
        if self.turn.is_waiting() {
            self.turn.reopen();
        } else if self.turn.phase() != Phase::Working {
            self.begin_without_model();
            if matches!(self.follow_up(), FollowUp::AfterReads | FollowUp::UntilDone) {
                self.turn.ask_when_decided();
            }
        }
        let trigger = Trigger::Approved { by_person: true, before_reading: true };
        self.start_step(&[call], trigger, StepOptions { sequential: true, keeps_results: true });
    }

    /// Whether a question about this call can be answered here; a step that is not a call of this agent stays
    /// unchanged.
    fn can_ask(&self, call: &CallJson) -> bool {
        Call::read(call, self.context()).1.is_empty()
    }

    /// The hash that a decision about a proposal without references is bound to.
    pub(super) fn hash_of_proposal(&self, proposal: &CallJson) -> String {
        let (mut call, _) = Call::read(proposal, self.context());
        call.keep_result();
        let frozen = frozen_call(&call, call.outline(), None);
        self.hash_of(&call, &frozen)
    }
}

/// Whether the state shows that a call was carried out after its approval: its entry in a list of the state
/// (`x-leaves`) is newer, and has the id of the object (`x-entity`).
fn was_done(context: &Context, entry: &Entry, call: &CallJson) -> bool {
    let Some(tool) = call.tool().and_then(|name| context.tool(name)) else { return false };
    let Some(kind) = tool.record_kind() else { return false };
    let time = |value: &Value| value.as_str().and_then(Time::parse);
    let since = time(&entry.whole["approved_at"]).or(entry.requested_at);
    let id = tool.record().and_then(|name| call.get(name)).map(plain_text);
    let of_object = format!("{kind}_id");
    let tells = |entry: &Value| {
        let object = &entry["object_ids"][&of_object];
        let is_later = since.is_none_or(|since| time(&entry["timestamp"]).is_none_or(|at| at >= since));
        is_later && !object.is_null() && id.as_ref().is_none_or(|id| plain_text(object) == *id)
    };
    tool.side_writes.iter().filter(|side| side.method == Method::Push).any(|side| {
        let list = context.read(&side.to, None);
        list.is_some_and(|list| list.as_array().is_some_and(|entries| entries.iter().any(tells)))
    })
}

/// Parses the planned steps of a state, in the field of this name.
fn calls_of(name: &Option<String>, steps: Value) -> Result<Vec<CallJson>, Refused> {
    let name = name.as_deref().unwrap_or_default();
    let bad = |why: String| Refused::new(Code::BadState, format!("`{name}`{why}"));
    match steps {
        Value::Null => Ok(Vec::new()),
        Value::Array(steps) => {
            let read = |(index, step): (usize, &Value)| {
                Step::from_json(step).map(Step::into_call).map_err(|why| bad(format!("[{index}]: {why}")))
            };
            steps.iter().enumerate().map(read).collect()
        }
        _ => Err(bad(" is a list".to_owned())),
    }
}

/// Parses and checks the confirmations of a state.
fn entries_of(confirmations: Value) -> Result<Vec<Entry>, Refused> {
    let entries = match confirmations {
        Value::Null => return Ok(Vec::new()),
        Value::Object(entries) => entries,
        // PHP programs write an empty object as an empty list.
        Value::Array(none) if none.is_empty() => return Ok(Vec::new()),
        _ => return Err(Refused::new(Code::BadState, "`confirmations` is an object")),
    };
    let read = |(key, entry): (String, Value)| {
        let bad = |what: &str| Refused::new(Code::BadState, format!("`confirmations.{key}`: {what}"));
        let known = [QuestionStatus::Requested, QuestionStatus::Approved, QuestionStatus::Denied];
        let status = known.into_iter().find(|status| entry["status"] == status.name());
        let status = status.ok_or_else(|| bad("`status` is one of requested, approved, denied"))?;
        let requested_at = match &entry["requested_at"] {
            Value::Null => None,
            at => Some(
                at.as_str()
                    .and_then(Time::parse)
                    .ok_or_else(|| bad("`requested_at` is a time in UTC such as 2024-05-01T10:00:00Z"))?,
            ),
        };
        let call = match &entry["action"] {
            Value::Null => None,
            step => Some(Step::from_json(step).map(Step::into_call).map_err(|why| bad(&format!("`action`: {why}")))?),
        };
        if status == QuestionStatus::Requested && call.is_none() {
            return Err(bad("`action` is missing: what is to be confirmed?"));
        }
        let reason = entry["reason"].as_str().unwrap_or_default().to_owned();
        Ok(Entry { key: key.clone(), status, requested_at, reason, call, whole: entry })
    };
    entries.into_iter().map(read).collect()
}

/// An imported approval may change values, but not the tool, and drops no parameter.
fn must_be_what_was_asked(asked: &CallJson, call: &CallJson) -> Result<(), String> {
    if call.tool() != asked.tool() {
        return Err(format!("{} was asked about, not {}", Value::from(asked.tool()), Value::from(call.tool())));
    }
    let left_out = |name: &&String| !name.starts_with('_') && call.get(name.as_str()).is_none();
    match without_control_fields(asked).keys().find(left_out) {
        Some(name) => Err(format!("`{name}` was asked about and is missing")),
        None => Ok(()),
    }
}

/// The edit that makes this call of the one that was asked about.
fn changed(asked: &Value, call: &Value) -> Map<String, Value> {
    let fields = without_control_fields(call);
    let changed = fields.into_iter().filter(|(name, value)| !name.starts_with('_') && asked.get(name) != Some(value));
    changed.map(|(name, value)| (name.clone(), difference(asked.get(&name), &value))).collect()
}
