//! Finds names of rows in the user's messages: the same word, or the same word with another ending.

use unicode_normalization::UnicodeNormalization;

use super::text::{is_free, words};

/// How well two words match; greater is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordMatch {
    /// They have this many letters in common, and different endings.
    Shared(usize),
    /// They are equal.
    Equal,
}

/// How well two folded words match. They match if they are equal, or have at least three letters in common and differ
/// like endings: one letter is added (`Иван`, `Ивану`), or the last one or two of each differ (`Дарья`, `Дарье`). The
/// different part begins with a vowel, `й` or `ь`. Words with changing stems do not match (`Павел`, `Павлу`).
pub(crate) fn word_match(one: &str, other: &str) -> Option<WordMatch> {
    if one == other {
        return Some(WordMatch::Equal);
    }
    if script(one)? != script(other)? {
        return None;
    }
    let pairs = one.char_indices().zip(other.chars());
    let same = pairs.take_while(|((_, a), b)| a == b);
    let (shared, bytes) = same.fold((0, 0), |(count, _), ((at, letter), _)| (count + 1, at + letter.len_utf8()));
    let (one, other) = (&one[bytes..], &other[bytes..]);
    let is_ending = |ending: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&ending.chars().count()) && ending.chars().next().is_some_and(begins_ending)
    };
    let fits = match (one.is_empty(), other.is_empty()) {
        (true, _) => is_ending(other, 1..=1),
        (_, true) => is_ending(one, 1..=1),
        _ => is_ending(one, 1..=2) && is_ending(other, 1..=2),
    };
    (shared >= 3 && fits).then_some(WordMatch::Shared(shared))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Cyrillic,
}

/// The script of a word, if all its letters are of one script.
fn script(word: &str) -> Option<Script> {
    let of = |letter: char| match letter {
        'a'..='z' | '\u{df}'..='\u{f6}' | '\u{f8}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Some(Script::Latin),
        '\u{430}'..='\u{45f}' | '\u{460}'..='\u{481}' | '\u{48a}'..='\u{52f}' => Some(Script::Cyrillic),
        _ => None,
    };
    let mut all = word.chars().map(of);
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

fn begins_ending(letter: char) -> bool {
    // An accented vowel is a vowel, but `й` is not `и`.
    let plain = if letter == 'й' { letter } else { letter.nfd().next().unwrap_or(letter) };
    matches!(
        plain,
        'a' | 'e' | 'i' | 'o' | 'u' | 'а' | 'е' | 'и' | 'о' | 'у' | 'ы' | 'э' | 'ю' | 'я' | 'і' | 'є' | 'й' | 'ь'
    )
}

/// The places in a folded text at which all words of a part of a name follow one another, with the match of each word.
pub fn mentions<'t>(text: &'t str, part: &str) -> Vec<Vec<(&'t str, WordMatch)>> {
    let named: Vec<(usize, &str)> = words(part).collect();
    let written: Vec<(usize, &str)> = words(text).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let fits = |written: &[(usize, &'t str)]| -> Option<Vec<(&'t str, WordMatch)>> {
        let (first, last) = (written.first()?, written.last()?);
        let is_whole = is_free(text, first.0, last.0 + last.1.len());
        let pairs = written.iter().zip(&named);
        let each = pairs
            .map(|(written, name)| Some((written.1, word_match(written.1, name.1)?)))
            .collect::<Option<Vec<_>>>()?;
        let together = written.windows(2).zip(named.windows(2));
        let together =
            together.into_iter().all(|(written, name)| are_together(between(text, written), between(part, name)));
        (is_whole && together).then_some(each)
    };
    written.windows(named.len()).filter_map(fits).collect()
}

/// The text between two words.
fn between<'t>(text: &'t str, pair: &[(usize, &str)]) -> &'t str {
    &text[pair[0].0 + pair[0].1.len()..pair[1].0]
}

/// Whether two words with this text between them belong together: no end of a sentence or list separator is between
/// them, unless the name has the same.
fn are_together(written: &str, named: &str) -> bool {
    written == named || !(written.contains([',', ';', '!', '?']) || written.contains(". "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::text::folded;

    fn fits(one: &str, other: &str) -> Option<WordMatch> {
        let (one, other) = (folded(one), folded(other));
        assert_eq!(word_match(&one, &other), word_match(&other, &one), "it holds both ways");
        word_match(&one, &other)
    }

    #[test]
    fn words_match_if_only_their_endings_differ() {
        for (one, other) in [
            ("Дарья", "Дарье"),
            ("Дарья", "Дарьей"),
            ("Иван", "Ивану"),
            ("Орлов", "Орлова"),
            ("Орлова", "Орловой"),
            ("Андрей", "Андрею"),
            ("Игорь", "Игорем"),
            ("Анна", "Анной"),
            ("Алёна", "Алене"),
            ("Ромашка", "Ромашкой"),
            ("Julia", "Julie"),
            ("Ivan", "Ivana"),
            ("Márta", "Mártá"),
        ] {
            assert!(matches!(fits(one, other), Some(WordMatch::Shared(_))), "{one} {other}");
        }
        assert_eq!(fits("Дарья", "ДАРЬЯ"), Some(WordMatch::Equal));
        assert_eq!(fits("A1", "a1"), Some(WordMatch::Equal));
    }

    #[test]
    fn different_words_do_not_match() {
        for (one, other) in [
            ("Павел", "Павлу"),
            ("Яна", "Яне"),
            ("Иван", "Иванов"),
            ("Иван", "Иваном"),
            ("Julia", "Julian"),
            ("Дарья", "Мария"),
            ("Анна", "Аня"),
            ("Роман", "Рома́н2"),
            ("Ivan", "Иван"),
            ("Ivаn", "Ivane"),
            ("Окна1", "Окна2"),
            ("Орлова", "Орловским"),
        ] {
            assert_eq!(fits(one, other), None, "{one} {other}");
        }
    }

    #[test]
    fn equal_is_nearer_than_shared_and_more_letters_are_nearer_than_fewer() {
        assert!(fits("Иванова", "Иванова") > fits("Иванова", "Иванову"));
        assert!(fits("Орлову", "Орлова") > fits("Орлу", "Орла"));
    }

    #[test]
    fn all_words_of_a_part_stand_one_after_another() {
        let mentioned = |text: &str, part: &str| !mentions(&folded(text), &folded(part)).is_empty();
        for (text, part) in [
            ("поставь Дарье задачу", "Дарья"),
            ("напиши в ООО «Ромашка»", "ООО «Ромашка»"),
            ("напиши в ООО Ромашка.", "ООО «Ромашка»"),
            ("Анне-Марии", "Анна-Мария"),
            ("для Иванов И.И.", "Иванов И.И."),
            ("Дарье, Ивану", "Иван"),
        ] {
            assert!(mentioned(text, part), "{part} in {text}");
        }
        for (text, part) in [
            ("напиши в Ромашку", "ООО «Ромашка»"),
            ("Ромашка ООО", "ООО Ромашка"),
            ("ООО. Ромашка", "ООО Ромашка"),
            ("Анне, Марии", "Анна Мария"),
            ("Анне-Марии", "Анна"),
            ("darya@example.test", "Darya"),
            ("не Дарьюшке", "Дарья"),
            ("поставь задачу", ""),
            ("поставь задачу", "—"),
        ] {
            assert!(!mentioned(text, part), "{part} in {text}");
        }
    }
}
