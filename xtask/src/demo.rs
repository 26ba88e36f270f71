//! The main job, by the binary: a plan checked, drawn, tried out dry; plans and a request run. No key, no network.

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
        command.args(arguments).current_dir(root());
        command
    };
    step("the plan, checked", &mut obelus(&["plan", "check", PLAN]))?;
    step("the plan as Mermaid", &mut obelus(&["plan", "graph", PLAN, "--format", "mermaid"]))?;

    let folder = target()?.join("demo");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let picture = folder.join("plan.svg");
    let file = File::create(&picture).with_context(|| picture.display().to_string())?;
    step("the plan as a picture", obelus(&["plan", "graph", PLAN, "--format", "svg"]).stdout(file))?;
    eprintln!("open {}", picture.display());

    step("what it would do, touching nothing", &mut obelus(&["plan", "simulate", PLAN]))?;
    let run = |file: &str| obelus(&["plan", "run", file]);
    step("three steps with programs and a filter", &mut run("examples/exec/plan.yaml"))?;
    step("a branch that ends in an error, handled", &mut run("examples/branches/plan.yaml"))?;
    step("one plan for three customers", &mut run("examples/batch/plan.yaml"))?;
    step("a request whose delegate sees one letter only", &mut obelus(&["run", "examples/delegate/request.yaml"]))?;
    eprintln!("and with a question for you: target/debug/obelus run examples/steps --say 'Book a table for Friday'");
    Ok(())
}
