//! Processes the model's answers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ids::JobRef;
use super::input::{Answer, CallError};
use super::output::{Task, TurnEnd};
use super::scheduler::{ActiveStep, Status, Trigger};
use super::settings::{Approval, FollowUp};
use super::{Session, error_data};
use crate::call::Call;
use crate::call::identity::identity;
use crate::context::Context;
use crate::fault::{Fault, Rule};
use crate::message::{Message, Plan, PlanMode, Role};
use crate::origin::{Origin, Origins};
use crate::policy::{Place, Proposal};
use crate::schema::without_nulls;
use crate::tool::Tool;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::control_field::ControlField;
use obelus_notebook::dialect::{Solution, chosen_output};
use obelus_notebook::plan::{self, Check, StepOptions};

impl Session {
    /// Takes the answer to a request of the turn or of a model call. Others are ignored.
    pub(super) fn take_answer(&mut self, number: u64, answer: Answer) {
        if let Some(at) = self.scheduler.take_model_call(number) {
            return self.take_model_call_answer(at, answer);
        }
        if !self.turn.take_answer(number) {
            return;
        }
        match answer {
            Answer::Solution { solution, tokens } => {
                self.turn.note_solution(tokens);
                self.solve(solution);
            }
            Answer::OutOfFormat { text, error, tokens } => {
                if self.turn.note_out_of_format(text, error, tokens) {
                    self.request();
                }
            }
            Answer::Failed { code, message } => self.turn.must_end(TurnEnd::Degraded, code, message),
        }
    }

    /// The model's answer to the request of a model call.
    fn take_model_call_answer(&mut self, at: JobRef, answer: Answer) {
        if let Answer::Solution { tokens, .. } | Answer::OutOfFormat { tokens, .. } = &answer {
            self.turn.count_tokens(*tokens);
        }
        match answer {
            Answer::Solution { solution, .. } => match chosen_output(self.scheduler.call(at), solution) {
                Ok((output, chosen)) => self.finish_model_call(at, output, chosen.as_deref()),
                Err(text) => self.fail_by(at, &Fault::new(Rule::Plan9, text)),
            },
            Answer::OutOfFormat { error, .. } => self.fail_by(at, &Fault::new(Rule::Plan9, error)),
            Answer::Failed { code, message } => {
                self.turn.must_end(TurnEnd::Degraded, code.clone(), message.clone());
                self.fail_with(at, &CallError::new(code, message));
            }
        }
    }

    fn solve(&mut self, solution: Solution) {
        self.transcribe_answer(&solution);
        if let Some(text) = solution.say.clone().filter(|text| !text.trim().is_empty()) {
            self.add_message(Role::Assistant, &text);
            self.turn.note_agent_message(&text);
            self.tasks.push(Task::Say(text));
        }
        let options = solution.step_options();
        // A result that came with calls remains until there is another one.
        if !(solution.output.is_null() && self.follow_up() == FollowUp::UntilDone) {
            let output = match self.output_schema() {
                Some(schema) => without_nulls(&solution.output, schema).into_owned(),
                None => solution.output,
            };
            self.turn.set_output(output, !solution.calls.is_empty());
        }
        let calls = self.offered_only(solution.calls);
        if calls.is_empty() {
            return;
        }
        // A new plan replaces the one that the mode held back; unreadable calls do not count.
        let is_readable = |call: &CallJson| Call::read(call, self.memory.context()).1.is_empty();
        self.projection.drop_plan_if(|| calls.iter().any(is_readable));
        let mode = self.plan_mode();
        // An entry that is not a call is an error of the step, and not part of the plan.
        let readable = calls.iter().filter(|call| call.is_object()).cloned().collect();
        self.memory.remember(Message::Plan(Plan { calls: readable, mode }));
        self.transcript.note_plan();
        match mode {
            PlanMode::Eager => {
                let trigger = Trigger::Eager { first: self.turn.requests() == 1 };
                self.start_step(&calls, trigger, options);
            }
            PlanMode::Lazy => self.offer_plan(calls, options),
        }
    }

    /// Checks a lazy plan and asks a person about it as a whole; a faulty one goes back to the model.
    fn offer_plan(&mut self, calls: Vec<CallJson>, options: StepOptions) {
        let check = plan::check_with_options(&calls, PlanMode::Lazy, options, self.context());
        if !check.is_valid() {
            self.turn.note_fault();
            for fault in &check.errors {
                let call = fault.call.map_or(&Value::Null, |index| &*calls[index]);
                self.transcript.add_error(error_data(call, &fault.into()));
            }
            return self.note_faults(&calls, &check.errors);
        }
        if !self.settings.mode.executes() {
            return self.projection.hold_back_plan(&calls, self.memory.context());
        }
        self.catch_up_grounds_of_shown();
        let before_reading = self.transcript.shown().is_trusted();
        // A plan made before reading cannot be influenced, and a call that needs a person asks by itself when its
        // values are available: one question, not two.
        let asks_itself = self.settings.plans_before_reading() && before_reading;
        if self.settings.approval == Approval::Checked && (asks_itself || !self.needs_person(&check)) {
            self.start_step(&calls, Trigger::Approved { by_person: false, before_reading }, options);
        } else {
            self.ask_about_plan(calls, options);
        }
    }

    /// Whether a call of a checked plan would need a person.
    fn needs_person(&self, check: &Check) -> bool {
        let shown = self.transcript.shown();
        let needs = |call: &Call, tool: &Tool| {
            let provenance = self.provenance_of(call, None, shown);
            // The value of a reference is not known yet.
            let origins =
                |place: Place<'_>| if call.has_refs() { Some(shown.clone()) } else { provenance.of(call, place) };
            // Each call is judged again when it runs, with its values and the session's past.
            let verdict = self.gate().judge(&Proposal {
                grounding: provenance.grounding.as_ref(),
                ..Proposal::new(call, tool, &|| call.outline(), &origins, shown)
            });
            !verdict.is_allowed()
        };
        check.calls.iter().any(|call| match &call.tool {
            Some(tool) => !self.settings.runs_by_model(tool) && needs(call, tool),
            None => true,
        })
    }

    /// Starts the calls of a solution or an approved plan.
    pub(super) fn start_step(&mut self, calls: &[CallJson], trigger: Trigger, options: StepOptions) {
        self.transcript.note_start();
        let context = self.context();
        let literal = match trigger {
            Trigger::Approved { by_person: true, .. } => Origins::of(Origin::User),
            Trigger::Graph => self.graph.as_ref().map(|run| run.proposer(context)).unwrap_or_default(),
            _ => self.transcript.shown().clone().joined(&Origins::of(Origin::Model)),
        };
        let (step, faults) = ActiveStep::new(calls, options, trigger, literal, context);
        let number = self.scheduler.add(step);
        if let Some(cycle) = faults.iter().find(|fault| fault.rule == Rule::Plan2) {
            return self.refuse_step(number, calls, cycle);
        }
        let mut first_faults = BTreeMap::new();
        for fault in faults {
            if let Some(call) = fault.call {
                first_faults.entry(call).or_insert(fault);
            }
        }
        for at in self.scheduler.places(number) {
            self.begin_job(at, trigger, &first_faults);
        }
    }

    /// Counts the faulty calls of a plan that does not begin, each by itself, because the others may change between
    /// answers (LOOP-3).
    fn note_faults(&mut self, calls: &[CallJson], faults: &[Fault]) {
        let mut by_call: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for fault in faults {
            let name = match fault.call {
                Some(index) => identity_of(self.context(), &calls[index]),
                None => identity_of_all(self.context(), calls),
            };
            let fault = Fault { call: None, ..fault.clone() };
            by_call.entry(name).or_default().push(fault.to_string());
        }
        by_call.iter().for_each(|(name, faults)| self.turn.note_failure(name, &faults.join("\n")));
    }

    /// Refuses a whole step with a cycle.
    fn refuse_step(&mut self, number: u32, calls: &[CallJson], cycle: &Fault) {
        let call = cycle.call.map_or(&Value::Null, |index| &*calls[index]);
        self.transcript.add_error(error_data(call, &cycle.into()));
        let name = identity_of_all(self.context(), calls);
        self.turn.note_failure(&name, &cycle.text);
        self.turn.note_fault();
        for at in self.scheduler.places(number) {
            self.close(at, Status::Skipped);
        }
    }

    /// Begins a job of a new step: it is blocked until it is checked, unless its call is faulty.
    fn begin_job(&mut self, at: JobRef, trigger: Trigger, faults: &BTreeMap<usize, Fault>) {
        let step = self.scheduler.step_of(at);
        let call = step.jobs[at.index()].call;
        // A template's fault counts once, however many instances it has.
        let is_first = at.job == 0 || step.jobs[at.index() - 1].call != call;
        let of_template = faults.get(&call).cloned();
        match of_template.or_else(|| self.model_call_fault(step, at.index(), trigger)) {
            Some(fault) if is_first => self.fail_by(at, &fault),
            Some(_) => self.close(at, Status::Failed),
            None => match step.missing_input(at.index(), self.context()) {
                Some(fault) => self.fail_by(at, &fault),
                None => self.scheduler.recheck(at),
            },
        }
    }

    /// The fault of a model call, if any.
    fn model_call_fault(&self, step: &ActiveStep, job: usize, trigger: Trigger) -> Option<Fault> {
        // For approved calls, the model is asked for results when their turn comes.
        let Trigger::Eager { first } = trigger else { return None };
        let call = step.call(job);
        let tool = call.tool.as_deref()?;
        if !self.settings.is_model_call(call, tool) {
            return None;
        }
        // A result made before its input was read is not used; the model is asked later.
        if step.awaits_input(job, self.context()) {
            let text = "its input comes from another call: leave `_output` null, and you are asked when it is there";
            return call.has_output().then(|| Fault::new(Rule::Plan8, text).at("_output"));
        }
        if step.is_for_each(job) && step.jobs.iter().filter(|other| other.call == step.jobs[job].call).count() > 1 {
            let text = "one result is not the result of every instance: give a call with `_instance` for each";
            return call.has_output().then(|| Fault::new(Rule::Plan8, text).at("_output"));
        }
        if !call.has_output() {
            let text = format!("`{}` is carried out by the model itself: give its result in `_output`", tool.name);
            return Some(Fault::new(Rule::Call1, text));
        }
        let has_choice = call.output_path.as_ref().is_some_and(|path| path.alternatives.len() > 1);
        let text = "choose one path: with its result at hand, the call has no alternatives";
        (first && has_choice).then(|| Fault::new(Rule::Plan8, text).at("_outputPath"))
    }
}

/// The identity of a call, without control fields (CALL-1).
fn identity_of(context: &Context, call: &CallJson) -> String {
    let tool = call.tool().and_then(|name| context.tool(name));
    identity(call, |name| ControlField::is_in_call_of(tool.map(AsRef::as_ref), name))
}

/// The same for all calls of an answer.
fn identity_of_all(context: &Context, calls: &[CallJson]) -> String {
    calls.iter().map(|call| identity_of(context, call)).collect::<Vec<_>>().join("\n")
}
