//! Reading an answer in pieces of 16 bytes, compared with reading it at once by serde_json.

use anyhow::Result;

use super::instructions::{Growth, count, needs_valgrind};
use super::row::{BenchRow, Goal};
use super::{BenchRun, programs};

const SMALL: u64 = 1_000_000;
const LARGE: u64 = 10_000_000;
/// The largest permitted cost of streaming, relative to reading at once.
const MAX_RATIO: f64 = 3.0;
/// The largest permitted growth of the cost for ten times the bytes.
const MOST_GROWTH: f64 = 11.0;

const fn work(subject: &'static str) -> Growth {
    Growth { what: "", program: "cost", subject, sizes: [SMALL, LARGE], repetitions: 1, pieces: 1, target: MOST_GROWTH }
}

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    needs_valgrind()?;
    let cost = programs()?.join("cost");
    run.say("a streamed answer, in instructions");
    let small = count(&cost, &work("stream"), SMALL)? as f64;
    let large = count(&cost, &work("stream"), LARGE)? as f64;
    let whole = count(&cost, &work("whole"), LARGE)? as f64;
    let row = |beside: &str, peer, goal| BenchRow {
        name: "an answer of 10 MB in pieces of 16 bytes".to_owned(),
        unit: "instructions",
        ours: large,
        beside: beside.to_owned(),
        peer: Some(peer),
        goal,
    };
    Ok(vec![
        row("Obelus, an answer of 1 MB", small, Goal::Within(MOST_GROWTH)),
        row("limit: serde_json at once", whole, Goal::Within(MAX_RATIO)),
    ])
}
