//! Values of the state with their provenance, and changes between two records.

use std::borrow::Cow;

use obelus_kernel::CallJson;
use obelus_kernel::policy::ConsentId;
use obelus_kernel::policy::Writer;
use obelus_kernel::session::{About, AskedCall, Question, QuestionStatus, Session};
use obelus_kernel::{Expr, Message, Time};
use obelus_runtime::Language;
use obelus_runtime::people::Titles;
use obelus_runtime::sessions::InboxId;
use serde_json::Value;

use super::Service;
use super::graph::cut;
use crate::ChannelError;
use crate::types::{ChangeKind, StateChange, StateChanges, StateValue, StateValues, WriterKind, WriterView};
use crate::who::who;

/// The limit of values.
const MOST_VALUES: usize = 500;

/// Values below this depth are not split.
const DEEPEST: usize = 12;

impl Service {
    /// The values of the state below a path, now or after a record, with their provenance.
    pub async fn state_values(
        &self,
        id: &str,
        at: Option<u64>,
        below: Option<&str>,
        wanted: Option<Language>,
    ) -> Result<StateValues, ChannelError> {
        let (service, name) = (self.clone(), id.to_owned());
        let below = below.map(|path| if path.starts_with('†') { path.to_owned() } else { format!("†{path}") });
        let values = self.read_at(id, at, move |session| {
            let language = service.language_of(session, wanted);
            let inspector = Inspector::of(session, &name, language);
            inspector.values(below.as_deref().unwrap_or("†state"))
        });
        values.await?.map_err(ChannelError::BadRequest)
    }

    /// The changes of the state between two records, or until now.
    pub async fn state_changes(&self, id: &str, at: u64, to: Option<u64>) -> Result<StateChanges, ChannelError> {
        let before = self.state(id, Some(at)).await?;
        let after = self.state(id, to).await?;
        let mut changes = Vec::new();
        difference("†state", Some(&before), Some(&after), 0, &mut changes);
        let left_out = changes.len().saturating_sub(MOST_VALUES);
        changes.truncate(MOST_VALUES);
        Ok(StateChanges { at, to, changes, left_out })
    }
}

/// Reads the state of a session.
struct Inspector<'a> {
    session: &'a Session,
    id: &'a str,
    language: Language,
    titles: Titles,
    /// Approved questions.
    approved: Vec<Question>,
}

impl<'a> Inspector<'a> {
    fn of(session: &'a Session, id: &'a str, language: Language) -> Self {
        let has_approved = |question: &Question| question.calls.iter().any(|asked| is_approved(question, asked));
        let approved = session.questions().into_iter().filter(has_approved).collect();
        Self { session, id, language, titles: Titles::of(session.context(), language.code()), approved }
    }

    fn values(&self, below: &str) -> Result<StateValues, String> {
        let Expr::Ref(path) = Expr::parse(below).map_err(|fault| fault.to_string())? else {
            return Err(format!("`{}` is no path", obelus_kernel::visible(below)));
        };
        let whole = self.session.state();
        let value = match path.kind.as_str() {
            // The state as people see it.
            "state" => path.segments.iter().try_fold(&whole, |value, segment| segment.of(value)).cloned(),
            _ => self.session.context().read(&path, None).map(Cow::into_owned),
        };
        let value = value.unwrap_or_default();
        let mut leaves = Vec::new();
        add_leaves(below, &value, 0, &mut leaves);
        let left_out = leaves.len().saturating_sub(MOST_VALUES);
        let shown = leaves.into_iter().take(MOST_VALUES);
        let values = shown.map(|(path, value)| self.value(path, value)).collect();
        Ok(StateValues { path: below.to_owned(), values, left_out })
    }

    fn value(&self, path: String, value: &Value) -> StateValue {
        let write = self.session.last_write(&path, None).ok().flatten();
        let origins = write.as_ref().map(|write| write.origins.clone()).unwrap_or_default();
        let (value, is_cut) = cut(value);
        let call = write.as_ref().and_then(|write| self.call_of(write.message));
        let date = write.as_ref().and_then(|write| write.date.as_deref());
        let approved = call.and_then(|call| self.approval(call, date));
        StateValue {
            is_cut,
            origins: origins.iter().map(ToString::to_string).collect(),
            trusted: origins.is_trusted(),
            writer: write.as_ref().map(|write| self.writer(&write.by)),
            written_at: write.as_ref().and_then(|write| write.date.clone()),
            message: write.as_ref().map(|write| write.message),
            headline: call.map(|call| self.session.call_headline_in(call, Some(self.language.code()))),
            call: call.map(|call| Value::clone(call)),
            question: approved.map(|question| InboxId::new(self.id, &question.id).to_string()),
            approved_by: approved.and_then(|question| question.by.clone()),
            approved_by_words: approved.and_then(|question| Some(who(question.by.as_deref()?, self.language))),
            consent: write.as_ref().and_then(|write| write.consent).map(|number| ConsentId(number).to_string()),
            path,
            value,
        }
    }

    /// The proposed call whose result a message is.
    fn call_of(&self, message: usize) -> Option<&CallJson> {
        match self.session.context().messages().get(message)? {
            Message::Data(data) => data.as_result().map(|(call, ..)| call),
            _ => None,
        }
    }

    fn writer(&self, by: &Writer) -> WriterView {
        let (kind, name, trusted) = match by {
            Writer::Author => (WriterKind::Author, None, true),
            Writer::User => (WriterKind::User, None, true),
            Writer::Tool { name, trusted } => (WriterKind::Tool, Some(name), *trusted),
            Writer::Model(name) => (WriterKind::Model, Some(name), true),
            Writer::Delegate(name) => (WriterKind::Delegate, Some(name), false),
            Writer::Elsewhere(name) => (WriterKind::Elsewhere, Some(name), false),
            Writer::Runtime => (WriterKind::Runtime, None, true),
        };
        WriterView { kind, title: name.map(|name| self.titles.tool(name)), name: name.cloned(), trusted }
    }

    /// The approved question about the call of a write. None if several questions match and different people answered
    /// them.
    fn approval(&self, call: &Value, date: Option<&str>) -> Option<&Question> {
        let date = date.and_then(Time::parse);
        let is_meant = |question: &&Question| {
            question.calls.iter().any(|asked| {
                let decided_at = asked.decided_at.or(question.decided_at);
                let was_before = decided_at.zip(date).is_none_or(|(decided, written)| decided <= written);
                is_approved(question, asked) && was_before && may_be(call, &asked.call)
            })
        };
        let mut meant = self.approved.iter().filter(is_meant);
        let last = meant.next_back()?;
        meant.all(|other| other.by == last.by).then_some(last)
    }
}

/// Whether a person has approved a call. Of an approved plan those calls are decided that were left out.
fn is_approved(question: &Question, asked: &AskedCall) -> bool {
    let is_of_approved = question.about == About::Plan && question.status == QuestionStatus::Approved;
    asked.decided.unwrap_or(is_of_approved)
}

/// Whether a proposed call may be the one that a person was asked about.
fn may_be(proposed: &Value, asked: &Value) -> bool {
    let has_reference = |value: &Value| value.to_string().contains('†');
    let fields = proposed.as_object().into_iter().flatten();
    let mut compared = fields.filter(|(name, _)| CallJson::is_of_action(name));
    compared.all(|(name, value)| has_reference(value) || asked.get(name) == Some(value))
}

/// Adds the values below a path that are not lists or records, or are empty.
fn add_leaves<'v>(path: &str, value: &'v Value, depth: usize, into: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() && depth < DEEPEST => {
            fields.iter().for_each(|(name, value)| add_leaves(&below(path, name), value, depth + 1, into));
        }
        Value::Array(items) if !items.is_empty() && depth < DEEPEST => {
            items.iter().enumerate().for_each(|(i, item)| add_leaves(&format!("{path}[{i}]"), item, depth + 1, into));
        }
        leaf => into.push((path.to_owned(), leaf)),
    }
}

/// The path of a field.
fn below(path: &str, name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain { format!("{path}.{name}") } else { format!("{path}[{}]", Value::from(name)) }
}

/// Adds the differences at a path and below it.
fn difference(path: &str, before: Option<&Value>, after: Option<&Value>, depth: usize, into: &mut Vec<StateChange>) {
    if before == after {
        return;
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (before, after)
        && depth < DEEPEST
    {
        let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
        names.for_each(|name| difference(&below(path, name), old.get(name), new.get(name), depth + 1, into));
        return;
    }
    if let (Some(Value::Array(old)), Some(Value::Array(new))) = (before, after)
        && depth < DEEPEST
    {
        let longest = old.len().max(new.len());
        (0..longest).for_each(|i| difference(&format!("{path}[{i}]"), old.get(i), new.get(i), depth + 1, into));
        return;
    }
    let kind = match (before, after) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Removed,
        _ => ChangeKind::Changed,
    };
    into.push(StateChange { path: path.to_owned(), kind, before: before.cloned(), after: after.cloned() });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn state_differences_are_listed_by_value() {
        let before = json!({"deal": {"title": "A", "sum": 1}, "log": [1], "gone": true});
        let after = json!({"deal": {"title": "B", "sum": 1}, "log": [1, 2], "new": {"x": 1}});
        let mut changes = Vec::new();
        difference("†state", Some(&before), Some(&after), 0, &mut changes);
        let told: Vec<(&str, ChangeKind)> = changes.iter().map(|one| (one.path.as_str(), one.kind)).collect();
        assert_eq!(
            told,
            [
                ("†state.deal.title", ChangeKind::Changed),
                ("†state.log[1]", ChangeKind::Added),
                ("†state.gone", ChangeKind::Removed),
                ("†state.new", ChangeKind::Added),
            ]
        );
    }

    #[test]
    fn a_call_is_matched_by_its_parameters_that_are_not_references() {
        let asked = json!({"_tool": "t", "id": 7, "to": "anna@example.test"});
        assert!(may_be(&json!({"_tool": "t", "id": "†state.id", "to": "anna@example.test"}), &asked));
        assert!(!may_be(&json!({"_tool": "t", "id": 8, "to": "anna@example.test"}), &asked));
        assert!(!may_be(&json!({"_tool": "u", "id": 7}), &asked));
    }
}
