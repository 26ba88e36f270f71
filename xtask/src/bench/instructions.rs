//! Costs in instructions, counted by valgrind, so that they do not depend on the load of the machine. Each row compares
//! the same work on a small and on a large input.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::row::{BenchRow, Goal};
use super::{BenchRun, grouped, programs};

/// One comparison: the same work on a small and a large input.
pub(super) struct Growth {
    pub(super) what: &'static str,
    /// The example that does the work.
    pub(super) program: &'static str,
    /// Its first argument.
    pub(super) subject: &'static str,
    pub(super) sizes: [u64; 2],
    pub(super) repetitions: u64,
    /// Units of work in one repetition; the cost of one unit is printed.
    pub(super) pieces: u64,
    /// The largest permitted growth of the cost from the first size to the second.
    pub(super) target: f64,
}

const fn memory(what: &'static str, subject: &'static str) -> Growth {
    Growth { what, program: "cost", subject, sizes: [10, 100_000], repetitions: 900, pieces: 1, target: 1.5 }
}

const fn plan(what: &'static str, subject: &'static str) -> Growth {
    Growth { what, program: "cost", subject, sizes: [1_000, 10_000], repetitions: 1, pieces: 1, target: 12.0 }
}

/// Calls through kernel and driver.
const fn calls(what: &'static str, subject: &'static str, sizes: [u64; 2], pieces: u64, target: f64) -> Growth {
    Growth { what, program: "chain", subject, sizes, repetitions: 1, pieces, target }
}

const ALL: [Growth; 10] = [
    memory("reading a path, messages", "read"),
    memory("appending, messages", "append"),
    plan("checking a plan, a chain, calls", "plan-chain"),
    plan("checking a plan, a fan, calls", "plan-fan"),
    plan("checking a plan, independent calls", "plan-independent"),
    plan("checking a plan, random, calls", "plan-random"),
    plan("checking a plan, same path, calls", "plan-rivals"),
    calls("a call, messages", "history", [1_000, 100_000], 1_000, 1.2),
    calls("a chain, calls", "chain", [1_000, 10_000], 1, 12.0),
    calls("a fan-out, calls", "fan", [1_000, 10_000], 1, 12.0),
];

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    needs_valgrind()?;
    let row = |growth: &Growth| -> Result<BenchRow> {
        let [small, large] = growth.sizes;
        run.say(&format!("{}: {} and {}, in instructions", growth.what, grouped(small), grouped(large)));
        let program = programs()?.join(growth.program);
        Ok(BenchRow {
            name: format!("{}: {}", growth.what, grouped(large)),
            unit: "instructions",
            ours: count(&program, growth, large)? as f64,
            beside: format!("Obelus, {}", grouped(small)),
            peer: Some(count(&program, growth, small)? as f64),
            goal: Goal::Within(growth.target),
        })
    };
    ALL.iter().map(row).collect()
}

pub(super) fn needs_valgrind() -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!("valgrind is not installed: on Debian and Ubuntu, `apt-get install valgrind`");
    }
    Ok(())
}

/// Instructions for one unit of work. Only the function `counted_work` is counted, not the preparation of its input.
pub(super) fn count(program: &Path, growth: &Growth, size: u64) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*counted_work*"])
        .arg(program)
        .args([growth.subject, &size.to_string(), &growth.repetitions.to_string()])
        .output()
        .context("valgrind cannot be run")?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("`{} {} {size}` failed:\n{report}", growth.program, growth.subject);
    }
    let collected = report.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    match collected {
        Some(all) if all > 0 => Ok(all / (growth.repetitions * growth.pieces)),
        _ => bail!("valgrind did not find the function `counted_work`:\n{report}"),
    }
}
