//! Who may write to a store. Only its owner: whoever can write there can answer for the owner, and name programs that
//! a session starts.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use super::{StoreError, schema};

/// Creates the folder of a store, if it is missing. Only its owner may read sessions.
pub(super) fn create(folder: &Path) -> Result<(), StoreError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| StoreError::Folder(folder.to_owned(), error))
}

/// Refuses a store whose folder or file other users can write. What is missing is created for its owner only.
pub(super) fn check(folder: &Path) -> Result<(), StoreError> {
    let own = rustix::process::geteuid().as_raw();
    let files = schema::files(folder);
    for place in [folder].into_iter().chain(files.iter().map(AsRef::as_ref)) {
        let Ok(about) = fs::metadata(place) else { continue };
        let mode = about.mode() & 0o7777;
        if mode & 0o022 != 0 {
            return Err(StoreError::OpenToOthers { place: place.to_owned(), mode });
        }
        // The administrator may open the store of any user, and a store that the administrator has made is safe.
        if ![own, 0].contains(&about.uid()) && own != 0 {
            return Err(StoreError::OfAnother { place: place.to_owned(), owner: about.uid() });
        }
    }
    Ok(())
}
