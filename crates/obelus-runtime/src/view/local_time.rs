//! Times for people, in the time zone of the agent.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use obelus_kernel::Time;

/// A time to the minute with its zone, such as `2026-11-19 18:39 (Europe/Moscow)`. Without a zone, or with an unknown
/// one, it is in that of this machine.
pub(crate) fn local_time(time: Time, zone: Option<&str>) -> String {
    let zone = zone.and_then(|name| TimeZone::get(name).ok()).unwrap_or_else(TimeZone::system);
    let Ok(moment) = Timestamp::from_millisecond(time.0) else { return time.to_string() };
    let local = moment.to_zoned(zone);
    let zone = local.time_zone().iana_name().map_or_else(|| local.strftime("%:z").to_string(), str::to_owned);
    format!("{} ({zone})", local.strftime("%Y-%m-%d %H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_the_zone_of_the_agent() {
        let time = Time::parse("2026-11-19T22:39:10.205Z").expect("a time");
        assert_eq!(local_time(time, Some("Europe/Moscow")), "2026-11-20 01:39 (Europe/Moscow)");
        assert_eq!(local_time(time, Some("UTC")), "2026-11-19 22:39 (UTC)");
        assert_eq!(local_time(time, Some("Mars/Olympus")), local_time(time, None));
    }

    #[test]
    fn a_time_that_no_calendar_has_is_shown_as_it_is() {
        assert_eq!(local_time(Time(i64::MAX), None), Time(i64::MAX).to_string());
    }
}
