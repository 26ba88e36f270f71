//! Arguments of `plan`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ModeArg, RunOptions};

/// Check, draw, simulate or run a plan.
#[derive(Subcommand)]
pub(crate) enum PlanCommand {
    Check(CheckArgs),
    Graph(GraphArgs),
    Simulate(Simulate),
    Run(RunPlan),
}

/// A saved plan.
#[derive(Args)]
pub(crate) struct PlanFile {
    /// A request `{context, schema?}` whose context has a plan; `-` is stdin.
    pub(crate) file: PathBuf,
    /// The input of the plan: JSON, or @FILE. It must fit the schema of the plan's `input`.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
}

/// Show what a plan would do, without doing it.
///
/// Prints every call with its parameters as far as they are known, the order in waves, which calls would need a
/// confirmation and why, and which calls each branch would skip.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus plan simulate plan.json --mode canary")]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) plan: PlanFile,
    /// The mode of the simulated run.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) mode: ModeArg,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a saved plan.
///
/// No model is asked for calls or output: the command is the approval. Policy and confirmations still apply, and
/// calls without an activity still ask a model. Prints each call with its result, or why it has none. The exit code is 1
/// if a call failed or was skipped for lack of a value, and 3 if a person is needed.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus plan run plan.yaml --activities activities.yaml")]
pub(crate) struct RunPlan {
    #[command(flatten)]
    pub(crate) plan: PlanFile,
    #[command(flatten)]
    pub(crate) how: RunOptions,
    /// Print one JSON document: `{schema, context, solution, ends, …}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check a plan and print the order of its calls.
///
/// Finds unknown tools, malformed references, references without a source, cycles, parameters that break a tool's
/// schema, incompatible types, and several writers of one path.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus plan check plan.json
  obelus plan check plan.json --json | jq .errors")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) plan: PlanFile,
    /// Print `{valid, waves, edges, errors, warnings}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Draw a plan: a box for each call, an arrow for each value passed on.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus plan graph plan.json --format svg > plan.svg
  obelus plan graph plan.json --format dot | dot -Tpng > plan.png
  obelus plan graph plan.json                  Mermaid, for Markdown")]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) plan: PlanFile,
    /// The format of the drawing.
    #[arg(long, value_enum, default_value = "mermaid")]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    Mermaid,
    Dot,
    Svg,
    /// Nodes and edges as data.
    Json,
}
