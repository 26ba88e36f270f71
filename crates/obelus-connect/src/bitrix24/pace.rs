//! The rate limit of a portal: a leaky bucket that mirrors the portal's own.
//!
//! Pure: the time is passed in. Each request gets its time slot when it asks, in the order of asking. A burst is sent
//! at once, and later requests are spread evenly.

use std::time::Duration;

/// The portal's rate limit: a burst, and a rate in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// How many requests the bucket holds.
    pub burst: f64,
    /// How many leave it every second.
    pub per_second: f64,
}

impl Default for Rate {
    /// The limit of the smaller tariffs.
    fn default() -> Self {
        Self { burst: 50.0, per_second: 2.0 }
    }
}

/// Room for one request, because requests do not arrive exactly as far apart as they were sent: a late one and a
/// punctual one can arrive together.
const SLACK: f64 = 1.0;

/// The bucket.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    rate: Rate,
    /// Its level, including requests that wait for their slot.
    level: f64,
    /// The time of `level`.
    at: Duration,
}

impl Pace {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, level: 0.0, at: Duration::ZERO }
    }

    /// Applies the stricter of two limits.
    pub(super) fn limit(&mut self, rate: Rate) {
        self.rate.burst = self.rate.burst.min(rate.burst);
        self.rate.per_second = self.rate.per_second.min(rate.per_second);
    }

    fn room(&self) -> f64 {
        (self.rate.burst - SLACK).max(1.0)
    }

    fn leak(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.level = (self.level - passed * self.rate.per_second).max(0.0);
        self.at = self.at.max(now);
    }

    /// Reserves a slot for one request; returns how long to wait before sending.
    pub(super) fn take(&mut self, now: Duration) -> Duration {
        self.leak(now);
        self.level += 1.0;
        let over = (self.level - self.room()).max(0.0);
        Duration::from_secs_f64(over / self.rate.per_second)
    }

    /// Releases the slot of a request that was not sent.
    pub(super) fn give_back(&mut self, now: Duration) {
        self.leak(now);
        self.level = (self.level - 1.0).max(0.0);
    }

    /// The portal reports a full bucket, so another client uses it too.
    pub(super) fn is_full(&mut self, now: Duration) {
        self.leak(now);
        self.level = self.level.max(self.room());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn requests_after_the_burst_are_limited_to_two_a_second() {
        let mut pace = Pace::new(Rate::default());
        let waits: Vec<f64> = (0..53).map(|_| pace.take(Duration::ZERO).as_secs_f64()).collect();
        assert!(waits[..49].iter().all(|wait| *wait == 0.0));
        assert_eq!(waits[49..], [0.5, 1.0, 1.5, 2.0]);
    }

    #[test]
    fn unused_capacity_is_restored() {
        let mut pace = Pace::new(Rate::default());
        (0..49).for_each(|_| _ = pace.take(Duration::ZERO));
        assert_eq!(pace.take(seconds(24.5)), Duration::ZERO);
        let mut pace = Pace::new(Rate::default());
        (0..60).for_each(|_| _ = pace.take(Duration::ZERO));
        (0..60).for_each(|_| pace.give_back(Duration::ZERO));
        assert_eq!(pace.take(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_portal_over_its_limit_is_given_time() {
        let mut pace = Pace::new(Rate::default());
        pace.is_full(Duration::ZERO);
        assert_eq!(pace.take(Duration::ZERO), seconds(0.5));
    }

    /// Whether the portal's own limit refuses one of the requests sent at these times.
    fn refuses(rate: Rate, sent: &[f64]) -> bool {
        let (mut level, mut at) = (0.0_f64, 0.0_f64);
        sent.iter().any(|&moment| {
            level = (level - (moment - at) * rate.per_second).max(0.0) + 1.0;
            at = moment;
            level > rate.burst + 1e-6
        })
    }

    proptest! {
        #[test]
        fn no_sequence_of_requests_exceeds_the_portals_rate(
            gaps in prop::collection::vec(prop_oneof![3 => Just(0.0), 1 => 0.0..5.0_f64], 1..200),
            burst in 2.0..60.0_f64, per_second in 0.5..5.0_f64, jitter in 0.0..0.9_f64,
        ) {
            let rate = Rate { burst, per_second };
            let mut pace = Pace::new(rate);
            let mut now = 0.0;
            let mut sent = Vec::new();
            for (index, gap) in gaps.iter().enumerate() {
                now += gap;
                // Every other request arrives late, by less than the time between two.
                let late = if index % 2 == 0 { jitter / per_second } else { 0.0 };
                sent.push(now + pace.take(seconds(now)).as_secs_f64() + late);
            }
            sent.sort_by(f64::total_cmp);
            prop_assert!(!refuses(rate, &sent));
        }

        #[test]
        fn no_request_waits_longer_than_the_rate_requires(count in 1..200_usize, burst in 2.0..60.0_f64) {
            let mut pace = Pace::new(Rate { burst, per_second: 2.0 });
            let last = (0..count).map(|_| pace.take(Duration::ZERO)).last().unwrap_or_default();
            let least = ((count as f64 - burst) / 2.0).max(0.0);
            prop_assert!(last.as_secs_f64() <= least + SLACK / 2.0 + 1e-6);
        }
    }
}
