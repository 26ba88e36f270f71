//! A conversation that grows: the time of an early and of a late turn, bytes on disk, reading it, listing its history,
//! continuing it.

use std::process::Command;

use anyhow::Result;

use super::langgraph::LangGraph;
use super::row::{BenchRow, Goal};
use super::{BenchRun, Figures, figures, programs};

const MESSAGES: usize = 2_000;
/// LangGraph is not measured at this size: without delta channels it would write hundreds of gigabytes.
const MANY: usize = 100_000;
/// The largest permitted growth of a turn's cost from the first tenth of a conversation to the last.
const FLAT: f64 = 1.5;

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    let peer = LangGraph::installed()?;
    let folder = run.folder("thread")?;
    let count = MESSAGES.to_string();
    let ours = |messages: usize| -> Result<Figures> {
        run.say(&format!("a thread of {} messages", super::grouped(messages as u64)));
        figures(Command::new(programs()?.join("peer")).args(["thread", &folder, &messages.to_string()]))
    };
    let small = ours(MESSAGES)?;
    let mut rows = Vec::new();
    for (kind, beside) in [("plain", "LangGraph"), ("delta", "LangGraph, DeltaChannel")] {
        run.say(&format!("the same thread by {beside}"));
        let theirs = peer.figures(&["thread", kind, &count, &folder])?;
        if !theirs.contains_key("missing") {
            rows.extend(compared(&small, &theirs, beside));
        }
    }
    rows.extend(limits(&small));
    if !run.quick {
        rows.extend(grown(&small, &ours(MANY)?));
    }
    Ok(rows)
}

/// The same thread with Obelus and with LangGraph.
fn compared(ours: &Figures, theirs: &Figures, beside: &str) -> Vec<BenchRow> {
    let row = |name: &str, unit, key: &str, by: f64, goal| BenchRow {
        name: format!("{name}, thread of {}", super::grouped(MESSAGES as u64)),
        unit,
        ours: ours[key] / by,
        beside: beside.to_owned(),
        peer: Some(theirs[key] / by),
        goal,
    };
    let growth = BenchRow {
        name: format!("growth of a turn to {} messages", super::grouped(MESSAGES as u64)),
        unit: "late/early",
        ours: ours["late"] / ours["early"],
        beside: beside.to_owned(),
        peer: Some(theirs["late"] / theirs["early"]),
        goal: Goal::Most(FLAT),
    };
    vec![
        row("an early turn", "µs CPU", "early", 1.0, Goal::Ratio(20.0)),
        row("a late turn", "µs CPU", "late", 1.0, Goal::Ratio(20.0)),
        growth,
        row("bytes on disk", "KiB", "bytes", 1024.0, Goal::Ratio(5.0)),
        row("reading the state", "µs CPU", "read", 1.0, Goal::Shown),
        row("an entry of the listed history", "µs CPU", "history", 1.0, Goal::Shown),
        row("resuming, and one turn", "µs CPU", "resume", 1.0, Goal::Shown),
    ]
}

/// Our figures beside physical limits.
fn limits(ours: &Figures) -> Vec<BenchRow> {
    let row = |name: &str, key: &str, beside: &str, peer: &str, unit, by: f64| BenchRow {
        name: name.to_owned(),
        unit,
        ours: ours[key] / by,
        beside: beside.to_owned(),
        peer: Some(ours[peer] / by),
        goal: Goal::Shown,
    };
    vec![
        row("reading the state from disk", "read", "limit: parsing the same JSON", "parse", "µs CPU", 1.0),
        row("bytes on disk", "bytes", "limit: the state as JSON", "state_bytes", "KiB", 1024.0),
    ]
}

/// How the cost of a turn grows with the thread.
fn grown(small: &Figures, large: &Figures) -> Vec<BenchRow> {
    let row = |name: &str, unit, key: &str, by: f64, goal| BenchRow {
        name: format!("{name}, thread of {}", super::grouped(MANY as u64)),
        unit,
        ours: large[key] / by,
        beside: format!("Obelus, thread of {}", super::grouped(MESSAGES as u64)),
        peer: Some(small[key] / by),
        goal,
    };
    let longer = MANY as f64 / MESSAGES as f64;
    vec![
        row("a late turn", "µs CPU", "late", 1.0, Goal::Within(FLAT)),
        row("bytes on disk", "KiB", "bytes", 1024.0, Goal::Within(longer * FLAT)),
        row("reading the state", "µs CPU", "read", 1.0, Goal::Within(longer * FLAT)),
        row("an entry of the listed history", "µs CPU", "history", 1.0, Goal::Within(FLAT)),
        row("resuming, and one turn", "µs CPU", "resume", 1.0, Goal::Shown),
    ]
}
