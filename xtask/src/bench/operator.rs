//! Our own work for a step of the operator agent, beside a snapshot of a page by the real browser in the same run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use super::Figures;
use crate::step::{root, step, target};

/// The version that is known to work.
const PLAYWRIGHT_MCP: &str = "@playwright/mcp@0.0.83";
/// Of a snapshot, a step may cost at most this part.
const MOST: f64 = 0.01;

/// Whether the target is met. What could not be measured has not met it.
#[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
pub(super) fn measure() -> Result<bool> {
    super::build("obelus-connect", "operator")?;
    let target = target()?;
    let folder = target.join("bench-operator");
    if folder.exists() {
        // Of a run that was cut off.
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
        "\nThe operator: {:.0} steps of its graph, and beside them {:.0} snapshots of the page \
         that they are shown, of {:.0} characters:",
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
        let words = if counts { format!("target ≤ 1/{:.0}", 1.0 / MOST) } else { String::new() };
        println!("  {what:38} {:>10.1} µs, 1/{:.0} of it {words}", figures[name], 1.0 / part);
        met &= !counts || part <= MOST;
    }
    Ok(met)
}

/// The program of the browser's server: as the environment says, else installed below the target folder.
fn playwright_mcp() -> Result<PathBuf> {
    if let Some(said) = std::env::var_os("OBELUS_PLAYWRIGHT_MCP") {
        return Ok(said.into());
    }
    let folder = target()?.join("bench-browser");
    let program = folder.join("node_modules/@playwright/mcp/cli.js");
    if !program.exists() {
        std::fs::create_dir_all(&folder)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--silent", PLAYWRIGHT_MCP]).current_dir(&folder);
        npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        step("installing the browser's server (it needs node, npm and chromium)", &mut npm)?;
    }
    Ok(program)
}
