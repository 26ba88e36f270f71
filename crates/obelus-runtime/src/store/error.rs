//! Why a store cannot be used, or something in it cannot be done.

use std::path::PathBuf;

use rusqlite::{ErrorCode, ffi};

use super::sqlite::FORM;

/// Why a store cannot be used, or something in it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the store.
    #[error(
        "{folder}: the store is in use by {holder}; end it, answer its questions from another process, or use another store (--store DIR)"
    )]
    Held {
        /// The store's folder.
        folder: PathBuf,
        /// Who has it.
        holder: String,
    },
    /// Somebody in this process writes the session.
    #[error("session `{0}`: somebody else in this process is at work on it")]
    Locked(String),
    /// The store was written by a later version.
    #[error("{folder}: the store is of form {found}, and this version knows forms up to {FORM}: use a newer obelus")]
    Newer {
        /// The store's folder.
        folder: PathBuf,
        /// Its form.
        found: i64,
    },
    /// The store was written by an earlier version. It can be read once somebody has opened it to write.
    #[error("{folder}: the store is of the older form {found}: run a session in it once to bring it to form {FORM}")]
    Older {
        /// The store's folder.
        folder: PathBuf,
        /// Its form.
        found: i64,
    },
    /// A session of that name exists.
    #[error("there is a session `{0}` already")]
    Exists(String),
    /// A session of that name was removed, and a copy would use the ids of its questions again.
    #[error("there was a session `{0}`, and its name cannot be given to a copy: choose another name")]
    NameUsed(String),
    /// There is no session of that name.
    #[error("there is no session `{0}`")]
    Unknown(String),
    /// A record cannot be read, or for record 0 what the session was begun with. That session is refused, the others
    /// are served.
    #[error("session `{session}`, record {seq}: {problem}")]
    Damaged {
        /// The session.
        session: String,
        /// The record's number.
        seq: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The index of the store is damaged. It is made anew by whoever opens the store to write.
    #[error("the store's index is damaged: run a session in the store once to mend it")]
    DamagedIndex,
    /// An input has no written form.
    #[error("session `{session}`: an input cannot be written down: {problem}")]
    Unwritable {
        /// The session.
        session: String,
        /// Why.
        problem: String,
    },
    /// Somebody else has written to the session meanwhile.
    #[error(
        "session `{session}`: its journal has {found} records, and not {after}: somebody else writes it; take it up again"
    )]
    MovedOn {
        /// The session.
        session: String,
        /// The last record that the writer knew of.
        after: u64,
        /// The last record there is.
        found: u64,
    },
    /// An input of this id was taken before.
    #[error("session `{session}`: the input `{input}` was taken with record {seq}")]
    Taken {
        /// The session.
        session: String,
        /// The id of the input.
        input: String,
        /// The record with which it was taken.
        seq: u64,
    },
    /// Two of the records to be written have the same id.
    #[error("session `{session}`: two inputs have the id `{input}`")]
    TwoOfOneId {
        /// The session.
        session: String,
        /// The id of the inputs.
        input: String,
    },
    /// A text that is no name of a session.
    #[error("`{0}` is no name for a session: letters, digits, `-` and `_`, at most 64")]
    BadName(String),
    /// A text that is no id of an input.
    #[error("the id of an input has 1 to {most} bytes, and not {0}", most = super::InputId::LONGEST)]
    BadInputId(usize),
    /// The engine failed: the disk is full, read-only or broken. Nothing was written.
    #[error("the store cannot be written or read: {}", words_of(.0))]
    Disk(rusqlite::Error),
    /// The same, for all that waited for one commit.
    #[error("nothing was written: {0}")]
    NotWritten(String),
    /// A sync failed. What is on the disk is known when the store has been opened anew (DUR-9).
    #[error(
        "whether it was written is not known: {0}; the store was closed, and what it holds when it is opened again counts"
    )]
    OutcomeUnknown(String),
    /// The store was opened to read only.
    #[error("{0}: the store was opened to look at it only")]
    OnlyLooking(PathBuf),
    /// The folder cannot be used.
    #[error("{0}: {1}")]
    Folder(PathBuf, std::io::Error),
}

// Its words have all that there is to say, so it is no source that would be told once more.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Disk(error)
    }
}

/// An error of the engine: what happened, and what to do about it.
pub(super) fn words_of(error: &rusqlite::Error) -> String {
    match error.sqlite_error() {
        Some(failure) if is_full(failure) => "the disk is full; free some space on it and try again".to_owned(),
        Some(failure) if failure.code == ErrorCode::ReadOnly => {
            "the disk or the file is read-only; make it writable, or name another store with --store".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Whether there is no room for what the engine wants to write. It needs a small file beside the store even to read.
pub(super) fn is_full(failure: &ffi::Error) -> bool {
    failure.code == ErrorCode::DiskFull || failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE
}

/// Why records were not appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Nothing was written: the disk is full, for example, or somebody else writes the session.
    #[error("{0}")]
    NotDurable(String),
    /// A sync failed: the records may be there when the store is opened again, or not.
    #[error("{0}")]
    OutcomeUnknown(String),
}

impl AppendError {
    /// The stable code of the refusal.
    pub fn code(&self) -> &'static str {
        match self {
            AppendError::NotDurable(_) => "not_durable",
            AppendError::OutcomeUnknown(_) => "outcome_unknown",
        }
    }
}

impl From<StoreError> for AppendError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::OutcomeUnknown(_) => AppendError::OutcomeUnknown(error.to_string()),
            _ => AppendError::NotDurable(error.to_string()),
        }
    }
}
