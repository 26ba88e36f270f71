//! Short excerpts of foreign text for error messages.

use obelus_kernel::session::{CallError, FailureCode};
use obelus_runtime::text::clip;
use serde_json::Value;

/// The number of characters shown of a foreign text.
const MAX_CHARS: usize = 300;

/// The number of bytes shown before and after an error.
const BEFORE: usize = 20;
const AFTER: usize = 60;

/// Reads JSON. An error names the place and quotes the text there.
pub(super) fn read_json(bytes: &[u8], what: &str) -> Result<Value, CallError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let line = bytes.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
        let start = error.column().saturating_sub(BEFORE).min(line.len());
        let end = (error.column() + AFTER).min(line.len());
        let near = one_line(&String::from_utf8_lossy(&line[start..end]));
        let near = if near.is_empty() { String::new() } else { format!(", near `{near}`") };
        CallError::new(FailureCode::BadOutput, format!("{what} is not JSON: {error}{near}"))
    })
}

/// The start of a text, on one line.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    // A character has at most four bytes.
    let cut = &bytes[..bytes.len().min(MAX_CHARS * 4)];
    clip(&one_line(&String::from_utf8_lossy(cut)), MAX_CHARS)
}

/// A text on one line, without control characters.
fn one_line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_json_is_shown_at_the_failing_position() {
        let error = read_json(b"{\"a\": 1,\n \"b\": oops}", "stdout").unwrap_err();
        assert_eq!(error.code, "bad_output");
        assert_eq!(error.message, "stdout is not JSON: expected value at line 2 column 7, near `\"b\": oops}`");
        assert!(read_json(b"[1, \xff\x1b[2J]", "stdout").unwrap_err().message.contains("line 1 column 5"));
        assert!(read_json(b"", "stdout").unwrap_err().message.contains("EOF"));
    }

    #[test]
    fn an_excerpt_is_short_and_on_one_line() {
        assert_eq!(excerpt(b"<html>\n\n  <b>no\x07</b>"), "<html> <b>no </b>");
        assert_eq!(excerpt("ж".repeat(5000).as_bytes()).chars().count(), MAX_CHARS + 1);
    }
}
