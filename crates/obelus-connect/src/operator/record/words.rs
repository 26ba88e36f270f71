//! Checks which texts may be stored.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use super::quote::{self, WordList};

/// Why a text is refused. It quotes nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is empty.
    Empty,
    /// It is longer than this many characters.
    Long(usize),
    /// It contains an element's id.
    Id,
    /// It contains markup.
    Markup,
    /// It contains binary data, such as a picture.
    Data,
    /// It quotes a long run of the shown page.
    Quote,
    /// The shown page is lost, so it cannot be checked for quotations.
    Unseen,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Empty => f.write_str("it says nothing"),
            Refusal::Long(most) => write!(f, "it is longer than {most} characters; say what matters of it"),
            Refusal::Id => f.write_str("it carries the id of an element, which means nothing later; say what it is"),
            Refusal::Markup => f.write_str("it carries markup of a page; say in words what is there"),
            Refusal::Data => f.write_str("it carries encoded data; say in words what it is"),
            Refusal::Quote => f.write_str("it quotes the page at length; say it in your own words, and shorter"),
            Refusal::Unseen => f.write_str("what it was read from is no longer shown; observe, and say it again"),
        }
    }
}

/// A tag, an attribute of the page tree, or a line of it.
static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    let tag = r"</?[a-zA-Z][a-zA-Z0-9-]*(\s[^<>]*)?/?>|<!--|<!doctype";
    let tree = r#"\[(ref|cursor|level|active|checked|expanded|disabled|selected|pressed|nth)(=[^\]]*)?\]"#;
    let line = r#"(^|\n)\s*- (/[a-z]+:|[a-z]+( "[^"\n]*")?( \[[^\]\n]*\])*:)\s"#;
    Regex::new(&format!("(?i:{tag})|{tree}|{line}")).unwrap_or_else(|error| unreachable!("{error}"))
});

/// An explicit id: `ref=e12`, `[e12]`, `element e12`.
static MEANT: LazyLock<Regex> = LazyLock::new(|| {
    let named = r"(?i:\b(ref|eid|element|target|id|элемент\w*|идентификатор\w*)\b)[\s=:#№«(\['\x22`]*\b(f\d+)?e\d+\b";
    Regex::new(&format!(r"{named}|\[(f\d+)?e\d+\]|\bf\d+e\d+\b")).unwrap_or_else(|error| unreachable!("{error}"))
});

/// The form of an id.
static ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(f\d+)?e\d+\b").unwrap_or_else(|error| unreachable!("{error}")));

/// Ids in a shown page.
static SHOWN_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[ref=((f\d+)?e\d+)\]").unwrap_or_else(|error| unreachable!("{error}")));

/// The longest word; longer ones are data.
const LONGEST_WORD: usize = 64;

/// Checks texts against the current observation and the ids of earlier ones.
pub(super) struct TextChecker<'a> {
    shown: Option<&'a str>,
    earlier: Option<&'a BTreeSet<String>>,
}

impl<'a> TextChecker<'a> {
    pub(super) fn new(shown: Option<&'a str>, earlier: Option<&'a BTreeSet<String>>) -> Self {
        Self { shown, earlier }
    }

    /// The text to store, on one line; or why it is refused.
    pub(super) fn take(&self, text: &str, most: usize) -> Result<String, Refusal> {
        let one_line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if one_line.is_empty() {
            return Err(Refusal::Empty);
        }
        // The kind of content is checked before the length, because it says more.
        if MARKUP.is_match(text) {
            return Err(Refusal::Markup);
        }
        if is_data(text) {
            return Err(Refusal::Data);
        }
        if self.has_id(text) {
            return Err(Refusal::Id);
        }
        if one_line.chars().count() > most {
            return Err(Refusal::Long(most));
        }
        if self.shown.is_some_and(|shown| quote::is_quoted(&WordList::of(text), shown)) {
            return Err(Refusal::Quote);
        }
        Ok(one_line)
    }

    /// Whether it names an element: explicitly, or by an id of this or an earlier page. "E5 fuel" and "Reid" do not.
    fn has_id(&self, text: &str) -> bool {
        if MEANT.is_match(text) {
            return true;
        }
        let ids: BTreeSet<&str> = ID.find_iter(text).map(|found| found.as_str()).collect();
        if ids.is_empty() {
            return false;
        }
        let was_shown = |id: &&str| self.earlier.is_some_and(|earlier| earlier.contains(*id));
        ids.iter().any(was_shown) || ids_in(self.shown.unwrap_or_default()).any(|id| ids.contains(id))
    }
}

/// The ids of elements in a shown page.
pub(super) fn ids_in(shown: &str) -> impl Iterator<Item = &str> {
    SHOWN_ID.captures_iter(shown).filter_map(|found| Some(found.get(1)?.as_str()))
}

fn is_data(text: &str) -> bool {
    let is_long = |word: &str| {
        let run = word.bytes().filter(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte)).count();
        let has = |of: fn(&u8) -> bool| word.bytes().any(|byte| of(&byte));
        let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        run == word.len() && run >= LONGEST_WORD && mixed
    };
    text.split_whitespace().any(|word| word.contains(";base64,") || is_long(word))
}

/// The form for comparison: lower-case letters and digits.
pub(super) fn same(text: &str) -> String {
    WordList::of(text).joined()
}
