//! The MCP servers of a job: their tools become the session's own when it begins, and are compared when it goes on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use obelus_connect::activity::BindingError;
use obelus_connect::browser::{Browser, Outputs, Section};
use obelus_connect::mcp::Servers;
use obelus_kernel::{Context, Message};
use obelus_runtime::Activities;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use super::store_folder;
use crate::cli::StoreAt;
use crate::output::{self, DIM, visible};

/// Servers that take longer than this to get ready are worth a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// The servers of a job, and the tools of theirs that its session has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mcp {
    section: Map<String, Value>,
    /// Where paths in the section begin.
    folder: PathBuf,
    /// What the file says of its browser, if it has one.
    browser: Option<Map<String, Value>>,
    /// Where pictures of pages go; by themselves, to a folder of this process.
    pictures: Option<PathBuf>,
    /// Whose servers they are.
    agent: String,
    /// What a person types to log in: the agent, and the file of its servers if it is another one.
    typed: String,
    /// The folder of the store, where logins are kept; by itself, the user's.
    store: Option<PathBuf>,
    /// Names of the tools that the session was given when it began.
    given: Vec<String>,
    met: OnceLock<Arc<Met>>,
    made: OnceLock<Arc<Browser>>,
}

/// The servers, ready to be started.
#[derive(Debug)]
struct Met {
    servers: Servers,
    browser: Option<Section>,
    /// Why there is no browser.
    missing: Option<BindingError>,
    /// Removed with the servers.
    outputs: Option<Outputs>,
}

impl Mcp {
    pub(crate) fn new(section: Map<String, Value>, folder: PathBuf) -> Self {
        Self { section, folder, ..Self::default() }
    }

    /// The same, with what the file says of its browser.
    pub(crate) fn with_browser(self, browser: Option<Map<String, Value>>) -> Self {
        Self { browser, ..self }
    }

    /// The same, for an agent of this name.
    pub(crate) fn of_agent(self, agent: &str, folder: &Path) -> Self {
        let typed = match obelus_runtime::is_bundled(folder) || folder.as_os_str().is_empty() {
            true => typed(agent),
            false => typed(&folder.to_string_lossy()),
        };
        Self { agent: agent.to_owned(), typed, ..self }
    }

    /// The same, with servers that stand in this file.
    pub(crate) fn named_in(self, file: &Path) -> Self {
        Self { typed: format!("--mcp {} {}", typed(&file.to_string_lossy()), self.typed), ..self }
    }

    /// The same, with logins that are kept in this store.
    pub(crate) fn with_tokens(self, store: PathBuf) -> Self {
        if let Some(met) = self.met.get() {
            met.servers.keep_logins(&store, &self.agent, &self.typed);
        }
        Self { store: Some(store), ..self }
    }

    /// The same, with further sites that need no question.
    pub(crate) fn allowing(mut self, more: &[String]) -> Result<Self> {
        let Some(browser) = &mut self.browser else { bail!("it has no browser that could be on a site") };
        let sites = browser.entry("sites").or_insert_with(|| json!([]));
        // What the file says there in another form is complained of where it is read.
        if let Value::Array(sites) = sites {
            for site in more.iter().map(|site| json!(site)) {
                if !sites.contains(&site) {
                    sites.push(site);
                }
            }
        }
        Section::parse(browser, &self.folder)?;
        Ok(Self { met: OnceLock::new(), made: OnceLock::new(), ..self })
    }

    /// The same, with a folder for pictures of pages.
    pub(crate) fn with_pictures(self, folder: PathBuf) -> Self {
        Self { pictures: Some(folder), made: OnceLock::new(), ..self }
    }

    /// Other servers in place of those of the file. The tools that a session was given stay what they are, and a browser
    /// stays where its server is among them.
    pub(crate) fn replaced(self, section: Map<String, Value>, folder: PathBuf) -> Self {
        let server = |browser: &Map<String, Value>| {
            browser.get("server").and_then(Value::as_str).unwrap_or("browser").to_owned()
        };
        let browser = self.browser.filter(|browser| section.contains_key(&server(browser)));
        let Self { given, pictures, agent, typed, store, .. } = self;
        Self { given, browser, pictures, agent, typed, store, ..Self::new(section, folder) }
    }

    fn is_empty(&self) -> bool {
        self.section.is_empty() && self.browser.is_none()
    }

    /// The servers; nothing is started. What is wrong with the sections is found here.
    pub(crate) fn servers(&self) -> Result<Servers, BindingError> {
        Ok(self.met()?.servers.clone())
    }

    /// The browser, if the file has one. Where it is not installed, it says so when it is used.
    pub(crate) fn browser(&self) -> Result<Option<Arc<Browser>>, BindingError> {
        let met = self.met()?;
        let Some(section) = &met.browser else { return Ok(None) };
        if let Some(browser) = self.made.get() {
            return Ok(Some(Arc::clone(browser)));
        }
        let browser = match &met.missing {
            Some(missing) => Browser::missing(section.clone(), missing.problem.as_str()),
            None => {
                let own = || std::env::temp_dir().join(format!("obelus-shots-{}", std::process::id()));
                Browser::new(section.clone(), &met.servers, self.pictures.clone().unwrap_or_else(own))?
            }
        };
        Ok(Some(Arc::clone(self.made.get_or_init(|| browser))))
    }

    fn met(&self) -> Result<Arc<Met>, BindingError> {
        if let Some(met) = self.met.get() {
            return Ok(Arc::clone(met));
        }
        let section = self.browser.as_ref().map(|browser| Section::parse(browser, &self.folder)).transpose()?;
        let with_browser = section.as_ref().map(|section| section.servers(&self.section)).transpose();
        let (all, outputs, missing) = match with_browser {
            Ok(None) => (self.section.clone(), None, None),
            Ok(Some((all, outputs))) => (all, outputs, None),
            Err(missing) => (self.section.clone(), None, Some(missing)),
        };
        let servers = Servers::parse(&all, &self.folder)?;
        // Without a home folder a login lasts as long as the process, and nothing else needs one here.
        if let Some(store) = self.store.clone().or_else(|| store_folder(&StoreAt { store: None }).ok()) {
            servers.keep_logins(&store, &self.agent, &self.typed);
        }
        servers.on_change(|words| output::warning(&visible(words)));
        let met = Arc::new(Met { servers, browser: section, missing, outputs });
        Ok(Arc::clone(self.met.get_or_init(|| met)))
    }

    /// What is kept of them in a session: the section, and the names of the tools, whose schemas are in its context.
    pub(crate) fn kept(&self, whole: impl Fn(&Path) -> Result<PathBuf>) -> Result<Value> {
        if self.is_empty() {
            return Ok(Value::Null);
        }
        let mut kept = json!({"servers": self.section, "folder": whole(&self.folder)?, "tools": self.given});
        if let Some(browser) = &self.browser {
            kept["browser"] = json!(browser);
        }
        Ok(kept)
    }

    pub(crate) fn from_kept(mut kept: Value) -> Self {
        let Some(Value::Object(section)) = kept.get_mut("servers").map(Value::take) else { return Self::default() };
        let names = kept["tools"].as_array().into_iter().flatten();
        let given = names.filter_map(|name| Some(name.as_str()?.to_owned())).collect();
        let folder = PathBuf::from(kept["folder"].as_str().unwrap_or_default());
        let browser = kept["browser"].as_object().cloned();
        Self { given, browser, ..Self::new(section, folder) }
    }

    /// Starts the servers, and puts their tools into the context of a session that is about to begin.
    pub(crate) fn meet(&mut self, context: &mut Context, runtime: &Runtime) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if let Some(missing) = &self.met()?.missing {
            bail!("{missing}");
        }
        let servers = self.servers()?;
        let tools = runtime.block_on(told_if_slow(&servers, servers.tools()))?;
        if let Some((name, _)) = tools.iter().find(|(name, _)| context.tool(name).is_some()) {
            bail!(
                "the tool `{}` is in the agent's own tools too: rename it there, or say what you want to say of it \
                 below `tools` of the server",
                visible(name)
            );
        }
        self.given = tools.iter().map(|(name, _)| name.clone()).collect();
        if !tools.is_empty() {
            let added = context.append(vec![Message::Tool(Box::new(tools.into_iter().collect()))]);
            added.map_err(|fault| anyhow!("a tool of an MCP server: {fault}"))?;
        }
        Ok(())
    }

    /// Binds the tools that the session was given.
    pub(crate) fn bind_into(&self, activities: &mut Activities, context: &Context) -> Result<(), BindingError> {
        if !self.is_empty() {
            self.servers()?.bind_into(activities, &self.pinned(context));
        }
        if let Some(browser) = self.browser()? {
            browser.refuse_direct_calls(activities, self.given.iter().map(String::as_str));
        }
        Ok(())
    }

    fn pinned(&self, context: &Context) -> BTreeMap<String, Value> {
        let given = self.given.iter().filter_map(|name| Some((name.clone(), context.tool(name)?.schema.clone())));
        given.collect()
    }

    /// Starts the servers of a session that goes on, and says what is not as it was.
    pub(crate) fn tell_changes(&self, context: &Context, runtime: &Runtime) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if let Some(missing) = &self.met()?.missing {
            output::warning(&visible(&missing.to_string()));
        }
        let servers = self.servers()?;
        match runtime.block_on(told_if_slow(&servers, servers.tools())) {
            Ok(now) => changes(&self.pinned(context), &now).iter().for_each(|words| output::warning(words)),
            // The session may have other things to do, and its calls will say so too.
            Err(error) => output::warning(&format!("{}; calls to its tools will fail", visible(&error.to_string()))),
        }
        Ok(())
    }

    /// Ends the servers, if there are some.
    pub(crate) async fn close(&self) {
        if let Some(met) = self.met.get() {
            met.servers.close().await;
            if let Some(outputs) = &met.outputs {
                outputs.remove();
            }
        }
    }
}

/// A word of a command, as a shell takes it.
fn typed(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-:".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Waits for servers, and says so where it takes long.
async fn told_if_slow<T>(servers: &Servers, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    output::note(&format!("{DIM}starting MCP servers: {}{DIM:#}", visible(&servers.names().join(", "))));
    work.await
}

/// What is not as the session was given it.
fn changes(pinned: &BTreeMap<String, Value>, now: &[(String, Value)]) -> Vec<String> {
    let now: BTreeMap<&str, &Value> = now.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
    let mut words = Vec::new();
    for (name, schema) in pinned {
        match now.get(name.as_str()) {
            None => words.push(format!("the tool `{}` is not offered any more: calls to it will fail", visible(name))),
            Some(other) if theirs(other) != theirs(schema) => words.push(format!(
                "the tool `{}` has changed since this session began, and is not called; a new session takes it as it is now",
                visible(name)
            )),
            Some(_) => {}
        }
    }
    let new: Vec<String> =
        now.keys().filter(|name| !pinned.contains_key(**name)).map(|name| format!("`{}`", visible(name))).collect();
    if !new.is_empty() {
        words.push(format!("new tools, which only a new session has: {}", new.join(", ")));
    }
    words
}

/// What the server itself says of a tool. What the author of the file says is not the server's to change.
fn theirs(schema: &Value) -> Vec<(&String, &Value)> {
    let fields = schema.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !name.starts_with("x-")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_changed_or_new_is_told_and_what_is_the_same_is_not() {
        let schema = |words: &str| json!({"type": "object", "description": words, "x-effect": "read"});
        let pinned = [("n.gone", "a"), ("n.other", "b"), ("n.same", "c")];
        let pinned = pinned.map(|(name, words)| (name.to_owned(), schema(words))).into();
        let now = [("n.other", "B"), ("n.same", "c"), ("n.new", "d")];
        let now = now.map(|(name, words)| (name.to_owned(), schema(words)));
        let told = changes(&pinned, &now);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains("`n.gone` is not offered any more"), "{told:?}");
        assert!(told[1].contains("`n.other` has changed"), "{told:?}");
        assert!(told[2].contains("`n.new`"), "{told:?}");
        let mut same: Vec<_> = pinned.clone().into_iter().collect();
        same[0].1["x-effect"] = "update".into();
        assert!(changes(&pinned, &same).is_empty(), "what the author says of it is no change of the server's");
    }

    #[test]
    fn what_is_kept_is_taken_up_again() {
        let section = json!({"notes": {"command": ["notes"]}});
        let mut mcp = Mcp::new(section.as_object().cloned().unwrap_or_default(), "/agents/notes".into());
        mcp.given = vec!["notes.add".to_owned()];
        let kept = mcp.kept(|path| Ok(path.to_owned())).unwrap();
        let again = Mcp::from_kept(kept.clone());
        assert_eq!((again.kept(|path| Ok(path.to_owned())).unwrap(), again.given), (kept, mcp.given));
        assert_eq!(Mcp::from_kept(Value::Null).kept(|path| Ok(path.to_owned())).unwrap(), Value::Null);
    }

    #[test]
    fn a_browser_stays_where_its_server_does_and_is_kept_with_the_session() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let web = || Some(map(json!({"server": "web", "sites": ["shop.example.test"]})));
        let mcp = Mcp::new(map(json!({"web": {"command": ["server"]}})), "/agents/a".into()).with_browser(web());
        assert!(mcp.browser().unwrap().is_some());
        let kept = mcp.kept(|path| Ok(path.to_owned())).unwrap();
        assert_eq!(kept["browser"], json!(web()));
        assert!(Mcp::from_kept(kept).browser().unwrap().is_some());

        let other = |name: &str| map(json!({name: {"command": ["other"]}}));
        assert!(mcp.clone().replaced(other("web"), "/b".into()).browser().unwrap().is_some());
        assert!(mcp.replaced(other("notes"), "/b".into()).browser().unwrap().is_none());
        let kept = |mcp: Mcp| mcp.kept(|path| Ok(path.to_owned())).unwrap()["browser"]["sites"].clone();
        let named = ["127.0.0.1:8477".to_owned(), "shop.example.test".to_owned()];
        let more = Mcp::default().with_browser(web()).allowing(&named).unwrap();
        assert_eq!(kept(more), json!(["shop.example.test", "127.0.0.1:8477"]));
        let none = Mcp::default().with_browser(Some(Map::new())).allowing(&named[..1]).unwrap();
        assert_eq!(kept(none), json!(["127.0.0.1:8477"]));
        assert!(Mcp::default().allowing(&named).unwrap_err().to_string().contains("no browser"));
        let wrong = Mcp::default().with_browser(Some(map(json!({"sites": ["a.test/b"]}))));
        assert!(wrong.browser().unwrap_err().to_string().contains("`a.test/b`"));
    }
}
