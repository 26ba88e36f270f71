//! Times for people, in the zone of this machine.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use obelus_kernel::Time;

/// A time to the minute, such as `2026-11-19 18:39`.
pub(crate) fn local_time(time: Time) -> String {
    in_zone(time, TimeZone::system())
}

fn in_zone(time: Time, zone: TimeZone) -> String {
    match Timestamp::from_millisecond(time.0) {
        Ok(moment) => moment.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => time.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_the_zone_of_the_machine() {
        let time = Time::parse("2026-11-19T22:39:10.205Z").expect("a time");
        let moscow = TimeZone::get("Europe/Moscow").expect("a zone");
        assert_eq!(in_zone(time, moscow), "2026-11-20 01:39");
        assert_eq!(in_zone(time, TimeZone::UTC), "2026-11-19 22:39");
    }

    #[test]
    fn a_time_that_no_calendar_has_is_shown_as_it_is() {
        assert_eq!(in_zone(Time(i64::MAX), TimeZone::UTC), Time(i64::MAX).to_string());
    }
}
