//! Time, as passed in by drivers: the kernel reads no clock.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The year of the latest possible time is below this one.
const MOST_YEARS: u64 = 300_000_000;

/// Milliseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Time(pub i64);

impl Time {
    /// The time this many seconds later.
    #[must_use]
    pub fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000)))
    }

    /// Parses RFC 3339 in UTC, in the form in which [`Time`] is printed, to the millisecond.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('Z')?;
        let (date, clock) = text.split_once('T')?;
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let numbers = |text: &str, by: char| text.split(by).map(|n| n.parse::<i64>().ok()).collect::<Option<Vec<_>>>();
        let (date, clock) = (numbers(date, '-')?, numbers(clock, ':')?);
        let ([year, month, day], [hour, minute, second]) = (date.as_slice(), clock.as_slice()) else { return None };
        let has_two_digits = [month, day, hour, minute, second].iter().all(|number| (0..100).contains(*number));
        if !has_two_digits || year.unsigned_abs() > MOST_YEARS {
            return None;
        }
        let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
        let seconds = days_from_civil(*year, *month, *day) * 86_400 + hour * 3600 + minute * 60 + second;
        seconds.checked_mul(1000)?.checked_add(digits.parse().ok()?).map(Self)
    }
}

impl fmt::Display for Time {
    /// RFC 3339 in UTC with `Z`, with milliseconds unless they are zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.div_euclid(1000), self.0.rem_euclid(1000));
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if millis == 0 { f.write_str("Z") } else { write!(f, ".{millis:03}Z") }
    }
}

/// Year, month and day of a day counted from 1970. Computed in eras of 400 years, which have equal length.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_printed_in_utc_and_read_back() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_714_557_900_123, "2024-05-01T10:05:00.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(Time(millis).to_string(), text);
            assert_eq!(Time::parse(text), Some(Time(millis)));
        }
        for text in ["tomorrow", "2026-01-999999999999999999T12:00:00Z", "299999999-01-01T00:00:00Z"] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
        assert_eq!(Time(-62_198_755_200_000).to_string(), "-001-01-01T00:00:00Z");
        assert_eq!(Time(253_402_300_800_000).to_string(), "10000-01-01T00:00:00Z");
        assert_eq!(Time(i64::MAX).to_string(), "292278994-08-17T07:12:55.807Z");
    }
}
