//! Taking up a session where its journal ends.

use std::collections::BTreeMap;

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Refused, Reply, Task};

use super::{Driver, PAUSED, Recovered};

impl Driver {
    /// Takes up a session where its journal ends. Nothing is started yet: [`Driver::resume`] does.
    ///
    /// The same inputs in the same order lead to the same session and the same tasks, so what was handed out
    /// and has no outcome in the journal is what was under way.
    pub fn recover(&mut self, journal: Vec<(Time, Input)>) -> Recovered {
        let mut open: BTreeMap<String, Task> = BTreeMap::new();
        let mut recovered = Recovered::default();
        let begins = |(_, input): &(Time, Input)| matches!(input, Input::User { .. } | Input::Start | Input::RunPlan);
        let latest_turn = journal.iter().rposition(begins).unwrap_or(0);
        for (number, (at, input)) in journal.into_iter().enumerate() {
            if self.session.is_at_rest() {
                self.latest_states.clear();
            }
            // A call in doubt was handed out anew, or a person was asked: either way the session has it in hand.
            match &input {
                Input::Answer { id, .. } => drop(open.remove(&id.to_string())),
                Input::Ended { id, .. }
                | Input::Loaded { id, .. }
                | Input::InDoubt { id }
                | Input::DidNot { id, .. } => {
                    open.remove(&id.to_string());
                }
                _ => {}
            }
            // What was refused then is refused now.
            let _ = self.session.handle(at, input);
            while let Some(task) = self.session.poll() {
                match task {
                    Task::AskModel { id } => drop(open.insert(id.to_string(), Task::AskModel { id })),
                    Task::Load { id, path } => drop(open.insert(id.to_string(), Task::Load { id, path })),
                    Task::Call(start) => drop(open.insert(start.id.to_string(), Task::Call(start))),
                    Task::Rest(reply) => recovered.reply = Some(*reply),
                    // Nobody is at work yet who could be told something.
                    Task::Say(_) | Task::Ask { .. } | Task::AskAgain { .. } | Task::AnswerElicitation { .. } => {}
                }
            }
            if number >= latest_turn {
                self.note_state();
            }
        }
        recovered.in_doubt = open.values().filter(|task| matches!(task, Task::Call(_))).count();
        recovered.requests = open.values().filter(|task| matches!(task, Task::AskModel { .. })).count();
        self.shelved = open.into_values().collect();
        // What calls asked was asked by a process that is not there any more.
        self.forgets =
            (self.session.has_observations() && self.slot.latest().is_none()) || self.session.has_elicitations();
        self.take_from_shelf();
        recovered.reply = recovered.reply.or_else(|| self.session.reply());
        recovered
    }

    /// A state that may have been written to the session's file.
    fn note_state(&mut self) {
        let state = self.session.state();
        if self.latest_states.last() != Some(&state) {
            self.latest_states.push(state);
        }
    }

    /// Goes on with what a recovered session had under way; a paused one leaves it where it is, and so does one that
    /// believes that the model has something before its eyes, or that calls wait to be told something.
    pub(super) fn take_from_shelf(&mut self) {
        if self.session.paused().is_some() || self.forgets {
            return;
        }
        for task in std::mem::take(&mut self.shelved) {
            match task {
                Task::Call(start) => self.reconcile(*start),
                Task::AskModel { id } => self.ask(id),
                Task::Load { id, path } => self.load(id, path),
                _ => {}
            }
        }
    }

    /// Tells a session whose work is about to go on that the model has nothing before its eyes any more.
    pub(super) async fn forget(&mut self) -> Result<(), Refused> {
        if self.forgets && !self.shelved.is_empty() {
            self.feed(Vec::new()).await?;
            self.take_from_shelf();
        }
        Ok(())
    }

    /// Goes on with what was under way when the journal ended; nothing, if nothing was.
    pub async fn resume(&mut self) -> Result<Option<Reply>, Refused> {
        if let Some(by) = self.session.paused() {
            return Err(Refused { code: PAUSED, text: format!("the session was paused by {by}: let it go on first") });
        }
        self.forget().await?;
        let mut doubts = std::mem::take(&mut self.unsettled);
        // Questions may have lapsed while nobody looked.
        doubts.extend(self.session.timeout().filter(|due| *due <= (self.clock)()).map(|_| Input::Tick));
        if doubts.is_empty() && !self.is_at_work() {
            return Ok(None);
        }
        self.feed(doubts).await?;
        loop {
            if let Some(reply) = self.hand_out() {
                return Ok(Some(reply));
            }
            // What nobody waits for, such as a look for a question, ends without the turn coming to rest anew.
            if !self.is_at_work() {
                return Ok(None);
            }
            self.take_some().await?;
        }
    }
}
