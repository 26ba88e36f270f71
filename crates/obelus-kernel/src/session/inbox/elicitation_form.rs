//! What a running call asks of a person, in parts: its own text, and the values that it requests.

use std::fmt;

use serde_json::{Map, Value};

use super::question::Question;
use crate::origin::Origins;
use crate::policy::mark;
use crate::quote::{json, word};
use crate::visible::visible;

/// The limits of characters of a call's text, and of a field.
const MOST_WORDS: usize = 4_000;
const MOST_OF_FIELD: usize = 300;

/// The beginning of a line of the call's own text.
const OWN: &str = "  │ ";

/// An elicitation in parts, for channels with other languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElicitationForm {
    /// Whether the call's tool is trusted.
    pub is_trusted: bool,
    /// The lines of the call's own text, each after a mark.
    pub own_lines: Vec<String>,
    /// The number of characters that are shown, if the text is longer.
    pub shown: Option<usize>,
    /// The requested values.
    pub fields: Vec<ElicitationField>,
}

/// A value that a call requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElicitationField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ElicitationKind,
    /// Whether it may be left out.
    pub is_optional: bool,
    /// The call's own texts about it, each after a mark.
    pub own_texts: String,
}

/// The type of a requested value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElicitationKind {
    /// One of the listed values.
    OneOf(String),
    /// Several of the listed values.
    ListOf(String),
    /// A value of a type.
    Value {
        /// The type, as in its schema.
        name: Option<String>,
        /// The format, as in its schema.
        format: Option<String>,
        /// The suggested value.
        suggested: Option<String>,
    },
}

/// The fields of an answer that is an object.
pub(super) fn fields_of(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The text for a person: who asks, its own text with each line marked, and the requested values.
pub(in crate::session) fn describe_elicitation(tool: &str, words: &str, schema: &Value, origins: &Origins) -> String {
    let mut lines = vec![head(tool) + &mark(origins)];
    let (words, cut) = cut(words, MOST_WORDS);
    lines.extend(words.lines().map(|line| format!("{OWN}{}", visible(line))));
    if cut {
        lines.push(format!("  (only the first {MOST_WORDS} characters are shown)"));
    }
    lines.extend(requested(schema).map(|field| field.to_string()));
    lines.join("\n")
}

fn head(tool: &str) -> String {
    format!("{} asks, in its own words:", visible(tool))
}

/// The values that an answer has.
fn requested(schema: &Value) -> impl Iterator<Item = ElicitationField> {
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    fields_of(schema).into_iter().flatten().map(move |(name, field)| {
        let texts = ["title", "description"].iter().filter_map(|part| field[part].as_str());
        let own = texts.map(|text| {
            let (text, cut) = cut(text, MOST_OF_FIELD);
            format!(" │ {}{}", visible(&text), if cut { "…" } else { "" })
        });
        let (name, is_optional) = (word(name).to_string(), !required(name));
        ElicitationField { name, kind: ElicitationKind::of(field), is_optional, own_texts: own.collect() }
    })
}

impl Question {
    /// The parts of an elicitation; none for another question. The description has the call's own text; what it
    /// requests is in the schema.
    pub fn elicitation_form(&self) -> Option<ElicitationForm> {
        let tool = self.asked_by()?;
        let (first, rest) = self.description.split_once('\n').unwrap_or((&self.description, ""));
        let own: Vec<String> = rest.lines().take_while(|line| line.starts_with(OWN)).map(str::to_owned).collect();
        let fields: Vec<ElicitationField> = self.schema.as_ref().map(|schema| requested(schema).collect())?;
        let is_cut = rest.lines().count() > own.len() + fields.len();
        let shown = is_cut.then_some(MOST_WORDS);
        Some(ElicitationForm { is_trusted: first == head(tool), own_lines: own, shown, fields })
    }
}

impl fmt::Display for ElicitationField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let need = if self.is_optional { ", may be left out" } else { "" };
        write!(f, "  {}: {}{need}{}", self.name, self.kind, self.own_texts)
    }
}

impl ElicitationKind {
    fn of(field: &Value) -> Self {
        let one_of = |field: &Value| {
            let named = |part: &str| field[part].as_array().cloned().unwrap_or_default();
            let mut choices = named("enum");
            choices.extend(named("oneOf").iter().chain(&named("anyOf")).filter_map(|one| one.get("const").cloned()));
            choices
        };
        let (choices, several) = match one_of(field) {
            own if !own.is_empty() => (own, false),
            _ => (one_of(&field["items"]), true),
        };
        if !choices.is_empty() {
            let (listed, cut) = cut(&choices.iter().map(json).collect::<Vec<_>>().join(", "), MOST_OF_FIELD);
            let listed = if cut { listed + "…" } else { listed };
            return if several { ElicitationKind::ListOf(listed) } else { ElicitationKind::OneOf(listed) };
        }
        ElicitationKind::Value {
            name: field["type"].as_str().map(visible),
            format: field["format"].as_str().map(|format| visible(&cut(format, 40).0)),
            suggested: field.get("default").map(|default| cut(&json(default), MOST_OF_FIELD).0),
        }
    }
}

impl fmt::Display for ElicitationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElicitationKind::OneOf(choices) => write!(f, "one of {choices}"),
            ElicitationKind::ListOf(choices) => write!(f, "a list of {choices}"),
            ElicitationKind::Value { name, format, suggested } => {
                f.write_str(name.as_deref().unwrap_or("a value"))?;
                format.as_ref().map_or(Ok(()), |format| write!(f, " ({format})"))?;
                suggested.as_ref().map_or(Ok(()), |value| write!(f, ", {value} is suggested"))
            }
        }
    }
}

/// The first `most` characters, and whether there are more.
fn cut(text: &str, most: usize) -> (String, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::origin::Origin;
    use crate::session::inbox::question::{AskedCall, Draft, Terms};
    use crate::session::inbox::{About, Elicitation};
    use crate::time::Time;

    fn asked(words: &str, schema: &Value, origins: &Origins) -> Question {
        let job: crate::session::ids::JobRef = "0.0".parse().unwrap();
        let call = AskedCall::new(json!({"_tool": "sign"}).into(), String::new(), vec![job]);
        let draft = Draft::new(About::Input, vec![call], describe_elicitation("sign", words, schema, origins));
        let elicitation = Some(Elicitation { job, call: "0.0".parse().unwrap(), key: "k".to_owned() });
        let terms = Terms { now: Time(0), remind_after: None, expire_after: 1, asked_after: 0 };
        Question::new(1, Draft { schema: Some(schema.clone()), elicitation, ..draft }, terms)
    }

    #[test]
    fn the_parts_of_an_elicitation_are_those_of_its_description() {
        let schema = json!({
            "properties": {"code": {"type": "string", "title": "a\nb"}, "size": {"enum": ["S", "M"]}},
            "required": ["size"],
        });
        let untrusted = Origins::of(Origin::Tool { name: "sign".into(), trusted: false });
        let long = format!("Enter:\n\n{}", "x".repeat(MOST_WORDS));
        for (words, origins) in [("Sign, not trusted", &Origins::default()), (long.as_str(), &untrusted)] {
            let question = asked(words, &schema, origins);
            let form = question.elicitation_form().unwrap();
            assert_eq!((form.is_trusted, form.shown.is_some()), (origins.is_trusted(), words == long));
            let own: Vec<String> = words.lines().map(|line| format!("{OWN}{line}")).collect();
            assert_eq!(form.own_lines.len(), own.len());
            let (names, kinds): (Vec<_>, Vec<_>) =
                form.fields.iter().map(|field| (field.name.as_str(), field.kind.to_string())).unzip();
            assert_eq!(
                (names, kinds),
                (vec!["code", "size"], vec!["string".to_owned(), "one of \"S\", \"M\"".to_owned()])
            );
            assert!(question.description.ends_with(&format!("{}\n{}", form.fields[0], form.fields[1])));
        }
    }
}
