//! The portal's clock, which can be set, and the formats of dates and times.
//!
//! Times are stored as seconds since 1970 in UTC. A plain date is stored as its midnight in UTC and shown, as on real
//! portals, as that moment in the portal's time zone: `2026-11-15T03:00:00+03:00`.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time, time};
use jiff::tz::Offset;

/// The portal's time zone is Moscow.
const ZONE: Offset = Offset::constant(3);
pub(crate) const ZONE_SECONDS: i64 = 3 * 3600;
pub(crate) const DAY: i64 = 86_400;

/// The machine's clock plus an offset.
#[derive(Debug, Default)]
pub(crate) struct PortalClock {
    ahead: AtomicI64,
}

impl PortalClock {
    /// Now, with fractions of a second.
    pub(crate) fn precise(&self) -> f64 {
        let machine = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        machine + self.ahead.load(Ordering::Relaxed) as f64
    }

    pub(crate) fn now(&self) -> i64 {
        self.precise() as i64
    }

    /// Sets the current time; the clock goes on from there.
    pub(crate) fn set(&self, now: i64) {
        let machine = PortalClock::default().now();
        self.ahead.store(now - machine, Ordering::Relaxed);
    }
}

/// A moment in the portal's time zone. Values outside the calendar's range become its first or last moment.
fn local(seconds: i64) -> DateTime {
    let moment = Timestamp::from_second(seconds);
    ZONE.to_datetime(moment.unwrap_or(if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX }))
}

/// `2026-11-15T10:30:00+03:00`
pub(crate) fn iso(seconds: i64) -> String {
    local(seconds).strftime("%Y-%m-%dT%H:%M:%S+03:00").to_string()
}

/// The format for people: `15.11.2026 10:30`, or `15.11.2026` for a midnight.
pub(crate) fn plain(seconds: i64) -> String {
    let local = local(seconds);
    let is_date = [time(0, 0, 0, 0), time(3, 0, 0, 0)].contains(&local.time());
    local.strftime(if is_date { "%d.%m.%Y" } else { "%d.%m.%Y %H:%M" }).to_string()
}

/// The start of this moment's day in the portal's time zone.
pub(crate) fn midnight(seconds: i64) -> i64 {
    (seconds + ZONE_SECONDS).div_euclid(DAY) * DAY - ZONE_SECONDS
}

/// The plain date of a moment in the portal's time zone, in its stored form.
pub(crate) fn date_of(seconds: i64) -> i64 {
    (seconds + ZONE_SECONDS).div_euclid(DAY) * DAY
}

/// Reads a moment: ISO 8601 with or without an offset, or the portal's own `15.11.2026 10:30:00`; a time without an
/// offset is in the portal's zone.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (date, rest) = read_date(text.trim())?;
    let rest = rest.trim_start_matches(['T', 't', ' ']);
    if rest.is_empty() {
        return Some(date - ZONE_SECONDS);
    }
    let (clock, offset) = match rest.find(['Z', 'z', '+', '-']) {
        Some(at) => (&rest[..at], read_offset(&rest[at..])?),
        None => (rest, ZONE_SECONDS),
    };
    Some(date + read_time(clock.trim())? - offset)
}

/// Reads a plain date into its stored form. A moment is read as its day in the portal's time zone.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let (date, rest) = read_date(text.trim())?;
    if rest.is_empty() { Some(date) } else { parse(text).map(date_of) }
}

/// The date at the start of the text, in seconds as if it were UTC, and the rest of the text.
fn read_date(text: &str) -> Option<(i64, &str)> {
    let front = text.get(..10)?;
    let (year, month, day) = match front.as_bytes().get(4)? {
        b'-' => (&front[..4], front.get(5..7)?, front.get(8..10)?),
        _ => (front.get(6..10)?, front.get(3..5)?, front.get(..2)?),
    };
    let separators: Vec<char> = front.chars().filter(|c| !c.is_ascii_digit()).collect();
    if separators != ['-', '-'] && separators != ['.', '.'] {
        return None;
    }
    let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
    let midnight = Offset::UTC.to_timestamp(date.to_datetime(Time::midnight())).ok()?;
    Some((midnight.as_second(), &text[10..]))
}

fn read_time(text: &str) -> Option<i64> {
    let text = text.split('.').next()?;
    let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
    let hour = parts.next()??;
    let minute = parts.next()??;
    let second = parts.next().unwrap_or(Some(0))?;
    let fits =
        parts.next().is_none() && (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    fits.then_some(hour * 3600 + minute * 60 + second)
}

fn read_offset(text: &str) -> Option<i64> {
    let sign = match text.chars().next()? {
        'Z' | 'z' => return Some(0),
        '+' => 1,
        _ => -1,
    };
    let digits: String = text.chars().skip(1).filter(char::is_ascii_digit).collect();
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 = digits.get(2..4).unwrap_or("0").parse().ok()?;
    Some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_every_format_that_portals_accept() {
        for text in [
            "2026-11-15T10:30:00+03:00",
            "2026-11-15T07:30:00Z",
            "2026-11-15T07:30:00.123Z",
            "2026-11-15T12:30:00+0500",
            "2026-11-15 10:30:00",
            "2026-11-15T10:30",
            "15.11.2026 10:30:00",
        ] {
            assert_eq!(parse(text).map(iso).as_deref(), Some("2026-11-15T10:30:00+03:00"), "{text}");
        }
        assert_eq!(parse("2026-11-15").map(iso).as_deref(), Some("2026-11-15T00:00:00+03:00"));
        assert_eq!(parse_date("15.11.2026").map(iso).as_deref(), Some("2026-11-15T03:00:00+03:00"));
        assert_eq!(parse_date("2026-11-14T22:00:00Z").map(iso).as_deref(), Some("2026-11-15T03:00:00+03:00"));
    }

    #[test]
    fn invalid_dates_are_refused() {
        for text in ["", "завтра", "2026-02-30", "2026-13-01", "2026-11-15T25:00:00", "2026/11/15", "1-1-1", "20261115"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn dates_round_trip() {
        for days in (-150_000..150_000_i64).step_by(7) {
            let midnight = days * DAY;
            assert_eq!(parse(&iso(midnight)), Some(midnight));
            assert_eq!(parse_date(&plain(midnight)), Some(midnight));
        }
    }

    #[test]
    fn dates_out_of_range_become_the_first_or_last_date() {
        assert_eq!(iso(i64::MAX), iso(Timestamp::MAX.as_second()));
        assert_eq!(iso(i64::MIN), iso(Timestamp::MIN.as_second()));
    }
}
