//! Numbers in the forms that people write. Digits of dates, times, telephone numbers and words do not count.

use smallvec::SmallVec;

use super::calendar;
use super::decimal::Decimal;
use super::digit_run::{DigitRun, Tail};
use super::text::{is_free_after, is_free_before, is_joiner, is_of_word};

/// Digits in a folded text, with everything that belongs to the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numeral {
    /// Its start, after the sign.
    pub start: usize,
    /// Its end, including words such as `тысяч`.
    pub(super) end: usize,
    /// Its values: none if it is not a number, two if it is ambiguous, such as `1,500`.
    values: Values,
    /// The power of ten of its words.
    zeros: Option<u32>,
    /// Whether it belongs to a date or a time.
    is_calendar: bool,
}

type Values = SmallVec<[Decimal; 1]>;

impl Numeral {
    /// Whether it has this value.
    pub(crate) fn is_worth(&self, value: &Decimal) -> bool {
        self.values.contains(value)
    }

    /// Whether it is a number.
    pub(super) fn is_number(&self) -> bool {
        !self.values.is_empty()
    }

    /// Whether it belongs to a date or a time.
    pub(super) fn is_of_calendar(&self) -> bool {
        self.is_calendar
    }

    /// Whether one end of this range is inside it.
    pub(crate) fn is_cut_by(&self, start: usize, end: usize) -> bool {
        let holds = |at: usize| self.start < at && at < self.end;
        holds(start) || holds(end)
    }

    /// Whether it is a number written with exactly these digits.
    pub(crate) fn is_written(&self, text: &str, digits: &str) -> bool {
        !self.values.is_empty() && &text[self.start..self.end] == digits
    }

    fn nothing(start: usize, end: usize) -> Self {
        Self { start, end, values: Values::new(), zeros: None, is_calendar: false }
    }
}

/// All digits in a folded text, grouped into numerals.
pub fn numerals(text: &str) -> Vec<Numeral> {
    let mut found: Vec<Numeral> = Vec::new();
    let (mut from, mut run) = (0, DigitRun::default());
    while let Some(offset) = text[from..].find(|letter: char| letter.is_ascii_digit()) {
        let first = numeral_at(text, from + offset, &mut run, found.last());
        let numeral = with_lesser_parts(text, &mut run, first);
        from = numeral.end;
        found.push(numeral);
    }
    found
}

/// Groups of digits, and the separators between them.
struct Lexeme<'t> {
    end: usize,
    groups: Vec<&'t str>,
    signs: Vec<char>,
}

fn numeral_at(text: &str, start: usize, run: &mut DigitRun, before: Option<&Numeral>) -> Numeral {
    let lexeme = lexeme_at(text, start);
    let values = values_of(&lexeme, is_negative(text, start));
    if let Some(end) = phone_end(text, start, run, &lexeme, !values.is_empty()) {
        return Numeral::nothing(start, end);
    }
    let nothing = Numeral::nothing(start, lexeme.end);
    if is_calendar(text, start, &lexeme, before) {
        return Numeral { is_calendar: true, ..nothing };
    }
    // `.5` must not be read as 5. As a fraction it is uncommon, so it has no value.
    if !is_free_before(text, start) || text[..start].ends_with('.') {
        return nothing;
    }
    let (zeros, end) = match multiplier(text, lexeme.end) {
        Multiplier::None if is_free_after(text, lexeme.end) && !may_be_day(&lexeme) => {
            return Numeral { values, ..nothing };
        }
        Multiplier::None => return nothing,
        Multiplier::Unclear(end) => return Numeral { end, ..nothing },
        Multiplier::Zeros(zeros, end) => (zeros, end),
    };
    let values = values.into_iter().map(|value| value.shifted(i64::from(zeros))).collect();
    Numeral { start, end, values, zeros: Some(zeros), is_calendar: false }
}

/// Adds the lesser parts of a number: `2 млн 300 тыс` and `2 тысячи 500` are one number.
fn with_lesser_parts(text: &str, run: &mut DigitRun, mut whole: Numeral) -> Numeral {
    while let Some(unit) = whole.zeros.map(|zeros| 10_u128.pow(zeros))
        && let [value] = whole.values.as_slice()
        && let Some(sum) = value.count().filter(|sum| sum % unit == 0)
    {
        let rest = &text[whole.end..];
        let next = rest.strip_prefix('.').unwrap_or(rest).strip_prefix(' ');
        let Some(next) = next.filter(|next| next.starts_with(|letter: char| letter.is_ascii_digit())) else { break };
        let part = numeral_at(text, text.len() - next.len(), run, Some(&whole));
        let [value] = part.values.as_slice() else { break };
        let Some(count) = value.count().filter(|count| *count < unit) else { break };
        let values = std::iter::once(Decimal::from(sum + count)).collect();
        whole = Numeral { end: part.end, values, zeros: part.zeros, ..whole };
    }
    whole
}

/// Digits without blanks, and the separators between them.
fn atom_at(text: &str, start: usize) -> Lexeme<'_> {
    atom_of(text, start, usize::MAX)
}

/// At most this many groups of an atom, and the separators between them.
pub(super) fn first_groups(text: &str, start: usize, most: usize) -> (Vec<&str>, Vec<char>) {
    let Lexeme { groups, signs, .. } = atom_of(text, start, most);
    (groups, signs)
}

fn atom_of(text: &str, start: usize, most: usize) -> Lexeme<'_> {
    let (mut groups, mut signs, mut from) = (Vec::new(), Vec::new(), start);
    loop {
        let end = end_of_digits(text, from);
        groups.push(&text[from..end]);
        let mut rest = text[end..].chars();
        match (rest.next(), rest.next()) {
            (Some(sign), Some(digit)) if groups.len() < most && is_glue(sign) && digit.is_ascii_digit() => {
                signs.push(sign);
                from = end + sign.len_utf8();
            }
            _ => return Lexeme { end, groups, signs },
        }
    }
}

/// Digits with further groups of three after blanks.
fn lexeme_at(text: &str, start: usize) -> Lexeme<'_> {
    let mut lexeme = atom_at(text, start);
    // Digits that follow a letter are part of a word.
    let touches = text[..start].chars().next_back().is_some_and(is_of_word);
    if touches || !lexeme.signs.is_empty() || lexeme.groups[0].len() > 3 {
        return lexeme;
    }
    while text[lexeme.end..].starts_with(' ') && text[lexeme.end + 1..].starts_with(|next: char| next.is_ascii_digit())
    {
        let next = atom_at(text, lexeme.end + 1);
        let is_last = matches!(next.signs.as_slice(), [',' | '.']);
        if next.groups[0].len() != 3 || !(next.signs.is_empty() || is_last) {
            break;
        }
        lexeme.signs.push(' ');
        lexeme.signs.extend(next.signs);
        lexeme.groups.extend(next.groups);
        lexeme.end = next.end;
        if is_last {
            break;
        }
    }
    lexeme
}

pub(super) fn end_of_digits(text: &str, from: usize) -> usize {
    text[from..].find(|letter: char| !letter.is_ascii_digit()).map_or(text.len(), |length| from + length)
}

/// Whether a character between two digits joins them, in a number or otherwise.
fn is_glue(sign: char) -> bool {
    is_joiner(sign) || matches!(sign, ',' | '\'' | '’' | '–' | '—' | '−' | '⁄')
}

fn is_negative(text: &str, start: usize) -> bool {
    text[..start].ends_with(['-', '−'])
}

/// The values of groups of digits: groups of three with one separator, or a fraction after `,` or `.`. If both are
/// possible, both values.
fn values_of(lexeme: &Lexeme<'_>, is_negative: bool) -> Values {
    let Lexeme { groups, signs, .. } = lexeme;
    let mut values = Values::new();
    let in_threes = |groups: &[&str], signs: &[char]| {
        let first = groups[0];
        (1..=3).contains(&first.len())
            && !first.starts_with('0')
            && groups[1..].iter().all(|group| group.len() == 3)
            && signs.iter().all(|sign| *sign == signs[0] && [' ', '\'', '’', ',', '.'].contains(sign))
    };
    if signs.is_empty() || in_threes(groups, signs) {
        values.push(Decimal::new(is_negative, &groups.concat(), ""));
    }
    if let ([above @ .., point @ (',' | '.')], [whole @ .., fraction]) = (signs.as_slice(), groups.as_slice())
        && (above.is_empty() || (in_threes(whole, above) && above[0] != *point))
    {
        values.push(Decimal::new(is_negative, &whole.concat(), fraction));
    }
    values
}

/// A word after a number that multiplies it.
enum Multiplier {
    None,
    /// The number of zeros, and the end of the word.
    Zeros(u32, usize),
    /// It may be a multiplier or another word: `5 к пятнице`.
    Unclear(usize),
}

fn multiplier(text: &str, end: usize) -> Multiplier {
    let rest = &text[end..];
    let apart = rest.strip_prefix(' ');
    let rest = apart.unwrap_or(rest);
    let word = &rest[..rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len())];
    let begins = |stems: &[&str]| stems.iter().any(|stem| word.starts_with(stem));
    let zeros = match word {
        "k" | "к" | "тыс" | "thousand" => 3,
        "млн" | "mln" => 6,
        "млрд" | "bn" => 9,
        _ if begins(&["тысяч"]) => 3,
        _ if begins(&["миллион", "million"]) => 6,
        _ if begins(&["миллиард", "billion"]) => 9,
        _ => return Multiplier::None,
    };
    let end = text.len() - rest.len() + word.len();
    let goes_on = text[end..].strip_prefix(' ').is_some_and(|next| next.starts_with(char::is_alphabetic));
    if word == "к" && apart.is_some() && goes_on {
        return Multiplier::Unclear(end);
    }
    Multiplier::Zeros(zeros, end)
}

/// Whether digits belong to a date or a time, by their form or by the words around them.
fn is_calendar(text: &str, start: usize, lexeme: &Lexeme<'_>, before: Option<&Numeral>) -> bool {
    let Lexeme { end, groups, signs } = lexeme;
    if calendar::is_date(groups, signs) || calendar::is_time(groups, signs) {
        return true;
    }
    let (last, next) = (word_before(text, start), word_after(text, *end));
    if calendar::is_time_with_point(groups, signs) && calendar::announces_time(last) {
        return true;
    }
    let ([digits], Some(rest)) = (groups.as_slice(), text.get(*end..)) else { return false };
    let (is_day, is_year) = (calendar::is_day(digits), calendar::is_year(digits));
    let between = before.filter(|before| before.is_calendar).and_then(|before| text.get(before.end..start));
    let follows_hour = || between.is_some_and(|between| calendar::may_be_hour_word(between.trim()));
    (is_day && (calendar::is_month_word(next) || begins_range(rest)))
        || ((is_day || is_year) && (calendar::is_month_word(last) || calendar::is_date_word(next)))
        || (is_year && between == Some(", "))
        || (digits.len() <= 2 && calendar::says_hour(rest))
        || (digits.len() <= 2 && calendar::may_be_hour_word(next) && calendar::announces_time(last))
        || (digits.len() <= 2 && calendar::is_minute_word(next) && follows_hour())
}

/// Whether the text after a day continues a range: `с 5 по 12 мая`.
fn begins_range(rest: &str) -> bool {
    let Some(day) = [" по ", " до ", " и ", " to "].iter().find_map(|word| rest.strip_prefix(word)) else {
        return false;
    };
    let end = end_of_digits(day, 0);
    calendar::is_day(&day[..end]) && calendar::is_month_word(word_after(day, end))
}

/// Whether digits may be a day and a month. They are then not a number, unless a multiplier follows.
fn may_be_day(lexeme: &Lexeme<'_>) -> bool {
    calendar::is_day_of_month(&lexeme.groups, &lexeme.signs)
}

/// The word before a position, skipping blanks and `#`.
pub(crate) fn word_before(text: &str, start: usize) -> &str {
    let before = text[..start].trim_end_matches([' ', '#']);
    let begin = before
        .rfind(|letter| !is_of_word(letter))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    &before[begin..]
}

/// The word after one blank.
fn word_after(text: &str, end: usize) -> &str {
    let Some(rest) = text[end..].strip_prefix(' ') else { return "" };
    &rest[..rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len())]
}

/// The end of the telephone number that starts here: at least nine digits in groups that are not a number, at least
/// seven after `+`, or groups of three, two and two.
fn phone_end(text: &str, start: usize, run: &mut DigitRun, lexeme: &Lexeme<'_>, is_number: bool) -> Option<usize> {
    let has_plus = text[..start].trim_end_matches('(').ends_with('+');
    let Tail { groups, digits, first, only_blanks, has_long, end } = run.tail(text, start)?;
    let is_list = only_blanks && (digits > 15 || has_long);
    let in_groups = (groups == 3 && first == [3, 2, 2]) || (groups > 1 && digits >= 9 && !is_list);
    let is_whole_number = is_number && end <= lexeme.end;
    ((has_plus && digits >= 7) || (in_groups && !is_whole_number)).then_some(end)
}

#[cfg(test)]
mod tests;
