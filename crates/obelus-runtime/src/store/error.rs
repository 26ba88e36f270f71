//! Why a store cannot be used, or something in it cannot be done.

use std::path::PathBuf;

use super::schema;

/// Why a store cannot be used, or something in it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("{folder}: the store is in use by {holder}; end it first, or answer there")]
    Held {
        /// The store's folder.
        folder: PathBuf,
        /// Who has it.
        holder: String,
    },
    /// It was written by a later version.
    #[error(
        "{folder}: the store is of form {found}, and this version knows forms up to {}: use a newer obelus",
        schema::FORM
    )]
    Newer {
        /// The store's folder.
        folder: PathBuf,
        /// Its form.
        found: i64,
    },
    /// It was written by an earlier version, and can be looked at once somebody has opened it to write.
    #[error(
        "{folder}: the store is of the older form {found}: run a session in it once to bring it to form {}",
        schema::FORM
    )]
    Older {
        /// The store's folder.
        folder: PathBuf,
        /// Its form.
        found: i64,
    },
    /// A session of that name exists.
    #[error("there is a session `{0}` already")]
    Exists(String),
    /// There is no session of that name.
    #[error("there is no session `{0}`")]
    Unknown(String),
    /// A record cannot be read: that session is refused, the others are served.
    #[error("session `{session}`, record {seq}: {problem}")]
    Damaged {
        /// The session.
        session: String,
        /// The record's number.
        seq: i64,
        /// What is wrong with it.
        problem: String,
    },
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
    /// A name that is no name.
    #[error("`{0}` is no name for a session: letters, digits, `-` and `_`, at most 64")]
    BadName(String),
    /// The disk said no: full, read-only, or broken. Nothing was written.
    #[error("the store cannot be written or read: {0}")]
    Disk(#[from] rusqlite::Error),
    /// The same, told to all that waited for one commit.
    #[error("nothing was written: {0}")]
    NotWritten(String),
    /// It was opened to look only.
    #[error("{0}: the store was opened to look at it only")]
    OnlyLooking(PathBuf),
    /// The folder cannot be used.
    #[error("{0}: {1}")]
    Folder(PathBuf, std::io::Error),
}
