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
  bench           all benchmarks: memory, plans and calls in instructions (needs valgrind), and those below
  bench peer      only a call compared with LangGraph (needs python3 and, the first time, the network)
  bench stream    only the reading of a streamed answer (needs valgrind)
  bench durable   only the cost of durability, compared with a plain append and sync
  bench serve     only a server under load, compared with langgraph dev (needs python3 and, the first time, the network)
  bench operator  only a step of the operator agent, compared with a snapshot (needs node, npm and chromium)
  bench restate   only steps a second on Restate, beside a bare service (needs npm and, the first time, the network)
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
        ["bench"] => bench::run(),
        ["bench", "peer"] => bench::run_peer(),
        ["bench", "stream"] => bench::run_stream(),
        ["bench", "durable"] => bench::durable(),
        ["bench", "serve"] => bench::serve(),
        ["bench", "operator"] => bench::operator(),
        ["bench", "restate"] => bench::restate(),
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
