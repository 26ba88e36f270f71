//! The latest requests, for the portal's page.

use std::collections::VecDeque;

use crate::methods::RecordChange;

/// Older entries are dropped.
const CAPACITY: usize = 200;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct LogEntry {
    pub(crate) number: u64,
    pub(crate) at: i64,
    pub(crate) method: String,
    /// The commands of a batch, in short.
    pub(crate) commands: Vec<String>,
    /// The parameters and the number of rows returned, for a call that changed nothing.
    pub(crate) asked: String,
    /// HTTP status, code and description of an error.
    pub(crate) fault: Option<(u16, String, String)>,
    pub(crate) changes: Vec<RecordChange>,
    /// The request was carried out, but its answer was dropped on purpose.
    pub(crate) dropped: bool,
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    entries: VecDeque<LogEntry>,
    count: u64,
}

impl RequestLog {
    pub(crate) fn push(&mut self, mut entry: LogEntry) {
        self.count += 1;
        entry.number = self.count;
        self.entries.push_front(entry);
        self.entries.truncate(CAPACITY);
    }

    /// The number of requests since the start.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Newest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &LogEntry> {
        self.entries.iter()
    }
}
