//! Specs and hosts for commands.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_connect::activity::bind_into;
use obelus_connect::model::ModelSpec;
use obelus_connect::{Notice, StandardConnector};
use obelus_kernel::session::Refused;
use obelus_runtime::files::read_document;
use obelus_runtime::sessions::RulesChange;
use obelus_runtime::specs::{BoundActivities, ChosenModel};
use obelus_runtime::{Activities, Host, HostBuilder, MemoryStore, SessionHandle, SessionSpec, SqliteStore};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use crate::cli::{RunOptions, StoreArgs};
use crate::input;
use crate::language::{Words, chosen, fill, words_of, words_of_session};
use crate::output::{self, DIM, visible};

/// Applies the command line's options, which override the file. Errors in them are reported here, while their source
/// is known.
pub(crate) fn with_options(mut spec: SessionSpec, how: &RunOptions) -> Result<SessionSpec> {
    if let Some(mode) = how.mode {
        spec.settings.mode = mode.into();
    }
    if let Some(file) = &how.activities {
        let (folder, bound) = (SessionSpec::folder_of(file), named_in(file, "activities")?);
        bind_into(&mut Activities::new(), &bound, &folder).with_context(|| input::name(file))?;
        spec.activities.push(BoundActivities { folder, bound });
    }
    if let Some(file) = &how.mcp {
        with_servers(&mut spec, file)?;
    }
    if !how.sites.is_empty() {
        if !spec.allow_sites(&how.sites) {
            return Err(anyhow!("{}", words_of(None).starting.no_browser)).context(format!("--site: {}", spec.name));
        }
        StandardConnector::new().check_servers(&spec).with_context(|| format!("--site: {}", spec.name))?;
    }
    if let Some(model) = &how.model {
        ModelSpec::parse(model).context("--model")?;
        // Not `.`, which would appear before file names in errors.
        spec.model = Some(ChosenModel { model: model.as_str().into(), folder: PathBuf::new() });
    }
    spec.local.record.clone_from(&how.record);
    Ok(spec)
}

/// Replaces the servers of a spec with those of another file.
pub(crate) fn with_servers(spec: &mut SessionSpec, file: &Path) -> Result<()> {
    spec.replace_servers(named_in(file, "mcp")?, file);
    StandardConnector::new().check_servers(spec).with_context(|| input::name(file))
}

/// The receiver of notices about MCP servers: the command line, until a conversation has a screen.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Option<NoticeReceiver>>>);

type NoticeReceiver = Box<dyn Fn(&str) + Send>;

impl Notices {
    /// Sets the receiver of notices.
    pub(crate) fn set_receiver(&self, receiver: impl Fn(&str) + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(receiver));
    }

    fn take(&self, notice: Notice<'_>) {
        match (notice, &*self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            (Notice::Starting(names), _) => {
                let words = fill(words_of(None).running.starting, &[&visible(&names.join(", "))]);
                output::note(&format!("{DIM}{words}{DIM:#}"));
            }
            (Notice::Unpinned { servers, agent }, _) => {
                let (servers, agent) = (visible(&servers.join(", ")), visible(agent));
                let words = fill(words_of(None).running.unpinned, &[&servers, &agent]);
                output::note(&format!("{DIM}{words}{DIM:#}"));
            }
            (Notice::ShortSecrets(names), _) => output::warning(&short_secrets(names)),
            (Notice::Changed(words), Some(receive)) => receive(words),
            (Notice::Changed(words), None) => output::warning(&visible(words)),
        }
    }
}

/// A warning about secrets that are not masked in results.
pub(crate) fn short_secrets(names: &[String]) -> String {
    fill(words_of(None).running.short_secret, &[&visible(&names.join(", "))])
}

/// The connector of a command's sessions. Logins to MCP servers are stored in the store's folder, if there is one.
pub(crate) fn connector(store: &StoreArgs, notices: &Notices) -> Result<StandardConnector> {
    let notices = notices.clone();
    let connector = StandardConnector::new().with_language(chosen()).with_notices(move |notice| notices.take(notice));
    // Without a home folder there is no place for logins, and only servers that need a login fail.
    Ok(match checked_folder(store)? {
        Some(folder) => connector.with_logins(folder),
        None => connector,
    })
}

/// A host of the sessions in the store of a command, which it alone runs.
pub(crate) fn open_host(said: &StoreArgs, connector: StandardConnector) -> Result<Host> {
    // A command is short-lived, so its sessions are never unloaded.
    Ok(open_store(said, connector)?.idle_after(None).build())
}

/// The same for a command that changes sessions and runs none.
pub(crate) fn open_editor(said: &StoreArgs) -> Result<Host> {
    open_host(said, StandardConnector::for_reading())
}

/// A host for reading the sessions in the store of a command, also while another process runs them.
pub(crate) fn open_viewer(said: &StoreArgs) -> Result<Host> {
    let folder = store_folder(said)?;
    let store = if said.insecure_store {
        SqliteStore::open_read_only_insecure(&folder)
    } else {
        SqliteStore::open_read_only(&folder)
    }?;
    Ok(Host::builder(StandardConnector::for_reading()).store(store.shared()).files(folder).build())
}

/// A host for reading copies of sessions that another process runs. They end with the command.
pub(crate) fn copies() -> Host {
    Host::builder(StandardConnector::for_reading()).store(Arc::new(MemoryStore::default())).copies().build()
}

/// Opens the store of a command, for a host that runs its sessions.
pub(crate) fn open_store(said: &StoreArgs, connector: StandardConnector) -> Result<HostBuilder> {
    let folder = store_folder(said)?;
    let store = if said.insecure_store { SqliteStore::open_insecure(&folder) } else { SqliteStore::open(&folder) }?;
    Ok(Host::builder(connector).store(store.shared()).files(folder))
}

/// Reports what was found when a session was opened: changed rules of its agent (POL-9).
pub(crate) async fn report_reopened(handle: &SessionHandle) -> Result<(), Refused> {
    if let Some(change) = handle.reopened().rules {
        let phrases = handle.inspect(words_of_session).await?;
        output::warning(&rules_in_words(handle.id(), &change, phrases));
    }
    Ok(())
}

/// The changes of a session's agent file, as text.
fn rules_in_words(id: &str, change: &RulesChange, phrases: &Words) -> String {
    let words = &phrases.sessions;
    if let Some(file) = &change.missing {
        return fill(words.rules_missing, &[id, &file.display().to_string()]);
    }
    let mut parts = Vec::new();
    parts.extend(change.policy.then(|| words.rules_policy.to_owned()));
    parts.extend(change.mode.map(|(before, now)| fill(words.rules_mode, &[before.name(), now.name()])));
    parts.extend(change.settings.then(|| words.rules_settings.to_owned()));
    for (phrase, names) in [(words.rules_tools, &change.tools), (words.rules_removed, &change.removed)] {
        parts.extend((!names.is_empty()).then(|| fill(phrase, &[&names.join(", ")])));
    }
    fill(words.rules_hold, &[id, &parts.join("; ")])
}

/// Starts the servers of a resumed session, and reports their changes.
pub(crate) async fn report_changes(handle: &SessionHandle) -> Result<()> {
    if let Some(services) = handle.services().await? {
        services.changes().await.iter().for_each(|words| output::warning(words));
    }
    Ok(())
}

/// The folder of the store: the given one, else from the environment.
pub(crate) fn store_folder(said: &StoreArgs) -> Result<PathBuf> {
    if let Some(folder) = &said.store {
        return Ok(folder.clone());
    }
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || named("HOME").map(|home| home.join(".local/share"));
    match named("OBELUS_HOME").or_else(|| named("XDG_DATA_HOME").or_else(home).map(|data| data.join("obelus"))) {
        Some(folder) => Ok(folder),
        None => bail!("{}", words_of(None).store.no_home),
    }
}

/// The folder of the store, which may be missing, for a command without a saved session; none without a home folder.
pub(crate) fn checked_folder(said: &StoreArgs) -> Result<Option<PathBuf>> {
    let Ok(folder) = store_folder(said) else { return Ok(None) };
    if !said.insecure_store {
        SqliteStore::check_folder(&folder)?;
    }
    Ok(Some(folder))
}

/// The folder of the store for other files of a command; it is created if necessary.
pub(crate) fn created_folder(said: &StoreArgs) -> Result<PathBuf> {
    let folder = store_folder(said)?;
    if said.insecure_store {
        SqliteStore::create_folder_insecure(&folder)?;
    } else {
        SqliteStore::create_folder(&folder)?;
    }
    Ok(folder)
}

/// One runtime for a whole command: servers started in it live as long as it does.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// The bindings in a file, at its top level or in the section that an agent's file has for them.
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
