//! DUR-5: one process holds a store, and its lock file names that process.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use super::StoreError;

/// The process that holds a store, as the lock file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A process with its program.
    Process {
        /// Its number.
        id: u32,
        /// Its program.
        program: String,
    },
    /// Another text, for people.
    Unknown(String),
}

impl Holder {
    fn this_process() -> Self {
        let program = std::env::args().next().unwrap_or_default();
        let program = Path::new(&program).file_name().map(|name| name.to_string_lossy().into_owned());
        Holder::Process { id: std::process::id(), program: program.unwrap_or_default() }
    }

    /// The holder that a lock file names.
    fn named(file: &mut File) -> Self {
        let mut text = String::new();
        let _ = file.rewind().and_then(|()| file.take(1000).read_to_string(&mut text));
        let _ = file.rewind();
        let text = obelus_kernel::visible(text.trim());
        let process = || {
            let (id, program) = text.strip_prefix("process ")?.split_once(" (")?;
            Some(Holder::Process { id: id.parse().ok()?, program: program.strip_suffix(')')?.to_owned() })
        };
        process().unwrap_or_else(|| {
            if text.is_empty() { Holder::Unknown("another process".to_owned()) } else { Holder::Unknown(text) }
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Process { id, program } => write!(f, "process {id} ({program})"),
            Holder::Unknown(text) => f.write_str(text),
        }
    }
}

/// Takes the folder's lock, or returns its holder. The operating system releases it when the holder ends.
pub(super) fn take(folder: &Path) -> Result<File, StoreError> {
    let at = |error| StoreError::Folder(folder.to_owned(), error);
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).map_err(at)?;
    match try_for_a_while(&mut file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::Held { folder: folder.to_owned(), holder: Holder::named(&mut file) });
        }
        Err(TryLockError::Error(error)) => return Err(at(error)),
    }
    // The name is only for error messages, so a full disk must not prevent opening the store.
    let _ = file.set_len(0).and_then(|()| file.rewind());
    let _ = write!(file, "{}", Holder::this_process());
    Ok(file)
}

/// Whether the lock is held: tries to take it, and releases it at once.
pub(super) fn is_held(folder: &Path) -> bool {
    File::open(folder.join("lock")).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The number of attempts while the holder lives.
const TRIES: u32 = 10;

/// The number of attempts if the named process is gone.
const TRIES_IF_GONE: u32 = 100;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(30);

/// Takes the lock with retries: the lock of a killed process may outlive it for a moment.
fn try_for_a_while(file: &mut File) -> Result<(), TryLockError> {
    let mut tries = 0;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if tries < TRIES || (tries < TRIES_IF_GONE && is_gone(file)) => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

/// Whether the named process no longer exists. False if that cannot be found out.
fn is_gone(file: &mut File) -> bool {
    let Holder::Process { id, .. } = Holder::named(file) else { return false };
    Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{id}")).exists()
}
