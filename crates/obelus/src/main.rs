//! The `obelus` binary: the library as a command line program.
//!
//! # Layout
//!
//! `cli` has the arguments, each file of `cmd` one command, `input` reads files, `output` prints answers and messages
//! and defines the exit codes; `command_error` reports errors; `language` chooses the language for people.

mod cli;
mod cmd;
mod command_error;
mod input;
mod language;
mod local_time;
mod output;

#[cfg(test)]
#[path = "../../../fuzz/engine.rs"]
#[expect(dead_code, reason = "each crate uses a part of it")]
mod fuzz;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

/// Faster than the system's allocator for the many small values of sessions.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cmd::completions::answer_shell();
    let matches = cli::Cli::command().get_matches();
    let cli = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    cli.color.write_global();
    if let Some(language) = cli.lang {
        language::choose(language.into());
    }
    match cmd::run(cli.command) {
        Ok(exit) => output::exit_code(exit).into(),
        Err(error) => command_error::report(&error, is_json(&matches)).into(),
    }
}

/// Whether the command was given `--json`.
fn is_json(matches: &ArgMatches) -> bool {
    let here = matches.try_get_one::<bool>("json").ok().flatten();
    here == Some(&true) || matches.subcommand().is_some_and(|(_, below)| is_json(below))
}
