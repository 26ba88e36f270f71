//! A session that follows its journal record by record, for engines that run sessions in other processes.

use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Refused, Session, Start, Task};

use super::replay::{InputEffects, RecordReplay, UnfinishedTasks, advance, count_replayed, replay_record};
use super::{RestoreError, SessionFactory, begin};
use crate::store::{DamagedTail, Journaled, Record, Store, StoreError};

/// A session, its position in the journal, and its unfinished tasks.
pub struct Replica {
    id: String,
    session: Session,
    last: u64,
    last_rest: u64,
    unfinished: UnfinishedTasks,
}

/// The consequences of a record.
pub struct RecordEffects {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Whether it changed the memory.
    pub changes_memory: bool,
    /// Whether it was refused, and changed nothing: older versions journaled such inputs too.
    pub is_refused: bool,
}

impl Replica {
    /// A session before its first input.
    pub fn new(id: &str, session: Session) -> Self {
        Self::at(id, session, 0)
    }

    /// A session after a record, without unfinished tasks.
    fn at(id: &str, session: Session, last: u64) -> Self {
        Self { id: id.to_owned(), session, last, last_rest: last, unfinished: UnfinishedTasks::default() }
    }

    /// Replays the records of a journal. Nothing is performed.
    pub(crate) fn replay(id: &str, session: Session, journaled: Journaled) -> Result<Self, RestoreError> {
        Self::replay_visiting(id, session, journaled, |_, _| {})
    }

    /// Replays the records of a journal. `visit` gets the session after each record, with the record's tasks.
    pub(super) fn replay_visiting(
        id: &str,
        session: Session,
        journaled: Journaled,
        mut visit: impl FnMut(&Self, &[Task]),
    ) -> Result<Self, RestoreError> {
        count_replayed(journaled.records.len());
        let mut replica = Self::at(id, session, journaled.after);
        for record in journaled.records {
            let effects = replica.replay_next(record)?;
            visit(&replica, &effects.tasks);
            replica.unfinished.add_tasks(effects.tasks);
        }
        Ok(replica)
    }

    /// A session after a record, or as it is now. A damaged record is an error.
    pub fn restore(
        store: &Arc<dyn Store>,
        id: &str,
        session_factory: &SessionFactory,
        at: Option<u64>,
    ) -> Result<Self, RestoreError> {
        let (session, mut journaled) = begin(store, id, session_factory, at)?;
        let damaged = journaled.cut.take();
        Self::replay(id, session, journaled)?.undamaged(damaged, at)
    }

    /// An error if the records after the last one are damaged: the session was already further. `at` is the last record
    /// that was read, if not all were.
    pub(super) fn undamaged(self, damaged: Option<DamagedTail>, at: Option<u64>) -> Result<Self, RestoreError> {
        let Some(DamagedTail { seq, problem, .. }) = damaged else { return Ok(self) };
        let session = self.id;
        Err(match at {
            // This need not be the end.
            Some(_) => StoreError::Damaged { session, seq, problem }.into(),
            None => RestoreError::DamagedEnd { session, seq, problem, rest: self.last_rest },
        })
    }

    /// The session's name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The number of the latest record.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Applies the next record of the journal. A different result is an error, after which the replica must not be
    /// used.
    pub fn apply(&mut self, record: Record) -> Result<RecordEffects, RestoreError> {
        let effects = self.replay_next(record)?;
        self.unfinished.add_tasks(effects.tasks.iter().cloned());
        Ok(effects)
    }

    /// Takes a new input; returns the record to store, and its consequences. A refused input changes nothing.
    pub fn take(&mut self, at: Time, input: Input) -> Result<(Record, RecordEffects), Refused> {
        let before = self.session.context().length();
        let input = Arc::new(input);
        let InputEffects { tasks, digest } = advance(&mut self.session, at, Input::clone(&input))?;
        let effects = self.pass_record(&input, before, RecordReplay { tasks, is_refused: false });
        self.unfinished.add_tasks(effects.tasks.iter().cloned());
        Ok((Record { digest: Some(digest), ..Record::new(at, input) }, effects))
    }

    /// Replays the next record. The caller adds its tasks.
    fn replay_next(&mut self, record: Record) -> Result<RecordEffects, RestoreError> {
        let before = self.session.context().length();
        let input = Arc::clone(&record.input);
        let replayed = replay_record(&mut self.session, &self.id, self.last + 1, record, self.last_rest)?;
        Ok(self.pass_record(&input, before, replayed))
    }

    /// Notes that the session has passed a record.
    fn pass_record(&mut self, input: &Input, before: usize, replayed: RecordReplay) -> RecordEffects {
        let RecordReplay { tasks, is_refused } = replayed;
        self.last += 1;
        self.unfinished.apply_input(input);
        if self.session.is_at_rest() {
            self.last_rest = self.last;
        }
        RecordEffects { tasks, changes_memory: self.session.context().length() > before, is_refused }
    }

    /// The unfinished task with this id: a request, a call or a file.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.unfinished.get(id)
    }

    /// The unfinished calls.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Start> {
        self.unfinished.calls()
    }

    /// The session alone.
    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    /// The session, and all its unfinished tasks.
    pub(super) fn into_parts(self) -> (Session, Vec<Task>) {
        (self.session, self.unfinished.into_tasks())
    }

    /// All unfinished tasks, with their ids.
    pub fn unfinished(&self) -> impl Iterator<Item = (&str, &Task)> {
        self.unfinished.iter()
    }

    /// Whether nothing runs, or the session is paused. The journal does not say whether an unfinished task of a paused
    /// session runs: in an imported one it has not begun.
    pub(crate) fn is_still(&self) -> bool {
        self.session.paused().is_some() || self.session.is_at_rest() && self.unfinished.iter().next().is_none()
    }
}
