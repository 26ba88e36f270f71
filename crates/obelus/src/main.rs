//! The `obelus` binary: the library from the command line.
//!
//! # Layout
//!
//! `cli` is what can be typed; each file of `cmd` is one command; `input` reads files that may hold anything;
//! `output` is how answers, words and exit codes leave.

mod cli;
mod cmd;
mod input;
mod output;

use clap::Parser;

/// Sessions make many small values; this allocator is made for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    let cli = cli::Cli::parse();
    cli.color.write_global();
    match cmd::run(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::error(&error);
            output::Exit::Usage.into()
        }
    }
}
