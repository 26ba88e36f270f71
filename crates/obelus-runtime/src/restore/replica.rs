//! A session that follows its journal record by record, for engines that run sessions in other processes.

use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Refused, Session, Task};

use super::replay::{InputEffects, RecordReplay, UnfinishedTasks, advance, replay, replay_record};
use super::{RestoreError, SessionFactory, begin};
use crate::store::{Record, Store};

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
    pub is_news: bool,
    /// Whether it was refused, and changed nothing: older versions journaled such inputs too.
    pub is_refused: bool,
}

impl Replica {
    /// A session before its first input.
    pub fn new(id: &str, session: Session) -> Self {
        Self { id: id.to_owned(), session, last: 0, last_rest: 0, unfinished: UnfinishedTasks::default() }
    }

    /// A session after a record, or as it is now.
    pub fn restore(
        store: &Arc<dyn Store>,
        id: &str,
        session_factory: &SessionFactory,
        at: Option<u64>,
    ) -> Result<Self, RestoreError> {
        let (mut session, journaled) = begin(store, id, session_factory, at)?;
        let (after, last) = (journaled.after, journaled.last());
        let replayed = replay(&mut session, id, journaled, |_, _, _| {})?;
        let last_rest = replayed.last_rest.unwrap_or(after);
        Ok(Self { id: id.to_owned(), session, last, last_rest, unfinished: replayed.unfinished })
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
        let before = self.session.context().length();
        let input = Arc::clone(&record.input);
        let replayed = replay_record(&mut self.session, &self.id, self.last + 1, record, self.last_rest)?;
        Ok(self.record_effects(&input, before, replayed))
    }

    /// Takes a new input; returns the record to store, and its consequences. A refused input changes nothing.
    pub fn take(&mut self, at: Time, input: Input) -> Result<(Record, RecordEffects), Refused> {
        let before = self.session.context().length();
        let input = Arc::new(input);
        let InputEffects { tasks, digest } = advance(&mut self.session, at, Input::clone(&input))?;
        let record = Record { digest: Some(digest), ..Record::new(at, Arc::clone(&input)) };
        Ok((record, self.record_effects(&input, before, RecordReplay { tasks, is_refused: false })))
    }

    fn record_effects(&mut self, input: &Input, before: usize, replayed: RecordReplay) -> RecordEffects {
        let RecordReplay { tasks, is_refused } = replayed;
        self.last += 1;
        self.unfinished.apply_input(input);
        self.unfinished.add_tasks(tasks.clone());
        if self.session.is_at_rest() {
            self.last_rest = self.last;
        }
        RecordEffects { tasks, is_news: self.session.context().length() > before, is_refused }
    }

    /// The unfinished task with this id: a request, a call or a file.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.unfinished.get(id)
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
