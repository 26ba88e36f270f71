//! Reads concurrently with the writer.

use rusqlite::Connection;

use super::StoreError;
use super::index::RecordIndex;

/// A read-only connection, and its cached index.
pub(super) struct StoreReader {
    connection: Connection,
    /// The index, and its version of the file.
    index: Option<(i64, RecordIndex)>,
}

impl StoreReader {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, index: None }
    }

    /// Reads a consistent snapshot of the file.
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
