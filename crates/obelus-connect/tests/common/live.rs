//! A session and its host.

#![allow(dead_code, reason = "not every test needs everything")]

use obelus_kernel::Time;
use obelus_kernel::session::{Reply, Session};
use obelus_runtime::{Connections, EventBody, Host, SessionHandle, SessionSpec, Subscription};
use serde_json::Value;

/// A session without a store.
pub(crate) struct Live {
    _host: Host,
    pub(crate) handle: SessionHandle,
    events: Subscription,
}

impl Live {
    pub(crate) async fn new(connections: Connections, spec: SessionSpec) -> Self {
        let host = Host::builder(connections).clock(|| Time(0)).build();
        let handle = host.create_temporary("s", spec).await.unwrap();
        Self { _host: host, events: handle.subscribe(None), handle }
    }

    /// Sends a message and waits until the turn rests.
    pub(crate) async fn say(&self, words: &str) -> Reply {
        self.handle.say(words).await.unwrap();
        self.handle.rested().await.unwrap().unwrap()
    }

    /// Reads something from the session.
    pub(crate) async fn look<T: Send + 'static>(&self, look: impl FnOnce(&Session) -> T + Send + 'static) -> T {
        self.handle.inspect(look).await.unwrap()
    }

    pub(crate) async fn state(&self) -> Value {
        self.look(Session::state).await
    }

    /// The events since the last call.
    pub(crate) fn events(&mut self) -> Vec<EventBody> {
        std::iter::from_fn(|| self.events.try_next()).map(|event| event.body.clone()).collect()
    }

    /// The model's text since the last call, in pieces.
    pub(crate) fn written(&mut self) -> Vec<String> {
        let written = |event| match event {
            EventBody::Writing { text } => Some(text),
            _ => None,
        };
        self.events().into_iter().filter_map(written).collect()
    }
}
