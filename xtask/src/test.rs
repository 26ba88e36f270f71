//! All checks that must pass before a change is merged.

use anyhow::Result;

use crate::console;
use crate::step::{cargo, root, step};

/// Features of the binary beyond its defaults.
const ENGINES: &str = "obelus/restate";

pub(crate) fn run(long: bool) -> Result<()> {
    step("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--features", ENGINES, "--", "-D", "warnings"];
    step("lints", &mut cargo(&lints))?;
    connectors()?;
    console::run()?;
    console::check()?;
    // All failing tests are named, not only those of the first program.
    step("tests", &mut cargo(&["test", "--workspace", "--features", ENGINES, "--no-fail-fast"]))?;
    vectors()?;
    if long {
        let mut properties = cargo(&["test", "--package", "obelus-notebook", "--test", "properties"]);
        step("properties, 20,000 cases of each", properties.env("PROPTEST_CASES", "20000"))?;
        let mut simulation = cargo(&["test", "--package", "obelus-runtime", "--test", "simulation"]);
        step("the simulation, 20,000 seeds", simulation.env("OBELUS_SEEDS", "20000"))?;
        let mut storm = cargo(&["test", "--package", "obelus", "--test", "serve", "storm"]);
        step("a server under load, killed 100 times", storm.env("OBELUS_ROUNDS", "100"))?;
        let long = ["test", "--package", "obelus-runtime", "--test", "restore", "--", "--ignored"];
        step("a session of 50,000 calls under a memory limit", &mut cargo(&long))?;
        let nodes = ["test", "--workspace", "--features", ENGINES, "--test", "cluster", "--", "--ignored"];
        step("three nodes and two workers of Restate that are killed under 64 sessions", &mut cargo(&nodes))?;
    }
    eprintln!("everything passed");
    Ok(())
}

/// Checks that each connector builds alone, because embedders choose the connectors they need.
fn connectors() -> Result<()> {
    for feature in ["", "bitrix24", "exec", "http", "jq", "mcp", "openai"] {
        let what = if feature.is_empty() { "no connector".to_owned() } else { format!("`{feature}` alone") };
        let lint = ["clippy", "--package", "obelus-connect", "--no-default-features", "--features", feature];
        step(&what, cargo(&lint).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

/// Repeats one seed of the simulation; a failing run prints its seed.
pub(crate) fn simulate(seed: &str) -> Result<()> {
    let mut simulation = cargo(&["test", "--package", "obelus-runtime", "--test", "simulation", "--", "--nocapture"]);
    step(&format!("seed {seed}"), simulation.env("OBELUS_SEED", seed))
}

/// The project's vectors, and those beside the repository if there are any.
fn vectors() -> Result<()> {
    let mut runner = cargo(&["test", "--workspace", "--features", ENGINES, "--test", "vectors"]);
    let others = root().join("../shared/vectors");
    if others.is_dir() {
        step("vectors, own and shared", runner.env("OBELUS_VECTORS", others))
    } else {
        step("vectors", &mut runner)
    }
}
