//! Asking people: about calls, about whole plans, about what only they know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::Session;
use super::describe::{Part, describe, word};
use super::input::Task;
use super::job::{Frozen, JobRef, Status};
use super::question::{About, AskedCall, Asking, Question, QuestionStatus, hash};
use crate::call::{ASIDES, Call};
use crate::origin::Origins;
use crate::plan::{Manner, Who};

/// A step, and the index of the call that was expanded over instances.
type Template = (u32, usize);

/// The calls of one template that are asked about together.
#[derive(Default)]
struct Group {
    calls: Vec<AskedCall>,
    words: Vec<String>,
    reasons: BTreeSet<String>,
}

impl Session {
    /// What a decision about a call is bound to.
    pub(super) fn hash_of(&self, call: &Call, frozen: &Frozen) -> String {
        self.hash_of_call(call, &frozen.call)
    }

    /// The same, for a call whose references are resolved.
    pub(super) fn hash_of_call(&self, call: &Call, frozen: &Value) -> String {
        let is_aside = |name: &str| ASIDES.contains(&name) && call.aside(name).is_some();
        hash(&self.id, self.settings.mode.name(), frozen, is_aside)
    }

    /// A person must decide about a call.
    pub(super) fn ask_about_call(&mut self, at: JobRef, call: &Call, frozen: &Frozen, reasons: Vec<String>) {
        let step = &self.steps[&at.step];
        let described = self.described(at, call, frozen);
        if step.who[step.jobs[at.job as usize].call] == Who::Each {
            self.set_status(at, Status::Asking);
            self.questions.asking.push(Asking { at, described, reasons });
        } else {
            self.set_status(at, Status::Waiting);
            let asked = AskedCall::new(frozen.call.clone(), self.hash_of(call, frozen), vec![at]);
            let id = self.ask(About::Call, vec![asked], described, reasons);
            self.look_before(&id);
        }
        self.wake_followers(at);
    }

    /// A call about to run, in words, with what is not trusted marked.
    pub(super) fn described(&self, at: JobRef, call: &Call, frozen: &Frozen) -> String {
        let sources = self.sources(at);
        let origins = |part: Part<'_>| match part {
            // That it was proposed after reading is among the reasons.
            Part::Proposal => Origins::default(),
            Part::Value(place, _) => sources.of_place(call, place),
            Part::Scopes => sources.of_scopes(call),
        };
        describe(&frozen.call, &|name| call.aside(name).is_some(), &origins)
    }

    /// The calls of one template over instances are one question. Says whether something was asked.
    pub(super) fn ask_about_groups(&mut self) -> bool {
        let asking = std::mem::take(&mut self.questions.asking);
        let mut groups: BTreeMap<Template, Group> = BTreeMap::new();
        let mut seen: BTreeMap<String, (Template, usize)> = BTreeMap::new();
        for Asking { at, described, reasons } in asking {
            let Some(step) = self.steps.get(&at.step) else { continue };
            let job = &step.jobs[at.job as usize];
            let (Some(frozen), Status::Asking) = (&job.frozen, job.status) else { continue };
            let hash = self.hash_of(step.call(at.job as usize), frozen);
            let call = frozen.call.clone();
            let template = (at.step, job.call);
            self.set_status(at, Status::Waiting);
            // An identical call joins the one that waits, be it of another template or asked about meanwhile.
            let same = seen.get(&hash).and_then(|(of, index)| groups.get_mut(of)?.calls.get_mut(*index));
            let open = self.questions.about(&hash);
            if let Some(asked) = same {
                asked.jobs.push(at);
            } else if let Some((id, index)) = open
                && let Some(question) = self.questions.get_mut(&id)
            {
                question.calls[index].jobs.push(at);
            } else {
                let group = groups.entry(template).or_default();
                seen.insert(hash.clone(), (template, group.calls.len()));
                group.calls.push(AskedCall::new(call, hash, vec![at]));
                group.words.push(described);
                group.reasons.extend(reasons);
            }
        }
        let asked_something = !groups.is_empty();
        for Group { calls, words, reasons } in groups.into_values() {
            let reasons = reasons.into_iter().collect();
            let id = self.ask(About::Call, calls, words.join("\n"), reasons);
            self.look_before(&id);
        }
        asked_something
    }

    pub(super) fn ask_about_plan(&mut self, calls: Vec<Arc<Value>>, manner: Manner) {
        // Of plans that wait, the latest is meant: two of them would do things twice.
        let is_plan = |question: &&Question| question.about == About::Plan;
        let earlier: Vec<String> = self.questions.open().filter(is_plan).map(|question| question.id.clone()).collect();
        for id in earlier {
            let why = Some("another plan has taken its place");
            self.questions.decided(&id, QuestionStatus::Denied, self.now, "the agent", why);
        }
        let asked = |call| AskedCall::new(call, String::new(), Vec::new());
        let mut reasons = vec!["a plan runs when it is approved".to_owned()];
        if !self.shown.is_trusted() {
            let names: Vec<String> = self.shown.untrusted().map(word).collect();
            reasons.push(format!("it was made after reading what is not trusted: {}", names.join(", ")));
        }
        let words: Vec<String> = calls.iter().map(|call| self.described_plan(call)).collect();
        let id = self.ask(About::Plan, calls.into_iter().map(asked).collect(), words.join("\n"), reasons);
        let before_reading = self.shown.is_trusted();
        if let Some(question) = self.questions.get_mut(&id) {
            question.manner = manner;
            question.before_reading = before_reading;
        }
    }

    /// A call of a plan in words. A person's yes covers its proposal and literals, so those are marked; what its
    /// references bring is judged when it is there.
    fn described_plan(&self, call: &Value) -> String {
        let tool = call.get("_tool").and_then(Value::as_str).and_then(|name| self.context.tool(name));
        let is_aside = |name: &str| ASIDES.contains(&name) && tool.is_none_or(|tool| tool.param(name).is_none());
        let origins = |part: Part<'_>| match part {
            Part::Value(_, Value::String(text)) if text.starts_with('†') && !text.starts_with("††") => {
                Origins::default()
            }
            _ => self.shown.clone(),
        };
        describe(call, &is_aside, &origins)
    }

    /// A person is asked for something else than a yes.
    pub(super) fn ask_for_input(&mut self, words: &str, schema: Option<Value>) -> String {
        let id = self.ask(About::Input, Vec::new(), crate::visible(words), Vec::new());
        if let Some(question) = self.questions.get_mut(&id) {
            question.schema = schema;
        }
        id
    }

    /// A no that nobody had asked for is kept like any other.
    pub(super) fn record_denial(&mut self, call: &Arc<Value>, hash: &str, reason: &str) {
        let mut asked = AskedCall::new(call.clone(), hash.to_owned(), Vec::new());
        asked.decide(false, self.now, Some(reason));
        let id = self.ask(About::Call, vec![asked], String::new(), Vec::new());
        // Nobody has to be shown it.
        self.tasks.retain(|task| !matches!(task, Task::Ask { id: asked } if *asked == id));
        self.questions.decided(&id, QuestionStatus::Denied, self.now, "the agent, for the user", Some(reason));
    }

    pub(super) fn ask(
        &mut self,
        about: About,
        calls: Vec<AskedCall>,
        description: String,
        reasons: Vec<String>,
    ) -> String {
        let question = Question {
            id: String::new(),
            about,
            calls,
            description,
            reasons,
            changes: Vec::new(),
            names: Vec::new(),
            schema: None,
            requested_at: self.now,
            remind_at: self.settings.remind_after().map(|seconds| self.now.plus_seconds(seconds)),
            expires_at: self.now.plus_seconds(self.settings.question_seconds),
            status: QuestionStatus::Requested,
            decided_at: None,
            by: None,
            reason: None,
            elicitation: None,
            manner: Manner::default(),
            before_reading: false,
            asked_after: self.context.length(),
        };
        let id = self.questions.add(question);
        self.name_confirmations(&id);
        self.name_values(&id);
        self.tasks.push_back(Task::Ask { id: id.clone() });
        id
    }
}
