//! Retries of reads.

use std::future::Future;
use std::time::Duration;

use obelus_kernel::Effect;
use obelus_kernel::session::{CallError, FailureCode};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause, even if the peer asks for more, because a call has a time limit.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// How often a read is retried after a temporary failure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry(pub(super) u32);

/// A failure, and whether a retry makes sense.
#[derive(Debug)]
pub(super) struct AttemptFailure {
    pub(super) error: CallError,
    pub(super) again: RetryAdvice,
}

/// Whether a retry makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    /// No, it would fail again.
    Never,
    /// Yes, after a short pause.
    Soon,
    /// Yes, after the pause that the peer asks for.
    After(Duration),
}

impl AttemptFailure {
    /// A permanent failure.
    pub(super) fn lasting(code: impl Into<FailureCode>, message: impl Into<String>) -> Self {
        Self { error: CallError::new(code, message), again: RetryAdvice::Never }
    }

    /// A temporary failure.
    pub(super) fn passing(code: impl Into<FailureCode>, message: impl Into<String>) -> Self {
        Self { error: CallError::new(code, message), again: RetryAdvice::Soon }
    }
}

impl Retry {
    /// Tries until it succeeds, fails permanently, or has no retries left. Only reads are retried; the session handles
    /// effects in doubt.
    pub(super) async fn run<T, F>(self, effect: Effect, mut attempt: impl FnMut() -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, AttemptFailure>>,
    {
        let mut left = if effect == Effect::Read { self.0 } else { 0 };
        let mut pause = FIRST_PAUSE;
        loop {
            let failure = match attempt().await {
                Ok(value) => return Ok(value),
                Err(failure) if left == 0 || failure.again == RetryAdvice::Never => return Err(failure.error),
                Err(failure) => failure,
            };
            let wait = if let RetryAdvice::After(wait) = failure.again { wait } else { pause };
            tokio::time::sleep(wait.min(MAX_PAUSE)).await;
            left -= 1;
            pause *= 2;
        }
    }
}
