//! Connections: accepting, time limits, orderly shutdown.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

use super::App;

/// The open connections.
pub(super) struct OpenConnections(JoinSet<()>);

impl OpenConnections {
    /// Waits until they are closed; after `grace` the others are dropped.
    pub(super) async fn closed(mut self, grace: Duration) {
        let all = async { while self.0.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            self.0.shutdown().await;
        }
    }
}

/// Accepts connections until `end` completes.
pub(super) async fn accept(
    app: &App,
    listener: TcpListener,
    router: Router,
    end: impl Future<Output = ()>,
) -> OpenConnections {
    let mut open = JoinSet::new();
    let room = Arc::new(Semaphore::new(app.inner.options.connections));
    let mut end = std::pin::pin!(end);
    loop {
        tokio::select! {
            () = &mut end => break,
            Some(_) = open.join_next() => {}
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else {
                    // Probably out of file descriptors; some may be closed meanwhile.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                // Beyond the limit, a new connection is closed at once.
                let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
                let (app, router) = (app.clone(), router.clone());
                open.spawn(async move {
                    serve(app, stream, router).await;
                    drop(permit);
                });
            }
        }
    }
    OpenConnections(open)
}

/// Serves one connection.
async fn serve(app: App, stream: TcpStream, router: Router) {
    let options = &app.inner.options;
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(WatchedStream::new(stream, options.unread));
    let service = TowerToHyperService::new(router);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(options.head).max_buf_size(64 * 1024);
    let connection = builder.serve_connection(io, service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    app.inner.metrics.connection(1);
    tokio::select! {
        // Broken connections are ignored.
        _ = connection.as_mut() => {}
        () = app.closing() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
    app.inner.metrics.connection(-1);
}

/// A stream that is closed if its reader reads nothing for a given time.
struct WatchedStream {
    stream: TcpStream,
    unread: Duration,
    /// When the reader has been idle for too long.
    due: Option<Pin<Box<Sleep>>>,
}

impl WatchedStream {
    fn new(stream: TcpStream, unread: Duration) -> Self {
        Self { stream, unread, due: None }
    }

    /// Limits how long a write may wait.
    fn watch<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.due = None;
            return written;
        }
        let unread = self.unread;
        let due = self.due.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + unread)));
        match due.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watch(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
