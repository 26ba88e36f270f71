//! Reading from a node that lags behind.
//!
//! For some seconds after the loss of a node, queries may be answered by one that does not have the latest state, or
//! not even the session. The object of a session always has it. So before a host says that there is no such session, or
//! that its journal has become shorter, it asks the object, with an input without content.
//!
//! Workers do not ask: inside of a handler of the same object that would wait for itself. They try again.

use std::time::Duration;

use obelus_kernel::Time;
use obelus_runtime::StoreError;
use obelus_runtime::engine::check_name;
use tokio::time::Instant;

use crate::client::ClusterError;
use crate::store::RestateStore;
use crate::wire::{Answered, Envelope, SessionHead, key};

/// How long the object may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// How long a host waits until an existing session can be read.
const CATCH_UP: Duration = Duration::from_secs(5);

/// The answer of the object of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectAnswer {
    /// There is no such session.
    Nothing,
    /// The number of its latest record; none if it cannot be restored here.
    Exists(Option<u64>),
}

impl RestateStore {
    /// The head of a session that should exist. One that a lagging node does not have yet is waited for.
    pub(crate) async fn known_head(&self, session: &str) -> Result<SessionHead, StoreError> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(20);
        let mut is_known = false;
        loop {
            if let Some(head) = self.head(session).await? {
                return Ok(head);
            }
            if !is_known && (!self.asks_objects || self.ask_object(session).await? == ObjectAnswer::Nothing) {
                return Err(StoreError::Unknown(session.to_owned()));
            }
            is_known = true;
            if began.elapsed() >= CATCH_UP {
                return Err(self.lags(session).into());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }

    /// The head of a session of which a record is known. It is before that one only if the session was taken back.
    pub(crate) async fn head_since(&self, session: &str, known: u64) -> Result<SessionHead, StoreError> {
        let head = self.known_head(session).await?;
        if head.seq >= known || !self.asks_objects {
            return Ok(head);
        }
        match self.ask_object(session).await? {
            ObjectAnswer::Nothing => Err(StoreError::Unknown(session.to_owned())),
            ObjectAnswer::Exists(Some(seq)) if seq > head.seq => Err(self.lags(session).into()),
            ObjectAnswer::Exists(_) => Ok(head),
        }
    }

    /// Whether a session of this name was removed, as far as the node knows.
    pub(crate) async fn was_removed(&self, session: &str) -> Result<bool, StoreError> {
        Ok(self.value::<u64>(session, key::REMOVED).await?.is_some())
    }

    /// Asks the object of a session.
    async fn ask_object(&self, session: &str) -> Result<ObjectAnswer, StoreError> {
        check_name(session)?;
        let nothing = Envelope { at: Time(0), inputs: Vec::new(), id: None, of: None };
        let asked = self.cluster().call::<Answered>(session, "input", &nothing);
        let late = |_| ClusterError::NotYet(self.cluster().addresses());
        Ok(match tokio::time::timeout(ANSWER, asked).await.map_err(late)?? {
            Answered::Unknown => ObjectAnswer::Nothing,
            Answered::Taken(seq) => ObjectAnswer::Exists(Some(seq)),
            Answered::Refused { .. } | Answered::Exists => ObjectAnswer::Exists(None),
        })
    }

    fn lags(&self, session: &str) -> ClusterError {
        let text = format!("the node that answers lags behind with session {session}");
        ClusterError::NotReadable { address: self.cluster().addresses(), text }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use obelus_runtime::{Activities, Connections, Store as _};
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::client::Cluster;
    use crate::live::{LiveError, Sessions};
    use crate::warnings::Warnings;
    use crate::wire::Checksum;

    /// Answers one request. Queries get the next rows, or the last ones again; the object says the same each time.
    async fn answer(stream: TcpStream, queries: &mut VecDeque<Value>, object: &Value) {
        let mut stream = BufReader::new(stream);
        let (mut first, mut length) = (String::new(), 0);
        stream.read_line(&mut first).await.unwrap();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            match line.trim().to_ascii_lowercase().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        stream.read_exact(&mut vec![0; length]).await.unwrap();
        let body = if !first.contains("/query") {
            object.clone()
        } else if queries.len() > 1 {
            queries.pop_front().unwrap()
        } else {
            queries[0].clone()
        };
        let body = body.to_string();
        let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).await.unwrap();
    }

    /// A cluster that gives these answers.
    async fn cluster(mut queries: VecDeque<Value>, object: Value) -> Cluster {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                answer(stream, &mut queries, &object).await;
            }
        });
        Cluster::new(&address, &address).unwrap()
    }

    fn nothing() -> Value {
        json!({"rows": []})
    }

    /// The rows of a session's head with this number of records.
    fn head(seq: u64) -> Value {
        let head = SessionHead { seq, ..SessionHead::new("k", Time(1), Checksum::default()) };
        json!({"rows": [{"key": key::HEAD, "value_utf8": serde_json::to_string(&head).unwrap()}]})
    }

    #[tokio::test]
    async fn a_session_that_a_lagging_node_does_not_have_yet_is_waited_for() {
        let lagging = [nothing(), nothing(), head(0)];
        let store = RestateStore::new(cluster(lagging.into(), json!({"taken": 0})).await);
        assert_eq!(store.known_head("s").await.unwrap().seq, 0);
    }

    #[tokio::test]
    async fn only_the_object_of_a_session_can_say_that_there_is_none() {
        let store = RestateStore::new(cluster([nothing()].into(), json!("unknown")).await);
        assert!(matches!(store.known_head("s").await, Err(StoreError::Unknown(_))));
        let loaded = tokio::task::spawn_blocking(move || store.load("s", 0, None)).await.unwrap();
        assert!(matches!(loaded, Err(StoreError::Unknown(_))));
    }

    #[tokio::test]
    async fn a_journal_is_shorter_than_before_only_if_its_object_says_so() {
        for (said, expected) in [(3, None), (1, Some(1))] {
            let store = RestateStore::new(cluster([head(1)].into(), json!({"taken": said})).await);
            let read = store.head_since("s", 3).await;
            assert_eq!(read.as_ref().ok().map(|head| head.seq), expected, "{read:?}");
            assert!(expected.is_some() || matches!(read, Err(StoreError::Unreachable(_))));
        }
    }

    #[tokio::test]
    async fn an_effect_of_a_session_that_a_lagging_node_does_not_have_is_tried_again() {
        let removed = json!({"rows": [{"key": key::REMOVED, "value_utf8": "1"}]});
        for (rows, is_gone) in [(nothing(), false), (removed, true)] {
            let store = RestateStore::of_worker(cluster([nothing(), rows].into(), Value::Null).await);
            let connector = std::sync::Arc::new(Connections::new(Activities::new()));
            let sessions = Sessions::new(store, connector, None, Warnings::new(|_| ()));
            let found = sessions.after("s", "k", 1).await.map(|place| place.is_none());
            assert!(matches!((found, is_gone), (Ok(true), true) | (Err(LiveError::Unavailable(_)), false)));
        }
    }
}
