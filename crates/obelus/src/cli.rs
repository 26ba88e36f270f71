//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Agents that do real work under human control.
#[derive(Parser)]
#[command(name = "obelus", version, arg_required_else_help = true, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to colour what is printed.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  obelus plan check plan.json            is the plan sound, and in which order would it run?
  obelus plan graph plan.json --format svg > plan.svg
  obelus resolve context.json '†state.deal.title || †input.title'
  obelus vectors vectors/

Exit codes: 0 done, 1 the work failed or was refused, 2 wrong usage or unreadable input,
3 waiting for a person, 130 interrupted. A file argument `-` is stdin.";

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// `auto` honours `NO_COLOR` and whether there is a terminal.
    pub(crate) fn write_global(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Resolve(Resolve),
    #[command(subcommand)]
    Plan(Plan),
    Vectors(Vectors),
    Completions(Completions),
}

/// Print the value of an expression in a context.
///
/// Prints the value as JSON. Exit 1 if it is absent, 2 if the expression or the context is malformed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus resolve context.json '†state.deal.items[-1].price'
  obelus resolve context.json '†state.manual || †state.auto' --instance anna
  cat context.json | obelus resolve - '†input' --json")]
pub(crate) struct Resolve {
    /// A JSON array of messages, or a request with such a `context`; `-` is stdin.
    #[arg(value_name = "CONTEXT.json")]
    pub(crate) context: PathBuf,
    /// An expression, such as `†state.deal.title || †input.title`.
    pub(crate) expr: String,
    /// Read for this instance: its own values over the global ones.
    #[arg(long, value_name = "I")]
    pub(crate) instance: Option<String>,
    /// Print `{"value": …}`, `{"absent": true}` or `{"error": …}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check or draw a plan without running it.
#[derive(Subcommand)]
pub(crate) enum Plan {
    Check(Check),
    Graph(Graph),
}

/// Say whether a plan is sound, and in which order it would run.
///
/// Finds unknown tools, malformed references, references nobody feeds, calls that wait for each other,
/// parameters that break a tool's schema, types that clash, and several writers of one path.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus plan check plan.json
  obelus plan check plan.json --json | jq .errors")]
pub(crate) struct Check {
    /// A request `{context, schema?}` whose context has a plan; `-` is stdin.
    pub(crate) file: PathBuf,
    /// Print `{valid, waves, edges, errors, warnings}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Draw a plan: a box for each call, an arrow for each value that flows.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus plan graph plan.json --format svg > plan.svg
  obelus plan graph plan.json --format dot | dot -Tpng > plan.png
  obelus plan graph plan.json                  Mermaid, for Markdown")]
pub(crate) struct Graph {
    /// A request `{context, schema?}` whose context has a plan; `-` is stdin.
    pub(crate) file: PathBuf,
    /// The form of the drawing.
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

/// Run conformance vectors.
///
/// Prints a line for each case that did not pass and, last, `N passed, N failed`. Exit 1 if one failed.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus vectors vectors/ --json | jq '.cases[] | select(.ok | not)'")]
pub(crate) struct Vectors {
    /// Files, or folders whose `*.json` files are run.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print `{passed, failed, cases: [{file, name, ok, why}]}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a completion script for a shell.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus completions bash > ~/.local/share/bash-completion/completions/obelus")]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}
