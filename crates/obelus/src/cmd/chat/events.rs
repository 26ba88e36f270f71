//! Listens for a portal's events and passes those that the session has bound to it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow};
use obelus_connect::bitrix24::EventDoor;
use obelus_kernel::Path;
use obelus_kernel::session::{Input, Session};
use obelus_runtime::Secret;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::phrases::fill;
use super::talk::Talk;

/// The event bindings in a session's state, shared with the listener.
#[derive(Clone, Default)]
pub(super) struct Bindings(Arc<Mutex<Value>>);

impl Bindings {
    /// Updates the bindings from the session.
    pub(super) fn see(&self, session: &Session) {
        let path = Path::field("state", "event_bindings");
        let now = session.context().read(&path, None).map(std::borrow::Cow::into_owned).unwrap_or_default();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    fn now(&self) -> Value {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The listener; it stops when this is dropped.
pub(super) struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Listens at an address and passes bound events to the session. Other events are ignored.
pub(super) async fn listen(address: SocketAddr, variable: &str, talk: &mut Talk) -> Result<Listening> {
    let token = Secret::from_env(variable).ok_or_else(|| {
        anyhow!("--events: set {variable} to the application's token, which the portal sends with every event")
    })?;
    let mut door = EventDoor::open(address, token).await.with_context(|| format!("--events {address}"))?;
    let words = fill(talk.phrases.listens, &[&format!("http://{}/", door.address())]);
    crate::output::note(&words);
    talk.bindings.see(talk.session());
    let (bindings, counter) = (talk.bindings.clone(), talk.driver.counter());
    Ok(Listening(tokio::task::spawn_local(async move {
        while let Some(received) = door.next().await {
            if received.event.is_wanted(&bindings.now(), &received.path) {
                let event = received.event.to_value();
                // The session itself reports an input that it cannot store, for example on a full disk.
                let _ = counter.tell(Input::Event { id: received.event.id, event }).await;
            }
        }
    })))
}
