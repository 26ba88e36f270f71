//! Phone numbers in a text, distinguished from amounts, dates and ids by their form.

use super::{PHONE, replaced};

/// Words in the name of a field that holds phone numbers.
const NAMES: [&str; 9] = ["phone", "phones", "mobile", "tel", "telephone", "fax", "whatsapp", "viber", "телефон"];

/// Digits in the shortest phone number.
const FEWEST_DIGITS: usize = 7;

/// Digits in the longest phone number. The scan stops there, so that its time is linear.
const MOST_DIGITS: usize = 17;

/// The text without phone numbers; none if it has none.
pub(super) fn masked(text: &str) -> Option<String> {
    // Most texts have fewer digits; counting them is fast.
    if text.bytes().filter(u8::is_ascii_digit).count() < FEWEST_DIGITS {
        return None;
    }
    let mut found = Vec::new();
    let mut at = 0;
    let begins = |byte: u8| byte.is_ascii_digit() || byte == b'+' || byte == b'(';
    while let Some(begin) = text.bytes().skip(at).position(begins).map(|next| at + next) {
        let before = &text[..begin];
        let length = if may_begin(before) { phone_length(&text[begin..], follows_digits(before)) } else { None };
        at = match length {
            Some(length) => {
                found.push((begin, begin + length));
                begin + length
            }
            None if !text[begin..].starts_with(|c: char| c.is_ascii_digit()) => begin + 1,
            // The next number can begin only after the rest of this one.
            None => {
                let rest = &text[begin + 1..];
                begin + 1 + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
            }
        };
    }
    replaced(text, &found, PHONE)
}

/// Whether the field's name says that it holds phone numbers.
pub(super) fn names_one(name: &str) -> bool {
    let (mut last, mut was_lower) = (0, false);
    for (at, c) in name.char_indices() {
        if !c.is_alphanumeric() {
            last = at + c.len_utf8();
        } else if c.is_uppercase() && was_lower {
            last = at;
        }
        was_lower = c.is_lowercase();
    }
    let last = &name[last..];
    if last.is_ascii() {
        NAMES.iter().any(|word| last.eq_ignore_ascii_case(word))
    } else {
        NAMES.iter().any(|word| last.chars().flat_map(char::to_lowercase).eq(word.chars()))
    }
}

/// Whether this would be a phone number in a field for one.
pub(super) fn could_be(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_part = |c: char| c.is_ascii_digit() || c.is_whitespace() || "+-()./,–‑".contains(c);
    (5..=20).contains(&digits) && text.chars().all(is_part)
}

/// Whether a number is a complete phone number of this country, written without separators.
pub(super) fn is_plain(number: u64) -> bool {
    (10_000_000_000..100_000_000_000).contains(&number) && phone_length(&number.to_string(), false) == Some(11)
}

/// Whether a phone number can begin after this text. After `№` and `#` comes another kind of number; after letters,
/// digits and strokes, the rest of something.
fn may_begin(before: &str) -> bool {
    let mut back = before.chars().rev();
    match back.next() {
        None => true,
        Some('.' | ',') => !back.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !c.is_alphanumeric() && !['_', '-', '#', '№', '+', '$', '€', '₽'].contains(&c),
    }
}

/// Whether the text ends with digits and blanks, so that what follows may be the rest of an amount.
fn follows_digits(before: &str) -> bool {
    let front = before.trim_end();
    front.len() < before.len() && front.ends_with(|c: char| c.is_ascii_digit())
}

/// A number in groups.
struct GroupedNumber {
    has_plus: bool,
    has_brackets: bool,
    /// Whether there are separators other than blanks.
    has_strokes: bool,
    /// The digits of each group, and its end in the text.
    groups: Vec<(String, usize)>,
}

/// The length of the phone number at the start of a text. With `is_rest` it may be the rest of another number.
fn phone_length(text: &str, is_rest: bool) -> Option<usize> {
    let whole = groups(text);
    // Another number may follow: the longest prefix that is a phone number counts.
    (1..=whole.groups.len()).rev().find_map(|count| {
        let (_, end) = whole.groups[count - 1];
        let part = groups(&text[..end]);
        (is_phone(&part, is_rest) && !goes_on(&text[end..])).then_some(end)
    })
}

/// Whether the word continues, so that it is not a phone number.
fn goes_on(after: &str) -> bool {
    let mut next = after.chars();
    match next.next() {
        Some('.' | ',' | '-') => next.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => c.is_ascii_alphanumeric() || c == '_' || c == '%' || c == '₽' || c == '€',
        None => false,
    }
}

fn groups(text: &str) -> GroupedNumber {
    let mut written = GroupedNumber { has_plus: false, has_brackets: false, has_strokes: false, groups: Vec::new() };
    let (mut between, mut digits) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            // One more digit shows that it is too long.
            '0'..='9' if digits <= MOST_DIGITS => {
                digits += 1;
                match written.groups.last_mut() {
                    Some(last) if between == 0 => last.0.push(c),
                    _ => written.groups.push((c.to_string(), 0)),
                }
                if let Some(last) = written.groups.last_mut() {
                    last.1 = at + 1;
                }
                between = 0;
            }
            '+' if at == 0 => written.has_plus = true,
            '(' | ')' | ' ' | '\u{a0}' | '\u{202f}' | '-' | '\u{2011}' | '–' | '.' if between < 3 => {
                between += 1;
                written.has_brackets |= c == '(';
                written.has_strokes |= ['-', '\u{2011}', '–', '.'].contains(&c);
            }
            _ => break,
        }
    }
    written
}

fn is_phone(number: &GroupedNumber, is_rest: bool) -> bool {
    let shape: Vec<usize> = number.groups.iter().map(|(digits, _)| digits.len()).collect();
    let digits: String = number.groups.iter().map(|(digits, _)| digits.as_str()).collect();
    let is_spaced = !number.has_strokes && !number.has_brackets;
    // An amount: groups of three after the first.
    let is_amount = is_spaced && shape.len() > 1 && shape[0] <= 3 && shape[1..].iter().all(|length| *length == 3);
    if number.has_plus {
        return (8..=15).contains(&digits.len()) && !(is_amount && digits.len() < 10) && !digits.starts_with('0');
    }
    if is_amount {
        return false;
    }
    if number.has_brackets {
        return matches!(digits.len(), 10 | 11) && shape.iter().all(|length| *length <= 7);
    }
    match (digits.len(), &shape[..]) {
        // Russia and Kazakhstan: 8 or 7, the area or operator code, the number.
        (11, [11] | [1, 10] | [1, 3, 7] | [4, 7] | [1, 3, 3, 4] | [4, 3, 4] | [1, 3, 3, 2, 2] | [4, 3, 2, 2])
        | (11, [1, 3, 2, 2, 3] | [1, 3, 2, 3, 2] | [1, 4, 2, 2, 2] | [1, 4, 6] | [1, 5, 5] | [1, 5, 1, 2, 2]) => {
            digits.starts_with(['7', '8']) && digits[1..].starts_with(['3', '4', '6', '7', '8', '9'])
                || digits.starts_with('1') && shape == [1, 3, 3, 4]
        }
        _ if is_rest => false,
        (10, [3, 3, 2, 2] | [3, 3, 4]) => true,
        (7, [3, 2, 2]) => number.has_strokes,
        // International prefix.
        (10..=17, [_, _, ..]) => digits.starts_with("00") && !digits.starts_with("000"),
        _ => false,
    }
}
