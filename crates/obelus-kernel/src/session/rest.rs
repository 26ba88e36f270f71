//! How a turn goes on, and how it comes to rest.

use serde_json::{Value, json};

use super::Session;
use super::input::{CallError, Ends, Reply, Task};
use super::question::Question;
use super::settings::{FollowUp, Mode};
use super::turn::{Phase, error_data, fault_data};
use crate::compose;
use crate::fault::{Fault, Rule};
use crate::message::{Data, Message, Role};
use crate::origin::{Origin as Source, Origins};

impl Session {
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
                // Where it has failed in the same way too often, the turn ends instead.
                if self.turn.stop.is_none() {
                    self.report_errors();
                    self.request();
                }
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

    pub(super) fn rest(&mut self, ends: Ends, mut reason: Option<CallError>) {
        self.turn.phase = Phase::Rested(ends);
        self.forget_early();
        // It is large, and sessions may be at rest for long.
        self.composed = compose::Latest::default();
        if self.walk.is_some() && ends != Ends::Waiting {
            self.come_to_end(ends, &mut reason);
            self.forget_plans();
        }
        self.turn.reason = reason;
        let is_said = self.turn.output.as_str().is_some_and(|words| self.turn.said.iter().any(|said| said == words));
        if ends == Ends::Waiting && is_said && self.settings.follow_up != FollowUp::Always {
            // The words have reached the user: nothing is held back that a decision would have to let go.
            self.turn.output = Value::Null;
        }
        let output = if self.gives_output(ends) { self.turn.output.clone() } else { Value::Null };
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

    /// Whether a turn that ended so has a result. A limit and a stop have one where the graph has words for them.
    fn gives_output(&self, ends: Ends) -> bool {
        match ends {
            Ends::Output => true,
            Ends::Limit | Ends::Stopped => self.turn.named_end.is_some(),
            Ends::Waiting | Ends::Degraded => false,
        }
    }

    /// How the latest turn came to rest; none before the first one and while one is at work.
    pub fn reply(&self) -> Option<Reply> {
        let Phase::Rested(ends) = self.turn.phase else { return None };
        let waiting = self.questions().into_iter().filter(Question::is_open).map(|question| question.id);
        Some(Reply {
            ends,
            output: if self.gives_output(ends) { self.output_for_people().unwrap_or_default() } else { Value::Null },
            said: self.turn.said.clone(),
            calls: self.calls(),
            waiting: waiting.collect(),
            reason: self.turn.reason.clone(),
            end: self.turn.named_end.clone(),
            at: self.now,
        })
    }

    /// Errors become messages when the step has come to rest, so that the next request can correct itself.
    pub(super) fn report_errors(&mut self) {
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
