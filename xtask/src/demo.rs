//! A believable plan, checked and drawn by the binary.

use std::fs::{self, File};
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{cargo, root, step, target};

const PLAN: &str = "examples/demo/plan.json";

pub(crate) fn run() -> Result<()> {
    step("building", &mut cargo(&["build", "--quiet", "--package", "obelus"]))?;
    let program = target()?.join("debug/obelus");
    let obelus = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("plan").args(arguments).current_dir(root());
        command
    };
    step("the plan, checked", &mut obelus(&["check", PLAN]))?;
    step("the plan as Mermaid", &mut obelus(&["graph", PLAN, "--format", "mermaid"]))?;

    let folder = target()?.join("demo");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let picture = folder.join("plan.svg");
    let file = File::create(&picture).with_context(|| picture.display().to_string())?;
    step("the plan as a picture", obelus(&["graph", PLAN, "--format", "svg"]).stdout(file))?;
    eprintln!("open {}", picture.display());
    Ok(())
}
