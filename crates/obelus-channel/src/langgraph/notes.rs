//! Data of a thread beside its session: metadata, and branches.
//!
//! A thread is created before its agent is known; its session begins with the first run. A run from an earlier
//! checkpoint continues in a fork of the session, and the thread shows the latest fork from then on.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use obelus_kernel::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Larger files are refused.
const LARGEST: u64 = 1 << 20;

/// The data of a thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ThreadNote {
    /// The clients' metadata.
    #[serde(default)]
    pub(super) metadata: Map<String, Value>,
    /// When it was created and changed.
    #[serde(default)]
    pub(super) created: Time,
    #[serde(default)]
    pub(super) updated: Time,
    /// Forked sessions, oldest first. The thread shows the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) branches: Vec<String>,
    /// The thread of which this session is a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) branch_of: Option<String>,
}

impl ThreadNote {
    /// The session that a thread shows.
    pub(super) fn session<'a>(&'a self, thread: &'a str) -> &'a str {
        self.branches.last().map_or(thread, String::as_str)
    }
}

/// The notes of all threads, one file each.
pub(super) struct ThreadNotes {
    folder: PathBuf,
    /// One change at a time.
    change: Mutex<()>,
    /// One search through all threads at a time.
    pub(super) searching: tokio::sync::Mutex<()>,
}

impl ThreadNotes {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.join("threads"), change: Mutex::default(), searching: tokio::sync::Mutex::default() }
    }

    /// The note of a thread, if there is one. The id has been checked.
    pub(super) fn get(&self, thread: &str) -> io::Result<Option<ThreadNote>> {
        let path = self.path(thread);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            Ok(file) if file.len() > LARGEST => return Err(io::Error::other("the note of the thread is too large")),
            Ok(_) => {}
        }
        Ok(Some(serde_json::from_slice(&fs::read(path)?)?))
    }

    /// Changes the note of a thread, which is created if necessary.
    pub(super) fn change(
        &self,
        thread: &str,
        now: Time,
        change: impl FnOnce(&mut ThreadNote),
    ) -> io::Result<ThreadNote> {
        let _one = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.get(thread)?;
        if known.is_none() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        }
        let mut note = known.unwrap_or_else(|| ThreadNote { created: now, ..ThreadNote::default() });
        note.updated = now;
        change(&mut note);
        self.write(thread, &note)?;
        Ok(note)
    }

    /// Removes the note of a thread.
    pub(super) fn remove(&self, thread: &str) -> io::Result<()> {
        match fs::remove_file(self.path(thread)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All readable notes.
    pub(super) fn all(&self) -> BTreeMap<String, ThreadNote> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        let names = files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".json")?.to_owned()));
        names.filter_map(|name| Some((name.clone(), self.get(&name).ok()??))).collect()
    }

    fn path(&self, thread: &str) -> PathBuf {
        self.folder.join(format!("{thread}.json"))
    }

    /// Writes a file atomically.
    fn write(&self, thread: &str, note: &ThreadNote) -> io::Result<()> {
        let bytes = serde_json::to_vec(note)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let part = self.folder.join(format!("{thread}.part"));
        // Removed first, so that a link is not followed.
        let _ = fs::remove_file(&part);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(part, self.path(thread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_too_large_to_read_back_is_not_written() {
        let folder = std::env::temp_dir().join(format!("obelus-notes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let notes = ThreadNotes::new(&folder);
        let put =
            |text: String| notes.change("t", Time(1), |note| drop(note.metadata.insert("a".to_owned(), text.into())));
        put("small".to_owned()).unwrap();
        assert_eq!(put("x".repeat(2 << 20)).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(notes.get("t").unwrap().unwrap().metadata["a"], "small");
        notes.remove("t").unwrap();
        assert!(notes.get("t").unwrap().is_none());
    }
}
