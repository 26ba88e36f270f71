//! What a command needs to run a session: its activities, its model, its driver.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use obelus_connect::activity::bind_into;
use obelus_connect::model::{ModelSpec, Recorder, open};
use obelus_kernel::Context;
use obelus_kernel::session::{Mode, Session, Settings};
use obelus_kernel::steps::Steps;
use obelus_runtime::{Activities, Agent, Driver, Model, NoModel, Request, read_document, system_clock};
use serde_json::{Map, Value};

use crate::cli::How;
use crate::input;

/// Something that can be run: a request or an agent.
pub(crate) struct Job {
    pub(crate) context: Context,
    pub(crate) schema: Option<Value>,
    pub(crate) settings: Settings,
    pub(crate) steps: Option<Arc<Steps>>,
    pub(crate) activities: Map<String, Value>,
    pub(crate) model: Option<String>,
    /// What its file is called in messages.
    pub(crate) name: String,
    /// Where paths in its file begin.
    pub(crate) folder: PathBuf,
}

impl Job {
    /// A request, started by hand: it may do everything unless something says otherwise.
    pub(crate) fn from_request(path: &Path, request: Request) -> Result<Self> {
        let settings = match request.settings {
            None => Settings { mode: Mode::Full, ..Settings::default() },
            Some(mut given) => {
                if let Value::Object(fields) = &mut given {
                    fields.entry("mode").or_insert_with(|| "full".into());
                }
                serde_json::from_value(given).with_context(|| format!("{}: settings", input::name(path)))?
            }
        };
        Ok(Self {
            context: request.context,
            schema: request.schema,
            settings,
            steps: None,
            activities: request.activities,
            model: request.model,
            name: input::name(path),
            folder: path.parent().map(Path::to_owned).unwrap_or_default(),
        })
    }

    pub(crate) fn from_agent(agent: Agent) -> Self {
        Self {
            context: agent.context,
            schema: agent.schema,
            settings: agent.settings,
            steps: agent.steps,
            activities: agent.activities,
            model: agent.model,
            name: input::name(&agent.folder),
            folder: agent.folder,
        }
    }

    /// Gives it hands.
    pub(crate) fn drive(mut self, how: &How) -> Result<Driver> {
        if let Some(mode) = how.mode {
            self.settings.mode = mode.into();
        }
        let mut activities = Activities::new();
        bind_into(&mut activities, &self.activities, &self.folder).with_context(|| self.name.clone())?;
        if let Some(file) = &how.activities {
            let bound = bindings(file)?;
            let folder = file.parent().map(Path::to_owned).unwrap_or_default();
            bind_into(&mut activities, &bound, &folder).with_context(|| input::name(file))?;
        }
        self.settings.activities = activities.names();
        let model = model(how, &self)?;
        let mut session = Session::new("run", self.context, self.schema, Arc::new(self.settings)).context(self.name)?;
        if let Some(steps) = self.steps {
            session = session.with_steps(steps);
        }
        let folder = if self.folder.as_os_str().is_empty() { PathBuf::from(".") } else { self.folder };
        Ok(Driver::new(session, Arc::new(activities), model, system_clock).with_folder(folder))
    }
}

fn bindings(file: &Path) -> Result<Map<String, Value>> {
    match read_document(file, &input::text(file)?)? {
        Value::Object(mut fields) => match fields.shift_remove("activities") {
            Some(Value::Object(inner)) if fields.is_empty() => Ok(inner),
            Some(other) => {
                fields.insert("activities".to_owned(), other);
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

/// The model of the command line, else of the file. Relative files are looked for where they were named.
fn model(how: &How, job: &Job) -> Result<Arc<dyn Model>> {
    let (said, base, whose) = match (&how.model, &job.model) {
        (Some(said), _) => (said, Path::new(""), "--model"),
        (None, Some(said)) => (said, job.folder.as_path(), job.name.as_str()),
        (None, None) => return Ok(Arc::new(NoModel)),
    };
    let spec = ModelSpec::parse(said).with_context(|| whose.to_owned())?;
    let model = open(&spec, base).with_context(|| whose.to_owned())?;
    match &how.record {
        Some(file) => Ok(Arc::new(Recorder::open(model, file).with_context(|| input::name(file))?)),
        None => Ok(model),
    }
}
