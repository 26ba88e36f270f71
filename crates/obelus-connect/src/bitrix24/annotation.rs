//! The annotation `x-bitrix24` of a tool. It describes a method, so that a new method needs no code.

use std::collections::BTreeMap;

use obelus_kernel::Tool;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::embed_key;
use super::keyed::KeyedCreation;
use super::names::FieldNames;

/// The upper limit of rows that are fetched.
const MOST_ROWS: usize = 10_000;

/// The annotation of a tool. Without one, the method has the tool's name and its result is returned unchanged.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Annotation {
    /// The method, if its name differs from the tool's.
    pub(super) method: Option<String>,
    /// Parameters that are sent with every call.
    pub(super) params: Map<String, Value>,
    list: Listed,
    /// Values added to a creation so that it can be found again, by the parameter's dotted path.
    pub(super) plant: Map<String, Value>,
    /// How to find a creation by its planted key.
    pub(super) find: Option<CreationSearch>,
    /// How to check that an update happened.
    pub(super) same: Option<UpdateCheck>,
    /// The field of the portal's result to return; the whole result if absent.
    pub(super) result: Option<String>,
    /// Fields of rows whose codes get names.
    pub(super) names: BTreeMap<String, FieldNames>,
    /// The same creation by a method with idempotency keys, if the portal has it.
    pub(super) keyed: Option<KeyedCreation>,
    /// Another method, for calls without a certain parameter.
    instead: Option<Box<AlternativeMethod>>,
}

/// A method for calls without a parameter that the tool's own method needs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlternativeMethod {
    /// The dotted path of the parameter.
    without: String,
    /// Its parameters, in which `{path.of.a.parameter}` is replaced; a missing one is left out.
    fill: Map<String, Value>,
    /// The method's annotation.
    by: Annotation,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Listed {
    Plain(bool),
    /// The field with the rows.
    Rows(String),
    As(List),
}

impl Default for Listed {
    fn default() -> Self {
        Listed::Plain(false)
    }
}

/// A method that returns rows in pages.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct List {
    /// The field of the result with the rows, if the result is not the rows themselves.
    pub(super) rows: Option<String>,
    /// The field of a row with its id, in any case.
    pub(super) id: String,
    /// How pages are found.
    pub(super) by: Paging,
    /// The upper limit of rows, whatever a call asks for.
    pub(super) most: usize,
    /// Whether all rows are returned unless the call limits them. For short lists.
    pub(super) whole: bool,
}

/// How the next page is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Paging {
    /// By the id of the last row. Every page costs the portal the same.
    #[default]
    Id,
    /// By row count, for methods that cannot filter by id.
    Start,
}

impl Default for List {
    fn default() -> Self {
        Self { rows: None, id: "ID".to_owned(), by: Paging::Id, most: MOST_ROWS, whole: false }
    }
}

/// How a creation is found again.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreationSearch {
    /// A method that lists.
    pub(super) method: String,
    /// Its parameters, in which `{key}` and `{path.of.a.parameter}` are replaced.
    #[serde(default)]
    pub(super) params: Map<String, Value>,
    /// Short for the parameter `filter`.
    #[serde(default)]
    filter: Option<Value>,
    /// The field of the result with the rows.
    #[serde(default)]
    pub(super) rows: Option<String>,
    /// The field of a row with its id.
    #[serde(default = "id")]
    pub(super) id: String,
    /// A field of a row that must contain the key, if the portal cannot filter by it.
    #[serde(default)]
    pub(super) mark: Option<String>,
    /// What the creation returns, with `{id}` replaced; the id alone if absent.
    #[serde(default)]
    pub(super) result: Option<Value>,
    /// Short for a result `{NAME: {id: …}}`.
    #[serde(default)]
    wrap: Option<String>,
}

/// How to check that an update happened.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateCheck {
    /// A method that reads the record.
    pub(super) method: String,
    /// Its parameters, in which `{path.of.a.parameter}` is replaced.
    #[serde(default)]
    pub(super) params: Map<String, Value>,
    /// The field of the result with the record, if the result is not the record itself.
    #[serde(default)]
    pub(super) record: Option<String>,
    /// The parameter of the update with the fields that it sets.
    pub(super) fields: String,
}

impl CreationSearch {
    /// Expands the short forms.
    fn write_out(&mut self) {
        if let Some(filter) = self.filter.take() {
            self.params.insert("filter".to_owned(), filter);
        }
        if let Some(name) = self.wrap.take() {
            self.result = Some(json!({ name: {"id": "{id}"} }));
        }
    }
}

fn id() -> String {
    "ID".to_owned()
}

impl Annotation {
    /// Reads the annotation of a tool; the error says what is wrong with it.
    pub(super) fn of(tool: &Tool) -> Result<Self, String> {
        let Some(said) = tool.schema.get("x-bitrix24").filter(|said| !said.is_null()) else {
            return Ok(Self::default());
        };
        let read = Self::deserialize(said).map_err(|error| error.to_string()).and_then(Self::checked);
        read.map_err(|error| format!("the tool `{}`: `x-bitrix24` cannot be read: {error}", tool.name))
    }

    fn checked(mut self) -> Result<Self, String> {
        let finds = self.find.iter_mut().chain(self.keyed.iter_mut().map(|keyed| &mut keyed.find));
        finds.for_each(CreationSearch::write_out);
        if let Some(mut instead) = self.instead.take() {
            instead.by = instead.by.checked()?;
            self.instead = Some(instead);
        }
        if self.plant.is_empty() || self.find.is_some() {
            Ok(self)
        } else {
            Err("`plant` without `find`: nobody would look for what is planted".to_owned())
        }
    }

    /// The annotation and parameters for a call: those of the method, or of the one used instead.
    pub(super) fn for_call(mut self, mut params: Map<String, Value>) -> (Self, Map<String, Value>) {
        if let Some(instead) = self.instead.take().filter(|instead| embed_key::at(&params, &instead.without).is_none())
        {
            let filled =
                |(name, value): (&String, &Value)| Some((name.clone(), embed_key::filled(value, "", &params)?));
            params = instead.fill.iter().filter_map(filled).collect();
            self = instead.by;
        }
        params.extend(self.params.clone());
        (self, params)
    }

    /// How the method lists, if it does.
    pub(super) fn list(&self) -> Option<List> {
        match &self.list {
            Listed::Plain(true) => Some(List::default()),
            Listed::Plain(false) => None,
            Listed::Rows(rows) => Some(List { rows: Some(rows.clone()), ..List::default() }),
            Listed::As(list) => Some(list.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(said: Value) -> Result<Annotation, String> {
        Annotation::of(&Tool::parse("crm.deal.list", &json!({"x-bitrix24": said})).unwrap())
    }

    #[test]
    fn b24_11_an_annotation_describes_a_method_completely() {
        assert_eq!(read(json!(null)).unwrap(), Annotation::default());
        let said = read(json!({"method": "crm.dealcategory.list", "list": true})).unwrap();
        assert_eq!((said.method.as_deref(), said.list()), (Some("crm.dealcategory.list"), Some(List::default())));
        let tasks = read(json!({"list": {"rows": "tasks", "id": "id", "by": "start", "most": 100}})).unwrap();
        let list =
            List { rows: Some("tasks".to_owned()), id: "id".to_owned(), by: Paging::Start, most: 100, whole: false };
        assert_eq!(tasks.list(), Some(list));
        let short =
            read(json!({"list": "tasks", "find": {"method": "m", "filter": {"A": 1}, "wrap": "task"}})).unwrap();
        assert_eq!(short.list().and_then(|list| list.rows).as_deref(), Some("tasks"));
        let find = short.find.unwrap();
        assert_eq!((&find.params["filter"], find.result), (&json!({"A": 1}), Some(json!({"task": {"id": "{id}"}}))));
    }

    #[test]
    fn a_call_without_a_required_parameter_uses_the_fallback_method() {
        let said = read(json!({
            "method": "crm.activity.add", "plant": {"fields.ORIGIN_ID": "{key}"}, "find": {"method": "crm.activity.list"},
            "instead": {
                "without": "fields.COMMUNICATIONS",
                "by": {"method": "crm.activity.todo.add", "result": "id", "params": {"colorId": "1"}},
                "fill": {"title": "{fields.SUBJECT}", "responsibleId": "{fields.RESPONSIBLE_ID}"},
            },
        }))
        .unwrap();
        let params = |value: Value| value.as_object().cloned().unwrap_or_default();
        let full = params(json!({"fields": {"SUBJECT": "Звонок", "communications": [{"VALUE": "1"}]}}));
        let (own, sent) = said.clone().for_call(full.clone());
        assert_eq!((own.method.as_deref(), sent), (Some("crm.activity.add"), full));
        let (other, sent) = said.for_call(params(json!({"fields": {"SUBJECT": "Звонок", "COMMUNICATIONS": null}})));
        assert_eq!((other.method.as_deref(), other.result.as_deref()), (Some("crm.activity.todo.add"), Some("id")));
        assert_eq!(sent, params(json!({"title": "Звонок", "colorId": "1"})));
        assert!(other.plant.is_empty() && other.find.is_none());
    }

    #[test]
    fn an_error_in_an_annotation_is_reported_with_the_tool() {
        for (said, words) in [
            (json!({"lst": true}), "unknown field `lst`"),
            (json!({"find": {"methd": "x"}}), "methd"),
            (json!({"plant": {"fields.X": "{key}"}}), "`plant` without `find`"),
            (
                json!({"instead": {"without": "a", "fill": {}, "by": {"plant": {"b": "{key}"}}}}),
                "`plant` without `find`",
            ),
            (json!({"instead": {"without": "a", "fill": {}, "by": {"metod": "b"}}}), "metod"),
            (json!(true), "x-bitrix24"),
        ] {
            let error = read(said.clone()).unwrap_err();
            assert!(error.contains(words) && error.contains("crm.deal.list"), "{said}: {error}");
        }
    }
}
