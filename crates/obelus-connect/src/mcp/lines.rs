//! The output of a program with limited line length.
//!
//! The library silently drops a line that is too long, so that a call would wait until its time limit. Here such a
//! line is reported at once, and an endless one ends the program.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// The largest message that is read.
pub(super) const MOST_LINE: usize = 16 * 1024 * 1024;

/// The longest line that is skipped before the connection is given up.
const ENDLESS: usize = 4 * MOST_LINE;

/// A stream that measures its lines.
pub(super) struct MeasuredLines<R> {
    from: R,
    length: usize,
    too_long: watch::Sender<u64>,
}

impl<R> MeasuredLines<R> {
    /// The receiver changes for every line that is too long.
    pub(super) fn new(from: R) -> (Self, watch::Receiver<u64>) {
        let (too_long, seen) = watch::channel(0);
        (Self { from, length: 0, too_long }, seen)
    }

    fn count(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = self.length;
            self.length += line.len();
            if before <= MOST_LINE && self.length > MOST_LINE {
                self.too_long.send_modify(|count| *count += 1);
            }
            if line.ends_with(b"\n") {
                self.length = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for MeasuredLines<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.length > ENDLESS {
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        let read = Pin::new(&mut self.from).poll_read(cx, into);
        if let Poll::Ready(Ok(())) = read {
            self.count(&into.filled()[before..]);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_too_long_line_is_reported_and_an_endless_one_ends_the_stream() {
        let text = [vec![b'a'; MOST_LINE + 1], b"\n{}\n".to_vec(), vec![b'b'; MOST_LINE - 1], b"\n".to_vec()].concat();
        let (mut lines, seen) = MeasuredLines::new(&text[..]);
        let mut read = Vec::new();
        lines.read_to_end(&mut read).await.unwrap();
        assert_eq!((read.len(), *seen.borrow()), (text.len(), 1));

        let (lines, seen) = MeasuredLines::new(tokio::io::repeat(b'x'));
        let read = tokio::io::copy(&mut { lines }, &mut tokio::io::sink()).await.unwrap();
        assert!(usize::try_from(read).unwrap() < ENDLESS + MOST_LINE);
        assert_eq!(*seen.borrow(), 1);
    }
}
