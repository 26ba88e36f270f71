//! The commands.

mod adopt;
mod agents;
mod chat;
pub(crate) mod completions;
mod delegates;
pub(crate) mod demo;
mod doctor;
#[cfg(feature = "restate")]
mod engine;
pub(crate) mod eval;
mod faults;
mod holder;
mod host;
mod man;
mod new;
mod people;
mod plan;
mod policy;
#[cfg(feature = "serve")]
mod remote;
mod resolve;
mod run;
pub(crate) mod sandbox;
#[cfg(feature = "serve")]
mod serve;
mod sessions;
mod spent;
mod tool_notes;
mod vectors;

use anyhow::Result;

use crate::cli::{Command, PlanCommand};
use crate::output::Exit;

/// Runs a command. An error means wrong usage or unreadable input; failed work is an exit code.
pub(crate) fn run(command: Command) -> Result<Exit> {
    #[cfg(feature = "serve")]
    if let Some(exit) = remote::run(&command)? {
        return Ok(exit);
    }
    match command {
        Command::Run(args) => run::request(&args),
        Command::Chat(args) => chat::run(&args),
        Command::New(args) => new::new(&args),
        Command::Demo(args) => demo::run(args),
        Command::Agents(args) => agents::run(&args),
        Command::Sessions(args) => sessions::run(&args),
        Command::Policy(args) => policy::run(&args),
        Command::Inbox(args) => sessions::inbox(&args),
        Command::Answer(args) => sessions::answer(&args),
        Command::Approve(args) => sessions::approve(&args),
        Command::Deny(args) => sessions::deny(&args),
        Command::Sandbox(args) => sandbox::run(args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        #[cfg(feature = "serve")]
        Command::Tokens(args) => serve::tokens(args),
        #[cfg(feature = "restate")]
        Command::Worker(args) => engine::worker(&args),
        Command::Doctor(args) => Ok(doctor::run(&args)),
        Command::Resolve(args) => resolve::run(&args),
        Command::Plan(PlanCommand::Check(args)) => plan::check(&args),
        Command::Plan(PlanCommand::Graph(args)) => plan::graph(&args),
        Command::Plan(PlanCommand::Simulate(args)) => plan::simulate(&args),
        Command::Plan(PlanCommand::Run(args)) => run::plan(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Vectors(args) => vectors::run(&args),
        Command::Completions(args) => Ok(completions::run(&args)),
        Command::Man(args) => man::run(&args),
    }
}
