//! Cost counted in instructions, which is the same on every run and every machine, however busy.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{cargo, step, target};

/// One comparison: the same work on little and on much.
struct Row {
    what: &'static str,
    /// The first argument of the example `cost`.
    subject: &'static str,
    sizes: [u64; 2],
    repetitions: u64,
    /// The most that the cost may grow by from the first size to the second.
    target: f64,
}

const fn memory(what: &'static str, subject: &'static str) -> Row {
    Row { what, subject, sizes: [10, 100_000], repetitions: 900, target: 1.5 }
}

const fn plan(what: &'static str, subject: &'static str) -> Row {
    Row { what, subject, sizes: [1_000, 10_000], repetitions: 1, target: 12.0 }
}

const ROWS: [Row; 7] = [
    memory("read, by messages", "read"),
    memory("append, by messages", "append"),
    plan("plan check, a chain", "plan-chain"),
    plan("plan check, out and in", "plan-fan"),
    plan("plan check, independent", "plan-independent"),
    plan("plan check, at random", "plan-random"),
    plan("plan check, rivals", "plan-rivals"),
];

pub(crate) fn run() -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!("valgrind is not installed: on Debian and Ubuntu, `apt-get install valgrind`");
    }
    let build = ["build", "--release", "--quiet", "--package", "obelus-kernel", "--example", "cost"];
    step("building", &mut cargo(&build))?;
    let program = target()?.join("release/examples/cost");
    let mut missed = Vec::new();
    print(&["instructions for each", "sizes", "small", "large", "ratio", "target"].map(str::to_owned));
    for row in ROWS {
        let [small, large] = row.sizes;
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
    if !missed.is_empty() {
        bail!("target missed: {}", missed.join("; "));
    }
    Ok(())
}

/// Instructions for one repetition. Only what happens inside of `counted_work` counts, not the making of its input.
fn count(program: &Path, row: &Row, size: u64) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*counted_work*"])
        .arg(program)
        .args([row.subject, &size.to_string(), &row.repetitions.to_string()])
        .output()
        .context("valgrind cannot be run")?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("`cost {} {size}` failed:\n{report}", row.subject);
    }
    let collected = report.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    match collected {
        Some(all) if all > 0 => Ok(all / row.repetitions),
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
