//! Retries: a budget, and the pause before the next attempt.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::failure::ModelFailure;

const FIRST_PAUSE: Duration = Duration::from_millis(400);
const MAX_PAUSE: Duration = Duration::from_secs(20);
/// The largest budget of retries of a model, so that an overloaded server does not get more load.
const MAX_RETRIES: f64 = 10.0;
/// Retries gained by an answered request.
const EARNED_PER_ANSWER: f64 = 0.5;

/// The retries left for all requests of a model.
pub(super) struct Budget(Mutex<f64>);

impl Default for Budget {
    fn default() -> Self {
        Self(Mutex::new(MAX_RETRIES))
    }
}

impl Budget {
    /// Uses one retry; false if none is left.
    pub(super) fn take(&self) -> bool {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *left < 1.0 {
            return false;
        }
        *left -= 1.0;
        true
    }

    /// Adds to the budget after an answered request.
    pub(super) fn earn(&self) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *left = (*left + EARNED_PER_ANSWER).min(MAX_RETRIES);
    }
}

/// The pause before the next attempt: what the server asks for, else exponential back-off with jitter.
pub(super) fn pause(failure: &ModelFailure, attempt: u32) -> Duration {
    let own = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(attempt.min(16))).min(MAX_PAUSE);
    // Every new `RandomState` has a random seed.
    let random = (RandomState::new().hash_one(attempt) % 1024) as f64 / 1024.0;
    let jittered = own.mul_f64(0.5 + random / 2.0);
    failure.after.map_or(jittered, |asked| asked.max(jittered.min(Duration::from_millis(50))))
}

#[cfg(test)]
mod tests {
    use super::super::failure::Code;
    use super::*;

    #[test]
    fn the_retry_budget_runs_out_and_is_refilled_by_answers() {
        let budget = Budget::default();
        assert_eq!((0..100).filter(|_| budget.take()).count(), 10);
        budget.earn();
        assert!(!budget.take());
        budget.earn();
        assert!(budget.take() && !budget.take());
    }

    #[test]
    fn pauses_grow_to_a_limit_and_retry_after_overrides_them() {
        let failure = ModelFailure::new(Code::ServerError, "");
        for attempt in 0..40 {
            let longest = FIRST_PAUSE.saturating_mul(1 << attempt.min(16)).min(MAX_PAUSE);
            let pause = pause(&failure, attempt);
            assert!(pause >= longest / 2 && pause <= longest, "{attempt}: {pause:?}");
        }
        let asked = ModelFailure { after: Some(Duration::from_secs(7)), ..failure };
        assert_eq!(pause(&asked, 0), Duration::from_secs(7));
    }
}
