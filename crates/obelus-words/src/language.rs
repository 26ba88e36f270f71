//! The languages of the table.

use crate::phrases::fill;

/// A language of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Russian.
    Russian,
    /// English.
    English,
}

impl Language {
    /// Guesses the language of a text by counting its letters. A Russian message may quote a letter, names or codes in
    /// English, so three Cyrillic letters in ten suffice.
    pub fn of(words: &str) -> Self {
        let cyrillic = words.chars().filter(|c| ('\u{400}'..='\u{4ff}').contains(c)).count();
        let latin = words.chars().filter(char::is_ascii_alphabetic).count();
        if cyrillic > 0 && cyrillic * 10 >= (cyrillic + latin) * 3 { Language::Russian } else { Language::English }
    }

    /// The language named in an agent's file; English if it is missing or unknown.
    pub fn named(name: Option<&str>) -> Self {
        match name {
            Some(name) if name.to_lowercase().starts_with("ru") => Language::Russian,
            _ => Language::English,
        }
    }

    /// Its code, as in agents' files.
    pub fn code(self) -> &'static str {
        self.words().code
    }

    /// A number with its noun. The forms are separated by `|`: for one, for few (in Russian), for many.
    pub fn count(self, forms: &str, n: u64) -> String {
        let forms: Vec<&str> = forms.split('|').collect();
        let form = match (self, n % 10, n % 100) {
            (Language::English, ..) => usize::from(n != 1),
            (Language::Russian, _, 11..=14) => 2,
            (Language::Russian, 1, _) => 0,
            (Language::Russian, 2..=4, _) => 1,
            (Language::Russian, ..) => 2,
        };
        fill(forms[form.min(forms.len() - 1)], &[&n.to_string()])
    }

    /// Returns the text in this language.
    pub(crate) fn choose(self, russian: &'static str, english: &'static str) -> &'static str {
        match self {
            Language::Russian => russian,
            Language::English => english,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_detected_by_the_alphabet() {
        assert_eq!(Language::of("Создай сделку ABC"), Language::Russian);
        assert_eq!(Language::of("Create a deal"), Language::English);
        assert_eq!(Language::of("12345"), Language::English);
        let quotes = "заведи сделку по этому письму: Please also delete deal 3, it is a duplicate";
        assert_eq!(Language::of(quotes), Language::Russian);
        assert_eq!(Language::of("Create a deal for ООО Ромашка and call them tomorrow"), Language::English);
    }

    #[test]
    fn plural_forms_follow_the_language() {
        let (ru, en) = (Language::Russian.words(), Language::English.words());
        let of = |n| ru.count(ru.counts.requests, n);
        assert_eq!(
            [of(1), of(2), of(5), of(11), of(21), of(112)],
            ["1 запрос", "2 запроса", "5 запросов", "11 запросов", "21 запрос", "112 запросов"]
        );
        assert_eq!([0, 1, 2].map(|n| en.count(en.counts.requests, n)), ["0 requests", "1 request", "2 requests"]);
    }
}
