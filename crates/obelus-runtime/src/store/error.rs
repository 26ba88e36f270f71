//! Errors of a store.

use std::fmt;
use std::path::{Path, PathBuf};

use obelus_kernel::session::refusals::RefusalCode;
use obelus_words::{Language, fill};
use rusqlite::{ErrorCode, ffi};

use super::sqlite::{FORM, Holder};

/// An error of a store.
#[derive(Debug)]
pub enum StoreError {
    /// Another process holds the store.
    Held {
        /// The store's folder.
        folder: PathBuf,
        /// The process.
        holder: Holder,
    },
    /// The session has a writer in this process.
    Locked(String),
    /// The store was written by a later version.
    Newer {
        /// The store's folder.
        folder: PathBuf,
        /// Its format.
        found: i64,
    },
    /// The store was written by an earlier version. It must be opened for writing before it can be read.
    Older {
        /// The store's folder.
        folder: PathBuf,
        /// Its format.
        found: i64,
    },
    /// The store's file is empty: it was damaged.
    Emptied(PathBuf),
    /// A session of that name exists.
    Exists(String),
    /// A session of that name was removed, and a copy would reuse the ids of its questions.
    NameUsed(String),
    /// There is no session of that name.
    Unknown(String),
    /// A record cannot be read; record 0 is the genesis. Only this session is refused.
    Damaged {
        /// The session.
        session: String,
        /// The record's number.
        seq: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The store's index is damaged. It is rebuilt when the store is opened for writing.
    DamagedIndex,
    /// An input cannot be serialised.
    Unwritable {
        /// The session.
        session: String,
        /// Why.
        problem: String,
    },
    /// Another writer has appended to the session.
    MovedOn {
        /// The session.
        session: String,
        /// The last record that the writer knew.
        after: u64,
        /// The last record.
        found: u64,
    },
    /// An input with this id was taken before.
    Taken {
        /// The session.
        session: String,
        /// The id of the input.
        input: String,
        /// Its record.
        seq: u64,
    },
    /// Two of the records to be written have the same id.
    TwoOfOneId {
        /// The session.
        session: String,
        /// The id of the inputs.
        input: String,
    },
    /// Not a valid session name.
    BadName(String),
    /// Not a valid input id.
    BadInputId(usize),
    /// The engine failed: the disk is full, read-only or broken. Nothing was written.
    Disk(rusqlite::Error),
    /// Like [`Self::Disk`], for all writes of one commit.
    NotWritten(String),
    /// A record is larger than the engine can take; record 0 is the genesis. Nothing was written.
    TooLarge {
        /// The session.
        session: String,
        /// The record's number.
        seq: u64,
        /// Its size in megabytes, and the largest one.
        megabytes: [usize; 2],
    },
    /// A sync failed. What is on disk is known when the store is reopened (DUR-9).
    OutcomeUnknown(String),
    /// The server that stores the sessions cannot be reached, or gives invalid answers.
    Unreachable(String),
    /// The store was opened for reading only.
    OnlyLooking(PathBuf),
    /// The folder cannot be used.
    Folder(PathBuf, std::io::Error),
    /// Other users can write to the folder or the file.
    OpenToOthers {
        /// The folder or the file.
        place: PathBuf,
        /// Its permissions.
        mode: u32,
        /// Its owner, if that is another user: only this user can change the permissions.
        owner: Option<u32>,
    },
    /// The folder or the file belongs to another user, who can write to it.
    OfAnother {
        /// The folder or the file.
        place: PathBuf,
        /// The user.
        owner: u32,
    },
}

impl std::error::Error for StoreError {}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(Language::English))
    }
}

impl StoreError {
    /// The error and the remedy, as text for people.
    pub fn in_words(&self, language: Language) -> String {
        let words = &language.words().store;
        let path = |folder: &Path| folder.display().to_string();
        let form = FORM.to_string();
        match self {
            StoreError::Held { folder, holder } => {
                let holder = match holder {
                    Holder::Process { id, program } => fill(words.process, &[&format!("{id} ({program})")]),
                    Holder::Unknown(text) => text.clone(),
                };
                fill(words.held, &[&path(folder), &holder])
            }
            StoreError::Locked(session) => fill(words.locked, &[session]),
            StoreError::Newer { folder, found } => fill(words.newer, &[&path(folder), &found.to_string(), &form]),
            StoreError::Older { folder, found } => fill(words.older, &[&path(folder), &found.to_string(), &form]),
            StoreError::Emptied(file) => fill(words.emptied, &[&path(file)]),
            StoreError::Exists(session) => fill(words.exists, &[session]),
            StoreError::NameUsed(session) => fill(words.name_used, &[session]),
            StoreError::Unknown(session) => fill(words.unknown, &[session]),
            StoreError::Damaged { session, seq, problem } => fill(words.damaged, &[session, &seq.to_string(), problem]),
            StoreError::DamagedIndex => words.damaged_index.to_owned(),
            StoreError::MovedOn { session, after, found } => {
                fill(words.moved_on, &[session, &found.to_string(), &after.to_string()])
            }
            StoreError::BadName(name) => fill(words.bad_name, &[name]),
            StoreError::Disk(error) => fill(words.disk, &[&words_of(error, language)]),
            StoreError::NotWritten(why) => fill(words.not_written, &[why]),
            StoreError::TooLarge { session, seq, megabytes: [size, most] } => {
                fill(words.too_large, &[session, &seq.to_string(), &size.to_string(), &most.to_string()])
            }
            StoreError::OutcomeUnknown(why) => fill(words.outcome_unknown, &[why]),
            StoreError::Unreachable(why) => fill(words.unreachable, &[why]),
            StoreError::OnlyLooking(folder) => fill(words.only_looking, &[&path(folder)]),
            StoreError::Folder(folder, why) => fill(words.folder, &[&path(folder), &why.to_string()]),
            StoreError::OpenToOthers { place, mode, owner } => {
                let (place, mode) = (path(place), format!("{mode:03o}"));
                match owner {
                    None => fill(words.open_to_others, &[&place, &mode, &format!("chmod go-w {place}")]),
                    Some(owner) => fill(words.open_and_foreign, &[&place, &mode, &owner.to_string()]),
                }
            }
            StoreError::OfAnother { place, owner } => fill(words.of_another, &[&path(place), &owner.to_string()]),
            // Only programs see these.
            StoreError::Unwritable { session, problem } => {
                format!("session `{session}`: an input cannot be written down: {problem}")
            }
            StoreError::Taken { session, input, seq } => {
                format!("session `{session}`: the input `{input}` was taken with record {seq}")
            }
            StoreError::TwoOfOneId { session, input } => {
                format!("session `{session}`: two inputs have the id `{input}`")
            }
            StoreError::BadInputId(bytes) => {
                format!("the id of an input has 1 to {} bytes, and not {bytes}", super::InputId::LONGEST)
            }
        }
    }
}

// The text contains the whole error, so there is no separate source.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Disk(error)
    }
}

/// An error of the engine, and the remedy.
pub(super) fn words_of(error: &rusqlite::Error, language: Language) -> String {
    let words = &language.words().store;
    match error.sqlite_error() {
        Some(failure) if is_full(failure) => words.disk_full.to_owned(),
        Some(failure) if failure.code == ErrorCode::ReadOnly => words.read_only.to_owned(),
        _ => error.to_string(),
    }
}

/// Whether there is no space for the engine's files. It needs a small file beside the store even to read.
pub(super) fn is_full(failure: &ffi::Error) -> bool {
    failure.code == ErrorCode::DiskFull || failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE
}

/// Why records were not appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Nothing was written: for example, the disk is full, or there is another writer.
    #[error("{0}")]
    NotDurable(String),
    /// A sync failed: the records may or may not exist when the store is reopened.
    #[error("{0}")]
    OutcomeUnknown(String),
}

impl AppendError {
    /// The stable refusal code.
    pub fn code(&self) -> RefusalCode {
        match self {
            AppendError::NotDurable(_) => RefusalCode::NotDurable,
            AppendError::OutcomeUnknown(_) => RefusalCode::OutcomeUnknown,
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
