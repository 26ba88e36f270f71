//! Whether words are a quotation of what is shown.

use std::collections::HashMap;

/// So many words in a row that stand in the page as they are make a quotation. Numbers, dates and codes are no words: a
/// short fact has several of them, and they cannot be said otherwise.
const MOST_WORDS: usize = 12;

/// So many characters of words too.
const MOST_CHARACTERS: usize = 80;

/// A text as words alone: letters and digits, in small letters. Signs and spaces between them do not count.
pub(super) struct Tokens(Vec<String>);

impl Tokens {
    pub(super) fn of(text: &str) -> Self {
        let mut all = Vec::new();
        each_token(text, |token| all.push(token.to_owned()));
        Self(all)
    }

    pub(super) fn joined(&self) -> String {
        self.0.join(" ")
    }
}

/// Whether too long a run of these words stands in the page. The page is gone through once.
pub(super) fn is_quoted(words: &Tokens, page: &str) -> bool {
    let most = words.0.iter().fold(Run::default(), |run, word| run.and(word));
    if !most.is_long() {
        return false;
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, word) in words.0.iter().enumerate() {
        places.entry(word).or_default().push(place);
    }
    // For each place in the words: how many words, and characters, up to there stand in the page up to here.
    let mut runs: Vec<(usize, Run)> = Vec::new();
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
        let longer: Vec<(usize, Run)> = longer.collect();
        found = longer.iter().any(|(_, run)| run.is_long());
        runs = longer;
    });
    found
}

#[derive(Clone, Copy, Default)]
struct Run {
    words: usize,
    characters: usize,
}

impl Run {
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

/// Whether it is a word, and no number and no part of a code.
fn is_word(token: &str) -> bool {
    token.chars().count() > 1 && !token.chars().any(char::is_numeric)
}

/// Visits the words of a text. One buffer serves for all of them: pages are long.
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
