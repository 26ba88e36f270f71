//! Programs of others that the tests need, installed once below the target folder.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// The browser's server, in the version that is known to work.
const PLAYWRIGHT_MCP: &str = "@playwright/mcp@0.0.83";
/// A server with one of everything that the protocol has.
const EVERYTHING: &str = "@modelcontextprotocol/server-everything@2026.8.31";

/// The path of the browser server's program.
pub(crate) fn playwright_mcp() -> String {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        std::env::var("OBELUS_PLAYWRIGHT_MCP")
            .unwrap_or_else(|_| npm("playwright-mcp", PLAYWRIGHT_MCP, "@playwright/mcp/cli.js"))
    });
    PATH.clone()
}

/// The path of the everything server's program.
pub(crate) fn everything() -> String {
    static PATH: LazyLock<String> =
        LazyLock::new(|| npm("server-everything", EVERYTHING, "@modelcontextprotocol/server-everything/dist/index.js"));
    PATH.clone()
}

/// Installs a package below the target folder unless it is there, and says where a file of it lies.
fn npm(folder: &str, package: &str, file: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let path = folder.join("node_modules").join(file);
    if !path.exists() {
        fs::create_dir_all(&folder).expect("a folder for it");
        let done = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--silent", package])
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
            .current_dir(&folder)
            .output()
            .expect("this test needs Node: on Debian and Ubuntu, `apt-get install nodejs npm chromium`");
        assert!(done.status.success(), "npm install {package}: {}", String::from_utf8_lossy(&done.stderr));
    }
    path.to_str().expect("UTF-8").to_owned()
}
