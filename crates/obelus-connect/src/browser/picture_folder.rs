//! Pictures of pages: files in a folder, readable only by their owner.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A folder of numbered pictures.
#[derive(Debug)]
pub(super) struct PictureFolder {
    folder: PathBuf,
    next: Option<u32>,
}

impl PictureFolder {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, next: None }
    }

    /// An empty file for the next picture.
    pub(super) fn begin(&mut self) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut number = match self.next {
            Some(number) => number,
            None => last(&self.folder)? + 1,
        };
        loop {
            let path = self.folder.join(format!("{number:04}.png"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(_) => {
                    self.next = Some(number + 1);
                    return Ok(path);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether the picture exists, readable only by its owner.
pub(super) fn is_taken(path: &Path) -> bool {
    let full = fs::metadata(path).is_ok_and(|about| about.len() > 0);
    full && fs::set_permissions(path, Permissions::from_mode(0o600)).is_ok()
}

/// Writes a picture that the server sent.
pub(super) fn write(path: &Path, data: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(data)
}

fn last(folder: &Path) -> io::Result<u32> {
    let mut last = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".png")).and_then(|stem| stem.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbering_of_pictures_continues_and_foreign_files_are_not_used() {
        let folder = std::env::temp_dir().join(format!("obelus-browser-shots-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut shots = PictureFolder::new(folder.join("s"));
        let first = shots.begin().unwrap();
        assert_eq!((name(&first), is_taken(&first)), ("0001.png".to_owned(), false));
        write(&first, b"png").unwrap();
        fs::set_permissions(&first, Permissions::from_mode(0o644)).unwrap();
        assert!(is_taken(&first));
        assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(folder.join("s")).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(name(&shots.begin().unwrap()), "0002.png");
        assert_eq!(name(&PictureFolder::new(folder.join("s")).begin().unwrap()), "0003.png");
        fs::remove_dir_all(&folder).unwrap();
    }
}
