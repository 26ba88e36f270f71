//! Characters of the requests to a model in a conversation of several tasks, and those that its provider can serve from a cache.
//!
//! The same scripted model answers both sides in as many requests, so that they differ only in what they send.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::langgraph::LangGraph;
use super::row::{BenchRow, Goal};
use super::{BenchRun, output};
use crate::step::{root, target};

const CUSTOMERS: [&str; 5] = ["Anna", "Boris", "Clara", "David", "Eva"];
const ORDERS: usize = 10;

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
    let peer = LangGraph::installed()?;
    run.say("characters sent to the model in five tasks");
    let (folder, agent) = (run.folder("prompt")?, root().join("bench/task"));
    let file = format!("{folder}/cases.json");
    std::fs::write(&file, cases().to_string())?;
    let program = target()?.join("release/obelus");
    let evaluated =
        output(Command::new(program).args(["eval", "--json", "--cases", &file]).arg(&agent)).context("obelus eval")?;
    let evaluated: Value = serde_json::from_str(&evaluated)?;
    let ours = |name: &str| evaluated["sent"][name].as_f64().with_context(|| format!("`sent` has no {name}"));
    let theirs = peer.figures(&["prompt", &agent.display().to_string(), &file])?;
    if ours("requests")? != theirs["requests"] {
        bail!("{} requests beside {}: the model has not answered alike", ours("requests")?, theirs["requests"]);
    }
    let tasks = CUSTOMERS.len() as f64;
    let row = |name: &str, unit, ours, theirs| BenchRow {
        name: name.to_owned(),
        unit,
        ours,
        beside: "LangGraph, ReAct agent".to_owned(),
        peer: Some(theirs),
        goal: Goal::Shown,
    };
    let uncached = |chars: f64, prefix: f64| (chars - prefix, (chars - prefix) / chars * 100.0);
    let (our_rest, our_share) = uncached(ours("chars")?, ours("prefix")?);
    let (their_rest, their_share) = uncached(theirs["chars"], theirs["prefix"]);
    Ok(vec![
        row("sent to the model for a task of 12 calls", "characters", ours("chars")? / tasks, theirs["chars"] / tasks),
        row("  of them after the prefix that a cache has", "characters", our_rest / tasks, their_rest / tasks),
        row("  their share", "%", our_share, their_share),
    ])
}

/// A conversation: for each customer the orders are read and moved, and a message is sent.
fn cases() -> Value {
    let turns: Vec<Value> = CUSTOMERS.iter().enumerate().map(|(at, customer)| turn(at, customer)).collect();
    json!([{"name": "orders of five customers", "kind": "conversation", "agent": "task", "turns": turns}])
}

fn turn(at: usize, customer: &str) -> Value {
    let day = format!("2024-05-{:02}", at + 10);
    let numbers = at * ORDERS + 100..(at + 1) * ORDERS + 100;
    let order = |number| {
        json!({"number": number, "goods": "windows of two panes", "sum": number * 10, "day": "2024-05-02",
            "place": format!("Pskov, Lenina street {number}")})
    };
    let mut portal = vec![json!({
        "method": "find_orders",
        "params": {"customer": customer},
        "result": numbers.clone().map(order).collect::<Vec<_>>(),
    })];
    portal.extend(numbers.map(|number| {
        let params = json!({"number": number, "day": day});
        json!({"method": "move_order", "params": params, "result": {"number": number, "day": day}})
    }));
    portal.push(json!({
        "method": "send_message",
        "params": {"customer": customer, "text": format!("Your orders arrive on {day}.")},
        "result": {"sent": true},
    }));
    json!({
        "now": format!("2024-05-01T10:{at:02}:00Z"),
        "user": format!("Move the orders of {customer} to {day}"),
        "portal": portal,
        "expect": {"ends": "output"},
    })
}
