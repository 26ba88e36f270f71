//! A question as data: what will be done, to which records, field by field, and why it is asked (ASK-2).
//!
//! Everything comes from the frozen calls. An untrusted value has one mark, what is common to all calls of a group is
//! shown once, and technical values are among the details.

use std::path::PathBuf;

use obelus_kernel::policy::Reason;
use obelus_kernel::session::plan_graph::PlannedCall;
use obelus_kernel::session::{About, AskedCall, Question, QuestionId, QuestionStatus, Refused, Session, quoted_value};
use obelus_kernel::visible;
use obelus_notebook::control_field::ControlField;
use obelus_notebook::wording::plain_text;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answer_kind::AnswerKind;
use super::elicitation::elicitation_in_words;
use super::language_code;
use super::local_time::local_time;
use super::pages::PageNotes;
use super::readers::{readers_of_result, step_of_delegate};
use super::titles::Titles;
use super::values::{is_alike, is_number, short};
use crate::words::{Language, fill, listed_titles, reasons_in_words, record_name};

/// A question for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionView {
    /// The id by which it is answered.
    pub id: String,
    /// Its kind.
    pub about: About,
    /// The request to the reader.
    pub head: String,
    /// The text of a question for a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<AskedWords>,
    /// The calls.
    pub calls: Vec<CallView>,
    /// Rows common to all calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub common: Vec<RowView>,
    /// The latest picture of the page concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<PathBuf>,
    /// The text with which it came from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came_as: Option<String>,
    /// The reasons, as text.
    pub reasons: Vec<String>,
    /// The step whose delegate asks it, for a question of a delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_step: Option<String>,
    /// The waiting steps that read the result of an effect in doubt: without it they do not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub result_read_by: Vec<String>,
    /// Details common to all calls. Channels show details on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub common_details: Vec<RowView>,
    /// The possible answers.
    #[serde(deserialize_with = "AnswerKind::known")]
    pub answers: Vec<AnswerKind>,
    /// The schema of the answer, if that is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// When it expires.
    pub expires_at: String,
    /// The digest of what is shown; the answer must have it (ASK-1).
    pub digest: String,
    /// The language of the texts.
    #[serde(with = "language_code")]
    pub language: Language,
}

/// The text of a question for a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedWords {
    /// The running step that asks; none for the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where the text comes from, if that is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The text.
    pub words: String,
}

/// A call of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallView {
    /// Its index in the question.
    pub index: usize,
    /// Whether it waits for a decision.
    pub is_open: bool,
    /// Whether it was approved or denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_approved: Option<bool>,
    /// Of a plan: the indexes of the calls whose results it reads. Without them it is skipped (PLAN-4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<usize>,
    /// What it does.
    pub title: String,
    /// Where its proposal comes from, if that is not trusted and the answer covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// When the same was done before in this session, as text, while it waits for a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_before: Option<String>,
    /// Its instance, if it is one of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The record concerned, by name and id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<RowView>,
    /// The fields that it sets.
    pub rows: Vec<RowView>,
    /// For engineers: technical parameters, the path of the result, the agent's comment, what was found in the user's
    /// messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<RowView>,
}

/// A field of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowView {
    /// The parameter, as a dotted path; empty if it is not a parameter.
    pub place: String,
    /// Its label.
    pub label: String,
    /// The new value.
    pub value: String,
    /// The current value, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeView>,
    /// The agent's proposal, if a person has changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// Where the value comes from, if it is not grounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// The current value of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeforeView {
    /// The value; none if unknown.
    pub value: Option<String>,
    /// Whether it stays the same.
    pub is_same: bool,
}

/// Longer rows come last, so that they do not push others out of sight.
const LONG: usize = 400;

impl QuestionView {
    /// A question of a session, in this language as far as the agent has texts in it. It has the session's question
    /// id.
    pub fn of(session: &Session, question: &Question, language: Language) -> Self {
        Self::with_pages(session, question, None, language)
    }

    /// Like [`Self::of`], with the folder of the session's page notes.
    pub fn with_pages(session: &Session, question: &Question, pages: Option<PathBuf>, language: Language) -> Self {
        let titles = titles_of(session, &question.id, pages, language);
        let result_read_by = readers_of_result(session, question, &titles);
        let for_step = step_of_delegate(session, question, language);
        let mut view = Self { result_read_by, for_step, ..Self::by_titles(question, &titles, language) };
        if question.about == About::Plan && question.is_open() {
            add_needs(&mut view.calls, session, question);
        }
        view.add_done_before(session, question);
        view
    }

    /// A question without its session, by the titles of its tools.
    pub fn by_titles(question: &Question, titles: &Titles, language: Language) -> Self {
        QuestionViewBuilder { question, titles, pages: &titles.pages(), language, proposed: None }.view()
    }

    /// A question as an edit would change it, for review before the edit counts (ASK-3). The edit must have its
    /// digest. `pages` is the folder of page notes.
    pub fn edited(
        session: &Session,
        id: &QuestionId,
        params: &Map<String, Value>,
        pages: Option<PathBuf>,
        language: Language,
    ) -> Result<Self, Refused> {
        let question = crate::edit_check::edited_question(session, id, params)?;
        let titles = titles_of(session, id, pages, language);
        let asked = session.question(id);
        let pages = titles.pages();
        let maker = QuestionViewBuilder {
            question: &question,
            titles: &titles,
            pages: &pages,
            language,
            proposed: asked.as_ref(),
        };
        let mut view = maker.view();
        view.for_step = step_of_delegate(session, &question, language);
        view.add_done_before(session, &question);
        language.words().questions.edited.clone_into(&mut view.head);
        Ok(view)
    }

    /// Adds to open calls when the same was done before in this session: a yes would do it again.
    fn add_done_before(&mut self, session: &Session, question: &Question) {
        let phrase = self.language.words().questions.done_before;
        let open = self.calls.iter_mut().filter(|call| call.is_open && question.is_open());
        let done = session.done_before(question);
        let zone = session.settings().time_zone.as_deref();
        for call in open {
            let at = done.get(call.index).copied().flatten();
            call.done_before = at.map(|at| fill(phrase, &[&local_time(at, zone)]));
        }
    }

    /// The question with another id for the answer, such as `SESSION:QUESTION`.
    #[must_use]
    pub fn under(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }
}

pub(super) struct QuestionViewBuilder<'a> {
    pub(super) question: &'a Question,
    pub(super) titles: &'a Titles,
    pub(super) pages: &'a PageNotes,
    pub(super) language: Language,
    /// The question before a person changed it.
    pub(super) proposed: Option<&'a Question>,
}

impl QuestionViewBuilder<'_> {
    pub(super) fn view(&self) -> QuestionView {
        let Self { question, language, .. } = *self;
        let words = &language.words().questions;
        let is_about_calls = question.about != About::Input;
        let shown = question.calls.iter().enumerate().filter(|_| is_about_calls);
        let mut calls: Vec<CallView> = shown.map(|(index, asked)| self.call(index, asked)).collect();
        let open = calls.iter().filter(|call| call.is_open).count();
        let is_many = question.about == About::Call && calls.len() > 1;
        let (common, common_details) = if is_many { take_common(&mut calls) } else { Default::default() };
        let head = match question.about {
            About::Call if is_many => fill(words.calls, &[&language.count(words.steps, open as u64)]),
            About::Call => words.call.to_owned(),
            About::Plan => words.plan.to_owned(),
            About::Input => words.input.to_owned(),
            About::InDoubt => words.in_doubt.to_owned(),
        };
        QuestionView {
            id: question.id.to_string(),
            about: question.about,
            head,
            asks: (!is_about_calls).then(|| self.asked_words()),
            reasons: self.reasons(),
            for_step: None,
            result_read_by: Vec::new(),
            calls,
            common,
            picture: self.picture(),
            came_as: question.headline.clone(),
            common_details,
            answers: answers(question.about, open),
            schema: question.schema.clone(),
            expires_at: question.expires_at.to_string(),
            digest: question.digest(),
            language,
        }
    }
}

/// The titles for a question of a session.
fn titles_of(session: &Session, id: &QuestionId, pages: Option<PathBuf>, language: Language) -> Titles {
    let titles = Titles::of(session.context_of(id), language.code()).with_pages(pages);
    titles.with_zone(session.settings().time_zone.clone())
}

/// Adds to the calls of an open plan the calls that they read from.
fn add_needs(calls: &mut [CallView], session: &Session, question: &Question) {
    let graph = session.plan_graph(usize::MAX);
    let Some(first) = question.calls.first() else { return };
    let is_first = |planned: &PlannedCall| planned.proposed.is_shared_with(&first.call);
    let Some(start) = graph.calls.iter().position(is_first) else { return };
    let index = |place: usize| place.checked_sub(start).filter(|index| *index < question.calls.len());
    for flow in &graph.flows {
        if let (Some(from), Some(to)) = (flow.from.and_then(index), index(flow.to))
            && from != to
            && !calls[to].needs.contains(&from)
        {
            calls[to].needs.push(from);
        }
    }
}

/// The decisions that fit a question with this many open calls.
fn answers(about: About, open: usize) -> Vec<AnswerKind> {
    match about {
        About::Call if open > 1 => vec![AnswerKind::Approve, AnswerKind::Deny],
        About::Call | About::Plan => vec![AnswerKind::Approve, AnswerKind::Deny, AnswerKind::Edit],
        About::Input => vec![AnswerKind::Value, AnswerKind::Deny],
        About::InDoubt => vec![AnswerKind::Happened, AnswerKind::DidNot],
    }
}

impl QuestionViewBuilder<'_> {
    /// The picture of the page of a call, found by the address in its parameters.
    fn picture(&self) -> Option<PathBuf> {
        self.addresses().find_map(|address| self.pages.picture(address)).map(PathBuf::from)
    }

    /// The page addresses of the calls.
    fn addresses(&self) -> impl Iterator<Item = &str> {
        self.question.calls.iter().filter_map(|asked| asked.call["address"].as_str())
    }

    fn call(&self, index: usize, asked: &AskedCall) -> CallView {
        let tool = asked.call.tool_name();
        // The calls of an approved plan have no decisions of their own, except those that were left out.
        let is_of_approved = self.question.about == About::Plan && self.question.status == QuestionStatus::Approved;
        let is_approved = asked.decided.or(is_of_approved.then_some(true));
        let mut view = CallView {
            index,
            is_open: is_approved.is_none(),
            is_approved,
            needs: Vec::new(),
            title: self.titles.tool(tool),
            mark: self.mark(asked, ""),
            done_before: None,
            instance: asked.call.instance().map(|name| quoted_value(&name.into())),
            record: None,
            rows: Vec::new(),
            details: Vec::new(),
        };
        let mut long = Vec::new();
        for (place, value) in asked.leaves() {
            let name = place.split(['.', '[']).next().unwrap_or_default();
            if let Some(field) = self.titles.control_field(tool, name) {
                view.details.extend(self.control_field(field, value));
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
        view.rows.extend(self.removed(index, asked, tool));
        view.rows.extend(self.scopes(asked));
        view.rows.extend(long);
        view.details.extend(self.details(asked, tool));
        view
    }

    fn row(&self, index: usize, asked: &AskedCall, tool: &str, place: &str, value: &Value) -> RowView {
        let words = &self.language.words().questions;
        let number = || self.titles.is_id(tool, place).then(|| words.number.to_owned());
        let label = self.titles.param(tool, place).or_else(number).unwrap_or_else(|| place.to_owned());
        let changes = self.question.changes.iter().filter(|change| change.call == index);
        let change = changes.into_iter().find(|change| self.titles.place_of(tool, &change.field) == place);
        let before = change.map(|change| {
            if self.is_other_record(index, asked, tool) {
                BeforeView { value: None, is_same: false }
            } else {
                BeforeView {
                    value: change.before.as_ref().map(|before| self.named(place, before)),
                    is_same: change.before.as_ref().is_some_and(|before| is_alike(before, &change.after)),
                }
            }
        });
        let mark = self.mark(asked, place);
        let value = self.named(place, value);
        let instead_of = self.proposed_value(index, place).filter(|proposed| *proposed != value);
        RowView { place: place.to_owned(), label: visible(&label), value, before, instead_of, mark }
    }

    /// The agent's proposed values that a person removes.
    fn removed(&self, index: usize, asked: &AskedCall, tool: &str) -> Vec<RowView> {
        let Some(proposed) = self.proposed.and_then(|question| question.calls.get(index)) else { return Vec::new() };
        let left = asked.leaves();
        let gone = |(place, _): &(String, &Value)| {
            let inner =
                |other: &str| other.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']));
            !left.iter().any(|(other, _)| other == place || inner(other))
        };
        let row = |(place, value): (String, &Value)| RowView {
            value: self.language.words().questions.removed.to_owned(),
            before: None,
            instead_of: Some(self.named(&place, value)),
            mark: None,
            ..self.row(index, proposed, tool, &place, value)
        };
        proposed.leaves().into_iter().filter(gone).map(row).collect()
    }

    /// Whether a person has chosen another record: the values that were read are not those of the chosen one.
    fn is_other_record(&self, index: usize, asked: &AskedCall, tool: &str) -> bool {
        let lookup = |asked: &AskedCall| self.titles.lookup(tool, &asked.call);
        let proposed = self.proposed.and_then(|question| question.calls.get(index));
        proposed.is_some_and(|proposed| lookup(proposed) != lookup(asked))
    }

    /// The agent's proposed value of a parameter, if a person changes the call.
    fn proposed_value(&self, index: usize, place: &str) -> Option<String> {
        let asked = self.proposed?.calls.get(index)?;
        let leaves = asked.leaves();
        let value = leaves.iter().find(|(known, _)| known == place).map(|(_, value)| self.named(place, value));
        Some(value.unwrap_or_else(|| self.language.words().questions.not_set.to_owned()))
    }

    /// A value, with its name before it if the session knows one.
    fn named(&self, place: &str, value: &Value) -> String {
        let is_same = |one: &Value| plain_text(one) == plain_text(value);
        let mut names = self.question.names.iter();
        match names.find(|named| named.place.eq_ignore_ascii_case(place) && is_same(&named.value)) {
            Some(named) => format!("«{}» ({})", record_name(&named.name), short(value)),
            // Many services write numbers as text.
            None if value.as_str().is_some_and(is_number) => value.as_str().unwrap_or_default().to_owned(),
            None => match value.as_str().map(|text| self.pages.in_full(text)) {
                Some(text) => quoted_value(&text.into()),
                None => quoted_value(value),
            },
        }
    }

    pub(super) fn mark(&self, asked: &AskedCall, place: &str) -> Option<String> {
        let mark = asked.marks.iter().find(|mark| mark.place == place)?;
        let from = listed_titles(&mark.sources, self.titles, self.language);
        Some(fill(self.language.words().questions.after_reading, &[&from]))
    }

    fn asked_words(&self) -> AskedWords {
        let (Some(tool), Some(form)) = (self.question.asked_by(), self.question.elicitation_form()) else {
            return AskedWords { by: None, mark: None, words: self.question.description.clone() };
        };
        let phrases = &self.language.words().questions;
        let by = fill(phrases.asked_by, &[&self.titles.tool(tool)]);
        let mark = fill(phrases.not_trusted, &[&listed_titles(&[tool.to_owned()], self.titles, self.language)]);
        let words = match self.language {
            Language::English => form.in_english(),
            language => elicitation_in_words(form, language),
        };
        AskedWords { by: Some(by), mark: (!form.is_trusted).then_some(mark), words }
    }

    fn reasons(&self) -> Vec<String> {
        let Question { calls, reasons, .. } = self.question;
        // Marks already show the source of each value.
        let is_marked = |reason: &Reason| match reason {
            Reason::UntrustedTarget { path, .. } => {
                calls.iter().any(|asked| asked.marks.iter().any(|mark| mark.place.starts_with(path.as_str())))
            }
            _ => false,
        };
        if !reasons.is_empty() && reasons.iter().all(is_marked) {
            return vec![self.language.words().questions.marked.to_owned()];
        }
        let tool = calls.first().and_then(|asked| asked.call.tool()).unwrap_or_default();
        let mut said = reasons_in_words(reasons, tool, self.titles, self.language);
        if reasons.contains(&Reason::AgentAsks) {
            let of_call = |asked: &AskedCall| {
                asked
                    .call
                    .get(ControlField::ConfirmationReason.name())
                    .filter(|reason| reason.is_string())
                    .map(quoted_value)
            };
            let mut own: Vec<String> = calls.iter().filter_map(of_call).collect();
            own.dedup();
            let head = self.language.words().questions.in_agents_words;
            said.extend(own.into_iter().map(|text| format!("{head} {text}")));
        }
        said
    }
}

/// Removes the rows and details common to all calls, which are shown once.
fn take_common(calls: &mut [CallView]) -> (Vec<RowView>, Vec<RowView>) {
    let Some((first, rest)) = calls.split_first() else { return Default::default() };
    let rows: Vec<RowView> =
        first.rows.iter().filter(|row| rest.iter().all(|call| call.rows.contains(row))).cloned().collect();
    let details: Vec<RowView> =
        first.details.iter().filter(|row| rest.iter().all(|call| call.details.contains(row))).cloned().collect();
    for call in calls.iter_mut() {
        call.rows.retain(|row| !rows.contains(row));
        call.details.retain(|row| !details.contains(row));
    }
    (rows, details)
}
