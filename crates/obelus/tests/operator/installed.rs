//! Third-party programs that the tests need, installed once below the target folder.

#[path = "../../../obelus-connect/tests/browser/installed.rs"]
mod browser;

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

pub(crate) use browser::installed as browser;

/// A server with every feature of the protocol.
const EVERYTHING: &str = "@modelcontextprotocol/server-everything@2026.8.31";

/// The path of the everything server's program. If it cannot be installed, tests are skipped with a message; with `CI`
/// set, they fail.
pub(crate) fn everything() -> Option<&'static str> {
    static PATH: LazyLock<Result<String, String>> = LazyLock::new(install);
    match &*PATH {
        Ok(path) => Some(path),
        Err(why) => {
            assert!(std::env::var_os("CI").is_none(), "{why}");
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn install() -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("server-everything-2026.8.31");
    let path = folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    if !path.exists() {
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", EVERYTHING]);
        let done = npm.current_dir(&folder).output().map_err(|error| format!("npm cannot be run: {error}"))?;
        if !done.status.success() {
            return Err(format!("npm install {EVERYTHING}: {}", String::from_utf8_lossy(&done.stderr)));
        }
    }
    path.to_str().map(str::to_owned).ok_or_else(|| "the target folder has a name that is not UTF-8".to_owned())
}
