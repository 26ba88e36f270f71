//! Benchmarks. Most count instructions, which do not depend on how busy the machine is.
//!
//! # Layout
//!
//! This file has the rows in instructions. [`durable`] compares durability with a plain file, [`operator`] a step of the
//! operator agent with a snapshot by the browser, [`peer`] the CPU time of a call with a step of LangGraph, [`serve`] a
//! server with LangGraph's, [`stream`] the reading of a streamed answer with reading it at once.

mod durable;
mod operator;
mod peer;
mod serve;
mod stream;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{cargo, step, target};

/// One comparison: the same work on a small and a large input.
struct Row {
    what: &'static str,
    /// The example that does the work.
    program: &'static str,
    /// Its first argument.
    subject: &'static str,
    sizes: [u64; 2],
    repetitions: u64,
    /// Units of work in one repetition; the cost of one unit is printed.
    pieces: u64,
    /// The largest permitted growth of the cost from the first size to the second.
    target: f64,
}

const fn memory(what: &'static str, subject: &'static str) -> Row {
    Row { what, program: "cost", subject, sizes: [10, 100_000], repetitions: 900, pieces: 1, target: 1.5 }
}

const fn plan(what: &'static str, subject: &'static str) -> Row {
    Row { what, program: "cost", subject, sizes: [1_000, 10_000], repetitions: 1, pieces: 1, target: 12.0 }
}

/// Calls through kernel and driver.
const fn calls(what: &'static str, subject: &'static str, sizes: [u64; 2], pieces: u64, target: f64) -> Row {
    Row { what, program: "chain", subject, sizes, repetitions: 1, pieces, target }
}

/// The verdict of a policy on a call that one of its rules matches.
const fn verdict(what: &'static str, subject: &'static str) -> Row {
    Row { what, program: "cost", subject, sizes: [5, 200], repetitions: 1_000, pieces: 1, target: 3.0 }
}

const ROWS: [Row; 14] = [
    memory("read, by messages", "read"),
    memory("append, by messages", "append"),
    plan("plan check, a chain", "plan-chain"),
    plan("plan check, a fan", "plan-fan"),
    plan("plan check, independent", "plan-independent"),
    plan("plan check, random", "plan-random"),
    plan("plan check, same path", "plan-rivals"),
    verdict("verdict, by names", "verdict-names"),
    verdict("verdict, by patterns", "verdict-patterns"),
    verdict("verdict, by parameters", "verdict-params"),
    verdict("verdict, by origins", "verdict-origins"),
    calls("a call, by messages", "history", [1_000, 100_000], 1_000, 1.2),
    calls("a chain of calls", "chain", [1_000, 10_000], 1, 12.0),
    calls("a fan-out of calls", "fan", [1_000, 10_000], 1, 12.0),
];

/// Only the steps per second on Restate. It prints a ratio, whose precision depends on the machine.
pub(crate) fn restate() -> Result<()> {
    let measure = ["test", "--release", "--package", "obelus-restate", "--test", "throughput", "--", "--ignored"];
    step("steps a second on Restate, beside a bare service", cargo(&measure).arg("--nocapture"))
}

/// Only the rows of streamed answers.
pub(crate) fn run_stream() -> Result<()> {
    needs_valgrind()?;
    build("obelus-kernel", "cost")?;
    match stream::compare(&target()?.join("release/examples/cost"))? {
        true => Ok(()),
        false => bail!("target missed: streamed answers"),
    }
}

fn needs_valgrind() -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!("valgrind is not installed: on Debian and Ubuntu, `apt-get install valgrind`");
    }
    Ok(())
}

pub(crate) fn run() -> Result<()> {
    needs_valgrind()?;
    build("obelus-kernel", "cost")?;
    build("obelus-runtime", "chain")?;
    let programs = programs()?;
    let mut missed = Vec::new();
    print(&["instructions for each", "sizes", "small", "large", "ratio", "target"].map(str::to_owned));
    for row in ROWS {
        let [small, large] = row.sizes;
        let program = programs.join(row.program);
        let [few, many] = [count(&program, &row, small)?, count(&program, &row, large)?];
        let ratio = many as f64 / few as f64;
        print(&[
            row.what.to_owned(),
            format!("{} → {}", grouped(small), grouped(large)),
            grouped(few),
            grouped(many),
            format!("{ratio:.2}"),
            format!("≤ {}", row.target),
        ]);
        if ratio > row.target {
            missed.push(row.what);
        }
    }
    if !stream::compare(&programs.join("cost"))? {
        missed.push("streamed answers");
    }
    missed.extend(peer::missed(&programs.join("chain"))?);
    if !durable::measure()? {
        missed.push("durability");
    }
    if !operator::measure()? {
        missed.push("a step of the operator");
    }
    passed(&missed)
}

/// Only the comparison with LangGraph.
pub(crate) fn run_peer() -> Result<()> {
    build("obelus-runtime", "chain")?;
    passed(&peer::missed(&programs()?.join("chain"))?)
}

/// The folder with the built examples.
fn programs() -> Result<PathBuf> {
    Ok(target()?.join("release/examples"))
}

fn passed(missed: &[&str]) -> Result<()> {
    if !missed.is_empty() {
        bail!("target missed: {}", missed.join("; "));
    }
    Ok(())
}

/// Figures by name.
type Figures = BTreeMap<String, f64>;

/// Reads lines with a name and a number.
fn figures_of(text: &str) -> Figures {
    let read = |line: &str| Some((line.split_once(' ')?.0.to_owned(), line.split_once(' ')?.1.parse().ok()?));
    text.lines().filter_map(read).collect()
}

/// Only the server under load.
pub(crate) fn serve() -> Result<()> {
    match serve::measure()? {
        true => Ok(()),
        false => bail!("target missed: the server under load"),
    }
}

/// Only a step of the operator agent.
pub(crate) fn operator() -> Result<()> {
    match operator::measure()? {
        true => Ok(()),
        false => bail!("target missed: a step of the operator"),
    }
}

/// Only the cost of durability.
pub(crate) fn durable() -> Result<()> {
    match durable::measure()? {
        true => Ok(()),
        false => bail!("target missed: durability"),
    }
}

fn build(package: &str, example: &str) -> Result<()> {
    let build = ["build", "--release", "--quiet", "--package", package, "--example", example];
    step(&format!("building `{example}`"), &mut cargo(&build))
}

/// Instructions for one unit of work. Only the function `counted_work` is counted, not the preparation of its input.
fn count(program: &Path, row: &Row, size: u64) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*counted_work*"])
        .arg(program)
        .args([row.subject, &size.to_string(), &row.repetitions.to_string()])
        .output()
        .context("valgrind cannot be run")?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("`{} {} {size}` failed:\n{report}", row.program, row.subject);
    }
    let collected = report.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    match collected {
        Some(all) if all > 0 => Ok(all / (row.repetitions * row.pieces)),
        _ => bail!("valgrind did not find the function `counted_work`:\n{report}"),
    }
}

#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn print([what, sizes, small, large, ratio, target]: &[String; 6]) {
    println!("{what:24} {sizes:>16} {small:>14} {large:>14} {ratio:>7} {target:>7}");
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }
}
