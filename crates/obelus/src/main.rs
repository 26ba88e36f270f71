//! The `obelus` binary: the library as a command line program.
//!
//! # Layout
//!
//! `cli` has the arguments, each file of `cmd` one command, `input` reads files, `output` prints answers and messages
//! and defines the exit codes; `phrases` has what is said to people, in two languages.

mod cli;
mod cmd;
mod input;
mod output;
mod phrases;

use clap::Parser;

/// Faster than the system's allocator for the many small values of sessions.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    let cli = cli::Cli::parse();
    cli.color.write_global();
    if let Some(language) = cli.lang {
        phrases::choose(language.into());
    }
    match cmd::run(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::error(&error);
            output::Exit::Usage.into()
        }
    }
}
