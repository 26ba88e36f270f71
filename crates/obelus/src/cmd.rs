//! The commands.

mod completions;
mod plan;
mod resolve;
mod vectors;

use anyhow::Result;

use crate::cli::{Command, Plan};
use crate::output::Exit;

/// Runs a command. An error is wrong usage or unreadable input; work that failed is an exit code.
pub(crate) fn run(command: Command) -> Result<Exit> {
    match command {
        Command::Resolve(args) => resolve::run(&args),
        Command::Plan(Plan::Check(args)) => plan::check(&args),
        Command::Plan(Plan::Graph(args)) => plan::graph(&args),
        Command::Vectors(args) => vectors::run(&args),
        Command::Completions(args) => Ok(completions::run(&args)),
    }
}
