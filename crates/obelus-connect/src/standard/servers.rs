//! The MCP servers of one session. Their tools are added when it begins and compared when it is resumed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::{Context, Message, visible};
use obelus_runtime::specs::McpSection;
use obelus_runtime::{Activities, ConnectFuture, Services, SessionSpec};
use obelus_words::{Language, fill};
use serde_json::Value;

use super::pins::{self, Pins};
use super::{Notice, NoticeListener, StandardConnector};
use crate::activity::{BindingError, DeclaredNames};
use crate::browser::{Browser, BrowserSection, OutputFolder};
use crate::mcp::Servers;

/// How long servers may take to start before a notice.
const PATIENCE: Duration = Duration::from_secs(1);

/// The servers of a session, and the browser that uses one of them.
pub struct SessionServers {
    servers: Servers,
    browser: Option<Arc<Browser>>,
    /// Why there is no browser.
    missing: Option<BindingError>,
    /// Removed after the servers have ended.
    outputs: Option<OutputFolder>,
    /// The session's tools, with their schemas.
    given: BTreeMap<String, Value>,
    is_empty: bool,
    notices: Option<NoticeListener>,
    /// The language of notices.
    language: Language,
}

impl SessionServers {
    pub(super) fn new(
        connector: &StandardConnector,
        spec: &SessionSpec,
        pictures: Option<&Path>,
    ) -> Result<Self, BindingError> {
        let nothing = McpSection::default();
        let mcp = spec.mcp.as_ref().unwrap_or(&nothing);
        let section = mcp.browser.as_ref().map(|browser| BrowserSection::parse(browser, &mcp.folder)).transpose()?;
        let with_browser = section.as_ref().map(|section| section.servers(&mcp.servers)).transpose();
        let (all, outputs, missing) = match with_browser {
            Ok(None) => (mcp.servers.clone(), None, None),
            Ok(Some((all, outputs))) => (all, outputs, None),
            Err(missing) => (mcp.servers.clone(), None, Some(missing)),
        };
        let servers = Servers::parse_for(&all, &mcp.folder, &DeclaredNames::of(spec))?;
        // Without a folder a login lasts as long as the process.
        if let Some(folder) = &connector.logins {
            servers.keep_logins(folder, &spec.agent, &typed_name(spec));
        }
        let language = connector.language.unwrap_or_else(|| Language::named(spec.language.as_deref()));
        if let Some(notices) = connector.notices.clone() {
            servers.on_change(move |news| notices(Notice::Changed(&news.in_words(language))));
        }
        let browser = match (section, &missing) {
            (None, _) => None,
            (Some(section), Some(missing)) => Some(Browser::missing(section, missing.problem.as_str())),
            (Some(section), None) => {
                let own = || std::env::temp_dir().join(format!("obelus-shots-{}", std::process::id()));
                Some(Browser::new(section, &servers, pictures.map_or_else(own, PathBuf::from), pictures)?)
            }
        };
        let given = mcp.tools.iter().filter_map(|name| Some((name.clone(), spec.context.tool(name)?.schema.clone())));
        let (given, is_empty) = (given.collect(), mcp.is_empty());
        let notices = connector.notices.clone();
        Ok(Self { servers, browser, missing, outputs, given, is_empty, notices, language })
    }

    /// The servers themselves.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// The error if the file wants a browser and there is none.
    pub fn check_browser(&self) -> Result<(), BindingError> {
        self.missing.clone().map_or(Ok(()), Err)
    }

    /// The browser, if the file has one. If it is not installed, its calls fail with the reason.
    pub(super) fn browser(&self) -> Option<&Arc<Browser>> {
        self.browser.as_ref()
    }

    /// Starts the servers, and adds their tools to the context of a new session.
    pub(super) async fn start_servers(&mut self, spec: &mut SessionSpec) -> Result<(), String> {
        if self.is_empty {
            return Ok(());
        }
        if let Some(missing) = &self.missing {
            return Err(missing.to_string());
        }
        let mut tools = self.notify_if_slow(self.servers.tools()).await.map_err(|error| error.to_string())?;
        let folder = spec.mcp.as_ref().map_or(spec.folder.as_path(), |mcp| mcp.folder.as_path());
        let pins = Pins::read(folder).map_err(|error| error.to_string())?;
        let is_ours = |name: &str| self.browser.as_ref().is_some_and(|browser| browser.describes(name));
        let unpinned = pins::mark(&pins, &mut tools, is_ours);
        if let Some(browser) = &self.browser {
            browser.describe(&mut tools);
            tools.retain(|(name, _)| browser.offers(name));
        }
        if let Some(notices) = self.notices.as_ref().filter(|_| !unpinned.is_empty()) {
            notices(Notice::Unpinned { servers: &unpinned, agent: &typed_name(spec) });
        }
        add_tools(&mut spec.context, &tools)?;
        if let Some(mcp) = &mut spec.mcp {
            mcp.tools = tools.iter().map(|(name, _)| name.clone()).collect();
        }
        // As the context has it, because a later process compares with that.
        let known = |(name, _): (String, Value)| Some((name.clone(), spec.context.tool(&name)?.schema.clone()));
        self.given = tools.into_iter().filter_map(known).collect();
        Ok(())
    }

    /// Binds the session's tools.
    pub(super) fn bind_into(&self, activities: &mut Activities) {
        if !self.is_empty {
            self.servers.bind_into(activities, &self.given);
        }
        if let Some(browser) = &self.browser {
            browser.refuse_direct_calls(activities, self.given.keys().map(String::as_str));
        }
    }

    /// Waits for the servers, with a notice if it takes long.
    async fn notify_if_slow<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
            return done;
        }
        if let Some(notices) = &self.notices {
            notices(Notice::Starting(&self.servers.names()));
        }
        work.await
    }
}

impl Drop for SessionServers {
    fn drop(&mut self) {
        if let Some(outputs) = &self.outputs {
            outputs.remove();
        }
    }
}

impl Services for SessionServers {
    fn changes(&self) -> ConnectFuture<'_, Vec<String>> {
        Box::pin(async move {
            if self.is_empty {
                return Vec::new();
            }
            let mut words: Vec<String> = self.missing.iter().map(|missing| visible(&missing.to_string())).collect();
            match self.notify_if_slow(self.servers.tools()).await {
                Ok(now) => {
                    // The browser's tools have our descriptions, and `aim` checks what is planned with them.
                    let is_own = |name: &str| self.browser.as_ref().is_some_and(|browser| browser.owns(name));
                    let given = self.given.iter().filter(|(name, _)| !is_own(name));
                    let given = given.map(|(name, schema)| (name.clone(), schema.clone())).collect();
                    let now: Vec<_> = now.into_iter().filter(|(name, _)| !is_own(name)).collect();
                    words.extend(changes(&given, &now, self.language));
                }
                // The session may not need this server, and its calls will report the error.
                Err(error) => {
                    let phrase = self.language.words().starting.calls_will_fail;
                    words.push(fill(phrase, &[&visible(&error.to_string())]));
                }
            }
            words
        })
    }

    fn close(&self) -> ConnectFuture<'_, ()> {
        Box::pin(async move {
            self.servers.close().await;
            if let Some(outputs) = &self.outputs {
                outputs.remove();
            }
        })
    }
}

fn add_tools(context: &mut Context, tools: &[(String, Value)]) -> Result<(), String> {
    if let Some((name, _)) = tools.iter().find(|(name, _)| context.tool(name).is_some()) {
        return Err(format!(
            "the tool `{}` is in the agent's own tools too: rename it there, or say what you want to say of it \
             below `tools` of the server",
            visible(name)
        ));
    }
    if tools.is_empty() {
        return Ok(());
    }
    let added = context.append(vec![Message::Tool(Box::new(tools.iter().cloned().collect()))]);
    added.map_err(|fault| format!("a tool of an MCP server: {fault}"))
}

/// How a person names this agent in a login command.
fn typed_name(spec: &SessionSpec) -> String {
    let agent = if obelus_runtime::files::is_bundled(&spec.folder) || spec.folder.as_os_str().is_empty() {
        typed(&spec.agent)
    } else {
        typed(&spec.folder.to_string_lossy())
    };
    match spec.mcp.as_ref().and_then(|mcp| mcp.file.as_ref()) {
        Some(file) => format!("--mcp {} {agent}", typed(&file.to_string_lossy())),
        None => agent,
    }
}

/// A word quoted for a shell.
fn typed(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-:".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Differences between the session's tools and the current ones.
fn changes(given: &BTreeMap<String, Value>, now: &[(String, Value)], language: Language) -> Vec<String> {
    let phrases = &language.words().starting;
    let now: BTreeMap<&str, &Value> = now.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
    let mut words = Vec::new();
    for (name, schema) in given {
        match now.get(name.as_str()) {
            None => words.push(fill(phrases.tool_gone, &[&visible(name)])),
            Some(other) if theirs(other) != theirs(schema) => words.push(fill(phrases.tool_changed, &[&visible(name)])),
            Some(_) => {}
        }
    }
    let new: Vec<String> =
        now.keys().filter(|name| !given.contains_key(**name)).map(|name| format!("`{}`", visible(name))).collect();
    if !new.is_empty() {
        words.push(fill(phrases.new_tools, &[&new.join(", ")]));
    }
    words
}

/// The server's own description of a tool, without the author's annotations.
fn theirs(schema: &Value) -> Vec<(&String, &Value)> {
    let fields = schema.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !name.starts_with("x-")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_removed_changed_and_new_tools_are_reported() {
        let schema = |words: &str| json!({"type": "object", "description": words, "x-effect": "read"});
        let given = [("n.gone", "a"), ("n.other", "b"), ("n.same", "c")];
        let given = given.map(|(name, words)| (name.to_owned(), schema(words))).into();
        let now = [("n.other", "B"), ("n.same", "c"), ("n.new", "d")];
        let now = now.map(|(name, words)| (name.to_owned(), schema(words)));
        let told = changes(&given, &now, Language::English);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains("`n.gone` is not offered any more"), "{told:?}");
        assert!(told[1].contains("`n.other` has changed"), "{told:?}");
        assert!(told[2].contains("`n.new`"), "{told:?}");
        let mut same: Vec<_> = given.clone().into_iter().collect();
        same[0].1["x-effect"] = "update".into();
        assert!(
            changes(&given, &same, Language::English).is_empty(),
            "what the author says of it is no change of the server's"
        );
    }

    fn spec(mcp: Value) -> SessionSpec {
        let mcp = serde_json::from_value(mcp).unwrap();
        SessionSpec { mcp: Some(mcp), agent: "notes".to_owned(), folder: "/agents/notes".into(), ..Default::default() }
    }

    #[test]
    fn a_browser_is_built_from_its_section_and_errors_are_named() {
        let connector = StandardConnector::new();
        let section = json!({"servers": {"web": {"command": ["server"]}},
            "browser": {"server": "web", "sites": ["shop.example.test"]}});
        assert!(connector.servers(&spec(section), None).unwrap().browser().is_some());
        let wrong = connector.servers(&spec(json!({"browser": {"sites": ["a.test/b"]}})), None);
        assert!(wrong.err().unwrap().to_string().contains("`a.test/b`"));
        assert!(connector.servers(&SessionSpec::default(), None).unwrap().browser().is_none());
    }

    #[test]
    fn the_login_command_names_the_agent_as_typed() {
        let mut named = spec(json!({"servers": {"notes": {"command": ["notes"]}}}));
        assert_eq!(typed_name(&named), "/agents/notes");
        named.replace_servers(named.mcp.clone().unwrap().servers, Path::new("my servers.yaml"));
        assert_eq!(typed_name(&named), "--mcp 'my servers.yaml' /agents/notes");
        named.folder = "@bundled/notes".into();
        assert!(typed_name(&named).ends_with(" notes"));
    }
}
