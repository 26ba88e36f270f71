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
    // A leftover of a crash, or a link that somebody has put there, which must not be followed.
    match fs::remove_file(&other) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private().write(true).create_new(true).open(&other)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_under_the_temporary_name_is_replaced_and_not_followed() {
        let folder = std::env::temp_dir().join(format!("obelus-atomic-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (path, victim) = (folder.join("state.json"), folder.join("victim.txt"));
        fs::write(&victim, "untouched").expect("a file");
        std::os::unix::fs::symlink(&victim, other(&path)).expect("a link");
        write(&path, b"{}").expect("it is written");
        let read = |path: &Path| fs::read_to_string(path).expect("a file");
        assert_eq!((read(&path), read(&victim)), ("{}".to_owned(), "untouched".to_owned()));
        fs::remove_dir_all(&folder).expect("it is removed");
    }
}
