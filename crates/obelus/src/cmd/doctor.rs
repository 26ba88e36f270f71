//! `obelus doctor`

use std::io::IsTerminal;

use obelus_runtime::Agent;
use serde_json::{Value, json};

use super::agents::found;
use crate::cli::Doctor;
use crate::output::{self, Exit, GREEN, RED, YELLOW, visible};

/// Whether something works, is missing without harm, or is broken.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Fine,
    Missing,
    Broken,
}

pub(crate) fn run(args: &Doctor) -> Exit {
    let checks = [binary(), terminal(), agents(), key()];
    if args.json {
        let row = |(name, state, words): &(&str, State, String)| json!({"check": name, "ok": *state != State::Broken, "message": words});
        output::json(&checks.iter().map(row).collect::<Value>());
    } else {
        for (name, state, words) in &checks {
            let mark = match state {
                State::Fine => format!("{GREEN}ok{GREEN:#}     "),
                State::Missing => format!("{YELLOW}missing{YELLOW:#}"),
                State::Broken => format!("{RED}broken{RED:#} "),
            };
            output::answer(&format!("{mark} {name}: {}", visible(words)));
        }
    }
    if checks.iter().any(|(_, state, _)| *state == State::Broken) { Exit::Failed } else { Exit::Done }
}

fn binary() -> (&'static str, State, String) {
    ("obelus", State::Fine, format!("version {}", env!("CARGO_PKG_VERSION")))
}

fn terminal() -> (&'static str, State, String) {
    match std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        true => ("terminal", State::Fine, "questions can be answered here".to_owned()),
        false => {
            ("terminal", State::Missing, "no terminal: questions are printed, and the command exits with 3".to_owned())
        }
    }
}

fn agents() -> (&'static str, State, String) {
    let all = found();
    if all.is_empty() {
        let words = "no folder `agents` here; make one, or name others in OBELUS_AGENTS";
        return ("agents", State::Missing, words.to_owned());
    }
    let faulty: Vec<String> =
        all.iter().filter(|path| Agent::load(path).is_err()).map(|path| path.display().to_string()).collect();
    match faulty.is_empty() {
        true => ("agents", State::Fine, format!("{} found", all.len())),
        false => ("agents", State::Broken, format!("faulty: {}; see `obelus agents check`", faulty.join(", "))),
    }
}

/// Only whether a key is there is said, never what it is.
fn key() -> (&'static str, State, String) {
    match std::env::var_os("OPENAI_API_KEY").is_some_and(|key| !key.is_empty()) {
        true => ("OPENAI_API_KEY", State::Fine, "is set".to_owned()),
        false => ("OPENAI_API_KEY", State::Missing, "is not set; playbook:FILE and replay:FILE need none".to_owned()),
    }
}
