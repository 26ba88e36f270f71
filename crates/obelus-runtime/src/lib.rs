//! The hands of the kernel on one machine.
//!
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | [`Driver`] | does what a session wants done, and tells it what came of it |
//! | [`Activity`], [`Activities`] | what carries out calls |
//! | [`Elicitor`] | a call's way to ask a person while it is at work |
//! | [`Model`] | what answers requests |
//! | [`ImageStore`] | pictures that the user shows |
//! | [`Agent`] | an agent as a file |
//! | [`bundled_agents`] | the agents that come with the program |
//! | [`Request`] | a request as a file |
//! | [`SessionSpec`] | everything that makes a session |
//! | [`Connector`] | connects a session to what carries out its calls |
//! | [`masked`] | what must not stand in a log |
//! | [`Secret`] | texts that can be used and cannot be shown |
//! | [`ObservationSlot`] | what the model has before its eyes, and nobody keeps |
//! | [`Store`], [`SqliteStore`], [`MemoryStore`] | where sessions are kept |
//! | [`StateFile`] | the state of a session as a file that people can edit |
//! | [`IterationLog`] | what was told, thought, asked of services and answered, for people |
//! | [`restore`] | a session where its journal ends |
//! | [`read_text`] | files that may hold anything |
//! | [`why_it_ended`] | what a turn came to, in words |

mod actor;
pub use actor::{DAMAGED, GONE, NOT_DURABLE, OUTCOME_UNKNOWN};

mod activity;
pub use activity::{Activities, Activity, ActivityFuture, ReconcileFuture, Reconciled, Work};

mod images;
pub use images::{ImageError, ImageStore};

mod agent;
pub use agent::{Agent, Problem};

mod elicitor;
pub use elicitor::{Elicited, Elicitor};

mod bundled;
pub use bundled::{bundled_agent, bundled_agents, is_bundled};

mod clock;
pub use clock::{Clock, system_clock};

mod connector;
pub use connector::{ConnectError, ConnectFuture, Connections, Connector, Services};

mod driver;
pub use driver::{
    Command, Counter, Driver, Durable, Event, Idle, Journal, PAUSED, Recovered, RestoredDriver, restore_driver,
};

mod events;
pub use events::{EventBody, EventNumber, NoEventNumber, SessionEvent, StepView, Subscription};

mod fork;
pub use fork::fork;

mod handle;
pub use handle::SessionHandle;

mod host;
pub use host::{Export, Forked, Host, HostBuilder, HostError, Reopened};

mod iteration_log;
pub use iteration_log::{IterationLog, Rotation};

mod mask;
pub use mask::{masked, masked_value};

mod model;
pub use model::{AnswerFuture, Model, NoModel, Part, Parts, Used};

mod places;
pub use places::place_in;

mod read;
pub use read::{Unreadable, read_text, read_text_from};

mod request;
pub use request::{Request, RequestError, read_document};

mod secret;
pub use secret::{MASKED, Secret, mask_bytes, mask_value, without_secrets};

mod session_files;
pub use session_files::SessionFiles;

mod observation;
pub use obelus_kernel::session::Observation;
pub use observation::ObservationSlot;

mod spec;
pub use spec::{BoundActivities, ChosenModel, LocalOptions, McpSection, SessionSpec, SpecError};

mod state_file;
pub use state_file::{FileNews, Found, StateFile};

mod store;
pub use store::{
    AppendError, Cut, Digest, Durable as AppendFuture, InboxRow, InputId, Journaled, MemoryStore, Record, Rest,
    SessionJournal, SessionLock, SessionRow, Snapshot, SqliteStore, Store, StoreError,
};

mod restore;
pub use restore::{
    Advanced, Remake, Replayed, RestoreError, Restored, TurnStates, UnderWay, advance, back_to_rest, digest_of,
    look_at, replay, restore,
};

mod report;
pub use report::{missing_data, render_report, undone};

mod whole_file;

mod words;
pub use words::{Ending, Language, error_words, how_it_ended, one_line, why_it_ended};
