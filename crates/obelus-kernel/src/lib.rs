//! The core of Obelus: a state machine without I/O, clock, randomness or async.
//!
//! # Layers
//!
//! The lower layers are the crate `obelus-notebook`: values, memory, offer and plan. What embedders need of them is
//! re-exported here. Each module uses only those above it; `tests/layers.rs` checks this.
//!
//! | layer | modules | subject |
//! |---|---|---|
//! | values, memory, offer, plan | of `obelus-notebook` | what is written, and how an answer of a model is read |
//! | policy | [`policy`] | what may happen |
//! | session | [`session`] | the machine: inputs in, tasks out |
//!
//! # Names
//!
//! The root and [`session`] have the names that every embedder needs. The other modules are for special subjects.

pub mod policy;
pub mod session;

// The modules of this crate refer to the notebook's as `crate::…`.
use obelus_notebook::{
    call, canonical, context, expr, fault, fold, glob, message, names, origin, path, quote, schema, template, time,
    tool, visible, wording,
};

// Memory, and the references into it.
pub use context::Context;
pub use expr::Expr;
pub use message::{Data, Message, PlanMode, Role};
pub use path::Path;

// What can be called.
pub use call::Call;
pub use obelus_notebook::call_json::CallJson;
pub use tool::{Effect, Tool};

// Time, faults, and words for messages.
pub use fault::{Fault, Rule};
pub use time::Time;
pub use visible::visible;
pub use wording::{closest, type_name};

/// The schema of what a model may answer.
pub mod compose {
    pub use obelus_notebook::compose::{Composed, Offer, compose, without_nulls};
}

/// The forms of a model's answers, and incremental parsing.
pub mod dialect {
    pub use obelus_notebook::dialect::stream::{Piece, Reader};
    pub use obelus_notebook::dialect::{Dialect, blocks};
}

/// Filters over JSON.
pub mod jq {
    pub use obelus_notebook::jq::{Filter, Read};
}

/// The parts of memory, for reading it message by message.
pub mod memory {
    pub use obelus_notebook::message::Member;
    pub use obelus_notebook::origin::{Origin, Origins};
    pub use obelus_notebook::path::Segment;
}

/// Data-flow graphs of calls: checks and simulation.
pub mod plan {
    pub use obelus_notebook::plan::{Check, RunsFor, Simulation, Warning, check};
}

/// Graphs of steps.
pub mod steps {
    pub use obelus_notebook::steps::{StartAt, StepFilter, StepNode, Steps};
}

/// Texts: patterns of names, texts in several languages, JSON in one form.
pub mod text {
    pub use obelus_notebook::canonical::write_canonical;
    pub use obelus_notebook::glob::matches as glob_matches;
    pub use obelus_notebook::message::depth_of_text;
    pub use obelus_notebook::tool::in_language;
    pub use obelus_notebook::wording::without_position;
}
