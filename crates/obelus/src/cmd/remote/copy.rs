//! A copy of a session of a server, so that it is shown in the same way as a session of a store.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use obelus_channel::client::{Client, encoded};
use obelus_runtime::SqliteStore;
use obelus_runtime::sessions::InputId;

use crate::cmd::host::viewer;
use crate::cmd::sessions::transfer::read_export;

/// A session in a temporary store, in a private folder that is removed at the end.
pub(super) struct SessionCopy {
    /// The store.
    pub(super) store: SqliteStore,
    folder: PathBuf,
}

impl SessionCopy {
    /// Copies a session as it is now.
    pub(super) async fn of(client: &Client, id: &str) -> Result<Self> {
        let lines = client.get_text(&format!("/api/v1/sessions/{}/export?look=true", encoded(id))).await?;
        let mut export = read_export(lines.as_slice(), client.address())?;
        // The copy has the id that the server uses.
        id.clone_into(&mut export.id);
        let folder = std::env::temp_dir().join(format!("obelus-copy-{}", InputId::drawn()));
        DirBuilder::new().mode(0o700).create(&folder).with_context(|| folder.display().to_string())?;
        // From here on the folder is removed even after an error.
        let copy = match SqliteStore::open(&folder) {
            Ok(store) => Self { store, folder },
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                return Err(error.into());
            }
        };
        viewer(&copy.store).import(id, export, false)?;
        Ok(copy)
    }
}

impl Drop for SessionCopy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
