//! Records: how an input is written down, and how it is read again.

use std::sync::Arc;

use obelus_kernel::session::Input;
use obelus_kernel::{Time, depth_of_text};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::StoreError;
use super::batch_writer::{WriterConn, number};
use super::sum;
use super::tail::Tail;

/// The form of the records that are written today.
const FORM: i64 = 3;

/// Levels of a record that can be read: those of the deepest JSON that anybody reads, and some.
const MOST_LEVELS: usize = 160;

/// An input as it is written down.
pub(super) struct Record {
    at: Time,
    text: String,
    /// The sum of the text; that of the record is made from it when its place is known.
    sum: u64,
}

impl Record {
    pub(super) fn of(session: &str, at: Time, input: &Input) -> Result<Self, StoreError> {
        let damaged = |error: serde_json::Error| StoreError::Unwritable {
            session: session.to_owned(),
            problem: error.to_string(),
        };
        let text = serde_json::to_string(input).map_err(damaged)?;
        Ok(Self { at, sum: sum::of_text(&text), text })
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }
}

/// What was read of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Journaled {
    /// The inputs, oldest first, each with its time.
    pub inputs: Vec<(Time, Input)>,
    /// Where the end is damaged and was left out.
    pub cut: Option<Cut>,
}

/// A damaged end of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first record that cannot be read.
    pub seq: u64,
    /// How many records are left out, this one included.
    pub records: u64,
    /// What is wrong with it.
    pub problem: String,
}

/// Appends records. `after` is the last record that the writer knows of: if there is another one after it, somebody
/// else writes this session.
pub(super) fn append(
    conn: &mut WriterConn,
    id: &Arc<str>,
    after: Option<u64>,
    records: &[Record],
) -> Result<u64, StoreError> {
    let session = conn.number(id)?;
    let mut seq = conn.tail.last(&conn.connection, session)?;
    if let Some(after) = after
        && i64::try_from(after) != Ok(seq)
    {
        let found = u64::try_from(seq).unwrap_or_default();
        return Err(StoreError::MovedOn { session: id.to_string(), after, found });
    }
    let mut insert = conn.connection.prepare_cached(
        "INSERT INTO record (place, session, seq, at, form, sum, input) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for Record { at, text, sum } in records {
        seq += 1;
        let place = conn.tail.next_place();
        insert.execute(params![place, session, seq, at.0, FORM, sum::of_record(*sum, session, seq, at.0), text])?;
        conn.tail.add(session, seq, place);
    }
    Ok(u64::try_from(seq).unwrap_or_default())
}

/// Reads the records after `after`, up to and including `upto`. A damaged end is left out and said; damage that
/// something sound comes after is an error.
pub(super) fn read(
    connection: &Connection,
    tail: &Tail,
    id: &str,
    after: u64,
    upto: Option<u64>,
) -> Result<Journaled, StoreError> {
    let session = number(connection, id)?;
    let first = i64::try_from(after).unwrap_or(i64::MAX);
    let last = upto.map_or(i64::MAX, |upto| i64::try_from(upto).unwrap_or(i64::MAX));
    let mut reading = Reading { id, session, expected: first, inputs: Vec::new(), cut: None };
    let mut select = connection.prepare_cached(
        "SELECT register.seq, at, form, sum, input FROM register LEFT JOIN record USING (place)
         WHERE register.session = ?1 AND register.seq > ?2 AND register.seq <= ?3 ORDER BY register.seq",
    )?;
    let mut rows = select.query(params![session, first, last])?;
    while let Some(row) = rows.next()? {
        reading.take(row)?;
    }
    let mut select = connection.prepare_cached("SELECT seq, at, form, sum, input FROM record WHERE place = ?1")?;
    for (_, place) in tail.of(session).iter().filter(|(seq, _)| *seq > first && *seq <= last) {
        let mut rows = select.query([place])?;
        while let Some(row) = rows.next()? {
            reading.take(row)?;
        }
    }
    Ok(Journaled { inputs: reading.inputs, cut: reading.cut })
}

/// A journal of which some records have been read.
struct Reading<'a> {
    id: &'a str,
    session: i64,
    /// The number of the latest record.
    expected: i64,
    inputs: Vec<(Time, Input)>,
    cut: Option<Cut>,
}

impl Reading<'_> {
    fn take(&mut self, row: &Row<'_>) -> Result<(), StoreError> {
        let seq: i64 = row.get(0)?;
        self.expected += 1;
        let damaged = |seq, problem| StoreError::Damaged { session: self.id.to_owned(), seq, problem };
        if seq != self.expected {
            return Err(damaged(seq, "a record before it is missing".to_owned()));
        }
        match (decode(row, self.session), &mut self.cut) {
            (Ok(read), None) => self.inputs.push(read),
            (Ok(_), Some(Cut { seq, problem, .. })) => {
                return Err(damaged(i64::try_from(*seq).unwrap_or(i64::MAX), std::mem::take(problem)));
            }
            (Err(problem), cut) => {
                let seq = u64::try_from(seq).unwrap_or_default();
                cut.get_or_insert(Cut { seq, records: 0, problem }).records += 1;
            }
        }
        Ok(())
    }
}

/// What the session was last told to do: to start, to run its plan, or words of the user.
pub(super) fn last_word(connection: &Connection, tail: &Tail, id: &str) -> Result<Option<Input>, StoreError> {
    let session = number(connection, id)?;
    let word = |row: &Row<'_>| {
        let input = decode(row, session).ok().map(|(_, input)| input);
        input.filter(|input| matches!(input, Input::Start | Input::RunPlan | Input::User { .. }))
    };
    let mut select = connection.prepare_cached("SELECT seq, at, form, sum, input FROM record WHERE place = ?1")?;
    for (_, place) in tail.of(session).iter().rev() {
        let mut rows = select.query([place])?;
        if let Some(found) = rows.next()?.and_then(word) {
            return Ok(Some(found));
        }
    }
    let mut select = connection.prepare_cached(
        "SELECT register.seq, at, form, sum, input FROM register JOIN record USING (place)
         WHERE register.session = ?1 ORDER BY register.seq DESC",
    )?;
    let mut rows = select.query([session])?;
    while let Some(row) = rows.next()? {
        if let Some(found) = word(row) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// When the last record of a session came; none while it has none.
pub(super) fn last_at(connection: &Connection, tail: &Tail, id: &str) -> Result<Option<Time>, StoreError> {
    let session = number(connection, id)?;
    let at = match tail.of(session).last() {
        Some((_, place)) => connection
            .prepare_cached("SELECT at FROM record WHERE place = ?1")?
            .query_row([place], |row| row.get(0))
            .optional()?,
        None => connection
            .prepare_cached(
                "SELECT at FROM register JOIN record USING (place) WHERE register.session = ?1
                 ORDER BY register.seq DESC LIMIT 1",
            )?
            .query_row([session], |row| row.get(0))
            .optional()?,
    };
    Ok(at.map(Time))
}

/// Takes the records of a session away from one on: a damaged end, so that the journal can go on, or all of it.
pub(super) fn cut(conn: &mut WriterConn, session: i64, from: u64) -> Result<(), StoreError> {
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let WriterConn { connection, tail, .. } = conn;
    connection.execute(
        "DELETE FROM record WHERE place IN (SELECT place FROM register WHERE session = ?1 AND seq >= ?2)",
        [session, from],
    )?;
    connection.execute("DELETE FROM register WHERE session = ?1 AND seq >= ?2", [session, from])?;
    for (_, place) in tail.of(session).iter().filter(|(seq, _)| *seq >= from) {
        connection.prepare_cached("DELETE FROM record WHERE place = ?1")?.execute([place])?;
    }
    tail.cut(session, from);
    connection.execute("DELETE FROM snapshot WHERE session = ?1 AND seq >= ?2", [session, from])?;
    Ok(())
}

/// A row with number, time, form, sum and text of a record.
fn decode(row: &Row<'_>, session: i64) -> Result<(Time, Input), String> {
    let field = |index| row.get::<_, i64>(index).map_err(|error| error.to_string());
    let bytes = match row.get_ref(4).map_err(|error| error.to_string())? {
        ValueRef::Null => return Err("it is missing".to_owned()),
        // Bytes that are no text are damage too.
        value => value.as_bytes().map_err(|error| error.to_string())?,
    };
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let (seq, at, form) = (field(0)?, field(1)?, field(2)?);
    let sound = match form {
        1 => true,
        2 => field(3)? == sum::of_form_2(seq, text),
        FORM => field(3)? == sum::of_record(sum::of_text(text), session, seq, at),
        _ => return Err(format!("it is of form {form}, and this version knows forms up to {FORM}")),
    };
    if !sound {
        return Err("its sum is not that of what is written there".to_owned());
    }
    let input = match form {
        FORM => parsed(text)?,
        _ => {
            let value = parsed(text)?;
            serde_json::from_value(upcast(form, value)).map_err(|error| error.to_string())?
        }
    };
    Ok((Time(at), input))
}

/// Reads a record. What an activity brought may be nested as deep as can be read at all, and stands some levels deeper
/// here.
fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    let problem = match serde_json::from_str(text) {
        Ok(record) => return Ok(record),
        Err(problem) => problem.to_string(),
    };
    if !problem.starts_with("recursion limit exceeded") || depth_of_text(text) > MOST_LEVELS {
        return Err(problem);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    T::deserialize(&mut reader).map_err(|error| error.to_string())
}

/// A record of an older form, in today's. Form 1 had no sum and no form of its own, form 2 another sum; their inputs
/// are spelt as today.
fn upcast(form: i64, input: Value) -> Value {
    debug_assert!((1..FORM).contains(&form));
    input
}
