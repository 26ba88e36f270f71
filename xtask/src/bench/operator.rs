//! The time of a step of the operator agent, compared with a snapshot of a page by the real browser in the same run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use super::Figures;
use crate::step::{root, step, target};

/// The tested version.
const PLAYWRIGHT_MCP: &str = "@playwright/mcp@0.0.83";
/// The largest permitted share of a snapshot's time that a step may take.
const MAX_SHARE: f64 = 0.01;

/// Prints the figures; returns whether the target is met.
#[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
pub(super) fn measure() -> Result<bool> {
    super::build("obelus-connect", "operator")?;
    let target = target()?;
    let folder = target.join("bench-operator");
    if folder.exists() {
        // Left by an interrupted run.
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new(target.join("release/examples/operator"));
    command.arg(&folder).arg(root().join("agents/operator")).env("OBELUS_PLAYWRIGHT_MCP", playwright_mcp()?);
    let output = command.output()?;
    if !output.status.success() {
        bail!("the benchmark of the operator failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::remove_dir_all(&folder)?;
    let figures: Figures = super::figures_of(&String::from_utf8(output.stdout)?);
    println!(
        "\nThe operator: {:.0} steps of its graph, compared with {:.0} snapshots of the page \
         that the model is shown, of {:.0} characters:",
        figures["steps"], figures["snapshots"], figures["page"]
    );
    println!("  one snapshot by the browser            {:>10.0} µs, CPU and waiting", figures["snapshot"]);
    let mut met = true;
    for (what, name, counts) in [
        ("our CPU time for a step, kept on disk", "cpu", true),
        ("our time for a step, in memory", "memory", true),
        ("  with its sync to this disk", "kept", false),
    ] {
        let part = figures[name] / figures["snapshot"];
        let words = if counts { format!("target ≤ 1/{:.0}", 1.0 / MAX_SHARE) } else { String::new() };
        println!("  {what:38} {:>10.1} µs, 1/{:.0} of it {words}", figures[name], 1.0 / part);
        met &= !counts || part <= MAX_SHARE;
    }
    Ok(met)
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
