//! Records: how an input is written down, and how it is read again.

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::StoreError;

/// The form of the records that are written today.
const FORM: i64 = 2;

/// An input as it is written down.
pub(super) struct Record {
    at: Time,
    text: String,
}

impl Record {
    pub(super) fn of(session: &str, at: Time, input: &Input) -> Result<Self, StoreError> {
        let damaged = |error: serde_json::Error| StoreError::Unwritable {
            session: session.to_owned(),
            problem: error.to_string(),
        };
        Ok(Self { at, text: serde_json::to_string(input).map_err(damaged)? })
    }
}

impl Record {
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

/// The number of a session of this name.
pub(super) fn number(connection: &Connection, id: &str) -> Result<i64, StoreError> {
    let found = connection
        .prepare_cached("SELECT number FROM session WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    found.ok_or_else(|| StoreError::Unknown(id.to_owned()))
}

/// The number of the last record of a session.
pub(super) fn last(connection: &Connection, number: i64) -> Result<i64, StoreError> {
    let mut select = connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM record WHERE session = ?1")?;
    Ok(select.query_row([number], |row| row.get(0))?)
}

/// Appends records. `after` is the last record that the writer knows of: if there is another one after it, somebody
/// else writes this session.
pub(super) fn append(
    connection: &Connection,
    id: &str,
    after: Option<u64>,
    records: &[Record],
) -> Result<u64, StoreError> {
    let number = number(connection, id)?;
    let mut seq = last(connection, number)?;
    if let Some(after) = after
        && i64::try_from(after) != Ok(seq)
    {
        let found = u64::try_from(seq).unwrap_or_default();
        return Err(StoreError::MovedOn { session: id.to_owned(), after, found });
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO record (session, seq, at, input, form, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for Record { at, text } in records {
        seq += 1;
        insert.execute(params![number, seq, at.0, text, FORM, sum(seq, text)])?;
    }
    Ok(u64::try_from(seq).unwrap_or_default())
}

/// Reads the records after `after`, up to and including `upto`. A damaged end is left out and said; damage that
/// something sound comes after is an error.
pub(super) fn read(connection: &Connection, id: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError> {
    let number = number(connection, id)?;
    let first = i64::try_from(after).unwrap_or(i64::MAX);
    let last = upto.map_or(i64::MAX, |upto| i64::try_from(upto).unwrap_or(i64::MAX));
    let mut select = connection.prepare_cached(
        "SELECT seq, at, input, form, sum FROM record WHERE session = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq",
    )?;
    let mut rows = select.query(params![number, first, last])?;
    let (mut inputs, mut cut) = (Vec::new(), None::<Cut>);
    let mut expected = first;
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        expected += 1;
        let damaged = |problem: String| StoreError::Damaged { session: id.to_owned(), seq, problem };
        if seq != expected {
            return Err(damaged("a record before it is missing".to_owned()));
        }
        // Bytes that are no text are damage too.
        let text = row.get_ref(2)?.as_bytes().map_err(|error| error.to_string());
        let text = text.and_then(|bytes| std::str::from_utf8(bytes).map_err(|error| error.to_string()));
        let (form, sum) = (row.get(3)?, row.get(4)?);
        match text.and_then(|text| decode(seq, text, form, sum)) {
            Ok(input) => match cut {
                None => inputs.push((Time(row.get(1)?), input)),
                Some(Cut { seq, problem, .. }) => {
                    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
                    return Err(StoreError::Damaged { session: id.to_owned(), seq, problem });
                }
            },
            Err(problem) => {
                let seq = u64::try_from(seq).unwrap_or_default();
                cut.get_or_insert(Cut { seq, records: 0, problem }).records += 1;
            }
        }
    }
    Ok(Journaled { inputs, cut })
}

/// What the session was last told to do: to start, to run its plan, or words of the user.
pub(super) fn last_word(connection: &Connection, id: &str) -> Result<Option<Input>, StoreError> {
    let number = number(connection, id)?;
    let mut select =
        connection.prepare_cached("SELECT seq, input, form, sum FROM record WHERE session = ?1 ORDER BY seq DESC")?;
    let mut rows = select.query([number])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_str().unwrap_or_default();
        let input = decode(row.get(0)?, text, row.get(2)?, row.get(3)?).ok();
        if matches!(input, Some(Input::Start | Input::RunPlan | Input::User { .. })) {
            return Ok(input);
        }
    }
    Ok(None)
}

/// Takes a damaged end away, so that the journal can go on.
pub(super) fn cut(connection: &Connection, id: &str, from: u64) -> Result<(), StoreError> {
    let number = number(connection, id)?;
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    connection.execute("DELETE FROM record WHERE session = ?1 AND seq >= ?2", params![number, from])?;
    connection.execute("DELETE FROM snapshot WHERE session = ?1 AND seq >= ?2", params![number, from])?;
    Ok(())
}

fn decode(seq: i64, text: &str, form: i64, kept: Option<i64>) -> Result<Input, String> {
    if kept.is_some_and(|kept| kept != sum(seq, text)) {
        return Err("its sum is not that of what is written there".to_owned());
    }
    match form {
        FORM => serde_json::from_str(text).map_err(|error| error.to_string()),
        1..FORM => {
            let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            serde_json::from_value(upcast(form, value)).map_err(|error| error.to_string())
        }
        _ => Err(format!("it is of form {form}, and this version knows forms up to {FORM}")),
    }
}

/// A record of an older form, in today's. Form 1 had no sum and no form of its own; its inputs are spelt as today.
fn upcast(form: i64, input: Value) -> Value {
    debug_assert!((1..FORM).contains(&form));
    input
}

/// FNV-1a over a text and its place: cheap, and damage does not hit it by chance.
pub(super) fn sum(seq: i64, text: &str) -> i64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let start = seq.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    text.as_bytes().iter().fold(start, step).cast_signed()
}
