//! A turn: requests to the model, what it answers, and how the turn comes to rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::input::{Answer, CallError, CallReport, Ends, Reply, Solution, Spent, Task};
use super::job::{Origin, Status, Step};
use super::policy::Verdict;
use super::question::Question;
use super::settings::{Approval, FollowUp, Mode, Settings};
use super::{Refused, Session};
use crate::context::Context;
use crate::fault::{Fault, Rule};
use crate::message::{Data, Message, Plan, PlanMode, Role};
use crate::origin::{Origin as Source, Origins};
use crate::plan;
use crate::tool::Effect;

/// What the turn is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Nothing yet.
    New,
    /// The model has been asked; the request's number.
    Asking(u64),
    /// Calls are at work.
    Working,
    /// It came to rest.
    Rested(Ends),
}

/// From what was asked to what came of it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) phase: Phase,
    /// Whether a model is asked for calls and output at all.
    pub(super) asks_model: bool,
    /// Whether it is asked once a person has decided: the turn was begun by what came along from elsewhere.
    #[serde(default)]
    pub(super) asks_when_decided: bool,
    requests: u32,
    pub(super) calls: u32,
    pub(super) tokens: u64,
    /// What the model took altogether, delegates and thoughts included; limits look at the turn's own.
    pub(super) spent: Spent,
    repairs_left: u32,
    /// The last answer that was out of format, and what was wrong with it.
    pub(super) out_of_format: Option<(String, String)>,
    /// Whether something was read, or went wrong, that the model has not been shown yet.
    pub(super) unseen: bool,
    /// Whether the latest solution breaks a rule, so that the model has something to mend.
    pub(super) faulty: bool,
    /// The result, held back while something waits for a person.
    output: Value,
    pub(super) said: Vec<String>,
    /// The name of the end, where a graph of steps came to one.
    pub(super) named_end: Option<String>,
    #[serde(with = "super::checkpoint::reports")]
    pub(super) ended_calls: Vec<CallReport>,
    /// The same as they were proposed, for a planner that does not see what is not trusted.
    #[serde(with = "super::checkpoint::reports", default)]
    pub(super) ended_plainly: Vec<CallReport>,
    /// Where the values in those calls come from.
    ended_origins: Origins,
    /// How many of those calls had ended at the latest request: the model has been shown them.
    #[serde(default)]
    shown_calls: usize,
    /// Calls of earlier turns that came to nothing when the model was no longer asked: denied, lapsed, failed.
    #[serde(default, with = "super::checkpoint::reports")]
    pub(super) untold: Vec<CallReport>,
    /// How often in a row a call failed in the same way.
    failures: BTreeMap<String, (String, u32)>,
    /// Why it came to rest, where that needs a reason.
    reason: Option<CallError>,
    /// Why the turn must end.
    stop: Option<(Ends, CallError)>,
    /// How it has ended, where only the user's words begin anew: what people still decide changes nothing in that.
    over: Option<(Ends, CallError)>,
    /// Errors that belong to no call under way.
    errors: Vec<Value>,
}

/// What the user said.
pub(super) struct Words {
    pub(super) text: String,
    /// The question that was waiting, and the only one, when it was said.
    only_question: Option<String>,
}

/// Calls of earlier turns that the model is told of.
const MOST_UNTOLD: usize = 10;

/// The same call failing the same way this often ends the turn.
const SAME_FAILURES: u32 = 3;

impl Turn {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            phase: Phase::New,
            asks_model: true,
            asks_when_decided: false,
            requests: 0,
            calls: 0,
            tokens: 0,
            spent: Spent::default(),
            repairs_left: settings.repairs,
            out_of_format: None,
            unseen: false,
            faulty: false,
            output: Value::Null,
            said: Vec::new(),
            named_end: None,
            ended_calls: Vec::new(),
            ended_plainly: Vec::new(),
            ended_origins: Origins::default(),
            shown_calls: 0,
            untold: Vec::new(),
            failures: BTreeMap::new(),
            reason: None,
            stop: None,
            over: None,
            errors: Vec::new(),
        }
    }

    /// What the model has still to be told of this turn.
    fn take_untold(&mut self) -> Vec<CallReport> {
        let came_to_nothing = |report: &&CallReport| ["denied", "failed"].contains(&report.status);
        let mut untold = std::mem::take(&mut self.untold);
        let since = self.ended_calls.get(self.shown_calls..).unwrap_or_default();
        untold.extend(since.iter().filter(came_to_nothing).cloned());
        untold.drain(..untold.len().saturating_sub(MOST_UNTOLD));
        untold
    }

    pub(super) fn output(&self) -> &Value {
        &self.output
    }

    pub(super) fn set_output(&mut self, output: Value) {
        self.output = output;
    }

    pub(super) fn take_output(&mut self) -> Value {
        std::mem::take(&mut self.output)
    }

    pub(super) fn stops(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Something the model has to know with the next request.
    pub(super) fn tell_model(&mut self, error: Value) {
        self.errors.push(error);
    }

    pub(super) fn must_end(&mut self, ends: Ends, code: &str, message: impl Into<String>) {
        self.stop.get_or_insert_with(|| (ends, CallError::new(code, message)));
    }

    pub(super) fn snapshot(&self) -> Value {
        json!({
            "phase": format!("{:?}", self.phase),
            "requests": self.requests,
            "calls": self.calls,
            "tokens": self.tokens,
            "spent": self.spent,
            "output": self.output,
            "said": self.said,
            "endedCalls": self.ended_calls,
        })
    }
}

impl Session {
    /// Begins a turn, with the user's words if there are some.
    pub(super) fn begin(&mut self, words: Option<Words>) {
        if !self.persistent && self.turn.phase == Phase::Rested(Ends::Output) {
            self.forget();
        }
        // What the mode keeps back stays planned until there is another plan.
        self.desk.adopted_plan = self.kept_back();
        let untold = self.turn.take_untold();
        let origins = std::mem::take(&mut self.turn.ended_origins);
        self.turn = Turn::new(&self.settings);
        if !untold.is_empty() {
            self.turn.untold = untold;
            self.turn.ended_origins = origins;
        }
        if let Some(words) = words {
            self.remember_words(Role::User, &words.text);
            self.note_goal(&words.text);
            self.answerable = words.only_question;
        }
        if self.walk.is_some() {
            return self.begin_walk();
        }
        self.request();
    }

    /// A one-off request leaves its words behind, and nothing else.
    fn forget(&mut self) {
        let base = self.base;
        let kept = |(index, message): &(usize, &Message)| *index < base || matches!(message, Message::Text(_));
        let (places, messages): (Vec<usize>, Vec<Message>) =
            self.context.messages().iter().enumerate().filter(kept).map(|(at, message)| (at, message.clone())).unzip();
        let mut context = Context::new();
        if context.append(messages).is_ok() {
            self.context = context;
            // What is dated by the length of the context keeps its place among the words.
            self.questions.move_dates(|length| places.partition_point(|at| *at < length));
        }
    }

    /// Words of the user: at once if nothing is at work, else when the turn has come to rest.
    pub(super) fn hear(&mut self, text: String) {
        if self.is_answer(&text) {
            return;
        }
        let words = Words { text, only_question: self.only_question() };
        match self.turn.phase {
            Phase::New | Phase::Rested(_) => self.begin(Some(words)),
            Phase::Asking(_) | Phase::Working => self.pending_words.push_back(words),
        }
    }

    /// A turn is begun when the one before it has come to rest.
    pub(super) fn must_not_be_at_work(&self) -> Result<(), Refused> {
        match self.turn.phase {
            Phase::New | Phase::Rested(_) => Ok(()),
            Phase::Asking(_) | Phase::Working => Err(Refused::new("at_work", "the session is at work already")),
        }
    }

    /// Runs the plan in the context as it is.
    pub(super) fn run_plan(&mut self) -> Result<(), Refused> {
        self.must_not_be_at_work()?;
        let Some(plan) = self.context.plan().cloned() else {
            return Err(Refused::new("no_plan", "the context has no plan to run"));
        };
        self.turn = Turn::new(&self.settings);
        self.turn.asks_model = false;
        self.turn.phase = Phase::Working;
        let origin = Origin::Approved { by_person: true, before_reading: self.shown.is_trusted() };
        self.start_step(&plan.calls, origin, plan::Manner::default());
        Ok(())
    }

    pub(super) fn request(&mut self) {
        let limit = |text: String| CallError::new("limit", text);
        if self.turn.requests >= self.settings.max_requests {
            let text = format!("{} requests to the model in one turn", self.settings.max_requests);
            return self.rest(Ends::Limit, Some(limit(text)));
        }
        if let Some(most) = self.settings.max_tokens.filter(|most| self.turn.tokens >= *most) {
            return self.rest(Ends::Limit, Some(limit(format!("{most} tokens in one turn"))));
        }
        self.forget_early();
        self.turn.requests += 1;
        self.turn.unseen = false;
        self.turn.shown_calls = self.turn.ended_calls.len();
        self.shown.join(&self.in_sight(self.in_view()));
        let id = self.number_request();
        self.turn.phase = Phase::Asking(id);
        self.tasks.push_back(Task::AskModel { id: id.to_string() });
    }

    /// The origins of everything that a request shows: memory, the calls with their references resolved, and what
    /// delegates ask.
    fn in_view(&self) -> Origins {
        let mut all = self.context.all_origins();
        all.join(&self.turn.ended_origins);
        for job in self.steps.values().flat_map(|step| &step.jobs) {
            all.join(&job.origins);
            if let Some(child) = &job.child {
                all.join(&child.shown);
                all.join(&child.in_view());
            }
        }
        all
    }

    pub(super) fn number_request(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request
    }

    pub(super) fn take_answer(&mut self, id: &str, answer: Answer) {
        if let Some((job, rest)) = id.split_once('/') {
            return self.tell_child(job, super::Input::Answer { id: rest.to_owned(), answer });
        }
        let Ok(number) = id.parse::<u64>() else { return };
        if let Some(at) = self.sub_requests.remove(&number) {
            return self.take_sub_answer(at, answer);
        }
        if self.turn.phase != Phase::Asking(number) {
            return;
        }
        self.turn.phase = Phase::Working;
        match answer {
            Answer::Solution { solution, tokens } => {
                self.turn.tokens += tokens;
                self.turn.out_of_format = None;
                self.solve(solution);
            }
            Answer::OutOfFormat { text, error, tokens } => {
                self.turn.tokens += tokens;
                if self.turn.repairs_left > 0 {
                    self.turn.repairs_left -= 1;
                    self.turn.out_of_format = Some((text, error));
                    self.request();
                } else {
                    self.turn.must_end(Ends::Degraded, "out_of_format", error);
                }
            }
            Answer::Failed { code, message } => self.turn.must_end(Ends::Degraded, &code, message),
        }
    }

    fn solve(&mut self, solution: Solution) {
        if let Some(words) = solution.say.clone().filter(|words| !words.trim().is_empty()) {
            self.remember_words(Role::Assistant, &words);
            self.turn.said.push(words.clone());
            self.tasks.push_back(Task::Say(words));
        }
        self.turn.faulty = false;
        self.turn.untold.clear();
        self.desk.adopted_plan.clear();
        let manner = solution.manner();
        self.turn.output = solution.output;
        let calls = self.offered_only(solution.calls);
        if calls.is_empty() {
            return;
        }
        let calls: Vec<Arc<Value>> = calls.into_iter().map(Arc::new).collect();
        let mode = self.plan_mode();
        // What is no call at all is an error of the step, and no part of a plan that can be read again.
        let readable = calls.iter().filter(|call| call.is_object()).cloned().collect();
        self.remember(Message::Plan(Plan { calls: readable, mode }));
        match mode {
            PlanMode::Eager => {
                let origin = Origin::Eager { first: self.turn.requests == 1 };
                self.start_step(&calls, origin, manner);
            }
            PlanMode::Lazy => self.offer(calls, manner),
        }
    }

    /// A lazy plan is checked and offered to a person as a whole; a faulty one goes back to the model.
    fn offer(&mut self, calls: Vec<Arc<Value>>, manner: plan::Manner) {
        let check = plan::check_in_manner(&calls, PlanMode::Lazy, manner, &self.context);
        if !check.is_valid() {
            self.turn.faulty = true;
            for fault in &check.errors {
                let call = fault.call.map_or(Value::Null, |index| (*calls[index]).clone());
                self.turn.errors.push(error_data(call, fault_data(fault)));
            }
            let faults: Vec<_> = check.errors.iter().map(ToString::to_string).collect();
            self.note_failure(&text_of(&calls), &faults.join("\n"));
            return;
        }
        if self.settings.mode == Mode::Shadow {
            return;
        }
        let shown = |_: Option<&str>| self.shown.clone();
        let is_steered = |tool: &crate::Tool| tool.effect != Effect::Read || tool.target.is_some();
        let needs_person = check.calls.iter().any(|call| {
            let outline = call.params.iter().map(|(name, value)| (name.clone(), value.outline())).collect();
            let latent = call.tool.as_ref().is_some_and(|tool| self.is_latent(tool));
            let verdict = |tool: &crate::Tool| {
                self.settings.policy.verdict(call, tool, &Value::Object(outline), self.settings.mode, &shown)
            };
            let doubted = !self.shown.is_trusted() && call.tool.as_deref().is_some_and(is_steered);
            !latent && (doubted || call.tool.as_deref().map(verdict) != Some(Verdict::Allow))
        });
        // What was planned before reading is steered by nobody, and a call that needs a person asks by itself, when its
        // values are there to be seen: one question, not two.
        let asks_itself = self.plans_before_reading() && self.shown.is_trusted();
        if self.settings.approval == Approval::Checked && (asks_itself || !needs_person) {
            let origin = Origin::Approved { by_person: false, before_reading: self.shown.is_trusted() };
            self.start_step(&calls, origin, manner);
        } else {
            self.ask_about_plan(calls, manner);
        }
    }

    /// Sets the calls of a solution or an approved plan to work.
    pub(super) fn start_step(&mut self, calls: &[Arc<Value>], origin: Origin, manner: plan::Manner) {
        let literal = match origin {
            Origin::Approved { by_person: true, .. } => Origins::of(Source::User),
            Origin::Graph => Origins::of(Source::Author),
            _ => self.shown.clone().joined(&Origins::of(Source::Model)),
        };
        let (mut step, faults) = Step::new(calls, manner, literal, &self.context);
        if let Origin::Approved { before_reading, .. } = origin {
            step.before_reading = before_reading;
        }
        let id = self.next_step;
        self.next_step += 1;
        let count = step.jobs.len();
        self.steps.insert(id, step);
        let at = |job: usize| super::JobRef { step: id, job: u32::try_from(job).unwrap_or(u32::MAX) };
        if let Some(cycle) = faults.iter().find(|fault| fault.rule == Rule::Plan2) {
            let call = cycle.call.map_or(Value::Null, |index| (*calls[index]).clone());
            self.turn.errors.push(error_data(call, fault_data(cycle)));
            self.note_failure(&text_of(calls), &cycle.text);
            self.turn.faulty = true;
            for job in 0..count {
                self.close(at(job), Status::Skipped);
            }
            return;
        }
        let mut first_faults = BTreeMap::new();
        for fault in faults {
            if let Some(call) = fault.call {
                first_faults.entry(call).or_insert(fault);
            }
        }
        for job in 0..count {
            let step = &self.steps[&id];
            let call = step.jobs[job].call;
            // A fault of the template is one fault, however many instances it was meant for.
            let is_first = job == 0 || step.jobs[job - 1].call != call;
            let of_template = first_faults.get(&call).cloned();
            match of_template.or_else(|| self.latent_fault(&step.calls[call], origin)) {
                Some(fault) if is_first => self.fail_by(at(job), &fault),
                Some(_) => self.close(at(job), Status::Failed),
                None => match step.unfed(job, &self.context) {
                    Some(fault) => self.fail_by(at(job), &fault),
                    None => self.dirty.push_back(at(job)),
                },
            }
        }
    }

    /// What is wrong with a call that the model carries out itself.
    fn latent_fault(&self, call: &crate::Call, origin: Origin) -> Option<Fault> {
        // Where the calls were approved first, the model is asked for its results when their turn comes.
        let Origin::Eager { first } = origin else { return None };
        let tool = call.tool.as_deref()?;
        let brings = call.output.as_ref().is_some_and(|output| !output.is_null() || output_may_be_null(tool));
        let has_choice = call.output_path.as_ref().is_some_and(|path| path.alternatives.len() > 1);
        if call.delegate.is_some() || self.activity_of(tool, call.activity.as_deref()).is_some() {
            return None;
        }
        if !brings {
            let text = format!("`{}` is carried out by the model itself: give its result in `_output`", tool.name);
            return Some(Fault::new(Rule::Call1, text));
        }
        let text = "choose one path: with its result at hand, the call has no alternatives";
        (first && has_choice).then(|| Fault::new(Rule::Plan8, text).at("_outputPath"))
    }

    /// Counts failures of the same kind; the third in a row ends the turn.
    pub(super) fn note_failure(&mut self, call: &str, error: &str) {
        let (last, count) = self.turn.failures.entry(call.to_owned()).or_default();
        *count = if last == error { *count + 1 } else { 1 };
        error.clone_into(last);
        if *count >= SAME_FAILURES {
            let text = format!("the same call failed {SAME_FAILURES} times in the same way: {error}");
            self.turn.must_end(Ends::Limit, "same_failure", text);
        }
    }

    pub(super) fn note_success(&mut self, call: &str) {
        if !self.turn.failures.is_empty() {
            self.turn.failures.remove(call);
        }
    }

    pub(super) fn stop(&mut self) {
        match self.turn.phase {
            Phase::Asking(_) => {
                self.turn.phase = Phase::Working;
                self.turn.must_end(Ends::Stopped, "stopped", "stopped by a person");
            }
            Phase::Working => self.turn.must_end(Ends::Stopped, "stopped", "stopped by a person"),
            Phase::New | Phase::Rested(_) => {}
        }
        let children: Vec<String> = self.children().map(|(id, _)| id).collect();
        for id in children {
            self.tell_child(&id, super::Input::Stop);
        }
    }

    /// Lets everything move that can, and looks whether the turn has come to rest.
    pub(super) fn go_on(&mut self) {
        loop {
            self.advance();
            if let Phase::Rested(_) = self.turn.phase
                && let Some(words) = self.pending_words.pop_front()
            {
                self.begin(Some(words));
            } else if self.turn.phase != Phase::Working || self.is_busy() {
                return;
            } else if !self.ask_about_groups() {
                self.settle();
            }
        }
    }

    /// Whether no turn is at work: none has begun, or the latest has come to rest.
    pub fn is_at_rest(&self) -> bool {
        matches!(self.turn.phase, Phase::New | Phase::Rested(_))
    }

    /// Whether the turn waits for the model's answer.
    pub fn is_asking(&self) -> bool {
        matches!(self.turn.phase, Phase::Asking(_))
    }

    /// Whether it is at rest until a person says something.
    pub(super) fn is_waiting(&self) -> bool {
        self.turn.phase == Phase::Rested(Ends::Waiting)
    }

    fn is_busy(&self) -> bool {
        let waits_for_room = !self.ready.is_empty() && !self.turn.stops();
        // A delegate that nobody waits for is waited for all the same while it still asks something.
        let asks = |child: &Session| !child.is_waiting() && child.questions().iter().any(Question::is_open);
        waits_for_room
            || self.running > self.forgotten + self.resting
            || (self.forgotten > 0 && self.children().any(|(_, child)| asks(child)))
    }

    /// Nothing moves any more: what now?
    fn settle(&mut self) {
        if let Some((ends, reason)) = self.turn.stop.take() {
            self.drop_open_jobs();
            self.report_errors();
            self.turn.over = Some((ends, reason.clone()));
            return self.rest(ends, Some(reason));
        }
        self.report_errors();
        if self.must_follow_up() {
            return self.request();
        }
        if self.waits() {
            return self.rest(Ends::Waiting, None);
        }
        if let Some((ends, reason)) = self.turn.over.clone() {
            return self.rest(ends, Some(reason));
        }
        if self.walk.is_some() {
            return self.leave();
        }
        // In the mode `shadow` one solution is enough, if the model has nothing to mend in it.
        let is_enough = self.settings.mode == Mode::Shadow && !self.turn.faulty;
        if !self.turn.asks_model || (is_enough && self.turn.output.is_null()) {
            return self.rest(Ends::Output, None);
        }
        if self.turn.output.is_null() {
            return match self.settings.follow_up {
                FollowUp::Always => self.request(),
                FollowUp::AfterReads | FollowUp::Never => self.rest(Ends::Output, None),
            };
        }
        match self.fault_of_output() {
            None => self.rest(Ends::Output, None),
            Some(fault) => {
                let output = std::mem::take(&mut self.turn.output);
                self.note_failure(&output.to_string(), &fault.text);
                self.turn.faulty = true;
                self.turn.errors.push(error_data(json!({"output": output}), fault_data(&fault)));
                // Goes round once more: the errors are appended, and the model is asked again.
            }
        }
    }

    /// What is wrong with the result.
    fn fault_of_output(&self) -> Option<Fault> {
        let output = match self.output_for_people() {
            Ok(output) => output,
            Err(fault) => return Some(fault),
        };
        let breach = crate::schema::breaches(self.output_validator.as_ref()?, &output).into_iter().next()?;
        // What a planner has not been shown is not told to it as a fault either.
        let what = if self.output_origins().is_trusted() { breach.text } else { format!("`{}`", breach.keyword) };
        Some(Fault::new(Rule::Loop1, format!("the output breaks its schema: {what}")))
    }

    /// Whether the model has to see what its calls brought, whatever still waits for a person.
    fn must_follow_up(&self) -> bool {
        let turn = &self.turn;
        let is_at_it = turn.asks_model && turn.over.is_none() && self.walk.is_none();
        is_at_it && self.settings.follow_up == FollowUp::AfterReads && turn.unseen && turn.output.is_null()
    }

    /// Whether a question waits for a person, here or in a delegate.
    fn waits(&self) -> bool {
        self.questions.open().next().is_some() || self.resting > 0
    }

    pub(super) fn rest(&mut self, ends: Ends, reason: Option<CallError>) {
        self.turn.phase = Phase::Rested(ends);
        self.forget_early();
        self.turn.reason = reason;
        let is_said = self.turn.output.as_str().is_some_and(|words| self.turn.said.iter().any(|said| said == words));
        if ends == Ends::Waiting && is_said && self.settings.follow_up != FollowUp::Always {
            // The words have reached the user: nothing is held back that a decision would have to let go.
            self.turn.output = Value::Null;
        }
        let output = if ends == Ends::Output { self.turn.output.clone() } else { Value::Null };
        if let Value::String(words) = &output
            && self.depth == 0
            && !self.turn.said.contains(words)
        {
            self.remember_words(Role::Assistant, &words.clone());
        }
        if let Some(reply) = self.reply() {
            self.tasks.push_back(Task::Rest(Box::new(reply)));
        }
    }

    /// How the latest turn came to rest; none before the first one and while one is at work.
    pub fn reply(&self) -> Option<Reply> {
        let Phase::Rested(ends) = self.turn.phase else { return None };
        let waiting = self.questions().into_iter().filter(Question::is_open).map(|question| question.id);
        Some(Reply {
            ends,
            output: if ends == Ends::Output { self.output_for_people().unwrap_or_default() } else { Value::Null },
            said: self.turn.said.clone(),
            calls: self.calls(),
            waiting: waiting.collect(),
            reason: self.turn.reason.clone(),
            end: self.turn.named_end.clone(),
            at: self.now,
        })
    }

    /// Errors become messages when the step has come to rest, so that the next request can correct itself.
    fn report_errors(&mut self) {
        let own = std::mem::take(&mut self.turn.errors).into_iter().map(|error| (error, Origins::of(Source::Model)));
        let mut errors: Vec<(Value, Origins)> = own.collect();
        for step in self.steps.values_mut() {
            errors.append(&mut step.errors);
        }
        for (error, origins) in errors {
            // All of them will be shown, though only the latest is what `†error` reads.
            self.shown.join(&self.in_sight(origins.clone()));
            let data = Data { origins: Some(origins), ..Data::plain("error", error) };
            self.remember(Message::Data(Box::new(data)));
        }
        let ended: Vec<u32> =
            self.steps.iter().filter(|(_, step)| step.open == 0 && !step.has_running()).map(|(id, _)| *id).collect();
        for id in ended {
            if let Some(step) = self.steps.remove(&id) {
                step.jobs.iter().for_each(|job| self.turn.ended_origins.join(&job.origins));
                if self.plans_before_reading() {
                    self.turn.ended_plainly.extend(step.report_plainly(id));
                }
                self.turn.ended_calls.extend(step.report(id));
            }
        }
    }
}

/// Calls as they would stand in a plan, to know the same ones again.
fn text_of(calls: &[Arc<Value>]) -> String {
    calls.iter().map(|call| (**call).clone()).collect::<Value>().to_string()
}

fn output_may_be_null(tool: &crate::Tool) -> bool {
    tool.output().is_some_and(crate::schema::admits_null)
}

/// The payload of an error message.
pub(super) fn error_data(call: Value, error: Value) -> Value {
    json!({"call": call, "error": error})
}

pub(super) fn fault_data(fault: &Fault) -> Value {
    json!({"rule": fault.rule.name(), "message": fault.words()})
}
