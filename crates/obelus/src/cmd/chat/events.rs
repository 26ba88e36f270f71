//! Listens for a portal's events and passes those that the session has bound to it.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use obelus_connect::bitrix24::EventListener;
use obelus_kernel::Path;
use obelus_kernel::session::Session;
use obelus_runtime::Secret;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::talk::Talk;
use crate::command_error::wrong;
use crate::language::fill;

/// The session's bindings of portal events.
fn bindings(session: &Session) -> Value {
    let path = Path::field("state", "event_bindings");
    session.context().read(&path, None).map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// The listener; it stops when this is dropped.
pub(super) struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Listens at an address, and passes on events that the session has bound. Others are ignored.
pub(super) async fn listen(address: SocketAddr, variable: &str, talk: &Talk) -> Result<Listening> {
    let token = Secret::from_env(variable)
        .ok_or_else(|| wrong(fill(talk.phrases.starting.no_token, &[variable]), talk.phrases))?;
    let mut listener = EventListener::open(address, token).await.with_context(|| format!("--events {address}"))?;
    let words = fill(talk.phrases.chat.listens, &[&format!("http://{}/", listener.address())]);
    crate::output::note(&words);
    let handle = talk.handle.clone();
    Ok(Listening(tokio::spawn(async move {
        while let Some(received) = listener.next().await {
            let Ok(bindings) = handle.inspect(bindings).await else { return };
            if received.event.is_wanted(&bindings, &received.path) {
                let event = received.event.to_value();
                // A session that cannot take it, because its disk is full, reports that itself.
                let _ = handle.event(received.event.id, event).await;
            }
        }
    })))
}
