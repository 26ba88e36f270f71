//! The file by which a server is found beside its store: its address, and the token for this machine.
//!
//! Only its owner can read it. It is valid while the process that wrote it holds the store, and is removed when the
//! server ends.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use obelus_runtime::Secret;
use obelus_runtime::files::read_text;
use serde::{Deserialize, Serialize};

/// The file, in the store's folder.
const FILE: &str = "server.json";

/// The content of the file.
#[derive(Deserialize, Serialize)]
struct ServerLocation {
    address: String,
    token_file: PathBuf,
    /// The id of the server's process.
    process: u32,
}

/// The file of a running server, removed on drop.
pub(in crate::cmd) struct ServerFile(PathBuf);

impl ServerFile {
    /// Writes the server's address.
    pub(in crate::cmd) fn write(folder: &Path, address: SocketAddr, token_file: &Path) -> std::io::Result<Self> {
        let address = format!("http://{}", reachable(address));
        let token_file = token_file.canonicalize().unwrap_or_else(|_| token_file.to_owned());
        let path = folder.join(FILE);
        let _ = fs::remove_file(&path);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let content = ServerLocation { address, token_file, process: std::process::id() };
        serde_json::to_writer(&mut file, &content)?;
        Ok(Self(path))
    }
}

impl Drop for ServerFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The address of a server for programs of this machine. One that listens at all addresses (`0.0.0.0`) refuses requests
/// to that name.
pub(in crate::cmd) fn reachable(address: SocketAddr) -> SocketAddr {
    let host = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    SocketAddr::new(host, address.port())
}

/// The address and token of a store's server. The file of a killed server is ignored, because its port may be reused.
pub(super) fn find(folder: &Path) -> Option<(String, Secret)> {
    let content: ServerLocation = serde_json::from_str(&read_text(&folder.join(FILE)).ok()?).ok()?;
    // The lock file names the process that holds the store.
    let holder = read_text(&folder.join("lock")).ok()?;
    if holder.split(' ').nth(1) != Some(content.process.to_string().as_str()) {
        return None;
    }
    let token = read_text(&content.token_file).ok()?;
    Some((content.address, Secret::new(token.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_named_by_an_address_that_it_answers() {
        for (listens, named) in
            [("0.0.0.0:8321", "127.0.0.1:8321"), ("[::]:80", "127.0.0.1:80"), ("10.0.0.1:8321", "10.0.0.1:8321")]
        {
            assert_eq!(reachable(listens.parse().unwrap()).to_string(), named);
        }
    }
}
