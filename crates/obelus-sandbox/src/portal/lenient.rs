//! Accepts addresses with `<` and `>`, as people type them: `curl 'http://…/crm.deal.list?filter[>ID]=5'`.
//!
//! These characters are not valid in an address, and the HTTP library refuses them. Real portals accept them, so the
//! first line of a connection is read ahead and escaped. Later requests on the same connection come from libraries,
//! which escape by themselves.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// A longer first line is left unchanged.
const MAX_LINE: usize = 64 * 1024;

/// A connection whose first bytes were read ahead.
pub(super) struct Lenient<S> {
    ahead: Vec<u8>,
    given: usize,
    stream: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Lenient<S> {
    /// Reads the first line and escapes it.
    pub(super) async fn new(mut stream: S) -> io::Result<Self> {
        let mut ahead = Vec::new();
        let mut piece = [0; 4096];
        while !ahead.contains(&b'\n') && ahead.len() < MAX_LINE {
            let count = stream.read(&mut piece).await?;
            if count == 0 {
                break;
            }
            ahead.extend_from_slice(&piece[..count]);
        }
        Ok(Lenient { ahead: repair(ahead), given: 0, stream })
    }
}

fn repair(bytes: Vec<u8>) -> Vec<u8> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return bytes };
    let (line, rest) = bytes.split_at(end);
    let mut out = Vec::with_capacity(bytes.len() + 16);
    for byte in line {
        match byte {
            b'<' => out.extend_from_slice(b"%3C"),
            b'>' => out.extend_from_slice(b"%3E"),
            byte => out.push(*byte),
        }
    }
    out.extend_from_slice(rest);
    out
}

impl<S: AsyncRead + Unpin> AsyncRead for Lenient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let left = &this.ahead[this.given..];
        if left.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let count = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..count]);
        this.given += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Lenient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_request_line_is_repaired() {
        let given = b"GET /x?filter[>ID]=5&filter[<ID]=9 HTTP/1.1\r\nX: <a>\r\n\r\n<b>".to_vec();
        let expected = "GET /x?filter[%3EID]=5&filter[%3CID]=9 HTTP/1.1\r\nX: <a>\r\n\r\n<b>";
        assert_eq!(String::from_utf8_lossy(&repair(given)), expected);
        assert_eq!(repair(b"no line > at all".to_vec()), b"no line > at all");
    }
}
