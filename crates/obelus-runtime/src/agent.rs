//! Agents as files: `agents/NAME/agent.yaml`.

mod limits;
mod tools;
mod wording;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::dialect::Dialect;
use obelus_kernel::policy::{Policy, PolicyFault};
use obelus_kernel::session::options::{Approval, ConsentWords, FollowUp, ManagedFields, ModelMayConfirm, Planning};
use obelus_kernel::session::{Mode, Session, Settings};
use obelus_kernel::steps::Steps;
use obelus_kernel::{Context, Data, Fault, Message, Role, Tool};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::opening::OpeningRead;
use crate::places::{Places, from_yaml, said_by_yaml};
use crate::policy_names::policy_faults;
use crate::read::read_text;
use limits::Limits;
use tools::{Tools, tool_problem};
use wording::{Languages, Wording};

/// An agent's file, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    description: Option<Wording>,
    #[serde(default)]
    examples: Vec<Wording>,
    #[serde(default)]
    language: Languages,
    #[serde(default)]
    time_zone: Option<String>,
    #[serde(default)]
    model: Option<Value>,
    #[serde(default)]
    instructions: Option<Wording>,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    policy: Policy,
    #[serde(default)]
    model_may_confirm: ModelMayConfirm,
    #[serde(default)]
    consent: ConsentWords,
    #[serde(default)]
    approval: Approval,
    #[serde(default)]
    planning: Planning,
    #[serde(default = "yes")]
    before: bool,
    #[serde(default = "one")]
    repairs: u32,
    #[serde(default)]
    dialect: Dialect,
    #[serde(default)]
    follow_up: Option<FollowUp>,
    #[serde(default)]
    show: BTreeMap<String, String>,
    #[serde(default)]
    tools: Tools,
    #[serde(default)]
    activities: Map<String, Value>,
    #[serde(default)]
    delegates: Vec<String>,
    #[serde(default)]
    mcp: Map<String, Value>,
    #[serde(default)]
    browser: Option<Map<String, Value>>,
    #[serde(default)]
    state: State,
    #[serde(default)]
    context: Vec<Value>,
    #[serde(default)]
    begin: Vec<Value>,
    #[serde(default)]
    schema: Option<Value>,
    #[serde(default)]
    graph: Option<Steps>,
}

/// The part of a file that a list of agents shows.
#[derive(Deserialize)]
struct Title {
    name: String,
    #[serde(default)]
    description: Option<Wording>,
    #[serde(default)]
    language: Languages,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// The schema of the agent's state, and its initial value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct State {
    schema: Option<Value>,
    description: Option<Wording>,
    data: Option<Value>,
    /// Fields that the session maintains itself.
    #[serde(rename = "kept")]
    managed: ManagedFields,
}

/// An agent, read and checked.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: Option<String>,
    /// Sentences that show what it can be asked.
    pub examples: Vec<String>,
    /// The language of its texts: the requested one if the agent has it, else its own.
    pub language: Option<String>,
    /// Its model: a name, or an object with options.
    pub model: Option<Value>,
    /// The initial context of every session.
    pub context: Context,
    /// Reads that are made when a session begins.
    pub begin: Vec<OpeningRead>,
    /// The schema of its result.
    pub schema: Option<Value>,
    /// Its settings, without the names of activities.
    pub settings: Settings,
    /// Its graph of steps, if it has one.
    pub steps: Option<Arc<Steps>>,
    /// The activities it binds.
    pub activities: Map<String, Value>,
    /// Its MCP servers by name. Their settings are checked by the connector.
    pub mcp: Map<String, Value>,
    /// The section `browser`, if there is one. It is checked by the connector.
    pub browser: Option<Map<String, Value>>,
    /// Its folder.
    pub folder: PathBuf,
}

/// An error in an agent's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Line and column, if known.
    pub place: Option<(u64, u64)>,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.text)
    }
}

impl std::error::Error for Problem {}

impl Agent {
    /// Reads an agent's file, or the `agent.yaml` in a folder. Returns all errors.
    pub fn load(path: &Path) -> Result<Self, Vec<Problem>> {
        Self::load_in(path, None)
    }

    /// Like [`Self::load`], with texts in this language (`ru`, `en`), if the agent has it.
    pub fn load_in(path: &Path, language: Option<&str>) -> Result<Self, Vec<Problem>> {
        let file =
            if path.is_dir() || crate::bundled::is_folder(path) { path.join("agent.yaml") } else { path.to_owned() };
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let text = read_text(&file)
            .map_err(|error| vec![Problem { file: file.clone(), place: None, text: error.to_string() }])?;
        Self::parse_in(&file, &text, &folder, language)
    }

    /// Name and description of a bundled agent. The rest of its file is not parsed, which would take most of the time
    /// of `obelus agents list`.
    pub(crate) fn bundled_title(folder: &Path, wanted: Option<&str>) -> Option<(String, Option<String>)> {
        let mut is_of_title = false;
        let lines = crate::bundled::text(&folder.join("agent.yaml"))?.lines().filter(|line| {
            if !line.starts_with([' ', '-', '#']) {
                is_of_title = ["name:", "description:", "language:"].iter().any(|key| line.starts_with(key));
            }
            is_of_title
        });
        let Title { name, description, language } = from_yaml(&lines.collect::<Vec<_>>().join("\n")).ok()?;
        Some((name, description.map(|words| words.text(language.choose(wanted).as_deref()))))
    }

    /// Reads an agent from the text of its file.
    pub fn parse(file: &Path, text: &str, folder: &Path) -> Result<Self, Vec<Problem>> {
        Self::parse_in(file, text, folder, None)
    }

    /// Like [`Self::parse`], with texts in this language, if the agent has it.
    pub fn parse_in(file: &Path, text: &str, folder: &Path, wanted: Option<&str>) -> Result<Self, Vec<Problem>> {
        let mut reader = AgentReader {
            file,
            places: Places::of(text),
            problems: Vec::new(),
            has_faulty_tools: false,
            language: None,
        };
        let mut read: File = match from_yaml(text) {
            Ok(read) => read,
            Err(error) => {
                let (place, text) = match reader.places.is_map() {
                    Some(false) => (None, "an agent's file is an object with a `name`".to_owned()),
                    // The parser misses it at the end of the file, where nothing is wrong.
                    Some(true) if reader.places.find_key("name").is_none() && is_nameless(&error) => {
                        (Some((1, 1)), "missing field `name`".to_owned())
                    }
                    _ => said_by_yaml(&error, text),
                };
                reader.problems.push(Problem { file: file.to_owned(), place, text });
                return Err(reader.problems);
            }
        };
        reader.language = read.language.choose(wanted);
        let language = reader.language.as_deref();
        let parts = read.activities.values_mut().chain(&mut read.state.schema).chain(&mut read.context);
        for part in parts.chain(&mut read.begin) {
            read.language.localize(part, language);
        }
        let context = reader.context(&read, folder);
        reader.check(&read, &context, folder);
        let begin = reader.begin(&read, &context);
        if !reader.problems.is_empty() {
            return Err(reader.problems);
        }
        let language = reader.language;
        Ok(Self {
            settings: settings(&read, language.clone()),
            name: read.name,
            description: read.description.map(|words| words.text(language.as_deref())),
            examples: read.examples.iter().map(|words| words.text(language.as_deref())).collect(),
            language,
            model: read.model,
            context,
            schema: read.schema,
            begin,
            steps: read.graph.map(Arc::new),
            activities: read.activities,
            mcp: read.mcp,
            browser: read.browser,
            folder: folder.to_owned(),
        })
    }
}

fn is_nameless(error: &serde_saphyr::Error) -> bool {
    matches!(error.without_snippet(), serde_saphyr::Error::SerdeMissingField { field: "name", .. })
}

fn settings(file: &File, language: Option<String>) -> Settings {
    Settings {
        mode: file.mode,
        policy: file.policy.clone(),
        model_may_confirm: file.model_may_confirm,
        consent: file.consent.clone(),
        approval: file.approval,
        planning: file.planning,
        repairs: file.repairs,
        dialect: file.dialect,
        // An agent works in conversations (LOOP-7).
        follow_up: file.follow_up.unwrap_or(FollowUp::UntilDone),
        managed: file.state.managed.clone(),
        show: file.show.clone(),
        language,
        time_zone: file.time_zone.clone(),
        before: file.before,
        delegates: file.delegates.clone(),
        persistent: true,
        ..file.limits.settings()
    }
}

struct AgentReader<'a> {
    file: &'a Path,
    places: Places,
    problems: Vec<Problem>,
    /// Whether a tool could not be read. References to it are not reported.
    has_faulty_tools: bool,
    /// The language of the agent's texts.
    language: Option<String>,
}

impl AgentReader<'_> {
    /// Checks the parts of a file that could be read.
    fn check(&mut self, read: &File, context: &Context, folder: &Path) {
        // A server's tools are not known until it is asked.
        let of_browser = read.browser.as_ref().map(|browser| browser.get("server").and_then(Value::as_str));
        let of_browser = of_browser.map(|server| server.unwrap_or("browser"));
        if let Some(graph) = &read.graph {
            let is_server = |name: &str| read.mcp.contains_key(name) || of_browser == Some(name);
            let is_of_server = |name: &str| name.split_once('.').is_some_and(|(of, _)| is_server(of));
            for fault in graph.check(|name| context.tool(name).is_some() || is_of_server(name)) {
                self.problem(&format!("graph.{}", fault.field), format!("graph.{}", fault.text));
            }
        }
        for (kind, filter) in &read.show {
            if let Err(why) = obelus_kernel::jq::Filter::compile(filter) {
                self.problem(&format!("show.{kind}"), format!("show.{kind}: {why}"));
            }
        }
        if let Some(model) = read.model.as_ref().filter(|model| !model.is_string() && !model.is_object()) {
            let kind = obelus_kernel::type_name(model);
            let words =
                format!("model: it is a name such as openai:NAME, or an object such as {{openai: NAME}}, not {kind}");
            self.problem("model", words);
        }
        if read.limits.settings().max_requests == 0 {
            let words = "limits.requests: with 0 requests every turn ends without an answer; it is at least 1";
            self.problem("limits.requests", words.to_owned());
        }
        let servers: Vec<&str> = read.mcp.keys().map(String::as_str).chain(of_browser).collect();
        if !self.has_faulty_tools {
            policy_faults(&read.policy, context, folder, &servers).iter().for_each(|fault| self.policy_problem(fault));
        }
        if let Some(schema) = &read.schema
            && let Err(fault) = Session::new("check", Context::new(), Some(schema.clone()), Arc::default())
        {
            self.problem("schema", fault.to_string());
        }
    }

    /// The initial reads of a session.
    fn begin(&mut self, file: &File, context: &Context) -> Vec<OpeningRead> {
        let mut reads = Vec::new();
        for (index, said) in file.begin.iter().enumerate() {
            match OpeningRead::deserialize(said).map_err(|error| error.to_string()) {
                Ok(read) => match read.fault(context) {
                    None => reads.push(read),
                    Some(why) => self.problem(&format!("begin[{index}]"), format!("begin[{index}]: {why}")),
                },
                Err(why) => self.problem(&format!("begin[{index}]"), format!("begin[{index}]: {why}")),
            }
        }
        reads
    }

    fn problem(&mut self, field: &str, text: String) {
        let place = self.places.find(field);
        self.problems.push(Problem { file: self.file.to_owned(), place, text });
    }

    /// Reports an error in the policy, which may be a bare list of rules.
    fn policy_problem(&mut self, fault: &PolicyFault) {
        let field = if self.places.is_list("policy") {
            format!("policy{}", fault.field.trim_start_matches("rules"))
        } else {
            format!("policy.{}", fault.field)
        };
        self.problem(&field, format!("policy: {fault}"));
    }

    /// The initial context of the agent's sessions.
    fn context(&mut self, file: &File, folder: &Path) -> Context {
        let mut context = Context::new();
        if let Some(words) = &file.instructions {
            let words = words.text(self.language.as_deref());
            self.append(&mut context, "instructions", Message::text(Role::System, words.trim_end()));
        }
        match &file.tools {
            Tools::Inline(tools) => {
                for (name, schema) in tools {
                    self.tool(&mut context, &format!("tools.{name}"), name, self.localized(schema, file));
                }
            }
            Tools::Files(files) => {
                for (index, path) in files.iter().enumerate() {
                    self.tool_file(&mut context, &format!("tools[{index}]"), &folder.join(path), file);
                }
            }
        }
        if file.state.schema.is_some() || file.state.data.is_some() || file.state.description.is_some() {
            let mut data = Data::plain("state", file.state.data.clone().unwrap_or_else(|| Value::Object(Map::new())));
            data.schema = file.state.schema.clone().map(Box::new);
            data.description = file.state.description.as_ref().map(|words| words.text(self.language.as_deref()));
            self.append(&mut context, "state", Message::Data(Box::new(data)));
            for fault in context.breaches("state", false) {
                let field = if fault.is_of_schema() {
                    "state.schema".to_owned()
                } else {
                    format!("state.data.{}", fault.field)
                };
                self.problem(&field, fault.to_string());
            }
        }
        for (index, message) in file.context.iter().enumerate() {
            let field = format!("context[{index}]");
            match Message::from_value(message.clone()) {
                Ok(parsed) => self.append(&mut context, &field, parsed.message),
                Err(fault) => self.problem(&field, fault.in_message(index).to_string()),
            }
        }
        if let Err(why) = crate::delegates::merge_upfront(&mut context, folder) {
            self.problem("tools", why);
        }
        for tool in context.tools() {
            let Some(before) = &tool.before else { continue };
            let why = match context.tool(&before.tool) {
                None => format!("there is no tool `{}`", before.tool),
                Some(reader) if reader.effect.acts() => format!("`{}` is no tool that reads", before.tool),
                Some(_) => continue,
            };
            self.problem(
                &format!("tools.{}.x-before", tool.name),
                format!("TOOL-1: `x-before` of `{}`: {why}", tool.name),
            );
        }
        context
    }

    /// A tool with its texts in the agent's language.
    fn localized(&self, schema: &Value, file: &File) -> Value {
        let mut schema = schema.clone();
        file.language.localize(&mut schema, self.language.as_deref());
        schema
    }

    fn tool_file(&mut self, context: &mut Context, field: &str, path: &Path, file: &File) {
        let text = match read_text(path) {
            Ok(text) => text,
            Err(error) => return self.problem(field, format!("{}: {error}", path.display())),
        };
        match crate::request::read_document(path, &text) {
            Ok(Value::Object(tools)) => {
                let places = Places::of(&text);
                let language = self.language.clone();
                let mut inner =
                    AgentReader { file: path, places, problems: Vec::new(), has_faulty_tools: false, language };
                for (name, schema) in &tools {
                    inner.tool(context, name, name, inner.localized(schema, file));
                }
                self.has_faulty_tools |= inner.has_faulty_tools;
                self.problems.append(&mut inner.problems);
            }
            Ok(_) => self.problem(field, format!("{}: a file of tools maps names to schemas", path.display())),
            Err(error) => self.problem(field, error.to_string()),
        }
    }

    fn tool(&mut self, context: &mut Context, field: &str, name: &str, schema: Value) {
        match Tool::parse(name, &schema).and_then(|tool| tool.check().map(|()| tool)) {
            Ok(tool) => {
                for (annotation, words) in tool.stray_paths().into_iter().chain(tool.annotation_warnings()) {
                    self.problem(&format!("{field}.{annotation}"), format!("TOOL-1: {words}"));
                }
                for (annotation, words) in tool.unknown_annotations() {
                    self.problem(&format!("{field}.{annotation}"), format!("TOOL-4: {words}"));
                }
                let tools = Map::from_iter([(name.to_owned(), schema)]);
                self.append(context, field, Message::Tool(Box::new(tools)));
            }
            Err(fault) => {
                self.has_faulty_tools = true;
                let inner = fault.field.strip_prefix(&format!("tool.{name}")).unwrap_or_default().to_owned();
                let (inner, text) = tool_problem(&inner, fault.text, &schema);
                self.problem(&format!("{field}{inner}"), format!("{}: {text}", fault.rule));
            }
        }
    }

    fn append(&mut self, context: &mut Context, field: &str, message: Message) {
        if let Err(fault) = context.append(vec![message]) {
            self.problem(field, Fault { message: None, ..fault }.to_string());
        }
    }
}
