//! The cost of durability, compared with a plain append and `fdatasync`, by number of sessions and of records.

use std::process::Command;

use anyhow::Result;

use super::row::{BenchRow, Goal};
use super::{BenchRun, Figures, figures, programs};

const LIMIT: &str = "limit: append and fdatasync";

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    let (program, folder) = (programs()?.join("durable"), run.folder("durable")?);
    let measure = |figure: &str, rest: &[&str]| -> Result<Figures> {
        run.say(&format!("durability: {figure} {}", rest.join(" ")));
        figures(Command::new(&program).args([figure, &folder]).args(rest))
    };
    let one = measure("one", &[])?;
    let many = measure("many", &[if run.quick { "5" } else { "21" }])?;
    let mut rows = throughput(&one, &many, &measure("bytes", &[])?);
    if run.quick {
        return Ok(rows);
    }
    let opened = |sessions: &str| -> Result<Figures> {
        measure("fill", &[sessions])?;
        measure("open", &[])
    };
    let (few, all) = (opened("10")?, opened("100000")?);
    let aged = |records: &str| -> Result<Figures> {
        measure("age", &[records])?;
        measure("resume", &[])
    };
    rows.extend(growth([&few, &all], [&aged("1000")?, &aged("100000")?]));
    Ok(rows)
}

/// Time of a step, and bytes on disk.
fn throughput(one: &Figures, many: &Figures, bytes: &Figures) -> Vec<BenchRow> {
    let row = |name: &str, unit, ours, beside: &str, peer, goal| BenchRow {
        name: name.to_owned(),
        unit,
        ours,
        beside: beside.to_owned(),
        peer: Some(peer),
        goal,
    };
    let (json, json_words) = (bytes["json"], "limit: call and result as JSON");
    vec![
        row("a durable step of 1 kB", "µs", 1e6 / one["rate"], LIMIT, 1e6 / one["raw"], Goal::Ratio(0.35)),
        row("a durable step of 1 kB", "µs CPU", one["cpu"], LIMIT, one["raw_cpu"], Goal::Shown),
        row(
            "a durable step, 64 sessions at once",
            "µs",
            1e6 / many["rate"],
            "limit: append, one fdatasync for 64",
            1e6 / many["raw"],
            Goal::Ratio(0.25),
        ),
        row(
            "  its record, the store alone",
            "µs",
            1e6 / many["store_rate"],
            "limit: append, one fdatasync for 64",
            1e6 / many["raw"],
            Goal::Shown,
        ),
        row("bytes on disk of a step of 1 kB", "bytes", bytes["ratio"] * json, json_words, json, Goal::Within(3.0)),
        row("  while the store is open", "bytes", bytes["while_held"] * json, json_words, json, Goal::Shown),
    ]
}

/// How opening and restoring grow with the number of sessions and records.
fn growth([few, all]: [&Figures; 2], [young, old]: [&Figures; 2]) -> Vec<BenchRow> {
    let row = |name: &str, unit, ours, beside: &str, peer, goal| BenchRow {
        name: name.to_owned(),
        unit,
        ours,
        beside: format!("Obelus, {beside}"),
        peer: Some(peer),
        goal,
    };
    let ms = "milliseconds";
    let megabytes = |figures: &Figures| figures["resident_kb"] / 1024.0;
    let snapshot = "without_snapshot";
    vec![
        row("opening a store of 100,000 sessions", "ms", all[ms], "10 sessions", few[ms], Goal::Within(2.0)),
        row(
            "memory for a store of 100,000 sessions",
            "MB",
            megabytes(all),
            "10 sessions",
            megabytes(few),
            Goal::Most(megabytes(few) + 20.0),
        ),
        row("restoring 100,000 records", "ms", old[ms], "1,000 records", young[ms], Goal::Within(3.0)),
        row("  without a snapshot", "ms", old[snapshot], "1,000 records", young[snapshot], Goal::Shown),
    ]
}
