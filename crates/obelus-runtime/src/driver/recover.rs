//! Taking up a session where its journal ends.

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Refused, Reply, Session, Task};

use super::{Driver, PAUSED, Recovered};
use crate::restore::{Remake, RestoreError, replay, restore};
use crate::store::{Cut, Journaled, Record, SessionJournal, SqliteStore};

/// A driver for a session that was restored. Nothing is started yet: [`Driver::resume`] does.
pub struct RestoredDriver {
    /// The driver, with its journal.
    pub driver: Driver,
    /// What was under way.
    pub recovered: Recovered,
    /// A damaged end of the journal that was cut off.
    pub cut: Option<Cut>,
}

/// Restores a session to go on with it. A damaged end of its journal is cut off.
pub fn restore_driver(
    store: &SqliteStore,
    id: &str,
    remake: &Remake,
    drive: impl FnOnce(Session) -> Driver,
) -> Result<RestoredDriver, RestoreError> {
    let mut restored = restore(&store.shared(), id, remake)?;
    let cut = restored.cut.take();
    let mut driver = drive(restored.session);
    driver.turn_states = restored.states;
    let recovered = driver.go_on_with(restored.open, restored.reply);
    Ok(RestoredDriver { driver: driver.journaled_by(SessionJournal::new(store.clone(), id)), recovered, cut })
}

impl Driver {
    /// Takes up a session where its journal ends. Nothing is started yet: [`Driver::resume`] does.
    pub fn recover(&mut self, journal: Vec<(Time, Input)>) -> Recovered {
        let records = journal.into_iter().map(|(at, input)| Record::new(at, input)).collect();
        let journaled = Journaled { after: 0, records, cut: None };
        // Records without digests are held against nothing.
        let replayed = replay(&mut self.session, "", journaled, |_, _, _| {}).unwrap_or_default();
        self.go_on_with(replayed.under_way.into_tasks(), replayed.reply)
    }

    fn go_on_with(&mut self, tasks: Vec<Task>, reply: Option<Reply>) -> Recovered {
        let in_doubt = tasks.iter().filter(|task| matches!(task, Task::Call(_))).count();
        let requests = tasks.iter().filter(|task| matches!(task, Task::AskModel { .. })).count();
        self.shelved = tasks;
        // What calls asked was asked by a process that is not there any more.
        self.forgets =
            (self.session.has_observations() && self.slot.latest().is_none()) || self.session.has_elicitations();
        self.take_from_shelf();
        Recovered { in_doubt, requests, reply: reply.or_else(|| self.session.reply()) }
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
