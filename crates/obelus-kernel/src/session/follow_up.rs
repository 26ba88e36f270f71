//! Whether the model is asked again (LOOP-7): after calls and decisions, with their results.

use super::Session;
use super::inbox::Question;
use super::settings::FollowUp;

impl Session {
    /// When the model is asked again. Delegates and graphs of steps are not conversations: a delegate ends with its
    /// output, a graph with an end node.
    pub(super) fn follow_up(&self) -> FollowUp {
        match self.settings.follow_up {
            FollowUp::UntilDone if self.constants.depth > 0 || self.graph.is_some() => FollowUp::Always,
            other => other,
        }
    }

    /// Whether the model must see the results of its calls, even while questions are open.
    pub(super) fn must_follow_up(&self) -> bool {
        if !self.turn.asks_model() || self.turn.over().is_some() || self.graph.is_some() {
            return false;
        }
        match self.follow_up() {
            FollowUp::Always | FollowUp::Never => false,
            FollowUp::AfterReads => self.transcript.has_news() && self.turn.output().is_null(),
            FollowUp::UntilDone => self.turn.has_progress() && !self.is_done_in_shadow() && !self.awaits_decisions(),
        }
    }

    /// In the mode `shadow` one solution suffices, unless the model must correct it.
    pub(super) fn is_done_in_shadow(&self) -> bool {
        !self.settings.mode.executes() && !self.turn.is_faulty() && self.turn.requests() > 0
    }

    /// Whether some, but not all, of several questions raised together are decided.
    fn awaits_decisions(&self) -> bool {
        let is_of = |step: u32| self.turn.has_decided(step);
        let asks = |question: &Question| question.jobs().any(|job| is_of(job.step));
        self.inbox.open().any(asks)
            || self
                .delegates
                .iter()
                .any(|(at, child)| is_of(at.step) && child.questions().iter().any(Question::is_open))
    }

    /// Whether a decision would begin a new turn.
    pub(super) fn renews_by_decision(&self) -> bool {
        self.follow_up() == FollowUp::UntilDone && self.turn.is_at_rest() && self.turn.asks_model()
    }

    /// Records a decision. After the end of a turn it begins a new one.
    pub(super) fn note_decision(&mut self, steps: &[u32], was_at_rest: bool) {
        if self.follow_up() != FollowUp::UntilDone {
            return;
        }
        self.turn.note_progress();
        if was_at_rest && self.turn.asks_model() {
            self.keep_held_back();
            self.transcript.begin_turn_by_decision();
            self.turn.renew(&self.settings);
        }
        self.turn.note_decided(steps);
    }
}
