//! The output of a program: stdout up to a limit, and the end of stderr.

use std::io;

use obelus_kernel::session::FailureCode;
use obelus_runtime::masking::mask_bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};

use crate::activity::MOST_OUTPUT;
use crate::activity::retry::AttemptFailure;

/// The number of bytes of stderr in an error.
const LAST_BYTES: usize = 2048;
const LAST_LINES: usize = 10;

/// The minimum number of bytes kept of stderr: more than is shown, so that no secret is cut before it is masked.
const KEPT: usize = 2 * LAST_BYTES;

/// The output so far.
#[derive(Default)]
pub(super) struct Output {
    pub(super) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Output {
    /// Reads until both pipes end, or until there is too much of stdout.
    pub(super) async fn read(&mut self, stdout: ChildStdout, stderr: ChildStderr) -> Result<(), AttemptFailure> {
        let broken = |error: io::Error| AttemptFailure::lasting("bad_output", format!("the output broke off: {error}"));
        let all = async {
            stdout.take(MOST_OUTPUT as u64 + 1).read_to_end(&mut self.stdout).await.map_err(broken)?;
            if self.stdout.len() > MOST_OUTPUT {
                let text = format!("more than {} MiB on stdout; write less, or write a file", MOST_OUTPUT >> 20);
                return Err(AttemptFailure::lasting(FailureCode::OutputTooLarge, text));
            }
            Ok(())
        };
        let end = async { read_end(stderr, &mut self.stderr).await.map_err(broken) };
        tokio::try_join!(all, end).map(|_| ())
    }

    /// Masks secrets in all of it.
    pub(super) fn mask(&mut self) {
        mask_bytes(&mut self.stdout);
        mask_bytes(&mut self.stderr);
    }

    /// The last lines of stderr.
    pub(super) fn last_words(&self) -> String {
        let start = self.stderr.len().saturating_sub(LAST_BYTES);
        let cut = &self.stderr[start..];
        // The cut may have split a character.
        let torn = if start == 0 { 0 } else { cut.iter().take_while(|byte| **byte & 0xC0 == 0x80).count() };
        let text = String::from_utf8_lossy(&cut[torn..]);
        let text = text.trim();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

/// Reads to the end and keeps the last part.
async fn read_end(mut from: impl AsyncRead + Unpin, buffer: &mut Vec<u8>) -> io::Result<()> {
    loop {
        // Half is dropped at a time, so that bytes are not moved at every read.
        if buffer.len() > 2 * KEPT {
            buffer.drain(..buffer.len() - KEPT);
        }
        buffer.reserve(KEPT);
        if from.read_buf(buffer).await? == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quoted_end_of_stderr_is_short() {
        let words = |stderr: &str| Output { stderr: stderr.into(), ..Output::default() }.last_words();
        assert_eq!(words(""), "");
        assert_eq!(words("\n one\ntwo\n\n"), "one\ntwo");
        let many: String = (0..50).map(|line| format!("{line}\n")).collect();
        assert_eq!(words(&many), "40\n41\n42\n43\n44\n45\n46\n47\n48\n49");
        let long = words(&format!("a{}", "ж".repeat(3000)));
        assert_eq!(long, "ж".repeat(LAST_BYTES / 2));
    }
}
