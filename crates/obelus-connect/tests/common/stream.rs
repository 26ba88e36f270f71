//! A model server with programmed answers, byte by byte if needed, that records its requests.

#[path = "peer.rs"]
mod peer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

pub(crate) use peer::Asked;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

/// The reaction to a request.
#[derive(Clone)]
pub(crate) enum Say {
    /// Sends this and closes the connection.
    Bytes(Vec<u8>),
    /// Sends this and then nothing, without closing.
    Stall(String),
    /// Sends the first text, then repeats the second until the client disconnects.
    Flood(String, String),
    /// Sends this at intervals until the client disconnects.
    Drip(String),
    /// Sends the first text, waits, then sends the second.
    Gated(String, Arc<Notify>, String),
}

impl Say {
    pub(crate) fn raw(text: &str) -> Self {
        Say::Bytes(text.as_bytes().to_vec())
    }

    pub(crate) fn stall(text: &str) -> Self {
        Say::Stall(text.to_owned())
    }

    pub(crate) fn flood(head: &str, more: &str) -> Self {
        Say::Flood(head.to_owned(), more.to_owned())
    }

    pub(crate) fn drip(drop: &str) -> Self {
        Say::Drip(drop.to_owned())
    }

    /// An answer in pieces of this many characters.
    pub(crate) fn stream(text: &str, piece: usize) -> Self {
        Say::raw(&format!("{HEAD}{}{}", pieces(text, piece), end()))
    }

    /// A part of an answer; the rest follows when the gate opens.
    pub(crate) fn gated(first: &str, gate: Arc<Notify>, rest: &str) -> Self {
        Say::Gated(format!("{HEAD}{}", pieces(first, 6)), gate, format!("{}{}", pieces(rest, 6), end()))
    }

    /// An answer without streaming.
    pub(crate) fn whole(text: &str) -> Self {
        let body = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": text},
            "finish_reason": "stop"}], "usage": usage()});
        Self::answer("200 OK", &body)
    }

    pub(crate) fn error(status: u16, words: &str) -> Self {
        Self::answer(&format!("{status} No"), &json!({"error": {"message": words, "type": "some", "code": null}}))
    }

    fn answer(status: &str, body: &Value) -> Self {
        let body = body.to_string();
        let length = body.len();
        Say::raw(&format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ))
    }
}

/// A solution with only a reply.
pub(crate) fn solution(words: &str) -> String {
    json!({"say": words, "calls": [], "output": words}).to_string()
}

/// The data of one event.
pub(crate) fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn usage() -> Value {
    json!({"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100})
}

fn pieces(text: &str, piece: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    let event =
        |part: &[char]| format!("data: {}\n\n", chunk(&json!({"content": part.iter().collect::<String>()}), None));
    characters.chunks(piece).map(event).collect()
}

fn end() -> String {
    let last = json!({"choices": [], "usage": usage()});
    format!("data: {}\n\ndata: {last}\n\ndata: [DONE]\n\n", chunk(&json!({}), Some("stop")))
}

pub(crate) struct Model {
    /// Its address up to `/chat/completions`.
    pub(crate) base: String,
    asked: peer::Log,
    open: Arc<AtomicUsize>,
}

impl Model {
    /// Starts a server. `say` gets a request and the number of requests before it.
    pub(crate) async fn start(say: impl Fn(&Asked, usize) -> Say + Send + Sync + 'static) -> Self {
        let open = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&open);
        let serve = move |stream: TcpStream, asked: &Asked, before: usize| {
            count.fetch_add(1, Ordering::SeqCst);
            let (say, count) = (say(asked, before), Arc::clone(&count));
            tokio::spawn(async move {
                send(stream, say).await;
                count.fetch_sub(1, Ordering::SeqCst);
            });
        };
        let (address, asked) = peer::listen(serve).await;
        let base = format!("http://{address}/v1");
        Self { base, asked, open }
    }

    /// All requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until no connection is open.
    pub(crate) async fn until_all_have_gone(&self) {
        while self.open.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
    }
}

async fn send(mut stream: TcpStream, say: Say) {
    match say {
        Say::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Say::Stall(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
            // Waits until the client disconnects.
            let _ = stream.read(&mut [0]).await;
        }
        Say::Flood(head, more) => {
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(more.as_bytes()).await.is_ok() {}
        }
        Say::Drip(drop) => {
            let _ = stream.write_all(HEAD.as_bytes()).await;
            while stream.write_all(drop.as_bytes()).await.is_ok() {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        Say::Gated(first, gate, rest) => {
            let _ = stream.write_all(first.as_bytes()).await;
            gate.notified().await;
            let _ = stream.write_all(rest.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    }
}
