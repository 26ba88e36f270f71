//! A question as data: what will be done, to which records, field by field, and why it is asked (ASK-2).
//!
//! Everything is made from the frozen calls. A value that is not trusted bears one mark; what is the same for all calls of
//! a group stands once; what only engineers look at is among the details.

use std::path::PathBuf;

use obelus_kernel::policy::Reason;
use obelus_kernel::session::{About, AskedCall, Question, quoted_value};
use obelus_kernel::visible;
use serde::Serialize;
use serde_json::Value;

use super::pages::PageNotes;
use super::titles::Titles;
use crate::words::{Language, fill, listed_titles, reasons_in_words};

/// A question for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuestionView {
    /// The id by which it is answered.
    pub id: String,
    /// What it is about.
    pub about: About,
    /// What is wanted of the reader.
    pub head: String,
    /// What somebody wants to know, in their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<AskedWords>,
    /// The calls.
    pub calls: Vec<CallView>,
    /// Rows that are the same for all calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub common: Vec<RowView>,
    /// The file of the latest picture of the page that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<PathBuf>,
    /// The words with which it came from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came_as: Option<String>,
    /// Why it is asked, as a person would say it.
    pub reasons: Vec<String>,
    #[serde(skip)]
    pub(super) language: Language,
}

/// Words of whoever asks for a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedWords {
    /// The step at work that asks, and that it does; none for the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where the words come from, if that is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The words.
    pub words: String,
}

/// A call of a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallView {
    /// Its place in the question.
    pub index: usize,
    /// Whether it waits for a decision.
    pub is_open: bool,
    /// What it does.
    pub title: String,
    /// Where its proposal comes from, if that is not trusted and the answer covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Its instance, if it is one of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The record that it is about, by name and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<RowView>,
    /// What it sets.
    pub rows: Vec<RowView>,
    /// What only engineers look at: technical parameters, where the result goes, the agent's comment, what was found in
    /// the user's words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<RowView>,
}

/// A field of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowView {
    /// The parameter, as a dotted path; empty for what is no parameter.
    pub place: String,
    /// What people call it.
    pub label: String,
    /// What it will be.
    pub value: String,
    /// What it is now, where somebody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeView>,
    /// Where the value comes from, if it is not grounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// What a field holds now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BeforeView {
    /// The value; none if it is not known.
    pub value: Option<String>,
    /// Whether it stays.
    pub is_same: bool,
}

/// Fields of a call that are not parameters (CALL-1).
const ASIDES: [&str; 6] =
    ["comment", "requires_confirmation", "confirmed", "confirmation_decision", "confirmation_reason", "http_method"];

/// Rows longer than this stand behind the others, so that they push nothing out of sight.
const LONG: usize = 400;

impl QuestionView {
    /// A question under the id by which it is answered, in the words of the agent's author where there are some.
    pub fn of(question: &Question, id: &str, titles: &Titles, language: Language) -> Self {
        let words = &language.words().questions;
        let pages = titles.pages();
        let maker = Maker { question, titles, pages: &pages, language };
        let is_about_calls = question.about != About::Input;
        let shown = question.calls.iter().enumerate().filter(|_| is_about_calls);
        let mut calls: Vec<CallView> = shown.map(|(index, asked)| maker.call(index, asked)).collect();
        let open = calls.iter().filter(|call| call.is_open).count();
        let is_many = question.about == About::Call && calls.len() > 1;
        let common = if is_many { take_common(&mut calls) } else { Vec::new() };
        let head = match question.about {
            About::Call if is_many => fill(words.calls, &[&language.count(words.steps, open as u64)]),
            About::Call => words.call.to_owned(),
            About::Plan => words.plan.to_owned(),
            About::Input => words.input.to_owned(),
            About::InDoubt => words.in_doubt.to_owned(),
        };
        Self {
            id: id.to_owned(),
            about: question.about,
            head,
            asks: (!is_about_calls).then(|| maker.asked_words()),
            reasons: maker.reasons(),
            calls,
            common,
            picture: maker.picture(),
            came_as: question.headline.clone(),
            language,
        }
    }
}

struct Maker<'a> {
    question: &'a Question,
    titles: &'a Titles,
    pages: &'a PageNotes,
    language: Language,
}

impl Maker<'_> {
    /// The picture of the page that a call is about, by the address among its parameters.
    fn picture(&self) -> Option<PathBuf> {
        let addresses = self.question.calls.iter().filter_map(|asked| asked.call["address"].as_str());
        addresses.filter_map(|address| self.pages.picture(address)).next().map(PathBuf::from)
    }

    fn call(&self, index: usize, asked: &AskedCall) -> CallView {
        let tool = asked.call["_tool"].as_str().unwrap_or_default();
        let mut view = CallView {
            index,
            is_open: asked.decided.is_none(),
            title: self.titles.tool(tool),
            mark: self.mark(asked, ""),
            instance: asked.call["_instance"].as_str().map(|name| quoted_value(&name.into())),
            record: None,
            rows: Vec::new(),
            details: Vec::new(),
        };
        let mut long = Vec::new();
        for (place, value) in asked.leaves() {
            let name = place.split(['.', '[']).next().unwrap_or_default();
            if ASIDES.contains(&name) && !self.titles.has_param(tool, name) {
                view.details.extend(self.aside(name, value));
                continue;
            }
            let row = self.row(index, asked, tool, &place, value);
            let is_long = row.value.chars().count() > LONG;
            match view.record {
                None if self.titles.is_id(tool, &place) => view.record = Some(row),
                _ if self.titles.is_detail(tool, &place) => view.details.push(row),
                _ if is_long => long.push(row),
                _ => view.rows.push(row),
            }
        }
        view.rows.extend(self.scopes(asked));
        view.rows.extend(long);
        view.details.extend(self.executor(asked));
        view.details.extend(self.result_place(asked));
        view.details.extend(self.grounded(asked, tool));
        view
    }

    fn row(&self, index: usize, asked: &AskedCall, tool: &str, place: &str, value: &Value) -> RowView {
        let words = &self.language.words().questions;
        let number = || self.titles.is_id(tool, place).then(|| words.number.to_owned());
        let label = self.titles.param(tool, place).or_else(number).unwrap_or_else(|| place.to_owned());
        let changes = self.question.changes.iter().filter(|change| change.call == index);
        let change = changes.into_iter().find(|change| self.titles.place_of(tool, &change.field) == place);
        let before = change.map(|change| BeforeView {
            value: change.before.as_ref().map(|before| self.named(place, before)),
            is_same: change.before.as_ref() == Some(&change.after),
        });
        let mark = self.mark(asked, place);
        RowView { place: place.to_owned(), label: visible(&label), value: self.named(place, value), before, mark }
    }

    /// A value, with its name before it where the session knows one.
    fn named(&self, place: &str, value: &Value) -> String {
        let is_same = |one: &Value| {
            let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            plain(one) == plain(value)
        };
        let mut names = self.question.names.iter();
        match names.find(|named| named.place.eq_ignore_ascii_case(place) && is_same(&named.value)) {
            Some(named) => format!("«{}» ({})", named.name, short(value)),
            // Many services write numbers as texts.
            None if value.as_str().is_some_and(is_number) => value.as_str().unwrap_or_default().to_owned(),
            None => match value.as_str().map(|text| self.pages.in_full(text)) {
                Some(text) => quoted_value(&text.into()),
                None => quoted_value(value),
            },
        }
    }

    fn mark(&self, asked: &AskedCall, place: &str) -> Option<String> {
        let mark = asked.marks.iter().find(|mark| mark.place == place)?;
        Some(fill(self.language.words().questions.not_trusted, &[&listed_titles(&mark.sources, self.titles)]))
    }

    fn detail(label: &str, value: String) -> RowView {
        RowView { place: String::new(), label: label.to_owned(), value, before: None, mark: None }
    }

    /// What the agent says beside the call. What only caused the question is left out.
    fn aside(&self, name: &str, value: &Value) -> Option<RowView> {
        let words = &self.language.words().questions;
        match name {
            "comment" | "confirmation_reason" => Some(Self::detail(words.in_agents_words, quoted_value(value))),
            "requires_confirmation" | "confirmed" => None,
            other => Some(Self::detail(other, quoted_value(value))),
        }
    }

    /// What whoever carries it out is shown of memory.
    fn scopes(&self, asked: &AskedCall) -> Option<RowView> {
        let scopes = asked.call.get("_scopes").filter(|scopes| !scopes.is_null())?;
        let label = self.language.words().questions.is_shown;
        Some(RowView { mark: self.mark(asked, "_scopes"), ..Self::detail(label, quoted_value(scopes)) })
    }

    /// Who carries it out, where the call says so.
    fn executor(&self, asked: &AskedCall) -> Option<RowView> {
        let name = ["_delegate", "_activity"].into_iter().find_map(|name| asked.call.get(name)?.as_str())?;
        Some(Self::detail(self.language.words().questions.carried_out_by, quoted_value(&name.into())))
    }

    fn result_place(&self, asked: &AskedCall) -> Option<RowView> {
        let path = visible(asked.call.get("_outputPath")?.as_str()?);
        let method = asked.call.get("_outputMethod").and_then(Value::as_str);
        let how = method.map(|method| format!(" ({})", visible(method))).unwrap_or_default();
        Some(Self::detail(self.language.words().questions.result_to, format!("{path}{how}")))
    }

    /// The fields whose values were found in the user's own words, or as the user named them.
    fn grounded(&self, asked: &AskedCall, tool: &str) -> Option<RowView> {
        let mut labels: Vec<String> = Vec::new();
        for one in &asked.grounded {
            let label = self.titles.param(tool, &one.param).unwrap_or_else(|| one.param.clone());
            let label = visible(&label);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        (!labels.is_empty()).then(|| Self::detail(self.language.words().questions.you_named, labels.join(", ")))
    }

    fn asked_words(&self) -> AskedWords {
        let description = &self.question.description;
        let (Some(tool), Some((head, words))) = (self.question.asked_by(), description.split_once('\n')) else {
            return AskedWords { by: None, mark: None, words: description.clone() };
        };
        let phrases = &self.language.words().questions;
        let by = fill(phrases.asked_by, &[&self.titles.tool(tool)]);
        let is_trusted = !head.ends_with(", not trusted");
        let mark = fill(phrases.not_trusted, &[&listed_titles(&[tool.to_owned()], self.titles)]);
        AskedWords { by: Some(by), mark: (!is_trusted).then_some(mark), words: words.to_owned() }
    }

    fn reasons(&self) -> Vec<String> {
        let Question { calls, reasons, .. } = self.question;
        // Marks tell of each value where it comes from.
        let is_marked = |reason: &Reason| match reason {
            Reason::UntrustedTarget { path, .. } => {
                calls.iter().any(|asked| asked.marks.iter().any(|mark| mark.place.starts_with(path.as_str())))
            }
            _ => false,
        };
        if !reasons.is_empty() && reasons.iter().all(is_marked) {
            return vec![self.language.words().questions.marked.to_owned()];
        }
        let tool = calls.first().and_then(|asked| asked.call["_tool"].as_str()).unwrap_or_default();
        reasons_in_words(reasons, tool, self.titles, self.language)
    }
}

/// Takes the rows that are the same in all calls out of them: they are shown once.
fn take_common(calls: &mut [CallView]) -> Vec<RowView> {
    let Some((first, rest)) = calls.split_first() else { return Vec::new() };
    let in_all = |row: &&RowView| rest.iter().all(|call| call.rows.contains(row));
    let common: Vec<RowView> = first.rows.iter().filter(in_all).cloned().collect();
    let details = |row: &&RowView| rest.iter().all(|call| call.details.contains(row));
    let same: Vec<RowView> = first.details.iter().filter(details).cloned().collect();
    for call in calls.iter_mut() {
        call.rows.retain(|row| !common.contains(row));
        // The details of the first call stand for those of all.
        if call.index > 0 {
            call.details.retain(|row| !same.contains(row));
        }
    }
    common
}

/// Whether a text is a plain number.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_plain && digits.starts_with(|c: char| c.is_ascii_digit()) && digits.matches('.').count() <= 1
}

/// A value beside its name.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().all(|c| c.is_ascii_alphanumeric() || "_-:.".contains(c)) => text.clone(),
        other => quoted_value(other),
    }
}
