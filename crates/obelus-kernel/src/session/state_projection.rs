//! The state for the agent's author and people: what calls have written, and the fields that the session maintains.
//! Goals are written to memory; open items, planned calls and confirmations are computed each time, so that they
//! always match the questions and calls.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ids::QuestionNumber;
use super::inbox::{About, ImportedTerms, Inbox, QuestionStatus};
use super::output::{CallReport, CallStatus};
use super::settings::Settings;
use crate::context::Context;
use crate::fault::Rule;
use crate::names::alike;
use crate::time::Time;
use crate::tool::{Effect, Tool};
use obelus_notebook::call_json::CallJson;
use obelus_notebook::call_texts::CallTexts;
use obelus_notebook::control_field::ControlField;
use obelus_notebook::dialect::blocks::Step;
use obelus_notebook::wording::plain_text;

/// The longest key of a confirmation.
const LONGEST_KEY: usize = 80;

/// The limit of remembered event ids, to detect repetitions.
const MOST_EVENTS: usize = 1_000;

/// Data of confirmations, plans and events besides the questions themselves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StateProjection {
    /// The key of each call asked about, with its question and index there, in the order of asking.
    keys: Vec<(String, u64, usize)>,
    /// Imported confirmations: decided ones, and those that cannot be asked here.
    adopted: Map<String, Value>,
    /// Keys and dates of imported questions that are asked again, by the hash of the call.
    expected: BTreeMap<String, (String, Option<Time>)>,
    /// Their descriptions, by key.
    descriptions: BTreeMap<String, String>,
    /// Confirmations that were approved elsewhere and are asked about again, unchanged.
    #[serde(default)]
    offered_again: Map<String, Value>,
    /// The plan of an earlier turn, or an imported one, until there is another one.
    plan: Vec<Value>,
    /// Ids of the latest events.
    events: VecDeque<String>,
}

impl StateProjection {
    /// The call of a confirmation with this key: its question, and its index there.
    pub(super) fn confirmation(&self, key: &str) -> Option<(QuestionNumber, usize)> {
        let (_, number, index) = self.keys.iter().find(|(known, ..)| known == key)?;
        Some((QuestionNumber(*number), *index))
    }

    /// Imported confirmations: decided ones, and those that cannot be asked here.
    pub(super) fn adopted(&self) -> &Map<String, Value> {
        &self.adopted
    }

    /// Adopts an imported confirmation, unchanged.
    pub(super) fn adopt(&mut self, key: String, entry: Value) {
        self.adopted.insert(key, entry);
    }

    /// Expects an imported question with this key and date.
    pub(super) fn expect(
        &mut self,
        hash: String,
        key: String,
        requested_at: Option<Time>,
        description: Option<String>,
    ) {
        if let Some(description) = description {
            self.descriptions.insert(key.clone(), description);
        }
        self.expected.insert(hash, (key, requested_at));
    }

    /// Records a confirmation that was approved elsewhere and is asked about again.
    pub(super) fn offer_again(&mut self, key: String, entry: Value) {
        self.offered_again.insert(key, entry);
    }

    /// Whether exactly this confirmation is asked about again.
    pub(super) fn is_offered_again(&self, key: &str, entry: &Value) -> bool {
        self.offered_again.get(key) == Some(entry)
    }

    /// Whether a call belongs to an imported question.
    pub(super) fn expects(&self, hash: impl FnOnce() -> String) -> bool {
        !self.expected.is_empty() && self.expected.contains_key(&hash())
    }

    /// Gives the calls of a new question their keys in the state. Returns what an imported question keeps.
    pub(super) fn name_confirmations(
        &mut self,
        number: QuestionNumber,
        inbox: &Inbox,
        context: &Context,
        settings: &Settings,
    ) -> ImportedTerms {
        let mut imported = ImportedTerms::default();
        let question = inbox.get(number).filter(|question| question.about == About::Call);
        let Some(question) = question.filter(|_| settings.managed.confirmations.is_some()) else { return imported };
        let mut headline = None;
        for (index, asked) in question.calls.iter().enumerate() {
            let expected = self.expected.remove(&asked.hash);
            let (key, at) = match expected {
                Some((key, at)) => (key, at),
                None => (self.free_key(key_of(&asked.call, context)), None),
            };
            self.adopted.shift_remove(&key);
            headline = headline.or_else(|| self.descriptions.get(&key));
            self.keys.push((key, number.0, index));
            imported.requested_at = at.or(imported.requested_at);
        }
        imported.headline = headline.filter(|_| question.calls.len() == 1).cloned();
        imported
    }

    fn free_key(&self, key: String) -> String {
        let is_taken = |key: &str| self.adopted.contains_key(key) || self.keys.iter().any(|(known, ..)| known == key);
        let mut numbered = std::iter::once(key.clone()).chain((2..).map(|n: u64| format!("{key}_{n}")));
        numbered.find(|key| !is_taken(key)).unwrap_or(key)
    }

    /// Questions and decisions, by key.
    pub(super) fn confirmations(&self, inbox: &Inbox, naming: CallTexts<'_>) -> Value {
        use QuestionStatus::{Approved, Denied, Requested};
        let mut all = self.adopted.clone();
        for (key, number, index) in &self.keys {
            let Some(question) = inbox.get(QuestionNumber(*number)) else { continue };
            let Some(asked) = question.calls.get(*index) else { continue };
            let status = match (asked.decided, question.status) {
                (None, Requested) => Requested,
                (Some(true), _) => Approved,
                _ => Denied,
            };
            let mut entry = json!({"status": status, "requested_at": question.requested_at.to_string()});
            if let Some(at) = asked.decided_at.or(question.decided_at).filter(|_| status != Requested) {
                entry[format!("{}_at", status.name())] = at.to_string().into();
            }
            let description = self.descriptions.get(key).cloned();
            entry["description"] = description.unwrap_or_else(|| naming.call_headline(&asked.call)).into();
            if let Some(reason) = asked.reason.as_ref().or(question.reason.as_ref()).filter(|_| status == Denied) {
                entry["reason"] = reason.as_str().into();
            }
            entry["action"] = step_form(&asked.call, status == Requested, naming.context);
            all.insert(key.clone(), entry);
        }
        Value::Object(all)
    }

    /// The steps that the mode holds back, of the latest plan of this or an earlier turn.
    pub(super) fn held_back(&self, calls: &[CallReport], context: &Context) -> Vec<Value> {
        let mut steps = self.plan.clone();
        let by_mode = |report: &CallReport| report.error.as_ref().is_some_and(|error| error.rule == Some(Rule::Pol1));
        let is_refused = |report: &CallReport| report.status == CallStatus::Refused && by_mode(report);
        // Steps that depend on a refused one stay planned with it.
        let any_refused = calls.iter().any(is_refused);
        let stays = |report: &&CallReport| is_refused(report) || (any_refused && report.status == CallStatus::Skipped);
        for report in calls.iter().filter(stays) {
            add_step(&mut steps, step_form(&report.call, false, context));
        }
        steps
    }

    /// Steps that the mode holds back stay planned across turns until there is another plan.
    pub(super) fn keep_held_back(&mut self, calls: &[CallReport], context: &Context) {
        self.plan = self.held_back(calls, context);
    }

    /// The mode holds a plan back as a whole.
    pub(super) fn hold_back_plan(&mut self, calls: &[CallJson], context: &Context) {
        self.plan = calls.iter().map(|call| step_form(call, false, context)).collect();
    }

    /// Adopts an imported plan.
    pub(super) fn adopt_plan<'a>(&mut self, calls: impl Iterator<Item = &'a CallJson>) {
        self.plan = calls.map(|call| Step::from_call(call, |_| false).to_json()).collect();
    }

    /// Drops the plan, if there is one and another one replaces it.
    pub(super) fn drop_plan_if(&mut self, is_replaced: impl FnOnce() -> bool) {
        if !self.plan.is_empty() && is_replaced() {
            self.plan.clear();
        }
    }

    /// The waiting steps, alone or in a plan, and those that the mode holds back.
    pub(super) fn planned(&self, calls: &[CallReport], inbox: &Inbox, context: &Context) -> Value {
        let mut steps = self.held_back(calls, context);
        let plans = inbox.open().filter(|question| question.about == About::Plan);
        let in_plans = plans.flat_map(|question| question.calls.iter().map(|asked| &asked.call));
        let by_itself = calls.iter().filter(|report| report.status == CallStatus::Waiting).map(|report| &report.call);
        for call in by_itself.chain(in_plans) {
            add_step(&mut steps, step_form(call, true, context));
        }
        steps.into()
    }

    /// Whether an event has come before.
    pub(super) fn knows_event(&self, id: &str) -> bool {
        self.events.iter().any(|known| known == id)
    }

    pub(super) fn note_event(&mut self, id: String) {
        self.events.push_back(id);
        if self.events.len() > MOST_EVENTS {
            self.events.pop_front();
        }
    }
}

/// The key of a change: the entity, its id if it has one, and the risky fields.
fn key_of(call: &CallJson, context: &Context) -> String {
    let name = call.tool_name();
    let tool = context.tool(name);
    let subject = tool.and_then(|tool| tool.record_kind()).unwrap_or(name);
    let id = tool.and_then(|tool| call.get(tool.record()?));
    let mut parts = vec![subject.to_owned()];
    parts.extend(id.map(plain_text));
    parts.extend(tool.map(|tool| risky_fields(call, tool)).unwrap_or_default());
    let key = parts.join("_").to_lowercase();
    key.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(LONGEST_KEY).collect()
}

/// A call as a step of the plan: what the model wrote, with resolved references.
fn step_form(call: &CallJson, waits: bool, context: &Context) -> Value {
    let tool = call.tool().and_then(|name| context.tool(name));
    let mut step = Step::from_call(call, |name| tool.is_some_and(|tool| tool.param(name).is_some()));
    if waits {
        step.beside.insert(ControlField::RequiresConfirmation.name().to_owned(), true.into());
    }
    step.to_json()
}

/// Adds a step unless it is already there, ignoring control fields.
fn add_step(steps: &mut Vec<Value>, step: Value) {
    if !steps.iter().any(|known| without_control_fields(known) == without_control_fields(&step)) {
        steps.push(step);
    }
}

/// A call or a step without its control fields.
pub(super) fn without_control_fields(call: &Value) -> BTreeMap<String, Value> {
    let fields = call.as_object().into_iter().flatten();
    let own = fields.filter(|(name, _)| ControlField::named(name).is_none());
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The risky fields that a call sets; in a creation, its targets.
fn risky_fields(call: &Value, tool: &Tool) -> Vec<String> {
    let Value::Object(fields) = call else { return Vec::new() };
    let set = fields.iter().filter(|(name, _)| !name.starts_with('_')).filter_map(|(_, value)| value.as_object());
    let last = |path: &String| path.rsplit('.').next().unwrap_or_default().to_lowercase();
    let targets = tool.target.iter().flatten().filter(|_| tool.effect == Effect::Create);
    let risky: Vec<String> = tool.risky.iter().chain(targets).map(last).collect();
    // In the tool's spelling, whatever the call's.
    let named = |name: &String| risky.iter().find(|known| alike(known, name)).cloned();
    set.flat_map(|inner| inner.keys()).filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::super::inbox::{AskedCall, Draft, QuestionEnd, Terms};
    use super::super::settings::ManagedFields;
    use super::*;

    const TERMS: Terms =
        Terms { is_payment: false, now: Time(1_000), remind_after: None, expire_after: 10, asked_after: 0 };

    fn context() -> Context {
        let entity = json!({"name": "deal", "id": "id"});
        Context::from_value(json!([{"type": "tool", "tool": {
            "t": {"x-effect": "update", "x-risky": ["fields.SUM"], "x-entity": entity, "properties": {"id": {}, "fields": {}}},
        }}]))
        .unwrap()
    }

    fn settings() -> Settings {
        let managed = ManagedFields { confirmations: Some("confirmations".to_owned()), ..ManagedFields::default() };
        Settings { managed, question_seconds: 60, ..Settings::default() }
    }

    fn change() -> CallJson {
        json!({"_tool": "t", "id": 4, "fields": {"SUM": 5, "TITLE": "x"}}).into()
    }

    /// Asks about calls, each bound to its hash, and names them.
    fn ask(projection: &mut StateProjection, inbox: &mut Inbox, hashes: &[&str]) -> QuestionNumber {
        let call = |hash: &&str| AskedCall::new(change(), (*hash).to_owned(), Vec::new());
        let draft = Draft::new(About::Call, hashes.iter().map(call).collect(), String::new());
        let number = inbox.add(draft, TERMS);
        let imported = projection.name_confirmations(number, inbox, &context(), &settings());
        inbox.keep_imported(number, imported);
        number
    }

    fn confirmations(projection: &StateProjection, inbox: &Inbox) -> Value {
        projection.confirmations(inbox, CallTexts { context: &context(), language: None, has_all_titles: false })
    }

    fn report(status: CallStatus, rule: &str) -> CallReport {
        CallReport {
            place: (0, 0),
            call: change(),
            status,
            error: serde_json::from_value(json!({"rule": rule})).unwrap(),
        }
    }

    #[test]
    fn a_confirmation_contains_decision_time_and_reason() {
        let (mut projection, mut inbox) = (StateProjection::default(), Inbox::default());
        let number = ask(&mut projection, &mut inbox, &["a", "b", "c"]);
        let end = |status, reason| QuestionEnd { status, at: Time(2_000), by: "ann", reason };
        inbox.decide_calls(number, &[0], true, end(QuestionStatus::Approved, None));
        inbox.decide_calls(number, &[1], false, end(QuestionStatus::Denied, Some("too much")));
        let all = confirmations(&projection, &inbox);
        let at = Time(2_000).to_string();
        assert_eq!((&all["deal_4_sum"]["status"], &all["deal_4_sum"]["approved_at"]), (&json!("approved"), &json!(at)));
        assert_eq!(
            (&all["deal_4_sum_2"]["status"], &all["deal_4_sum_2"]["reason"]),
            (&json!("denied"), &json!("too much"))
        );
        let waiting = &all["deal_4_sum_3"];
        assert_eq!(
            (&waiting["status"], &waiting["action"]["requires_confirmation"]),
            (&json!("requested"), &json!(true))
        );
    }

    #[test]
    fn a_step_refused_by_the_mode_stays_planned_and_one_refused_by_a_rule_does_not() {
        let projection = StateProjection::default();
        let held_back = |rule: &str| projection.held_back(&[report(CallStatus::Refused, rule)], &context()).len();
        assert_eq!((held_back("POL-1"), held_back("POL-2")), (1, 0));
    }

    #[test]
    fn a_step_is_planned_once_regardless_of_its_comment() {
        let mut projection = StateProjection::default();
        projection.keep_held_back(&[report(CallStatus::Refused, "POL-1")], &context());
        let planned = projection.planned(&[report(CallStatus::Waiting, "")], &Inbox::default(), &context());
        assert_eq!(planned.as_array().unwrap().len(), 1, "{planned}");
    }

    #[test]
    fn the_latest_events_are_remembered_and_the_oldest_is_dropped() {
        let mut projection = StateProjection::default();
        (0..=MOST_EVENTS).for_each(|id| projection.note_event(id.to_string()));
        assert!(!projection.knows_event("0") && projection.knows_event("1"));
        assert!(projection.knows_event(&MOST_EVENTS.to_string()));
    }
}
