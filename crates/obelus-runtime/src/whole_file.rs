//! Files that are written whole: whoever reads one sees what was there before or what is there now, never half of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Makes a folder that is nobody else's business, if it is not there.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Opens a file that is nobody else's business.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Writes a file whole, so that it is there after a crash if this has returned.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    prepare(path, bytes)?.put_in_place()
}

/// A file that is written and synced under another name.
pub(crate) struct Prepared {
    other: PathBuf,
    path: PathBuf,
}

/// The other name. What a crash has left there is of no use to anybody.
fn other(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.tmp"))
}

/// Removes a file that may be there, and what a crash may have left of it.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for path in [path, &other(path)] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Writes everything but the name.
pub(crate) fn prepare(path: &Path, bytes: &[u8]) -> io::Result<Prepared> {
    let other = other(path);
    let mut file = private().write(true).create(true).truncate(true).open(&other)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(Prepared { other, path: path.to_owned() })
}

impl Prepared {
    /// Gives it its name, in one step. After a crash the file may be the one that was there before.
    pub(crate) fn rename(&self) -> io::Result<()> {
        fs::rename(&self.other, &self.path)
    }

    /// Gives it its name for good.
    pub(crate) fn put_in_place(self) -> io::Result<()> {
        self.rename()?;
        // The name is durable when the folder is.
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}
