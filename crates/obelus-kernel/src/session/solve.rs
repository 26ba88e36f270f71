//! What the model answers, set to work.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Session;
use super::input::{Answer, Ends, Solution, Task};
use super::job::{Origin, Status, Step};
use super::policy::Verdict;
use super::question::identity;
use super::settings::{Approval, Mode};
use super::turn::{Phase, error_data, fault_data};
use crate::fault::{Fault, Rule};
use crate::message::{Message, Plan, PlanMode, Role};
use crate::origin::{Origin as Source, Origins};
use crate::plan;
use crate::schema::without_nulls;
use crate::tool::Effect;

impl Session {
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
        self.projection.adopted_plan.clear();
        let manner = solution.manner();
        self.turn.output = match self.output_schema() {
            Some(schema) => without_nulls(&solution.output, schema).into_owned(),
            None => solution.output,
        };
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
            let outline = call.params.iter().map(|(name, value)| (name.to_string(), value.outline())).collect();
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
            Origin::Graph => self.proposer(),
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
        self.context.expect(count);
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
}

/// Calls as they would stand in a plan, to know the same ones again.
fn text_of(calls: &[Arc<Value>]) -> String {
    calls.iter().map(|call| identity(call, |_| false)).collect::<Vec<_>>().join("\n")
}

fn output_may_be_null(tool: &crate::Tool) -> bool {
    tool.output().is_some_and(crate::schema::admits_null)
}
