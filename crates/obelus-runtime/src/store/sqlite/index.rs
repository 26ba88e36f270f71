//! The positions of a session's records: an index that is written now and then.
//!
//! Records of all sessions are in one table in order of arrival, so that a commit touches few pages. An SQLite index
//! would have to be written with every commit, a page for each session in it. The table `register` is such an index,
//! but it is written only once in some thousand records and when the store is closed. Later records are found by
//! reading the end of the record table, and are kept in memory. `registered` has the extent of the register and
//! `registered_of` the number of records of each session in it, both with checksums: so a damaged register is
//! detected, and rebuilt from the records.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::{StoreError, checksum};

/// The limit of records outside the register, except those of the latest commit. In this crate's tests it is low, so
/// that they cover both cases.
const MOST: usize = if cfg!(test) { 8 } else { 4096 };

/// The records that are not in the register yet.
#[derive(Default)]
pub(super) struct RecordIndex {
    /// Number and position of each, by session, oldest first.
    sessions: BTreeMap<i64, Vec<(i64, i64)>>,
    records: usize,
    /// The last position ever used.
    end: i64,
    covered: RegisterExtent,
}

/// The extent of the register.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct RegisterExtent {
    /// Its last position.
    upto: i64,
    /// How often records were removed. Their positions may have been reused.
    removals: i64,
}

impl RegisterExtent {
    /// None if it is damaged.
    fn read(connection: &Connection) -> Result<Option<Self>, StoreError> {
        let mut select = connection.prepare_cached("SELECT upto, removals, sum FROM registered")?;
        let (covered, stored_sum) = select
            .query_row([], |row| Ok((Self { upto: row.get(0)?, removals: row.get(1)? }, row.get::<_, i64>(2)?)))?;
        Ok(Some(covered).filter(|covered| covered.sum() == stored_sum))
    }

    fn write(self, connection: &Connection) -> Result<(), StoreError> {
        let mut update = connection.prepare_cached("UPDATE registered SET upto = ?1, removals = ?2, sum = ?3")?;
        update.execute([self.upto, self.removals, self.sum()])?;
        Ok(())
    }

    fn sum(self) -> i64 {
        checksum::with_numbers(0, &[self.upto, self.removals])
    }
}

impl RecordIndex {
    /// Reads the index. A register with the wrong extent is an error.
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let covered = RegisterExtent::read(connection)?.ok_or(StoreError::DamagedIndex)?;
        let mut index = Self { end: covered.upto, covered, ..Self::default() };
        index.read_on(connection)?;
        Ok(index)
    }

    /// Reads the index for writing: a damaged register is rebuilt.
    pub(super) fn open(connection: &Connection) -> Result<Self, StoreError> {
        if RegisterExtent::read(connection)?.is_none() {
            let transaction = connection.unchecked_transaction()?;
            rebuild(&transaction)?;
            transaction.commit()?;
        }
        Self::read(connection)
    }

    /// Updates it from the file.
    pub(super) fn refresh(&mut self, connection: &Connection) -> Result<(), StoreError> {
        if RegisterExtent::read(connection)? == Some(self.covered) {
            self.read_on(connection)?;
        } else {
            *self = Self::read(connection)?;
        }
        Ok(())
    }

    fn read_on(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut select =
            connection.prepare_cached("SELECT place, session, seq FROM record WHERE place > ?1 ORDER BY place")?;
        let mut rows = select.query([self.end])?;
        while let Some(row) = rows.next()? {
            self.add(row.get(1)?, row.get(2)?, row.get(0)?);
        }
        Ok(())
    }

    /// The position after all others.
    pub(super) fn next_place(&self) -> i64 {
        self.end + 1
    }

    /// Adds a written record.
    pub(super) fn add(&mut self, session: i64, seq: i64, place: i64) {
        self.sessions.entry(session).or_default().push((seq, place));
        self.records += 1;
        self.end = place;
    }

    /// Number and position of each record of a session outside the register, oldest first.
    pub(super) fn recent(&self, session: i64) -> &[(i64, i64)] {
        self.sessions.get(&session).map_or(&[], Vec::as_slice)
    }

    /// The number of the last record of a session.
    pub(super) fn last(&self, connection: &Connection, session: i64) -> Result<i64, StoreError> {
        if let Some((seq, _)) = self.recent(session).last() {
            return Ok(*seq);
        }
        registered_of(connection, session)
    }

    /// Checks that no record of a session is missing (DUR-14), without reading them. The register loses the entries of
    /// deleted records (see `schema`), so it is enough to count.
    pub(super) fn check_whole(&self, connection: &Connection, session: i64) -> Result<(), StoreError> {
        let count = |sql: &str, params: &[i64]| -> Result<i64, StoreError> {
            let mut select = connection.prepare_cached(sql)?;
            Ok(select.query_row(rusqlite::params_from_iter(params), |row| row.get(0))?)
        };
        let registered = registered_of(connection, session)?;
        let found = count("SELECT count(*) FROM register WHERE session = ?1", &[session])?;
        let recent = self.recent(session);
        let found_recent = match (recent.first(), recent.last()) {
            (Some((_, first)), Some((_, last))) => count(
                "SELECT count(*) FROM record WHERE place BETWEEN ?1 AND ?2 AND session = ?3",
                &[*first, *last, session],
            )?,
            _ => 0,
        };
        let is_whole = found == registered
            && found_recent == recent.len() as i64
            && recent.iter().zip(registered + 1..).all(|((seq, _), expected)| *seq == expected);
        if is_whole { Ok(()) } else { Err(StoreError::DamagedIndex) }
    }

    /// Removes the records of a session from `from` on.
    pub(super) fn cut(&mut self, connection: &Connection, session: i64, from: i64) -> Result<(), StoreError> {
        connection.execute(
            "DELETE FROM record WHERE place IN (SELECT place FROM register WHERE session = ?1 AND seq >= ?2)",
            [session, from],
        )?;
        connection.execute("DELETE FROM register WHERE session = ?1 AND seq >= ?2", [session, from])?;
        let registered = registered_of(connection, session).unwrap_or(from - 1);
        match registered.min(from - 1) {
            ..1 => drop(connection.execute("DELETE FROM registered_of WHERE session = ?1", [session])?),
            left => set_registered_of(connection, session, left)?,
        }
        let recent = self.sessions.entry(session).or_default();
        let mut delete = connection.prepare_cached("DELETE FROM record WHERE place = ?1")?;
        for (_, place) in recent.iter().filter(|(seq, _)| *seq >= from) {
            delete.execute([place])?;
        }
        self.records -= recent.len();
        recent.retain(|(seq, _)| *seq < from);
        self.records += recent.len();
        if recent.is_empty() {
            self.sessions.remove(&session);
        }
        self.covered.removals += 1;
        self.covered.write(connection)
    }

    /// Whether all records are in the register.
    pub(super) fn is_registered(&self) -> bool {
        self.records == 0
    }

    /// Whether the register is due to be written.
    pub(super) fn is_long(&self) -> bool {
        self.records >= MOST
    }

    /// Writes all records to the register.
    pub(super) fn register(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let new = "INSERT INTO register (session, seq, place)
             SELECT session, seq, place FROM record WHERE place > ?1 ORDER BY session, seq";
        connection.prepare_cached(new)?.execute([self.covered.upto])?;
        for (session, records) in &self.sessions {
            if let Some((last, _)) = records.last() {
                set_registered_of(connection, *session, *last)?;
            }
        }
        self.covered.upto = self.end;
        self.covered.write(connection)?;
        self.sessions.clear();
        self.records = 0;
        Ok(())
    }
}

/// Rebuilds the register from the records. A session that had more records than are found keeps its count, so that
/// the damage is detected.
pub(super) fn rebuild(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch(
        "DELETE FROM register;
         INSERT OR IGNORE INTO register (session, seq, place)
             SELECT session, seq, place FROM record ORDER BY session, seq;",
    )?;
    let mut lasts = connection.prepare("SELECT session, max(seq) FROM register GROUP BY session")?;
    let lasts: Vec<(i64, i64)> =
        lasts.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    for (session, last) in lasts {
        let known = registered_of(connection, session).unwrap_or(0);
        set_registered_of(connection, session, last.max(known))?;
    }
    let upto = connection.query_row("SELECT coalesce(max(place), 0) FROM record", [], |row| row.get(0))?;
    let removals: i64 = connection.query_row("SELECT removals FROM registered", [], |row| row.get(0))?;
    // Readers that know the old register must read it again.
    RegisterExtent { upto, removals: removals.wrapping_add(1) }.write(connection)
}

/// The number of a session's records in the register.
pub(super) fn registered_of(connection: &Connection, session: i64) -> Result<i64, StoreError> {
    let row = connection
        .prepare_cached("SELECT records, sum FROM registered_of WHERE session = ?1")?
        .query_row([session], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        .optional()?;
    match row {
        None => Ok(0),
        Some((records, stored_sum)) if stored_sum == checksum::with_numbers(0, &[session, records]) => Ok(records),
        Some(_) => Err(StoreError::DamagedIndex),
    }
}

fn set_registered_of(connection: &Connection, session: i64, records: i64) -> Result<(), StoreError> {
    connection.prepare_cached("REPLACE INTO registered_of (session, records, sum) VALUES (?1, ?2, ?3)")?.execute([
        session,
        records,
        checksum::with_numbers(0, &[session, records]),
    ])?;
    Ok(())
}
