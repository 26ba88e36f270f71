//! One server: connecting when needed, connecting again, calls.

use std::sync::Arc;

use rmcp::model::CallToolRequestParams;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::brought::Brought;
use super::connection::Connection;
use super::error::{McpError, Trouble};
use super::offer::Listed;
use super::round::{self, Clock, Elicit};
use super::spec::{Era, Spec};

/// A server that changes its mind more often than this while it is asked has to be taken as it is.
const MOST_LISTINGS: usize = 3;

/// One server. It is connected when it is needed first, and again when the line broke.
pub struct Server {
    spec: Spec,
    line: Mutex<Line>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Line {
    connection: Option<Arc<Connection>>,
    /// The tools, as the connection listed them last.
    listed: Option<Arc<Listed>>,
    /// Found out once.
    era: Option<Era>,
    closed: bool,
}

impl Server {
    pub(super) fn new(spec: Spec) -> Self {
        let era = spec.era;
        Self { spec, line: Mutex::new(Line { era, ..Line::default() }) }
    }

    /// Its name in the agent's file.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Calls a tool. Dropping the future tells the server to stop. The time limit stands still while a person is
    /// asked; without an asker, whatever the server asks is declined.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        asker: Option<&dyn Elicit>,
    ) -> Result<Brought, McpError> {
        if self.spec.refuses(tool) {
            let words = format!("`{tool}` is refused by `refuse` of the agent's file");
            return Err(McpError::new(&self.spec.name, Trouble::Refused, words));
        }
        let connection = self.connected().await?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let mut clock = Clock { left: self.spec.limit };
        let result = round::call(&connection, params, asker, &mut clock).await;
        if matches!(&result, Err(error) if error.trouble == Trouble::Lost) {
            self.forget(&connection).await;
        }
        result.map(|result| Brought::read(result, self.spec.most))
    }

    /// Whether the server has a tool of this name that may be called.
    pub async fn has_tool(&self, tool: &str) -> Result<bool, McpError> {
        Ok(self.listed().await?.tools.contains_key(tool) && !self.spec.refuses(tool))
    }

    /// The tools of the server as it has them now.
    pub(super) async fn listed(&self) -> Result<Arc<Listed>, McpError> {
        let mut line = self.line.lock().await;
        let connection = self.connect(&mut line).await?;
        if connection.shared.take_stale() {
            line.listed = None;
        }
        if let Some(listed) = &line.listed {
            return Ok(Arc::clone(listed));
        }
        let tools = tokio::time::timeout(self.spec.start, list(&connection)).await;
        let tools = tools.unwrap_or_else(|_| {
            let words = "it did not list its tools in time; see `start`";
            Err(McpError::new(&self.spec.name, Trouble::NoStart, words))
        })?;
        let listed = Arc::new(Listed::read(&self.spec, tools));
        line.listed = Some(Arc::clone(&listed));
        Ok(listed)
    }

    /// Ends the program and the line. Whatever is called later is refused.
    pub(super) async fn close(&self) {
        let connection = {
            let mut line = self.line.lock().await;
            line.closed = true;
            line.listed = None;
            line.connection.take()
        };
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    async fn connected(&self) -> Result<Arc<Connection>, McpError> {
        let mut line = self.line.lock().await;
        self.connect(&mut line).await
    }

    async fn connect(&self, line: &mut Line) -> Result<Arc<Connection>, McpError> {
        if line.closed {
            return Err(McpError::new(&self.spec.name, Trouble::Closed, "it was closed"));
        }
        if let Some(connection) = line.connection.as_ref().filter(|connection| !connection.is_broken()) {
            return Ok(Arc::clone(connection));
        }
        line.listed = None;
        if let Some(broken) = line.connection.take() {
            broken.close().await;
        }
        let connection = Arc::new(Connection::open(&self.spec, line.era).await?);
        line.era = Some(connection.era);
        line.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Has the next call connect anew.
    async fn forget(&self, connection: &Arc<Connection>) {
        let mut line = self.line.lock().await;
        if line.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            line.connection = None;
            line.listed = None;
            drop(line);
            connection.close().await;
        }
    }
}

/// The tools of a server. Some add tools just after the handshake, and say so: those are seen too.
async fn list(connection: &Connection) -> Result<Vec<Value>, McpError> {
    for _ in 1..MOST_LISTINGS {
        let tools = connection.list().await?;
        if !connection.shared.take_stale() {
            return Ok(tools);
        }
    }
    connection.list().await
}
