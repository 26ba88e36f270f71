//! The sessions of a store by name (DUR-14).
//!
//! A session's name is in its row and in an index, and its checksum in another index: so a damaged name is found by
//! its checksum, and is not mistaken for a free name.

use obelus_kernel::Time;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{StoreError, checksum};

/// The number of a session, without reading its genesis.
pub(super) fn number(connection: &Connection, id: &str) -> Result<i64, StoreError> {
    let number = connection
        .prepare_cached("SELECT number FROM session WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
    // The name is also in the row, because the index may be damaged.
    let name = connection
        .prepare_cached("SELECT id FROM session WHERE number = ?1")?
        .query_row([number], |row| text(row, 0))
        .optional()?;
    if name.flatten().as_deref() == Some(id) { Ok(number) } else { Err(damaged(id)) }
}

/// The number and genesis of a session, checked by their checksums.
pub(super) fn find(connection: &Connection, id: &str) -> Result<Option<(i64, String)>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT number FROM session WHERE id = ?1 UNION SELECT number FROM session WHERE name_sum = ?2",
    )?;
    let numbers: Vec<i64> = select.query_map(params![id, name_sum(id)], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for number in numbers {
        match read(connection, number)? {
            Some((name, genesis)) if name == id => return Ok(Some((number, genesis))),
            // Another name with the same checksum.
            Some(_) => {}
            None => return Err(damaged(id)),
        }
    }
    Ok(None)
}

fn damaged(id: &str) -> StoreError {
    let problem = "its name or what it was begun with is damaged".to_owned();
    StoreError::Damaged { session: id.to_owned(), seq: 0, problem }
}

/// Name and genesis of a session; none if their checksums do not match.
fn read(connection: &Connection, number: i64) -> Result<Option<(String, String)>, StoreError> {
    let mut select =
        connection.prepare_cached("SELECT id, created, genesis, name_sum, sum FROM session WHERE number = ?1")?;
    let row = select
        .query_row([number], |row| {
            Ok((text(row, 0)?, row.get::<_, i64>(1)?, text(row, 2)?, row.get::<_, i64>(3)?, row.get::<_, i64>(4)?))
        })
        .optional()?;
    let Some((Some(id), created, Some(genesis), of_name, stored_sum)) = row else { return Ok(None) };
    let is_sound = of_name == name_sum(&id) && stored_sum == row_sum(number, &id, created, &genesis);
    Ok(is_sound.then_some((id, genesis)))
}

/// How many sessions of a name were removed.
pub(super) fn removed(connection: &Connection, id: &str) -> Result<u64, StoreError> {
    let mut select = connection.prepare_cached("SELECT times FROM removed WHERE id = ?1")?;
    let times: Option<i64> = select.query_row([id], |row| row.get(0)).optional()?;
    Ok(times.map_or(0, i64::unsigned_abs))
}

/// Records that a session of a name was removed.
pub(super) fn note_removed(connection: &Connection, id: &str) -> Result<(), StoreError> {
    connection.execute(
        "INSERT INTO removed (id, times) VALUES (?1, 1) ON CONFLICT (id) DO UPDATE SET times = times + 1",
        [id],
    )?;
    Ok(())
}

/// Inserts a new session; returns its number.
pub(super) fn insert(connection: &Connection, id: &str, at: Time, genesis: &str) -> Result<i64, StoreError> {
    if find(connection, id)?.is_some() {
        return Err(StoreError::Exists(id.to_owned()));
    }
    let number = connection
        .prepare_cached("SELECT coalesce(max(number), 0) + 1 FROM session")?
        .query_row([], |row| row.get::<_, i64>(0))?;
    connection
        .prepare_cached(
            "INSERT INTO session (number, id, created, genesis, name_sum, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![number, id, at.0, genesis, name_sum(id), row_sum(number, id, at.0, genesis)])?;
    Ok(number)
}

/// Adds checksums to older sessions. One that cannot be read gets none, and counts as damaged.
pub(super) fn add_sums(connection: &Connection) -> Result<(), StoreError> {
    let mut numbers = connection.prepare("SELECT number FROM session")?;
    let numbers: Vec<i64> = numbers.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut select = connection.prepare("SELECT id, created, genesis FROM session WHERE number = ?1")?;
    let mut update = connection.prepare("UPDATE session SET name_sum = ?2, sum = ?3 WHERE number = ?1")?;
    for number in numbers {
        let texts = |row: &Row<'_>| Ok((text(row, 0)?, row.get::<_, i64>(1)?, text(row, 2)?));
        if let (Some(id), created, Some(genesis)) = select.query_row([number], texts)? {
            update.execute([number, name_sum(&id), row_sum(number, &id, created, &genesis)])?;
        }
    }
    Ok(())
}

/// A column as text; none if it is not valid text.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(row.get_ref(column)?.as_bytes().ok().and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
}

fn name_sum(id: &str) -> i64 {
    checksum::of_text(id).cast_signed()
}

fn row_sum(number: i64, id: &str, created: i64, genesis: &str) -> i64 {
    checksum::with_numbers(checksum::of_text(genesis), &[number, name_sum(id), created])
}
