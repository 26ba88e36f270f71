//! The portal's limits: the rate of requests, and the working time of each method.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use serde_json::{Value, json};

use crate::clock;
use crate::wire::RestError;

/// Requests that may come at once.
const BUCKET: f64 = 50.0;
/// Requests per second after that.
const LEAK: f64 = 2.0;
/// Seconds that a method may work within [`WINDOW`].
const OPERATING: f64 = 480.0;
/// The length of the window, in seconds.
const WINDOW: f64 = 600.0;

/// A leaky bucket: each request adds one.
#[derive(Debug, Default)]
struct LeakyBucket {
    level: f64,
    at: f64,
}

impl LeakyBucket {
    /// Counts a request; false if the bucket is full.
    fn take(&mut self, now: f64) -> bool {
        self.level = (self.level - (now - self.at).max(0.0) * LEAK).max(0.0);
        self.at = now;
        let fits = self.level + 1.0 <= BUCKET;
        if fits {
            self.level += 1.0;
        }
        fits
    }
}

/// A method's working time within the window.
#[derive(Debug, Default)]
struct Operating {
    taken: VecDeque<(f64, f64)>,
}

impl Operating {
    fn forget(&mut self, now: f64) {
        while self.taken.front().is_some_and(|(at, _)| *at + WINDOW <= now) {
            self.taken.pop_front();
        }
    }

    fn sum(&self) -> f64 {
        self.taken.iter().map(|(_, cost)| cost).sum()
    }

    /// When the oldest work leaves the window.
    fn reset_at(&self, now: f64) -> f64 {
        self.taken.front().map_or(now, |(at, _)| *at) + WINDOW
    }

    /// Adds working time. Entries within a minute are joined, so that the list stays short.
    fn add(&mut self, now: f64, cost: f64) {
        match self.taken.back_mut().filter(|(at, _)| now - *at < 60.0) {
            Some((_, sum)) => *sum += cost,
            None => self.taken.push_back((now, cost)),
        }
    }
}

/// The use of all limits so far.
#[derive(Debug, Default)]
pub(crate) struct PortalLimits {
    buckets: BTreeMap<IpAddr, LeakyBucket>,
    operating: BTreeMap<String, Operating>,
}

impl PortalLimits {
    /// Counts a request from an address, or refuses it.
    pub(crate) fn request(&mut self, from: IpAddr, now: f64) -> Result<(), RestError> {
        if self.buckets.entry(from).or_default().take(now) {
            Ok(())
        } else {
            Err(RestError::new(503, "QUERY_LIMIT_EXCEEDED", "Too many requests"))
        }
    }

    /// Refuses a method that has used up its working time.
    pub(crate) fn method(&mut self, name: &str, now: f64) -> Result<(), RestError> {
        let operating = self.operating.entry(name.to_owned()).or_default();
        operating.forget(now);
        if operating.sum() < OPERATING {
            Ok(())
        } else {
            Err(RestError::new(429, "OPERATION_TIME_LIMIT", "Method is blocked due to operation time limit."))
        }
    }

    /// Counts the working time of a call and returns the `time` object of its answer.
    pub(crate) fn worked(&mut self, name: &str, start: f64, finish: f64, cost: f64) -> Value {
        let operating = self.operating.entry(name.to_owned()).or_default();
        operating.forget(finish);
        operating.add(finish, cost);
        let mut time = times(start, finish);
        time["operating_reset_at"] = json!(operating.reset_at(finish) as i64);
        time["operating"] = json!(operating.sum());
        time
    }
}

/// The `time` object of an answer.
pub(crate) fn times(start: f64, finish: f64) -> Value {
    let duration = (finish - start).max(0.0);
    json!({
        "start": start, "finish": finish, "duration": duration, "processing": duration,
        "date_start": clock::iso(start as i64), "date_finish": clock::iso(finish as i64),
        "operating_reset_at": (finish + WINDOW) as i64, "operating": 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_requests_pass_at_once_and_then_two_a_second() {
        let mut bucket = LeakyBucket::default();
        assert_eq!((0..60).filter(|_| bucket.take(1000.0)).count(), 50);
        assert_eq!((0..60).filter(|_| bucket.take(1003.0)).count(), 6);
        assert_eq!((0..60).filter(|_| bucket.take(1003.4)).count(), 0);
        assert_eq!((0..60).filter(|_| bucket.take(2000.0)).count(), 50);
    }

    #[test]
    fn each_client_address_has_its_own_bucket() {
        let mut limits = PortalLimits::default();
        let (one, two) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        assert_eq!((0..60).filter(|_| limits.request(one, 1.0).is_ok()).count(), 50);
        assert!(limits.request(two, 1.0).is_ok());
        assert_eq!(
            limits.request(one, 1.0).map_err(|fault| (fault.status, fault.code)),
            Err((503, "QUERY_LIMIT_EXCEEDED".to_owned()))
        );
    }

    #[test]
    fn a_method_over_its_time_limit_waits_until_the_window_has_moved() {
        let mut limits = PortalLimits::default();
        for at in 0..8 {
            assert!(limits.method("crm.deal.list", f64::from(at) * 60.0).is_ok());
            limits.worked("crm.deal.list", 0.0, f64::from(at) * 60.0, 60.0);
        }
        let blocked = limits.method("crm.deal.list", 430.0).map_err(|fault| (fault.status, fault.code));
        assert_eq!(blocked, Err((429, "OPERATION_TIME_LIMIT".to_owned())));
        assert!(limits.method("crm.deal.get", 430.0).is_ok(), "other methods go on");
        assert!(limits.method("crm.deal.list", 600.0).is_ok());
        let time = limits.worked("crm.deal.list", 0.0, 600.0, 1.0);
        assert_eq!((&time["operating"], &time["operating_reset_at"]), (&json!(421.0), &json!(660)));
    }
}
