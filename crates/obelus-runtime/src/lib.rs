//! Sessions on one machine: opening, restoring, running and watching them.
//!
//! A [`Host`] opens sessions; a [`SessionHandle`] is the way to talk to one, from any task. A [`SessionSpec`]
//! describes a session, a [`Connector`] connects it to the outside, and a [`Store`] stores it.
//!
//! ```
//! use obelus_kernel::session::{Mode, Settings};
//! use obelus_kernel::Context;
//! use obelus_runtime::{Activities, Connections, Host, SessionSpec};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut activities = Activities::new();
//! activities.register("double", |work| async move { Ok(json!(work.call["n"].as_i64().unwrap_or(0) * 2)) });
//! let context = Context::from_value(json!([
//!     {"type": "tool", "tool": {"double": {"properties": {"n": {"type": "integer"}}, "x-effect": "read"}}},
//!     {"type": "plan", "plan": [{"_tool": "double", "n": 21, "_outputPath": "†state.answer"}]},
//! ]))?;
//! let settings = Settings { mode: Mode::Full, ..Settings::default() };
//! let host = Host::new(Connections::new(activities));
//! let session = host.create_temporary("s", SessionSpec { context, settings, ..SessionSpec::default() }).await?;
//! session.run_plan().await?;
//! session.rested().await?;
//! assert_eq!(session.inspect(|session| session.state()["answer"].clone()).await?, json!(42));
//! # Ok(())
//! # }
//! ```
//!
//! # Names
//!
//! The root has the names that every embedder needs. The others are in modules: [`sessions`], [`specs`], [`engine`],
//! [`files`], [`masking`], [`text`], [`people`].
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `host`, `handle` | opens, finds, lists and unloads sessions; the handle to one |
//! | `actor` | the task that owns a session, journals its inputs and performs its tasks |
//! | `effect` | running calls and model requests: time limits, panics, lost answers |
//! | `follower` | replaces the actor for a session that other processes run |
//! | `events`, `status`, `summary` | numbered events of a session; its status; what a list shows of it |
//! | `edit_check` | checks of a person's edit before the session gets it |
//! | `view`, `inbox_id` | views of questions and steps for people; ids of questions of all sessions |
//! | `spec`, `connector` | the description of a session, and its connections |
//! | `store`, `restore`, `fork` | journals of sessions, restoring and forking |
//! | `activity`, `elicitor`, `observation`, `model` | carrying out calls and answering requests |
//! | `agent`, `bindings`, `bundled`, `catalogue`, `request`, `places`, `policy_names`, `read` | agents and requests as files |
//! | `delegates` | saved requests of delegates |
//! | `session_files`, `state_file`, `iteration_log`, `images`, `mask` | files for people beside a journal |
//! | `atomic_file` | writes of whole files |
//! | `opening` | initial reads of a session |
//! | `secret`, `clock` | secrets, which are never shown; the clock |
//! | `words`, `report` | the result of a turn as text |

mod activity;
mod actor;
mod agent;
mod atomic_file;
mod bindings;
mod bundled;
mod catalogue;
mod clock;
mod connector;
mod delegates;
mod edit_check;
mod effect;
mod elicitor;
mod events;
mod follower;
mod fork;
mod handle;
mod host;
mod images;
mod inbox_id;
mod iteration_log;
mod mask;
mod model;
mod observation;
mod opening;
mod places;
mod policy_names;
mod read;
mod report;
mod request;
mod restore;
mod secret;
mod session_files;
mod spec;
mod state_file;
mod status;
mod store;
mod summary;
mod view;
mod words;

// Sessions and their events.
pub use clock::{Clock, system_clock};
pub use events::{EventBody, EventNumber, SessionEvent, Subscription};
pub use handle::SessionHandle;
pub use host::{Host, HostBuilder, HostError};

// Specs and connections.
pub use agent::Agent;
pub use connector::{ConnectError, ConnectFuture, Connections, Connector, Services};
pub use request::Request;
pub use spec::SessionSpec;

// Carrying out calls and answering requests.
pub use activity::{Activities, Activity, ActivityFuture, ReconcileFuture, Reconciled, Work};
pub use elicitor::{Elicited, Elicitor};
pub use model::{AnswerFuture, Model, NoModel, Part, Parts, Used};
pub use observation::ObservationSlot;
pub use secret::Secret;

// Stores, and the language for people.
pub use store::{MemoryStore, SqliteStore, Store, StoreError};
pub use words::Language;

/// Types that a [`Host`] and a [`SessionHandle`] take and return: list rows, rule changes.
pub mod sessions {
    pub use crate::events::{NoEventNumber, StepView};
    pub use crate::host::{Export, ForkForecast, Forked, ForkedCall, HostNews, NewsFeed, Reopened, RulesChange};
    pub use crate::inbox_id::InboxId;
    pub use crate::status::SessionStatus;
    pub use crate::store::{InboxRow, InputId, SessionRow};
    pub use crate::summary::SessionSummary;
}

/// The parts of a [`SessionSpec`], and its errors.
pub mod specs {
    pub use crate::connector::RequestSource;
    pub use crate::opening::OpeningRead;
    pub use crate::spec::{BoundActivities, ChosenModel, LocalOptions, McpSection, SpecDifference, SpecError};
}

/// For engines of stores and their tests: what a [`Store`] stores, and how a session is restored.
pub mod engine {
    pub use crate::effect::{ask_whole, load_request, reconcile_call, run_call};
    pub use crate::follower::{WorkerInput, Workers, WorkersFuture};
    pub use crate::fork::fork;
    pub use crate::host::{session_factory, with_present_bindings};
    pub use crate::restore::{
        InputEffects, RecordEffects, Replica, RestoreError, Restored, SessionFactory, TurnStates, advance, restore,
        rewind_to_rest, view_at,
    };
    pub use crate::store::check_name;
    pub use crate::store::{
        AppendError, CheckpointData, DamagedTail, Digest, Durable, Holder, Journaled, Record, SessionLock, Snapshot,
    };
}

/// Agents, requests, images and states as files, and errors in them.
pub mod files {
    pub use crate::agent::Problem;
    pub use crate::bindings::BindingFault;
    pub use crate::bundled::{bundled_files, is_bundled};
    pub use crate::catalogue::AgentCatalogue;
    pub use crate::images::{ImageError, ImageStore};
    pub use crate::places::{Places, said_by_yaml};
    pub use crate::read::{Unreadable, must_be_small, read_text, read_text_from};
    pub use crate::request::{RequestError, place_of, read_document};
    pub use crate::state_file::FileNews;
}

/// Masks secrets in what is written and shown.
pub mod masking {
    pub use crate::secret::{MASKED, mask_bytes, mask_value, without_secrets};
}

/// Texts of JSON values and of bytes, and the beginning of a text.
pub mod text {
    pub use obelus_notebook::canonical::hex;
    pub use obelus_notebook::wording::{clip, plain_text};
}

/// Texts for people, in Russian and English: questions, and the results of steps and turns.
pub mod people {
    pub use crate::report::{render_report, undone};
    pub use crate::view::{
        AnswerKind, AskedWords, BeforeView, CallView, EditForm, FieldKind, FormField, PageNotes, QuestionView, RowView,
        StepLine, Titles, Tone, ViewLine, result_in_words, typed_value,
    };
    pub use crate::words::{
        Ending, ToolNames, consent_in_words, error_words, explained_reason, failure_in_words, how_it_ended,
        never_in_words, refused_in_words, terms_in_words, why_it_ended,
    };
}
