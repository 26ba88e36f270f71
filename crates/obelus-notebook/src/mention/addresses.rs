//! Addresses in texts: URLs, e-mail addresses, bank accounts, telephone numbers.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::calendar;
use super::text::is_invisible;

/// An address in a folded text, normalised for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A URL without `http(s)://` and the last `/`, or an e-mail address.
    Words(String),
    /// The digits of a telephone number or an account, or the digits and letters of an IBAN.
    Number(String),
}

/// Characters at the end that belong to the sentence or a bracket, not to the address.
const TRAILING: [char; 18] =
    ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '’', '*', '_', '…', '»', '”', '|', '`'];
/// Characters that end an address, besides white space.
const QUOTES: [char; 8] = ['<', '>', '"', '«', '»', '“', '”', '„'];
/// Further characters that end an e-mail address.
const AROUND_MAIL: [char; 10] = ['(', ')', '[', ']', '{', '}', ',', ';', ':', '\\'];

/// A Latin host name, or four numbers, with a path.
static HOST_WITH_PATH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}|[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?::[0-9]+)?[/\\][^\s<>"«»“”„]*"#,
    )
});
/// Two letters, two digits and groups of four, as accounts are written in most countries.
static IBAN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[a-z]{2}[0-9]{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,3})?"));
/// Digits with at most three separators between them.
static DIGITS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\+?[(]?[0-9](?:[ \-‐–./()\[\]]{0,3}[0-9])*"));
/// Digits with the separators of dates and times between them.
static CALENDAR: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9]+(?:[.\-/:][0-9]+)+"));

/// The least number of letters and digits of an IBAN.
const LEAST_OF_IBAN: usize = 15;
/// The least number of digits among them.
const LEAST_DIGITS_OF_IBAN: usize = 8;
/// The least number of digits of a telephone number or an account.
const LEAST_DIGITS: usize = 9;
/// The same after `+`.
const LEAST_DIGITS_AFTER_PLUS: usize = 7;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// All addresses in a folded text.
pub fn addresses(text: &str) -> Vec<Address> {
    // Invisible characters are removed, because some programs drop them.
    let text: String = text.chars().filter(|letter| !is_invisible(*letter)).collect();
    let mut found = Found { rest: text, addresses: Vec::new() };
    found.take_urls();
    found.take_mail();
    found.take_hosts();
    found.take_ibans();
    found.take_digits();
    found.addresses
}

/// A URL without `http(s)://` and the last `/`.
pub(crate) fn plain_url(url: &str) -> &str {
    let url = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or(url);
    url.strip_suffix('/').unwrap_or(url)
}

/// Only the letters and digits.
pub(crate) fn compact(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

/// The addresses found so far, and the text with blanks in their places.
struct Found {
    rest: String,
    addresses: Vec<Address>,
}

impl Found {
    fn take(&mut self, range: Range<usize>, address: Address) {
        self.rest.replace_range(range.clone(), &" ".repeat(range.len()));
        self.addresses.push(address);
    }

    /// Takes URLs, with `://` or `www.`, up to white space or a quotation mark. Brackets and commas may belong to a
    /// URL.
    fn take_urls(&mut self) {
        for token in tokens(&self.rest, |letter| QUOTES.contains(&letter)) {
            let text = &self.rest[token.clone()];
            let is_of_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+.-".contains(letter);
            let scheme = text.find("://").map(|at| text[..at].trim_end_matches(is_of_scheme).len());
            let Some(start) = scheme.into_iter().chain(text.find("www.")).min() else { continue };
            let url = plain_url(text[start..].trim_end_matches(TRAILING)).to_owned();
            self.take(token.start + start..token.end, Address::Words(url));
        }
    }

    /// Takes e-mail addresses, with `@` between other characters. The host stays in the text, because a path may follow
    /// it.
    fn take_mail(&mut self) {
        let has_word = |side: &str| side.contains(char::is_alphanumeric);
        for token in tokens(&self.rest, |letter| QUOTES.contains(&letter) || AROUND_MAIL.contains(&letter)) {
            let text = self.rest[token.clone()].trim_end_matches(TRAILING);
            let Some(at) = text.rfind('@') else { continue };
            let end = text[at..].find(['/', '?', '#']).map_or(text.len(), |length| at + length);
            let address = text[..end].trim_end_matches(TRAILING).to_owned();
            if has_word(&text[..at]) && has_word(&text[at..end]) {
                self.take(token.start..token.start + at + 1, Address::Words(address));
            }
        }
    }

    fn take_hosts(&mut self) {
        for range in ranges(&HOST_WITH_PATH, &self.rest) {
            let url = plain_url(self.rest[range.clone()].trim_end_matches(TRAILING)).to_owned();
            self.take(range, Address::Words(url));
        }
    }

    fn take_ibans(&mut self) {
        let is_apart = |text: &str, range: &Range<usize>| {
            let (before, after) = (text[..range.start].chars().next_back(), text[range.end..].chars().next());
            !before.into_iter().chain(after).any(char::is_alphanumeric)
        };
        for range in ranges(&IBAN, &self.rest) {
            let number = compact(&self.rest[range.clone()]);
            let is_long = number.len() >= LEAST_OF_IBAN && is_apart(&self.rest, &range);
            if is_long && number.bytes().filter(u8::is_ascii_digit).count() >= LEAST_DIGITS_OF_IBAN {
                self.take(range, Address::Number(number));
            }
        }
    }

    fn take_digits(&mut self) {
        for range in ranges(&DIGITS, &self.rest) {
            let text = &self.rest[range.clone()];
            let count = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
            let least = if text.starts_with('+') { LEAST_DIGITS_AFTER_PLUS } else { LEAST_DIGITS };
            if count(text) >= least && count(&without_calendar(&self.rest, range.clone())) >= least {
                let number = text.chars().filter(char::is_ascii_digit).collect();
                self.take(range, Address::Number(number));
            }
        }
    }
}

/// A part of a text with blanks instead of dates and times. A time may continue after the part, which ends at its `:`.
fn without_calendar(text: &str, range: Range<usize>) -> String {
    let mut rest = text[range.clone()].to_owned();
    for found in ranges(&CALENDAR, text).into_iter().filter(|found| found.start < range.end) {
        let form = &text[found.clone()];
        let groups: Vec<&str> = form.split(['.', '-', '/', ':']).collect();
        let signs: Vec<char> = form.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        if found.start < range.start || !(calendar::is_date(&groups, &signs) || calendar::is_time(&groups, &signs)) {
            continue;
        }
        let (start, end) = (found.start - range.start, (found.end - range.start).min(rest.len()));
        rest.replace_range(start..end, &" ".repeat(end - start));
    }
    rest
}

/// All places of a pattern in a text.
fn ranges(pattern: &Regex, text: &str) -> Vec<Range<usize>> {
    pattern.find_iter(text).map(|found| found.range()).collect()
}

/// The parts of a text between blanks and other separators.
fn tokens(text: &str, parts: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let mut start = 0;
    let ends = text.char_indices().filter(|(_, letter)| *letter == ' ' || parts(*letter));
    let ends = ends.map(|(at, letter)| (at, at + letter.len_utf8())).chain([(text.len(), text.len())]);
    ends.map(|(end, next)| std::mem::replace(&mut start, next)..end).filter(|token| !token.is_empty()).collect()
}

#[cfg(test)]
mod tests;
