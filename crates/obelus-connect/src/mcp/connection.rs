//! One connection to a server, in either era of the protocol.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ProtocolVersion, ServerNotification, ServerResult,
    SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::error::{McpError, McpErrorKind, quoted};
use super::guarded::GuardedTransport;
use super::handler::{ConnectionShared, Handler};
use super::http;
use super::lines::{MOST_LINE, MeasuredLines};
use super::process::Process;
use super::spec::{ProtocolEra, Spec, TransportSpec};

/// The time limit of closing a connection.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long a server that did not answer a call has to answer a ping.
const MOST_SILENCE: Duration = Duration::from_secs(10);

/// The most pages of tools that are read.
const MOST_PAGES: usize = 100;

/// Error codes for an unknown session.
const SESSION_CODES: [i32; 2] = [-32000, -32001];

/// How long a list is used at most before it is requested again.
const MOST_FRESH: Duration = Duration::from_secs(3600);

/// The tools of a server.
pub(super) struct Listing {
    /// Their definitions, unchanged.
    pub(super) tools: Vec<Value>,
    /// How long the list is valid; none if the server announces changes.
    pub(super) fresh: Option<Duration>,
}

/// A connection to a server. Dropping it ends the server's process, without waiting.
pub(super) struct Connection {
    pub(super) server: String,
    pub(super) peer: Peer<RoleClient>,
    pub(super) shared: Arc<ConnectionShared>,
    /// Counts messages that were too large.
    pub(super) too_long: watch::Receiver<u64>,
    pub(super) era: ProtocolEra,
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    process: Option<Process>,
    /// Whether the connection is broken and the library has not noticed it.
    broken: AtomicBool,
    /// Whether a call got no answer, so that the server may hang.
    silent: AtomicBool,
    listening: Option<AbortHandle>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

/// Why connecting failed, and whether to try the other era.
struct ConnectFailure {
    error: McpError,
    retry: Option<ProtocolEra>,
}

impl Connection {
    /// Connects. If the era is unknown, it is probed: a server of the older era answers the first request with an
    /// error, not at all, or ends.
    pub(super) async fn open(spec: &Spec, era: Option<ProtocolEra>) -> Result<Self, McpError> {
        match Self::attempt(spec, era).await {
            Ok(connection) => Ok(connection),
            Err(ConnectFailure { retry: Some(other), .. }) if era.is_none() => {
                Self::attempt(spec, Some(other)).await.map_err(|failed| failed.error)
            }
            Err(failed) => Err(failed.error),
        }
    }

    async fn attempt(spec: &Spec, era: Option<ProtocolEra>) -> Result<Self, ConnectFailure> {
        let fail =
            |trouble, words: String| ConnectFailure { error: McpError::new(&spec.name, trouble, words), retry: None };
        let no_secret = |name: String| fail(McpErrorKind::NoSecret, format!("the environment has no `{name}`; set it"));
        let shared = Arc::new(ConnectionShared::default());
        let handler = Handler(Arc::clone(&shared));
        let (service, process, too_long) = match &spec.reach {
            TransportSpec::Stdio(program) => {
                let command = program.command().map_err(no_secret)?;
                let (process, stdout, stdin) =
                    Process::start(program, command).map_err(|words| fail(McpErrorKind::NoStart, words))?;
                let (stdout, too_long) = MeasuredLines::new(stdout);
                let transport = AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MOST_LINE);
                let service = serve_client_with_lifecycle(handler, GuardedTransport::new(transport), lifecycle(era));
                let service = tokio::time::timeout(spec.start, service).await;
                match service {
                    Ok(Ok(service)) => (service, Some(process), too_long),
                    Ok(Err(error)) => {
                        let failed = not_open(spec, era, &error, Some(&process)).await;
                        process.end().await;
                        return Err(failed);
                    }
                    Err(_) => {
                        process.end().await;
                        return Err(fail(McpErrorKind::NoStart, late(spec, &process.last_words())));
                    }
                }
            }
            TransportSpec::Http { url, headers, auth } => {
                let way = http::http_transport(url, headers, auth.as_ref())
                    .map_err(|(trouble, words)| fail(trouble, words))?;
                let service =
                    serve_client_with_lifecycle(handler, GuardedTransport::new(way.transport), lifecycle(era));
                match tokio::time::timeout(spec.start, service).await {
                    Ok(Ok(service)) => {
                        http::listening(way.listens).await;
                        (service, None, way.too_large)
                    }
                    Ok(Err(error)) => return Err(not_open(spec, era, &error, None).await),
                    Err(_) => return Err(fail(McpErrorKind::NoStart, late(spec, ""))),
                }
            }
        };
        Ok(Self::opened(spec, service, process, too_long, shared))
    }

    /// The connection after a successful handshake.
    fn opened(
        spec: &Spec,
        service: RunningService<RoleClient, Handler>,
        process: Option<Process>,
        too_long: watch::Receiver<u64>,
        shared: Arc<ConnectionShared>,
    ) -> Self {
        let info = service.peer().peer_info();
        let has_handshake = info.as_ref().is_none_or(|info| info.protocol_version.has_initialize());
        let era = if has_handshake { ProtocolEra::Handshake } else { ProtocolEra::Stateless };
        let tells = info
            .is_some_and(|info| info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true)));
        let peer = service.peer().clone();
        let listening = (era == ProtocolEra::Stateless && tells)
            .then(|| tokio::spawn(listen(peer.clone(), Arc::clone(&shared))).abort_handle());
        Self {
            server: spec.name.clone(),
            peer,
            shared,
            too_long,
            era,
            service: Mutex::new(Some(service)),
            process,
            broken: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            listening,
        }
    }

    /// Whether the connection can no longer be used.
    pub(super) fn is_broken(&self) -> bool {
        self.peer.is_transport_closed() || self.broken.load(Ordering::Acquire)
    }

    /// Whether the server responds. It is pinged only after a call without an answer: a slow server keeps its state,
    /// one that hangs is restarted.
    pub(super) async fn is_alive(&self) -> bool {
        if self.is_broken() {
            return false;
        }
        if !self.silent.swap(false, Ordering::AcqRel) {
            return true;
        }
        let answered = tokio::time::timeout(MOST_SILENCE, self.list()).await;
        answered.is_ok() && !self.is_broken()
    }

    /// Closes the connection, ends the process, and waits for both.
    pub(super) async fn close(&self) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(GOODBYE).await;
        }
        if let Some(process) = &self.process {
            process.end().await;
        }
    }

    /// The tools of the server, unchanged.
    pub(super) async fn list(&self) -> Result<Listing, McpError> {
        let mut tools = Vec::new();
        let mut fresh = Duration::MAX;
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let params = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let request = ListToolsRequest { params, ..ListToolsRequest::default() };
            let result = self.peer.send_request(ClientRequest::ListToolsRequest(request)).await;
            let page = match result {
                Ok(ServerResult::ListToolsResult(page)) => serde_json::to_value(page).unwrap_or_default(),
                // Parsed as JSON, because one invalid tool would make the whole list fail.
                Ok(ServerResult::CustomResult(page)) => page.0,
                Ok(_) => Value::Null,
                Err(error) => return Err(self.failed(error).await),
            };
            let Some(Value::Array(page_tools)) = page.get("tools") else {
                return Err(self.error(McpErrorKind::Garbage, "its list of tools is no list"));
            };
            tools.extend(page_tools.iter().cloned());
            fresh = fresh.min(page.get("ttlMs").and_then(Value::as_u64).map_or(Duration::ZERO, Duration::from_millis));
            match page.get("nextCursor") {
                Some(Value::String(next)) => cursor = Some(next.clone()),
                _ => {
                    let fresh = (self.era == ProtocolEra::Stateless).then_some(fresh.min(MOST_FRESH));
                    return Ok(Listing { tools, fresh });
                }
            }
        }
        Err(self.error(McpErrorKind::Garbage, format!("its list of tools has more than {MOST_PAGES} pages")))
    }

    /// An error of this server.
    pub(super) fn error(&self, trouble: McpErrorKind, words: impl Into<String>) -> McpError {
        McpError::new(&self.server, trouble, words)
    }

    /// The error of a failed request.
    pub(super) async fn failed(&self, error: ServiceError) -> McpError {
        match error {
            ServiceError::McpError(error) => {
                // A restarted server does not know the session; some report that only with these codes.
                if self.process.is_none() && self.era == ProtocolEra::Handshake && SESSION_CODES.contains(&error.code.0)
                {
                    self.broken.store(true, Ordering::Release);
                }
                self.error(McpErrorKind::Said, format!("{} (code {})", quoted(&error.message), error.code.0))
            }
            ServiceError::Timeout { .. } => {
                self.silent.store(true, Ordering::Release);
                self.error(McpErrorKind::Late, "no answer in time; see `timeout`")
            }
            ServiceError::TransportSend(error) if http::is_unreached(error.error.as_ref()) => {
                let cause = quoted(&http::innermost(error.error.as_ref()));
                self.error(McpErrorKind::NoStart, format!("it cannot be reached: {cause}"))
            }
            ServiceError::TransportSend(error) if http::refusal(error.error.as_ref()).is_some() => {
                let words = http::refusal(error.error.as_ref()).unwrap_or_default();
                self.error(McpErrorKind::NoAccess, words)
            }
            ServiceError::UnexpectedResponse => self.error(McpErrorKind::Garbage, "its answer makes no sense"),
            error => {
                let how = match &self.process {
                    Some(process) => process.how_it_ended().await,
                    None => None,
                };
                match (how, &self.process) {
                    (Some(how), Some(process)) => {
                        self.error(McpErrorKind::Lost, with_last_words(&how, &process.last_words()))
                    }
                    _ => {
                        self.error(McpErrorKind::Lost, format!("the line broke: {}", quoted(&http::innermost(&error))))
                    }
                }
            }
        }
    }
}

fn lifecycle(era: Option<ProtocolEra>) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match era {
        Some(ProtocolEra::Handshake) => ClientLifecycleMode::Initialize,
        Some(ProtocolEra::Stateless) => ClientLifecycleMode::Discover { preferred_versions },
        None => ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(ProtocolVersion::V_2025_11_25) },
    }
}

/// The error of a failed handshake.
async fn not_open(
    spec: &Spec,
    era: Option<ProtocolEra>,
    error: &ClientInitializeError,
    process: Option<&Process>,
) -> ConnectFailure {
    let fail =
        |words: String, retry| ConnectFailure { error: McpError::new(&spec.name, McpErrorKind::NoStart, words), retry };
    match error {
        // A slow server answered the probe late, which also shows its era.
        ClientInitializeError::ConflictInitResponseId(..) => {
            fail("it mixes up its answers".to_owned(), Some(ProtocolEra::Stateless))
        }
        ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            fail("it mixes up its answers".to_owned(), Some(ProtocolEra::Handshake))
        }
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
            if process.is_some() =>
        {
            let how = match process {
                Some(process) => process.how_it_ended().await,
                None => None,
            };
            let how = how.unwrap_or_else(|| "it closed its output".to_owned());
            let last = process.map(Process::last_words).unwrap_or_default();
            fail(with_last_words(&format!("it did not get ready: {how}"), &last), Some(ProtocolEra::Handshake))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<_> = server_supported.iter().map(|version| quoted(version.as_str())).collect();
            let words = format!("it speaks none of our versions of the protocol, but {}", theirs.join(", "));
            fail(words, Some(ProtocolEra::Handshake))
        }
        error if http::refusal(error).is_some() => {
            let words = http::refusal(error).unwrap_or_default();
            ConnectFailure { error: McpError::new(&spec.name, McpErrorKind::NoAccess, words), retry: None }
        }
        // Nothing was requested yet, so it does not matter whether the server was reached.
        error if http::is_of_the_way(error) => {
            fail(format!("it cannot be reached: {}", quoted(&http::innermost(error))), None)
        }
        error => {
            let hint = if era.is_some() { "; see `protocol`" } else { "" };
            fail(
                format!("it does not speak the protocol: {}{hint}", quoted(&error.to_string())),
                Some(ProtocolEra::Handshake),
            )
        }
    }
}

fn late(spec: &Spec, last: &str) -> String {
    let seconds = spec.start.as_secs_f64();
    with_last_words(&format!("it was not ready after {seconds} s; see `start`"), last)
}

fn with_last_words(what: &str, last: &str) -> String {
    if last.is_empty() { what.to_owned() } else { format!("{what}; its last words: {last}") }
}

/// Subscribes to changes of the tool list, in the era that requires it.
async fn listen(peer: Peer<RoleClient>, shared: Arc<ConnectionShared>) {
    let Ok(mut news) = peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await else { return };
    // Changes before the subscription were not announced.
    shared.mark_stale();
    shared.now_hears(news.acknowledged().tools_list_changed == Some(true));
    while let Ok(Some(news)) = news.next().await {
        if let ServerNotification::ToolListChangedNotification(_) = news {
            shared.mark_stale();
        }
    }
    shared.now_hears(false);
}
