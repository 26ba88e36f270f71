//! A copy of a session of a server, so that it is shown in the same way as a session of a store.

use anyhow::Result;
use obelus_channel::client::{Client, encoded};
use obelus_runtime::Host;

use crate::cmd::host::copies;
use crate::cmd::sessions::transfer::read_export;

/// Copies a session as it is now; returns a host of the copy.
pub(super) async fn copied(client: &Client, id: &str) -> Result<Host> {
    let lines = client.get_text(&format!("/api/v1/sessions/{}/export?look=true", encoded(id))).await?;
    let mut export = read_export(lines.as_slice(), client.address())?;
    // The copy has the id that the server uses.
    id.clone_into(&mut export.id);
    let host = copies();
    host.import(id, export, false)?;
    Ok(host)
}
