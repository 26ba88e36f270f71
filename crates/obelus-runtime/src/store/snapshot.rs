//! Snapshots: one for each session, written over by the next. They only save time: the journal has everything.

use std::sync::Arc;

use rusqlite::{OptionalExtension, params};

use super::batch_writer::{WriterConn, number};
use super::sum;
use super::{Store, StoreError};

/// The form of the snapshots that are written today. One of another form is left alone and made anew.
const FORM: i64 = 2;

/// A session at rest as it was kept, and the record after which that was.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The last record in it.
    pub seq: u64,
    /// What `Session::checkpoint` made.
    pub state: String,
}

impl Store {
    /// The latest snapshot of a session; none where there is none that can be used.
    pub fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StoreError> {
        self.read(|connection, tail| {
            let session = number(connection, id)?;
            let row = connection
                .prepare_cached("SELECT seq, form, state, sum FROM snapshot WHERE session = ?1")?
                .query_row([session], |row| {
                    let state = row.get_ref(2)?.as_bytes().unwrap_or_default().to_vec();
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, state, row.get::<_, i64>(3)?))
                })
                .optional()?;
            let Some((seq, FORM, state, kept)) = row else { return Ok(None) };
            // It must not know more than the journal.
            if tail.last(connection, session)? < seq {
                return Ok(None);
            }
            let state = String::from_utf8(state).ok().filter(|state| sum_of(session, seq, state) == kept);
            Ok(state.map(|state| Snapshot { seq: u64::try_from(seq).unwrap_or_default(), state }))
        })
    }
}

/// Keeps a snapshot in the place of an earlier one.
pub(super) fn keep(conn: &mut WriterConn, id: &Arc<str>, seq: u64, state: &str) -> Result<(), StoreError> {
    let session = conn.number(id)?;
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    conn.connection
        .prepare_cached("REPLACE INTO snapshot (session, seq, form, state, sum) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![session, seq, FORM, state, sum_of(session, seq, state)])?;
    Ok(())
}

fn sum_of(session: i64, seq: i64, state: &str) -> i64 {
    sum::of_record(sum::of_text(state), session, seq, 0)
}
