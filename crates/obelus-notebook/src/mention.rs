//! Finds words, names, numbers and addresses in texts, in the forms that people write.
//!
//! These modules make no decisions. The policy uses them to check whether the user's messages contain a value.

pub mod addresses;
mod calendar;
pub mod consent;
pub mod decimal;
mod digit_run;
mod digits;
pub mod names;
pub mod numbers;
pub mod phones;
pub mod site;
pub mod text;
