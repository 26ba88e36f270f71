//! A look at what a call is about to change, for whoever decides about it.
//!
//! A look is a read like any other: the mode, the policy and the origins of its parameters must permit it without a
//! person. It is no part of the turn, the model is not shown what it brings, and a question is open and can be
//! answered while it is still under way; if it fails, the question stays as it is.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::Session;
use super::input::{AskedAgain, Outcome, Start, Task};
use super::job::JobRef;
use super::policy::Verdict;
use super::provenance::doubts;
use super::question::Change;
use crate::call::Call;
use crate::origin::Origins;
use crate::tool::{Effect, Tool};

/// Looks that a question about many calls may take.
const MOST_LOOKS: usize = 200;

/// Looks that wait or are under way, by the id that the driver knows them by.
#[derive(Default)]
pub(super) struct Looks {
    queue: VecDeque<Look>,
    open: BTreeMap<String, Look>,
}

impl Looks {
    /// Whether none waits and none is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.open.is_empty()
    }
}

/// A read for one call of a question.
#[derive(Clone)]
struct Look {
    id: String,
    question: String,
    /// The place of the call in the question.
    index: usize,
    /// The job that waits.
    at: JobRef,
    tool: Arc<Tool>,
    call: Arc<Value>,
    /// Where the parameters of the read come from.
    origins: Origins,
    attempt: u32,
}

impl Session {
    /// Takes a look for every call of a question whose tool says how.
    pub(super) fn look_before(&mut self, question: &str) {
        if !self.settings.before {
            return;
        }
        let Some(asked) = self.questions.get(question) else { return };
        let jobs = asked.calls.iter().enumerate().filter_map(|(index, call)| Some((index, *call.jobs.first()?)));
        let looks: Vec<Look> = jobs.filter_map(|(index, at)| self.look(question, index, at)).take(MOST_LOOKS).collect();
        self.looks.queue.extend(looks);
        self.start_looks();
    }

    /// The look for one call, if there is one and nobody need be asked about it.
    fn look(&self, question: &str, index: usize, at: JobRef) -> Option<Look> {
        let step = self.steps.get(&at.step)?;
        let call = step.call(at.job as usize);
        let before = call.tool.as_ref()?.before.as_ref()?;
        let proposal = Arc::new(before.look(&self.frozen(at)?.params(call))?);
        let (read, faults) = Call::read(&proposal, &self.context);
        let tool = read.tool.clone().filter(|tool| faults.is_empty() && tool.effect == Effect::Read)?;
        self.activity_of(&tool, read.activity.as_deref()).filter(|_| read.delegate.is_none())?;
        let sources = self.sources(at);
        let of = |name: &str| {
            let path = before.params.iter().find(|(known, _)| known == name).map(|(_, path)| path.as_str());
            path.and_then(|path| sources.of_path(call, path)).unwrap_or_default()
        };
        let all = || before.params.iter().fold(Origins::default(), |all, (name, _)| all.joined(&of(name)));
        let top = |path: &str| of(path.split('.').next().unwrap_or(path));
        let targets = tool.target.iter().flatten().map(|path| (path.clone(), top(path))).collect();
        let params =
            Value::Object(read.params.iter().map(|(name, value)| (name.to_string(), value.outline())).collect());
        let origins = |path: Option<&str>| path.map_or_else(all, top);
        let verdict = self.settings.policy.verdict(&read, &tool, &params, self.settings.mode, &origins);
        let is_allowed =
            verdict == Verdict::Allow && doubts(&tool, &Origins::default(), targets, &|_| false).is_empty();
        is_allowed.then(|| Look {
            id: format!("{question}:{index}"),
            question: question.to_owned(),
            index,
            at,
            tool,
            call: proposal,
            origins: all(),
            attempt: 0,
        })
    }

    fn start_looks(&mut self) {
        let room = usize::try_from(self.settings.max_parallel.max(1)).unwrap_or(usize::MAX);
        while self.looks.open.len() < room
            && let Some(look) = self.looks.queue.pop_front()
        {
            if self.questions.get(&look.question).is_some_and(super::Question::is_open) {
                self.hand_out_look(look);
            }
        }
    }

    fn hand_out_look(&mut self, mut look: Look) {
        look.attempt += 1;
        let named = look.tool.fixed_name("_activity");
        if self.activity_of(&look.tool, named).is_none() {
            return;
        }
        let start = Start {
            id: look.id.clone(),
            named: self.known_activity(named).map(str::to_owned),
            call: look.call.clone(),
            tool: look.tool.clone(),
            scope: Vec::new(),
            key: format!("{}:{}", self.id, look.id),
            attempt: look.attempt,
            seconds: self.settings.call_seconds,
        };
        self.tasks.push_back(Task::Call(Box::new(start)));
        self.looks.open.insert(look.id.clone(), look);
    }

    /// A look has come to its end; says whether there was one of this id.
    pub(super) fn take_look(&mut self, id: &str, outcome: &Outcome) -> bool {
        let Some(look) = self.looks.open.remove(id) else { return false };
        if let Outcome::Value(result) = outcome {
            self.note_changes(&look, result);
        }
        self.start_looks();
        true
    }

    /// A look was under way when its driver died: it is taken again. Says whether there was one of this id.
    pub(super) fn look_again(&mut self, id: &str) -> bool {
        let Some(look) = self.looks.open.remove(id) else { return false };
        if self.questions.get(&look.question).is_some_and(super::Question::is_open) {
            self.hand_out_look(look);
        }
        self.start_looks();
        true
    }

    fn note_changes(&mut self, look: &Look, result: &Value) {
        let is_open = self.questions.get(&look.question).is_some_and(super::Question::is_open);
        let Some(step) = self.steps.get(&look.at.step).filter(|_| is_open) else { return };
        let call = step.call(look.at.job as usize);
        let (Some(frozen), Some(tool)) = (self.frozen(look.at), call.tool.as_ref()) else { return };
        let Some(before) = &tool.before else { return };
        let params = frozen.params(call);
        let sources = self.sources(look.at);
        let below =
            |upper: &str, field: &str| if upper.is_empty() { field.to_owned() } else { format!("{upper}.{field}") };
        let change = |(field, after): (&String, &Value)| {
            let now = before.now(result, field);
            let now_from =
                now.map(|(name, _)| look.tool.origin_at(&below(&before.result, name)).clone().joined(&look.origins));
            Change {
                call: look.index,
                field: field.clone(),
                before: now.map(|(_, value)| value.clone()),
                after: after.clone(),
                before_from: now_from.unwrap_or_default(),
                after_from: sources.of_path(call, &below(&before.fields, field)).unwrap_or_default(),
            }
        };
        let changes: Vec<Change> = before.written(&params).into_iter().map(change).collect();
        if let Some(question) = self.questions.get_mut(&look.question) {
            question.changes.extend(changes);
            question.changes.sort_by_key(|change| change.call);
            self.name_values(&look.question);
            self.tasks.push_back(Task::AskAgain { id: look.question.clone(), because: AskedAgain::MoreIsKnown });
        }
    }
}
