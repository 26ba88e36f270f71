//! The core of Obelus: a state machine without I/O, clock, randomness or async.
//!
//! # Layers
//!
//! The lower layers are the crate `obelus-notebook`: values, memory, offer and plan. What an embedder needs of them is
//! found here. Each module uses only those above it; `tests/layers.rs` holds this.
//!
//! | layer | modules | subject |
//! |---|---|---|
//! | values, memory, offer, plan | of `obelus-notebook` | what is written, and how an answer of a model is read |
//! | policy | [`policy`] | what may happen |
//! | session | [`session`] | the machine: inputs in, tasks out |

pub mod policy;
pub mod session;

pub use obelus_notebook::{compose, dialect, jq, plan, steps};
// The modules of this crate name those of the notebook as `crate::…`.
use obelus_notebook::{
    call, canonical, context, expr, fault, fold, glob, mention, message, names, origin, path, quote, schema, template,
    time, tool, visible, wording,
};

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
