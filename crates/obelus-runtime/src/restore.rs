//! Taking up a session where its journal ends: from its snapshot and what came after, else from the beginning.

use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Session};

use crate::driver::{Driver, Recovered};
use crate::store::{Cut, Journaled, SessionJournal, Snapshot, Store, StoreError};

/// A session that was taken up. Nothing is started yet: [`Driver::resume`] does.
pub struct Restored {
    /// Its driver, with its journal.
    pub driver: Driver,
    /// What was under way.
    pub recovered: Recovered,
    /// A damaged end of the journal that was cut off.
    pub cut: Option<Cut>,
}

/// Makes the session as it was made when it began.
pub type Remake = Arc<dyn Fn() -> Result<Session, String> + Send + Sync>;

/// Why a session cannot be taken up.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store cannot give it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What it was begun with does not make a session any more.
    #[error("the session `{0}` cannot be made again: {1}")]
    Remake(String, String),
}

/// Takes up a session to go on with it. A damaged end of its journal is cut off.
pub fn restore(
    store: &Store,
    id: &str,
    remake: &Remake,
    drive: impl FnOnce(Session) -> Driver,
) -> Result<Restored, RestoreError> {
    let (session, after, Journaled { inputs, cut }) = read_up(store, id, remake, None)?;
    if let Some(cut) = &cut {
        store.cut(id, cut.seq)?;
    }
    let tail = inputs.len() as u64;
    let mut driver = drive(session);
    let recovered = driver.recover(inputs);
    let journal = SessionJournal::new(store.clone(), id).after(after + tail, tail);
    Ok(Restored { driver: driver.journaled_by(journal), recovered, cut })
}

/// A session as it was after a record, to look at; as it is now where none is named.
pub fn look_at(store: &Store, id: &str, remake: &Remake, at: Option<u64>) -> Result<Session, RestoreError> {
    let (mut session, _, Journaled { inputs, .. }) = read_up(store, id, remake, at)?;
    replay(&mut session, inputs);
    Ok(session)
}

/// A session from its snapshot where that helps, the record it stands at, and the inputs that came after.
fn read_up(
    store: &Store,
    id: &str,
    remake: &Remake,
    at: Option<u64>,
) -> Result<(Session, u64, Journaled), RestoreError> {
    let make = || remake().map_err(|why| RestoreError::Remake(id.to_owned(), why));
    let snapshot = store.snapshot(id)?.filter(|snapshot| at.is_none_or(|at| snapshot.seq <= at));
    if let Some(Snapshot { seq, state }) = snapshot {
        let past = past_of(store, id, remake, seq);
        // One that cannot be used is as good as none.
        if let Ok(session) = make()?.restore(&state, past) {
            return Ok((session, seq, store.read_journal(id, seq, at)?));
        }
    }
    Ok((make()?, 0, store.read_journal(id, 0, at)?))
}

/// How the messages before a snapshot are read when somebody needs them: by replaying what led there.
fn past_of(store: &Store, id: &str, remake: &Remake, seq: u64) -> obelus_kernel::LoadPast {
    let (store, id, remake) = (store.clone(), id.to_owned(), Arc::clone(remake));
    Arc::new(move || {
        let Journaled { inputs, cut } = store.read_journal(&id, 0, Some(seq)).map_err(|error| error.to_string())?;
        if let Some(cut) = cut {
            return Err(format!("session `{id}`, record {}: {}", cut.seq, cut.problem));
        }
        let mut session = remake()?;
        replay(&mut session, inputs);
        Ok(session.past())
    })
}

/// Tells a session what it was told, and does nothing about it.
pub(crate) fn replay(session: &mut Session, inputs: Vec<(Time, Input)>) {
    for (at, input) in inputs {
        // What was refused then is refused now.
        let _ = session.handle(at, input);
        while session.poll().is_some() {}
    }
}
