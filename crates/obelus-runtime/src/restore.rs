//! Restoring a session: from its checkpoint and the records after it, else from its whole journal.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `replay` | replaying one record, checked by its digest |
//! | `replica` | replaying a journal, and following it record by record |
//! | `digest` | digests of the consequences of an input |

mod digest;
mod replay;
mod replica;

use std::sync::Arc;

use obelus_kernel::session::{CallId, Input, Session, Start, Task};
use obelus_kernel::{Message, Time};
use serde_json::Value;

pub use replay::{InputEffects, advance};
pub(crate) use replay::{count_replayed, replayed};
pub use replica::{RecordEffects, Replica};

use crate::fork::pause_kept;
use crate::store::{Journaled, Snapshot, Store, StoreError};

/// A restored session. Its unfinished tasks have not been resumed.
pub struct Restored {
    /// The session.
    pub session: Session,
    /// The number of its last record.
    pub last: u64,
    /// Its unfinished tasks: model requests, calls, delegates' files.
    pub open: Vec<Task>,
    /// The session's states during its latest turn.
    pub states: TurnStates,
}

/// Recreates the session as it was when it began.
pub type SessionFactory = Arc<dyn Fn() -> Result<Session, String> + Send + Sync>;

/// Why a session cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its genesis is no longer valid.
    #[error("the session `{0}` cannot be restored: {1}")]
    SessionFactory(String, String),
    /// The replay of a record differs from the original (DUR-12).
    #[error(
        "session `{session}`: replaying record {seq} (written {since}) gives another result than when it was written: \
         {what}. Nothing was done. Go on with the version that wrote it, or go back to the session's last \
         rest, after record {rest}, by `obelus sessions back {session} --save FILE`: what came after that is then lost \
         to the session, and may have had effects"
    )]
    Differs {
        /// The session.
        session: String,
        /// The first record that differs.
        seq: u64,
        /// When that record was written.
        since: Time,
        /// What differs.
        what: String,
        /// The last rest before it.
        rest: u64,
    },
    /// The end of the journal is damaged (DUR-14). It may be the record that started an effect, so nothing is repeated.
    #[error(
        "session `{session}`, record {seq}: the end of its journal is damaged ({problem}). Nothing was done. Go back to the \
         session's last rest, after record {rest}, by `obelus sessions back {session} --save FILE`: what came after that is \
         then lost to the session, and may have had effects"
    )]
    DamagedEnd {
        /// The session.
        session: String,
        /// The first damaged record.
        seq: u64,
        /// What is wrong with it.
        problem: String,
        /// The last rest before it.
        rest: u64,
    },
}

/// Restores a session to continue it.
pub fn restore(store: &Arc<dyn Store>, id: &str, session_factory: &SessionFactory) -> Result<Restored, RestoreError> {
    let (session, mut journaled) = begin(store, id, session_factory, None)?;
    let damaged = journaled.cut.take();
    let mut first_of_turn = journaled.after;
    let mut was_at_rest = session.is_at_rest();
    let replica = Replica::replay_visiting(id, session, journaled, |replica, _| {
        if std::mem::replace(&mut was_at_rest, replica.session().is_at_rest()) {
            first_of_turn = replica.last();
        }
    })?;
    let replica = replica.undamaged(damaged, None)?;
    let last = replica.last();
    let states = TurnStates::new(store, id, session_factory, first_of_turn, last);
    let (session, open) = replica.into_parts();
    Ok(Restored { session, last, open, states })
}

/// The last rest of a session before the first record that is damaged (DUR-14), or that this version replays
/// differently (DUR-12); none if the session can be restored.
pub(crate) fn rest_before_fault(
    store: &Arc<dyn Store>,
    id: &str,
    session_factory: &SessionFactory,
) -> Result<Option<u64>, RestoreError> {
    match restore(store, id, session_factory) {
        Ok(_) => Ok(None),
        Err(RestoreError::Differs { rest, .. } | RestoreError::DamagedEnd { rest, .. }) => Ok(Some(rest)),
        Err(error) => Err(error),
    }
}

/// Takes a session that cannot be restored back to its last rest: the records after it are removed, and its number is
/// returned. A paused session stays paused, as does one whose end cannot be read: it may have been paused there. Any
/// other session is unchanged.
pub fn rewind_to_rest(
    store: &Arc<dyn Store>,
    id: &str,
    session_factory: &SessionFactory,
) -> Result<Option<u64>, RestoreError> {
    let rest = rest_before_fault(store, id, session_factory)?;
    if let Some(rest) = rest {
        let journal = store.load(id, 0, None)?;
        let pause = pause_kept(&journal, || Replica::restore(store, id, session_factory, Some(rest)))?;
        store.cut(id, rest + 1, pause)?;
    }
    Ok(rest)
}

/// A session after a record, or as it is now, for reading only. A damaged record is an error, as for [`restore`].
pub fn view_at(
    store: &Arc<dyn Store>,
    id: &str,
    session_factory: &SessionFactory,
    at: Option<u64>,
) -> Result<Session, RestoreError> {
    Ok(Replica::restore(store, id, session_factory, at)?.into_session())
}

/// A session as it will be when it is next opened, if its process has ended (ASK-8): effects in doubt are questions.
/// `asks` says whether a call needs one; they are dated by [`asked_at`]. Nothing is written. Also returns the last
/// record, if the session rests after it and is not changed by this.
pub(crate) fn view_interrupted(
    store: &Arc<dyn Store>,
    id: &str,
    session_factory: &SessionFactory,
    now: Time,
    asks: impl Fn(&Start) -> bool,
) -> Result<(Session, Option<u64>), RestoreError> {
    let mut replica = Replica::restore(store, id, session_factory, None)?;
    let is_resting = replica.session().is_at_rest() && replica.calls().next().is_none();
    let rests_after = is_resting.then(|| replica.last());
    let now = asked_at(replica.session(), now);
    let in_doubt: Vec<CallId> = replica.calls().filter(|start| asks(start)).map(|start| start.id.clone()).collect();
    for id in in_doubt {
        // A refused input changes nothing.
        let _ = replica.take(now, Input::InDoubt { id });
    }
    Ok((replica.into_session(), rests_after))
}

/// The time at which a question that is not stored yet counts as asked: the time of the session's last record, so that
/// every reader sees the same deadline. Such a question does not expire before the session is opened: when its deadline
/// has passed, it counts as asked again at that time.
fn asked_at(session: &Session, now: Time) -> Time {
    let Time(last) = session.now();
    let lifetime = i64::try_from(session.settings().question_seconds).unwrap_or(i64::MAX).saturating_mul(1_000).max(1);
    let passed = (now.0 - last).max(0) / lifetime;
    Time(last + passed * lifetime)
}

/// A session from its checkpoint, if that is usable, and the records after it.
fn begin(
    store: &Arc<dyn Store>,
    id: &str,
    session_factory: &SessionFactory,
    at: Option<u64>,
) -> Result<(Session, Journaled), RestoreError> {
    let make = || session_factory().map_err(|why| RestoreError::SessionFactory(id.to_owned(), why));
    let snapshot = store.snapshot(id)?.filter(|snapshot| at.is_none_or(|at| snapshot.seq <= at));
    if let Some(Snapshot { seq, state }) = snapshot {
        let past = past_of(store, id, session_factory, seq);
        // An unusable checkpoint is ignored.
        if let Ok(session) = make()?.restore(&state, past) {
            // The checkpoint's record must exist, or the journal has lost something (DUR-14).
            let mut journaled = store.load(id, seq.saturating_sub(1), at)?;
            if seq > 0 && journaled.cut.is_none() {
                if journaled.records.is_empty() {
                    let problem = "the journal ends before its checkpoint".to_owned();
                    return Err(StoreError::Damaged { session: id.to_owned(), seq, problem }.into());
                }
                journaled.records.remove(0);
                journaled.after = seq;
                return Ok((session, journaled));
            }
            return Ok((session, store.load(id, seq, at)?));
        }
    }
    Ok((make()?, store.load(id, 0, at)?))
}

/// A function that loads the messages before a checkpoint by replaying the journal.
fn past_of(
    store: &Arc<dyn Store>,
    id: &str,
    session_factory: &SessionFactory,
    seq: u64,
) -> Arc<dyn Fn() -> Result<Vec<Message>, String> + Send + Sync> {
    let (store, id, session_factory) = (Arc::clone(store), id.to_owned(), Arc::clone(session_factory));
    Arc::new(move || {
        let journaled = store.load(&id, 0, Some(seq)).map_err(|error| error.to_string())?;
        if let Some(cut) = journaled.cut {
            return Err(format!("session `{id}`, record {}: {}", cut.seq, cut.problem));
        }
        match Replica::replay(&id, session_factory()?, journaled) {
            Ok(replica) => Ok(replica.session().past()),
            // The session itself can be restored, so this message does not offer `sessions back`.
            Err(RestoreError::Differs { seq, since, what, .. }) => Err(format!(
                "replaying record {seq} (written {since}) gives another result than when it was written: {what}. Go on \
                 with the version that wrote it, or begin a new session"
            )),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// The session's states during its latest turn; any of them may be in its state file. They are replayed on demand,
/// which is rare, because a state may be large.
#[derive(Default)]
pub struct TurnStates(Option<LatestTurn>);

/// The latest turn of a session in a store.
struct LatestTurn {
    store: Arc<dyn Store>,
    id: String,
    session_factory: SessionFactory,
    /// The first record of the turn.
    first: u64,
    /// The last record of the session.
    last: u64,
}

impl TurnStates {
    fn new(store: &Arc<dyn Store>, id: &str, session_factory: &SessionFactory, first: u64, last: u64) -> Self {
        let (store, id, session_factory) = (Arc::clone(store), id.to_owned(), Arc::clone(session_factory));
        Self(Some(LatestTurn { store, id, session_factory, first, last }))
    }

    /// Visits each state, oldest first.
    pub fn visit(self, mut visit: impl FnMut(Value)) {
        let Some(LatestTurn { store, id, session_factory, first, last }) = self.0 else { return };
        let Ok((session, journaled)) = begin(&store, &id, &session_factory, Some(last)) else { return };
        // The file is written when the model is asked, and at rest.
        let is_written = |task: &Task| matches!(task, Task::AskModel { .. } | Task::Rest(_));
        // The same records were already replayed successfully.
        let _ = Replica::replay_visiting(&id, session, journaled, |replica, tasks| {
            if replica.last() >= first && tasks.iter().any(is_written) {
                visit(replica.session().state());
            }
        });
    }
}
