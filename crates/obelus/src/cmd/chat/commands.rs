//! Parses lines that begin with `/`.

use std::path::PathBuf;

use obelus_kernel::session::Mode;
use obelus_kernel::{Expr, Path, closest};

use crate::language::{Words, fill};

/// A command typed into the conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ChatCommand {
    Plan,
    State,
    Inbox,
    Approve(String),
    Deny(String, Option<String>),
    /// The standing consents.
    Consents,
    /// Revoke a standing consent.
    Revoke(u64),
    /// Change the mode; without a value, show it.
    Mode(Option<Mode>),
    Why(Path),
    /// Add a picture to the next message.
    Image(PathBuf),
    Cost,
    Help,
    Quit,
}

/// The commands, for completion.
pub(crate) const NAMES: [&str; 13] = [
    "/plan",
    "/state",
    "/inbox",
    "/approve",
    "/deny",
    "/consents",
    "/revoke",
    "/mode",
    "/why",
    "/image",
    "/cost",
    "/help",
    "/quit",
];

/// The modes by name.
pub(crate) const MODES: [(&str, Mode); 3] = [("shadow", Mode::Shadow), ("canary", Mode::Canary), ("full", Mode::Full)];

/// Reads a line; `None` if it is a message for the agent.
pub(crate) fn parse(line: &str, phrases: &Words) -> Option<Result<ChatCommand, String>> {
    let line = line.trim();
    if !line.starts_with('/') {
        return None;
    }
    let (name, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(name, rest)| (name, rest.trim()));
    Some(read(name, rest, phrases))
}

fn read(name: &str, rest: &str, phrases: &Words) -> Result<ChatCommand, String> {
    let errors = &phrases.errors;
    let alone = |command: ChatCommand| match rest {
        "" => Ok(command),
        _ => Err(fill(errors.no_arguments, &[name])),
    };
    match name {
        "/plan" => alone(ChatCommand::Plan),
        "/state" => alone(ChatCommand::State),
        "/inbox" => alone(ChatCommand::Inbox),
        "/consents" => alone(ChatCommand::Consents),
        "/revoke" => {
            let number = rest.strip_prefix(['c', 'C']).unwrap_or(rest).parse();
            number.map(ChatCommand::Revoke).map_err(|_| errors.which_consent.to_owned())
        }
        "/cost" => alone(ChatCommand::Cost),
        "/help" | "/?" => alone(ChatCommand::Help),
        "/quit" | "/exit" | "/q" => alone(ChatCommand::Quit),
        "/approve" | "/deny" if rest.is_empty() => Err(fill(errors.which_question, &[name])),
        "/approve" if rest.contains(char::is_whitespace) => Err(fill(errors.which_question, &[name])),
        "/approve" => Ok(ChatCommand::Approve(rest.to_owned())),
        "/deny" => {
            let (id, reason) = rest.split_once(char::is_whitespace).map_or((rest, ""), |(id, why)| (id, why.trim()));
            Ok(ChatCommand::Deny(id.to_owned(), (!reason.is_empty()).then(|| reason.to_owned())))
        }
        "/mode" if rest.is_empty() => Ok(ChatCommand::Mode(None)),
        "/mode" => match MODES.iter().find(|(known, _)| *known == rest) {
            Some((_, mode)) => Ok(ChatCommand::Mode(Some(*mode))),
            None => Err(errors.which_mode.to_owned()),
        },
        "/why" if rest.is_empty() => Err(errors.which_path.to_owned()),
        "/why" => path(rest).map(ChatCommand::Why).ok_or_else(|| fill(errors.bad_path, &[rest])),
        "/image" if rest.is_empty() => Err(errors.which_picture.to_owned()),
        "/image" => Ok(ChatCommand::Image(file(rest))),
        other => {
            let near = closest(other, &NAMES).map(|near| fill(errors.did_you_mean, &[near]));
            let hint = near.unwrap_or_else(|| errors.see_help.to_owned());
            Err(format!("{} {hint}", fill(errors.unknown, &[other])))
        }
    }
}

/// A path such as `†state.deal.title`. The `†`, which keyboards lack, may be omitted.
fn path(text: &str) -> Option<Path> {
    let text = if text.starts_with('†') { text.to_owned() } else { format!("†{text}") };
    match Expr::parse(&text).ok()?.refs()[..] {
        [only] => Some((**only).clone()),
        _ => None,
    }
}

/// The path of a file, typed or dropped onto the terminal, which adds quotes.
fn file(text: &str) -> PathBuf {
    let quoted = |mark: char| text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    let text = quoted('\'').or_else(|| quoted('"')).unwrap_or(text);
    let home = || std::env::var_os("HOME").filter(|home| !home.is_empty());
    match text.strip_prefix("~/").and_then(|rest| Some(PathBuf::from(home()?).join(rest))) {
        Some(path) => path,
        None => PathBuf::from(text),
    }
}

/// Completions of a partial line: the start of the replaced part, and its replacements.
pub(crate) fn completions(line: &str, open: &[String]) -> (usize, Vec<String>) {
    if !line.starts_with('/') {
        return (0, Vec::new());
    }
    let starting = |all: &[&str], with: &str| -> Vec<String> {
        all.iter().filter(|word| word.starts_with(with)).map(|word| (*word).to_owned()).collect()
    };
    match line.split_once(' ') {
        None => (0, starting(&NAMES, line)),
        Some((name, rest)) => {
            let at = name.len() + 1;
            let words: Vec<&str> = match name {
                "/mode" => MODES.iter().map(|(name, _)| *name).collect(),
                "/approve" | "/deny" => open.iter().map(String::as_str).collect(),
                "/why" => vec!["†state"],
                _ => Vec::new(),
            };
            (at, starting(&words, rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::words_of;

    fn read(line: &str) -> Result<ChatCommand, String> {
        parse(line, words_of(Some("en"))).expect("a command")
    }

    #[test]
    fn plain_text_is_not_a_command() {
        for line in ["hello", "", "1/2", "да"] {
            assert!(parse(line, words_of(None)).is_none());
        }
    }

    #[test]
    fn commands_are_read() {
        assert_eq!(read("/plan"), Ok(ChatCommand::Plan));
        assert_eq!(read("  /quit "), Ok(ChatCommand::Quit));
        assert_eq!(read("/mode canary"), Ok(ChatCommand::Mode(Some(Mode::Canary))));
        assert_eq!(read("/mode"), Ok(ChatCommand::Mode(None)));
        assert_eq!(read("/approve q1"), Ok(ChatCommand::Approve("q1".to_owned())));
        assert_eq!(
            read("/deny q2 not today, please"),
            Ok(ChatCommand::Deny("q2".to_owned(), Some("not today, please".to_owned())))
        );
        assert_eq!(read("/consents"), Ok(ChatCommand::Consents));
        assert_eq!((read("/revoke c2"), read("/revoke 2")), (Ok(ChatCommand::Revoke(2)), Ok(ChatCommand::Revoke(2))));
        assert_eq!(read("/deny q2"), Ok(ChatCommand::Deny("q2".to_owned(), None)));
        for typed in ["/image a b.png", "/image 'a b.png'", "/image \"a b.png\" "] {
            assert_eq!(read(typed), Ok(ChatCommand::Image("a b.png".into())));
        }
        assert!(matches!(read("/why †state.tasks[0].who"), Ok(ChatCommand::Why(_))));
        assert_eq!(read("/why state.tasks"), read("/why †state.tasks"));
    }

    #[test]
    fn an_unknown_command_is_answered_with_a_suggestion() {
        for (line, part) in [
            ("/pln", "Did you mean /plan?"),
            ("/frobnicate", "/help lists them"),
            ("/", "/help lists them"),
            ("/mode yolo", "shadow, canary and full"),
            ("/approve", "/inbox shows the ids"),
            ("/approve q1 q2", "Which question?"),
            ("/deny", "/inbox shows the ids"),
            ("/revoke x", "/consents lists them"),
            ("/why", "For example: /why †state.tasks"),
            ("/image", "For example: /image photo.png"),
            ("/why †", "†"),
            ("/why †state.a || †state.b", "one path"),
            ("/cost 5", "/cost takes no arguments"),
        ] {
            let said = read(line).unwrap_err();
            assert!(said.contains(part), "{line}: {said}");
        }
    }

    #[test]
    fn commands_and_their_arguments_are_completed() {
        let open = ["q1".to_owned(), "q12".to_owned()];
        assert_eq!(completions("/st", &open), (0, vec!["/state".to_owned()]));
        assert_eq!(completions("/mode ", &open).1, ["shadow", "canary", "full"]);
        assert_eq!(completions("/mode c", &open), (6, vec!["canary".to_owned()]));
        assert_eq!(completions("/approve q", &open), (9, open.to_vec()));
        assert_eq!(completions("hello /st", &open).1.len(), 0);
    }
}
