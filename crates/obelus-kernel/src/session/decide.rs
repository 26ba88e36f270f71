//! Asking people, and doing what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::describe::{Part, describe, word};
use super::input::{CallError, Decision, Ends, Outcome, Task};
use super::job::{Frozen, JobRef, Origin as By, Status};
use super::policy::Verdict;
use super::question::{About, Approved, AskedCall, Asking, Question, QuestionStatus, hash};
use super::settings::ModelMayConfirm;
use super::turn::{Phase, error_data};
use super::{Input, Refused, Session};
use crate::call::{ASIDES, Call, faults_of};
use crate::message::{Message, Role};
use crate::origin::{Origin, Origins};
use crate::plan::Who;

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
    fn hash_of(&self, call: &Call, frozen: &Frozen) -> String {
        let is_aside = |name: &str| ASIDES.contains(&name) && call.asides.contains_key(name);
        hash(&self.id, self.settings.mode.name(), &frozen.call, is_aside)
    }

    /// Whether people have spoken of exactly this call before, or are being asked; then that settles it.
    pub(super) fn settle_by_earlier_word(&mut self, at: JobRef, call: &Call, frozen: &Arc<Frozen>) -> bool {
        let says = |name: &str| call.asides.get(name) == Some(&Value::Bool(true));
        let refuses = call.asides.get("confirmation_decision").is_some_and(|said| said == "deny");
        if self.questions.is_blank() && !refuses {
            return false;
        }
        let hash = self.hash_of(call, frozen);
        if refuses {
            let reason =
                call.asides.get("confirmation_reason").and_then(Value::as_str).unwrap_or("declined in conversation");
            if let Some((id, index)) = self.questions.about(&hash) {
                self.deny(&id, &[index], reason, "the agent, for the user");
            }
            self.deny_job(at, &hash, reason);
            return true;
        }
        if let Some(&since) = self.questions.denied.get(&hash) {
            let asked_anew = says("requires_confirmation") && self.words_since(since).is_some();
            if !asked_anew {
                self.drop_denied(at, "it was denied before");
                return true;
            }
            self.questions.denied.remove(&hash);
        }
        let confirmed = says("confirmed");
        if let Some((id, index)) = self.questions.about(&hash) {
            if let Some(question) = self.questions.get_mut(&id) {
                question.calls[index].jobs.push(at);
            }
            self.set_status(at, Status::Waiting);
            self.wake_followers(at);
            if confirmed && self.has_consent(&id) {
                self.approve(&id, &[index], "the user, in conversation");
            }
            return true;
        }
        match self.questions.approved.get(&hash) {
            Some(Approved::Done) if confirmed => {
                self.close(at, Status::Done);
                true
            }
            Some(Approved::Running(primary)) if confirmed => {
                let primary = *primary;
                self.join(at, primary);
                self.wake_followers(at);
                true
            }
            _ => false,
        }
    }

    /// The model claims that the user agreed: is there evidence?
    fn has_consent(&self, id: &str) -> bool {
        let Some(question) = self.questions.get(id) else { return false };
        self.settings.model_may_confirm == ModelMayConfirm::AfterConsent
            && self.answerable.as_deref() == Some(id)
            && self.words_since(question.asked_after).is_some_and(|words| self.settings.consent.consents(words))
    }

    /// The question about one call that waits now, if nothing else does, here or in a delegate.
    pub(super) fn only_question(&self) -> Option<String> {
        let mut open = self.questions().into_iter().filter(Question::is_open);
        let (only, None) = (open.next()?, open.next()) else { return None };
        (only.open_calls().count() == 1).then_some(only.id)
    }

    /// The user's latest words, if they came after the context had this many messages.
    fn words_since(&self, length: usize) -> Option<&str> {
        self.context.messages()[length.min(self.context.messages().len())..].iter().rev().find_map(|message| {
            match message {
                Message::Text(text) if text.role == Role::User => Some(text.text.as_str()),
                _ => None,
            }
        })
    }

    /// A person must decide about a call.
    pub(super) fn ask_about_call(&mut self, at: JobRef, call: &Call, frozen: &Arc<Frozen>, reasons: Vec<String>) {
        let step = &self.steps[&at.step];
        let described = self.described(at, call, frozen);
        if step.who[step.jobs[at.job as usize].call] == Who::Each {
            self.set_status(at, Status::Asking);
            self.questions.asking.push(Asking { at, described, reasons });
        } else {
            self.set_status(at, Status::Waiting);
            let asked = AskedCall {
                call: frozen.call.clone(),
                hash: self.hash_of(call, frozen),
                decided: None,
                jobs: vec![at],
            };
            self.ask(About::Call, vec![asked], described, reasons);
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
        describe(&frozen.call, &|name| call.asides.contains_key(name), &origins)
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
                group.calls.push(AskedCall { call, hash, decided: None, jobs: vec![at] });
                group.words.push(described);
                group.reasons.extend(reasons);
            }
        }
        let asked_something = !groups.is_empty();
        for Group { calls, words, reasons } in groups.into_values() {
            let reasons = reasons.into_iter().collect();
            self.ask(About::Call, calls, words.join("\n"), reasons);
        }
        asked_something
    }

    pub(super) fn ask_about_plan(&mut self, calls: Vec<Arc<Value>>, sequential: bool) {
        let asked = |call| AskedCall { call, hash: String::new(), decided: None, jobs: Vec::new() };
        let mut reasons = vec!["a plan runs when it is approved".to_owned()];
        if !self.shown.is_trusted() {
            let names: Vec<String> = self.shown.untrusted().map(word).collect();
            reasons.push(format!("it was made after reading what is not trusted: {}", names.join(", ")));
        }
        let words: Vec<String> = calls.iter().map(|call| self.described_plan(call)).collect();
        let id = self.ask(About::Plan, calls.into_iter().map(asked).collect(), words.join("\n"), reasons);
        let before_reading = self.shown.is_trusted();
        if let Some(question) = self.questions.get_mut(&id) {
            question.sequential = sequential;
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
    pub(super) fn ask_for_input(&mut self, words: &str, schema: Option<Value>) {
        let id = self.ask(About::Input, Vec::new(), crate::visible(words), Vec::new());
        if let Some(question) = self.questions.get_mut(&id) {
            question.schema = schema;
        }
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
            schema: None,
            requested_at: self.now,
            expires_at: self.now.plus_seconds(self.settings.question_seconds),
            status: QuestionStatus::Requested,
            decided_at: None,
            by: None,
            reason: None,
            sequential: false,
            before_reading: false,
            asked_after: self.context.messages().len(),
        };
        let id = self.questions.add(question);
        self.tasks.push_back(Task::Ask { id: id.clone() });
        id
    }

    /// A person decided. What does not fit is refused, and the question stays.
    pub(super) fn decide(&mut self, id: &str, decision: Decision, by: &str) -> Result<(), Refused> {
        if let Some((job, rest)) = id.split_once('/') {
            return self.decide_in_child(job, Input::Decide { question: rest.to_owned(), decision, by: by.to_owned() });
        }
        let Some(question) = self.questions.get(id) else {
            return Err(Refused::new("unknown_question", format!("there is no question `{id}`")));
        };
        if !question.is_open() {
            let by = question.by.as_deref().unwrap_or("nobody");
            let status = serde_json::to_value(question.status).unwrap_or_default();
            let text = format!("the question `{id}` is {} already, by {by}", status.as_str().unwrap_or_default());
            return Err(Refused::new("already_decided", text));
        }
        if self.turn.stops() && matches!(decision, Decision::Approve { .. } | Decision::Edit { .. } | Decision::DidNot)
        {
            let text = "the turn is ending, and starts nothing more; answer again when it has come to rest";
            return Err(Refused::new("ending", text));
        }
        let unfit = |what: &str| {
            let about = serde_json::to_value(question.about).unwrap_or_default();
            Refused::new(
                "unfit_answer",
                format!("a question about `{}` cannot be answered by `{what}`", about.as_str().unwrap_or_default()),
            )
        };
        match (question.about, decision) {
            (About::Call, Decision::Approve { only }) => {
                let open: Vec<usize> = question.open_calls().collect();
                let chosen = only.unwrap_or_else(|| open.clone());
                if let Some(index) = chosen.iter().find(|index| !open.contains(index)) {
                    return Err(Refused::new("unknown_call", format!("the question `{id}` has no open call {index}")));
                }
                self.approve(id, &chosen, by);
            }
            (About::Call | About::Plan, Decision::Deny { reason }) => {
                let open: Vec<usize> = question.open_calls().collect();
                self.deny(id, &open, &reason, by);
            }
            (About::Call, Decision::Edit { params }) => self.edit(id, params, by)?,
            (About::Plan, Decision::Approve { only: None }) => {
                let calls: Vec<Arc<Value>> = question.calls.iter().map(|asked| asked.call.clone()).collect();
                let sequential = question.sequential;
                let origin = By::Approved { by_person: true, before_reading: question.before_reading };
                self.questions.decided(id, QuestionStatus::Approved, self.now, by, None);
                self.reopen();
                self.start_step(&calls, origin, sequential);
            }
            (About::InDoubt, Decision::Happened { result }) => {
                // A result that nobody knows is not written, and breaks no schema: the effect is there all the same.
                let outcome = if result.is_null() { Outcome::Messages(Vec::new()) } else { Outcome::Value(result) };
                self.settle_doubt(id, by, Some(outcome));
            }
            (About::InDoubt, Decision::DidNot | Decision::Approve { .. }) => self.settle_doubt(id, by, None),
            (About::InDoubt, Decision::Deny { reason }) => {
                let error = CallError::new("in_doubt", format!("nobody knows whether it happened: {reason}"));
                self.settle_doubt(id, by, Some(Outcome::Error(error)));
            }
            (About::Input, Decision::Value { value }) => {
                self.take_input(value)?;
                self.questions.decided(id, QuestionStatus::Answered, self.now, by, None);
                self.reopen();
            }
            (About::Input, Decision::Deny { reason }) => {
                self.questions.decided(id, QuestionStatus::Denied, self.now, by, Some(&reason));
                self.reopen();
            }
            (_, Decision::Approve { .. }) => return Err(unfit("approve")),
            (_, Decision::Edit { .. }) => return Err(unfit("edit")),
            (_, Decision::Value { .. }) => return Err(unfit("value")),
            (_, Decision::Happened { .. }) => return Err(unfit("happened")),
            (_, Decision::DidNot) => return Err(unfit("did-not")),
        }
        Ok(())
    }

    fn approve(&mut self, id: &str, indexes: &[usize], by: &str) {
        let Some(question) = self.questions.get_mut(id) else { return };
        let mut released = Vec::new();
        for &index in indexes {
            let asked = &mut question.calls[index];
            asked.decided = Some(true);
            released.push((asked.hash.clone(), asked.jobs.clone()));
        }
        if question.open_calls().next().is_none() {
            self.questions.decided(id, QuestionStatus::Approved, self.now, by, None);
        }
        self.reopen();
        for (hash, jobs) in released {
            let Some((&primary, others)) = jobs.split_first() else { continue };
            self.questions.granted.insert(primary, hash.clone());
            self.questions.approved.insert(hash, Approved::Running(primary));
            if let Some(step) = self.steps.get_mut(&primary.step) {
                let job = &mut step.jobs[primary.job as usize];
                if let Some(frozen) = &mut job.frozen {
                    Arc::make_mut(frozen).approved = true;
                }
            }
            self.make_ready(primary);
            for &other in others {
                self.join(other, primary);
            }
        }
    }

    fn deny(&mut self, id: &str, indexes: &[usize], reason: &str, by: &str) {
        let Some(question) = self.questions.get_mut(id) else { return };
        let is_plan = question.about == About::Plan;
        let mut dropped = Vec::new();
        for &index in indexes {
            let asked = &mut question.calls[index];
            asked.decided = Some(false);
            dropped.push((asked.hash.clone(), asked.jobs.clone()));
        }
        if question.open_calls().next().is_none() {
            self.questions.decided(id, QuestionStatus::Denied, self.now, by, Some(reason));
        }
        self.reopen();
        if is_plan {
            self.turn.tell_model(error_data(Value::Null, json!({"code": "plan_denied", "message": reason})));
        }
        for (hash, jobs) in dropped {
            for at in jobs {
                self.deny_job(at, &hash, reason);
            }
        }
    }

    fn deny_job(&mut self, at: JobRef, hash: &str, reason: &str) {
        self.questions.denied.insert(hash.to_owned(), self.context.messages().len());
        self.drop_denied(at, reason);
    }

    fn drop_denied(&mut self, at: JobRef, reason: &str) {
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].error = Some(json!({"code": "denied", "message": reason}));
        }
        self.close(at, Status::Denied);
    }

    /// The call with other parameters, checked again, and then let run.
    fn edit(&mut self, id: &str, params: Map<String, Value>, by: &str) -> Result<(), Refused> {
        let question = self.questions.get(id).expect("looked up by the caller");
        let open: Vec<usize> = question.open_calls().collect();
        let [index] = open[..] else {
            return Err(Refused::new("several_calls", "a question about several calls cannot be edited as one"));
        };
        let Some(&at) = question.calls[index].jobs.first() else { return Ok(()) };
        let call = self.steps[&at.step].call(at.job as usize).clone();
        let (Some(tool), Some(frozen)) = (call.tool.clone(), self.frozen(at)) else { return Ok(()) };
        let mut edited = frozen.params(&call);
        let mut whole = (*frozen.call).clone();
        for (name, value) in params {
            if name.starts_with('_') {
                return Err(Refused::new("bad_edit", format!("`{name}` is not a parameter")));
            }
            whole[&name] = value.clone();
            edited[&name] = value;
        }
        if let Some(fault) = faults_of(tool.breaches(&edited)).into_iter().next() {
            return Err(Refused::new("bad_edit", fault.words()));
        }
        let by_person = |_: Option<&str>| Origins::of(Origin::User);
        if let Verdict::Refuse { reason, .. } =
            self.settings.policy.verdict(&call, &tool, &edited, self.settings.mode, &by_person)
        {
            return Err(Refused::new("bad_edit", reason));
        }
        let edited = Frozen { call: Arc::new(whole), edited: Some(edited), ..(*frozen).clone() };
        let hash = self.hash_of(&call, &edited);
        let question = self.questions.get_mut(id).expect("looked up by the caller");
        question.calls[index].call = edited.call.clone();
        question.calls[index].hash = hash;
        let step = self.steps.get_mut(&at.step).expect("the job waits");
        step.jobs[at.job as usize].frozen = Some(Arc::new(edited));
        self.approve(id, &[index], by);
        Ok(())
    }

    /// One job runs for both.
    fn join(&mut self, at: JobRef, primary: JobRef) {
        self.set_status(at, Status::Waiting);
        self.questions.joined.entry(primary).or_default().push(at);
    }

    /// Whoever joined a job ends as it did; what a person approved and got is remembered.
    pub(super) fn close_joined(&mut self, at: JobRef, status: Status) {
        let granted = self.questions.granted.remove(&at);
        // The same call may have been granted anew in the meantime.
        if let Some(hash) = granted.filter(|hash| self.questions.approved.get(hash) == Some(&Approved::Running(at))) {
            match status {
                Status::Done => self.questions.approved.insert(hash, Approved::Done),
                // A yes is used up: to try again, a person is asked again.
                _ => self.questions.approved.remove(&hash),
            };
        }
        for other in self.questions.joined.remove(&at).unwrap_or_default() {
            self.close(other, status);
        }
    }

    /// What a person says sets a turn at rest to work again.
    pub(super) fn reopen(&mut self) {
        if let Phase::Rested(ends) = self.turn.phase {
            if ends == Ends::Limit {
                // The limit was for the agent; what a person lets run, runs.
                self.turn.calls = 0;
            }
            self.turn.phase = Phase::Working;
        }
    }

    /// Questions that nobody answered in time.
    pub(super) fn expire(&mut self) {
        let late: Vec<String> = self
            .questions
            .open()
            .filter(|question| question.expires_at <= self.now)
            .map(|question| question.id.clone())
            .collect();
        for id in late {
            match self.questions.get(&id).map(|question| question.about) {
                Some(About::InDoubt) => {
                    let error = CallError::new("in_doubt", "nobody said in time whether it happened");
                    self.settle_doubt(&id, "nobody", Some(Outcome::Error(error)));
                }
                Some(About::Input) => {
                    self.questions.decided(&id, QuestionStatus::Expired, self.now, "nobody", None);
                    self.reopen();
                }
                _ => {
                    let open: Vec<usize> = self.questions.get(&id).into_iter().flat_map(Question::open_calls).collect();
                    self.deny(&id, &open, "nobody answered in time", "nobody");
                }
            }
            if let Some(question) = self.questions.get_mut(&id) {
                question.status = QuestionStatus::Expired;
            }
        }
        let children: Vec<String> = self.children().map(|(id, _)| id).collect();
        for id in children {
            self.tell_child(&id, Input::Tick);
        }
    }
}
