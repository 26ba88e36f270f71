//! Atomic file writes: a reader sees the old or the new content, never a part.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Creates a private folder, if necessary.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Options for a private file.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Writes a file atomically and durably.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    prepare(path, bytes)?.put_in_place()
}

/// A file that is written and synced under a temporary name.
pub(crate) struct Prepared {
    other: PathBuf,
    path: PathBuf,
}

/// The temporary name. Leftovers of a crash are overwritten.
fn other(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.tmp"))
}

/// Removes a file, if it exists, and leftovers of a crash.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for path in [path, &other(path)] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Writes and syncs the temporary file.
pub(crate) fn prepare(path: &Path, bytes: &[u8]) -> io::Result<Prepared> {
    let other = other(path);
    let mut file = private().write(true).create(true).truncate(true).open(&other)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(Prepared { other, path: path.to_owned() })
}

impl Prepared {
    /// Renames it. After a crash the file may be the old one.
    pub(crate) fn rename(&self) -> io::Result<()> {
        fs::rename(&self.other, &self.path)
    }

    /// Renames it durably.
    pub(crate) fn put_in_place(self) -> io::Result<()> {
        self.rename()?;
        // The rename is durable once the folder is synced.
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}
