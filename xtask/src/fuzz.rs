//! Runs the fuzz tests for longer than `cargo test` does.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::step::{cargo, root, step};

/// The arguments that select the fuzz tests.
const TARGETS: [&[&str]; 7] = [
    &["test", "--package", "obelus-notebook", "--test", "fuzz"],
    &["test", "--package", "obelus-kernel", "--test", "fuzz"],
    &["test", "--package", "obelus-runtime", "--test", "fuzz"],
    &["test", "--package", "obelus-connect", "--lib", "fuzz_"],
    &["test", "--package", "obelus-channel", "--all-features", "--lib", "fuzz_"],
    &["test", "--package", "obelus-vectors", "--test", "fuzz"],
    &["test", "--package", "obelus", "--bin", "obelus", "fuzz_"],
];

/// Divides the minutes among the targets; each has a folder of seeds.
pub(crate) fn run(minutes: &str) -> Result<()> {
    let minutes: f64 =
        minutes.parse().ok().filter(|minutes| *minutes > 0.0).context("--minutes is a number, such as 5")?;
    let corpus = root().join("fuzz/corpus");
    let targets = std::fs::read_dir(&corpus).with_context(|| corpus.display().to_string())?.count();
    if targets == 0 {
        bail!("{} has no targets", corpus.display());
    }
    let seconds = (minutes * 60.0 / targets as f64).ceil();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
    for target in TARGETS {
        let mut run = cargo(target);
        // Tests run one after the other, so that each can use the whole machine.
        run.args(["--", "--test-threads=1", "--nocapture"]);
        run.env("OBELUS_FUZZ_SECONDS", seconds.to_string()).env("OBELUS_FUZZ_SEED", seed.to_string());
        step(&format!("{}, {seconds} s for each decoder, OBELUS_FUZZ_SEED={seed}", target[2]), &mut run)?;
    }
    Ok(())
}
