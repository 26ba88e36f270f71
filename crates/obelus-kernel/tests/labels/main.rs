//! POL-4, POL-6: provenance of values; untrusted data does not choose the target of a call without a person's approval.
//!
//! # Layout
//!
//! [`memory`] compares the labels of memory with the text of the rule. [`steering`] plays whole sessions and follows
//! untrusted data by marks in the values, independently of labels: [`world`] generates the events, [`driver`] plays and
//! checks them. [`stories`] are single cases that vectors cannot express.

mod driver;
mod memory;
mod steering;
mod stories;
mod world;

#[path = "../../../obelus-notebook/tests/common/cases.rs"]
mod cases;

use cases::cases;
