//! Detects quotations of the shown page.

use std::collections::HashMap;

/// The number of consecutive words of the page that make a quotation. Numbers, dates and codes do not count: a short
/// fact has several of them, and they cannot be rephrased.
const MOST_WORDS: usize = 12;

/// The minimum number of characters of a quotation.
const MOST_CHARACTERS: usize = 80;

/// A text as lower-case words of letters and digits, without punctuation and spaces.
pub(super) struct WordList(Vec<String>);

impl WordList {
    pub(super) fn of(text: &str) -> Self {
        let mut all = Vec::new();
        each_token(text, |token| all.push(token.to_owned()));
        Self(all)
    }

    pub(super) fn joined(&self) -> String {
        self.0.join(" ")
    }
}

/// Whether too long a run of these words is in the page, in one pass over the page.
pub(super) fn is_quoted(words: &WordList, page: &str) -> bool {
    let most = words.0.iter().fold(WordRun::default(), |run, word| run.and(word));
    if !most.is_long() {
        return false;
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, word) in words.0.iter().enumerate() {
        places.entry(word).or_default().push(place);
    }
    // For each position in the words: the length, in words and characters, of the run that ends there and at the
    // current word of the page.
    let mut runs: Vec<(usize, WordRun)> = Vec::new();
    let mut found = false;
    each_token(page, |token| {
        if found {
            return;
        }
        let Some(here) = places.get(token) else {
            runs.clear();
            return;
        };
        let longer = here.iter().map(|&place| {
            let before = runs.iter().find(|(end, _)| place > 0 && *end == place - 1).map(|(_, run)| *run);
            (place, before.unwrap_or_default().and(token))
        });
        let longer: Vec<(usize, WordRun)> = longer.collect();
        found = longer.iter().any(|(_, run)| run.is_long());
        runs = longer;
    });
    found
}

#[derive(Clone, Copy, Default)]
struct WordRun {
    words: usize,
    characters: usize,
}

impl WordRun {
    fn and(self, token: &str) -> Self {
        if !is_word(token) {
            return self;
        }
        let space = usize::from(self.words > 0);
        Self { words: self.words + 1, characters: self.characters + space + token.chars().count() }
    }

    fn is_long(self) -> bool {
        self.words >= MOST_WORDS || self.characters > MOST_CHARACTERS
    }
}

/// Whether it is a word, not a number or part of a code.
fn is_word(token: &str) -> bool {
    token.chars().count() > 1 && !token.chars().any(char::is_numeric)
}

/// Visits the words of a text, with one buffer because pages are long.
fn each_token(text: &str, mut visit: impl FnMut(&str)) {
    let mut token = String::new();
    for letter in text.chars() {
        if letter.is_alphanumeric() {
            token.extend(letter.to_lowercase());
        } else if !token.is_empty() {
            visit(&token);
            token.clear();
        }
    }
    if !token.is_empty() {
        visit(&token);
    }
}
