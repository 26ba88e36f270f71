//! Whether the model is asked again (LOOP-7): after calls and decisions, with what came of them.

use super::Session;
use super::ids::QuestionNumber;
use super::inbox::Question;
use super::settings::FollowUp;
use crate::policy::Mode;

impl Session {
    /// When the model is asked again. A delegate and a graph of steps are no conversation: one ends with its output, the
    /// other with a node that says so.
    pub(super) fn follow_up(&self) -> FollowUp {
        match self.settings.follow_up {
            FollowUp::UntilDone if self.brief.depth > 0 || self.graph.is_some() => FollowUp::Always,
            other => other,
        }
    }

    /// Whether the model has to see what came of its calls, whatever still waits for a person.
    pub(super) fn must_follow_up(&self) -> bool {
        if !self.turn.asks_model || self.turn.over.is_some() || self.graph.is_some() {
            return false;
        }
        match self.follow_up() {
            FollowUp::Always | FollowUp::Never => false,
            FollowUp::AfterReads => self.transcript.has_news() && self.turn.output.is_null(),
            FollowUp::UntilDone => {
                let has_moved = self.turn.has_moved || self.turn.is_faulty;
                has_moved && !self.is_shadow_enough() && !self.awaits_decisions()
            }
        }
    }

    /// In the mode `shadow` one solution is enough, if the model has nothing to mend in it.
    pub(super) fn is_shadow_enough(&self) -> bool {
        self.settings.mode == Mode::Shadow && !self.turn.is_faulty && self.turn.requests > 0
    }

    /// Whether a person has decided one of several questions that were raised together, and not yet the last.
    fn awaits_decisions(&self) -> bool {
        let is_of = |step: u32| self.turn.decided.contains(&step);
        let asks = |question: &Question| question.jobs().any(|job| is_of(job.step));
        self.inbox.open().any(asks)
            || self
                .delegates
                .iter()
                .any(|(at, child)| is_of(at.step) && child.questions().iter().any(Question::is_open))
    }

    /// The steps whose calls a question is about.
    pub(super) fn steps_of_question(&self, number: QuestionNumber) -> Vec<u32> {
        self.inbox.get(number).into_iter().flat_map(Question::jobs).map(|job| job.step).collect()
    }

    /// A person has decided. After the end of a turn that begins a new one.
    pub(super) fn note_decision(&mut self, steps: &[u32], was_at_rest: bool) {
        if self.follow_up() != FollowUp::UntilDone {
            return;
        }
        self.turn.has_moved = true;
        if was_at_rest && self.turn.asks_model {
            self.keep_planned();
            self.transcript.begin_turn_by_decision();
            self.turn.renew(&self.settings);
        }
        if self.turn.requests == 0 {
            self.turn.decided.extend(steps);
        }
    }
}
