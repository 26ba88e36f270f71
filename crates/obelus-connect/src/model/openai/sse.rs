//! Parses an event stream (`text/event-stream`): bytes in, the data of each event out.
//!
//! Every byte is processed once, whatever the size of the pieces.

use super::failure::{Code, ModelFailure};

/// The largest event: a piece of an answer, or a whole answer from a server that sends it at once.
pub(super) const MAX_EVENT_BYTES: usize = 6 * 1024 * 1024;

/// The state of the parser.
#[derive(Default)]
pub(super) struct SseParser {
    /// The incomplete line.
    line: Vec<u8>,
    /// The data of the incomplete event, with lines joined by line feeds.
    data: Option<Vec<u8>>,
    /// The last byte was a carriage return; a line feed after it belongs to the same line end.
    after_cr: bool,
    /// The first line has been read; only that line may begin with a byte order mark.
    has_started: bool,
}

impl SseParser {
    /// Adds bytes, and passes on the data of each complete event.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut event: impl FnMut(&str) -> Result<(), ModelFailure>,
    ) -> Result<(), ModelFailure> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.keep(rest);
            };
            self.keep(&rest[..end])?;
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(&mut event)?;
        }
        Ok(())
    }

    /// The stream has ended. An empty line after the last event may be missing.
    pub(super) fn finish(
        &mut self,
        mut event: impl FnMut(&str) -> Result<(), ModelFailure>,
    ) -> Result<(), ModelFailure> {
        if !self.line.is_empty() {
            self.end_line(&mut event)?;
        }
        self.end_event(&mut event)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), ModelFailure> {
        let size = self.line.len() + self.data.as_ref().map_or(0, Vec::len) + bytes.len();
        if size > MAX_EVENT_BYTES {
            return Err(ModelFailure::too_large());
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, event: &mut impl FnMut(&str) -> Result<(), ModelFailure>) -> Result<(), ModelFailure> {
        if !std::mem::replace(&mut self.has_started, true) && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        if self.line.is_empty() {
            return self.end_event(event);
        }
        // Other fields and comments are ignored.
        if let Some(value) = self.line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        self.line.clear();
        Ok(())
    }

    fn end_event(&mut self, event: &mut impl FnMut(&str) -> Result<(), ModelFailure>) -> Result<(), ModelFailure> {
        let Some(data) = self.data.take() else { return Ok(()) };
        match std::str::from_utf8(&data) {
            Ok(text) => event(text),
            Err(_) => Err(ModelFailure::new(Code::NotUtf8, "the server's answer is not UTF-8")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8], piece: usize) -> Result<Vec<String>, ModelFailure> {
        let mut all = Vec::new();
        let mut events = SseParser::default();
        for piece in bytes.chunks(piece) {
            events.push(piece, |text| {
                all.push(text.to_owned());
                Ok(())
            })?;
        }
        events.finish(|text| {
            all.push(text.to_owned());
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn events_do_not_depend_on_chunk_boundaries() {
        for (text, expected) in [
            ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
            ("\u{feff}data:a\r\n\r\ndata:  b\r\n\r\n", vec!["a", " b"]),
            ("data: a\rdata: b\r\rdata: c", vec!["a\nb", "c"]),
            (": hello\nevent: x\nid: 1\ndata: ё\n\n\n\n", vec!["ё"]),
            ("data\nretry: 3\n\n", vec![]),
            ("data:\n\n", vec![""]),
            ("<html>\n\n</html>", vec![]),
        ] {
            for piece in 1..=text.len() {
                assert_eq!(events(text.as_bytes(), piece).unwrap(), expected, "{text:?} by {piece}");
            }
        }
    }

    #[test]
    fn invalid_utf8_and_endless_events_are_errors() {
        assert_eq!(events(b"data: \xff\n\n", 3).unwrap_err().code, Code::NotUtf8);
        let endless = vec![b'x'; MAX_EVENT_BYTES + 1];
        assert_eq!(events(&endless, 65536).unwrap_err().code, Code::TooLarge);
        let many = b"data: 0123456789\n".repeat(MAX_EVENT_BYTES / 10);
        assert_eq!(events(&many, 65536).unwrap_err().code, Code::TooLarge);
    }

    #[test]
    fn fuzz_the_answer_of_a_stream_does_not_depend_on_chunk_boundaries() {
        use crate::fuzz::{fuzz, piece_of};
        use crate::model::openai::collect::Collected;
        use obelus_kernel::dialect::Dialect;
        use obelus_runtime::Parts;

        fuzz("sse", |input| {
            let told = |failure: ModelFailure| (failure.code, failure.message);
            let whole = events(input, input.len().max(1)).map_err(told);
            assert_eq!(events(input, piece_of(input)).map_err(told), whole);
            let Ok(events) = whole else { return false };
            for dialect in [Dialect::Json, Dialect::Blocks] {
                let mut all = Collected::new(dialect, true);
                if events.iter().all(|event| all.event(event, &Parts::without_listener()).is_ok()) {
                    let _ = (all.used(None), all.into_answer());
                }
            }
            !events.is_empty()
        });
    }
}
