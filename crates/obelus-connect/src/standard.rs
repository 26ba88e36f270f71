//! The connector for everything that a file can name: activities, models, MCP servers and the browser.

mod opening;
#[cfg(feature = "mcp")]
mod pins;
#[cfg(feature = "mcp")]
mod servers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "mcp")]
use obelus_runtime::Services;
use obelus_runtime::specs::RequestSource;
use obelus_runtime::{Activities, ConnectError, ConnectFuture, Connections, Connector, Model, NoModel, SessionSpec};
use obelus_words::Language;

use crate::activity::BindingError;
use crate::model::{ModelSpec, Recorder, open};
#[cfg(feature = "mcp")]
pub use pins::{FILE as PINS_FILE, Pinned, Pins, PinsError};
#[cfg(feature = "mcp")]
pub use servers::SessionServers;

/// Connects sessions to what their files name.
#[derive(Clone, Default)]
pub struct StandardConnector {
    /// The folder in which logins to MCP servers are kept.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only MCP servers have logins"))]
    logins: Option<PathBuf>,
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only MCP servers are told of"))]
    notices: Option<Notices>,
    /// Of what people are told, where it is not that of the agent.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only MCP servers are told of"))]
    language: Option<Language>,
}

/// Something that people should know while a session is being connected, or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// MCP servers take long to start; their names.
    Starting(&'a [String]),
    /// Nobody has pinned what these servers say of their tools (POL-8).
    Unpinned {
        /// The servers.
        servers: &'a [String],
        /// The agent, as a person types it.
        agent: &'a str,
    },
    /// A server is not as the session knows it, or cannot offer something.
    Changed(&'a str),
}

/// Who is told.
type Notices = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

impl StandardConnector {
    /// One that keeps no logins and tells nobody anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with logins to MCP servers kept in this folder: that of the store.
    #[must_use]
    pub fn with_logins(self, folder: impl Into<PathBuf>) -> Self {
        Self { logins: Some(folder.into()), ..self }
    }

    /// The same, which tells of what people should know.
    #[must_use]
    pub fn with_notices(self, tell: impl Fn(Notice<'_>) + Send + Sync + 'static) -> Self {
        Self { notices: Some(Arc::new(tell)), ..self }
    }

    /// The same, with a language for what people are told; else it is that of the agent.
    #[must_use]
    pub fn with_language(self, language: Option<Language>) -> Self {
        Self { language, ..self }
    }

    /// The MCP servers that a spec names. What is wrong with the section is found here, and nothing is started.
    #[cfg(feature = "mcp")]
    pub fn servers(&self, spec: &SessionSpec, pictures: Option<&Path>) -> Result<SessionServers, BindingError> {
        SessionServers::new(self, spec, pictures)
    }

    /// Finds what is wrong with the servers and the browser that a spec names.
    pub fn check_servers(&self, spec: &SessionSpec) -> Result<(), BindingError> {
        #[cfg(feature = "mcp")]
        self.servers(spec, None)?;
        let _ = spec;
        Ok(())
    }

    /// The model that a spec names.
    fn model(spec: &SessionSpec) -> Result<Arc<dyn Model>, ConnectError> {
        let Some(chosen) = &spec.model else { return Ok(Arc::new(NoModel)) };
        let named = ModelSpec::from_value(&chosen.model);
        let named = named.map_err(|error| ConnectError(format!("{}: the model: {error}", spec.name)))?;
        let model = open(&named, &chosen.folder).map_err(|error| ConnectError(error.to_string()))?;
        match &spec.local.record {
            None => Ok(model),
            Some(file) => match Recorder::open(model, file) {
                Ok(recorder) => Ok(Arc::new(recorder)),
                Err(error) => Err(ConnectError(format!("{}: {error}", file.display()))),
            },
        }
    }

    #[cfg(feature = "mcp")]
    fn connect(spec: &SessionSpec, servers: SessionServers) -> Result<Connections, ConnectError> {
        let activities = Self::bind(spec, &servers)?;
        let services = Some(Arc::new(servers) as Arc<dyn Services>).filter(|_| spec.mcp.is_some());
        Ok(Connections { activities: Arc::new(activities), model: Self::model(spec)?, services, requests: requests() })
    }

    /// The activities of a spec, those of its servers among them.
    #[cfg(feature = "mcp")]
    fn bind(spec: &SessionSpec, servers: &SessionServers) -> Result<Activities, ConnectError> {
        let mut activities = Activities::new();
        for lot in &spec.activities {
            let bound = crate::activity::bind_with(&mut activities, &lot.bound, &lot.folder, servers.browser());
            bound.map_err(|error| in_file(spec, error))?;
        }
        servers.bind_into(&mut activities);
        Ok(activities)
    }

    #[cfg(not(feature = "mcp"))]
    fn connect(spec: &SessionSpec) -> Result<Connections, ConnectError> {
        if spec.mcp.is_some() {
            return Err(in_file(spec, "this program was built without the feature `mcp`"));
        }
        let mut activities = Activities::new();
        for lot in &spec.activities {
            let bound = crate::activity::bind_into(&mut activities, &lot.bound, &lot.folder);
            bound.map_err(|error| in_file(spec, error))?;
        }
        let model = Self::model(spec)?;
        Ok(Connections { activities: Arc::new(activities), model, services: None, requests: requests() })
    }
}

/// What reads saved requests of delegates at addresses.
fn requests() -> Option<Arc<dyn RequestSource>> {
    #[cfg(feature = "http")]
    return Some(Arc::new(crate::saved_requests::WebRequests));
    #[cfg(not(feature = "http"))]
    None
}

fn in_file(spec: &SessionSpec, why: impl std::fmt::Display) -> ConnectError {
    ConnectError(format!("{}: {why}", spec.name))
}

#[cfg(feature = "mcp")]
impl Connector for StandardConnector {
    fn begin<'a>(
        &'a self,
        spec: &'a mut SessionSpec,
        pictures: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>> {
        Box::pin(async move {
            let mut servers = self.servers(spec, pictures).map_err(|error| in_file(spec, error))?;
            if let Err(error) = servers.meet(spec).await {
                servers.close().await;
                return Err(in_file(spec, error));
            }
            let connections = Self::connect(spec, servers)?;
            opening::begin(spec, &connections.activities).await;
            Ok(connections)
        })
    }

    fn resume(&self, spec: &SessionSpec, pictures: Option<&Path>) -> Result<Connections, ConnectError> {
        let servers = self.servers(spec, pictures).map_err(|error| in_file(spec, error))?;
        Self::connect(spec, servers)
    }
}

#[cfg(not(feature = "mcp"))]
impl Connector for StandardConnector {
    fn begin<'a>(
        &'a self,
        spec: &'a mut SessionSpec,
        _: Option<&'a Path>,
    ) -> ConnectFuture<'a, Result<Connections, ConnectError>> {
        Box::pin(async move {
            let connections = Self::connect(spec)?;
            opening::begin(spec, &connections.activities).await;
            Ok(connections)
        })
    }

    fn resume(&self, spec: &SessionSpec, _: Option<&Path>) -> Result<Connections, ConnectError> {
        Self::connect(spec)
    }
}
