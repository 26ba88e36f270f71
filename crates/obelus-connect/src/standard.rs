//! The connector for everything that a file can name: activities, models, MCP servers and the browser.

mod opening;
#[cfg(feature = "mcp")]
mod pins;
#[cfg(feature = "mcp")]
mod servers;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "mcp")]
use obelus_runtime::Services;
use obelus_runtime::specs::{BoundActivities, RequestSource};
use obelus_runtime::{
    Activities, ConnectError, ConnectFuture, Connections, Connector, Model, NoModel, Secret, SessionSpec,
};
use obelus_words::Language;
use serde_json::{Map, Value};

use crate::activity::{BindingError, DeclaredNames, bind_session};
use crate::model::{ModelSpec, Recorder, open};
#[cfg(feature = "mcp")]
pub use pins::{FILE as PINS_FILE, Pinned, Pins, PinsError};
#[cfg(feature = "mcp")]
pub use servers::SessionServers;

/// Connects sessions to what their files name.
#[derive(Clone, Default)]
pub struct StandardConnector {
    /// The folder for logins to MCP servers.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only MCP servers have logins"))]
    logins: Option<PathBuf>,
    notices: Option<NoticeListener>,
    /// The language for people, if it is not the agent's.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only MCP servers are told of"))]
    language: Option<Language>,
    /// Whether sessions are only read: no model is opened, and activities may be bound to nothing.
    is_for_reading: bool,
}

/// A notice for people while a session is connected, or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// MCP servers take long to start; their names.
    Starting(&'a [String]),
    /// The tool descriptions of these servers are not pinned (POL-8).
    Unpinned {
        /// The servers.
        servers: &'a [String],
        /// The agent, as a person types it.
        agent: &'a str,
    },
    /// A server differs from what the session knows, or cannot offer something.
    Changed(&'a str),
    /// Secrets of activities that are too short to be masked in results; their names.
    ShortSecrets(&'a [String]),
}

/// Receives notices.
type NoticeListener = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

impl StandardConnector {
    /// A connector without stored logins and notices.
    pub fn new() -> Self {
        Self::default()
    }

    /// A connector for reading sessions, which runs nothing: the file of the model may be gone, and activities may be
    /// bound to `null`, as in a copy that came from a server.
    pub fn for_reading() -> Self {
        Self { is_for_reading: true, ..Self::default() }
    }

    /// Stores logins to MCP servers in this folder of the store.
    #[must_use]
    pub fn with_logins(self, folder: impl Into<PathBuf>) -> Self {
        Self { logins: Some(folder.into()), ..self }
    }

    /// Sets the receiver of notices.
    #[must_use]
    pub fn with_notices(self, notify: impl Fn(Notice<'_>) + Send + Sync + 'static) -> Self {
        Self { notices: Some(Arc::new(notify)), ..self }
    }

    /// Sets the language for people; by default the agent's.
    #[must_use]
    pub fn with_language(self, language: Option<Language>) -> Self {
        Self { language, ..self }
    }

    /// The MCP servers of a spec. Checks the section and starts nothing.
    #[cfg(feature = "mcp")]
    pub fn servers(&self, spec: &SessionSpec, pictures: Option<&Path>) -> Result<SessionServers, BindingError> {
        SessionServers::new(self, spec, pictures)
    }

    /// Checks the servers and the browser of a spec.
    pub fn check_servers(&self, spec: &SessionSpec) -> Result<(), BindingError> {
        #[cfg(feature = "mcp")]
        self.servers(spec, None)?;
        let _ = spec;
        Ok(())
    }

    /// The model of a spec.
    fn model(&self, spec: &SessionSpec) -> Result<Arc<dyn Model>, ConnectError> {
        let Some(chosen) = spec.model.as_ref().filter(|_| !self.is_for_reading) else { return Ok(Arc::new(NoModel)) };
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

    /// The bindings of activities. For reading, those to `null` get an activity that is never run.
    fn bindings<'a>(&self, lot: &'a BoundActivities, activities: &mut Activities) -> Cow<'a, Map<String, Value>> {
        if !self.is_for_reading || !lot.bound.values().any(Value::is_null) {
            return Cow::Borrowed(&lot.bound);
        }
        let (unbound, bound): (Map<_, _>, Map<_, _>) = lot.bound.clone().into_iter().partition(|(_, to)| to.is_null());
        for name in unbound.keys() {
            activities.register(name, |_| async { Ok(Value::Null) });
        }
        Cow::Owned(bound)
    }

    /// Tells of secrets that would not be masked in results, each once in a process.
    fn warn_about_short_secrets(&self) {
        let Some(notify) = &self.notices else { return };
        let names = Secret::take_short();
        if !names.is_empty() {
            notify(Notice::ShortSecrets(&names));
        }
    }

    #[cfg(feature = "mcp")]
    fn connect(&self, spec: &SessionSpec, servers: SessionServers) -> Result<Connections, ConnectError> {
        let activities = self.bind(spec, &servers)?;
        let services = Some(Arc::new(servers) as Arc<dyn Services>).filter(|_| spec.mcp.is_some());
        Ok(Connections { activities: Arc::new(activities), model: self.model(spec)?, services, requests: requests() })
    }

    /// The activities of a spec, including those of its servers.
    #[cfg(feature = "mcp")]
    fn bind(&self, spec: &SessionSpec, servers: &SessionServers) -> Result<Activities, ConnectError> {
        let (mut activities, declared) = (Activities::new(), DeclaredNames::of(spec));
        for lot in &spec.activities {
            let bindings = self.bindings(lot, &mut activities);
            let bound = bind_session(&mut activities, &bindings, &lot.folder, &declared, servers.browser());
            bound.map_err(|error| in_file(spec, error))?;
        }
        self.warn_about_short_secrets();
        servers.bind_into(&mut activities);
        Ok(activities)
    }

    #[cfg(not(feature = "mcp"))]
    fn connect(&self, spec: &SessionSpec) -> Result<Connections, ConnectError> {
        if spec.mcp.is_some() {
            return Err(in_file(spec, "this program was built without the feature `mcp`"));
        }
        let (mut activities, declared) = (Activities::new(), DeclaredNames::of(spec));
        for lot in &spec.activities {
            let bindings = self.bindings(lot, &mut activities);
            let bound = bind_session(&mut activities, &bindings, &lot.folder, &declared);
            bound.map_err(|error| in_file(spec, error))?;
        }
        self.warn_about_short_secrets();
        let model = self.model(spec)?;
        Ok(Connections { activities: Arc::new(activities), model, services: None, requests: requests() })
    }
}

/// The reader of saved requests at addresses.
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
            if let Err(error) = servers.start_servers(spec).await {
                servers.close().await;
                return Err(in_file(spec, error));
            }
            let connections = self.connect(spec, servers)?;
            opening::begin(spec, &connections.activities).await;
            Ok(connections)
        })
    }

    fn resume(&self, spec: &SessionSpec, pictures: Option<&Path>) -> Result<Connections, ConnectError> {
        let servers = self.servers(spec, pictures).map_err(|error| in_file(spec, error))?;
        self.connect(spec, servers)
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
            let connections = self.connect(spec)?;
            opening::begin(spec, &connections.activities).await;
            Ok(connections)
        })
    }

    fn resume(&self, spec: &SessionSpec, _: Option<&Path>) -> Result<Connections, ConnectError> {
        self.connect(spec)
    }
}
