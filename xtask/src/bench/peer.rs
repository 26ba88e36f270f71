//! The CPU time of a trivial call compared with a step of LangGraph, measured alternately on the same machine.
//!
//! The load of the machine changes over time, so each round has its own ratio; the median of the ratios counts.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{root, step, target};

/// The version compared with.
const LANGGRAPH: &str = "langgraph==1.2.20";
/// Odd, so that the median is one of the rounds.
const ROUNDS: usize = 9;
const CALLS: &str = "1000";
/// A call costs at least this many times less than a step of every graph.
const TARGET: f64 = 100.0;

/// A graph of LangGraph, by its name in the script.
struct Peer {
    what: &'static str,
    shape: &'static str,
}

/// The chain has the shape of a plan of calls. The loop is the smallest graph.
const PEERS: [Peer; 2] = [
    Peer { what: "LangGraph's chain of 1,000 nodes", shape: "chain" },
    Peer { what: "LangGraph's loop of one node", shape: "loop" },
];

/// The comparisons that miss the target. A comparison that cannot be measured counts as missed.
pub(super) fn missed(chain: &Path) -> Result<Vec<&'static str>> {
    let Some(python) = python()? else { return Ok(vec!["LangGraph, which could not be measured"]) };
    let script = root().join("bench/langgraph_chain.py");
    let mut ours = Vec::new();
    let mut theirs = PEERS.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        // On both sides the best of several runs counts, because noise only adds time.
        ours.push(microseconds(Command::new(chain).args(["chain", CALLS, "50"]))?);
        for (all, peer) in theirs.iter_mut().zip(&PEERS) {
            all.push(microseconds(Command::new(&python).arg(&script).args([peer.shape, CALLS, "3"]))?);
        }
    }
    report(&format!(
        "\nCPU time of a call in a chain of 1,000: {:.2} µs; of a step of {LANGGRAPH}, without checkpointer \
         (medians of {ROUNDS} rounds):",
        median(ours.clone())
    ));
    let mut missed = Vec::new();
    for (theirs, peer) in theirs.into_iter().zip(PEERS) {
        let ratios: Vec<f64> = theirs.iter().zip(&ours).map(|(theirs, ours)| theirs / ours).collect();
        let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), r| (a.min(*r), b.max(*r)));
        let ratio = median(ratios);
        report(&format!(
            "  {:34} {:>4.0} µs, {ratio:.0} times as much ({least:.0} to {most:.0}), target ≥ {TARGET}",
            peer.what,
            median(theirs)
        ));
        if ratio < TARGET {
            missed.push(peer.what);
        }
    }
    Ok(missed)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// A Python environment with LangGraph below the target folder; none if it cannot be made.
fn python() -> Result<Option<PathBuf>> {
    let folder = target()?.join("bench-venv");
    let python = folder.join("bin/python");
    let (name, version) = LANGGRAPH.split_once("==").context("the version is pinned")?;
    let version_check = format!("import importlib.metadata as m, sys; sys.exit(m.version('{name}') != '{version}')");
    if Command::new(&python).args(["-c", &version_check]).output().is_ok_and(|output| output.status.success()) {
        return Ok(Some(python));
    }
    let made = step("a Python environment for LangGraph", Command::new("python3").args(["-m", "venv"]).arg(&folder));
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

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
    }
}
