//! Dates and times. Their digits do not count as numbers or telephone numbers.

/// Whether digits with separators are a date, such as `12.05.2026`, `2026-05-12`, `12/5/26`.
pub(super) fn is_date(groups: &[&str], signs: &[char]) -> bool {
    let [first, second, third] = groups else { return false };
    let [sign, other] = signs else { return false };
    if sign != other || !['.', '-', '/'].contains(sign) {
        return false;
    }
    let day_and_month = |one: &str, other: &str| is_day(one) && is_month(other) || is_month(one) && is_day(other);
    match (first.len(), second.len(), third.len()) {
        (4, ..) => is_year(first) && is_month(second) && is_day(third),
        (.., 4) => is_year(third) && day_and_month(first, second),
        (.., 2) => day_and_month(first, second),
        _ => false,
    }
}

/// Whether digits with a separator may be a day and a month: `12.05`.
pub(super) fn is_day_of_month(groups: &[&str], signs: &[char]) -> bool {
    matches!((groups, signs), ([day, month], ['.']) if month.len() == 2 && is_day(day) && is_month(month))
}

/// Whether digits with separators are a time: `15:30`, `9:05:00`.
pub(super) fn is_time(groups: &[&str], signs: &[char]) -> bool {
    let below = |text: &str, most: u32| text.len() <= 2 && text.parse::<u32>().is_ok_and(|number| number < most);
    let [hour, rest @ ..] = groups else { return false };
    (1..=2).contains(&rest.len())
        && below(hour, 25)
        && rest.iter().all(|part| part.len() == 2 && below(part, 60))
        && signs.iter().all(|sign| *sign == ':')
}

/// Whether digits with a point may be a time: `15.30`.
pub(super) fn is_time_with_point(groups: &[&str], signs: &[char]) -> bool {
    matches!(signs, ['.']) && is_time(groups, &[':'])
}

/// Whether digits may be the day of a month.
pub(super) fn is_day(text: &str) -> bool {
    text.len() <= 2 && text.parse::<u32>().is_ok_and(|day| (1..=31).contains(&day))
}

fn is_month(text: &str) -> bool {
    text.len() <= 2 && text.parse::<u32>().is_ok_and(|month| (1..=12).contains(&month))
}

/// Whether digits may be a year between 1900 and 2099.
pub(super) fn is_year(text: &str) -> bool {
    text.len() == 4 && text.parse::<u32>().is_ok_and(|year| (1900..2100).contains(&year))
}

/// Whether a folded word is the name of a month.
pub(super) fn is_month_word(word: &str) -> bool {
    const STEMS: [&str; 11] =
        ["январ", "феврал", "март", "апрел", "июн", "июл", "август", "сентябр", "октябр", "ноябр", "декабр"];
    const WORDS: &str = "jan feb mar apr may jun jul aug sep sept oct nov dec \
        january february march april june july august september october november december \
        янв фев мар апр май мая мае маю авг сен сент окт ноя дек";
    STEMS.iter().any(|stem| word.starts_with(stem)) || WORDS.split(' ').any(|known| known == word)
}

/// Whether a word after a number marks it as a day or a year.
pub(super) fn is_date_word(word: &str) -> bool {
    const WORDS: [&str; 12] =
        ["число", "числа", "числу", "числе", "г", "гг", "год", "года", "году", "годом", "годе", "годы"];
    WORDS.contains(&word)
}

/// Whether the text after a number marks it as an hour, whatever precedes it.
pub(super) fn says_hour(rest: &str) -> bool {
    let rest = rest.trim_start_matches(' ');
    let word = rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    matches!(word, "утра" | "вечера" | "ночи" | "am" | "pm")
        || ["a.m", "p.m", "o'clock", "o’clock"].iter().any(|form| rest.starts_with(form))
}

/// Whether a word after a number may mark it as an hour, depending on the word before: `в 3 дня`, but not `на 3 дня`.
pub(super) fn may_be_hour_word(word: &str) -> bool {
    matches!(word, "дня" | "ч" | "час" | "часа" | "часов" | "часам" | "hours" | "hour" | "h")
}

/// Whether a word before a number announces a time.
pub(super) fn announces_time(word: &str) -> bool {
    const WORDS: [&str; 13] =
        ["в", "к", "до", "с", "после", "около", "at", "by", "from", "until", "till", "before", "after"];
    WORDS.contains(&word)
}

/// Whether a word after a number marks it as minutes.
pub(super) fn is_minute_word(word: &str) -> bool {
    matches!(word, "мин" | "min") || word.starts_with("минут") || word.starts_with("minute")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits and the separators between them.
    fn parts(text: &str) -> (Vec<&str>, Vec<char>) {
        let is_sign = |letter: char| !letter.is_ascii_digit();
        (text.split(is_sign).collect(), text.chars().filter(|letter| is_sign(*letter)).collect())
    }

    #[test]
    fn dates_are_recognised_by_their_form() {
        for (text, expected) in [
            ("12.05.2026", true),
            ("2026-05-12", true),
            ("12/5/26", true),
            ("5/12/2026", true),
            ("5/31/2026", true),
            ("31.12.99", true),
            ("32.05.2026", false),
            ("12.05-2026", false),
            ("12.05", false),
            ("192.168.1.1", false),
            ("1.500.000", false),
            ("2026-13-40", false),
            ("495-12-345", false),
        ] {
            let (groups, signs) = parts(text);
            assert_eq!(is_date(&groups, &signs), expected, "{text}");
        }
    }

    #[test]
    fn times_are_recognised_by_their_form() {
        for (text, expected) in [("15:30", true), ("9:05:00", true), ("25:00", false), ("1:5", false), ("15.30", false)]
        {
            let (groups, signs) = parts(text);
            assert_eq!(is_time(&groups, &signs), expected, "{text}");
        }
        let (groups, signs) = parts("15.30");
        assert!(is_time_with_point(&groups, &signs) && !is_day_of_month(&groups, &signs));
        let (groups, signs) = parts("12.05");
        assert!(is_day_of_month(&groups, &signs));
    }

    #[test]
    fn months_are_recognised_by_name() {
        for word in ["мая", "май", "январь", "декабря", "may", "june", "sept"] {
            assert!(is_month_word(word), "{word}");
        }
        for word in ["майя", "рублей", "mayor", "decide", "марка"] {
            assert!(!is_month_word(word), "{word}");
        }
    }
}
