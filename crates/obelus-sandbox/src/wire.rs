//! Encodings of requests and answers.

pub(crate) mod answer;
pub(crate) mod params;
mod xml;

pub(crate) use answer::{Answer, Fault};
pub(crate) use params::Params;
pub(crate) use xml::xml;
