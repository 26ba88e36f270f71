//! The server side of a connection: its port and the requests it received.
#![allow(dead_code, reason = "each test uses some of it")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A received request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names are in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// All requests so far.
pub(crate) type Log = Arc<Mutex<Vec<Asked>>>;

/// Accepts requests one by one. `serve` gets the connection, the request, and the number of requests before it.
pub(crate) async fn listen(serve: impl Fn(TcpStream, &Asked, usize) + Send + Sync + 'static) -> (SocketAddr, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Log::default();
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
            serve(stream.into_inner(), &request, before);
        }
    });
    (address, asked)
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
