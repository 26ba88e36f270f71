//! HTTP: routes and connections.
//!
//! Connections are served by hand for two reasons: TLS with a temporary certificate, and answers that are dropped on
//! purpose.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower_service::Service;

use super::lenient::Lenient;
use crate::page;
use crate::server::{PortalServer, RestRequest};
use crate::tls::Tls;
use crate::wire::{RestParams, xml};

/// Bodies larger than this are refused.
const MAX_BODY: usize = 16 * 1024 * 1024;

pub(super) fn router(server: Arc<PortalServer>) -> Router {
    Router::new()
        .route("/", get(show_page))
        .route("/version", get(async |State(server): State<Arc<PortalServer>>| server.state().log.count().to_string()))
        .route("/rest/{*path}", any(call))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(server)
}

/// The client's address.
#[derive(Clone, Copy)]
struct Peer(SocketAddr);

/// Marks an answer to be dropped.
#[derive(Clone, Copy)]
struct Dropped;

#[derive(Debug, thiserror::Error)]
#[error("the answer is dropped on purpose")]
struct AnswerDropped;

async fn call(
    State(server): State<Arc<PortalServer>>,
    axum::extract::Path(path): axum::extract::Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    axum::Extension(Peer(from)): axum::Extension<Peer>,
    body: axum::body::Bytes,
) -> Response {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let key = headers.get("idempotency-key").and_then(|value| value.to_str().ok());
    let params = RestParams::read(&query.unwrap_or_default(), content_type, &body);
    let reply = server.serve(RestRequest { path: &path, params, from: from.ip(), key });
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = if reply.as_xml {
        (status, [(header::CONTENT_TYPE, "text/xml; charset=utf-8")], xml(&reply.body)).into_response()
    } else {
        (status, [(header::CONTENT_TYPE, "application/json; charset=utf-8")], reply.body.to_string()).into_response()
    };
    if reply.dropped {
        response.extensions_mut().insert(Dropped);
    }
    response
}

async fn show_page(State(server): State<Arc<PortalServer>>, RawQuery(query): RawQuery) -> Response {
    let wanted = RestParams::of_query(&query.unwrap_or_default());
    let html = page::html(&server, &wanted);
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, html).into_response()
}

/// Accepts connections until the task is aborted, which also closes open connections.
pub(super) async fn accept(listener: TcpListener, tls: Option<Tls>, router: Router) {
    let mut connections = JoinSet::new();
    loop {
        // Remove finished connections while waiting for the next one.
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, peer)) = accepted else {
            // Probably too many open files; retry a little later.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        match &tls {
            None => {
                connections.spawn(serve(stream, peer, router));
            }
            Some(tls) => {
                let acceptor = tls.acceptor.clone();
                connections.spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, peer, router).await;
                    }
                });
            }
        }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, peer: SocketAddr, router: Router) {
    let service = hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        let mut router = router.clone();
        async move {
            request.extensions_mut().insert(Peer(peer));
            let response = match router.call(request.map(Body::new)).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            match response.extensions().get::<Dropped>() {
                Some(Dropped) => Err(AnswerDropped),
                None => Ok(response),
            }
        }
    });
    let Ok(stream) = Lenient::new(stream).await else { return };
    // Errors of the connection are the client's.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
