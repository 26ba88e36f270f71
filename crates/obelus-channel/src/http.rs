//! The HTTP API: `/api/v1`, server-sent events, WebSocket, health and metrics.
//!
//! | file | subject |
//! |---|---|
//! | `options` | address, allowed hosts, and limits |
//! | `accept` | connections: accepting, time limits, orderly shutdown |
//! | `guard` | checks of each request: host, origin, token, role, rate; headers of each answer |
//! | `body`, `reply` | JSON bodies within limits, and answers |
//! | `protocol` | what the compatible protocols share |
//! | `routes` | the API |
//! | `stream`, `socket` | events as a stream, and by WebSocket |
//! | `limits`, `metrics` | rates and open streams of each token; counters |
//! | `links`, `console` | one-time links for browsers; the console's files |
//! | `shown` | the questions that each caller was last shown |
//! | `docs` | the description of the API, and a page to try it |

mod accept;
mod body;
mod console;
mod docs;
mod guard;
mod limits;
mod links;
mod metrics;
mod options;
mod protocol;
mod reply;
mod routes;
mod shown;
mod socket;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use obelus_runtime::Secret;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::Service;
use crate::tokens::{TokenError, Tokens};
use crate::types::QuestionRow;
pub use body::{InPath, InQuery, JsonBody};
pub use guard::Access;
use limits::RateLimits;
use links::Links;
use metrics::Metrics;
pub use options::{HttpOptions, OptionsError};
pub(crate) use protocol::{OptionalBody, content_text};
pub use reply::{ErrorBody, ErrorDetails, Failure, Json};
pub use routes::description;
use shown::ShownQuestions;
pub(crate) use stream::{EventStream, StreamItem};

/// How long a request waits for the end of a turn if it does not say how long, in seconds.
pub(crate) const USUAL_WAIT: u64 = 60;
/// The longest time that a request waits for the end of a turn, in seconds.
pub(crate) const LONGEST_WAIT: u64 = 600;

/// The state that every request needs. Clones share it.
#[derive(Clone)]
pub struct App {
    inner: Arc<HttpShared>,
}

struct HttpShared {
    service: Service,
    tokens: Tokens,
    options: HttpOptions,
    /// Accepted values of `Host`.
    hosts: Vec<String>,
    /// Accepted values of `Origin`.
    origins: Vec<String>,
    limits: RateLimits,
    metrics: Metrics,
    links: Links,
    shown: ShownQuestions,
    started: Instant,
    /// Becomes true when the server shuts down.
    closing: watch::Receiver<bool>,
}

impl App {
    /// The service.
    pub fn service(&self) -> &Service {
        &self.inner.service
    }

    /// Whether the token of a request still has the same rights.
    pub fn still_permits(&self, access: &Access) -> bool {
        self.inner.tokens.still_permits(&access.caller)
    }

    /// Notes that a caller is shown these open questions of a session.
    pub(crate) fn note_shown(&self, access: &Access, open: &[QuestionRow]) {
        self.inner.shown.add(&access.caller.name, open);
    }

    /// Whether this question, as it is now, is the only one that the caller was last shown.
    pub(crate) fn was_shown(&self, access: &Access, question: &QuestionRow) -> bool {
        self.inner.shown.is_only(&access.caller.name, question)
    }

    /// Whether the server is shutting down.
    pub fn is_closing(&self) -> bool {
        *self.inner.closing.borrow()
    }

    /// Waits until the server shuts down.
    pub async fn closing(&self) {
        let mut closing = self.inner.closing.clone();
        // A dropped sender means the same.
        let _ = closing.wait_for(|closing| *closing).await;
    }
}

/// A listening server. It answers while [`HttpServer::serve`] runs.
pub struct HttpServer {
    app: App,
    listener: TcpListener,
    address: SocketAddr,
    closing: watch::Sender<bool>,
    /// Routes of other channels, behind the same guard.
    more: Vec<Router<App>>,
}

impl HttpServer {
    /// Listens at the address of the options.
    pub async fn bind(service: Service, tokens: Tokens, options: HttpOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let (closing, is_closing) = watch::channel(false);
        let inner = HttpShared {
            service,
            tokens,
            hosts: options.hosts_at(address),
            origins: options.origins_at(address),
            limits: RateLimits::new(&options),
            metrics: Metrics::default(),
            links: Links::default(),
            shown: ShownQuestions::default(),
            started: Instant::now(),
            closing: is_closing,
            options,
        };
        Ok(Self { app: App { inner: Arc::new(inner) }, listener, address, closing, more: Vec::new() })
    }

    /// The address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The code of a one-time link to the console: `ADDRESS/#code=CODE` (see `/api/v1/login`).
    pub fn link(&self, token: Secret) -> Result<Secret, TokenError> {
        self.app.inner.links.add(token)
    }

    /// Adds the routes of another channel, behind the same guard.
    #[must_use]
    pub fn with_routes(mut self, routes: Router<App>) -> Self {
        self.more.push(routes);
        self
    }

    /// Serves until `end` completes. Then no connections are accepted, streams are closed, running requests are
    /// answered, and connections that take longer than the options allow are dropped.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let Self { app, listener, closing, more, .. } = self;
        let router = routes::router(&app, more);
        let connections = accept::accept(&app, listener, router, end).await;
        closing.send_replace(true);
        connections.closed(app.inner.options.grace).await;
    }
}
