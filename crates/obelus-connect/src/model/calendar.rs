//! The next days in the agent's time zone, so that the model can look up "tomorrow" and "by Friday" instead of
//! calculating.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use obelus_kernel::Time;
use obelus_words::{Language, PhraseTable as _};
use serde_json::{Value, json};

/// The number of days shown, including today.
const DAYS: i64 = 14;

/// Now and the next days, as data for a prompt. An unknown time zone becomes UTC.
pub(super) fn calendar(now: Time, zone: Option<&str>, language: Option<&str>) -> Value {
    let zone = zone.and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    let Ok(moment) = Timestamp::from_millisecond(now.0) else { return Value::Null };
    let local = moment.to_zoned(zone);
    let day = |offset: i64| {
        let date = local.date().checked_add(offset.days()).ok()?;
        let (day, short) = weekday(date.weekday(), language);
        Some(json!({"date": date.to_string(), "day": day, "short": short}))
    };
    json!({
        "now": local.strftime("%Y-%m-%d %H:%M").to_string(),
        "day": weekday(local.weekday(), language).0,
        "zone": local.time_zone().iana_name().unwrap_or("UTC"),
        "offset": local.strftime("%:z").to_string(),
        "days": (0..DAYS).filter_map(day).collect::<Vec<_>>(),
    })
}

/// A weekday, long and short, in the language of the agent's texts.
fn weekday(day: Weekday, language: Option<&str>) -> (&'static str, &'static str) {
    let words = if language == Some("ru") { Language::Russian } else { Language::English }.words();
    let index = day.to_monday_zero_offset().unsigned_abs() as usize;
    (words.days.all()[index], words.short_days.all()[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_weekdays_are_given_in_the_portals_time_zone() {
        // 22:30 on Tuesday in UTC is Wednesday in Moscow.
        let now = Time::parse("2024-04-30T22:30:00Z").unwrap();
        let calendar = calendar(now, Some("Europe/Moscow"), Some("ru"));
        assert_eq!((&calendar["now"], &calendar["day"]), (&json!("2024-05-01 01:30"), &json!("среда")));
        assert_eq!(calendar["offset"], "+03:00");
        assert_eq!(calendar["days"][2], json!({"date": "2024-05-03", "day": "пятница", "short": "пт"}));
    }

    #[test]
    fn an_unknown_time_zone_is_treated_as_utc() {
        let calendar = calendar(Time(0), Some("Mars/Olympus"), None);
        assert_eq!((&calendar["zone"], &calendar["day"]), (&json!("UTC"), &json!("Thursday")));
    }
}
