//! Writes images to files: people and models look at them, but journals do not store them.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::OnceLock;

use super::tool_result::Image;

/// The variable with the folder for images.
const FOLDER: &str = "OBELUS_SHOTS";

/// The folder of this process if the variable is not set.
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// Writes an image to a new file that only this user can read; returns its path.
pub(super) fn write(image: &Image, stem: &str) -> io::Result<PathBuf> {
    let folder = folder()?;
    let kind = match image.mime.as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        _ => "image",
    };
    for number in 1.. {
        let path = folder.join(format!("{stem}-{number:04}.{kind}"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => {
                file.write_all(&image.data)?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::StorageFull.into())
}

fn folder() -> io::Result<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
        let folder = PathBuf::from(folder);
        fs::create_dir_all(&folder)?;
        return Ok(folder);
    }
    if let Some(folder) = OWN.get() {
        return Ok(folder.clone());
    }
    let base = std::env::temp_dir();
    for number in 0.. {
        let folder = base.join(format!("obelus-shots-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(OWN.get_or_init(|| folder).clone()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::StorageFull.into())
}
