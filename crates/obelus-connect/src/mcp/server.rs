//! One server: connecting, reconnecting, calls.

use std::sync::Arc;
use std::time::Instant;

use rmcp::model::CallToolRequestParams;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, watch};

use super::connection::{Connection, Listing};
use super::error::{McpError, McpErrorKind};
use super::oauth::{Auth, LogIn};
use super::offer::ServerTools;
use super::request::{self, CallTimer, Elicit};
use super::spec::{ProtocolEra, Spec};
use super::tool_result::ToolResult;

/// How often a list that changes while it is read is requested again.
const MOST_LISTINGS: usize = 3;

/// How often a server may require another login.
const MOST_LOGINS: usize = 3;

/// One server. It is connected at its first use, and reconnected after the connection broke.
pub struct Server {
    spec: Spec,
    state: Mutex<ConnectionState>,
    /// Set once, when the server is closed. This also interrupts connecting.
    closed: watch::Sender<bool>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct ConnectionState {
    connection: Option<Arc<Connection>>,
    /// The tools, as last listed.
    listed: Option<Arc<ServerTools>>,
    /// How long the list is valid, if the server does not announce changes.
    fresh_until: Option<Instant>,
    /// The era of the protocol, which the first connection finds out.
    era: Option<ProtocolEra>,
}

impl Server {
    pub(super) fn new(spec: Spec) -> Self {
        let era = spec.era;
        Self {
            spec,
            state: Mutex::new(ConnectionState { era, ..ConnectionState::default() }),
            closed: watch::Sender::new(false),
        }
    }

    /// Its name in the agent's file.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Calls a tool. Dropping the future cancels the call at the server. The time limit is paused while a person is
    /// asked; without an elicitor, the server's questions are declined.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        elicitor: Option<&dyn Elicit>,
    ) -> Result<ToolResult, McpError> {
        if self.spec.refuses(tool) {
            let words = format!("`{tool}` is refused by `refuse` of the agent's file");
            return Err(McpError::new(&self.spec.name, McpErrorKind::Refused, words));
        }
        let connection = self.connected().await?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let mut clock = CallTimer { left: self.spec.limit };
        let result = request::call(&connection, params, elicitor, &mut clock).await;
        if matches!(&result, Err(error) if matches!(error.trouble, McpErrorKind::Lost | McpErrorKind::NoAccess)) {
            self.forget(&connection).await;
        }
        result.map(|result| ToolResult::read(result, self.spec.most))
    }

    /// Whether the server has this tool and it may be called.
    pub async fn has_tool(&self, tool: &str) -> Result<bool, McpError> {
        Ok(self.listed().await?.tools.contains_key(tool) && !self.spec.refuses(tool))
    }

    /// The current tools of the server.
    pub(super) async fn listed(&self) -> Result<Arc<ServerTools>, McpError> {
        let mut state = self.state.lock().await;
        let connection = self.connect(&mut state).await?;
        let is_old = state.fresh_until.is_some_and(|until| Instant::now() >= until) && !connection.shared.hears();
        if connection.shared.take_stale() || is_old {
            state.listed = None;
        }
        if let Some(listed) = &state.listed {
            return Ok(Arc::clone(listed));
        }
        let since = Instant::now();
        let listing = tokio::time::timeout(self.spec.start, list(&connection)).await;
        let listing = listing.unwrap_or_else(|_| {
            let words = "it did not list its tools in time; see `start`";
            Err(McpError::new(&self.spec.name, McpErrorKind::NoStart, words))
        })?;
        let listed = Arc::new(ServerTools::read(&self.spec, listing.tools));
        state.fresh_until = listing.fresh.and_then(|fresh| since.checked_add(fresh));
        state.listed = Some(Arc::clone(&listed));
        Ok(listed)
    }

    /// Lets a person log in, if the server requires it, and returns the number of its tools. Tokens are stored as
    /// [`super::Servers::keep_logins`] says. A server that was not used yet first gets a request without a token, to
    /// learn its requirements.
    pub async fn log_in(&self, person: &dyn LogIn) -> Result<usize, McpError> {
        let no_access = |words: String| McpError::new(&self.spec.name, McpErrorKind::NoAccess, words);
        let Some(auth) = self.spec.auth() else {
            return Err(no_access(
                "there is nothing to log in to: it is no address, or has a token in `headers`".into(),
            ));
        };
        let logged_in = self.logged_in(auth, person).await;
        if logged_in.is_err() {
            auth.give_up().await;
        }
        logged_in
    }

    async fn logged_in(&self, auth: &Auth, person: &dyn LogIn) -> Result<usize, McpError> {
        let no_access = |words: String| McpError::new(&self.spec.name, McpErrorKind::NoAccess, words);
        if !auth.is_challenged().await {
            auth.set_aside().await;
            self.forget_connection().await;
            match self.listed().await {
                Err(error) if error.trouble == McpErrorKind::NoAccess && auth.is_challenged().await => {}
                Err(error) => return Err(error),
                Ok(_) => return Err(no_access("it does not want to know who asks".to_owned())),
            }
        }
        for _ in 1..MOST_LOGINS {
            auth.log_in(person).await.map_err(no_access)?;
            self.forget_connection().await;
            match self.listed().await {
                Err(error) if error.trouble == McpErrorKind::NoAccess && auth.is_challenged().await => {}
                listed => return listed.map(|listed| listed.tools.len()),
            }
        }
        Err(no_access("it still refuses who asks".to_owned()))
    }

    /// Ends the process and the connection. Later calls are refused.
    pub(super) async fn close(&self) {
        self.closed.send_replace(true);
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    async fn connected(&self) -> Result<Arc<Connection>, McpError> {
        let mut state = self.state.lock().await;
        self.connect(&mut state).await
    }

    async fn connect(&self, state: &mut ConnectionState) -> Result<Arc<Connection>, McpError> {
        let mut closed = self.closed.subscribe();
        let is_closed = || McpError::new(&self.spec.name, McpErrorKind::Closed, "it was closed");
        if *closed.borrow_and_update() {
            return Err(is_closed());
        }
        if let Some(connection) = &state.connection
            && connection.is_alive().await
        {
            return Ok(Arc::clone(connection));
        }
        state.listed = None;
        if let Some(broken) = state.connection.take() {
            broken.close().await;
        }
        let connection = tokio::select! {
            opened = Connection::open(&self.spec, state.era) => {
                // The server may have been replaced: the next attempt probes the era again.
                Arc::new(opened.inspect_err(|_| state.era = self.spec.era)?)
            }
            _ = closed.changed() => return Err(is_closed()),
        };
        state.era = Some(connection.era);
        state.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Makes the next use connect again.
    async fn forget_connection(&self) {
        let connection = {
            let mut state = self.state.lock().await;
            state.listed = None;
            state.connection.take()
        };
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Makes the next call connect again.
    async fn forget(&self, connection: &Arc<Connection>) {
        let mut state = self.state.lock().await;
        if state.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            state.connection = None;
            state.listed = None;
            drop(state);
            connection.close().await;
        }
    }
}

/// The tools of a server. Some servers add tools just after the handshake and announce it; those are included.
async fn list(connection: &Connection) -> Result<Listing, McpError> {
    for _ in 1..MOST_LISTINGS {
        let listing = connection.list().await?;
        if !connection.shared.take_stale() {
            return Ok(listing);
        }
    }
    connection.list().await
}
