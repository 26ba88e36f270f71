//! Builds the console and the binary, and runs `obelus demo`.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::console;
use crate::step::{cargo, root, step, target};

/// Runs the demo with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    console::run()?;
    step("building", &mut cargo(&["build", "--quiet", "--package", "obelus"]))?;
    let program = target()?.join("debug/obelus");
    // Not run by `step`, because the demo uses the terminal itself.
    let mut demo = Command::new(&program);
    let status = demo.arg("demo").args(arguments).current_dir(root()).status();
    let status = status.with_context(|| program.display().to_string())?;
    if !status.success() {
        bail!("the demo ended with {status}");
    }
    Ok(())
}
