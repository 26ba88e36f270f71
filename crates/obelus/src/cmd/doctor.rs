//! `obelus doctor`

use std::io::IsTerminal;

use obelus_runtime::Agent;
use serde_json::{Value, json};

use super::agents::found;
use crate::cli::Doctor;
use crate::output::{self, Exit, GREEN, RED, YELLOW, visible};

/// The result of a check. Something optional that is absent is `Missing`.
#[derive(Clone, Copy, PartialEq)]
enum CheckState {
    Fine,
    Missing,
    Broken,
}

impl CheckState {
    fn name(self) -> &'static str {
        match self {
            CheckState::Fine => "ok",
            CheckState::Missing => "missing",
            CheckState::Broken => "broken",
        }
    }
}

pub(crate) fn run(args: &Doctor) -> Exit {
    let mut checks = vec![binary(), terminal(), agents(), key()];
    checks.extend(browser());
    if args.json {
        let row = |(name, state, words): &(&str, CheckState, String)| json!({"check": name, "ok": *state == CheckState::Fine, "state": state.name(), "message": words});
        output::json(&checks.iter().map(row).collect::<Value>());
    } else {
        for (name, state, words) in &checks {
            let mark = match state {
                CheckState::Fine => format!("{GREEN}ok{GREEN:#}     "),
                CheckState::Missing => format!("{YELLOW}missing{YELLOW:#}"),
                CheckState::Broken => format!("{RED}broken{RED:#} "),
            };
            output::answer(&format!("{mark} {name}: {}", visible(words)));
        }
    }
    if checks.iter().any(|(_, state, _)| *state == CheckState::Broken) { Exit::Failed } else { Exit::Done }
}

fn binary() -> (&'static str, CheckState, String) {
    ("obelus", CheckState::Fine, format!("version {}", env!("CARGO_PKG_VERSION")))
}

fn terminal() -> (&'static str, CheckState, String) {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        ("terminal", CheckState::Fine, "questions can be answered here".to_owned())
    } else {
        ("terminal", CheckState::Missing, "no terminal: questions are printed, and the command exits with 3".to_owned())
    }
}

fn agents() -> (&'static str, CheckState, String) {
    let all = found();
    if all.is_empty() {
        let words = "there is no folder `agents` here; make one, or set OBELUS_AGENTS to others";
        return ("agents", CheckState::Missing, words.to_owned());
    }
    let faulty: Vec<String> =
        all.iter().filter(|path| Agent::load(path).is_err()).map(|path| path.display().to_string()).collect();
    if faulty.is_empty() {
        ("agents", CheckState::Fine, format!("{} found", all.len()))
    } else {
        ("agents", CheckState::Broken, format!("faulty: {}; see `obelus agents check`", faulty.join(", ")))
    }
}

/// The operator's browser. It is optional, so nothing here counts as broken.
fn browser() -> Vec<(&'static str, CheckState, String)> {
    let found = obelus_connect::browser::find();
    let shown = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let server = found.program.as_ref().map(|program| {
        let mut words = vec![program.display().to_string()];
        words.extend(found.arguments.iter().cloned());
        words.join(" ")
    });
    let rows = [("node", Some("found".to_owned())), ("Playwright MCP", server), ("Chromium", shown(&found.chromium))];
    let row = |(what, there): (&'static str, Option<String>)| match found.missing.iter().find(|one| one.what == what) {
        Some(one) => {
            (what, CheckState::Missing, format!("{}; the operator needs it. Install it by: {}", one.why, one.command))
        }
        None => (what, CheckState::Fine, there.unwrap_or_else(|| "cannot be run without node".to_owned())),
    };
    rows.into_iter().map(row).collect()
}

/// Whether the key is set; it is never printed.
fn key() -> (&'static str, CheckState, String) {
    if std::env::var_os("OPENAI_API_KEY").is_some_and(|key| !key.is_empty()) {
        ("OPENAI_API_KEY", CheckState::Fine, "is set".to_owned())
    } else {
        ("OPENAI_API_KEY", CheckState::Missing, "is not set; playbook:FILE and replay:FILE need none".to_owned())
    }
}
