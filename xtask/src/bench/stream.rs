//! Reading an answer in pieces of 16 bytes, compared with reading it at once by serde_json.

use std::path::Path;

use anyhow::Result;

use super::{Row, count, grouped};

const SMALL: u64 = 1_000_000;
const LARGE: u64 = 10_000_000;
/// The largest permitted cost of streaming, relative to reading at once.
const MAX_RATIO: f64 = 3.0;
/// The largest permitted growth of the cost for ten times the bytes.
const MOST_GROWTH: f64 = 11.0;

const fn row(subject: &'static str) -> Row {
    Row { what: "", program: "cost", subject, sizes: [SMALL, LARGE], repetitions: 1, pieces: 1, target: MOST_GROWTH }
}

/// Prints the figures; returns whether the targets are met.
#[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
pub(super) fn compare(cost: &Path) -> Result<bool> {
    let small = count(cost, &row("stream"), SMALL)?;
    let large = count(cost, &row("stream"), LARGE)?;
    let whole = count(cost, &row("whole"), LARGE)?;
    let growth = large as f64 / small as f64;
    let times = large as f64 / whole as f64;
    println!("\nAn answer in pieces of 16 bytes, to its solution, in instructions:");
    println!("  {:>10} bytes {:>16}", grouped(SMALL), grouped(small));
    println!(
        "  {:>10} bytes {:>16}, {growth:.2} times as much, target ≤ {MOST_GROWTH}",
        grouped(LARGE),
        grouped(large)
    );
    println!(
        "  serde_json at once {:>14}, the stream costs {times:.2} times that, target ≤ {MAX_RATIO}",
        grouped(whole)
    );
    Ok(growth <= MOST_GROWTH && times <= MAX_RATIO)
}
