//! The errors of a server.

use obelus_kernel::session::FailureCode;
use obelus_kernel::visible;
use obelus_runtime::masking::without_secrets;
use obelus_runtime::text::clip;

/// The number of characters of a server's text in an error.
const SHOWN: usize = 2000;

/// An error of a server, with a text that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MCP server `{server}`: {words}")]
pub struct McpError {
    /// The server's name in the agent's file.
    pub server: String,
    /// Its kind.
    pub trouble: McpErrorKind,
    /// What happened. The server's text in it is short, on one line, and without secrets.
    pub words: String,
}

/// Kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpErrorKind {
    /// The environment lacks a secret.
    NoSecret,
    /// It cannot be started or reached, or does not speak the protocol.
    NoStart,
    /// It requires authorization, or refuses ours.
    NoAccess,
    /// This client was closed.
    Closed,
    /// The agent's file refuses this tool.
    Refused,
    /// The tool's definition differs from the session's.
    ToolChanged,
    /// The server answered with an error.
    Said,
    /// The connection broke during a call.
    Lost,
    /// No answer in time.
    Late,
    /// The answer was too large.
    TooLarge,
    /// The answer is invalid.
    Garbage,
}

impl McpErrorKind {
    /// Its code in the errors of calls.
    pub fn code(self) -> FailureCode {
        match self {
            Self::NoSecret => FailureCode::NoSecret,
            Self::NoStart => "mcp_start".into(),
            Self::NoAccess => "login".into(),
            Self::Closed => "mcp_closed".into(),
            Self::Refused => "refused".into(),
            Self::ToolChanged => "tool_changed".into(),
            Self::Said => "tool".into(),
            Self::Lost => FailureCode::LostAnswer,
            Self::Late => FailureCode::Timeout,
            Self::TooLarge => FailureCode::TooLarge,
            Self::Garbage => FailureCode::BadOutput,
        }
    }

    /// Whether the call may have been carried out.
    pub fn leaves_doubt(self) -> bool {
        matches!(self, Self::Lost | Self::Late | Self::TooLarge | Self::Garbage)
    }
}

impl McpError {
    pub(super) fn new(server: &str, trouble: McpErrorKind, words: impl Into<String>) -> Self {
        Self { server: server.to_owned(), trouble, words: words.into() }
    }
}

/// A server's text, safe to show: one line, without secrets and terminal control characters, cut at a limit.
pub(super) fn quoted(text: &str) -> String {
    clip(&one_line(text), SHOWN)
}

/// Like [`quoted`], for the end of a long text.
pub(super) fn last_words(text: &str, most: usize) -> String {
    let line = one_line(text);
    let count = line.chars().count();
    match line.char_indices().nth(count.saturating_sub(most)) {
        Some((at, _)) if at > 0 => format!("…{}", &line[at..]),
        _ => line,
    }
}

fn one_line(text: &str) -> String {
    let clean = without_secrets(text);
    let words: Vec<_> = clean.split_whitespace().collect();
    visible(&words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_of_a_server_are_shortened_and_escaped() {
        assert_eq!(quoted("a\n\x1b[2J b\u{202e}"), "a \\u{1b}[2J b\\u{202e}");
        assert_eq!(quoted(&"ж".repeat(3000)).chars().count(), SHOWN + 1);
        assert_eq!(last_words("one two жжж", 5), "…o жжж");
        assert_eq!(last_words("жжж", 5), "жжж");
        assert_eq!(last_words("", 5), "");
    }

    #[test]
    fn a_secret_is_not_quoted() {
        drop(obelus_runtime::Secret::new("hush-hush-4711"));
        assert_eq!(quoted("key hush-hush-4711 is wrong"), "key *** is wrong");
    }
}
