//! Builds the console, the page that `obelus serve` shows.
//!
//! Only this needs Node and npm. Without them the server works, and its page explains how to build the console.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::step::{cargo, root, step, target};

/// The inputs of the build, below `console/`.
const INPUTS: [&str; 7] =
    ["src", "public", "index.html", "package-lock.json", "svelte.config.js", "tsconfig.json", "vite.config.ts"];

fn folder() -> PathBuf {
    root().join("console")
}

/// Builds the console if its inputs have changed. Does nothing without Node.
pub(crate) fn run() -> Result<()> {
    if !has_node() {
        eprintln!("   the console is not built: it needs node and npm (https://nodejs.org, version 20 or later)");
        return Ok(());
    }
    install()?;
    if is_built() {
        return Ok(());
    }
    step("building the console", &mut npm(&["run", "--silent", "build"]))?;
    embed_anew()
}

/// Makes cargo recompile the file that embeds the page: it does not notice new files.
fn embed_anew() -> Result<()> {
    let file = root().join("crates/obelus-channel/src/http/console.rs");
    let opened = fs::File::options().append(true).open(&file).with_context(|| file.display().to_string())?;
    opened.set_modified(SystemTime::now()).with_context(|| file.display().to_string())
}

/// Checks the types of the console's sources; passes without Node.
pub(crate) fn check() -> Result<()> {
    if !has_node() {
        return Ok(());
    }
    install()?;
    step("types of the console", &mut npm(&["run", "--silent", "check"]))
}

/// Generates the types of the API from its description, which the program prints.
pub(crate) fn types() -> Result<()> {
    if !has_node() {
        bail!("the types of the console are made by npm, which is not there");
    }
    install()?;
    step("building", &mut cargo(&["build", "--quiet", "--package", "obelus"]))?;
    let program = target()?.join("debug/obelus");
    let described = Command::new(&program).args(["serve", "--openapi"]).output();
    let described = described.with_context(|| program.display().to_string())?;
    if !described.status.success() {
        bail!("`obelus serve --openapi` ended with {}", described.status);
    }
    let file = target()?.join("openapi.json");
    fs::write(&file, described.stdout).with_context(|| file.display().to_string())?;
    let mut make = npm(&["run", "--silent", "types", "--"]);
    step("types of the API", make.arg(&file).args(["-o", "src/lib/schema.d.ts"]))
}

fn has_node() -> bool {
    let is_there = |program: &str| {
        let mut asked = Command::new(program);
        asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    is_there("node") && is_there("npm")
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(folder());
    command
}

/// Installs the packages that the lock file names, once.
fn install() -> Result<()> {
    let [lock, installed] = ["package-lock.json", "node_modules/.package-lock.json"].map(|name| folder().join(name));
    if changed_at(&installed) >= changed_at(&lock) && installed.exists() {
        return Ok(());
    }
    // `npm ci` needs the packages of every platform in the lock file, which a registry may lack.
    let install = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    step("installing the packages of the console", &mut npm(&install))
}

fn is_built() -> bool {
    let built = folder().join("dist/index.html");
    let newest = INPUTS.iter().map(|name| changed_at(&folder().join(name))).max();
    built.exists() && Some(changed_at(&built)) >= newest
}

/// When a file, or anything below a folder, was last changed.
fn changed_at(path: &Path) -> SystemTime {
    let own = fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let inner = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| changed_at(&entry.path()));
    inner.fold(own, SystemTime::max)
}
