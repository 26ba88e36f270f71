//! The client of MCP servers. An agent uses the tools of any server with a few lines in its file.
//!
//! Everything from a server is untrusted. Names, descriptions and schemas of tools are checked before they are
//! offered, hints about effects are ignored, results are limited in size, and questions for people are shown as the
//! server's. Tool definitions are pinned: a tool whose definition changed later is not called.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `spec` | the section `mcp` of an agent's file, and its errors |
//! | `words` | texts with `$NAME` for secrets of the environment |
//! | `server` | one server: connecting, reconnecting, calls |
//! | `connection` | one connection, in either version of the protocol |
//! | `process` | the process of a server |
//! | `http` | servers that are reached by HTTP |
//! | `oauth` | tokens for servers that require authorization |
//! | `lines` | the output of a program, with lines of limited length |
//! | `guarded` | limits the questions that a server asks at once |
//! | `handler` | requests and notifications of a server |
//! | `request` | one request, and the elicitations while it runs |
//! | `offer` | converting a server's tools to ours |
//! | `news` | notices for people about servers |
//! | `tool_result` | the result of a call, limited in size |
//! | `activity` | tools of servers as activities |
//! | `shots` | images as files |
//! | `error` | errors |

mod activity;
mod connection;
mod error;
mod guarded;
mod handler;
mod http;
mod lines;
mod news;
mod oauth;
mod offer;
mod process;
mod request;
mod server;
mod shots;
mod spec;
mod tool_result;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use obelus_runtime::Activities;
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use crate::activity::{BindingError, DeclaredNames};

pub use error::{McpError, McpErrorKind};
use news::NoticeSender;
pub use news::ServerNews;
pub use oauth::{LogIn, LoginCallback, VisitFuture};
pub use request::{AskedFuture, Elicit};
pub use server::Server;
pub use tool_result::{Image, ToolResult};

/// The servers of one agent, by name. Cheap to clone. Each is started when it is first used.
#[derive(Clone, Default)]
pub struct Servers {
    by_name: Arc<BTreeMap<String, Arc<Server>>>,
    news: Arc<NoticeSender>,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Servers").field(&self.names()).finish()
    }
}

impl Servers {
    /// Reads the map `mcp` of an agent's file; relative paths begin at `base`. Nothing is started.
    ///
    /// ```
    /// # use obelus_connect::mcp::Servers;
    /// # use serde_json::json;
    /// let section = json!({"notes": {"command": ["python3", "notes.py"], "timeout": 10}});
    /// let servers = Servers::parse(section.as_object().unwrap(), "agents".as_ref())?;
    /// assert_eq!(servers.names(), ["notes"]);
    ///
    /// let wrong = json!({"notes": {"command": ["python3"], "timout": 10}});
    /// let error = Servers::parse(wrong.as_object().unwrap(), "agents".as_ref()).unwrap_err();
    /// assert_eq!(error.to_string(), "MCP server `notes`, field `timout`: unknown; did you mean `timeout`?");
    /// # Ok::<(), obelus_connect::activity::BindingError>(())
    /// ```
    pub fn parse(section: &Map<String, Value>, base: &Path) -> Result<Servers, BindingError> {
        Self::parse_for(section, base, &DeclaredNames::of_servers(section))
    }

    /// Like [`Self::parse`], for a session whose file names these variables as secrets.
    pub(crate) fn parse_for(
        section: &Map<String, Value>,
        base: &Path,
        declared: &DeclaredNames,
    ) -> Result<Servers, BindingError> {
        let mut by_name = BTreeMap::new();
        for (name, spec) in section {
            let spec = spec::Spec::parse(name, spec, base, declared)?;
            by_name.insert(name.clone(), Arc::new(Server::new(spec)));
        }
        Ok(Self { by_name: Arc::new(by_name), news: Arc::default() })
    }

    /// The names of all servers.
    pub fn names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    /// The server of this name.
    pub fn get(&self, name: &str) -> Option<Arc<Server>> {
        self.by_name.get(name).cloned()
    }

    /// Connects to all servers and lists their tools, converted to ours: the name is `SERVER.TOOL`, and the schema
    /// has cautious annotations unless the file's author gives others. A tool that cannot be offered is left out and
    /// reported to [`Servers::on_change`].
    pub async fn tools(&self) -> Result<Vec<(String, Value)>, McpError> {
        let mut listings = JoinSet::new();
        for server in self.by_name.values() {
            let server = Arc::clone(server);
            listings.spawn(async move { (server.name().to_owned(), server.listed().await) });
        }
        let mut by_server = BTreeMap::new();
        while let Some(listed) = listings.join_next().await {
            match listed {
                Ok((name, listed)) => drop(by_server.insert(name, listed?)),
                Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
                // The runtime is shutting down.
                Err(_) => {}
            }
        }
        let mut tools = Vec::new();
        for (name, listed) in &by_server {
            let Some(server) = self.by_name.get(name) else { continue };
            listed.notes.iter().for_each(|note| self.news.report(note));
            let offered = listed.tools.iter().filter(|(tool, _)| server.spec().offers(tool));
            tools.extend(offered.map(|(tool, schema)| (format!("{name}.{tool}"), schema.clone())));
        }
        Ok(tools)
    }

    /// Adds an activity `SERVER.TOOL` for each of these names that belongs to a server. `pinned` has the schema of
    /// each tool in the session: if the server's has changed, the tool is not called. The error `tool_changed` says
    /// what changed, and it is reported once to [`Servers::on_change`].
    pub fn bind_into(&self, activities: &mut Activities, pinned: &BTreeMap<String, Value>) {
        for (name, schema) in pinned {
            let Some((server, tool)) = name.split_once('.') else { continue };
            let Some(server) = self.get(server) else { continue };
            activities.add(
                name.clone(),
                activity::McpTool::new(server, tool.to_owned(), schema.clone(), Arc::clone(&self.news)),
            );
        }
    }

    /// Sets the listener for notices to people, replacing the previous one. Notices from before are passed on now.
    pub fn on_change(&self, listener: impl Fn(&ServerNews) + Send + Sync + 'static) {
        self.news.listen(Arc::new(listener));
    }

    /// Stores tokens for servers in a folder of the store, for this agent, and uses those already there. Otherwise a
    /// login lasts as long as the process. `typed` is how a person names the agent in a login command.
    pub fn keep_logins(&self, folder: &Path, agent: &str, typed: &str) {
        let all = self.by_name.values().filter_map(|server| server.spec().auth());
        all.for_each(|auth| auth.store_in(folder, agent, typed));
    }

    /// Ends processes (whole groups, reaped) and connections. Later calls are refused. On drop they are ended too,
    /// but without waiting.
    pub async fn close(&self) {
        let mut ends = JoinSet::new();
        for server in self.by_name.values() {
            let server = Arc::clone(server);
            ends.spawn(async move { server.close().await });
        }
        while ends.join_next().await.is_some() {}
    }
}
