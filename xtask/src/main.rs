//! Development commands: `cargo xtask test`, `bench`, `fuzz`, `sim`, `console`, `demo`.
//!
//! # Layout
//!
//! One file for each command; [`step`] runs other programs and reports how they ended.

mod bench;
mod console;
mod demo;
mod fuzz;
mod step;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask COMMAND

  test [--long]   formatting, lints, tests, vectors; --long tries many more random inputs
  bench [PART…] [--quick] [--json]   measures beside LangGraph and the limits of the machine, and writes docs/benchmarks.md;
                  `bench --help` lists the parts
  fuzz [--minutes N]   runs every decoder on random mutations of fuzz/corpus; N minutes in all, 10 by default
  sim SEED        repeats one seed of the crash simulation
  console         builds the page that `obelus serve` shows, if it has changed (needs node and npm)
  console check   checks the types of its sources
  console types   makes the types of the API for it anew
  demo [--tour]   an agent in a CRM: sandbox portal, offline model; no key, no network
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["test"] => test::run(false),
        ["test", "--long"] => test::run(true),
        ["bench", arguments @ ..] => bench::run(arguments),
        ["fuzz"] => fuzz::run("10"),
        ["fuzz", "--minutes", minutes] => fuzz::run(minutes),
        ["sim", seed] => test::simulate(seed),
        ["console"] => console::run(),
        ["console", "check"] => console::check(),
        ["console", "types"] => console::types(),
        ["demo", arguments @ ..] => demo::run(arguments),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
