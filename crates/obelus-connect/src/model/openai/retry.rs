//! When a request is sent again, and when no more.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::failure::Failure;

const FIRST_PAUSE: Duration = Duration::from_millis(400);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Retries that a model has at most, whatever its requests are allowed: a server in trouble is not helped by more.
const MOST: f64 = 10.0;
/// What an answer gives back.
const EARNED: f64 = 0.5;

/// Retries that are left to all requests of a model together.
pub(super) struct Budget(Mutex<f64>);

impl Default for Budget {
    fn default() -> Self {
        Self(Mutex::new(MOST))
    }
}

impl Budget {
    /// Takes one, if there is one.
    pub(super) fn take(&self) -> bool {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *left < 1.0 {
            return false;
        }
        *left -= 1.0;
        true
    }

    /// A request has had its answer.
    pub(super) fn earn(&self) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *left = (*left + EARNED).min(MOST);
    }
}

/// How long to wait before the next attempt: as the server says, else longer each time, and never in step with
/// others that failed at the same moment.
pub(super) fn pause(failure: &Failure, attempt: u32) -> Duration {
    let own = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(attempt.min(16))).min(LONGEST_PAUSE);
    // Every new `RandomState` is seeded anew.
    let dice = (RandomState::new().hash_one(attempt) % 1024) as f64 / 1024.0;
    let jittered = own.mul_f64(0.5 + dice / 2.0);
    failure.after.map_or(jittered, |asked| asked.max(jittered.min(Duration::from_millis(50))))
}

#[cfg(test)]
mod tests {
    use super::super::failure::Code;
    use super::*;

    #[test]
    fn retries_run_out_and_answers_bring_them_back() {
        let budget = Budget::default();
        assert_eq!((0..100).filter(|_| budget.take()).count(), 10);
        budget.earn();
        assert!(!budget.take());
        budget.earn();
        assert!(budget.take() && !budget.take());
    }

    #[test]
    fn pauses_grow_to_a_limit_and_the_server_has_the_last_word() {
        let failure = Failure::new(Code::ServerError, "");
        for attempt in 0..40 {
            let longest = FIRST_PAUSE.saturating_mul(1 << attempt.min(16)).min(LONGEST_PAUSE);
            let pause = pause(&failure, attempt);
            assert!(pause >= longest / 2 && pause <= longest, "{attempt}: {pause:?}");
        }
        let asked = Failure { after: Some(Duration::from_secs(7)), ..failure };
        assert_eq!(pause(&asked, 0), Duration::from_secs(7));
    }
}
