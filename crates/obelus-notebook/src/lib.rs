//! The data model: messages, references, tools, calls and plans, and parsing of a model's answers.
//!
//! This crate does not know policies and sessions; those are in the kernel, which is built on it. It does no I/O, reads
//! no clock and draws no random numbers. Embedders use its names through `obelus-kernel`.
//!
//! # Layers
//!
//! Each module uses only those above it; `tests/layers.rs` of the kernel checks this.
//!
//! | layer | modules | subject |
//! |---|---|---|
//! | values | [`path`], [`expr`], [`template`], [`schema`], [`time`], [`jq`], [`mention`], … | references into memory, and other values |
//! | memory | [`fold`], [`origin`], [`message`], [`tool`], [`context`], [`shape`] | messages, their fold, the tools that they define, and untrusted values without their content |
//! | offer | [`call`], [`call_texts`], [`describe`], [`edited`], [`transcript_entry`], [`dialect`], [`compose`], [`requested`], [`grounding`] | calls, their texts for people, a person's changes to them and their ends, a model's answers and their schema, grounding |
//! | plan | [`plan`], [`steps`] | data-flow graphs of calls, and graphs of steps |

pub mod call;
pub mod call_json;
pub mod call_texts;
pub mod canonical;
pub mod compose;
pub mod consent_id;
pub mod context;
pub mod control_field;
pub mod describe;
pub mod dialect;
pub mod dotted;
pub mod edited;
pub mod expr;
pub mod failure_code;
pub mod fault;
pub mod fold;
pub mod glob;
pub mod grounding;
pub mod jq;
pub mod mention;
pub mod message;
pub mod money;
pub mod names;
pub mod observation;
pub mod origin;
pub mod path;
pub mod picture;
pub mod plan;
pub mod quote;
pub mod request_place;
pub mod requested;
pub mod schema;
pub mod sent_by;
pub mod shape;
pub mod shorten;
pub mod steps;
pub mod template;
pub mod time;
pub mod tool;
pub mod transcript_entry;
pub mod visible;
pub mod wording;
