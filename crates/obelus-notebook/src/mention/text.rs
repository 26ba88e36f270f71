//! Normalises texts for comparison, and finds whole words in them.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::digits::ascii_digit;

/// A text after NFKC and case folding, with `ё` as `е`, and with `№` and white space as one blank. Full stops and
/// digits of other scripts become ASCII, because readers and browsers treat them as equal. It has no blanks at its
/// ends.
pub fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    if text.is_ascii() {
        text.chars().for_each(|letter| push(&mut folded, letter.to_ascii_lowercase()));
    } else {
        let plain = text.chars().map(|letter| if letter == '№' { ' ' } else { letter });
        plain.nfkc().for_each(|letter| fold(letter, &mut folded));
    }
    folded.truncate(folded.trim_end_matches(' ').len());
    folded
}

/// Case folding: letters with the same capital become equal, and `ß` becomes `ss`.
fn fold(letter: char, folded: &mut String) {
    match letter {
        // A letter of its own, although its capital is that of `i`.
        'ı' => push(folded, letter),
        _ => letter.to_uppercase().flat_map(char::to_lowercase).for_each(|letter| push(folded, letter)),
    }
}

fn push(folded: &mut String, letter: char) {
    match letter {
        letter if letter.is_whitespace() => {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        }
        'ё' => folded.push('е'),
        // Browsers accept this full stop as a dot in a host name, and NFKC does not change it.
        '。' => folded.push('.'),
        letter if !letter.is_ascii() && letter.is_numeric() => folded.push(ascii_digit(letter).unwrap_or(letter)),
        letter => folded.push(letter),
    }
}

/// Characters that connect a word with the letters or digits beyond them: `olga` is not a word of
/// `not-olga@example.test`.
const JOINERS: [char; 15] = ['.', '-', '_', '@', '/', '\\', ':', '+', '&', '=', '#', '%', '~', '?', '\u{2010}'];

pub(super) fn is_joiner(letter: char) -> bool {
    JOINERS.contains(&letter)
}

/// Whether a character is part of a word. Invisible characters and accents belong to the word around them.
pub(super) fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || is_invisible(letter) || matches!(letter, '\u{300}'..='\u{36f}')
}

/// Whether a character has no width, so that readers do not see it inside a word.
pub(super) fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Whether no letter or digit touches this part of a text, directly or across one joiner.
pub(super) fn is_free(text: &str, start: usize, end: usize) -> bool {
    is_free_before(text, start) && is_free_after(text, end)
}

/// The same for the start of a part.
pub(super) fn is_free_before(text: &str, start: usize) -> bool {
    is_apart(text[..start].chars().rev())
}

/// The same for the end of a part.
pub(super) fn is_free_after(text: &str, end: usize) -> bool {
    is_apart(text[end..].chars())
}

fn is_apart(mut outward: impl Iterator<Item = char>) -> bool {
    match outward.next() {
        Some(next) if is_of_word(next) => false,
        Some(next) if is_joiner(next) => !outward.next().is_some_and(is_of_word),
        _ => true,
    }
}

/// All places where a part occurs in a text as whole words.
pub fn whole_words<'t>(text: &'t str, part: &'t str) -> impl Iterator<Item = (usize, usize)> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        while !part.is_empty() && from < text.len() {
            let start = from + text[from..].find(part)?;
            from = start + part.chars().next().map_or(1, char::len_utf8);
            if is_free(text, start, start + part.len()) {
                return Some((start, start + part.len()));
            }
        }
        None
    })
}

/// The words of a text, with their offsets: runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(is_of_word)?;
        let length = text[start..].find(|letter| !is_of_word(letter)).unwrap_or(text.len() - start);
        from = start + length;
        Some((start, &text[start..from]))
    })
}

/// Visits every text in a value.
pub(crate) fn each_text(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(fields) => fields.values().for_each(|inner| each_text(inner, visit)),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::String(text) => visit(text),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_folded_to_one_form() {
        for (text, form) in [
            ("Ёлка", "елка"),
            ("ЕЛКА  и\t\nёж ", "елка и еж"),
            ("сделка №41", "сделка 41"),
            ("№ 41", "41"),
            ("ｏｌｇａ＠example․test", "olga@example.test"),
            ("1\u{a0}000", "1 000"),
            ("STRASSE Straße", "strasse strasse"),
            ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
            ("е\u{308}ж", "еж"),
            ("ﬁn", "fin"),
            ("٤١ ۴۱ ４１ ४१", "41 41 41 41"),
            ("evil。test．a｡b", "evil.test.a.b"),
            ("ı", "ı"),
            ("  ", ""),
        ] {
            assert_eq!(folded(text), form, "{text:?}");
        }
    }

    #[test]
    fn a_part_is_found_only_as_whole_separate_words() {
        let stands = |text: &str, part: &str| whole_words(&folded(text), &folded(part)).next().is_some();
        for (text, part) in [
            ("на olga@example.test, пожалуйста", "olga@example.test"),
            ("Напиши на olga@example.test.", "olga@example.test"),
            ("сделка «Окна»", "окна"),
            ("https://shop.example.test/", "shop.example.test"),
            ("(Окна)", "Окна"),
            ("Окна - двери", "двери"),
            ("ab abc", "abc"),
        ] {
            assert!(stands(text, part), "{part} in {text}");
        }
        for (text, part) in [
            ("not-olga@example.test", "olga@example.test"),
            ("olga@example.test.evil", "olga@example.test"),
            ("olga@example.test", "olga"),
            ("olga@example.test", "example.test"),
            ("окнами", "окна"),
            ("https://shop.example.test/a", "shop.example.test"),
            ("a\\b", "b"),
            ("x=окна", "окна"),
            ("окна\u{200b}м", "окна"),
            ("окна", "двери"),
            ("окна", ""),
        ] {
            assert!(!stands(text, part), "{part} in {text}");
        }
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let text = folded("ООО «Ромашка-2», Дарья");
        assert_eq!(words(&text).map(|(_, word)| word).collect::<Vec<_>>(), ["ооо", "ромашка", "2", "дарья"]);
    }
}
