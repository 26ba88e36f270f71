//! Encodings of requests and answers.

pub(crate) mod answer;
pub(crate) mod params;
mod xml;

pub(crate) use answer::{MethodAnswer, RestError};
pub(crate) use params::RestParams;
pub(crate) use xml::xml;
