//! The fields of a call for editing one by one, each with the type in its schema (ASK-3).
//!
//! Typed text is parsed by that type: a number stays a number, a date must exist. The session checks the whole call.

use obelus_kernel::session::{About, Question, Session};
use obelus_notebook::edited::difference;
use serde::Serialize;
use serde_json::{Map, Value};

use super::titles::Titles;
use crate::words::{Language, fill};

/// The editable fields of a question's only open call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EditForm {
    /// The fields, in the order of the call.
    pub fields: Vec<FormField>,
    #[serde(skip)]
    call: Value,
    #[serde(skip)]
    language: Language,
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FormField {
    /// The parameter, as a dotted path.
    pub place: String,
    /// Its label.
    pub label: String,
    /// The type of its input.
    #[serde(flatten)]
    pub kind: FieldKind,
    /// Its current value.
    pub value: Value,
    /// Its place in the call, as a JSON pointer.
    #[serde(skip)]
    pointer: String,
}

/// The type of a field's input.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "choices", rename_all = "snake_case")]
pub enum FieldKind {
    /// Any text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// A day.
    Date,
    /// A day and a time.
    DateTime,
    /// One of some values.
    Choice(Vec<Value>),
    /// Anything else, as JSON.
    Json,
}

impl EditForm {
    /// The form for a question about one open call; none for other questions.
    pub fn of(session: &Session, question: &Question, language: Language) -> Option<Self> {
        let mut open = question.calls.iter().filter(|asked| asked.decided.is_none());
        let (About::Call, Some(asked), None) = (question.about, open.next(), open.next()) else { return None };
        let titles = Titles::of(session.context_of(&question.id), language.code());
        let tool = asked.call.tool_name();
        let mut pointers = Vec::new();
        for (name, value) in asked.call.as_object()?.iter().filter(|(name, _)| !name.starts_with('_')) {
            add_pointers(&format!("/{}", escaped(name)), value, &mut pointers);
        }
        let field = |((place, value), pointer): ((String, &Value), String)| {
            let name = place.split(['.', '[']).next().unwrap_or_default();
            if titles.control_field(tool, name).is_some() {
                return None;
            }
            let label = titles.param(tool, &place);
            let label =
                label.or_else(|| titles.is_id(tool, &place).then(|| language.words().questions.number.to_owned()));
            let kind = FieldKind::of(titles.schema_of(tool, &place), value);
            let label = obelus_kernel::visible(&label.unwrap_or_else(|| place.clone()));
            Some(FormField { label, kind, value: value.clone(), place, pointer })
        };
        let fields = asked.leaves().into_iter().zip(pointers).filter_map(field).collect();
        Some(Self { fields, call: (*asked.call).clone(), language })
    }

    /// Parses typed text for a field; an error says what is wrong.
    pub fn read(&self, field: usize, typed: &str) -> Result<Value, String> {
        let Some(field) = self.fields.get(field) else { return Ok(Value::Null) };
        let words = &self.language.words().forms;
        field.kind.read(typed, &field.value).ok_or_else(|| match &field.kind {
            FieldKind::Text => words.text.to_owned(),
            FieldKind::Integer => words.integer.to_owned(),
            FieldKind::Number => words.number.to_owned(),
            FieldKind::Boolean => words.boolean.to_owned(),
            FieldKind::Date => words.date.to_owned(),
            FieldKind::DateTime => words.date_time.to_owned(),
            FieldKind::Choice(values) => {
                fill(words.choice, &[&values.iter().map(plain).collect::<Vec<_>>().join(", ")])
            }
            FieldKind::Json => words.json.to_owned(),
        })
    }

    /// The change of a parameter that makes one value of another.
    pub fn difference(before: Option<&Value>, after: &Value) -> Value {
        difference(before, after)
    }

    /// The parameters of an edit with these values; empty if nothing changes.
    pub fn params(&self, values: &[(usize, Value)]) -> Map<String, Value> {
        let mut call = self.call.clone();
        let mut changed: Vec<&str> = Vec::new();
        for (index, value) in values {
            let Some(field) = self.fields.get(*index) else { continue };
            let Some(place) = call.pointer_mut(&field.pointer).filter(|present| *present != value) else { continue };
            *place = value.clone();
            changed.push(field.pointer.split('/').nth(1).unwrap_or_default());
        }
        let is_changed = |name: &str| changed.contains(&escaped(name).as_str());
        let fields = call.as_object().into_iter().flatten().filter(|(name, _)| is_changed(name));
        fields.map(|(name, value)| (name.clone(), difference(self.call.get(name), value))).collect()
    }
}

impl FormField {
    /// A value of the field as it would be typed.
    pub fn typed(&self, value: &Value) -> String {
        plain(value)
    }
}

impl FieldKind {
    /// The type in a parameter's schema, or else that of its current value.
    fn of(schema: Option<&Value>, value: &Value) -> Self {
        let schema = schema.unwrap_or(&Value::Null);
        if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
            return FieldKind::Choice(choices.clone());
        }
        let of_value = match value {
            Value::String(_) => "string",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::Bool(_) => "boolean",
            _ => "",
        };
        let named = match &schema["type"] {
            Value::String(name) => name.as_str(),
            Value::Array(names) => {
                let fits = |name: &&Value| *name == of_value || (*name == "number" && of_value == "integer");
                names.iter().find(fits).and_then(Value::as_str).unwrap_or_default()
            }
            // Without a schema a whole number may become any number.
            _ if of_value == "integer" => "number",
            _ => of_value,
        };
        match (named, schema["format"].as_str()) {
            ("string", Some("date")) => FieldKind::Date,
            ("string", Some("date-time")) => FieldKind::DateTime,
            ("string", _) if value.as_str().is_some_and(|text| date(text).as_deref() == Some(text)) => FieldKind::Date,
            ("string", _) if value.as_str().is_some_and(is_moment) => FieldKind::DateTime,
            ("string", _) => FieldKind::Text,
            ("integer", _) => FieldKind::Integer,
            ("number", _) => FieldKind::Number,
            ("boolean", _) => FieldKind::Boolean,
            _ => FieldKind::Json,
        }
    }

    fn read(&self, typed: &str, present: &Value) -> Option<Value> {
        let line = typed.trim();
        match self {
            FieldKind::Text => {
                let quoted = serde_json::from_str(line).ok().filter(Value::is_string);
                Some(quoted.unwrap_or_else(|| typed.into()))
            }
            FieldKind::Integer => digits(line).parse::<i64>().ok().map(Value::from),
            FieldKind::Number => number(&digits(line)),
            FieldKind::Boolean => match line.to_lowercase().as_str() {
                "да" | "yes" | "true" | "1" => Some(true.into()),
                "нет" | "no" | "false" | "0" => Some(false.into()),
                _ => None,
            },
            FieldKind::Date => date(line).map(Value::from),
            FieldKind::DateTime => moment(line, present.as_str().unwrap_or_default()).map(Value::from),
            FieldKind::Choice(values) => values.iter().find(|value| plain(value) == line).cloned(),
            FieldKind::Json => serde_json::from_str(line).ok(),
        }
    }
}

/// The value of an answer that a person typed: JSON if the schema asks for something else than a text. Without a schema it
/// is a text, because nobody has asked for a number or a list.
pub fn typed_value(typed: &str, schema: Option<&Value>) -> Value {
    let wants_text = schema.is_none_or(|schema| schema.is_null() || schema["type"] == "string");
    match serde_json::from_str(typed) {
        Ok(value) if !wants_text => value,
        _ => typed.into(),
    }
}

/// A value as it is typed: text unquoted, unless that would be ambiguous.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if !text.starts_with('"') && obelus_kernel::visible(text) == *text => text.clone(),
        other => other.to_string().chars().map(escaped_sign).collect(),
    }
}

/// A character within JSON; an invisible one as an escape.
fn escaped_sign(sign: char) -> String {
    let text = sign.to_string();
    if obelus_kernel::visible(&text) == text {
        return text;
    }
    let mut units = [0; 2];
    sign.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// A number without blanks between digits, and with a decimal point.
fn digits(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace() && *c != '\'').map(|c| if c == ',' { '.' } else { c }).collect()
}

/// A whole number stays whole.
fn number(text: &str) -> Option<Value> {
    match text.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
    }
}

/// A day that exists, as `YYYY-MM-DD`; it may be typed as `DD.MM.YYYY`.
fn date(text: &str) -> Option<String> {
    let parts = |by: char| text.split(by).map(str::to_owned).collect::<Vec<String>>();
    let (year, month, day) = match (&parts('-')[..], &parts('.')[..]) {
        ([year, month, day], _) | (_, [day, month, year]) => (year.clone(), month.clone(), day.clone()),
        _ => return None,
    };
    let read = |text: &str, most: usize| {
        let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (year, month, day) = (read(&year, 4).filter(|_| year.len() == 4)?, read(&month, 2)?, read(&day, 2)?);
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// A time of day as `HH:MM:SS`, and the zone after it.
fn clock(text: &str) -> Option<(String, &str)> {
    let end = text.find(['Z', '+', '-']).unwrap_or(text.len());
    let (clock, zone) = text.split_at(end);
    let parts: Vec<&str> = clock.trim().split('.').next()?.split(':').collect();
    let read = |part: Option<&&str>, most: u32| match part {
        None => Some(0),
        Some(text) => text.parse::<u32>().ok().filter(|number| *number < most && text.len() <= 2),
    };
    let (hour, minute, second) = (read(parts.first(), 24)?, read(parts.get(1), 60)?, read(parts.get(2), 60)?);
    (parts.len() > 1 && parts.len() < 4).then(|| (format!("{hour:02}:{minute:02}:{second:02}"), zone))
}

/// An RFC 3339 time. Without a typed zone, it has the current value's.
fn moment(typed: &str, present: &str) -> Option<String> {
    let (day, time) = typed.split_once(['T', ' '])?;
    let (time, zone) = clock(time)?;
    let own = present.split_once(['T', ' ']).and_then(|(_, time)| clock(time)).map(|(_, zone)| zone.to_owned());
    let zone = if zone.is_empty() { own.unwrap_or_default() } else { zone.to_owned() };
    Some(format!("{}T{time}{zone}", date(day)?))
}

/// Whether a text is an RFC 3339 time.
fn is_moment(text: &str) -> bool {
    let day = text.split_once('T').map(|(day, _)| day);
    day.is_some_and(|day| date(day).as_deref() == Some(day)) && moment(text, text).is_some()
}

/// The pointers of parts that have a line of their own, in the order in which questions show them.
fn add_pointers(place: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, inner) in fields {
                add_pointers(&format!("{place}/{}", escaped(name)), inner, found);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (index, inner) in items.iter().enumerate() {
                add_pointers(&format!("{place}/{index}"), inner, found);
            }
        }
        _ => found.push(place.to_owned()),
    }
}

/// A name in a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::view::sample;

    fn form() -> EditForm {
        let call = json!([{"_tool": "crm.deal.update", "id": 7, "comment": "x", "fields": {
            "OPPORTUNITY": 100_000, "TITLE": "007", "DAY": "2026-11-20", "AT": "2026-11-20T10:00:00+03:00",
            "OPEN": true, "KIND": "SALE", "TAGS": [1, 2], "a/b": "x"}}]);
        let (session, question) = sample::asked(json!([]), call);
        EditForm::of(&session, &question, Language::English).expect("one call")
    }

    fn at(form: &EditForm, place: &str) -> usize {
        form.fields.iter().position(|field| field.place.ends_with(place)).unwrap_or_else(|| panic!("{place}"))
    }

    #[test]
    fn typed_input_gets_the_type_of_its_field() {
        let form = form();
        for (place, typed, value) in [
            ("id", "8", Some(json!(8))),
            ("id", "eight", None),
            ("id", "8.5", None),
            ("OPPORTUNITY", "200 000", Some(json!(200_000))),
            ("OPPORTUNITY", "1,5", Some(json!(1.5))),
            ("TITLE", "12", Some(json!("12"))),
            ("TITLE", "\"a\\nb\"", Some(json!("a\nb"))),
            ("DAY", "2026-12-01", Some(json!("2026-12-01"))),
            ("DAY", "1.12.2026", Some(json!("2026-12-01"))),
            ("DAY", "2026-02-30", None),
            ("DAY", "tomorrow", None),
            ("AT", "2026-12-01 9:30", Some(json!("2026-12-01T09:30:00+03:00"))),
            ("AT", "2026-12-01T09:30:00Z", Some(json!("2026-12-01T09:30:00Z"))),
            ("AT", "2026-12-01 25:00", None),
            ("OPEN", "нет", Some(json!(false))),
            ("OPEN", "maybe", None),
            ("KIND", "SERVICE", Some(json!("SERVICE"))),
            ("KIND", "OTHER", None),
            ("TAGS", "[3]", Some(json!([3]))),
            ("TAGS", "3,", None),
        ] {
            let read = form.read(at(&form, place), typed);
            assert_eq!(read.as_ref().ok(), value.as_ref(), "{place}: {typed}");
            assert!(read.err().is_none_or(|words| words.len() > 10), "{place}: {typed}");
        }
    }

    #[test]
    fn a_typed_answer_is_a_text_unless_the_schema_asks_for_something_else() {
        let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
        for (typed, schema, value) in [
            ("007", Some(&text), json!("007")),
            ("\"a\"", Some(&text), json!("\"a\"")),
            ("4", Some(&number), json!(4)),
            ("four", Some(&number), json!("four")),
            ("4", None, json!("4")),
            ("[1]", Some(&Value::Null), json!("[1]")),
        ] {
            assert_eq!(typed_value(typed, schema), value, "{typed}");
        }
    }

    #[test]
    fn an_edit_contains_only_the_changed_fields() {
        let form = form();
        let edit = form.params(&[(at(&form, "TITLE"), json!("A")), (at(&form, "b\""), json!("y")), (0, json!(7))]);
        assert_eq!(edit.keys().collect::<Vec<_>>(), ["fields"], "the same value is no change");
        assert_eq!((&edit["fields"]["TITLE"], &edit["fields"]["a/b"]), (&json!("A"), &json!("y")));
        assert_eq!(edit["fields"].as_object().unwrap().len(), 2, "the others stay");
        assert!(form.params(&[]).is_empty());
    }

    #[test]
    fn a_form_contains_only_parameters_with_their_labels() {
        let form = form();
        let labels: Vec<&str> = form.fields.iter().map(|field| field.label.as_str()).collect();
        assert_eq!(labels[..3], ["Deal", "Amount", "Name"]);
        assert!(!labels.contains(&"comment"));
        assert_eq!(serde_json::to_value(&form.fields[0]).unwrap()["kind"], "integer");
        let (session, many) = sample::about_three();
        assert_eq!(EditForm::of(&session, &many, Language::English), None);
    }
}
