//! Sessions on one machine: opened, restored, performed and watched.
//!
//! A [`Host`] opens sessions; a [`SessionHandle`] is the one way to talk to one, from any task. What a session is
//! made of is a [`SessionSpec`]; what connects it to the world is a [`Connector`]; where it is kept is a [`Store`].
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
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | `host`, `handle` | opens, finds, lists and lets go of sessions; the handle to one |
//! | `actor` | the task that owns a session, keeps its inputs and performs what follows |
//! | `events` | what happens in a session, as numbered events |
//! | `spec`, `connector` | what a session is made of, and what it is connected to |
//! | `store`, `restore`, `fork` | journals of sessions, and sessions made of them again |
//! | `activity`, `elicitor`, `observation`, `model` | what carries out calls and answers requests |
//! | `agent`, `bindings`, `bundled`, `request`, `places`, `policy_names`, `read` | agents and requests as files |
//! | `session_files`, `state_file`, `iteration_log`, `images`, `mask` | what stands beside a journal for people |
//! | `opening` | reads that a session begins with |
//! | `secret` | texts that can be used and cannot be shown |
//! | `words`, `report` | what a turn came to, in words |

mod activity;
mod actor;
mod agent;
mod bindings;
mod bundled;
mod clock;
mod connector;
mod delegates;
mod elicitor;
mod events;
mod fork;
mod handle;
mod host;
mod images;
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
mod store;
mod whole_file;
mod words;

// Sessions.
pub use actor::{DAMAGED, GONE, NOT_DURABLE, OUTCOME_UNKNOWN};
pub use clock::{Clock, system_clock};
pub use events::{EventBody, EventNumber, NoEventNumber, SessionEvent, StepView, Subscription};
pub use handle::SessionHandle;
pub use host::{Export, Forked, Host, HostBuilder, HostError, Reopened, RulesChange};

// What they are made of, and connected to.
pub use connector::{ConnectError, ConnectFuture, Connections, Connector, RequestSource, Services};
pub use opening::OpeningRead;
pub use spec::{BoundActivities, ChosenModel, LocalOptions, McpSection, SessionSpec, SpecDifference, SpecError};

// What carries out calls and answers requests.
pub use activity::{Activities, Activity, ActivityFuture, ReconcileFuture, Reconciled, Work};
pub use elicitor::{Elicited, Elicitor};
pub use model::{AnswerFuture, Model, NoModel, Part, Parts, Used};
pub use obelus_kernel::session::Observation;
pub use observation::ObservationSlot;
pub use secret::{MASKED, Secret, mask_bytes, mask_value, without_secrets};

// Where they are kept.
pub use restore::RestoreError;
pub use store::{
    AppendError, Cut, Digest, Durable, InboxRow, InputId, Journaled, MemoryStore, Record, Rest, SessionLock,
    SessionRow, Snapshot, SqliteStore, Store, StoreError,
};

// For engines of stores and their tests.
pub use fork::fork;
pub use restore::{
    Advanced, Remake, Replayed, Restored, TurnStates, UnderWay, advance, back_to_rest, digest_of, look_at, replay,
    restore,
};

// Agents and requests as files.
pub use agent::{Agent, Problem};
pub use bindings::BindingFault;
pub use bundled::{bundled_agent, bundled_agents, is_bundled};
pub use images::{ImageError, ImageStore};
pub use places::Places;
pub use read::{Unreadable, must_be_small, read_text, read_text_from};
pub use request::{Request, RequestError, place_of, read_document};

// What people see.
pub use iteration_log::{IterationLog, Rotation};
pub use mask::{masked, masked_value};
pub use report::{missing_data, render_report, undone};
pub use session_files::SessionFiles;
pub use state_file::{FileNews, StateFile, StateNews};
pub use words::{
    Ending, Language, PhraseTable, ToolNames, error_words, fault_of, fill, how_it_ended, listed_titles, one_line,
    reasons_in_words, refusal_by_code, refusal_in_words, refused_in_words, why_it_ended,
};
