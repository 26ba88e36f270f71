//! The calls that every channel uses, without a transport.
//!
//! | file | subject |
//! |---|---|
//! | `agents`, `agent_parts` | the catalogue of agents, and their parts |
//! | `sessions` | creating, listing, reading and removing sessions |
//! | `talk` | inputs to a session, and their results |
//! | `questions` | the inbox, and answers |
//! | `recent`, `decided` | recently decided questions; their decisions and shown values |
//! | `preview_refresh` | whether records have changed since a question was asked |
//! | `edit` | editing a waiting call; pictures of pages |
//! | `graph`, `instances` | the plan as a graph; the instances of a session |
//! | `state` | values of the state, and its changes |
//! | `changes` | changes of the lists of sessions and questions |
//! | `forecast` | what a fork would do |
//! | `usage` | usage of model requests |
//! | `past` | events, timeline, log, fork |
//! | `step_words` | texts of steps for events |
//! | `snapshot` | a session at one moment, for channels that show it their own way |
//! | `restore` | unfinished work of an earlier process |

mod agent_parts;
mod agents;
mod changes;
mod decided;
mod edit;
mod forecast;
mod graph;
mod instances;
mod past;
mod preview_refresh;
mod questions;
mod recent;
mod restore;
mod sessions;
#[cfg(feature = "http")]
mod snapshot;
mod state;
#[cfg(feature = "http")]
mod step_words;
mod talk;
mod usage;

use std::sync::Arc;

use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Refused, Session};
use obelus_kernel::{Message, Role};
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::sessions::InputId;
use obelus_runtime::text::hex;
use obelus_runtime::{Host, Language, SessionHandle, SessionSpec, StoreError};
use sha2::{Digest as _, Sha256};

use crate::ChannelError;
pub use agent_parts::{MadePrompt, MakePrompt};
pub use changes::Changes;
#[cfg(feature = "http")]
pub(crate) use past::event_value;
pub use restore::RestoredSessions;
#[cfg(feature = "http")]
pub(crate) use snapshot::SessionSnapshot;
#[cfg(feature = "http")]
pub(crate) use step_words::StepWords;
#[cfg(any(feature = "http", feature = "telegram"))]
pub(crate) use talk::lines_visible;

/// The calls that every channel uses. Clones are the same service.
#[derive(Clone)]
pub struct Service {
    host: Host,
    agents: Arc<AgentCatalogue>,
    /// The language if neither the caller nor the agent names one.
    language: Option<Language>,
    /// Whether it applies even if people write in another language.
    is_language_fixed: bool,
    /// Changes the specs of new sessions.
    prepare: Option<SpecHook>,
    /// Removes data of a session that channels store.
    forget: Option<RemovalHook>,
    /// Renders prompts, if supported.
    make_prompt: Option<MakePrompt>,
    /// Traces sessions, if enabled.
    #[cfg(feature = "traces")]
    traces: Option<crate::traces::Traces>,
}

/// Changes the spec of a session.
type SpecHook = Arc<dyn Fn(SessionSpec) -> SessionSpec + Send + Sync>;

/// Called with a removed session.
type RemovalHook = Arc<dyn Fn(&str) + Send + Sync>;

impl Service {
    /// A service for a host with a store, and the agents of a catalogue.
    pub fn new(host: Host, agents: AgentCatalogue) -> Self {
        Self {
            host,
            agents: Arc::new(agents),
            language: None,
            is_language_fixed: false,
            prepare: None,
            forget: None,
            make_prompt: None,
            #[cfg(feature = "traces")]
            traces: None,
        }
    }

    /// Sets the language if neither the caller nor the agent names one.
    #[must_use]
    pub fn in_language(self, language: Language) -> Self {
        Self { language: Some(language), ..self }
    }

    /// Sets the agents' language, even for people who write in another one.
    #[must_use]
    pub fn always_in_language(self, language: Language) -> Self {
        Self { language: Some(language), is_language_fixed: true, ..self }
    }

    /// Sets the function that changes the specs of new sessions.
    #[must_use]
    pub fn prepared(self, prepare: impl Fn(SessionSpec) -> SessionSpec + Send + Sync + 'static) -> Self {
        Self { prepare: Some(Arc::new(prepare)), ..self }
    }

    /// Sets the function that is called for each removed session.
    #[must_use]
    pub fn forgetting(self, forget: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { forget: Some(Arc::new(forget)), ..self }
    }

    /// Traces sessions from their first use.
    #[cfg(feature = "traces")]
    #[must_use]
    pub fn traced(self, traces: crate::traces::Traces) -> Self {
        Self { traces: Some(traces), ..self }
    }

    /// The host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The language for texts outside of a session.
    pub fn language(&self) -> Language {
        self.language.unwrap_or(Language::English)
    }

    /// Opens a session, restoring it if necessary.
    pub async fn open(&self, id: &str) -> Result<SessionHandle, ChannelError> {
        check_id(id)?;
        let handle = match self.host.find(id) {
            Some(handle) => handle,
            None => self.host.open(id).await?,
        };
        #[cfg(feature = "traces")]
        if let Some(traces) = &self.traces {
            traces.follow(&self.host, id, &handle);
        }
        Ok(handle)
    }

    /// Reads from a session. One that is not in memory is read from the store, and not resumed.
    pub async fn read<T: Send + 'static>(
        &self,
        id: &str,
        read: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, ChannelError> {
        check_id(id)?;
        if let Some(handle) = self.host.find(id) {
            return Ok(handle.inspect(read).await?);
        }
        let id = id.to_owned();
        self.blocking(move |host| Ok(read(&host.view_interrupted(&id)?))).await
    }

    /// Reads from a session as it was after a record.
    pub async fn read_at<T: Send + 'static>(
        &self,
        id: &str,
        at: Option<u64>,
        read: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, ChannelError> {
        let Some(at) = at else { return self.read(id, read).await };
        check_id(id)?;
        let id = id.to_owned();
        self.blocking(move |host| Ok(read(&host.view(&id, Some(at))?))).await
    }

    /// Runs blocking work with the store on a separate thread.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Host) -> Result<T, ChannelError> + Send + 'static,
    ) -> Result<T, ChannelError> {
        let host = self.host.clone();
        let done = tokio::task::spawn_blocking(move || work(&host)).await;
        done.map_err(|_| ChannelError::Refused(Refused::new(RefusalCode::Internal, "the work was not done")))?
    }

    /// The language of a new session with this first message: the message's, unless another one is fixed.
    pub(crate) fn lang_of(&self, words: &str) -> Option<String> {
        let may_guess = !self.is_language_fixed && words.chars().any(char::is_alphabetic);
        may_guess.then(|| Language::of(words).code().to_owned())
    }

    /// The language for a session: the caller's, else the agent's, else Russian if the user writes Russian, else the
    /// service's.
    fn language_of(&self, session: &Session, wanted: Option<Language>) -> Language {
        let agents = || session.settings().language.as_deref().map(|name| Language::named(Some(name)));
        let heard = || {
            let words = session.context().messages().iter().rev().find_map(|message| match message {
                Message::Text(text) if text.role == Role::User => Some(Language::of(&text.text)),
                _ => None,
            });
            words.filter(|language| *language == Language::Russian)
        };
        wanted.or_else(agents).or_else(heard).unwrap_or_else(|| self.language())
    }
}

/// Checks a session's id before it is used.
pub(crate) fn check_id(id: &str) -> Result<(), ChannelError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !id.is_empty() && id.len() <= 64 && id.chars().all(is_plain) {
        Ok(())
    } else {
        Err(StoreError::BadName(id.chars().take(64).collect()).into())
    }
}

/// An id derived from a key, so that the object is created once.
pub(crate) fn id_of_key(what: &str, key: &str) -> String {
    hex(&Sha256::digest(format!("{what}\n{key}").as_bytes())[..16])
}

/// An unguessable id.
fn drawn_id() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// A handle with this input id, so that the input is taken once (DUR-13).
fn once(handle: &SessionHandle, input_id: Option<&str>) -> Result<SessionHandle, ChannelError> {
    match input_id {
        Some(id) => Ok(handle.with_id(id.parse::<InputId>()?)),
        None => Ok(handle.clone()),
    }
}
