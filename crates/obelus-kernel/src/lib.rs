//! The pure core of Obelus.
//!
//! No I/O, no clock, no randomness, no async: everything here is data and functions over it, so that what
//! passes a test in microseconds is what runs in production.
//!
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | [`Message`] | what a context is made of, and the forms in which it is accepted |
//! | [`Context`] | the append-only memory and its materialised fold |
//! | [`Path`], [`Expr`], [`OutputPath`], [`Template`] | references into memory: read, written, and found in parameters |
//! | [`Tool`], [`Call`] | what can be called, and what a proposal says |
//! | [`plan`] | data-flow graphs: edges, waves, and everything wrong before anything runs |
//! | [`compose`] | the one schema that the model answers in |
//! | [`session`] | the machine: events in, tasks out |
//! | [`jq`] | pure filters |
//! | [`steps`] | an agent's loop as a graph |
//! | [`dialect`] | how a model writes its answers |
//! | [`Origins`] | where values come from |
//! | [`Fault`] | what is wrong, where, and which rule says so |

mod call;
pub use call::{Call, Params, Scope};

pub mod compose;

mod context;
pub use context::{Context, LoadPast, View};

pub mod dialect;

mod expr;
pub use expr::{Expr, Group, OutputPath};

mod fault;
pub use fault::{Fault, Rule};

mod fold;
pub use fold::Method;

mod glob;

pub mod jq;

mod message;
pub use message::{Data, Message, Output, Parsed, Parts, Plan, PlanMode, Role, Text, depth_of_text};

mod names;
pub use names::Name;

mod origin;
pub use origin::{Origin, Origins};

mod path;
pub use path::{MAX_DEPTH, Path, Segment, Segments};

pub mod plan;

pub mod policy;

mod quote;

mod schema;

pub mod session;

pub mod steps;

mod template;
pub use template::{Missing, Template};

mod time;
pub use time::Time;

mod tool;
pub use tool::{Before, Effect, Meta, SideWrite, Tool, in_language};

mod visible;
pub use visible::visible;

mod wording;
pub use wording::{closest, type_name};
