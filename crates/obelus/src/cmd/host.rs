//! What a command needs to run a session: its activities, its model, its driver.

mod mcp;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_connect::activity::{bind_into, bind_with};
use obelus_connect::model::{ModelSpec, Recorder, open};
use obelus_kernel::Context;
use obelus_kernel::session::{Mode, Session, Settings};
use obelus_kernel::steps::Steps;
use obelus_runtime::{
    Activities, Agent, Driver, ImageStore, Model, NoModel, Remake, Request, RestoredDriver, SessionFiles, SqliteStore,
    read_document, restore_driver, system_clock,
};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::cli::{How, StoreAt};
use crate::{input, output};
pub(crate) use mcp::Mcp;

/// Something that can be run: a request or an agent.
pub(crate) struct Job {
    pub(crate) context: Context,
    pub(crate) schema: Option<Value>,
    pub(crate) settings: Settings,
    pub(crate) steps: Option<Arc<Steps>>,
    /// Activities, each lot with the folder where its paths begin.
    activities: Vec<(PathBuf, Map<String, Value>)>,
    /// MCP servers, whose tools it has.
    pub(crate) mcp: Mcp,
    /// The model, and where its paths begin.
    model: Option<(Value, PathBuf)>,
    /// What its file is called in messages.
    pub(crate) name: String,
    /// What the agent is called; empty for a request.
    pub(crate) agent: String,
    /// The language the agent speaks first.
    pub(crate) language: Option<String>,
    /// Where paths in its file begin.
    pub(crate) folder: PathBuf,
}

impl Job {
    /// A request, started by hand: it may do everything unless something says otherwise.
    pub(crate) fn from_request(path: &Path, request: Request) -> Result<Self> {
        let settings: Settings = match request.settings {
            None => Settings { mode: Mode::Full, ..Settings::default() },
            Some(mut given) => {
                if let Value::Object(fields) = &mut given {
                    fields.entry("mode").or_insert_with(|| "full".into());
                }
                serde_json::from_value(given).with_context(|| format!("{}: settings", input::name(path)))?
            }
        };
        let tool = |name: &str| request.context.tool(name).cloned();
        let policy: Result<(), String> = settings.policy.check(&tool);
        policy.map_err(|why| anyhow!("{}: settings.policy: {why}", input::name(path)))?;
        let folder = folder_of(path);
        Ok(Self {
            context: request.context,
            schema: request.schema,
            settings,
            steps: None,
            activities: vec![(folder.clone(), request.activities)],
            mcp: Mcp::default(),
            model: request.model.map(|model| (model, folder.clone())),
            name: input::name(path),
            agent: String::new(),
            language: None,
            folder,
        })
    }

    pub(crate) fn from_agent(agent: Agent) -> Self {
        Self {
            context: agent.context,
            schema: agent.schema,
            settings: agent.settings,
            steps: agent.steps,
            activities: vec![(agent.folder.clone(), agent.activities)],
            mcp: Mcp::new(agent.mcp, agent.folder.clone())
                .with_browser(agent.browser)
                .of_agent(&agent.name, &agent.folder),
            model: agent.model.map(|model| (model, agent.folder.clone())),
            name: input::name(&agent.folder),
            agent: agent.name,
            language: agent.language,
            folder: agent.folder,
        }
    }

    /// The servers of another file in place of its own.
    pub(crate) fn with_servers(mut self, file: &Path) -> Result<Self> {
        self.mcp = self.mcp.replaced(named_in(file, "mcp")?, folder_of(file)).named_in(file);
        self.mcp.servers().with_context(|| input::name(file))?;
        Ok(self)
    }

    /// What the command line says wins over what the file says. What is wrong with it is found here, where it is
    /// still known who said it.
    pub(crate) fn told(mut self, how: &How) -> Result<Self> {
        if let Some(mode) = how.mode {
            self.settings.mode = mode.into();
        }
        if let Some(file) = &how.activities {
            let (folder, bound) = (folder_of(file), named_in(file, "activities")?);
            bind_into(&mut Activities::new(), &bound, &folder).with_context(|| input::name(file))?;
            self.activities.push((folder, bound));
        }
        if let Some(file) = &how.mcp {
            self = self.with_servers(file)?;
        }
        if let Some(store) = &how.store.store {
            self.mcp = self.mcp.with_tokens(store.clone());
        }
        if !how.sites.is_empty() {
            self.mcp = self.mcp.allowing(&how.sites).with_context(|| format!("--site: {}", self.name))?;
        }
        if let Some(model) = &how.model {
            ModelSpec::parse(model).context("--model")?;
            // Not `.`, which would stand before every file that is complained of.
            self.model = Some((model.as_str().into(), PathBuf::new()));
        }
        Ok(self)
    }

    /// The variable with the token by which the portal's events are known.
    pub(crate) fn application_token(&self) -> String {
        let bound = self.activities.iter().flat_map(|(_, bound)| bound.values());
        let named = bound.filter_map(|binding| binding["bitrix24"]["application_token"].as_str()).next();
        named.map_or("BITRIX_APPLICATION_TOKEN", |name| name.strip_prefix('$').unwrap_or(name)).to_owned()
    }

    /// Everything that is needed to go on with it later, from wherever.
    pub(crate) fn genesis(&self) -> Result<Value> {
        let here = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
        let whole = |path: &Path| match obelus_runtime::is_bundled(path) {
            true => Ok(path.to_owned()),
            false => std::path::absolute(here(path)).with_context(|| path.display().to_string()),
        };
        let mut activities = Vec::new();
        for (folder, bound) in &self.activities {
            activities.push(json!({"folder": whole(folder)?, "bound": bound}));
        }
        let model = match &self.model {
            Some((model, folder)) => json!({"model": model, "folder": whole(folder)?}),
            None => Value::Null,
        };
        let mut settings = serde_json::to_value(&self.settings)?;
        if let Value::Object(fields) = &mut settings {
            fields.shift_remove("activities");
        }
        Ok(json!({
            "context": self.context.to_json(),
            "schema": self.schema,
            "settings": settings,
            "steps": self.steps.as_deref(),
            "activities": activities,
            "mcp": self.mcp.kept(whole)?,
            "model": model,
            "name": self.name,
            "agent": self.agent,
            "language": self.language,
            "folder": whole(&self.folder)?,
        }))
    }

    /// What was kept of it.
    pub(crate) fn from_genesis(mut genesis: Value) -> Result<Self> {
        let mut take = |name: &str| genesis.get_mut(name).map(Value::take).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let lot = |lot: &Value| {
            let bound = lot["bound"].as_object().cloned().unwrap_or_default();
            (PathBuf::from(text(&lot["folder"])), bound)
        };
        let model = take("model");
        let (agent, folder) = (text(&take("agent")), PathBuf::from(text(&take("folder"))));
        Ok(Self {
            context: Context::from_value(take("context"))?,
            schema: Some(take("schema")).filter(|schema| !schema.is_null()),
            settings: serde_json::from_value(take("settings"))?,
            steps: serde_json::from_value::<Option<Steps>>(take("steps"))?.map(Arc::new),
            activities: take("activities").as_array().into_iter().flatten().map(lot).collect(),
            mcp: Mcp::from_kept(take("mcp")).of_agent(&agent, &folder),
            model: model.is_object().then(|| (model["model"].clone(), PathBuf::from(text(&model["folder"])))),
            name: text(&take("name")),
            agent,
            language: take("language").as_str().map(str::to_owned),
            folder,
        })
    }

    /// Starts its MCP servers, whose tools become its own. To be done before it begins, and not when it goes on.
    pub(crate) fn meet_servers(&mut self, runtime: &Runtime) -> Result<()> {
        self.mcp.meet(&mut self.context, runtime).with_context(|| self.name.clone())
    }

    /// The same, with a folder in the store for pictures of pages.
    pub(crate) fn pictured(self, store: &SqliteStore, id: &str) -> Self {
        let mcp = self.mcp.with_pictures(SessionFiles::pictures(store.folder(), id));
        Self { mcp: mcp.with_tokens(store.folder().to_owned()), ..self }
    }

    /// Gives it hands.
    pub(crate) fn drive(self, id: &str, record: Option<&Path>) -> Result<Driver> {
        let hands = self.hands(record)?;
        Ok(hands(self.session(id)?))
    }

    /// What carries out its calls and answers its requests, for a session that is made elsewhere.
    fn hands(&self, record: Option<&Path>) -> Result<impl FnOnce(Session) -> Driver + use<>> {
        let activities = Arc::new(self.bound()?);
        let (model, folder) = (self.open_model(record)?, self.folder.clone());
        Ok(move |session| Driver::new(session, activities, model, system_clock).with_folder(folder))
    }

    fn bound(&self) -> Result<Activities> {
        let mut activities = Activities::new();
        let browser = self.mcp.browser().with_context(|| self.name.clone())?;
        for (folder, bound) in &self.activities {
            bind_with(&mut activities, bound, folder, browser.as_ref()).with_context(|| self.name.clone())?;
        }
        self.mcp.bind_into(&mut activities, &self.context).with_context(|| self.name.clone())?;
        Ok(activities)
    }

    fn session(mut self, id: &str) -> Result<Session> {
        self.settings.activities = self.bound()?.names();
        let session = Session::new(id, self.context, self.schema, Arc::new(self.settings)).context(self.name)?;
        Ok(match self.steps {
            Some(steps) => session.with_steps(steps),
            None => session,
        })
    }

    /// Takes up a kept session where its journal ends. A damaged end is cut off, and that is said. Its servers start
    /// when something is called.
    pub(crate) fn restore(
        store: &SqliteStore,
        id: &str,
        genesis: Value,
        record: Option<&Path>,
    ) -> Result<(RestoredDriver, Mcp)> {
        let job = Self::from_genesis(genesis.clone())?.pictured(store, id);
        let mut taken = restore_driver(store, id, &remake(genesis, id), job.hands(record)?)?;
        taken.driver = with_files(taken.driver, store, id, &job.agent)?;
        if let Some(cut) = &taken.cut {
            let records = if cut.records == 1 { "record is" } else { "records are" };
            output::warning(&format!(
                "{id}: the end of its journal was damaged from record {} on ({}), and was cut off: {} {records} lost. \
                 What was under way there is in doubt.",
                cut.seq, cut.problem, cut.records
            ));
        }
        Ok((taken, job.mcp))
    }

    fn open_model(&self, record: Option<&Path>) -> Result<Arc<dyn Model>> {
        let Some((said, folder)) = &self.model else { return Ok(Arc::new(NoModel)) };
        let spec = ModelSpec::from_value(said).with_context(|| format!("{}: the model", self.name))?;
        let model = open(&spec, folder)?;
        match record {
            Some(file) => Ok(Arc::new(Recorder::open(model, file).with_context(|| input::name(file))?)),
            None => Ok(model),
        }
    }
}

/// The same driver, which keeps pictures that the user shows, and an agent's state and log as files for people. A
/// request has no such files.
pub(crate) fn with_files(driver: Driver, store: &SqliteStore, id: &str, agent: &str) -> Result<Driver> {
    let driver = driver.with_images(ImageStore::of(store.folder(), id)?);
    if agent.is_empty() {
        return Ok(driver);
    }
    Ok(driver.with_files(SessionFiles::open(store.folder(), id)?))
}

/// How a kept session is made anew, as it was when it began.
pub(crate) fn remake(genesis: Value, id: &str) -> Remake {
    let id = id.to_owned();
    Arc::new(move || {
        let made = Job::from_genesis(genesis.clone()).and_then(|job| job.session(&id));
        made.map_err(|error| format!("{error:#}"))
    })
}

/// The folder of a file; of a bare name, this one.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The folder of the store: as said, else by the environment.
pub(crate) fn store_folder(said: &StoreAt) -> Result<PathBuf> {
    if let Some(folder) = &said.store {
        return Ok(folder.clone());
    }
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || named("HOME").map(|home| home.join(".local/share"));
    match named("OBELUS_HOME").or_else(|| named("XDG_DATA_HOME").or_else(home).map(|data| data.join("obelus"))) {
        Some(folder) => Ok(folder),
        None => bail!("there is no home folder here: name the store with --store DIR or OBELUS_HOME"),
    }
}

/// One runtime for everything that a command does: servers that are started in it live as long as it does.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// What a file binds to names, by itself or below the name that an agent's file has for it.
fn named_in(file: &Path, section: &str) -> Result<Map<String, Value>> {
    match read_document(file, &input::text(file)?)? {
        Value::Object(mut fields) => match fields.shift_remove(section) {
            Some(Value::Object(inner)) if fields.is_empty() => Ok(inner),
            Some(other) => {
                fields.insert(section.to_owned(), other);
                Ok(fields)
            }
            None => Ok(fields),
        },
        other => bail!(
            "{}: it maps names to what they do; here it is {}",
            input::name(file),
            obelus_kernel::type_name(&other)
        ),
    }
}
