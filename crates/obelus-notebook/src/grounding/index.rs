//! The searched texts: the user's messages, and whole texts of trusted results.
//!
//! Each text is folded and its numbers are parsed once, when it is new, so that a search only compares.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::{FoundIn, each_leaf};
use crate::context::Context;
use crate::mention::addresses::{Address, addresses, compact};
use crate::mention::decimal::Decimal;
use crate::mention::names::{WordMatch, mentions};
use crate::mention::numbers::{Numeral, numerals, word_before};
use crate::mention::phones::phones;
use crate::mention::text::{folded, whole_words};
use crate::message::{Data, Message, Role};
use crate::origin::Origin;
use crate::wording::plain_text;

/// The user's messages and whole texts of trusted results, up to a position.
#[derive(Clone, Debug, Default)]
pub struct GroundIndex {
    /// The number of indexed messages.
    seen: usize,
    /// The number of indexed texts that people wrote outside of messages.
    written: usize,
    user_texts: Vec<UserText>,
    /// Whole texts of trusted results, folded.
    texts: BTreeMap<String, Vec<ResultText>>,
    /// The same texts by their letters and digits alone, if they may be telephone numbers or accounts.
    numbers: BTreeMap<String, Vec<ResultText>>,
}

/// A text of the user.
#[derive(Clone, Debug)]
pub(super) struct UserText {
    pub(super) place: FoundIn,
    instance: Option<String>,
    text: String,
    numerals: Vec<Numeral>,
    numbers: OnceLock<Vec<Address>>,
}

/// The source of a text in a trusted result.
#[derive(Clone, Debug)]
pub(super) struct ResultText {
    pub(super) place: FoundIn,
    pub(super) tool: Arc<str>,
    instance: Option<String>,
}

/// Texts of results with fewer letters and digits are not indexed.
const LEAST_LETTERS: usize = 4;
/// Texts with at least this many digits are also indexed as numbers.
const LEAST_DIGITS: usize = 7;

impl GroundIndex {
    /// Indexes everything added since the last call. `written` are texts that people wrote outside of messages.
    pub fn catch_up(&mut self, context: &Context, written: &[String]) {
        let length = context.length();
        if length < self.seen || written.len() < self.written {
            *self = Self::default();
        }
        let mut fresh: Vec<&Message> = context.latest().take(length - self.seen).collect();
        fresh.reverse();
        for (index, message) in (self.seen..).zip(fresh) {
            self.take_in(index, message, context);
        }
        for text in &written[self.written..] {
            self.user_texts.push(UserText::new(FoundIn::Answer, None, text));
        }
        (self.seen, self.written) = (length, written.len());
    }

    /// Whether everything is indexed.
    pub fn is_current(&self, context: &Context, written: &[String]) -> bool {
        // With unreadable messages the names in them are unknown.
        self.seen == context.length() && self.written == written.len() && context.unreadable().is_none()
    }

    fn take_in(&mut self, index: usize, message: &Message, context: &Context) {
        let place = FoundIn::Message(index);
        match message {
            Message::Text(text) if text.role == Role::User => {
                self.user_texts.push(UserText::new(place, None, &text.text));
            }
            Message::Data(data) if is_users_input(data) => {
                let user_texts = &mut self.user_texts;
                each_leaf("", data.data().as_ref(), &mut |_, leaf| {
                    if leaf.is_string() || leaf.is_number() {
                        user_texts.push(UserText::new(place, data.instance.clone(), &plain_text(leaf)));
                    }
                });
            }
            Message::Data(data) => self.take_result(place, data, context),
            _ => {}
        }
    }

    /// Indexes the whole texts of a trusted tool's result if all of it is trusted. Issued values are not indexed: an id
    /// in a result is not one that the user named.
    fn take_result(&mut self, place: FoundIn, data: &Data, context: &Context) {
        let Some(name) = data.output.as_ref().and_then(|output| output.call.tool()) else { return };
        let Some(tool) = context.tool(name).filter(|_| !data.is_error()) else { return };
        let is_own =
            |origin: &Origin| matches!(origin, Origin::Tool { name: own, trusted: true } if own.as_ref() == name);
        let parts = data.parts.iter().flat_map(|parts| parts.iter());
        let is_trusted = data.sources().is_trusted()
            && data.sources().iter().any(is_own)
            && parts.filter(|(path, _)| !tool.issues(path)).all(|(_, origins)| origins.is_trusted());
        let Some(result) = data.operation().2.filter(|_| is_trusted) else { return };
        each_leaf("", result, &mut |path, leaf| {
            let Some(text) = leaf.as_str().filter(|_| !tool.issues(path)) else { return };
            let text = folded(text);
            let entry = || ResultText { place, tool: name.into(), instance: data.instance.clone() };
            let short = compact(&text);
            if short.chars().count() < LEAST_LETTERS {
                return;
            }
            if text.bytes().filter(u8::is_ascii_digit).count() >= LEAST_DIGITS {
                self.numbers.entry(short).or_default().push(entry());
            }
            self.texts.entry(text).or_default().push(entry());
        });
    }

    /// The user's texts that a call for this instance may use.
    pub(super) fn user_texts(&self, instance: Option<&str>) -> impl Iterator<Item = &UserText> {
        self.user_texts.iter().filter(move |text| text.instance.is_none() || text.instance.as_deref() == instance)
    }

    /// A whole text of a trusted result.
    pub(super) fn result_text(&self, text: &str, instance: Option<&str>) -> Option<&ResultText> {
        visible(self.texts.get(text)?, instance)
    }

    /// A telephone number or an account of a trusted result, ignoring separators.
    pub(super) fn result_number(&self, number: &str, instance: Option<&str>) -> Option<&ResultText> {
        visible(self.numbers.get(number)?, instance)
    }
}

fn visible<'a>(all: &'a [ResultText], instance: Option<&str>) -> Option<&'a ResultText> {
    all.iter().find(|brought| brought.instance.is_none() || brought.instance.as_deref() == instance)
}

/// Whether data is the user's own: parameters of the request with no other origin.
fn is_users_input(data: &Data) -> bool {
    data.is_input() && data.output.is_none() && data.all_sources().iter().eq([&Origin::User])
}

impl UserText {
    fn new(place: FoundIn, instance: Option<String>, text: &str) -> Self {
        let text = folded(text);
        Self { place, instance, numerals: numerals(&text), text, numbers: OnceLock::new() }
    }

    /// Whether the folded text occurs here as whole words, without cutting a number.
    pub(super) fn has_words(&self, part: &str) -> bool {
        let cuts = |start, end| self.numerals.iter().any(|numeral| numeral.is_cut_by(start, end));
        part.contains(char::is_alphanumeric) && whole_words(&self.text, part).any(|(start, end)| !cuts(start, end))
    }

    /// Whether a number with this value occurs here.
    pub(super) fn has_number(&self, value: &Decimal) -> bool {
        self.numerals.iter().any(|numeral| numeral.is_worth(value))
    }

    /// Whether exactly these digits occur here as a number.
    pub(super) fn has_digits(&self, digits: &str) -> bool {
        self.numerals.iter().any(|numeral| numeral.is_written(&self.text, digits))
    }

    /// Whether a number with this value follows a word that begins with one of these folded words.
    pub(super) fn announces(&self, value: &Decimal, words: &[String]) -> bool {
        let follows = |numeral: &Numeral| {
            let word = word_before(&self.text, numeral.start);
            words.iter().any(|beginning| !beginning.is_empty() && word.starts_with(beginning.as_str()))
        };
        self.numerals.iter().any(|numeral| numeral.is_worth(value) && follows(numeral))
    }

    /// The places at which all words of a part of a name, folded, occur one after another.
    pub(super) fn mentions(&self, part: &str) -> Vec<Vec<(&str, WordMatch)>> {
        mentions(&self.text, part)
    }

    /// Whether a telephone number with these digits occurs here.
    pub(super) fn has_phone(&self, digits: &str) -> bool {
        phones(&self.text, &self.numerals).iter().any(|phone| phone == digits)
    }

    /// Whether this telephone number or account occurs here.
    pub(super) fn has_address(&self, number: &Address) -> bool {
        self.numbers.get_or_init(|| addresses(&self.text)).contains(number)
    }
}
