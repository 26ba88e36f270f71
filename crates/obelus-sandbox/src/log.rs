//! The latest requests, for people who want to see what a program did.

use std::collections::VecDeque;

use crate::methods::Change;

/// So many are kept.
const MOST: usize = 200;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) at: i64,
    pub(crate) method: String,
    /// The commands of a batch, in short.
    pub(crate) commands: Vec<String>,
    /// What was asked for by a call that changed nothing, and how much came back.
    pub(crate) asked: String,
    /// The HTTP status and the error's code, where it went wrong.
    pub(crate) fault: Option<(u16, String, String)>,
    pub(crate) changes: Vec<Change>,
    /// It was done, but its answer was dropped on purpose.
    pub(crate) dropped: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    count: u64,
}

impl Log {
    pub(crate) fn push(&mut self, mut entry: Entry) {
        self.count += 1;
        entry.number = self.count;
        self.entries.push_front(entry);
        self.entries.truncate(MOST);
    }

    /// How many there have been in all.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The latest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}
