//! A small HTTP listener for the events of portals. It accepts forms with the right token.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use obelus_runtime::Secret;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::{EventRejected, LARGEST, PortalEvent};

/// The time limit for sending an event.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of concurrent connections.
const MOST_CONNECTIONS: usize = 64;

/// The number of queued events. More are refused, because the reader has stopped.
const MOST_WAITING: usize = 1_000;

/// An event, and the path it was sent to.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The event.
    pub event: PortalEvent,
    /// The path.
    pub path: String,
}

/// A listener for events. It closes when it is dropped.
pub struct EventListener {
    address: SocketAddr,
    received: mpsc::Receiver<Received>,
    listening: JoinHandle<()>,
}

impl EventListener {
    /// Listens at an address, on the current tokio runtime.
    pub async fn open(listen: SocketAddr, token: Secret) -> std::io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let (sender, received) = mpsc::channel(MOST_WAITING);
        let listening = tokio::spawn(accept(listener, Arc::new(token), sender));
        Ok(Self { address, received, listening })
    }

    /// The address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next event.
    pub async fn next(&mut self) -> Option<Received> {
        self.received.recv().await
    }

    /// The next event, if one is queued.
    pub fn next_ready(&mut self) -> Option<Received> {
        self.received.try_recv().ok()
    }
}

impl Drop for EventListener {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn accept(listener: TcpListener, token: Arc<Secret>, sender: mpsc::Sender<Received>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Probably out of file descriptors; wait until some are closed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (token, sender) = (Arc::clone(&token), sender.clone());
        tokio::spawn(async move {
            serve(stream, token, sender).await;
            drop(place);
        });
    }
}

async fn serve(stream: TcpStream, token: Arc<Secret>, sender: mpsc::Sender<Received>) {
    let service = hyper::service::service_fn(move |request| {
        let (token, sender) = (Arc::clone(&token), sender.clone());
        async move {
            let (status, words) = take(request, &token, &sender).await;
            let mut response = Response::new(Body::from(words));
            *response.status_mut() = status;
            Ok::<_, Infallible>(response)
        }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    let server = server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
    // A portal that disconnects is not an error.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn take(request: Request<Incoming>, token: &Secret, sender: &mpsc::Sender<Received>) -> (StatusCode, String) {
    if request.method() != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, "events are brought by POST\n".to_owned());
    }
    let path = request.uri().path().to_owned();
    let form = match tokio::time::timeout(PATIENCE, to_bytes(Body::new(request.into_body()), LARGEST)).await {
        Ok(Ok(form)) => form,
        Ok(Err(_)) => return refused(EventRejected::TooLarge),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the form did not come in time\n".to_owned()),
    };
    match PortalEvent::read(&form, token) {
        Err(why) => refused(why),
        Ok(event) => match sender.try_send(Received { event, path }) {
            Ok(()) => (StatusCode::OK, String::new()),
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "too many events wait\n".to_owned()),
        },
    }
}

fn refused(why: EventRejected) -> (StatusCode, String) {
    let status = match why {
        EventRejected::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        EventRejected::NoEvent => StatusCode::BAD_REQUEST,
        EventRejected::Stranger => StatusCode::FORBIDDEN,
    };
    (status, format!("{why}\n"))
}
