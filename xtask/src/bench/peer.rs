//! The CPU time of a trivial call beside that of a step of LangGraph, measured in turn on the same machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{root, step, target};

/// The version that is measured against.
const LANGGRAPH: &str = "langgraph==1.2.20";
/// Everything is measured so often, by turns, and the best of each counts: noise only ever adds.
const ROUNDS: usize = 5;
const CALLS: &str = "1000";

/// A graph of LangGraph, by the name that the script knows.
struct Peer {
    what: &'static str,
    shape: &'static str,
    /// A call costs at least this many times less than a step of it.
    target: Option<f64>,
}

/// The chain has the shape of a plan of calls. The loop is the least that LangGraph can do, and shown beside it.
const PEERS: [Peer; 2] = [
    Peer { what: "a chain of 1,000 nodes", shape: "chain", target: Some(100.0) },
    Peer { what: "a loop of one node", shape: "loop", target: None },
];

/// Whether the target is met. Without Python there is nothing to compare with, and nothing is missed.
pub(super) fn compare(chain: &Path) -> Result<bool> {
    let Some(python) = python()? else { return Ok(true) };
    let script = root().join("bench/langgraph_chain.py");
    let mut ours = f64::INFINITY;
    let mut theirs = PEERS.map(|_| f64::INFINITY);
    for _ in 0..ROUNDS {
        ours = ours.min(microseconds(Command::new(chain).args(["chain", CALLS, "50"]))?);
        for (best, peer) in theirs.iter_mut().zip(&PEERS) {
            *best = best.min(microseconds(Command::new(&python).arg(&script).args([peer.shape, CALLS, "3"]))?);
        }
    }
    report(&format!(
        "\nCPU time of a call in a chain of 1,000: {ours:.2} µs; of a step of {LANGGRAPH}, without checkpointer:"
    ));
    let mut met = true;
    for (theirs, peer) in theirs.into_iter().zip(PEERS) {
        let ratio = theirs / ours;
        let target = peer.target.map(|target| format!(", target ≥ {target}")).unwrap_or_default();
        report(&format!("  {:24} {theirs:>4.0} µs, {ratio:.0} times as much{target}", peer.what));
        met &= peer.target.is_none_or(|target| ratio >= target);
    }
    Ok(met)
}

/// A Python that has LangGraph, in a place of its own below the target folder; none if it cannot be made.
fn python() -> Result<Option<PathBuf>> {
    let folder = target()?.join("bench-venv");
    let python = folder.join("bin/python");
    let (name, version) = LANGGRAPH.split_once("==").context("the version is pinned")?;
    let has_it = format!("import importlib.metadata as m, sys; sys.exit(m.version('{name}') != '{version}')");
    if Command::new(&python).args(["-c", &has_it]).output().is_ok_and(|output| output.status.success()) {
        return Ok(Some(python));
    }
    let made = step("a place for LangGraph", Command::new("python3").args(["-m", "venv"]).arg(&folder));
    if made.is_err() {
        report("LangGraph is not measured: it needs Python; on Debian and Ubuntu, `apt-get install python3-venv`");
        return Ok(None);
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", LANGGRAPH]);
    if let Err(error) = step("installing LangGraph", &mut pip) {
        report(&format!("LangGraph is not measured: `pip install {LANGGRAPH}` needs the network ({error})"));
        return Ok(None);
    }
    Ok(Some(python))
}

/// Runs a program that prints a number of microseconds.
fn microseconds(command: &mut Command) -> Result<f64> {
    let output = command.output().with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().parse() {
        Ok(number) if output.status.success() => Ok(number),
        _ => bail!("{} failed:\n{}", command.get_program().display(), String::from_utf8_lossy(&output.stderr)),
    }
}

#[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
fn report(line: &str) {
    println!("{line}");
}
