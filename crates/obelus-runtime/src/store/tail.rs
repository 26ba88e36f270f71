//! Where the records of a session lie.
//!
//! Records lie in the order in which they came, whatever session they are of: so a commit touches few pages, however
//! many sessions it serves. The register says where those of one session are. It is brought up to date once in
//! some thousand records and when the store is closed, sorted by session, and not with every commit, which would have
//! to touch a page of it for each session. What came since then is the tail; whoever opens the store reads it.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::StoreError;

/// Records that are not in the register yet, at most, but for those of the latest commit. In this crate's own tests
/// it is few, so that most of them meet both.
const MOST: usize = if cfg!(test) { 8 } else { 4096 };

/// The records that are not in the register yet.
#[derive(Default)]
pub(super) struct Tail {
    /// Number and place of each, by session, oldest first.
    sessions: BTreeMap<i64, Vec<(i64, i64)>>,
    records: usize,
    /// The last place that is or was in use.
    end: i64,
}

impl Tail {
    /// Reads it.
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let end = connection.prepare_cached("SELECT upto FROM registered")?.query_row([], |row| row.get(0))?;
        let mut tail = Self { end, ..Self::default() };
        let mut select =
            connection.prepare_cached("SELECT place, session, seq FROM record WHERE place > ?1 ORDER BY place")?;
        let mut rows = select.query([end])?;
        while let Some(row) = rows.next()? {
            tail.add(row.get(1)?, row.get(2)?, row.get(0)?);
        }
        Ok(tail)
    }

    /// The place after all others.
    pub(super) fn next_place(&self) -> i64 {
        self.end + 1
    }

    /// A record was written.
    pub(super) fn add(&mut self, session: i64, seq: i64, place: i64) {
        self.sessions.entry(session).or_default().push((seq, place));
        self.records += 1;
        self.end = place;
    }

    /// Records of a session were taken away, from one on.
    pub(super) fn cut(&mut self, session: i64, from: i64) {
        if let Some(records) = self.sessions.get_mut(&session) {
            self.records -= records.len();
            records.retain(|(seq, _)| *seq < from);
            self.records += records.len();
            if records.is_empty() {
                self.sessions.remove(&session);
            }
        }
    }

    /// Number and place of each record of a session in it, oldest first.
    pub(super) fn of(&self, session: i64) -> &[(i64, i64)] {
        self.sessions.get(&session).map_or(&[], Vec::as_slice)
    }

    /// The number of the last record of a session, in it or in the register.
    pub(super) fn last(&self, connection: &Connection, session: i64) -> Result<i64, StoreError> {
        if let Some((seq, _)) = self.of(session).last() {
            return Ok(*seq);
        }
        let mut select = connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM register WHERE session = ?1")?;
        Ok(select.query_row([session], |row| row.get(0))?)
    }

    /// Whether everything is in the register.
    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Whether it should go into the register by now.
    pub(super) fn is_long(&self) -> bool {
        self.records >= MOST
    }

    /// Puts everything into the register.
    pub(super) fn register(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut insert = connection.prepare_cached("INSERT INTO register (session, seq, place) VALUES (?1, ?2, ?3)")?;
        for (session, records) in &self.sessions {
            for (seq, place) in records {
                insert.execute(params![session, seq, place])?;
            }
        }
        connection.prepare_cached("UPDATE registered SET upto = ?1")?.execute([self.end])?;
        self.sessions.clear();
        self.records = 0;
        Ok(())
    }
}
