//! The portal's time: a clock that can be set, and dates as the portal reads and writes them.
//!
//! Times are kept as seconds since 1970 in UTC. A plain date is kept as its midnight in UTC, and shown, as portals
//! do, as that moment in the portal's zone: `2026-11-15T03:00:00+03:00`.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The portal lives in Moscow.
pub(crate) const ZONE_SECONDS: i64 = 3 * 3600;
pub(crate) const DAY: i64 = 86_400;

/// The machine's clock, moved by what someone set.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    ahead: AtomicI64,
}

impl Clock {
    /// Now, with fractions of a second.
    pub(crate) fn precise(&self) -> f64 {
        let machine = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        machine + self.ahead.load(Ordering::Relaxed) as f64
    }

    pub(crate) fn now(&self) -> i64 {
        self.precise() as i64
    }

    /// Makes it `now` at this moment; time goes on from there.
    pub(crate) fn set(&self, now: i64) {
        let machine = Clock::default().now();
        self.ahead.store(now - machine, Ordering::Relaxed);
    }
}

/// `2026-11-15T10:30:00+03:00`
pub(crate) fn iso(seconds: i64) -> String {
    let local = seconds + ZONE_SECONDS;
    let (year, month, day) = civil(local.div_euclid(DAY));
    let in_day = local.rem_euclid(DAY);
    let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+{:02}:00", ZONE_SECONDS / 3600)
}

/// `15.11.2026 10:30`, or `15.11.2026` for a midnight: for people.
pub(crate) fn plain(seconds: i64) -> String {
    let local = seconds + ZONE_SECONDS;
    let (year, month, day) = civil(local.div_euclid(DAY));
    let in_day = local.rem_euclid(DAY);
    match in_day == 0 || in_day == ZONE_SECONDS {
        true => format!("{day:02}.{month:02}.{year:04}"),
        false => format!("{day:02}.{month:02}.{year:04} {:02}:{:02}", in_day / 3600, in_day / 60 % 60),
    }
}

/// The start of the day, in the portal's zone, that this moment is in.
pub(crate) fn midnight(seconds: i64) -> i64 {
    (seconds + ZONE_SECONDS).div_euclid(DAY) * DAY - ZONE_SECONDS
}

/// The plain date of a moment in the portal's zone, as it is kept.
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

/// Reads a plain date, as it is kept. A moment counts as the day it is in, in the portal's zone.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let (date, rest) = read_date(text.trim())?;
    match rest.is_empty() {
        true => Some(date),
        false => parse(text).map(date_of),
    }
}

/// The date at the front, in seconds as if it were UTC, and what follows it.
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
    let (year, month, day) = (year.parse::<i64>().ok()?, month.parse::<i64>().ok()?, day.parse::<i64>().ok()?);
    let days = days_of(year, month, day);
    (civil(days) == (year, month, day)).then(|| (days * DAY, &text[10..]))
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

/// Days since 1970 of a date of the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a number of days since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_every_form_portals_take() {
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
    fn what_is_no_moment_is_refused() {
        for text in ["", "завтра", "2026-02-30", "2026-13-01", "2026-11-15T25:00:00", "2026/11/15", "1-1-1", "20261115"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_goes_there_and_back() {
        for days in (-150_000..150_000).step_by(7) {
            let (year, month, day) = civil(days);
            assert_eq!(days_of(year, month, day), days);
        }
    }
}
