//! When to try a read again.

use std::future::Future;
use std::time::Duration;

use obelus_kernel::Effect;
use obelus_kernel::session::CallError;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Whatever a peer asks for, and however often it has failed: a call has a time limit to keep.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often a read is tried again after a failure that may pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry(pub(super) u32);

/// A failure, and whether trying again makes sense.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: CallError,
    pub(super) again: Again,
}

/// Whether trying again makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail again.
    Never,
    /// It may have passed soon.
    Soon,
    /// The peer said when.
    After(Duration),
}

impl Failure {
    /// A failure that stays.
    pub(super) fn lasting(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { error: CallError::new(code, message), again: Again::Never }
    }

    /// A failure that may pass.
    pub(super) fn passing(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { error: CallError::new(code, message), again: Again::Soon }
    }
}

impl Retry {
    /// Tries until it succeeds, fails for good, or was tried often enough. What is not a read is tried once: only
    /// the session knows what to do about an effect in doubt.
    pub(super) async fn run<T, F>(self, effect: Effect, mut attempt: impl FnMut() -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut left = if effect == Effect::Read { self.0 } else { 0 };
        let mut pause = FIRST_PAUSE;
        loop {
            let failure = match attempt().await {
                Ok(value) => return Ok(value),
                Err(failure) if left == 0 || failure.again == Again::Never => return Err(failure.error),
                Err(failure) => failure,
            };
            let asked = if let Again::After(asked) = failure.again { asked } else { pause };
            tokio::time::sleep(asked.min(LONGEST_PAUSE)).await;
            left -= 1;
            pause *= 2;
        }
    }
}
