//! `/why`: where a value comes from.

use std::collections::BTreeSet;

use obelus_kernel::policy::ConsentId;
use obelus_kernel::policy::{Evidence, GroundingRule, ValueWrite, Why, Writer};
use serde_json::Value;

use super::super::people::by_in_words;
use super::text::{PLAIN, StyledLine};
use crate::language::{Words, fill};
use crate::output::{BOLD, DIM, YELLOW};
use obelus_runtime::people::Titles;
use obelus_runtime::text::{clip, plain_text};

/// The number of characters shown of a value.
const MOST: usize = 160;

/// The chain of writes behind a value, one line each; earlier writes are indented further. With `has_places` each
/// names its message and path.
pub(crate) fn lines(why: &Why, titles: &Titles, phrases: &Words, has_places: bool) -> Vec<StyledLine> {
    let mut writer = ProvenanceLines { titles, phrases, has_places, lines: Vec::new() };
    writer.place(why, 0, "");
    writer.lines
}

struct ProvenanceLines<'a> {
    titles: &'a Titles,
    phrases: &'a Words,
    has_places: bool,
    lines: Vec<StyledLine>,
}

impl ProvenanceLines<'_> {
    fn push(&mut self, depth: usize, line: StyledLine) {
        let indent = "  ".repeat(depth);
        self.lines.push(line.hanging(2).indented(&indent));
    }

    /// The value at a path, and its writers.
    fn place(&mut self, why: &Why, depth: usize, before: &str) {
        let words = &self.phrases.because;
        let mut line = StyledLine::of(PLAIN, before).shown(BOLD, &why.what);
        if let Some(value) = &why.value {
            line = line.own(PLAIN, ": ").shown(PLAIN, &cut(value));
        }
        let untrusted: Vec<String> =
            why.origins.untrusted().map(|name| format!("«{}»", self.titles.tool(name))).collect();
        if !untrusted.is_empty() {
            let from = fill(self.phrases.ask.not_trusted, &[&untrusted.join(", ")]);
            line = line.own(PLAIN, "   ").shown(YELLOW, &format!("← {from}"));
        }
        if why.is_absent() {
            line = line.own(PLAIN, ": ").own(DIM, words.nothing);
        }
        self.push(depth, line);
        why.because.iter().for_each(|one| self.write(one, depth + 1));
        if why.left_out > 0 {
            let more = if why.because.is_empty() {
                words.shown_above.to_owned()
            } else {
                fill(words.earlier, &[&why.left_out.to_string()])
            };
            self.push(depth + 1, StyledLine::of(DIM, more));
        }
    }

    /// Why a value counts as named by the user.
    fn found(&self, found: &Evidence) -> String {
        let words = &self.phrases.because;
        match found.by {
            GroundingRule::A => words.in_words.to_owned(),
            GroundingRule::B => fill(words.in_result, &[&self.titles.tool(found.tool.as_deref().unwrap_or_default())]),
            GroundingRule::C => words.by_name.to_owned(),
            GroundingRule::D => words.created.to_owned(),
        }
    }

    /// One write, and the values it was made from.
    fn write(&mut self, one: &ValueWrite, depth: usize) {
        let words = &self.phrases.because;
        let named = |phrase: &str, name: &str| fill(phrase, &[&self.titles.tool(name)]);
        let (by, tool) = match &one.by {
            Writer::Author => (words.author.to_owned(), None),
            Writer::User => match &one.edited_by {
                Some(by) => (fill(words.edited_by, &[&by_in_words(by, self.phrases)]), None),
                None => (words.person.to_owned(), None),
            },
            Writer::Tool { name, trusted: true } => (named(words.tool, name), Some(name)),
            Writer::Tool { name, trusted: false } => (named(words.untrusted_tool, name), Some(name)),
            Writer::Model(name) => (named(words.model, name), Some(name)),
            Writer::Delegate(name) => (named(words.delegate, name), Some(name)),
            Writer::Elsewhere(name) => (named(words.elsewhere, name), Some(name)),
            Writer::Runtime => (words.runtime.to_owned(), None),
        };
        let date = one.date.as_deref().map(|date| format!("  {date}")).unwrap_or_default();
        let consent =
            one.consent.map(|number| format!("  {}", fill(words.by_consent, &[&ConsentId(number).to_string()])));
        let place = self.has_places.then(|| fill(words.written, &[&one.message.to_string(), &one.to]));
        let place = place.map(|place| format!("  {place}")).unwrap_or_default();
        let line = StyledLine::of(DIM, "← ").shown(PLAIN, &by).shown(DIM, &place).shown(DIM, &date);
        self.push(depth, line.shown(DIM, &consent.unwrap_or_default()));
        for given in &one.params {
            let label = tool.and_then(|tool| self.titles.param(tool, &given.name));
            let line = StyledLine::new().shown(PLAIN, &label.unwrap_or_else(|| given.name.clone()));
            let line = line.own(PLAIN, ": ").shown(PLAIN, &cut(&given.value));
            let after: Vec<String> =
                one.decided_after(given).into_iter().map(|name| format!("«{}»", self.titles.tool(name))).collect();
            let proposed = match (given.from.is_empty(), given.grounded.is_empty()) {
                (true, _) if given.is_edited => format!("  {}", words.edited),
                (true, true) if after.is_empty() => format!("  {}", words.as_proposed),
                (true, true) => format!("  {}", fill(words.after_reading, &[&after.join(", ")])),
                _ => String::new(),
            };
            // Values of a list are often found in the same way.
            let found: BTreeSet<String> =
                given.grounded.iter().map(|one| format!("  {}", self.found(&one.found))).collect();
            let notes: String = std::iter::once(proposed).chain(found).collect();
            self.push(depth + 1, line.shown(DIM, &notes));
            given.from.iter().for_each(|why| self.place(why, depth + 2, ""));
        }
        one.shown.iter().for_each(|why| self.place(why, depth + 1, words.was_shown));
    }
}

/// A value on one line, shortened.
fn cut(value: &Value) -> String {
    clip(&plain_text(value), MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::chat::question::sample::context;
    use crate::language::words_of;
    use obelus_kernel::{Context, Expr};
    use serde_json::json;

    fn titles() -> Titles {
        Titles::of(&context(json!([])), "ru")
    }

    #[test]
    fn a_value_is_traced_to_its_source() {
        let context = Context::from_value(json!([
            {"type": "input", "data": {"sum": 5}},
            {"type": "state", "data": {"x": "a\u{1b}b"}, "_call": {"_tool": "open_page", "fields": {"OPPORTUNITY": "†input.sum"}, "_outputPath": "†state"}},
        ]));
        let context = context.expect("a context");
        let why = obelus_kernel::policy::why(&context, &Expr::parse("†state.x").expect("a path"), None, None);
        let told: Vec<String> =
            lines(&why, &titles(), words_of(Some("ru")), false).iter().map(StyledLine::plain).collect();
        assert_eq!(
            told,
            [
                "†state.x: a\\u{1b}b   ← взято из «open page», непроверенный источник",
                "  ← шаг «open page», выполненный не здесь",
                "    fields: {\"OPPORTUNITY\":\"†input.sum\"}",
                "      †input.sum",
                "        ← от человека",
            ]
        );
        let nothing = obelus_kernel::policy::why(&context, &Expr::parse("†error.y").expect("a path"), None, None);
        let told = lines(&nothing, &titles(), words_of(Some("ru")), false);
        assert_eq!(
            told.iter().map(StyledLine::plain).collect::<Vec<_>>(),
            ["†error.y: сюда никто ничего не записывал"]
        );
    }
}
