//! The page that a login returns to: on this machine, for one visit.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{LogIn, VisitFuture};

/// The longest request.
const MOST_REQUEST: usize = 16 * 1024;

/// A connection silent for this long is closed.
const MOST_SILENCE: Duration = Duration::from_secs(10);

const PATH: &str = "/callback";

/// A page on 127.0.0.1. Requests without the `state` of this login get 404, and the page keeps waiting.
pub struct LoginCallback {
    listener: TcpListener,
    back: String,
    limit: Duration,
    show_address: Box<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for LoginCallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Landing").field("back", &self.back).finish_non_exhaustive()
    }
}

impl LoginCallback {
    /// Opens the page at this port, 0 for any free one. `show_address` gets the address that the person must open; `limit` is
    /// the longest wait.
    pub async fn open(
        port: u16,
        limit: Duration,
        show_address: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let back = format!("http://127.0.0.1:{}{PATH}", listener.local_addr()?.port());
        Ok(Self { listener, back, limit, show_address: Box::new(show_address) })
    }

    async fn wait(&self, state: &str) -> Result<String, String> {
        loop {
            let (stream, _) = self.listener.accept().await.map_err(|error| format!("nobody can come back: {error}"))?;
            let visit = tokio::time::timeout(MOST_SILENCE, self.visited(stream, state)).await;
            if let Ok(Ok(Some(address))) = visit {
                return Ok(address);
            }
        }
    }

    /// One request; returns its address if its state is right.
    async fn visited(&self, mut stream: TcpStream, state: &str) -> io::Result<Option<String>> {
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            if request.len() > MOST_REQUEST || stream.read_buf(&mut request).await? == 0 {
                return Ok(None);
            }
        }
        let line = String::from_utf8_lossy(&request);
        let mut words = line.lines().next().unwrap_or_default().split(' ');
        let target = (words.next() == Some("GET")).then(|| words.next()).flatten().unwrap_or_default();
        let address = Url::parse(&self.back).and_then(|back| back.join(target)).ok().filter(|url| url.path() == PATH);
        let is_ours = |url: &Url| url.query_pairs().any(|(name, value)| name == "state" && value == state);
        let address = address.filter(is_ours);
        let (status, text) = match &address {
            Some(_) => ("200 OK", "Thank you. You can close this page and go back to the terminal."),
            None => ("404 Not Found", "There is nothing here."),
        };
        let mut answer = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n");
        let _ =
            write!(answer, "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", text.len());
        answer.push_str(text);
        stream.write_all(answer.as_bytes()).await?;
        let _ = stream.shutdown().await;
        Ok(address.map(String::from))
    }
}

impl LogIn for LoginCallback {
    fn back(&self) -> String {
        self.back.clone()
    }

    fn visit<'a>(&'a self, address: &'a str, state: &'a str) -> VisitFuture<'a> {
        Box::pin(async move {
            (self.show_address)(address);
            let late = |_| format!("nobody came back within {} minutes", self.limit.as_secs().div_ceil(60));
            tokio::time::timeout(self.limit, self.wait(state)).await.map_err(late)?
        })
    }
}
