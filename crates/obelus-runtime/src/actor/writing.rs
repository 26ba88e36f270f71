//! Failures to store inputs, and when storing is tried again.

use std::time::Duration;

use obelus_kernel::session::Refused;

/// The first and the longest pause before writing is tried again.
const RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// Whether the latest inputs could be stored.
#[derive(Default)]
pub(super) struct WriteState {
    failure: Option<WriteFailure>,
    /// The number of failures since the last successful write.
    failures: u32,
}

/// Why nothing is stored now.
pub(super) struct WriteFailure {
    pub(super) refused: Refused,
    /// How long to wait before writing is tried again.
    pub(super) pause: Duration,
    /// Whether the session cannot be restored either.
    is_final: bool,
}

impl WriteState {
    /// The failure, until writing is tried again.
    pub(super) fn failure(&self) -> Option<&WriteFailure> {
        self.failure.as_ref()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_final)
    }

    /// Writing may be tried again now.
    pub(super) fn retry(&mut self) {
        self.failure = None;
    }

    pub(super) fn on_success(&mut self) {
        self.failures = 0;
    }

    /// Inputs could not be stored. Without a session that can be restored, this is final.
    pub(super) fn on_failure(&mut self, refused: Refused, is_final: bool) {
        self.failures += 1;
        let pause = (RETRY[0] * self.failures).min(RETRY[1]);
        self.failure = Some(WriteFailure { refused, pause, is_final });
    }
}
