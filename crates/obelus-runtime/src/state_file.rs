//! DUR-7: the state of a session as a JSON file that people can read and edit.
//!
//! The journal is authoritative; the file is derived from it. A record beside the file has what was last written, so
//! that a person's changes are recognised, even after a crash or when the session has continued. During a turn the
//! record is not synced; after a power failure the journal tells which state the file has.

mod changes;

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use obelus_kernel::session::Session;
use obelus_kernel::text::without_position;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::check_name;
use crate::{StoreError, atomic_file};

/// Larger files are refused.
const LARGEST: u64 = 32 << 20;

/// A file changed more recently than this may change again and keep its time of change, because filesystems round it.
const RECENT: Duration = Duration::from_millis(100);

/// The file of one session.
pub(crate) struct StateFile {
    path: PathBuf,
    /// The record of what was last written.
    record: PathBuf,
    known: Known,
    /// Whether the record is synced.
    is_noted: bool,
    /// The record's file, open for overwriting.
    unsynced_file: Option<fs::File>,
    /// The content that was last read.
    found: Vec<u8>,
    /// The content that was refused, so that it is reported once.
    refused: Option<Vec<u8>>,
    /// The stamp of the file when it had the known text. While the stamp is the same, the file need not be read.
    stamp: Option<Stamp>,
    /// Whether the state may be written beside a person's file.
    may_have_own: bool,
}

/// The stamp of a file, which differs after every change: device, inode, size, and time of change, which people cannot
/// set.
type Stamp = (u64, u64, u64, (i64, i64));

/// The record's content.
#[derive(Default, Serialize, Deserialize)]
struct Known {
    /// The text that was last written to the file, or adopted from it.
    text: String,
    /// The text that `text` is replacing: after a crash the file may have either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instead_of: Option<String>,
}

/// A notice about the files of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNews {
    /// A person's change was adopted.
    Taken {
        /// The file.
        file: PathBuf,
    },
    /// A person's change is invalid. The file is left unchanged.
    Refused {
        /// The file, with line and column if known.
        place: String,
        /// The error.
        why: String,
        /// Where the state is written meanwhile.
        ours: PathBuf,
    },
    /// The file could not be read or written. Nothing is lost: the journal has everything.
    Trouble {
        /// The file.
        file: PathBuf,
        /// The error.
        why: String,
    },
}

impl std::fmt::Display for FileNews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileNews::Taken { file } => write!(f, "{}: your changes to the state are taken up", file.display()),
            FileNews::Refused { place, why, ours } => write!(
                f,
                "{place}: {why}. The file is left as it is until it is mended or removed; the state is written to {}",
                ours.display()
            ),
            FileNews::Trouble { file, why } => write!(f, "{}: {why}; the journal has everything", file.display()),
        }
    }
}

/// What was found in the file.
#[derive(Debug, PartialEq)]
pub(crate) enum StateNews {
    /// No change by a person.
    Nothing,
    /// A person's change, as a state.
    Edited(Value),
    /// An invalid change.
    News(FileNews),
}

impl StateFile {
    /// The file of a session in the store's folder. Nothing is written yet.
    pub(crate) fn open(folder: &Path, session: &str) -> Result<Self, StoreError> {
        check_name(session)?;
        let states = folder.join("states");
        atomic_file::private_folder(&states).map_err(|error| StoreError::Folder(states.clone(), error))?;
        let record = states.join(format!(".{session}.written"));
        // Without a record, any content other than the session's state is a person's.
        let known = read_file(&record).ok().flatten().and_then(|bytes| read_record(&bytes)).unwrap_or_default();
        let (unsynced_file, found) = (None, Vec::new());
        Ok(Self {
            path: states.join(format!("{session}.json")),
            record,
            known,
            is_noted: true,
            unsynced_file,
            found,
            refused: None,
            stamp: None,
            may_have_own: true,
        })
    }

    /// Where the state is written while a person's file is left unchanged.
    fn own_path(&self) -> PathBuf {
        self.path.with_extension("json.new")
    }

    /// Removes the files of a session.
    pub(crate) fn remove(folder: &Path, session: &str) -> Result<(), StoreError> {
        let file = Self::open(folder, session)?;
        for path in [&file.path, &file.record, &file.own_path()] {
            atomic_file::remove(path).map_err(|error| StoreError::Folder(path.clone(), error))?;
        }
        Ok(())
    }

    /// Finds out what a power failure during a turn has left, if the session's state is not the recorded one:
    /// `states` visits those of the turn. If the file has none of them, a person has changed one, probably the most
    /// similar one.
    pub(crate) fn recognise(&mut self, current: &Value, states: impl FnOnce(&mut dyn FnMut(Value))) {
        if self.known.text == text(current) {
            return;
        }
        let Ok(Some(bytes)) = self.read() else { return };
        if self.is_known(&bytes) {
            return;
        }
        let Ok(found) = serde_json::from_slice::<Value>(&bytes) else { return };
        let changed =
            |base: &Value| changes::of(found.clone(), base, None).as_object().map_or(usize::MAX, serde_json::Map::len);
        let mut nearest = std::mem::take(&mut self.known.text);
        let mut least = changed(&serde_json::from_str(&nearest).unwrap_or_default());
        states(&mut |state| {
            let changes = changed(&state);
            // Of equally similar states the earliest is taken: the file was not written after it.
            if changes < least {
                (nearest, least) = (text(&state), changes);
            }
        });
        // The record is written now, because a later process does not have these states.
        let _ = self.note(Known { text: nearest, instead_of: None });
    }

    /// Checks for changes by a person. An invalid one is reported once.
    pub(crate) fn read_edits(&mut self, session: &Session) -> StateNews {
        let bytes = match self.read() {
            Ok(Some(bytes)) if !self.is_known(&bytes) => bytes,
            Ok(_) => {
                self.refused = None;
                return StateNews::Nothing;
            }
            Err(error) => return StateNews::News(self.trouble(&error)),
        };
        if self.refused.as_ref() == Some(&bytes) {
            return StateNews::Nothing;
        }
        self.found.clone_from(&bytes);
        match self.changes(&bytes, session) {
            Ok(None) => StateNews::Nothing,
            Ok(Some(state)) => StateNews::Edited(state),
            Err((place, why)) => {
                self.refused = Some(bytes);
                StateNews::News(FileNews::Refused { place, why, ours: self.own_path() })
            }
        }
    }

    fn changes(&self, bytes: &[u8], session: &Session) -> Result<Option<Value>, (String, String)> {
        let file = self.path.display();
        let found: Value = serde_json::from_slice(bytes).map_err(|error| {
            let place = format!("{file}:{}:{}", error.line(), error.column());
            (place, without_position(&error.to_string()).to_owned())
        })?;
        let current = session.state();
        if found == current {
            return Ok(None);
        }
        let base = serde_json::from_str(&self.known.text).unwrap_or_default();
        let state = changes::of(found, &base, session.settings().managed.confirmations.as_deref());
        session.would_take(&state).map_err(|refused| (file.to_string(), refused.text))?;
        Ok(Some(state))
    }

    /// The change has become part of the session.
    pub(crate) fn edits_adopted(&mut self) -> FileNews {
        let news = FileNews::Taken { file: self.path.clone() };
        // It may have been changed again since.
        let text = String::from_utf8(std::mem::take(&mut self.found)).unwrap_or_default();
        let noted = self.note(Known { text, instead_of: None });
        let _ = self.remove_own();
        noted.map_or_else(|error| self.trouble(&error), |()| news)
    }

    /// Writes the state. A file that a person has changed is left unchanged: it is read first, at the start of the
    /// next turn.
    pub(crate) fn write(&mut self, state: &Value) -> Option<FileNews> {
        self.try_write(state).err().map(|error| self.trouble(&error))
    }

    /// The same during a turn. The record is synced when the turn rests.
    pub(crate) fn write_on(&mut self, state: &Value) -> Option<FileNews> {
        self.try_write_on(state).err().map(|error| self.trouble(&error))
    }

    fn try_write_on(&mut self, state: &Value) -> io::Result<()> {
        let text = text(state);
        if text == self.known.text {
            return Ok(());
        }
        if self.read()?.is_some_and(|bytes| !self.is_known(&bytes)) {
            return self.leave_alone(&text);
        }
        let prepared = atomic_file::prepare(&self.path, text.as_bytes())?;
        let instead_of = Some(std::mem::take(&mut self.known.text));
        self.write_unsynced(Known { text: text.clone(), instead_of })?;
        prepared.rename()?;
        self.write_unsynced(Known { text, instead_of: None })
    }

    /// Writes the state beside a file that a person has changed.
    fn leave_alone(&mut self, text: &str) -> io::Result<()> {
        if !self.is_noted {
            // The person's changes are relative to it.
            let known = std::mem::take(&mut self.known);
            self.note(known)?;
        }
        self.may_have_own = true;
        atomic_file::write(&self.own_path(), text.as_bytes())
    }

    /// Removes what was written beside a person's file.
    fn remove_own(&mut self) -> io::Result<()> {
        if self.may_have_own {
            atomic_file::remove(&self.own_path())?;
            self.may_have_own = false;
        }
        Ok(())
    }

    fn try_write(&mut self, state: &Value) -> io::Result<()> {
        let text = text(state);
        let there = self.read()?;
        match &there {
            Some(bytes) if bytes == text.as_bytes() => {
                // It was written during the turn, a crash came between file and record, or a person wrote exactly
                // this.
                if !(self.is_noted && self.known.text == text) {
                    self.note(Known { text, instead_of: None })?;
                }
                return self.remove_own();
            }
            Some(bytes) if !self.is_known(bytes) => return self.leave_alone(&text),
            _ => {}
        }
        let instead_of = there.and_then(|bytes| String::from_utf8(bytes).ok());
        self.note(Known { text: text.clone(), instead_of })?;
        atomic_file::write(&self.path, text.as_bytes())?;
        self.note(Known { text, instead_of: None })?;
        self.remove_own()
    }

    /// Writes the record durably.
    fn note(&mut self, known: Known) -> io::Result<()> {
        let line = serde_json::to_string(&known)? + "\n";
        (self.known, self.is_noted, self.unsynced_file, self.stamp) = (known, false, None, None);
        atomic_file::write(&self.record, line.as_bytes())?;
        self.is_noted = true;
        Ok(())
    }

    /// Writes the record so that it survives this process, but not a power failure.
    fn write_unsynced(&mut self, known: Known) -> io::Result<()> {
        let line = serde_json::to_string(&known)? + "\n";
        (self.known, self.is_noted, self.stamp) = (known, false, None);
        if self.unsynced_file.is_none() {
            is_there(&self.record)?;
            self.unsynced_file =
                Some(atomic_file::private().write(true).create(true).truncate(false).open(&self.record)?);
        }
        // The rest of a longer old line stays after it and is ignored.
        self.unsynced_file.as_ref().map_or(Ok(()), |record| record.write_all_at(line.as_bytes(), 0))
    }

    fn is_known(&self, bytes: &[u8]) -> bool {
        bytes == self.known.text.as_bytes()
            || self.known.instead_of.as_ref().is_some_and(|text| bytes == text.as_bytes())
    }

    /// The file's content. It is not read if it has not been changed since it had the known text.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(stamp) = stamp_of(&self.path)? else { return Ok(None) };
        if self.stamp == Some(stamp) {
            return Ok(Some(self.known.text.clone().into_bytes()));
        }
        let read = read_file(&self.path)?;
        let is_ours = read.as_ref().is_some_and(|bytes| bytes == self.known.text.as_bytes());
        self.stamp = Some(stamp).filter(|stamp| is_ours && !is_recent(*stamp));
        Ok(read)
    }

    fn trouble(&self, error: &io::Error) -> FileNews {
        FileNews::Trouble { file: self.path.clone(), why: error.to_string() }
    }
}

/// Reads a file, if it exists.
fn read_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if !is_there(path)? {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST { Err(io::Error::other("it is larger than any state")) } else { Ok(Some(bytes)) }
}

/// Whether the file exists. A pipe or a device is an error: opening one may block for ever.
fn is_there(path: &Path) -> io::Result<bool> {
    Ok(stamp_of(path)?.is_some())
}

/// The stamp of a file, if it exists.
fn stamp_of(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(found) if found.is_file() => {
            Ok(Some((found.dev(), found.ino(), found.len(), (found.ctime(), found.ctime_nsec()))))
        }
        Ok(_) => Err(io::Error::other("it is no regular file")),
    }
}

/// Whether a file was changed just now.
fn is_recent((.., (seconds, nanoseconds)): Stamp) -> bool {
    let since_epoch = |seconds: i64| u64::try_from(seconds).ok().map(Duration::from_secs);
    let nanoseconds = u64::try_from(nanoseconds).unwrap_or_default();
    let changed = since_epoch(seconds).map(|at| SystemTime::UNIX_EPOCH + at + Duration::from_nanos(nanoseconds));
    // A time in the future counts as recent.
    !changed.is_some_and(|at| at.elapsed().is_ok_and(|ago| ago > RECENT))
}

/// Reads the record: a line, perhaps followed by the rest of a longer one.
fn read_record(bytes: &[u8]) -> Option<Known> {
    serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next()?).ok()
}

/// A state as text.
fn text(state: &Value) -> String {
    format!("{state:#}\n")
}

#[cfg(test)]
mod tests;
