//! What a text mentions: words, names, numbers and addresses, found as people write them.
//!
//! Nothing here decides anything. The policy asks whether a value stands in the words of the user, and these modules
//! find it there.

pub mod addresses;
mod calendar;
pub mod decimal;
mod digits;
pub mod names;
pub mod numbers;
pub mod phones;
pub mod text;
