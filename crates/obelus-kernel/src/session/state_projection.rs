//! The state as the agent's author and its people know it: what calls have written, and beside it what the
//! session itself keeps up. Goals are written; what waits, what is planned and what was confirmed are looked up
//! anew each time, so that they can never differ from the questions and calls they speak of.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Session;
use super::input::CallReport;
use super::question::{About, Question, QuestionStatus};
use crate::call::ASIDES;
use crate::dialect::blocks::Step;
use crate::fold::Method;
use crate::message::{Data, Message};
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::time::Time;
use crate::tool::{Effect, Tool};

/// Goals kept; older ones are forgotten.
const MOST_GOALS: usize = 500;

/// Letters of a confirmation's key.
const LONGEST_KEY: usize = 80;

/// What the session knows of confirmations beside the questions themselves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StateProjection {
    /// The key of each call asked about, with its question and its place there, in the order of asking.
    pub(super) keys: Vec<(String, String, usize)>,
    /// Confirmations that came along from elsewhere: those that are decided, and those that cannot be asked here.
    pub(super) adopted: Map<String, Value>,
    /// Keys and dates of questions that came along and are asked anew, by the hash of the call.
    pub(super) expected: BTreeMap<String, (String, Option<Time>)>,
    /// The descriptions that such questions came with, by key.
    #[serde(default)]
    pub(super) words: BTreeMap<String, String>,
    /// The plan of an earlier turn, or one that came along from elsewhere, until there is another one.
    pub(super) adopted_plan: Vec<Value>,
    /// Ids of the latest events.
    #[serde(default)]
    pub(super) events: VecDeque<String>,
}

impl Session {
    /// The folded state, with what the session keeps up by itself in its place.
    pub fn state(&self) -> Value {
        let root = self.context.read(&Path::root("state"), None);
        let mut state = root.map_or_else(|| json!({}), std::borrow::Cow::into_owned);
        let kept = &self.settings.managed;
        let projections = [
            (&kept.in_progress, Self::in_progress as fn(&Self) -> Value),
            (&kept.planned, Self::planned),
            (&kept.confirmations, Self::confirmations),
        ];
        if let Value::Object(fields) = &mut state {
            for (name, look) in projections.into_iter().filter_map(|(name, look)| Some((name.as_ref()?, look))) {
                fields.insert(name.clone(), look(self));
            }
        }
        state
    }

    /// The call that a confirmation of this key is about: its question, and its place there.
    pub fn confirmation(&self, key: &str) -> Option<(String, usize)> {
        self.projection
            .keys
            .iter()
            .find(|(known, ..)| known == key)
            .map(|(_, question, index)| (question.clone(), *index))
    }

    /// What the user wishes for is put in front of what was wished before.
    pub(super) fn note_goal(&mut self, words: &str) {
        let Some(name) = self.settings.managed.goals.clone() else { return };
        if self.depth > 0 || self.settings.consent.only_answers(words) {
            return;
        }
        let path = Path::field("state", name);
        let before = self.context.read(&path, None);
        let mut goals = before.and_then(|goals| goals.as_array().cloned()).unwrap_or_default();
        if goals.first().is_some_and(|latest| latest == words) {
            return;
        }
        goals.insert(0, words.into());
        goals.truncate(MOST_GOALS);
        self.write_state(path, goals.into());
    }

    /// Writes a part of the state for a person. What was there before may still be in it, so its origins stay.
    pub(super) fn write_state(&mut self, path: Path, value: Value) {
        let origins = self.context.origins(&path, None).joined(&Origins::of(Origin::User));
        let call = Arc::new(json!({"_tool": "user"}));
        let mut data = Data::result(call, Arc::new(path), Some(self.date()), value);
        data.method = Some(Method::Set);
        data.origins = Some(origins);
        self.remember(Message::Data(Box::new(data)));
    }

    fn in_progress(&self) -> Value {
        let entry = |question: &Question| json!({"description": self.headline(question), "requested_at": question.requested_at.to_string()});
        self.questions().iter().filter(|question| question.is_open()).map(entry).collect()
    }

    /// The steps that wait, and those that the mode keeps back.
    fn planned(&self) -> Value {
        let mut steps = self.kept_back();
        let waiting = self.calls().into_iter().filter(|report| report.status == "waiting");
        for report in waiting {
            add_step(&mut steps, self.step_form(&report.call, true));
        }
        steps.into()
    }

    /// The steps that the mode keeps back: of the latest plan, be it of this turn or of an earlier one.
    pub(super) fn kept_back(&self) -> Vec<Value> {
        let mut steps = self.projection.adopted_plan.clone();
        let by_mode = |report: &CallReport| report.error.as_ref().is_some_and(|error| error["rule"] == "POL-1");
        let refused = self.calls().into_iter().filter(|report| report.status == "refused" && by_mode(report));
        for report in refused {
            add_step(&mut steps, self.step_form(&report.call, false));
        }
        steps
    }

    fn confirmations(&self) -> Value {
        let mut all = self.projection.adopted.clone();
        for (key, question, index) in &self.projection.keys {
            let Some(question) = self.questions.get(question) else { continue };
            let Some(asked) = question.calls.get(*index) else { continue };
            let status = match (asked.decided, question.status) {
                (None, QuestionStatus::Requested) => "requested",
                (Some(true), _) => "approved",
                _ => "denied",
            };
            let mut entry = json!({"status": status, "requested_at": question.requested_at.to_string()});
            if let Some(at) = asked.decided_at.or(question.decided_at).filter(|_| status != "requested") {
                entry[format!("{status}_at")] = at.to_string().into();
            }
            let words = self.projection.words.get(key).cloned();
            entry["description"] = words.unwrap_or_else(|| self.call_headline(&asked.call)).into();
            if let Some(reason) = asked.reason.as_ref().or(question.reason.as_ref()).filter(|_| status == "denied") {
                entry["reason"] = reason.as_str().into();
            }
            entry["action"] = self.step_form(&asked.call, status == "requested");
            all.insert(key.clone(), entry);
        }
        Value::Object(all)
    }

    /// Gives the calls of a new question the keys by which the state knows them.
    pub(super) fn name_confirmations(&mut self, id: &str) {
        if self.settings.managed.confirmations.is_none() {
            return;
        }
        let Some(question) = self.questions.get(id).filter(|question| question.about == About::Call) else { return };
        let calls: Vec<_> = question.calls.iter().map(|asked| (asked.hash.clone(), asked.call.clone())).collect();
        for (index, (hash, call)) in calls.into_iter().enumerate() {
            let expected = self.projection.expected.remove(&hash);
            let key = match &expected {
                Some((key, _)) => key.clone(),
                None => self.free_key(self.key_of(&call)),
            };
            self.projection.adopted.shift_remove(&key);
            self.projection.keys.push((key, id.to_owned(), index));
            if let (Some((_, Some(at))), Some(question)) = (expected, self.questions.get_mut(id)) {
                question.requested_at = at;
                question.expires_at = at.plus_seconds(self.settings.question_seconds);
            }
        }
    }

    fn free_key(&self, key: String) -> String {
        let taken = |key: &str| {
            self.projection.adopted.contains_key(key) || self.projection.keys.iter().any(|(known, ..)| known == key)
        };
        let numbered = std::iter::once(key.clone()).chain((2..).map(|n: u64| format!("{key}_{n}")));
        numbered.into_iter().find(|key| !taken(key)).unwrap_or(key)
    }

    /// What changes: the entity, its id where it has one, and the fields that deserve a person.
    fn key_of(&self, call: &Value) -> String {
        let name = call["_tool"].as_str().unwrap_or_default();
        let tool = self.context.tool(name);
        let entity = tool.and_then(|tool| tool.schema.get("x-entity"));
        let words = entity.and_then(|entity| entity["name"].as_str()).unwrap_or(name);
        let id = entity.and_then(|entity| call.get(entity["id"].as_str()?));
        let mut parts = vec![words.to_owned()];
        parts.extend(id.map(plain));
        parts.extend(tool.map(|tool| risky_fields(call, tool)).unwrap_or_default());
        let key = parts.join("_").to_lowercase();
        key.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(LONGEST_KEY).collect()
    }

    /// A call as a step of the conversation's plan: what the model wrote, with references resolved.
    fn step_form(&self, call: &Value, waits: bool) -> Value {
        let tool = call["_tool"].as_str().and_then(|name| self.context.tool(name));
        let mut step = Step::from_call(call, |name| tool.is_some_and(|tool| tool.param(name).is_some()));
        if waits {
            step.beside.insert("requires_confirmation".to_owned(), true.into());
        }
        step.to_json()
    }
}

/// Adds a step that is not among them yet, whatever is said beside it.
fn add_step(steps: &mut Vec<Value>, step: Value) {
    let same = |known: &Value| {
        let bare = |step: &Value| {
            let fields = step.as_object().into_iter().flatten();
            let own = fields.filter(|(name, _)| !ASIDES.contains(&name.as_str()));
            own.map(|(name, value)| (name.clone(), value.clone())).collect::<BTreeMap<_, _>>()
        };
        bare(known) == bare(&step)
    };
    if !steps.iter().any(same) {
        steps.push(step);
    }
}

/// The fields that a call sets and that deserve a person: in a creation those are its targets.
fn risky_fields(call: &Value, tool: &Tool) -> Vec<String> {
    let Value::Object(fields) = call else { return Vec::new() };
    let set = fields.iter().filter(|(name, _)| !name.starts_with('_')).filter_map(|(_, value)| value.as_object());
    let last = |path: &String| path.rsplit('.').next().unwrap_or_default().to_lowercase();
    let targets = tool.target.iter().flatten().filter(|_| tool.effect == Effect::Create);
    let risky: Vec<String> = tool.risky.iter().chain(targets).map(last).collect();
    set.flat_map(|inner| inner.keys()).map(|name| name.to_lowercase()).filter(|name| risky.contains(name)).collect()
}

/// A value as it is said.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
