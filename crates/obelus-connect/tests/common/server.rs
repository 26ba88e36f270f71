//! A small HTTP server with programmed answers that records its requests.

#[path = "peer.rs"]
mod peer;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

pub(crate) use peer::Asked;

/// The reaction to a request.
pub(crate) enum Reply {
    /// Sends this and closes the connection.
    Raw(String),
    /// Sends this and then nothing, without closing.
    Stall(String),
    /// Sends a head, then an endless body until the client disconnects.
    Flood(String),
}

pub(crate) struct Server {
    pub(crate) url: String,
    asked: peer::Log,
}

/// An answer with a content type and a body.
pub(crate) fn answer(status: &str, kind: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Raw(format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

/// A JSON answer.
pub(crate) fn json(body: &str) -> Reply {
    answer("200 OK", "application/json; charset=utf-8", body)
}

/// A redirect.
pub(crate) fn redirect(location: &str) -> Reply {
    redirect_by("302 Found", location)
}

/// A redirect with this status.
pub(crate) fn redirect_by(status: &str, location: &str) -> Reply {
    Reply::Raw(format!("HTTP/1.1 {status}\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"))
}

impl Server {
    /// Starts a server. `reply` gets a request and the number of requests before it.
    pub(crate) async fn start(reply: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let serve = move |stream: TcpStream, asked: &Asked, before: usize| {
            tokio::spawn(send(stream, reply(asked, before)));
        };
        let (address, asked) = peer::listen(serve).await;
        let url = format!("http://{address}");
        Self { url, asked }
    }

    /// All requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn send(mut stream: TcpStream, reply: Reply) {
    match reply {
        Reply::Raw(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        Reply::Stall(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
            std::future::pending::<()>().await;
        }
        Reply::Flood(head) => {
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(&[b' '; 65536]).await.is_ok() {}
        }
    }
}
