//! `obelus doctor`

use std::io::IsTerminal;

use obelus_runtime::Agent;
use serde_json::{Value, json};

use super::agents::found;
use crate::cli::Doctor;
use crate::language::{Words, fill, words_of};
use crate::output::{self, Exit, GREEN, RED, YELLOW, visible};

/// The result of a check. Something optional that is absent is `Missing`.
#[derive(Clone, Copy, PartialEq)]
enum CheckState {
    Fine,
    Missing,
    Broken,
}

impl CheckState {
    /// The name for other programs.
    fn name(self) -> &'static str {
        match self {
            CheckState::Fine => "ok",
            CheckState::Missing => "missing",
            CheckState::Broken => "broken",
        }
    }
}

/// A check: its name for other programs, its name for people, the result, and a text.
struct MachineCheck {
    name: &'static str,
    title: &'static str,
    state: CheckState,
    text: String,
}

impl MachineCheck {
    /// A check whose name is the same in every language.
    fn of(name: &'static str, state: CheckState, text: impl Into<String>) -> Self {
        Self { name, title: name, state, text: text.into() }
    }
}

pub(crate) fn run(args: &Doctor) -> Exit {
    let phrases = words_of(None);
    let mut checks = vec![binary(phrases), terminal(phrases), agents(phrases), key(phrases)];
    checks.extend(browser(phrases));
    if args.json {
        let row = |check: &MachineCheck| {
            let (is_fine, state) = (check.state == CheckState::Fine, check.state.name());
            json!({"check": check.name, "ok": is_fine, "state": state, "message": check.text})
        };
        output::json(&checks.iter().map(row).collect::<Value>());
    } else {
        checks.iter().for_each(|check| output::answer(&line(check, phrases)));
    }
    if checks.iter().any(|check| check.state == CheckState::Broken) { Exit::Failed } else { Exit::Done }
}

fn line(check: &MachineCheck, phrases: &Words) -> String {
    let words = &phrases.doctor;
    let (mark, colour) = match check.state {
        CheckState::Fine => (words.fine, GREEN),
        CheckState::Missing => (words.missing, YELLOW),
        CheckState::Broken => (words.broken, RED),
    };
    let widest = [words.fine, words.missing, words.broken].map(|mark| mark.chars().count()).into_iter().max();
    let blanks = " ".repeat(widest.unwrap_or_default() - mark.chars().count());
    format!("{colour}{mark}{colour:#}{blanks} {}: {}", check.title, visible(&check.text))
}

fn binary(phrases: &Words) -> MachineCheck {
    MachineCheck::of("obelus", CheckState::Fine, fill(phrases.doctor.version, &[env!("CARGO_PKG_VERSION")]))
}

fn terminal(phrases: &Words) -> MachineCheck {
    let words = &phrases.doctor;
    let (state, text) = if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        (CheckState::Fine, words.has_terminal)
    } else {
        (CheckState::Missing, words.no_terminal)
    };
    MachineCheck { title: words.terminal, ..MachineCheck::of("terminal", state, text) }
}

fn agents(phrases: &Words) -> MachineCheck {
    let (words, all) = (&phrases.doctor, found());
    let faulty: Vec<String> =
        all.iter().filter(|path| Agent::load(path).is_err()).map(|path| path.display().to_string()).collect();
    let (state, text) = match (all.len(), faulty.is_empty()) {
        (0, _) => (CheckState::Missing, words.no_agents.to_owned()),
        (count, true) => (CheckState::Fine, fill(words.agents_found, &[&count.to_string()])),
        (_, false) => (CheckState::Broken, fill(words.faulty, &[&faulty.join(", ")])),
    };
    MachineCheck { title: words.agents, ..MachineCheck::of("agents", state, text) }
}

/// The operator's browser. It is optional, so nothing here counts as broken.
fn browser(phrases: &Words) -> Vec<MachineCheck> {
    let words = &phrases.doctor;
    let found = obelus_connect::browser::find();
    let shown = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let server = found.program.as_ref().map(|program| {
        let mut words = vec![program.display().to_string()];
        words.extend(found.arguments.iter().cloned());
        words.join(" ")
    });
    let node = Some(words.found.to_owned());
    let rows = [("node", node), ("Playwright MCP", server), ("Chromium", shown(&found.chromium))];
    let row = |(what, there): (&'static str, Option<String>)| match found.missing.iter().find(|one| one.what == what) {
        Some(one) => {
            let text = fill(words.needed, &[&one.why.in_words(phrases.language), &one.command]);
            MachineCheck::of(what, CheckState::Missing, text)
        }
        None => MachineCheck::of(what, CheckState::Fine, there.unwrap_or_else(|| words.without_node.to_owned())),
    };
    rows.into_iter().map(row).collect()
}

/// Whether the key is set; it is never printed.
fn key(phrases: &Words) -> MachineCheck {
    let words = &phrases.doctor;
    let (state, text) = if std::env::var_os("OPENAI_API_KEY").is_some_and(|key| !key.is_empty()) {
        (CheckState::Fine, words.key_set)
    } else {
        (CheckState::Missing, words.key_not_set)
    };
    MachineCheck::of("OPENAI_API_KEY", state, text)
}
