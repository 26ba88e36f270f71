//! A turn from its beginning to its rest.

use serde_json::{Value, json};

use super::ids::{QuestionId, RequestNumber, Routed};
use super::inbox::{About, Question, SessionReason};
use super::input::{CallError, Input};
use super::output::{Reply, Task, TurnEnd};
use super::pending_messages::PendingMessage;
use super::refusals::RefusalCode as Code;
use super::scheduler::Trigger;
use super::settings::FollowUp;
use super::turn::Phase;
use super::{Refused, Session, error_data};
use crate::fault::{Fault, Rule};
use crate::message::{Data, Message, Role};
use crate::origin::{Origin, Origins};
use obelus_notebook::plan::StepOptions;

impl Session {
    /// Begins a turn, with the user's message if there is one.
    pub(super) fn begin(&mut self, mut message: Option<PendingMessage>) {
        if !self.constants.persistent && self.turn.phase() == Phase::Rested(TurnEnd::Output) {
            self.forget_state();
        }
        if self.graph.is_some() {
            self.withdraw_questions(SessionReason::WentOn);
        }
        let was_limited = self.turn.phase() == Phase::Rested(TurnEnd::Limit);
        let goes_on = message.as_ref().is_some_and(|message| self.settings.consent.goes_on(&message.text));
        self.keep_held_back();
        self.transcript.begin_turn();
        let began = (self.scheduler.next_step(), self.context().length());
        let pictures = match &mut message {
            Some(message) => std::mem::take(&mut message.pictures),
            None => self.pending.take_attached(),
        };
        self.turn.begin(&self.settings, began, pictures);
        if let Some(message) = message {
            self.add_user_message(&message.text, message.by.as_deref());
            self.note_goal(&message.text);
            self.inbox.set_answerable(message.only_question);
        }
        if !self.turn.pictures().is_empty() {
            self.transcript.note_shown(&Origins::of(Role::User.into()));
        }
        match self.graph {
            Some(_) if was_limited && goes_on => self.continue_graph(),
            Some(_) => self.begin_graph(),
            None => self.request(),
        }
    }

    /// Steps that the mode holds back stay planned in the next turn.
    pub(super) fn keep_held_back(&mut self) {
        self.projection.keep_held_back(&self.calls(), self.memory.context());
    }

    /// A one-off request keeps only its texts.
    fn forget_state(&mut self) {
        if let Some(place_of) = self.memory.keep_texts_only() {
            self.inbox.shift_lengths(place_of);
            self.transcript.keep_texts_only();
        }
    }

    /// A message of the user begins a turn, at once or when the current one rests.
    pub(super) fn take_user_message(&mut self, text: String, by: Option<String>) {
        if self.take_as_answer(&text, by.as_deref()) {
            return;
        }
        let pictures = self.pending.take_attached();
        let message = PendingMessage { text, by, only_question: self.only_question(), pictures };
        if self.turn.is_at_rest() {
            self.begin(Some(message));
        } else {
            self.pending.push(message);
        }
    }

    /// The only open question, if it is about one call, here or in a delegate.
    pub(super) fn only_question(&self) -> Option<QuestionId> {
        let mut open = self.questions().into_iter().filter(Question::is_open);
        let (only, None) = (open.next()?, open.next()) else { return None };
        (only.open_calls().count() == 1).then_some(only.id)
    }

    /// Runs the request's plan. A model's own plan runs when a person approves it (PLAN-12).
    pub(super) fn run_plan(&mut self) -> Result<(), Refused> {
        self.turn.must_be_at_rest()?;
        let Some(plan) = self.memory.given_plan().cloned() else {
            return Err(Refused::new(Code::NoPlan, "the request has no plan to run"));
        };
        self.begin_without_model();
        self.projection.drop_plan_if(|| true);
        let before_reading = self.transcript.shown().is_trusted();
        self.start_step(&plan.calls, Trigger::Approved { by_person: true, before_reading }, StepOptions::default());
        Ok(())
    }

    /// Begins a turn without model requests for calls or output.
    pub(super) fn begin_without_model(&mut self) {
        self.keep_held_back();
        self.transcript.reset();
        self.turn.begin_without_model(&self.settings);
    }

    /// Asks the model for the next solution.
    pub(super) fn request(&mut self) {
        if let Some(limit) = self.limit_of_requests() {
            return self.rest(TurnEnd::Limit, Some(limit));
        }
        self.drop_early_calls();
        self.forget_overwritten();
        self.transcribe_waiting_calls();
        self.transcript.note_request(usize::try_from(self.settings.transcript_chars).unwrap_or(usize::MAX));
        let shown = self.settings.counted_as_shown(self.visible_origins());
        self.transcript.note_shown(&shown);
        self.note_tool_descriptions_shown();
        self.catch_up_grounds_of_shown();
        let number = self.scheduler.number_request();
        self.turn.ask_model(number);
        self.tasks.push(Task::AskModel { id: Routed::own(RequestNumber(number)) });
    }

    /// Unchecked descriptions of tools count as shown untrusted data (POL-8), for every planner.
    fn note_tool_descriptions_shown(&mut self) {
        let sources = self.context().tools().filter_map(|tool| tool.words_of());
        let origins: Origins = sources.map(|name| Origin::Tool { name: name.into(), trusted: false }).collect();
        self.transcript.note_shown(&origins);
    }

    /// The origins of everything that a request shows: memory, calls with resolved references, and delegates'
    /// questions.
    pub(super) fn visible_origins(&self) -> Origins {
        let mut all = self.context().all_origins();
        all.join(self.transcript.history_origins());
        self.scheduler.origins().for_each(|origins| all.join(origins));
        for (_, child) in self.delegates.iter() {
            all.join(child.transcript.shown());
            all.join(&child.visible_origins());
        }
        all
    }

    /// Stops the turn: nothing more is started.
    pub(super) fn stop(&mut self) {
        let stops = match self.turn.phase() {
            Phase::Asking(_) | Phase::Working => true,
            Phase::Rested(TurnEnd::Waiting) if self.graph.is_some() => {
                self.withdraw_questions(SessionReason::Stopped);
                true
            }
            // The result of a running call would continue the turn.
            Phase::Rested(TurnEnd::Waiting) => self.has_elicitations(),
            Phase::New | Phase::Rested(_) => false,
        };
        if stops {
            self.turn.stop();
        }
        self.drop_held();
        self.give_to_delegates(&Input::Stop);
    }

    /// Advances everything that can, and brings the turn to rest when nothing does; again if it meets a limit at rest.
    pub(super) fn proceed(&mut self) {
        loop {
            self.advance();
            if self.scheduler.has_ready() {
                self.turn.go_on_to_end();
            }
            if let Phase::Rested(_) = self.turn.phase()
                && let Some(message) = self.pending.pop()
            {
                self.begin(Some(message));
            } else if self.turn.phase() != Phase::Working || self.is_busy() {
                return;
            } else if !self.ask_about_groups() {
                self.settle();
            }
        }
    }

    /// Whether no turn is running: none has begun, or the latest rests.
    pub fn is_at_rest(&self) -> bool {
        self.turn.is_at_rest()
    }

    /// Whether the turn waits for the model's answer.
    pub fn is_asking(&self) -> bool {
        matches!(self.turn.phase(), Phase::Asking(_))
    }

    fn is_busy(&self) -> bool {
        let waits_for_room = self.scheduler.has_ready() && !self.turn.is_ending();
        // Detached delegates with open questions keep the turn open.
        let asks = |child: &Session| !child.turn.is_waiting() && child.questions().iter().any(Question::is_open);
        waits_for_room
            || self.scheduler.is_running()
            || (self.scheduler.has_detached() && self.delegates.iter().any(|(_, child)| asks(child)))
    }

    /// Nothing moves: decides how the turn continues.
    fn settle(&mut self) {
        if let Some((ends, reason)) = self.turn.take_stop() {
            self.drop_open_jobs();
            self.report_errors();
            return self.rest(ends, Some(reason));
        }
        self.report_errors();
        let until_done = self.follow_up() == FollowUp::UntilDone;
        if self.must_follow_up() {
            return self.request();
        }
        let waits = self.inbox.open().next().is_some() || self.scheduler.awaits_user();
        // Text after the calls is shown now; text along with them is held back (LOOP-1).
        let is_last_word = until_done && !self.turn.came_with_calls();
        if waits && (self.turn.over().is_some() || (!is_last_word && self.is_asked_in_turn())) {
            return self.rest(TurnEnd::Waiting, None);
        }
        if let Some((ends, reason)) = self.turn.over().cloned() {
            return self.rest(ends, Some(reason));
        }
        if self.graph.is_some() {
            return self.leave_node();
        }
        let done = if waits { TurnEnd::Waiting } else { TurnEnd::Output };
        if !self.turn.asks_model() || (self.is_done_in_shadow() && self.turn.output().is_null()) {
            return self.rest(done, None);
        }
        if self.turn.output().is_null() {
            return match self.follow_up() {
                FollowUp::Always => self.request(),
                FollowUp::UntilDone | FollowUp::AfterReads | FollowUp::Never => self.rest(done, None),
            };
        }
        if let Some(fault) = self.fault_of_output() {
            return self.refuse_output(&fault);
        }
        if waits {
            self.say_output();
        }
        self.rest(done, None);
    }

    /// Whether a call or a plan of this turn waits for a person. Earlier turns' questions hold nothing back.
    fn is_asked_in_turn(&self) -> bool {
        let (first_step, length) = self.turn.began();
        let is_new = |question: &Question| question.about == About::Plan && question.asked_after > length;
        let is_alone = self.constants.depth == 0 && self.graph.is_none();
        !is_alone || self.scheduler.has_steps_since(first_step) || self.inbox.open().any(is_new)
    }

    /// Shows the result as text, because a question is still open, and the turn rests on that.
    fn say_output(&mut self) {
        let Ok(Value::String(text)) = self.output_for_people() else { return };
        let Value::String(output) = self.turn.take_output() else { return };
        if !self.turn.has_sent(&output) {
            self.add_message(Role::Assistant, &output);
            self.turn.note_agent_message(&text);
            self.tasks.push(Task::Say(text));
        }
    }

    /// The result is invalid: the model gets the error, and is asked again unless it has failed too often.
    fn refuse_output(&mut self, fault: &Fault) {
        let output = self.turn.take_output();
        self.turn.note_failure(&output.to_string(), &fault.text);
        self.turn.note_fault();
        self.transcript.add_error(error_data(&json!({"output": output}), &fault.into()));
        if !self.turn.is_ending() {
            self.report_errors();
            self.request();
        }
    }

    /// The error in the result.
    fn fault_of_output(&self) -> Option<Fault> {
        let output = match self.output_for_people() {
            Ok(output) => output,
            Err(fault) => return Some(fault),
        };
        let breach = crate::schema::breaches(self.constants.validator.as_ref()?, &output).into_iter().next()?;
        // A planner must not see values of the result that it has not been shown.
        let what = if self.output_origins().is_trusted() { breach.text } else { format!("`{}`", breach.keyword) };
        Some(Fault::new(Rule::Loop1, format!("the output breaks its schema: {what}")))
    }

    /// Brings the turn to rest.
    pub(super) fn rest(&mut self, ends: TurnEnd, mut reason: Option<CallError>) {
        self.drop_early_calls();
        if self.graph.is_some() && ends != TurnEnd::Waiting {
            self.go_to_forced_end(ends, &mut reason);
            self.forget_plans();
        }
        self.turn.rest(ends, reason);
        let is_sent = self.turn.output().as_str().is_some_and(|text| self.turn.has_sent(text));
        if ends == TurnEnd::Waiting && is_sent && self.follow_up() != FollowUp::Always {
            // The text has reached the user: no result is held back for a decision.
            self.turn.take_output();
        }
        if let Value::String(text) = self.turn.output()
            && self.turn.gives_output(ends)
            && self.constants.depth == 0
            && !is_sent
        {
            let text = text.clone();
            self.add_message(Role::Assistant, &text);
        }
        if ends == TurnEnd::Output && self.constants.depth == 0 {
            self.turn.note_last_message(self.memory.now());
        }
        if let Some(reply) = self.reply() {
            self.tasks.push(Task::Rest(Box::new(reply)));
        }
    }

    /// The reply of the latest turn; none before the first one, and during a turn.
    pub fn reply(&self) -> Option<Reply> {
        let Phase::Rested(ends) = self.turn.phase() else { return None };
        let waiting = self.questions().into_iter().filter(Question::is_open).map(|question| question.id);
        Some(Reply {
            ends,
            output: if self.turn.gives_output(ends) {
                self.output_for_people().unwrap_or_default()
            } else {
                Value::Null
            },
            said: self.turn.agent_messages().to_vec(),
            calls: self.distinct_calls(),
            waiting: waiting.collect(),
            reason: self.turn.reason().cloned(),
            end: self.turn.named_end().map(str::to_owned),
            at: self.memory.now(),
        })
    }

    /// Reports errors as messages when the step rests, so that the model can correct them with the next request.
    pub(super) fn report_errors(&mut self) {
        let mut errors = Vec::new();
        for error in self.transcript.take_errors() {
            let origins = Origins::of(Origin::Model);
            // The error of a started call is in the transcript with the call.
            self.transcribe_fault(&error, &origins);
            errors.push((error, origins));
        }
        errors.extend(self.scheduler.take_errors());
        for (error, origins) in errors {
            // All of them are shown, although `†error` reads only the latest.
            self.transcript.note_shown(&self.settings.counted_as_shown(origins.clone()));
            let mut data = Data::plain("error", error);
            data.origins = Some(origins);
            self.memory.remember(Message::Data(Box::new(data)));
        }
        for (number, step) in self.scheduler.take_ended() {
            if self.settings.plans_before_reading() {
                self.transcript.add_ended_as_proposed(step.report_as_proposed(number));
            }
            self.transcript.add_ended(
                step.proposed(number),
                step.report(number),
                step.jobs.iter().map(|job| &job.origins),
            );
        }
    }
}
