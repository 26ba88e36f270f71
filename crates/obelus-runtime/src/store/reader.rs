//! Reading, beside whoever writes.

use rusqlite::Connection;

use super::StoreError;
use super::tail::Tail;

/// A connection that only reads, and what it knows of the tail.
pub(super) struct Reader {
    connection: Connection,
    /// The tail, and which version of the file it is of.
    tail: Option<(i64, Tail)>,
}

impl Reader {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, tail: None }
    }

    /// Reads something that is found without the tail.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Reads the file as it is at one moment, whatever is written meanwhile.
    pub(super) fn read<T>(
        &mut self,
        work: impl FnOnce(&Connection, &Tail) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let version: i64 = moment.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        // Another version may have the same places with other records in them.
        let tail = match self.tail.take() {
            Some((of, tail)) if of == version => tail,
            _ => Tail::read(&moment)?,
        };
        let (_, tail) = self.tail.insert((version, tail));
        work(&moment, tail)
    }
}
