//! Writing and reading records.

use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use obelus_kernel::text::depth_of_text;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;

use super::file::OpenFile;
use super::index::{RecordIndex, registered_of};
use super::{checksum, sessions};
use crate::store::{DamagedTail, Digest, InputId, Journaled, Record, StoreError, check_ids, starts_turn};

/// The current format of records.
const FORM: i64 = 4;

/// The nesting limit of a record: that of any JSON, and some more.
const MOST_LEVELS: usize = 160;

/// The initial buffer size, enough for most records.
const USUAL_BYTES: usize = 1024;

/// The columns that [`decode`] reads, in order.
const COLUMNS: &str = "at, form, record.sum, digest, input_id, input";

/// An encoded record. It is encoded on the caller's thread.
pub(super) struct Encoded {
    at: Time,
    text: String,
    text_sum: u64,
    digest: Option<Digest>,
    id: Option<InputId>,
}

impl Encoded {
    pub(super) fn all(session: &str, records: Vec<Record>) -> Result<Vec<Self>, StoreError> {
        check_ids(session, &records)?;
        records.into_iter().map(|record| Self::of(session, record)).collect()
    }

    fn of(session: &str, record: Record) -> Result<Self, StoreError> {
        let unwritable = |problem| StoreError::Unwritable { session: session.to_owned(), problem };
        let mut text = Vec::with_capacity(USUAL_BYTES);
        serde_json::to_writer(&mut text, &record.input).map_err(|error| unwritable(error.to_string()))?;
        let text = String::from_utf8(text).map_err(|error| unwritable(error.to_string()))?;
        let text_sum = checksum::of_text(&text);
        Ok(Self { at: record.at, text, text_sum, digest: record.digest, id: record.id })
    }
}

/// The checksum of a record of form 4.
fn record_sum(text: u64, place: (i64, i64), at: i64, digest: Option<i64>, id: Option<&str>) -> i64 {
    let id = id.map_or(0, |id| checksum::of_text(id).cast_signed());
    checksum::with_numbers(text, &[place.0, place.1, at, digest.is_some().into(), digest.unwrap_or(0), id])
}

/// Appends records; returns the number of the last one. `after` is the last record that the writer knows; none skips
/// the check.
pub(super) fn append(
    file: &mut OpenFile,
    id: &str,
    after: Option<u64>,
    records: &[Encoded],
) -> Result<u64, StoreError> {
    let session = file.number(id)?;
    let OpenFile { connection, index, .. } = file;
    let mut seq = index.last(connection, session)?;
    if let Some(after) = after.filter(|after| *after != number(seq)) {
        return Err(StoreError::MovedOn { session: id.to_owned(), after, found: number(seq) });
    }
    for input in records.iter().filter_map(|record| record.id.as_ref()) {
        if let Some(seq) = taken(connection, session, input)? {
            return Err(StoreError::Taken { session: id.to_owned(), input: input.to_string(), seq });
        }
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO record (place, session, seq, at, form, sum, input, digest, input_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for Encoded { at, text, text_sum, digest, id } in records {
        seq += 1;
        let (place, id) = (index.next_place(), id.as_ref().map(InputId::as_str));
        let digest = digest.map(|digest| digest.0.cast_signed());
        let sum = record_sum(*text_sum, (session, seq), at.0, digest, id);
        insert.execute(params![place, session, seq, at.0, FORM, sum, text, digest, id])?;
        index.add(session, seq, place);
    }
    Ok(number(seq))
}

/// The record of the input with this id.
pub(super) fn taken(connection: &Connection, session: i64, input: &InputId) -> Result<Option<u64>, StoreError> {
    let seq: Option<i64> = connection
        .prepare_cached("SELECT seq FROM record WHERE session = ?1 AND input_id = ?2")?
        .query_row(params![session, input.as_str()], |row| row.get(0))
        .optional()?;
    Ok(seq.map(number))
}

/// Reads the records after `after`, up to and including `upto`. A damaged end is left out and reported; damage before a
/// sound record is an error.
pub(super) fn load(
    connection: &Connection,
    index: &RecordIndex,
    id: &str,
    after: u64,
    upto: Option<u64>,
) -> Result<Journaled, StoreError> {
    let session = sessions::number(connection, id)?;
    let (first, last) = (signed(after), upto.map_or(i64::MAX, signed));
    let registered = registered_of(connection, session)?;
    let journaled = Journaled { after, records: Vec::new(), cut: None };
    let mut reading = JournalReader { id, session, expected: first, journaled };
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, register.seq, record.session, record.seq FROM register LEFT JOIN record USING (place)
         WHERE register.session = ?1 AND register.seq > ?2 AND register.seq <= ?3 ORDER BY register.seq"
    ))?;
    let mut rows = select.query(params![session, first, last])?;
    while let Some(row) = rows.next()? {
        let (seq, found) = (row.get(6)?, (row.get::<_, Option<i64>>(7)?, row.get::<_, Option<i64>>(8)?));
        if found != (Some(session), Some(seq)) {
            return Err(StoreError::DamagedIndex);
        }
        reading.take(row, seq)?;
    }
    if reading.expected != registered.min(last).max(first) {
        return Err(StoreError::DamagedIndex);
    }
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM record WHERE place = ?1"))?;
    for (seq, place) in index.recent(session).iter().filter(|(seq, _)| *seq > first && *seq <= last) {
        let mut rows = select.query([place])?;
        while let Some(row) = rows.next()? {
            reading.take(row, *seq)?;
        }
    }
    Ok(reading.journaled)
}

/// A journal being read.
struct JournalReader<'a> {
    id: &'a str,
    session: i64,
    /// The number of the latest record.
    expected: i64,
    journaled: Journaled,
}

impl JournalReader<'_> {
    fn take(&mut self, row: &Row<'_>, seq: i64) -> Result<(), StoreError> {
        self.expected += 1;
        let damaged = |seq, problem| StoreError::Damaged { session: self.id.to_owned(), seq, problem };
        if seq != self.expected {
            return Err(StoreError::DamagedIndex);
        }
        match (decode(row, self.session, seq), &mut self.journaled.cut) {
            (Ok(record), None) => self.journaled.records.push(record),
            (Ok(_), Some(DamagedTail { seq, problem, .. })) => return Err(damaged(*seq, std::mem::take(problem))),
            (Err(problem), cut) => {
                cut.get_or_insert(DamagedTail { seq: number(seq), records: 0, problem }).records += 1;
            }
        }
        Ok(())
    }
}

/// Whether the last record of a session, if it has any, can be read.
pub(super) fn has_sound_end(connection: &Connection, index: &RecordIndex, id: &str, last: i64) -> bool {
    let end = load(connection, index, id, number(last - 1), None);
    end.is_ok_and(|journaled| journaled.cut.is_none())
}

/// The last input that started a turn: start, a plan run, or a message of the user.
pub(super) fn last_turn_input(
    connection: &Connection,
    index: &RecordIndex,
    id: &str,
) -> Result<Option<Input>, StoreError> {
    let session = sessions::number(connection, id)?;
    let word = |row: &Row<'_>, seq| {
        let input = decode(row, session, seq).ok().map(|record| Arc::unwrap_or_clone(record.input));
        input.filter(starts_turn)
    };
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM record WHERE place = ?1"))?;
    for (seq, place) in index.recent(session).iter().rev() {
        let mut rows = select.query([place])?;
        if let Some(found) = rows.next()?.and_then(|row| word(row, *seq)) {
            return Ok(Some(found));
        }
    }
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, register.seq FROM register JOIN record USING (place)
         WHERE register.session = ?1 ORDER BY register.seq DESC"
    ))?;
    let mut rows = select.query([session])?;
    while let Some(row) = rows.next()? {
        if let Some(found) = word(row, row.get(6)?) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Decodes a row with the columns of [`COLUMNS`] as the record with this number.
fn decode(row: &Row<'_>, session: i64, seq: i64) -> Result<Record, String> {
    let field = |index| row.get::<_, i64>(index).map_err(|error| error.to_string());
    let (text, id) = (text(row, 5)?.ok_or("it is missing")?, text(row, 4)?);
    let digest = row.get::<_, Option<i64>>(3).map_err(|error| error.to_string())?;
    let (at, form) = (field(0)?, field(1)?);
    let is_sound = match form {
        1 => true,
        2 => field(2)? == checksum::of_form_2(seq, text),
        3 => field(2)? == checksum::with_numbers(checksum::of_text(text), &[session, seq, at]),
        FORM => field(2)? == record_sum(checksum::of_text(text), (session, seq), at, digest, id),
        _ => return Err(format!("its format is {form}; this version reads formats up to {FORM}")),
    };
    if !is_sound {
        return Err("its checksum does not match".to_owned());
    }
    // All forms have the same inputs: form 1 has no checksum, form 2 another one, form 3 neither digest nor id.
    let input = parsed(text)?;
    let id = id.map(str::parse).transpose().map_err(|error: StoreError| error.to_string())?;
    Ok(Record { at: Time(at), input: Arc::new(input), id, digest: digest.map(|digest| Digest(digest.cast_unsigned())) })
}

/// A column as text. Invalid UTF-8 is damage too.
fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<Option<&'a str>, String> {
    match row.get_ref(column).map_err(|error| error.to_string())? {
        ValueRef::Null => Ok(None),
        value => {
            let bytes = value.as_bytes().map_err(|error| error.to_string())?;
            std::str::from_utf8(bytes).map(Some).map_err(|error| error.to_string())
        }
    }
}

/// Parses an input. The result of an activity may be nested up to the limit, and is some levels deeper here.
fn parsed(text: &str) -> Result<Input, String> {
    let problem = match serde_json::from_str(text) {
        Ok(input) => return Ok(input),
        Err(problem) => problem.to_string(),
    };
    if !problem.starts_with("recursion limit exceeded") || depth_of_text(text) > MOST_LEVELS {
        return Err(problem);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    Input::deserialize(&mut reader).map_err(|error| error.to_string())
}

/// A record number as SQLite has it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A record number from SQLite.
pub(super) fn number(signed: i64) -> u64 {
    u64::try_from(signed).unwrap_or_default()
}
