//! The core of Obelus: a state machine without I/O, clock, randomness or async.
//!
//! # Layers
//!
//! Each module uses only those above it; `tests/layers.rs` holds this.
//!
//! | layer | modules | subject |
//! |---|---|---|
//! | values | `path`, `expr`, `template`, `schema`, `time`, [`jq`], … | references into memory, and other values |
//! | memory | `fold`, `origin`, `message`, `tool`, `context` | messages, their fold, and the tools that they define |
//! | offer | `call`, [`dialect`], [`compose`] | what a model may answer, and what it answers |
//! | plan | [`plan`], [`steps`] | data-flow graphs of calls, and graphs of steps |
//! | policy | [`policy`] | what may happen |
//! | session | [`session`] | the machine: inputs in, tasks out |

mod call;
mod canonical;
mod context;
mod expr;
mod fault;
mod fold;
mod glob;
mod message;
mod names;
mod origin;
mod path;
mod quote;
mod schema;
mod template;
mod time;
mod tool;
mod visible;
mod wording;

pub mod compose;
pub mod dialect;
pub mod jq;
pub mod plan;
pub mod policy;
pub mod session;
pub mod steps;

// Memory, and where values come from.
pub use context::{Context, LoadPast, View};
pub use message::{Data, Message, PlanMode, Role};
pub use origin::{Origin, Origins};

// References into memory, and how they are written.
pub use expr::{Expr, OutputPath};
pub use fold::Method;
pub use path::{MAX_DEPTH, Path, Segment};

// What can be called.
pub use call::Call;
pub use tool::{Effect, Tool, in_language};

// Time, faults, and words for messages.
pub use canonical::write_canonical;
pub use fault::{Fault, Rule};
pub use message::depth_of_text;
pub use time::Time;
pub use visible::visible;
pub use wording::{closest, type_name};
