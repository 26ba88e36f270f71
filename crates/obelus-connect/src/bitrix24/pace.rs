//! How fast a portal may be asked: a leaky bucket, kept on this side as the portal keeps its own.
//!
//! Pure: the time is passed in. Every request is given its moment when it asks for it, in the order of asking, so
//! that the burst is spent at once and what comes after it is spread evenly.

use std::time::Duration;

/// What a portal permits: so many requests at once, and so many a second in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// How many requests the bucket holds.
    pub burst: f64,
    /// How many leave it every second.
    pub per_second: f64,
}

impl Default for Rate {
    /// What the smaller tariffs have.
    fn default() -> Self {
        Self { burst: 50.0, per_second: 2.0 }
    }
}

/// Requests do not arrive exactly as far apart as they were sent: room for one is left, so that a late one and a
/// punctual one can arrive together.
const SLACK: f64 = 1.0;

/// The bucket.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    rate: Rate,
    /// What is in it, requests that wait for their moment included.
    level: f64,
    /// When that was so.
    at: Duration,
}

impl Pace {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, level: 0.0, at: Duration::ZERO }
    }

    /// Keeps to the more careful of two opinions.
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

    /// Takes a place for one request; it may be sent after this long.
    pub(super) fn take(&mut self, now: Duration) -> Duration {
        self.leak(now);
        self.level += 1.0;
        let over = (self.level - self.room()).max(0.0);
        Duration::from_secs_f64(over / self.rate.per_second)
    }

    /// A request that had a place was not sent.
    pub(super) fn give_back(&mut self, now: Duration) {
        self.leak(now);
        self.level = (self.level - 1.0).max(0.0);
    }

    /// The portal says that its bucket is full, so somebody else has been at it too.
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
    fn the_burst_is_spent_at_once_and_then_it_is_two_a_second() {
        let mut pace = Pace::new(Rate::default());
        let waits: Vec<f64> = (0..53).map(|_| pace.take(Duration::ZERO).as_secs_f64()).collect();
        assert!(waits[..49].iter().all(|wait| *wait == 0.0));
        assert_eq!(waits[49..], [0.5, 1.0, 1.5, 2.0]);
    }

    #[test]
    fn what_is_not_used_comes_back() {
        let mut pace = Pace::new(Rate::default());
        (0..49).for_each(|_| _ = pace.take(Duration::ZERO));
        assert_eq!(pace.take(seconds(24.5)), Duration::ZERO);
        let mut pace = Pace::new(Rate::default());
        (0..60).for_each(|_| _ = pace.take(Duration::ZERO));
        (0..60).for_each(|_| pace.give_back(Duration::ZERO));
        assert_eq!(pace.take(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_full_portal_is_given_time() {
        let mut pace = Pace::new(Rate::default());
        pace.is_full(Duration::ZERO);
        assert_eq!(pace.take(Duration::ZERO), seconds(0.5));
    }

    /// The portal's own bucket.
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
        fn no_order_of_asking_is_refused_by_the_portal(
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
        fn nobody_waits_longer_than_the_rate_demands(count in 1..200_usize, burst in 2.0..60.0_f64) {
            let mut pace = Pace::new(Rate { burst, per_second: 2.0 });
            let last = (0..count).map(|_| pace.take(Duration::ZERO)).last().unwrap_or_default();
            let least = ((count as f64 - burst) / 2.0).max(0.0);
            prop_assert!(last.as_secs_f64() <= least + SLACK / 2.0 + 1e-6);
        }
    }
}
