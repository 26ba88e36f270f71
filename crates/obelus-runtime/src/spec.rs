//! The description of a session. It is stored when the session begins, and suffices to recreate it anywhere.

mod difference;
mod genesis;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::policy::PolicyFault;
use obelus_kernel::session::{Mode, Session, Settings};
use obelus_kernel::steps::Steps;
use obelus_kernel::{Context, Data, Fault, Message, Role};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::activity::Activities;
use crate::agent::Agent;
use crate::bundled::is_bundled;
use crate::delegates::merge_upfront;
use crate::opening::OpeningRead;
use crate::policy_names::policy_faults;
use crate::request::Request;
use crate::secret::mask_value;
pub use difference::SpecDifference;

/// Everything that defines a session: an agent or a request, and the user's choices.
///
/// Its JSON is the session's genesis in a store.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSpec {
    /// The initial context.
    #[serde(with = "messages")]
    pub context: Context,
    /// The schema of its result.
    pub schema: Option<Value>,
    /// Its settings. The names of activities are determined when it is connected, and not stored.
    #[serde(serialize_with = "without_activities", deserialize_with = "Settings::from_journal")]
    pub settings: Settings,
    /// Its graph of steps, if it has one.
    pub steps: Option<Arc<Steps>>,
    /// Bindings of activities. A later one replaces an earlier one of the same name.
    pub activities: Vec<BoundActivities>,
    /// Its MCP servers and browser.
    pub mcp: Option<McpSection>,
    /// Its model.
    pub model: Option<ChosenModel>,
    /// The name of its file in messages.
    pub name: String,
    /// The agent's name; empty for a request.
    pub agent: String,
    /// The agent's default language.
    pub language: Option<String>,
    /// The folder to which paths are relative.
    pub folder: PathBuf,
    /// The prefix of its calls' idempotency keys (DUR-14), generated when the session is created. Sessions of older
    /// versions have none and use their name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Initial reads, removed once they are done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub begin: Vec<OpeningRead>,
    /// Tools of the agent's file that it does not have, because it cannot use them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// The number before its first question's (ASK-1).
    #[serde(skip_serializing_if = "is_zero")]
    pub questions_after: u64,
    /// Options of this process.
    #[serde(skip)]
    pub local: LocalOptions,
}

/// Bindings of activities from one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BoundActivities {
    /// The folder to which their paths are relative.
    pub folder: PathBuf,
    /// The bindings by name.
    pub bound: Map<String, Value>,
}

/// The model of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChosenModel {
    /// A name, or an object with options.
    pub model: Value,
    /// The folder to which its paths are relative.
    pub folder: PathBuf,
}

/// The MCP servers of a session, and its browser.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpSection {
    /// The settings of each server, by name.
    pub servers: Map<String, Value>,
    /// The folder to which paths are relative.
    pub folder: PathBuf,
    /// The names of the session's initial tools. Their schemas are in its context.
    pub tools: Vec<String>,
    /// The browser's settings, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<Map<String, Value>>,
    /// The file that names the servers, if it is not the agent's.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// How one process runs a session. It is not stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalOptions {
    /// The file to which every exchange with the model is written.
    pub record: Option<PathBuf>,
    /// The current settings of a request's file: they apply to a session that was created earlier (POL-9).
    pub settings: Option<Box<Settings>>,
    /// The names of activities that were added since the session began.
    pub later_activities: BTreeSet<String>,
    /// Nobody can answer questions of running calls: they are declined at once.
    pub unattended: bool,
    /// The mode in which a new session begins, if it is not the agent's. It is stored as the first input.
    pub(crate) mode: Option<Mode>,
}

/// Why a spec is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The request's settings cannot be read.
    #[error("{0}: settings: {1}")]
    Settings(String, serde_json::Error),
    /// An input does not fit the schema of its kind.
    #[error("{0}")]
    Input(Fault),
    /// The policy is wrong.
    #[error("{0}: policy: {1}")]
    Policy(String, PolicyFault),
    /// A binding has no tool.
    #[error("{0}: TOOL-7: {1}")]
    Binding(String, String),
    /// A tool's delegate cannot be read in advance.
    #[error("{0}: {1}")]
    Delegate(String, String),
    /// A folder has no absolute path.
    #[error("{}: {}", .0.display(), .1)]
    Folder(PathBuf, io::Error),
    /// The stored genesis is invalid, or it cannot be written.
    #[error("what the session began with cannot be read: {0}")]
    Genesis(serde_json::Error),
    /// The kernel rejects the session.
    #[error("{0}: {1}")]
    Session(String, Fault),
}

impl SessionSpec {
    /// The folder of a file, to which its paths are relative; for a bare name, the current one.
    pub fn folder_of(path: &Path) -> PathBuf {
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    /// The name of the agent in the catalogue; for a request, its file's name.
    pub fn catalogue_name(&self) -> String {
        let folder = self.folder.file_name().filter(|_| !self.agent.is_empty());
        folder.map_or_else(|| self.name.clone(), |name| name.to_string_lossy().into_owned())
    }

    /// A request that a person starts: everything is allowed unless its settings say otherwise.
    pub fn from_request(path: &Path, request: Request) -> Result<Self, SpecError> {
        let name = name_of(path);
        let settings: Settings = match request.settings {
            None => Settings { mode: Mode::Full, ..Settings::default() },
            Some(mut given) => {
                if let Value::Object(fields) = &mut given {
                    fields.entry("mode").or_insert_with(|| "full".into());
                }
                serde_json::from_value(given).map_err(|error| SpecError::Settings(name.clone(), error))?
            }
        };
        let (mut context, folder) = (request.context, Self::folder_of(path));
        merge_upfront(&mut context, &folder).map_err(|why| SpecError::Delegate(name.clone(), why))?;
        Ok(Self {
            context,
            schema: request.schema,
            settings,
            activities: vec![BoundActivities { folder: folder.clone(), bound: request.activities }],
            model: request.model.map(|model| ChosenModel { model, folder: folder.clone() }),
            name,
            folder,
            ..Self::default()
        })
    }

    /// A conversation with an agent.
    pub fn from_agent(agent: Agent) -> Self {
        let mcp = McpSection {
            servers: agent.mcp,
            folder: agent.folder.clone(),
            browser: agent.browser,
            ..McpSection::default()
        };
        Self {
            context: agent.context,
            schema: agent.schema,
            settings: agent.settings,
            steps: agent.steps,
            activities: vec![BoundActivities { folder: agent.folder.clone(), bound: agent.activities }],
            mcp: Some(mcp).filter(|mcp| !mcp.is_empty()),
            model: agent.model.map(|model| ChosenModel { model, folder: agent.folder.clone() }),
            name: name_of(&agent.folder),
            agent: agent.name,
            language: agent.language,
            folder: agent.folder,
            begin: agent.begin,
            withheld: Vec::new(),
            key: String::new(),
            questions_after: 0,
            local: LocalOptions::default(),
        }
    }

    /// The mode in which a new session begins. Its initial reads are judged by it.
    pub fn first_mode(&self) -> Mode {
        self.local.mode.unwrap_or(self.settings.mode)
    }

    /// Sets its input, which must fit the schema of the kind `input` (PLAN-12).
    pub fn give_input(&mut self, input: Value) -> Result<(), SpecError> {
        let message = Message::Data(Box::new(Data::plain("input", input)));
        self.context.append(vec![message]).map_err(|fault| SpecError::Input(Fault { message: None, ..fault }))?;
        match self.context.breaches("input", true).into_iter().next() {
            None => Ok(()),
            Some(fault) => Err(SpecError::Input(fault)),
        }
    }

    /// Masks the secrets of this process in the user's texts. The connector has registered them.
    pub(crate) fn mask_secrets(&mut self) {
        let is_of_user = |message: &Message| match message {
            Message::Text(text) => text.role == Role::User,
            Message::Data(data) => data.is_input(),
            Message::Tool(_) | Message::Plan(_) => false,
        };
        let masked = |message: &Message| {
            let mut json = message.to_json();
            if is_of_user(message) {
                mask_value(&mut json);
            }
            json
        };
        let messages = self.context.messages();
        // Hardly any request has a secret, and a large plan takes long to convert.
        if messages.iter().any(|message| is_of_user(message) && masked(message) != message.to_json())
            // A masked text is still a text, so the context stays valid.
            && let Ok(context) = Context::from_value(messages.iter().map(masked).collect())
        {
            self.context = context;
        }
    }

    /// Checks that every policy rule and every binding matches something. Its servers must have been asked for their
    /// tools.
    pub fn check_names(&self) -> Result<(), SpecError> {
        if let Some(fault) = self.policy_faults().into_iter().next() {
            return Err(SpecError::Policy(self.name.clone(), fault));
        }
        match self.unused_bindings().into_iter().next() {
            None => Ok(()),
            Some(fault) => Err(SpecError::Binding(self.name.clone(), fault.text)),
        }
    }

    /// Policy rules that match nothing, and examples with another verdict (POL-3).
    pub fn policy_faults(&self) -> Vec<PolicyFault> {
        // Rules about withheld tools are valid.
        let withheld: Vec<&str> = self.withheld.iter().filter_map(|name| name.split('.').next()).collect();
        policy_faults(&self.settings.policy, &self.context, &self.folder, &withheld)
    }

    /// The stored form. All paths in it are absolute.
    pub fn genesis(&self) -> Result<Value, SpecError> {
        let mut spec = self.clone();
        for lot in &mut spec.activities {
            lot.folder = absolute(&lot.folder)?;
        }
        if let Some(mcp) = &mut spec.mcp {
            mcp.folder = absolute(&mcp.folder)?;
        }
        if let Some(model) = &mut spec.model {
            model.folder = absolute(&model.folder)?;
        }
        spec.folder = absolute(&spec.folder)?;
        serde_json::to_value(&spec).map_err(SpecError::Genesis)
    }

    /// Reads the stored form.
    pub fn from_genesis(genesis: Value) -> Result<Self, SpecError> {
        serde_json::from_value(genesis).map_err(SpecError::Genesis)
    }

    /// The session before its first input. These activities carry out its calls.
    pub fn session(&self, id: &str, activities: &Activities) -> Result<Session, SpecError> {
        let activities = activities.names().difference(&self.local.later_activities).cloned().collect();
        let settings = Settings { activities, ..self.settings.clone() };
        let id = if self.key.is_empty() { id } else { &self.key };
        let made = Session::new(id, self.context.clone(), self.schema.clone(), Arc::new(settings));
        let session = made.map_err(|fault| SpecError::Session(self.name.clone(), fault))?;
        let session = session.with_questions_after(self.questions_after);
        Ok(match &self.steps {
            Some(steps) => session.with_steps(Arc::clone(steps)),
            None => session,
        })
    }

    /// Replaces the servers of the agent's file. The session keeps its tools, and its browser if that one's server is
    /// among them.
    pub fn replace_servers(&mut self, servers: Map<String, Value>, file: &Path) {
        let old = self.mcp.take().unwrap_or_default();
        let browser = old.browser.filter(|browser| servers.contains_key(server_of(browser)));
        let mcp = McpSection { servers, folder: Self::folder_of(file), browser, file: Some(file.to_owned()), ..old };
        self.mcp = Some(mcp).filter(|mcp| !mcp.is_empty());
    }

    /// Allows the browser further sites without a question; false if there is no browser.
    pub fn allow_sites(&mut self, more: &[String]) -> bool {
        let Some(browser) = self.mcp.as_mut().and_then(|mcp| mcp.browser.as_mut()) else { return false };
        // A section of another form is reported when it is read.
        if let Value::Array(sites) = browser.entry("sites").or_insert_with(|| Value::Array(Vec::new())) {
            for site in more.iter().map(|site| Value::from(site.as_str())) {
                if !sites.contains(&site) {
                    sites.push(site);
                }
            }
        }
        true
    }
}

impl McpSection {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.browser.is_none()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The browser's server.
fn server_of(browser: &Map<String, Value>) -> &str {
    browser.get("server").and_then(Value::as_str).unwrap_or("browser")
}

/// The name of a file in messages; `-` is standard input.
fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { obelus_kernel::visible(&path.display().to_string()) }
}

fn absolute(path: &Path) -> Result<PathBuf, SpecError> {
    if is_bundled(path) {
        return Ok(path.to_owned());
    }
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::path::absolute(path).map_err(|error| SpecError::Folder(path.to_owned(), error))
}

fn without_activities<S: Serializer>(settings: &Settings, serializer: S) -> Result<S::Ok, S::Error> {
    let mut json = serde_json::to_value(settings).map_err(serde::ser::Error::custom)?;
    if let Value::Object(fields) = &mut json {
        fields.shift_remove("activities");
    }
    json.serialize(serializer)
}

/// Serialises a context as its messages.
mod messages {
    use super::{Context, Deserialize, Deserializer, Serialize, Serializer, Value};

    pub(super) fn serialize<S: Serializer>(context: &Context, serializer: S) -> Result<S::Ok, S::Error> {
        context.to_json().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Context, D::Error> {
        Context::from_value(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
