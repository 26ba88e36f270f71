//! What connects a session to the world: its activities, its model, and whatever must be started and ended for it.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use crate::activity::Activities;
use crate::model::{Model, NoModel};
use crate::spec::SessionSpec;

/// Connects sessions. `obelus-connect` has one for everything that an agent's file can name.
pub trait Connector: Send + Sync + 'static {
    /// Connects a session that is about to begin. Tools that are only known when a server is asked are added to its
    /// context. `pictures` is where pictures of pages go, if the session is kept.
    fn begin<'a>(
        &'a self,
        spec: &'a mut SessionSpec,
        pictures: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>>;

    /// Connects a session that began earlier. Nothing is started before something is called.
    fn resume(&self, spec: &SessionSpec, pictures: Option<&Path>) -> Result<Connections, ConnectError>;
}

/// What a connector returns while it connects.
pub type ConnectFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What carries out the calls of a session and answers its requests.
#[derive(Clone)]
pub struct Connections {
    /// Carries out calls.
    pub activities: Arc<Activities>,
    /// Answers requests.
    pub model: Arc<dyn Model>,
    /// What was started for the session, if something was.
    pub services: Option<Arc<dyn Services>>,
    /// Reads saved requests of delegates at addresses, where that is possible.
    pub requests: Option<Arc<dyn RequestSource>>,
}

/// Reads saved requests of delegates at addresses. The session asks only for those that its settings allow.
pub trait RequestSource: Send + Sync {
    /// The text of a saved request.
    fn read<'a>(&'a self, address: &'a str) -> ConnectFuture<'a, Result<String, String>>;
}

/// Services that are started for one session, such as MCP servers. They are ended with it.
pub trait Services: Send + Sync {
    /// What is not as the session was given it when it began, in words for people. This starts the services.
    fn changes(&self) -> ConnectFuture<'_, Vec<String>>;

    /// Ends them.
    fn close(&self) -> ConnectFuture<'_, ()>;
}

/// Why a session cannot be connected, in words that name the file at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

impl Connections {
    /// Activities of a program's own, and no model.
    pub fn new(activities: Activities) -> Self {
        Self { activities: Arc::new(activities), model: Arc::new(NoModel), services: None, requests: None }
    }

    /// The same, with a model.
    #[must_use]
    pub fn with_model(self, model: impl Model) -> Self {
        Self { model: Arc::new(model), ..self }
    }
}

/// The same connections for every session, whatever its spec names.
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
