//! Events that a portal sends to the server: `POST /hooks/bitrix24/SECRET`.
//!
//! The secret in the path keeps strangers away, and the portal's own token authenticates it. An event goes to the
//! sessions that have bound it to this address; each takes it once, even if it is repeated.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use obelus_channel::http::App;
use obelus_channel::tokens::secret_in;
use obelus_channel::{ChannelError, Service};
use obelus_connect::bitrix24::{EventRejected, PortalEvent};
use obelus_kernel::session::{Input, Session};
use obelus_runtime::Secret;
use obelus_runtime::masking::without_secrets;
use serde_json::Value;
use tokio::sync::Mutex;

/// The variable with the portal's token.
const VARIABLE: &str = "BITRIX_APPLICATION_TOKEN";
/// The file with the secret of the path, in the store's folder.
const FILE: &str = "hook-secret";
/// The largest form. Events contain only ids, so a larger form is not an event.
const LARGEST: usize = 64 * 1024;
/// The time limit for sending an event.
const PATIENCE: Duration = Duration::from_secs(10);

/// Receives the events of a portal.
pub(super) struct Hooks {
    service: Service,
    /// The whole path, with its secret.
    path: String,
    token: Secret,
    /// Each session's bindings, and the number of records when they were read.
    bound: Mutex<HashMap<String, (u64, Value)>>,
}

impl Hooks {
    /// Receives events if the portal's token is in the environment. The secret is created at the first start.
    pub(super) fn of(service: &Service, folder: &Path) -> Result<Option<Arc<Self>>> {
        let Some(token) = Secret::from_env(VARIABLE) else { return Ok(None) };
        let secret = secret_in(&folder.join(FILE))?;
        let path = format!("/hooks/bitrix24/{}", secret.expose());
        Ok(Some(Arc::new(Self { service: service.clone(), path, token, bound: Mutex::default() })))
    }

    /// The routes, for the server.
    pub(super) fn routes(self: Arc<Self>) -> Router<App> {
        Router::new().route("/hooks/bitrix24/{secret}", post(move |request: Request| self.take(request)))
    }

    async fn take(self: Arc<Self>, request: Request) -> Response {
        let path = request.uri().path().to_owned();
        if !is_same(&path, &self.path) {
            return StatusCode::NOT_FOUND.into_response();
        }
        let body: Body = request.into_body();
        let form = match tokio::time::timeout(PATIENCE, to_bytes(body, LARGEST)).await {
            Ok(Ok(form)) => form,
            Ok(Err(_)) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
            Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
        };
        match PortalEvent::read(&form, &self.token) {
            Err(EventRejected::TooLarge) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
            Err(EventRejected::NoEvent) => StatusCode::BAD_REQUEST.into_response(),
            Err(EventRejected::Stranger) => StatusCode::FORBIDDEN.into_response(),
            Ok(event) => match self.deliver(&event, &path).await {
                Ok(()) => StatusCode::OK.into_response(),
                Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            },
        }
    }

    /// Gives an event to the sessions that have bound it. It is durable in all of them when this returns.
    async fn deliver(&self, event: &PortalEvent, path: &str) -> Result<(), ChannelError> {
        let host = self.service.host().clone();
        let rows = tokio::task::spawn_blocking(move || host.list()).await;
        let rows = rows.map_err(|_| ChannelError::Closing)??;
        // Sessions store no secrets, so the address that they have bound has none either.
        let hidden = without_secrets(path);
        let mut bound = self.bound.lock().await;
        bound.retain(|id, _| rows.iter().any(|row| row.id == *id));
        for row in rows {
            let is_known = bound.get(&row.id).is_some_and(|(records, _)| *records == row.records);
            if !is_known {
                // Unreadable sessions are skipped.
                let bindings = self.service.read(&row.id, bindings).await.unwrap_or_default();
                bound.insert(row.id.clone(), (row.records, bindings));
            }
            let is_wanted = |bindings| event.is_wanted(bindings, path) || event.is_wanted(bindings, &hidden);
            if bound.get(&row.id).is_some_and(|(_, bindings)| is_wanted(bindings)) {
                let input = Input::Event { id: event.id.clone(), event: event.to_value() };
                self.service.tell(&row.id, input, Some(&format!("event:{}", event.id))).await?;
            }
        }
        Ok(())
    }
}

/// The session's bindings of portal events.
fn bindings(session: &Session) -> Value {
    let path = obelus_kernel::Path::field("state", "event_bindings");
    session.context().read(&path, None).map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// Compares two texts in constant time.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
