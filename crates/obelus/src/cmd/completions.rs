//! `obelus completions`, and the answers to a shell while a line is typed: names of agents, sessions and questions.
//!
//! The script of a shell calls the program again with [`VARIABLE`] set. Errors are not reported there, because they
//! would be printed into the line: a store that cannot be read has no names.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{CompleteEnv, Shells};
use obelus_runtime::Host;
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::sessions::InboxId;

use super::host::open_viewer;
use crate::cli::{Cli, Completions, StoreArgs};
use crate::output::{self, Exit};

/// Set to the name of a shell by its script.
const VARIABLE: &str = "OBELUS_COMPLETE";

/// The script of bash. Bash splits words at `:` and `=`, so the script joins them, and removes the joined part from
/// the answers.
const BASH: &str = include_str!("completions/obelus.bash");

/// The largest number of names that are offered.
const MOST: usize = 200;

/// Prints the script of a shell.
pub(crate) fn run(args: &Completions) -> Exit {
    let mut script = Vec::new();
    if args.shell == Shell::Bash {
        script.extend_from_slice(BASH.as_bytes());
    } else if let Some(shell) = Shells::builtins().completer(&args.shell.to_string()) {
        // Into memory, which cannot fail.
        let _ = shell.write_registration(VARIABLE, "obelus", "obelus", "obelus", &mut script);
    }
    output::answer(String::from_utf8_lossy(&script).trim_end());
    Exit::Done
}

/// Answers a shell and ends the process, if a shell called it.
pub(crate) fn answer_shell() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    std::panic::set_hook(Box::new(|_| {}));
    let here = std::env::current_dir().ok();
    let answered = CompleteEnv::with_factory(command).var(VARIABLE).try_complete(std::env::args_os(), here.as_deref());
    if !matches!(answered, Ok(false)) {
        std::process::exit(0);
    }
    let _ = std::panic::take_hook();
}

/// The command line with completers for its names.
fn command() -> Command {
    Cli::command().mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        with_names(command, &name)
    })
}

/// A command and those below it with completers. `first` is the first word of the command.
fn with_names(command: Command, first: &str) -> Command {
    let command = command.mut_subcommands(|below| with_names(below, first));
    command.mut_args(|arg| match (first, arg.get_id().as_str()) {
        (_, "agent" | "agents") | ("run", "file") => arg.add(ArgValueCompleter::new(agents)),
        ("sessions", "id") | (_, "session") => arg.add(ArgValueCandidates::new(sessions)),
        ("answer" | "approve" | "deny", "id" | "ids") => arg.add(ArgValueCandidates::new(questions)),
        _ => arg,
    })
}

/// The agents of the user and the bundled ones; then folders and files.
fn agents(typed: &OsStr) -> Vec<CompletionCandidate> {
    let start = typed.to_string_lossy();
    let names = AgentCatalogue::of_environment().names().into_iter().filter(|name| name.starts_with(&*start));
    names.map(CompletionCandidate::new).chain(PathCompleter::any().complete(typed)).collect()
}

fn sessions() -> Vec<CompletionCandidate> {
    let rows = viewer().and_then(|host| host.list().ok()).unwrap_or_default();
    rows.into_iter().take(MOST).map(|row| CompletionCandidate::new(row.id)).collect()
}

/// The open questions that the store has as rows. Questions of a session that crashed after its last row are missing:
/// they would need a replay.
fn questions() -> Vec<CompletionCandidate> {
    let rows = viewer().and_then(|host| host.inbox().ok()).unwrap_or_default();
    let ids = rows.into_iter().flat_map(|row| {
        let questions = row.questions.unwrap_or_default();
        let id = move |question: &serde_json::Value| {
            Some(InboxId::new(&row.session, &question["id"].as_str()?.parse().ok()?).to_string())
        };
        questions.iter().filter_map(id).collect::<Vec<_>>()
    });
    ids.take(MOST).map(CompletionCandidate::new).collect()
}

/// A host of the store that the line names, or that of the environment. None for a line with a server.
fn viewer() -> Option<Host> {
    let words: Vec<OsString> = std::env::args_os().collect();
    if option(&words, "--server").is_some() {
        return None;
    }
    let store = option(&words, "--store").map(|typed| unquoted(&typed, std::env::var("HOME").ok().as_deref()));
    let insecure_store = words.iter().any(|word| word == "--insecure-store");
    open_viewer(&StoreArgs { store: store.map(PathBuf::from), insecure_store }).ok()
}

/// The value of an option in a line: `--name VALUE` or `--name=VALUE`.
fn option(words: &[OsString], name: &str) -> Option<String> {
    words.iter().zip(words.iter().skip(1).map(Some).chain([None])).find_map(|(word, next)| {
        let word = word.to_string_lossy();
        match word.strip_prefix(name)? {
            "" => next.map(|next| next.to_string_lossy().into_owned()),
            rest => rest.strip_prefix('=').map(str::to_owned),
        }
    })
}

/// A word as the shell would pass it on: bash gives words of a line as they are typed.
fn unquoted(typed: &str, home: Option<&str>) -> String {
    let plain: String = typed.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    match (plain.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_option_of_a_command_line_is_parsed_like_a_shell() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(option(&words("obelus sessions show --store a"), "--store").as_deref(), Some("a"));
        assert_eq!(option(&words("obelus sessions --store=b show"), "--store").as_deref(), Some("b"));
        assert_eq!(option(&words("obelus sessions show --storey a"), "--store"), None);
        assert_eq!(option(&words("obelus sessions show --store"), "--store"), None);
        assert_eq!(unquoted("~/store", Some("/home/anna")), "/home/anna/store");
        assert_eq!(unquoted("'my store'", None), "my store");
        assert_eq!(unquoted("my\\ store", None), "my store");
    }
}
