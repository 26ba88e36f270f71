//! Connects a session to the outside: its activities, its model, and its services.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use crate::activity::Activities;
use crate::model::{Model, NoModel};
use crate::spec::SessionSpec;

/// Connects sessions. `obelus-connect` has one that supports everything in an agent's file.
pub trait Connector: Send + Sync + 'static {
    /// Connects a new session. Tools that are only known once a server is asked are added to its context. `pictures`
    /// is the folder for pictures of pages, if the session is stored.
    fn begin<'a>(
        &'a self,
        spec: &'a mut SessionSpec,
        pictures: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>>;

    /// Connects a session that began earlier. Services are started by the first call.
    fn resume(&self, spec: &SessionSpec, pictures: Option<&Path>) -> Result<Connections, ConnectError>;
}

/// The future of a connector.
pub type ConnectFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The connections of a session.
#[derive(Clone)]
pub struct Connections {
    /// Carries out calls.
    pub activities: Arc<Activities>,
    /// Answers requests.
    pub model: Arc<dyn Model>,
    /// Its services, if there are any.
    pub services: Option<Arc<dyn Services>>,
    /// Reads delegates' saved requests at addresses, if supported.
    pub requests: Option<Arc<dyn RequestSource>>,
}

/// Reads delegates' saved requests at addresses. The session requests only those that its settings allow.
pub trait RequestSource: Send + Sync {
    /// The text of a saved request.
    fn read<'a>(&'a self, address: &'a str) -> ConnectFuture<'a, Result<String, String>>;
}

/// Services of one session, such as MCP servers. They end with it.
pub trait Services: Send + Sync {
    /// Differences from when the session began, as text for people. This starts the services.
    fn changes(&self) -> ConnectFuture<'_, Vec<String>>;

    /// Ends them.
    fn close(&self) -> ConnectFuture<'_, ()>;
}

/// Why a session cannot be connected. The text names the file at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

impl Connections {
    /// These activities, and no model.
    pub fn new(activities: Activities) -> Self {
        Self { activities: Arc::new(activities), model: Arc::new(NoModel), services: None, requests: None }
    }

    /// Adds a model.
    #[must_use]
    pub fn with_model(self, model: impl Model) -> Self {
        Self { model: Arc::new(model), ..self }
    }
}

/// Gives every session the same connections, whatever its spec.
impl Connector for Connections {
    fn begin<'a>(
        &'a self,
        _: &'a mut SessionSpec,
        _: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }

    fn resume(&self, _: &SessionSpec, _: Option<&Path>) -> Result<Connections, ConnectError> {
        Ok(self.clone())
    }
}
