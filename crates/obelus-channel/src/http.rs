//! The HTTP API: `/api/v1`, server-sent events, WebSocket, health and metrics.
//!
//! | file | subject |
//! |---|---|
//! | `options` | where it listens, for whom, and how much it takes |
//! | `accept` | connections: accepted, timed, limited, and closed in good order |
//! | `guard` | each request: host, origin, token, role, rate; headers of each answer |
//! | `body`, `reply` | what comes in and goes out as JSON, within limits |
//! | `protocol` | what the protocols of others share |
//! | `routes` | the API |
//! | `stream`, `socket` | events as a stream, and by WebSocket |
//! | `limits`, `metrics` | rates and open streams of each token; counters |
//! | `links`, `console` | one-time links for browsers; the console's files |
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
pub use body::{InPath, InQuery, JsonBody};
pub use guard::Access;
use limits::Limits;
use links::Links;
use metrics::Metrics;
pub use options::{HttpOptions, OptionsError};
pub(crate) use protocol::{OptionalBody, content_text};
pub use reply::{ErrorBody, ErrorDetails, Failure, Json};
pub use routes::description;
pub(crate) use stream::{Events, Next};

/// What every request needs. Clones are the same.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    service: Service,
    tokens: Tokens,
    options: HttpOptions,
    /// Values of `Host` that are answered.
    hosts: Vec<String>,
    /// Values of `Origin` that are answered.
    origins: Vec<String>,
    limits: Limits,
    metrics: Metrics,
    links: Links,
    started: Instant,
    /// Becomes true when the server is about to end.
    closing: watch::Receiver<bool>,
}

impl App {
    /// The calls.
    pub fn service(&self) -> &Service {
        &self.inner.service
    }

    /// Whether the token of a request still permits what it did when the request came.
    pub fn still_permits(&self, access: &Access) -> bool {
        self.inner.tokens.still_permits(&access.caller)
    }

    /// Whether the server is about to end.
    pub fn is_closing(&self) -> bool {
        *self.inner.closing.borrow()
    }

    /// Waits until the server is about to end.
    pub async fn closing(&self) {
        let mut closing = self.inner.closing.clone();
        // A sender that is gone has ended, too.
        let _ = closing.wait_for(|closing| *closing).await;
    }
}

/// A server that listens. It answers while [`HttpServer::serve`] runs.
pub struct HttpServer {
    app: App,
    listener: TcpListener,
    address: SocketAddr,
    closing: watch::Sender<bool>,
    /// Routes of other channels, below the same guard.
    more: Vec<Router<App>>,
}

impl HttpServer {
    /// Listens at the address of the options.
    pub async fn bind(service: Service, tokens: Tokens, options: HttpOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let (closing, is_closing) = watch::channel(false);
        let inner = Inner {
            service,
            tokens,
            hosts: options.hosts_at(address),
            origins: options.origins_at(address),
            limits: Limits::new(&options),
            metrics: Metrics::default(),
            links: Links::default(),
            started: Instant::now(),
            closing: is_closing,
            options,
        };
        Ok(Self { app: App { inner: Arc::new(inner) }, listener, address, closing, more: Vec::new() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The code of a one-time link to the console: `ADDRESS/#code=CODE` (see `/api/v1/login`).
    pub fn link(&self, token: Secret) -> Result<Secret, TokenError> {
        self.app.inner.links.add(token)
    }

    /// Adds the routes of another channel. They are guarded as the others are.
    #[must_use]
    pub fn with_routes(mut self, routes: Router<App>) -> Self {
        self.more.push(routes);
        self
    }

    /// Serves until `end` comes. Then nothing more is accepted, streams are closed, requests at work are answered, and
    /// whoever is slower than the options allow is let go.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let Self { app, listener, closing, more, .. } = self;
        let router = routes::router(&app, more);
        let connections = accept::accept(&app, listener, router, end).await;
        closing.send_replace(true);
        connections.closed(app.inner.options.grace).await;
    }
}
