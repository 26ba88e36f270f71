//! Observations: data that the model sees but nothing stores, such as a page and its picture.
//!
//! A tool with `x-keep: digest` returns an observation. The driver removes it before the session gets the call's
//! outcome, so that no journal, log or state has it, and keeps it in memory. The session has a digest, at the path
//! that the call writes and in its transcript. Requests show the observation there, and earlier ones as long as there
//! is room. When the driver has lost them, as after a restart, the session is told, and the paths become null.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::picture::digest;

/// An observation. Its text and picture are never written: serialised or in debug output it is only its digest.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// The tool.
    pub tool: String,
    /// SHA-256 of its content, as `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Its text.
    #[serde(skip_serializing)]
    pub text: String,
    /// The changes since the previous observation, if they suffice for a model that has seen that one.
    #[serde(skip_serializing)]
    pub changes: Option<String>,
    /// The file of the picture, if there is one.
    #[serde(skip_serializing)]
    pub image: Option<PathBuf>,
}

impl Observation {
    /// An observation of a tool.
    pub fn new(tool: impl Into<String>, text: impl Into<String>, image: Option<PathBuf>) -> Self {
        let text = text.into();
        Self { tool: tool.into(), digest: digest(&text), text, changes: None, image }
    }

    /// Sets the changes since the previous observation.
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
