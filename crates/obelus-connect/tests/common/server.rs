//! A small HTTP server that answers as a test wants, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What the server was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
pub(crate) enum Reply {
    /// Sends this and closes the connection.
    Raw(String),
    /// Sends this and then nothing, without closing.
    Stall(String),
    /// Sends a head, and then body until nobody takes it any more.
    Flood(String),
}

/// A server on a port of its own.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// An answer with a kind and a body.
pub(crate) fn answer(status: &str, kind: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Raw(format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

/// An answer of JSON.
pub(crate) fn json(body: &str) -> Reply {
    answer("200 OK", "application/json; charset=utf-8", body)
}

/// An answer that sends elsewhere.
pub(crate) fn redirect(location: &str) -> Reply {
    Reply::Raw(format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"))
}

impl Server {
    /// Starts a server. The function is given a request and how many came before it.
    pub(crate) async fn start(reply: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                let Some(request) = read(&mut stream).await else { continue };
                let before = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(request.clone());
                    seen.len() - 1
                };
                tokio::spawn(send(stream.into_inner(), reply(&request, before)));
            }
        });
        Self { url, asked }
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut asked = Asked { method: words.next()?, target: words.next()?, ..Asked::default() };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        asked.headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    asked.body = String::from_utf8(body).unwrap();
    Some(asked)
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
