//! `obelus plan check`, `graph` and `simulate`

mod load;

use anstyle::Style;
use anyhow::{Result, bail};
use obelus_kernel::Rule;
use obelus_kernel::plan::{Check, RunsFor, Simulation};
use obelus_runtime::SessionSpec;
use serde_json::{Value, json};

use crate::cli;
use crate::output::{self, BOLD, DIM, Exit, GREEN, RED, YELLOW, visible};
use load::Loaded;
pub(crate) use load::give_input;

pub(crate) fn check(args: &cli::CheckArgs) -> Result<Exit> {
    let loaded = Loaded::read(&args.plan)?;
    let dry = loaded.dry_run(loaded.spec.settings.mode);
    if args.json {
        let mut answer = loaded.to_json();
        let fields = ["call", "tool", "verdict", "reasons", "by"];
        let row = |call: &Value| fields.iter().filter_map(|name| Some((*name, call.get(*name)?.clone()))).collect();
        answer["calls"] = dry.calls.iter().map(row).collect::<Vec<Value>>().into();
        output::json(&answer);
    } else {
        print_report(&loaded, Some(&dry));
    }
    Ok(if loaded.is_valid() { Exit::Done } else { Exit::Failed })
}

pub(crate) fn graph(args: &cli::GraphArgs) -> Result<Exit> {
    let loaded = Loaded::read(&args.plan)?;
    let drawing = obelus_draw::plan_drawing(&loaded.check, &loaded.name);
    match args.format {
        cli::Format::Mermaid => output::answer(drawing.mermaid().trim_end()),
        cli::Format::Dot => output::answer(drawing.dot().trim_end()),
        cli::Format::Svg => output::answer(drawing.svg().trim_end()),
        cli::Format::Json => output::json(&to_json(&loaded.check)),
    }
    loaded.errors().iter().for_each(|error| output::warning(error));
    Ok(Exit::Done)
}

pub(crate) fn simulate(args: &cli::Simulate) -> Result<Exit> {
    let loaded = Loaded::read(&args.plan)?;
    let dry = loaded.dry_run(args.mode.into());
    if args.json {
        let mut answer = loaded.to_json();
        answer["calls"] = dry.calls.into();
        answer["branches"] = dry.branches.into();
        output::json(&answer);
    } else {
        print_simulation(&dry);
        print_report(&loaded, None);
    }
    Ok(if loaded.is_valid() { Exit::Done } else { Exit::Failed })
}

/// A plan without errors, except those that other arguments of the command fix.
pub(super) fn sound(args: &cli::RunPlan) -> Result<SessionSpec> {
    let mut loaded = Loaded::read(&args.plan)?;
    loaded.problems.retain(|problem| !problem.is_mended_by(&args.how));
    let errors = loaded.errors();
    for warning in loaded.check.warnings.iter().filter(|warning| warning.rule == Rule::Plan12) {
        let call = warning.call.map(|call| format!(" call {call}:")).unwrap_or_default();
        output::warning(&visible(&format!("{}: {}:{call} {}", loaded.name, warning.rule, warning.text)));
    }
    match errors.first() {
        None => Ok(loaded.spec),
        Some(first) => {
            let more = if errors.len() > 1 { " (see `obelus plan check`)" } else { "" };
            bail!("{first}{more}")
        }
    }
}

fn print_simulation(dry: &Simulation) {
    for call in &dry.calls {
        let (index, tool) = (call["call"].to_string(), call["tool"].as_str().unwrap_or_default());
        let params = visible(&call["params"].to_string());
        let colour = colour_of(call);
        let verdict = call["verdict"].as_str().unwrap_or_default();
        let by = call["by"].as_str().map(|by| format!(" {DIM}by {}{DIM:#}", visible(by))).unwrap_or_default();
        output::answer(&format!(
            "{index:>4}  {colour}{verdict:<8}{colour:#}{BOLD}{}{BOLD:#} {params}{by}{}",
            visible(tool),
            reasons(call)
        ));
    }
    for branch in dry.branches.iter().filter(|branch| branch["skipped"].as_array().is_some_and(|all| !all.is_empty())) {
        let path = visible(branch["path"].as_str().unwrap_or_default());
        output::answer(&format!("      if call {} writes {path}, skipped: {}", branch["call"], branch["skipped"]));
    }
}

fn colour_of(call: &Value) -> Style {
    match call["verdict"].as_str() {
        Some("allow") => GREEN,
        Some("confirm") => YELLOW,
        _ => RED,
    }
}

/// Why a call has its verdict.
fn reasons(call: &Value) -> String {
    let why: Vec<&str> = call["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if why.is_empty() { String::new() } else { format!(" {DIM}because {}{DIM:#}", visible(&why.join(", "))) }
}

fn to_json(check: &Check) -> Value {
    let node = |(index, call): (usize, &obelus_kernel::Call)| {
        json!({
            "call": index,
            "tool": call.tool_name(),
            "effect": call.tool.as_ref().map(|tool| tool.effect.name()),
            "outputPath": call.output_path.as_ref().map(ToString::to_string),
            "runs": match &check.runs_for[index] {
                RunsFor::Once => json!("once"),
                RunsFor::Each => json!("each"),
                RunsFor::One(name) => json!({"instance": name}),
            },
        })
    };
    let edges = check.graph.edges().iter();
    let edges = edges.map(|edge| json!({"from": edge.from, "to": edge.to, "path": edge.path.to_string()}));
    json!({
        "nodes": check.calls.iter().enumerate().map(node).collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "waves": check.waves,
    })
}

fn print_report(loaded: &Loaded, dry: Option<&Simulation>) {
    let (check, file) = (&loaded.check, &loaded.name);
    for (wave, calls) in check.waves.iter().enumerate() {
        for (i, &index) in calls.iter().enumerate() {
            let call = &check.calls[index];
            let head = if i == 0 { format!("wave {}", wave + 1) } else { String::new() };
            let path = call.output_path.as_ref().map(|path| format!(" → {path}")).unwrap_or_default();
            let each = match &check.runs_for[index] {
                RunsFor::Once => String::new(),
                RunsFor::Each => format!(" {DIM}for each instance{DIM:#}"),
                RunsFor::One(name) => format!(" {DIM}for {}{DIM:#}", visible(name)),
            };
            let fed = match feeding_calls(check, index) {
                calls if calls.is_empty() => String::new(),
                calls => format!("   {DIM}after {calls}{DIM:#}"),
            };
            let verdict = dry.map(|dry| verdict(&dry.calls[index])).unwrap_or_default();
            output::answer(&format!(
                "{head:<9}{index:>4}  {BOLD}{}{BOLD:#}{}{each}{fed}{verdict}",
                visible(call.tool_name()),
                visible(&path)
            ));
        }
    }
    for warning in &check.warnings {
        let call = warning.call.map(|call| format!(": call {call}")).unwrap_or_default();
        output::answer(&format!("{YELLOW}warning{YELLOW:#} {}{call}: {}", warning.rule, visible(&warning.text)));
    }
    for note in loaded.notes() {
        output::answer(&format!("{YELLOW}warning{YELLOW:#} {}", visible(&note)));
    }
    let errors = loaded.errors();
    for error in &errors {
        output::answer(&format!("{RED}error{RED:#} {}", visible(error)));
    }
    let (n, waves, edges) = (check.calls.len(), check.waves.len(), check.graph.edges().len());
    let counts = format!("{} in {}, {}", count(n, "call"), count(waves, "wave"), count(edges, "edge"));
    let verdict = match errors.len() {
        0 => format!("{GREEN}sound{GREEN:#}: {counts}"),
        errors => format!("{RED}{}{RED:#}: {}", count(errors, "error"), count(n, "call")),
    };
    output::answer(&format!("{file}: {verdict}"));
}

/// The verdict on a call.
fn verdict(call: &Value) -> String {
    let colour = colour_of(call);
    format!("   {colour}{}{colour:#}{}", call["verdict"].as_str().unwrap_or_default(), reasons(call))
}

fn feeding_calls(check: &Check, index: usize) -> String {
    let mut calls: Vec<usize> = check.graph.edges_into(index).iter().map(|edge| edge.from).collect();
    calls.sort_unstable();
    calls.dedup();
    let more = if calls.len() > 8 { ", …" } else { "" };
    let names: Vec<String> = calls.iter().take(8).map(ToString::to_string).collect();
    names.join(", ") + more
}

fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
