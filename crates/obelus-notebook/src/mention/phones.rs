//! Telephone numbers, compared by their digits: `+7 900 123-45-67`, `+79001234567` and `8 (900) 123-45-67` are equal.

use super::numbers::{Numeral, numerals};
use super::text::{is_free_after, is_free_before};

/// The least number of digits after `+`.
const LEAST_AFTER_PLUS: usize = 7;
/// The least number of digits without `+`.
const LEAST: usize = 9;
/// The greatest number of digits.
const MOST: usize = 15;
/// The number of digits of a Russian number, including the 7 or 8 at its beginning.
const RUSSIAN: usize = 11;

/// The digits of a folded text that is exactly one telephone number.
pub fn whole_phone(text: &str) -> Option<String> {
    let found = numerals(text);
    let [numeral] = found.as_slice() else { return None };
    let (start, digits) = phone(text, numeral)?;
    (start == 0 && numeral.end == text.len()).then_some(digits)
}

/// The digits of all telephone numbers in a folded text.
pub fn phones(text: &str, numerals: &[Numeral]) -> Vec<String> {
    numerals.iter().filter_map(|numeral| Some(phone(text, numeral)?.1)).collect()
}

/// The start of a telephone number, and its digits. None for an amount, a date or a time.
fn phone(text: &str, numeral: &Numeral) -> Option<(usize, String)> {
    let before = text[..numeral.start].trim_end_matches('(');
    let (start, has_plus) = match before.strip_suffix('+') {
        Some(rest) => (rest.len(), true),
        None => (before.len(), false),
    };
    let written = &text[numeral.start..numeral.end];
    let digits: String = written.chars().filter(char::is_ascii_digit).collect();
    let is_written_so = written.chars().all(|sign| sign.is_ascii_digit() || " -‐–()".contains(sign));
    let is_free = is_free_before(text, start) && is_free_after(text, numeral.end);
    if !is_written_so || !is_free || digits.len() > MOST {
        return None;
    }
    // Within Russia the prefix 8 is dialled instead of +7.
    let is_russian = !has_plus && digits.len() == RUSSIAN && digits.starts_with(['7', '8']);
    // Digits without separators may also be an amount. Codes of Russian numbers begin with 3 or more.
    let has_code = || written.len() == RUSSIAN && digits[1..].starts_with(|code: char| ('3'..='9').contains(&code));
    let is_phone = if numeral.is_number() { has_plus || (is_russian && has_code()) } else { !numeral.is_of_calendar() };
    let least = if has_plus { LEAST_AFTER_PLUS } else { LEAST };
    let digits = if is_russian { format!("7{}", &digits[1..]) } else { digits };
    (is_phone && digits.len() >= least).then_some((start, digits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::text::folded;

    #[test]
    fn a_phone_number_is_the_same_in_every_spelling() {
        for text in
            ["+7 900 123-45-67", "+79001234567", "8 (900) 123-45-67", "8 900 123 45 67", "89001234567", "79001234567"]
        {
            assert_eq!(whole_phone(&folded(text)).as_deref(), Some("79001234567"), "{text}");
        }
        assert_eq!(whole_phone("+44 20 7946 0958").as_deref(), Some("442079460958"));
        assert_eq!(whole_phone("+1234567").as_deref(), Some("1234567"));
    }

    #[test]
    fn amounts_dates_accounts_and_short_numbers_are_not_phone_numbers() {
        for text in [
            "320 000 000",
            "320000000",
            "80 000 000 000",
            "1 500 000,50",
            "123-45-67",
            "1234567",
            "+123456",
            "2026-11-16",
            "16.11.2026 11:00",
            "40702 810 9 0000 0001234",
            "192.168.100.200",
            "a+79001234567",
            "+79001234567 Maria",
            "",
        ] {
            assert_eq!(whole_phone(&folded(text)), None, "{text}");
        }
    }

    #[test]
    fn phone_numbers_are_found_in_texts() {
        let text = folded("Контакт Мария, тел. +7 900 123-45-67, сделка на 320 000 000, счёт 40702810900000001234");
        assert_eq!(phones(&text, &numerals(&text)), ["79001234567"]);
    }
}
