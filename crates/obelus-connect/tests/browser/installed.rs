//! Installs Playwright MCP and Chromium if they are missing: the former by npm below the target folder, in a tested
//! version, the latter by apt-get, which needs root.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use obelus_connect::browser::PLAYWRIGHT_MCP;

/// The programs of the server and of the browser.
pub(crate) struct Installed {
    pub(crate) cli: PathBuf,
    pub(crate) chromium: PathBuf,
}

/// The installed programs. If they cannot be installed, tests are skipped with a message; with `CI` set, they fail.
pub(crate) fn installed() -> Option<&'static Installed> {
    static FOUND: LazyLock<Result<Installed, String>> =
        LazyLock::new(|| Ok(Installed { cli: playwright()?, chromium: chromium()? }));
    match &*FOUND {
        Ok(found) => Some(found),
        Err(why) => {
            assert!(std::env::var_os("CI").is_none(), "{why}");
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn playwright() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playwright-mcp-0.0.83");
    let cli = folder.join("node_modules/@playwright/mcp/cli.js");
    if !cli.exists() {
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        run(Command::new("npm")
            .args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(&folder)
            .arg(PLAYWRIGHT_MCP)
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"))?;
    }
    if cli.exists() { Ok(cli) } else { Err(format!("npm cannot install {PLAYWRIGHT_MCP} here")) }
}

fn chromium() -> Result<PathBuf, String> {
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.exists())
    };
    if on_path().is_none() {
        let wanted = ["install", "-y", "--no-install-recommends", "chromium", "fonts-liberation"];
        run(Command::new("apt-get").args(wanted).env("DEBIAN_FRONTEND", "noninteractive"))
            .map_err(|why| format!("there is no chromium, and it cannot be installed: {why}"))?;
    }
    on_path().ok_or_else(|| "there is no chromium".to_owned())
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed ({status})")),
        Err(error) => Err(format!("{program} cannot be run: {error}")),
    }
}
