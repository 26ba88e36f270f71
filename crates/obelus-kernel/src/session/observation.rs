//! Observations: what the model is shown and nobody keeps, such as a page and a picture of it.
//!
//! A tool with `x-keep: digest` brings an observation. The driver takes it off before the session hears of the call's
//! end, so that no journal, log or state ever has it, and keeps the latest in memory. The session has a digest, at the
//! place that the call writes. As long as that digest stands there, requests show the observation. When the driver has
//! lost it, as after a restart, the session is told, and the places become null.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::picture::digest;

/// What a call brought to be looked at. Its words and its picture are written nowhere: where this is serialised or
/// printed for a developer, only the digest is.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// The tool.
    pub tool: String,
    /// SHA-256 of the text, as `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// What there is to read.
    #[serde(skip_serializing)]
    pub text: String,
    /// The file of the picture, if there is one.
    #[serde(skip_serializing)]
    pub image: Option<PathBuf>,
}

impl Observation {
    /// What a tool brought.
    pub fn new(tool: impl Into<String>, text: impl Into<String>, image: Option<PathBuf>) -> Self {
        let text = text.into();
        Self { tool: tool.into(), digest: digest(&text), text, image }
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation").field("tool", &self.tool).field("digest", &self.digest).finish_non_exhaustive()
    }
}
