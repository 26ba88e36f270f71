//! Reading, beside whoever writes.

use rusqlite::Connection;

use super::StoreError;
use super::index::RecordIndex;

/// A connection that only reads, and what it knows of the index.
pub(super) struct StoreReader {
    connection: Connection,
    /// The index, and the version of the file that it is of.
    index: Option<(i64, RecordIndex)>,
}

impl StoreReader {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, index: None }
    }

    /// Reads the file as it is at one moment, whatever is written meanwhile.
    pub(super) fn read<T>(
        &mut self,
        work: impl FnOnce(&Connection, &RecordIndex) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let version: i64 = moment.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        let index = match self.index.take() {
            Some((of, index)) if of == version => index,
            Some((_, mut index)) => {
                index.refresh(&moment)?;
                index
            }
            None => RecordIndex::read(&moment)?,
        };
        let (_, index) = self.index.insert((version, index));
        work(&moment, index)
    }
}
