//! Observations: what the model is shown and nobody keeps, such as a page and a picture of it.
//!
//! A tool with `x-keep: digest` brings an observation. The driver takes it off before the session hears of the call's
//! end, so that no journal, log or state ever has it, and keeps it in memory. The session has a digest, at the place that
//! the call writes and in its transcript. Requests show the observation there, and earlier ones as long as the transcript
//! has room for them. When the driver has lost them, as after a restart, the session is told, and the places become null.

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
    /// SHA-256 of what is shown, as `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// What there is to read.
    #[serde(skip_serializing)]
    pub text: String,
    /// What of it changed since the observation before, where that is enough for whoever has seen that one.
    #[serde(skip_serializing)]
    pub changes: Option<String>,
    /// The file of the picture, if there is one.
    #[serde(skip_serializing)]
    pub image: Option<PathBuf>,
}

impl Observation {
    /// What a tool brought.
    pub fn new(tool: impl Into<String>, text: impl Into<String>, image: Option<PathBuf>) -> Self {
        let text = text.into();
        Self { tool: tool.into(), digest: digest(&text), text, changes: None, image }
    }

    /// The same, shown by what changed since the observation before.
    #[must_use]
    pub fn with_changes(self, changes: Option<String>) -> Self {
        let digest = changes.as_deref().map_or(self.digest, digest);
        Self { digest, changes, ..self }
    }

    /// What the transcript shows of it.
    pub fn shown(&self) -> &str {
        self.changes.as_deref().unwrap_or(&self.text)
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation").field("tool", &self.tool).field("digest", &self.digest).finish_non_exhaustive()
    }
}
