//! The clock.

use std::time::{SystemTime, UNIX_EPOCH};

use obelus_kernel::Time;

/// Returns the time. Tests pass their own.
pub type Clock = fn() -> Time;

/// The machine's clock.
pub fn system_clock() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
