//! A hard kill in a chain of effects, after an effect and before its result is known: how many effects are repeated
//! afterwards.

use std::process::Command;

use anyhow::{Result, bail};

use super::langgraph::LangGraph;
use super::row::{BenchRow, Goal};
use super::{BenchRun, Figures, figures, programs};

const FATAL: &str = "100";
const STEPS: &str = "200";

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    let (peer, program) = (LangGraph::installed()?, programs()?.join("peer"));
    let folder = run.folder("kill")?;
    run.say("a hard kill in step 100");
    killed(Command::new(&program).args(["kill", &folder, FATAL, STEPS]))?;
    let ours = all_done(figures(Command::new(&program).args(["resume", &folder, STEPS]))?)?;
    let mut rows = Vec::new();
    for (durability, beside) in [("sync", "LangGraph, sync"), ("async", "LangGraph, async, its default")] {
        run.say(&format!("the same by {beside}"));
        killed(&mut peer.command(&["kill", durability, FATAL, STEPS, &folder]))?;
        let theirs = all_done(peer.figures(&["resume", STEPS, &folder])?)?;
        rows.push(BenchRow {
            name: "effects repeated after a hard kill".to_owned(),
            unit: "effects",
            ours: ours["repeated"],
            beside: beside.to_owned(),
            peer: Some(theirs["repeated"]),
            goal: Goal::Most(0.0),
        });
    }
    Ok(rows)
}

/// Runs a program that kills itself. It is an error if the program ends in another way.
fn killed(command: &mut Command) -> Result<()> {
    use std::os::unix::process::ExitStatusExt;
    let output = command.output()?;
    match output.status.signal() {
        Some(9) => Ok(()),
        _ => {
            bail!("it was to be killed, and ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr))
        }
    }
}

/// Checks that every effect has happened, because losing effects must not count as repeating none.
fn all_done(figures: Figures) -> Result<Figures> {
    match figures.get("missing") {
        Some(0.0) => Ok(figures),
        missing => bail!("effects are missing after the kill: {missing:?}"),
    }
}
