//! What the project does to itself: `cargo xtask test`, `bench`, `fuzz`, `sim`, `demo`.
//!
//! # Layout
//!
//! One file for each command; [`step`] runs other programs and says how it went.

mod bench;
mod demo;
mod fuzz;
mod step;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask COMMAND

  test [--long]   formatting, lints, tests, vectors; --long tries many more random inputs
  bench           cost of memory, plans and calls in instructions (needs valgrind), and of a call beside LangGraph
  bench peer      of these, a call beside LangGraph alone (needs python3 and the network, the first time)
  bench stream    of these, only the cost of reading an answer as it comes
  bench durable   only what durability costs, beside a plain append and sync
  bench operator  only a step of the operator agent beside a snapshot (needs node, npm and chromium)
  fuzz [--minutes N]   every decoder with inputs that chance makes of fuzz/corpus, for so long in all; 10 if not said
  sim SEED        plays one seed of the simulation of crashes again
  demo [--tour]   an agent at work in a CRM: sandbox portal, offline model; no key, no network
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["test"] => test::run(false),
        ["test", "--long"] => test::run(true),
        ["bench"] => bench::run(),
        ["bench", "peer"] => bench::run_peer(),
        ["bench", "stream"] => bench::run_stream(),
        ["bench", "durable"] => bench::durable(),
        ["bench", "operator"] => bench::operator(),
        ["fuzz"] => fuzz::run("10"),
        ["fuzz", "--minutes", minutes] => fuzz::run(minutes),
        ["sim", seed] => test::simulate(seed),
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
