//! Images that the user shows: files beside the journal, which has only their names and digests.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use obelus_kernel::session::Picture;
use obelus_words::{Language, fill};

use crate::session_files::SessionFiles;
use crate::store::check_name;
use crate::{StoreError, atomic_file};

/// The images of one session.
#[derive(Debug, Default)]
pub struct ImageStore {
    /// For a session that is not stored, none until the first image.
    folder: Option<PathBuf>,
    /// Whether the folder is removed on drop.
    is_temporary: bool,
}

/// Why a file is rejected.
#[derive(Debug)]
pub enum ImageError {
    /// It cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is not a file.
    NoFile(PathBuf),
    /// It is too large.
    TooLarge(PathBuf),
    /// It is not an image.
    NoPicture(PathBuf),
    /// There are too many.
    TooMany(PathBuf),
    /// The copy cannot be written.
    NotKept {
        /// Where.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl std::error::Error for ImageError {}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(Language::English))
    }
}

impl ImageError {
    /// The error as text for people.
    pub fn in_words(&self, language: Language) -> String {
        let words = &language.words().file_errors;
        let name = |path: &Path| path.display().to_string();
        match self {
            ImageError::Unreadable { path, error } if error.kind() == io::ErrorKind::NotFound => {
                format!("{}: {}", name(path), words.missing)
            }
            ImageError::Unreadable { path, error } => format!("{}: {error}", name(path)),
            ImageError::NoFile(path) => fill(words.no_file, &[&name(path)]),
            ImageError::TooLarge(path) => {
                fill(words.large_picture, &[&name(path), &(Picture::MOST_BYTES / 1_000_000).to_string()])
            }
            ImageError::NoPicture(path) => fill(words.no_picture, &[&name(path)]),
            ImageError::TooMany(path) => fill(words.many_pictures, &[&name(path), &Picture::MOST_AT_ONCE.to_string()]),
            ImageError::NotKept { folder, error } => fill(words.not_kept, &[&name(folder), &error.to_string()]),
        }
    }
}

impl ImageStore {
    /// The images of a session in the store's folder: `shots/SESSION`.
    pub fn of(store: &Path, session: &str) -> Result<Self, StoreError> {
        check_name(session)?;
        Ok(Self { folder: Some(SessionFiles::pictures(store, session)), is_temporary: false })
    }

    /// Checks whether a file would be accepted.
    pub fn would_take(path: &Path) -> Result<(), ImageError> {
        picture_of(path, &read(path)?).map(drop)
    }

    /// Stores a copy of a file.
    pub(crate) fn add(&mut self, path: &Path) -> Result<Picture, ImageError> {
        let bytes = read(path)?;
        let picture = picture_of(path, &bytes)?;
        let written = self.folder().and_then(|folder| atomic_file::write(&folder.join(&picture.name), &bytes));
        written.map_err(|error| ImageError::NotKept {
            folder: self.folder.clone().unwrap_or_else(std::env::temp_dir),
            error,
        })?;
        Ok(picture)
    }

    /// The file of an image, if it exists and is unchanged.
    pub(crate) fn find(&self, picture: &Picture) -> Option<PathBuf> {
        let path = self.folder.as_ref()?.join(&picture.name);
        let found = read(&path).ok().and_then(|bytes| Picture::of(&bytes));
        found.filter(|found| found.digest == picture.digest).map(|_| path)
    }

    /// The folder, which is created if necessary.
    fn folder(&mut self) -> io::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            atomic_file::private_folder(folder)?;
            return Ok(folder.clone());
        }
        // In a shared folder, an existing entry may belong to somebody else.
        for number in 0..=u32::MAX {
            let folder = std::env::temp_dir().join(format!("obelus-images-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    self.is_temporary = true;
                    return Ok(self.folder.insert(folder).clone());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for ImageStore {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.as_ref().filter(|_| self.is_temporary) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn picture_of(path: &Path, bytes: &[u8]) -> Result<Picture, ImageError> {
    Picture::of(bytes).ok_or_else(|| ImageError::NoPicture(path.to_owned()))
}

fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    let unreadable = |error: io::Error| ImageError::Unreadable { path: path.to_owned(), error };
    // Opening a pipe would block.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(ImageError::NoFile(path.to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(Picture::MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > Picture::MOST_BYTES { Err(ImageError::TooLarge(path.to_owned())) } else { Ok(bytes) }
}
