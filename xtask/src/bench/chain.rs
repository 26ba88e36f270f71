//! A step of a chain, and a branch of a fan-out: in memory and durable, with the library and with the command.
//!
//! The load of the machine changes over time, so the two sides are measured in turn, and medians are compared.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::langgraph::{LangGraph, cpu_of, script};
use super::row::{BenchRow, Goal};
use super::{BenchRun, figures, median, programs};
use crate::step::target;

const SIZES: [usize; 3] = [10, 100, 1_000];
const FANS: [usize; 3] = [100, 1_000, 10_000];
const IN_MEMORY: Goal = Goal::Ratio(100.0);
const DURABLE: Goal = Goal::Ratio(20.0);
const BY_COMMAND: Goal = Goal::Ratio(50.0);

/// Chains with the library, then with the command.
pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    let peer = LangGraph::installed()?;
    let mut rows = in_memory(run, &peer)?;
    rows.extend(durable(run, &peer)?);
    rows.extend(by_command(run, &peer)?);
    Ok(rows)
}

/// Independent branches.
pub(super) fn fans(run: &BenchRun) -> Result<Vec<BenchRow>> {
    let peer = LangGraph::installed()?;
    // LangGraph needs minutes for 10,000 branches.
    let compared = if run.quick { &FANS[..2] } else { &FANS[..] };
    run.say("a fan-out by LangGraph");
    let theirs = peer.figures(&["fan", &list(compared), "3"])?;
    let row = |size: usize| -> Result<BenchRow> {
        run.say(&format!("a fan-out of {}", super::grouped(size as u64)));
        let ours = microseconds(Command::new(programs()?.join("chain")).args(["fan", &size.to_string(), "10"]))?;
        let name = format!("a branch of a fan-out of {}", super::grouped(size as u64));
        Ok(step_row(name, ours, "LangGraph, `Send`", theirs.get(&size.to_string()).copied(), IN_MEMORY))
    };
    FANS.into_iter().map(row).collect()
}

fn in_memory(run: &BenchRun, peer: &LangGraph) -> Result<Vec<BenchRow>> {
    let program = programs()?.join("chain");
    let mut rows = Vec::new();
    for (shape, beside) in [("loop", "LangGraph, a loop of one node"), ("chain", "LangGraph, a chain of nodes")] {
        let mut rounds = Vec::new();
        for round in 1..=run.rounds() {
            run.say(&format!("chains in memory beside {beside}, round {round} of {}", run.rounds()));
            let theirs = peer.figures(&["steps", shape, &list(&SIZES), "3"])?;
            let ours = |size: usize| {
                microseconds(Command::new(&program).args(["chain", &size.to_string(), &(50_000 / size).to_string()]))
            };
            rounds.push((SIZES.map(ours), theirs));
        }
        for (at, size) in SIZES.into_iter().enumerate() {
            let ours = rounds.iter_mut().map(|(ours, _)| std::mem::replace(&mut ours[at], Ok(0.0)));
            let ours = median(ours.collect::<Result<_>>()?);
            let theirs = median(rounds.iter().map(|(_, theirs)| theirs[&size.to_string()]).collect());
            let name = format!("a step in memory, of {}", super::grouped(size as u64));
            rows.push(step_row(name, ours, beside, Some(theirs), IN_MEMORY));
        }
    }
    Ok(rows)
}

fn durable(run: &BenchRun, peer: &LangGraph) -> Result<Vec<BenchRow>> {
    let (folder, program) = (run.folder("chain")?, programs()?.join("peer"));
    let mut rounds = Vec::new();
    for round in 1..=run.rounds() {
        run.say(&format!("durable chains, round {round} of {}", run.rounds()));
        let theirs = peer.figures(&["steps", "loop", &list(&SIZES), "3", &folder])?;
        let mut ours = [super::Figures::new(), super::Figures::new()];
        for (ours, effect) in ours.iter_mut().zip(["read", "create"]) {
            for size in SIZES {
                ours.extend(figures(Command::new(&program).args(["steps", &folder, &size.to_string(), "5", effect]))?);
            }
        }
        rounds.push((ours, theirs));
    }
    let row = |at: usize, what: &str, size: usize| {
        let key = size.to_string();
        let ours = median(rounds.iter().map(|(ours, _)| ours[at][&key]).collect());
        let theirs = median(rounds.iter().map(|(_, theirs)| theirs[&key]).collect());
        let name = format!("a durable step {what}, of {}", super::grouped(size as u64));
        step_row(name, ours, "LangGraph, SQLite, sync", Some(theirs), DURABLE)
    };
    let reads = SIZES.map(|size| row(0, "that reads", size));
    let effects = SIZES.map(|size| row(1, "with an effect", size));
    Ok(reads.into_iter().chain(effects).collect())
}

/// The least number of runs of a command: the system counts its CPU time in ticks of some milliseconds.
const COMMAND_ROUNDS: usize = 9;

/// Whole processes, from start to end: `obelus plan run` beside a script.
fn by_command(run: &BenchRun, peer: &LangGraph) -> Result<Vec<BenchRow>> {
    let (obelus, python) = (target()?.join("release/obelus"), peer.program("python"));
    let script = script().display().to_string();
    let mut rows = Vec::new();
    for is_durable in [false, true] {
        for size in SIZES {
            let what = if is_durable { "durable" } else { "in memory" };
            let name = format!("a command, {} steps {what}", super::grouped(size as u64));
            run.say(&name);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..run.rounds().max(COMMAND_ROUNDS) {
                let folder = run.folder("command")?;
                let file = format!("{folder}/plan.json");
                std::fs::write(&file, plan(size).to_string()).context("the plan")?;
                let mut command = vec!["plan".to_owned(), "run".to_owned(), file];
                let mut once = vec![script.clone(), "once".to_owned(), size.to_string()];
                if is_durable {
                    command.extend(["--session", "s", "--store", &format!("{folder}/store")].map(str::to_owned));
                    once.push(folder);
                }
                ours.push(cpu_of(1, &obelus, &command)? / 1e3);
                theirs.push(cpu_of(1, &python, &once)? / 1e3);
            }
            let (ours, theirs) = (median(ours), median(theirs));
            let beside = "LangGraph, a script".to_owned();
            rows.push(BenchRow { name, unit: "ms CPU", ours, beside, peer: Some(theirs), goal: BY_COMMAND });
        }
    }
    Ok(rows)
}

/// A request with a chain of calls of a jq filter.
fn plan(calls: usize) -> Value {
    let tool = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "x-effect": "read"});
    let call = |i: usize| match i {
        0 => json!({"_tool": "next", "n": 0, "_outputPath": "†state.v0"}),
        _ => json!({"_tool": "next", "n": format!("†state.v{}", i - 1), "_outputPath": format!("†state.v{i}")}),
    };
    let calls: Value = (0..calls).map(call).collect();
    json!({
        "context": [{"type": "tool", "tool": {"next": tool}}, {"type": "plan", "plan": calls}],
        "activities": {"next": {"jq": ".call.n + 1"}},
    })
}

fn step_row(name: String, ours: f64, beside: &str, peer: Option<f64>, goal: Goal) -> BenchRow {
    BenchRow { name, unit: "µs CPU", ours, beside: beside.to_owned(), peer, goal }
}

fn list(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Runs a program that prints a number of microseconds.
fn microseconds(command: &mut Command) -> Result<f64> {
    let text = super::output(command)?;
    text.trim().parse().with_context(|| format!("a number was expected, and there is {text:?}"))
}
