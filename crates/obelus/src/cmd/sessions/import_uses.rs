//! What an imported session could start or reach, for the person who decides whether it goes on.

use anyhow::Result;
use obelus_connect::{ExternalTarget, ExternalUse, ExternalUser, external_uses};
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Input, Session};
use obelus_kernel::visible;
use obelus_runtime::engine::{Record, with_present_bindings};
use obelus_runtime::{Host, SessionSpec};
use serde_json::Value;

use crate::language::{fill, words_of};
use crate::output;

/// The width of a line of the list.
const WIDTH: usize = 100;

/// Prints what a session could use while the pause of its import holds it back.
pub(super) fn print_if_imported(host: &Host, id: &str, session: &Session) -> Result<()> {
    if session.paused().is_some_and(|by| matches!(SentBy::of(by), SentBy::ImportOf(_))) {
        let export = host.export_readable(id)?;
        print(&uses_of(&export.genesis, &export.records)?);
    }
    Ok(())
}

/// What an imported session could start or reach, on this machine and with the present file of its agent.
pub(super) fn uses_of(genesis: &Value, records: &[Record]) -> Result<Vec<ExternalUse>> {
    let spec = with_present_bindings(SessionSpec::from_genesis(genesis.clone())?);
    let later = records.iter().filter_map(|record| match &*record.input {
        Input::Rules { settings, .. } => Some(&**settings),
        _ => None,
    });
    Ok(external_uses(&spec, later))
}

/// Prints the list. Nothing is cut: the end of a command can be the part that matters.
pub(super) fn print(uses: &[ExternalUse]) {
    let words = &words_of(None).carried;
    output::note(if uses.is_empty() { words.uses_nothing } else { words.could_use });
    for one in uses {
        wrapped(&in_words(one)).iter().for_each(|line| output::note(line));
    }
}

/// A text in lines of limited width, so that no part of it looks like another entry of the list.
fn wrapped(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let lines = letters.chunks(WIDTH).enumerate();
    lines.map(|(at, line)| format!("{}{}", if at == 0 { "  " } else { "      " }, String::from_iter(line))).collect()
}

/// A use as one line. All of it comes from the file, so it is escaped.
fn in_words(one: &ExternalUse) -> String {
    let words = &words_of(None).carried;
    let user = match &one.user {
        ExternalUser::Activity(name) => fill(words.use_activity, &[&visible(name)]),
        ExternalUser::Server(name) => fill(words.use_server, &[&visible(name)]),
        ExternalUser::Browser => words.use_browser.to_owned(),
        ExternalUser::Model => words.use_model.to_owned(),
        ExternalUser::Delegates => words.use_delegates.to_owned(),
    };
    let target = match &one.target {
        ExternalTarget::Program { command, folder } => {
            fill(words.use_program, &[&visible(command), &visible(&folder.display().to_string())])
        }
        ExternalTarget::Address(address) => fill(words.use_address, &[&visible(address)]),
        ExternalTarget::Variable(name) => fill(words.use_variable, &[&visible(name)]),
        ExternalTarget::Other(text) => visible(text),
    };
    let given: String = one.given.iter().map(|given| format!("; {}", visible(given))).collect();
    format!("{user}: {target}{given}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_or_broken_text_is_shown_whole_and_imitates_no_other_entry() {
        let name = format!("a\n  model: x{}end", " ".repeat(3 * WIDTH));
        let target = ExternalTarget::Address("https://example.test".to_owned());
        let one = ExternalUse { user: ExternalUser::Activity(name), target, given: Vec::new() };
        let lines = wrapped(&in_words(&one));
        assert!(lines.len() > 3 && lines[0].starts_with("  ") && lines[0].contains("a\\n  model"), "{lines:?}");
        assert!(lines[1..].iter().all(|line| line.starts_with("      ")), "{lines:?}");
        let whole: String = lines.iter().enumerate().map(|(at, line)| &line[if at == 0 { 2 } else { 6 }..]).collect();
        assert!(whole.contains("end") && whole.ends_with("https://example.test"), "{whole}");
    }
}
