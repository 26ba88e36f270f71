//! Steps of 64 sessions on a Restate server, compared with a bare service that does as many journaled steps.

use std::process::Command;

use anyhow::Result;

use super::row::{BenchRow, Goal};
use super::{BenchRun, figures, programs};

/// The goal: the share of the bare service's steps a second.
const SHARE: f64 = 0.6;

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    run.say("steps on Restate, beside a bare service (installs the server from npm, once)");
    let figures = figures(Command::new(programs()?.join("throughput")).arg("sessions"))?;
    Ok(vec![BenchRow {
        name: "a step on Restate, 64 sessions at once".to_owned(),
        unit: "µs",
        ours: 1e6 / figures["rate"],
        beside: "limit: a bare service with as many journaled steps".to_owned(),
        peer: Some(1e6 / figures["bare"]),
        goal: Goal::Ratio(SHARE),
    }])
}
