//! The time of a step of the operator agent, compared with a snapshot of a page by the real browser in the same run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::row::{BenchRow, Goal};
use super::{BenchRun, figures, programs};
use crate::step::{root, step, target};

/// The tested version.
const PLAYWRIGHT_MCP: &str = "@playwright/mcp@0.0.83";
/// The goal: a snapshot takes at least this many times as long as a step.
const SMALLER: f64 = 100.0;

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    let folder = run.folder("operator")?;
    run.say("a step of the operator, beside a snapshot by the browser");
    let mut command = Command::new(programs()?.join("operator"));
    command.arg(&folder).arg(root().join("agents/operator")).env("OBELUS_PLAYWRIGHT_MCP", playwright_mcp()?);
    let figures = figures(&mut command)?;
    let beside = format!("a snapshot of a page of {:.0} characters by the browser", figures["page"]);
    let row = |name: &str, unit, key: &str, goal| BenchRow {
        name: name.to_owned(),
        unit,
        ours: figures[key],
        beside: beside.clone(),
        peer: Some(figures["snapshot"]),
        goal,
    };
    Ok(vec![
        row("a step of the operator, kept on disk", "µs CPU", "cpu", Goal::Ratio(SMALLER)),
        row("a step of the operator, in memory", "µs", "memory", Goal::Ratio(SMALLER)),
        row("  with its sync to this disk", "µs", "kept", Goal::Shown),
    ])
}

/// The program of the browser's MCP server: from the environment, else installed below the target folder.
fn playwright_mcp() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("OBELUS_PLAYWRIGHT_MCP") {
        return Ok(path.into());
    }
    let folder = target()?.join("bench-browser");
    let program = folder.join("node_modules/@playwright/mcp/cli.js");
    if !program.exists() {
        std::fs::create_dir_all(&folder)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--silent", PLAYWRIGHT_MCP]).current_dir(&folder);
        npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        step("installing the browser's MCP server (needs node, npm and chromium)", &mut npm)?;
    }
    Ok(program)
}
