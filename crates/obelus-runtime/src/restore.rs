//! Restoring a session: from its checkpoint and the records after it, else from its whole journal.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `replay` | telling a session what it was told, held against digests |
//! | `replica` | a session that follows its journal, record by record |
//! | `digest` | digests of what an input led to |

mod digest;
mod replay;
mod replica;

use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Reply, Session, Start, Task};
use serde_json::Value;

pub(crate) use replay::replay;
pub use replay::{Advanced, advance};
pub use replica::{Heard, Replica};

use crate::store::{Cut, Journaled, Snapshot, Store, StoreError};

/// A session as its journal has left it. Nothing of what was under way has been started again.
pub struct Restored {
    /// The session.
    pub session: Session,
    /// The number of its last record.
    pub last: u64,
    /// What was handed out and has not ended: requests, calls, files of delegates.
    pub open: Vec<Task>,
    /// How the turn came to rest, if the session is at rest.
    pub reply: Option<Reply>,
    /// The states in which the session was while its latest turn was at work.
    pub states: TurnStates,
    /// A damaged end of the journal that was cut off.
    pub cut: Option<Cut>,
}

/// Makes the session as it was made when it began.
pub type Remake = Arc<dyn Fn() -> Result<Session, String> + Send + Sync>;

/// Why a session cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store cannot give it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What it was begun with does not make a session any more.
    #[error("the session `{0}` cannot be made again: {1}")]
    Remake(String, String),
    /// A record leads to something else than it did when it was written (DUR-12).
    #[error(
        "session `{session}`: this version makes something else of record {seq}, of {since}, than the version that \
         wrote it: {what}. Nothing was done. Go on with the version that wrote it, or go back to the session's last \
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
        /// The last record before it after which the session was at rest.
        rest: u64,
    },
}

/// Restores a session to go on with it. A damaged end of its journal is cut off.
pub fn restore(store: &Arc<dyn Store>, id: &str, remake: &Remake) -> Result<Restored, RestoreError> {
    let (mut session, journaled) = begin(store, id, remake, None)?;
    if let Some(cut) = &journaled.cut {
        store.cut(id, cut.seq)?;
    }
    let (after, last, cut) = (journaled.after, journaled.last(), journaled.cut.clone());
    let mut first_of_turn = after;
    let mut is_at_rest = session.is_at_rest();
    let replayed = replay(&mut session, id, journaled, |session, seq, _| {
        if std::mem::replace(&mut is_at_rest, session.is_at_rest()) {
            first_of_turn = seq;
        }
    })?;
    let reply = replayed.reply.or_else(|| session.reply());
    let states = TurnStates::new(store, id, remake, first_of_turn, last);
    Ok(Restored { session, last, open: replayed.under_way.into_tasks(), reply, states, cut })
}

/// Takes a session back to its last rest before the first record that this version makes something else of (DUR-12):
/// the records after that rest are removed, and its number is returned. A session that can be restored stays as it is.
pub fn back_to_rest(store: &Arc<dyn Store>, id: &str, remake: &Remake) -> Result<Option<u64>, RestoreError> {
    match look_at(store, id, remake, None) {
        Ok(_) => Ok(None),
        Err(RestoreError::Differs { rest, .. }) => {
            store.cut(id, rest + 1)?;
            Ok(Some(rest))
        }
        Err(error) => Err(error),
    }
}

/// A session as it was after a record, to look at; as it is now where none is named.
pub fn look_at(store: &Arc<dyn Store>, id: &str, remake: &Remake, at: Option<u64>) -> Result<Session, RestoreError> {
    let (mut session, journaled) = begin(store, id, remake, at)?;
    replay(&mut session, id, journaled, |_, _, _| {})?;
    Ok(session)
}

/// A session as it will be once somebody opens it, where the process that worked at it has ended (ASK-8): effects of which
/// nobody knows whether they happened are asked about. `asks` says whether that is so for a call. Nothing is written.
pub(crate) fn look_interrupted(
    store: &Arc<dyn Store>,
    id: &str,
    remake: &Remake,
    now: Time,
    asks: impl Fn(&Start) -> bool,
) -> Result<Session, RestoreError> {
    let (mut session, journaled) = begin(store, id, remake, None)?;
    let under_way = replay(&mut session, id, journaled, |_, _, _| {})?.under_way;
    // A paused session leaves what was under way where it is.
    if session.paused().is_none() {
        for start in under_way.calls().filter(|start| asks(start)) {
            // What is refused changes nothing.
            let _ = advance(&mut session, now, Input::InDoubt { id: start.id.clone() });
        }
    }
    Ok(session)
}

/// A session from its checkpoint where that helps, and the records that came after.
fn begin(
    store: &Arc<dyn Store>,
    id: &str,
    remake: &Remake,
    at: Option<u64>,
) -> Result<(Session, Journaled), RestoreError> {
    let make = || remake().map_err(|why| RestoreError::Remake(id.to_owned(), why));
    let snapshot = store.snapshot(id)?.filter(|snapshot| at.is_none_or(|at| snapshot.seq <= at));
    if let Some(Snapshot { seq, state }) = snapshot {
        let past = past_of(store, id, remake, seq);
        // One that cannot be used is as good as none.
        if let Ok(session) = make()?.restore(&state, past) {
            // The record that the checkpoint was made after is there, or the journal has lost something (DUR-14).
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

/// How the messages before a checkpoint are read when somebody needs them: by replaying what led there.
fn past_of(store: &Arc<dyn Store>, id: &str, remake: &Remake, seq: u64) -> obelus_kernel::memory::LoadPast {
    let (store, id, remake) = (Arc::clone(store), id.to_owned(), Arc::clone(remake));
    Arc::new(move || {
        let journaled = store.load(&id, 0, Some(seq)).map_err(|error| error.to_string())?;
        if let Some(cut) = journaled.cut {
            return Err(format!("session `{id}`, record {}: {}", cut.seq, cut.problem));
        }
        let mut session = remake()?;
        replay(&mut session, &id, journaled, |_, _, _| {}).map_err(|error| error.to_string())?;
        Ok(session.past())
    })
}

/// The states in which a session was while its latest turn was at work: each of them may stand in its file. They are
/// made by another replay when somebody asks for them, which is seldom: a state may be as long as all that happened.
#[derive(Default)]
pub struct TurnStates(Option<LatestTurn>);

/// The latest turn of a session in a store.
struct LatestTurn {
    store: Arc<dyn Store>,
    id: String,
    remake: Remake,
    /// The first record of the turn.
    first: u64,
    /// The last record of the session.
    last: u64,
}

impl TurnStates {
    fn new(store: &Arc<dyn Store>, id: &str, remake: &Remake, first: u64, last: u64) -> Self {
        let (store, id, remake) = (Arc::clone(store), id.to_owned(), Arc::clone(remake));
        Self(Some(LatestTurn { store, id, remake, first, last }))
    }

    /// Shows each of them, oldest first.
    pub fn visit(self, mut visit: impl FnMut(Value)) {
        let Some(LatestTurn { store, id, remake, first, last }) = self.0 else { return };
        let Ok((mut session, journaled)) = begin(&store, &id, &remake, Some(last)) else { return };
        // The file is written when the model is asked, and at rest.
        let is_written = |task: &Task| matches!(task, Task::AskModel { .. } | Task::Rest(_));
        // It was replayed before, without a difference.
        let _ = replay(&mut session, &id, journaled, |session, seq, tasks| {
            if seq >= first && tasks.iter().any(is_written) {
                visit(session.state());
            }
        });
    }
}
