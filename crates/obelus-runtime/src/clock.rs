//! The clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use obelus_kernel::Time;

/// Returns the time. Tests pass their own.
pub type Clock = fn() -> Time;

/// The machine's clock.
pub fn system_clock() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The clock of one session, which never runs backwards.
pub(crate) struct SessionClock {
    clock: Clock,
    latest: Time,
}

impl SessionClock {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, latest: Time::default() }
    }

    /// The time now.
    pub(crate) fn now(&mut self) -> Time {
        self.latest = self.latest.max((self.clock)());
        self.latest
    }

    /// The time when the session last asked for it.
    pub(crate) fn latest(&self) -> Time {
        self.latest
    }

    /// How long until a time.
    pub(crate) fn until(&self, Time(due): Time) -> Duration {
        Duration::from_millis(u64::try_from(due.saturating_sub((self.clock)().0)).unwrap_or(0))
    }
}
