//! The client of MCP servers: tools of any server for any agent, by a few lines in its file.
//!
//! Everything that a server says is untrusted: names, descriptions and schemas of tools are checked before they are
//! offered, its hints about effects are not believed, results have a size, and what it asks of a person is shown as
//! its words. What a session was given is pinned: a tool whose definition is another one later is not called.
//!
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | `spec` | the section `mcp` of an agent's file, and what is wrong with it |
//! | `words` | texts with `$NAME` in them, which are secrets of the environment |
//! | `server` | one server: connecting when needed, connecting again, calls |
//! | `connection` | one line to it, in either era of the protocol |
//! | `process` | the program of a server, from its start to its end |
//! | `http` | the way to a server that is reached by HTTP |
//! | `oauth` | who asks: tokens for servers that want to know |
//! | `lines` | what a program writes, without lines that never end |
//! | `guarded` | no more questions at once than can be answered |
//! | `handler` | what a server asks and tells by itself |
//! | `round` | one request and the questions while it is at work |
//! | `offer` | from a server's tool to one of ours |
//! | `brought` | what a call brought, no more than was asked for |
//! | `activity` | tools of servers as activities |
//! | `shots` | images as files |
//! | `error` | what can go wrong |

mod activity;
mod brought;
mod connection;
mod error;
mod guarded;
mod handler;
mod http;
mod lines;
mod oauth;
mod offer;
mod process;
mod round;
mod server;
mod shots;
mod spec;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use obelus_runtime::Activities;
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use crate::activity::BindingError;

pub use brought::{Brought, Image};
pub use error::{McpError, Trouble};
pub use oauth::{Landing, LogIn, VisitFuture};
pub use round::{AskedFuture, Elicit};
pub use server::Server;

/// Told of what people should know: a tool that changed, one that cannot be offered.
type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// The servers of one agent, by name. Cheap to clone. Nothing is started until something is asked.
#[derive(Clone, Default)]
pub struct Servers {
    by_name: Arc<BTreeMap<String, Arc<Server>>>,
    news: Arc<News>,
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
        let mut by_name = BTreeMap::new();
        for (name, spec) in section {
            let spec = spec::Spec::parse(name, spec, base)?;
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

    /// Connects to all and lists the tools on offer, as tools of ours: the name is `SERVER.TOOL`, and the schema has
    /// careful annotations but for what the author of the file says. A tool that cannot be offered is left out and
    /// told through [`Servers::on_change`].
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
                // The runtime is shutting down, and takes this with it.
                Err(_) => {}
            }
        }
        let mut tools = Vec::new();
        for (name, listed) in &by_server {
            let Some(server) = self.by_name.get(name) else { continue };
            listed.notes.iter().for_each(|note| self.news.tell(note));
            let offered = listed.tools.iter().filter(|(tool, _)| server.spec().offers(tool));
            tools.extend(offered.map(|(tool, schema)| (format!("{name}.{tool}"), schema.clone())));
        }
        Ok(tools)
    }

    /// Adds an activity `SERVER.TOOL` for each of these names that belongs to a server. `pinned` has the schema of each
    /// tool as the session knows it: a server that has another one by now gets no call to that tool. The error
    /// `tool_changed` says what changed, and it is told once through [`Servers::on_change`].
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

    /// Who is told of what people should know; replaces who was told before. What there was to tell before anybody
    /// listened is told now.
    pub fn on_change(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        self.news.listen(Arc::new(tell));
    }

    /// Keeps tokens for servers in a folder of the store, for this agent; those that are there are used. Without it a login
    /// lasts as long as the process. `typed` is what a person types for the agent to log in.
    pub fn keep_logins(&self, folder: &Path, agent: &str, typed: &str) {
        let all = self.by_name.values().filter_map(|server| server.spec().auth());
        all.for_each(|auth| auth.keep_in(folder, agent, typed));
    }

    /// Ends processes (whole groups, reaped) and connections. Whatever is called later is refused. What is not closed
    /// is ended when it is dropped, without anybody waiting for it.
    pub async fn close(&self) {
        let mut ends = JoinSet::new();
        for server in self.by_name.values() {
            let server = Arc::clone(server);
            ends.spawn(async move { server.close().await });
        }
        while ends.join_next().await.is_some() {}
    }
}

/// What people should know, and who tells them.
#[derive(Default)]
struct News(Mutex<Told>);

#[derive(Default)]
struct Told {
    tell: Option<Tell>,
    /// Said before anybody listened.
    early: Vec<String>,
    /// What was said of the change of each tool, to say it once.
    changed: BTreeMap<String, String>,
    /// Other words that were said, to say them once.
    said: std::collections::BTreeSet<String>,
}

/// More than this is not kept for later.
const MOST_EARLY: usize = 100;

impl News {
    fn listen(&self, tell: Tell) {
        let early = {
            let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            told.tell = Some(Arc::clone(&tell));
            std::mem::take(&mut told.early)
        };
        early.iter().for_each(|words| tell(words));
    }

    /// Tells something, once.
    fn tell(&self, words: &str) {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.said.contains(words) {
            Self::say(told, words, |told| _ = told.said.insert(words.to_owned()));
        }
    }

    /// Tells that a tool is another one, once for each change.
    fn changed(&self, tool: &str, words: &str) {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.changed.get(tool).is_none_or(|last| last != words) {
            Self::say(told, words, |told| _ = told.changed.insert(tool.to_owned(), words.to_owned()));
        }
    }

    /// A tool is again what it was; its next change is news.
    fn as_it_was(&self, tool: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).changed.remove(tool);
    }

    /// Nothing is held while the listener listens: it may do as it likes.
    fn say(mut told: std::sync::MutexGuard<'_, Told>, words: &str, note: impl FnOnce(&mut Told)) {
        note(&mut told);
        match told.tell.clone() {
            Some(tell) => {
                drop(told);
                tell(words);
            }
            None if told.early.len() < MOST_EARLY => told.early.push(words.to_owned()),
            None => {}
        }
    }
}
