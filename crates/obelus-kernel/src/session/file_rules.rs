//! The agent's file when the session was last opened (POL-9).

use super::Mode;
use super::settings::Settings;

/// The rules of the agent's file.
pub(super) struct FileRules {
    /// The file's mode. A person may have chosen another one for the session.
    mode: Mode,
    /// The file's settings, if they differ from the session's initial ones.
    changed: Option<Box<Settings>>,
}

impl FileRules {
    pub(super) fn of(settings: &Settings) -> Self {
        Self { mode: settings.mode, changed: None }
    }

    /// The file has other settings now.
    pub(super) fn replace(&mut self, settings: Settings) {
        *self = Self { mode: settings.mode, changed: Some(Box::new(settings)) };
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// The file's settings, if they differ from the session's initial ones.
    pub(super) fn changed(&self) -> Option<&Settings> {
        self.changed.as_deref()
    }
}
