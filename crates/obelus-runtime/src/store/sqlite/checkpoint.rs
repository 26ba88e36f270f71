//! The data of resting sessions: a checkpoint, the open questions and a summary, each replaced by the next.

use rusqlite::{Connection, OptionalExtension, params};
use serde::Deserialize;
use serde_json::{Value, json};

use super::file::OpenFile;
use super::index::RecordIndex;
use super::journal::{has_sound_end, number, signed};
use super::writer::DeferredCheckpoint;
use super::{checksum, sessions};
use crate::store::{InboxRow, Snapshot, StoreError};
use crate::summary::SessionSummary;

/// The current format of checkpoints. One of another format is ignored and replaced.
const FORM: i64 = 2;

/// The latest usable checkpoint of a session.
pub(super) fn snapshot(connection: &Connection, index: &RecordIndex, id: &str) -> Result<Option<Snapshot>, StoreError> {
    let session = sessions::number(connection, id)?;
    let row = connection
        .prepare_cached("SELECT seq, form, state, sum FROM snapshot WHERE session = ?1")?
        .query_row([session], |row| {
            let state = row.get_ref(2)?.as_bytes().unwrap_or_default().to_vec();
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, state, row.get::<_, i64>(3)?))
        })
        .optional()?;
    let Some((seq, FORM, state, stored_sum)) = row else { return Ok(None) };
    let state = String::from_utf8(state).ok().filter(|state| sum_of(session, seq, state) == stored_sum);
    // A checkpoint must not be newer than the records, nor hide that some before it are missing.
    if state.is_some() {
        if index.last(connection, session)? < seq {
            return Err(StoreError::DamagedIndex);
        }
        index.check_whole(connection, session)?;
    }
    Ok(state.map(|state| Snapshot { seq: number(seq), state }))
}

/// Stores a resting session, replacing older data. Removed sessions are skipped.
pub(super) fn write(file: &mut OpenFile, deferred: &DeferredCheckpoint) -> Result<(), StoreError> {
    let session = match file.number(&deferred.id) {
        Err(StoreError::Disk(error)) => return Err(StoreError::Disk(error)),
        Err(_) => return Ok(()),
        Ok(number) => number,
    };
    if let Some((seq, state)) = &deferred.checkpoint {
        let seq = signed(*seq);
        file.connection
            .prepare_cached("REPLACE INTO snapshot (session, seq, form, state, sum) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![session, seq, FORM, state, sum_of(session, seq, state)])?;
    }
    let text = json!({"questions": deferred.questions, "summary": deferred.summary}).to_string();
    let seq = signed(deferred.seq);
    // A reader may have seen an earlier rest.
    file.connection
        .prepare_cached(
            "INSERT INTO inbox (session, seq, questions, sum) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, questions = excluded.questions, sum = excluded.sum
             WHERE excluded.seq >= inbox.seq",
        )?
        .execute(params![session, seq, text, sum_of(session, seq, &text)])?;
    Ok(())
}

/// The content of a row of the table `inbox`. Older versions write the questions alone, and restore a session whose row
/// is an object.
#[derive(Deserialize)]
struct RestText {
    questions: Vec<Value>,
    summary: Option<SessionSummary>,
}

impl RestText {
    fn parse(text: &str) -> Option<Self> {
        if text.starts_with('[') {
            Some(Self { questions: serde_json::from_str(text).ok()?, summary: None })
        } else {
            serde_json::from_str(text).ok()
        }
    }
}

/// Removes data stored after a removed record.
pub(super) fn cut(connection: &Connection, session: i64, from: i64) -> Result<(), StoreError> {
    connection.execute("DELETE FROM snapshot WHERE session = ?1 AND seq >= ?2", [session, from])?;
    connection.execute("DELETE FROM inbox WHERE session = ?1 AND seq >= ?2", [session, from])?;
    Ok(())
}

/// All sessions with open questions, or whose questions are unknown.
pub(super) fn inbox(connection: &Connection, index: &RecordIndex) -> Result<Vec<InboxRow>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT id, number, seq, questions, inbox.sum FROM session LEFT JOIN inbox ON session = number
         ORDER BY number DESC",
    )?;
    let mut rows = select.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, session): (String, i64) = (row.get(0)?, row.get(1)?);
        let last = index.last(connection, session)?;
        let questions = match (row.get(2)?, row.get::<_, Option<String>>(3)?, row.get::<_, Option<i64>>(4)?) {
            (Some(seq), Some(text), Some(stored_sum))
                if seq == last
                    && sum_of(session, seq, &text) == stored_sum
                    && has_sound_end(connection, index, &id, last) =>
            {
                RestText::parse(&text).map(|rest| rest.questions)
            }
            // A session without records has no questions.
            _ if last == 0 => Some(Vec::new()),
            _ => None,
        };
        if questions.as_ref().is_none_or(|questions| !questions.is_empty()) {
            all.push(InboxRow { session: id, questions });
        }
    }
    Ok(all)
}

/// The summary of a resting session, if it is current and the session can be restored from its end.
pub(super) fn summary(
    connection: &Connection,
    index: &RecordIndex,
    id: &str,
) -> Result<Option<SessionSummary>, StoreError> {
    let session = sessions::number(connection, id)?;
    let row = connection
        .prepare_cached("SELECT seq, questions, sum FROM inbox WHERE session = ?1")?
        .query_row([session], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?)))
        .optional()?;
    let Some((seq, text, stored_sum)) = row else { return Ok(None) };
    let is_current = index.last(connection, session)? == seq
        && sum_of(session, seq, &text) == stored_sum
        && has_sound_end(connection, index, id, seq);
    Ok(RestText::parse(&text).filter(|_| is_current).and_then(|rest| rest.summary))
}

fn sum_of(session: i64, seq: i64, text: &str) -> i64 {
    checksum::with_numbers(checksum::of_text(text), &[session, seq, 0])
}
