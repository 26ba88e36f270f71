//! Output: answers go to stdout, messages about them to stderr. Exit codes.

use std::io::Write;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::language::{Words, fill, words_of};

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Waiting = 3,
    Interrupted = 130,
}

impl Exit {
    /// The one with this code.
    pub(crate) fn of_code(code: u64) -> Option<Self> {
        [Exit::Done, Exit::Failed, Exit::Usage, Exit::Waiting, Exit::Interrupted]
            .into_iter()
            .find(|exit| *exit as u64 == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default().bold();

/// Prints an answer. A closed pipe, as with `head`, is not an error.
pub(crate) fn answer(text: &str) {
    static CHOICE: OnceLock<ColorChoice> = OnceLock::new();
    let mut stdout = std::io::stdout();
    let choice = *CHOICE.get_or_init(|| AutoStream::choice(&stdout));
    // Stdout keeps the last line, and its error, until it is flushed.
    watch(stdout.write_all(&line(text, choice)).and_then(|()| stdout.flush()));
}

/// Whether an answer could not be written.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Reports the first error of writing answers.
pub(crate) fn watch(written: std::io::Result<()>) {
    let Err(why) = written else { return };
    if why.kind() != std::io::ErrorKind::BrokenPipe && !IS_LOST.swap(true, Ordering::Relaxed) {
        let words = words_of(None);
        error(&fill(words.running.stdout_failed, &[&why.to_string()]), words);
    }
}

/// The exit code of a command: an answer that was lost is a failure.
pub(crate) fn exit_code(exit: Exit) -> Exit {
    match exit {
        Exit::Done | Exit::Waiting if IS_LOST.load(Ordering::Relaxed) => Exit::Failed,
        other => other,
    }
}

/// A line for a stream with or without colours, as bytes for one write.
fn line(text: &str, choice: ColorChoice) -> Vec<u8> {
    let mut bytes = AutoStream::new(Vec::with_capacity(text.len() + 1), choice);
    let _ = writeln!(bytes, "{text}");
    bytes.into_inner()
}

/// Whether a JSON document was printed.
static HAS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether a JSON document was printed.
pub(crate) fn has_json() -> bool {
    HAS_JSON.load(Ordering::Relaxed)
}

/// Prints one JSON document.
pub(crate) fn json(value: &Value) {
    HAS_JSON.store(true, Ordering::Relaxed);
    answer(&escaped(&value.to_string()));
}

/// JSON without characters that control a terminal.
pub(crate) fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    json.chars().for_each(|c| push_escaped(c, &mut shown));
    shown
}

/// Adds a character of a JSON document. JSON permits some characters that control a terminal. Beyond ASCII they occur
/// only in strings, where an escape means the same.
fn push_escaped(c: char, into: &mut String) {
    let is_plain = c < '\u{7f}' || c.is_alphanumeric() || !obelus_kernel::visible(&c.to_string()).starts_with('\\');
    if is_plain {
        into.push(c);
    } else {
        into.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
    }
}

/// Prints a message for a person.
pub(crate) fn note(text: &str) {
    static CHOICE: OnceLock<ColorChoice> = OnceLock::new();
    let choice = *CHOICE.get_or_init(|| AutoStream::choice(&std::io::stderr()));
    let _ = std::io::stderr().write_all(&line(text, choice));
}

/// Prints an error.
pub(crate) fn error(words: &str, phrases: &Words) {
    let label = phrases.running.error;
    note(&format!("{RED}{label}{RED:#}: {}", visible(words)));
}

/// Prints a warning.
pub(crate) fn warning(text: &str) {
    let label = words_of(None).running.warning;
    note(&format!("{YELLOW}{label}{YELLOW:#}: {}", visible(text)));
}

/// Escapes text from files and models, so that it cannot control the terminal or change the direction of writing.
/// Line breaks and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let kept = |c: char| c == '\n' || c == '\t';
    text.split_inclusive(kept)
        .map(|piece| match piece.strip_suffix(kept) {
            Some(line) => obelus_kernel::visible(line) + &piece[line.len()..],
            None => obelus_kernel::visible(piece),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_text_cannot_control_the_terminal() {
        assert_eq!(visible("ok\u{1b}[2J\u{202e}"), "ok\\u{1b}[2J\\u{202e}");
        let mut escaped = String::new();
        "\u{7f}†ж\u{9b}\u{e0001}".chars().for_each(|c| push_escaped(c, &mut escaped));
        assert_eq!(escaped, "\\u007f†ж\\u009b\\udb40\\udc01");
        assert_eq!(visible("Поставка\nокон\t1\n"), "Поставка\nокон\t1\n");
    }
}
