//! Annotations for readers: `x-title`, `x-labels`, `x-details`, `x-names`, `x-shown` and `x-quiet`. An invalid one is
//! ignored when the tool is used, and reported when it is checked.

use serde_json::{Map, Value};

use super::name_source::Names;
use super::{Effect, Tool, trust};
use crate::names::folded;
use crate::wording::type_name;

/// The author's text: plain, or by language. A missing language falls back to English, then to the first one.
pub fn in_language<'a>(declared: &'a Value, language: Option<&str>) -> Option<&'a str> {
    match declared {
        Value::String(word) => Some(word),
        Value::Object(words) => {
            let own = language.and_then(|language| words.get(language));
            own.or_else(|| words.get("en")).or_else(|| words.values().next()).and_then(Value::as_str)
        }
        _ => None,
    }
}

/// The first sentence of a description.
fn first_sentence(text: &str) -> &str {
    let end = text.find([';', '\n']).or_else(|| text.find(". ")).unwrap_or(text.len());
    text[..end].trim_end_matches('.').trim()
}

impl Tool {
    /// The tool's name for people.
    pub(crate) fn title(&self, language: Option<&str>) -> Option<&str> {
        in_language(self.schema.get("x-title")?, language)
    }

    /// The tool's name wherever a person reads it: `x-title`, `title`, the first sentence of its description, or its name.
    /// Only the author's `x-title` may stand for the name of a tool with unchecked texts (POL-8).
    pub fn shown_title(&self, language: Option<&str>) -> String {
        if self.words_of().is_some() {
            return self.title(language).unwrap_or(&self.name).to_owned();
        }
        let own = self.title(language).or_else(|| self.schema.get("title")?.as_str());
        let described = || self.schema.get("description")?.as_str().map(first_sentence);
        let title = own.filter(|title| !title.trim().is_empty()).or_else(described);
        title.map_or_else(|| self.name.replace(['_', '.'], " "), str::to_owned)
    }

    /// The fields of a result that a model is shown, if not all (`x-shown`).
    pub fn shown_fields(&self) -> Option<Vec<&str>> {
        self.schema.get("x-shown")?.as_array()?.iter().map(Value::as_str).collect()
    }

    /// Whether successful calls are hidden from people (`x-quiet`). Only reads can be quiet.
    pub fn is_quiet(&self) -> bool {
        self.effect == Effect::Read && self.schema.get("x-quiet") == Some(&Value::Bool(true))
    }

    /// Whether it can be called but is not listed (`x-unlisted`), because the description of another tool names it.
    pub fn is_unlisted(&self) -> bool {
        self.schema.get("x-unlisted") == Some(&Value::Bool(true))
    }

    /// A parameter's name for people. Indexes, case and underscores are ignored: `rows[0].unitPrice` is
    /// `rows.UNIT_PRICE`.
    pub fn label(&self, place: &str, language: Option<&str>) -> Option<&str> {
        let labels = self.schema.get("x-labels")?.as_object()?;
        let place = plain(place);
        let (_, declared) = labels.iter().find(|(known, _)| plain(known) == place)?;
        in_language(declared, language)
    }

    /// The name for people of a parameter that the author cannot name, such as a field of a page: its own name, and the
    /// label of the place around it (`"form.fields.*": will be sent`).
    pub fn label_by_pattern(&self, place: &str, language: Option<&str>) -> Option<String> {
        let labels = self.schema.get("x-labels")?.as_object()?;
        labels.iter().find_map(|(known, declared)| {
            let name = place.strip_prefix(known.strip_suffix('*')?)?;
            Some(format!("{name} ({})", in_language(declared, language)?))
        })
    }

    /// The parameter with the record of a call (`x-entity`).
    pub fn record(&self) -> Option<&str> {
        self.schema.get("x-entity")?.get("id")?.as_str()
    }

    /// The name of the kind of records that its calls are about (`x-entity`).
    pub fn record_kind(&self) -> Option<&str> {
        self.schema.get("x-entity")?.get("name")?.as_str()
    }

    /// Whether it pays, as its author declares (`x-pays`).
    pub fn declares_payment(&self) -> bool {
        self.schema.get("x-pays") == Some(&Value::Bool(true))
    }

    /// Whether its author declares an effect (`x-effect`).
    pub fn declares_effect(&self) -> bool {
        self.schema.get("x-effect").is_some()
    }

    /// Whether a parameter is the record of a call.
    pub fn is_record(&self, place: &str) -> bool {
        self.record().is_some_and(|record| plain(record) == plain(place))
    }

    /// Whether a parameter is a detail (`x-details`), or inside one. Details are shown last.
    pub fn is_detail(&self, place: &str) -> bool {
        let details = self.schema.get("x-details").and_then(Value::as_array).into_iter().flatten();
        let place = plain(place);
        let covers =
            |known: &str| place.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        details.filter_map(Value::as_str).any(|known| covers(&plain(known)))
    }

    /// Invalid annotations for people: the annotation, and the error.
    pub fn annotation_warnings(&self) -> Vec<(&'static str, String)> {
        let mut odd = Vec::new();
        let no_word = |declared: &Value| match declared {
            Value::String(_) => false,
            Value::Object(words) => words.is_empty() || !words.values().all(Value::is_string),
            _ => true,
        };
        const WORD: &str = "a text, or one for each language: {ru: …, en: …}";
        if self.schema.get("x-title").is_some_and(no_word) {
            odd.push(("x-title", format!("`x-title` is {WORD}")));
        }
        match self.schema.get("x-quiet") {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) if self.effect == Effect::Read => {}
            Some(Value::Bool(true)) => {
                odd.push(("x-quiet", "`x-quiet` is for tools that read; what does more is always told".to_owned()));
            }
            Some(other) => odd.push(("x-quiet", format!("`x-quiet` is true or false, not {}", type_name(other)))),
        }
        let is_list = |declared: &Value| declared.as_array().is_some_and(|all| all.iter().all(Value::is_string));
        if self.schema.get("x-details").is_some_and(|declared| !is_list(declared)) {
            odd.push(("x-details", "`x-details` is a list of parameters by their places".to_owned()));
        }
        if self.schema.get("x-shown").is_some_and(|declared| !is_list(declared)) {
            odd.push(("x-shown", "`x-shown` is a list of fields of the result".to_owned()));
        }
        let empty = Map::new();
        let places = |name: &'static str, odd: &mut Vec<(&'static str, String)>| match self.schema.get(name) {
            None => &empty,
            Some(Value::Object(places)) => places,
            Some(other) => {
                odd.push((name, format!("`{name}` is an object of parameters, not {}", type_name(other))));
                &empty
            }
        };
        for (place, declared) in places("x-labels", &mut odd) {
            if no_word(declared) {
                odd.push(("x-labels", format!("`x-labels`, `{place}`: it is {WORD}")));
            }
        }
        for (place, declared) in places("x-names", &mut odd) {
            let places = match Names::read(declared) {
                Ok(names) => std::iter::once(place.as_str()).chain(names.of).collect(),
                Err(words) => {
                    odd.push(("x-names", format!("`x-names`, `{place}`: {words}")));
                    Vec::new()
                }
            };
            for place in places {
                if let Some(words) = trust::stray(&self.params, place, true) {
                    odd.push(("x-names", format!("`x-names` names `{place}`: {words}")));
                }
            }
        }
        odd
    }
}

/// A path without indexes, with normalised names.
fn plain(place: &str) -> String {
    let steps = place.split('.').map(|step| folded(step.split('[').next().unwrap_or(step)));
    steps.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn odd(annotations: Value) -> Vec<String> {
        let mut schema = json!({"type": "object", "properties": {"id": {}, "fields": {"type": "object"}}});
        for (name, declared) in annotations.as_object().unwrap() {
            schema[name] = declared.clone();
        }
        let tool = Tool::parse("t", &schema).unwrap();
        tool.annotation_warnings().into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn texts_are_in_the_wanted_language_or_in_english_or_in_any() {
        let tool = Tool::parse(
            "t",
            &json!({"x-title": {"ru": "Имя", "en": "Name"}, "x-labels": {"rows.price": {"de": "Preis"}}}),
        );
        let tool = tool.unwrap();
        assert_eq!(tool.title(Some("ru")), Some("Имя"));
        assert_eq!(tool.title(Some("fr")), Some("Name"));
        assert_eq!(tool.title(None), Some("Name"));
        assert_eq!(tool.label("rows[3].PRICE", Some("ru")), Some("Preis"));
        assert_eq!(tool.label("rows", None), None);
    }

    #[test]
    fn an_unchecked_description_does_not_name_its_tool() {
        let mut schema = json!({"title": "Weather", "description": "Shows the weather", "x-words-of": "w"});
        assert_eq!(Tool::parse("w.wipe", &schema).unwrap().shown_title(None), "w.wipe");
        schema["x-title"] = json!("Wipe");
        assert_eq!(Tool::parse("w.wipe", &schema).unwrap().shown_title(None), "Wipe");
    }

    #[test]
    fn only_a_reading_tool_can_be_quiet() {
        let is_quiet = |schema| Tool::parse("t", &schema).unwrap().is_quiet();
        assert!(is_quiet(json!({"x-quiet": true, "x-effect": "read"})));
        for loud in
            [json!({"x-effect": "read"}), json!({"x-quiet": "true", "x-effect": "read"}), json!({"x-quiet": true})]
        {
            assert!(!is_quiet(loud.clone()), "{loud}");
        }
    }

    #[test]
    fn details_are_found_by_path_regardless_of_index_and_case() {
        let tool = Tool::parse("t", &json!({"x-details": ["rows.Mark", "nth"]})).unwrap();
        assert!(["rows[3].mark", "nth", "rows[0].mark.x"].iter().all(|place| tool.is_detail(place)));
        assert!(["rows", "mark", "rows.marked"].iter().all(|place| !tool.is_detail(place)));
    }

    #[test]
    fn a_parameter_named_by_a_page_is_labelled_by_its_parent() {
        let tool = Tool::parse("t", &json!({"x-labels": {"form.fields.*": {"en": "will be sent"}}})).unwrap();
        assert_eq!(tool.label_by_pattern("form.fields.E-mail", None).as_deref(), Some("E-mail (will be sent)"));
        assert_eq!(tool.label_by_pattern("form.address", None), None);
        assert_eq!(tool.label("form.fields.E-mail", None), None);
    }

    #[test]
    fn valid_texts_are_not_reported_as_odd() {
        let names = json!({
            "fields.STAGE_ID": {"in": ["list"], "id": "ID", "name": ["NAME", "LAST_NAME"], "as": ["stage"]},
        });
        let all =
            json!({"x-title": {"ru": "Имя"}, "x-labels": {"id": "number", "fields.A": {"en": "a"}}, "x-names": names});
        assert_eq!(odd(all), Vec::<String>::new());
    }

    #[test]
    fn invalid_texts_are_named() {
        for (annotations, part) in [
            (json!({"x-title": 5}), "`x-title` is a text"),
            (json!({"x-title": {"ru": 1}}), "`x-title` is a text"),
            (json!({"x-quiet": "yes", "x-effect": "read"}), "`x-quiet` is true or false, not a string"),
            (json!({"x-quiet": true, "x-effect": "delete"}), "`x-quiet` is for tools that read"),
            (json!({"x-details": "id"}), "`x-details` is a list of parameters"),
            (json!({"x-details": ["id", 1]}), "`x-details` is a list of parameters"),
            (json!({"x-labels": []}), "`x-labels` is an object of parameters, not an array"),
            (json!({"x-labels": {"id": {}}}), "`x-labels`, `id`: it is a text"),
            (json!({"x-names": "id"}), "`x-names` is an object of parameters, not a string"),
            (json!({"x-names": {"id": ["list"]}}), "`x-names`, `id`: it is written as"),
            (json!({"x-names": {"id": {"in": "list", "id": "ID", "name": ["A"]}}}), "`in` is a list of texts"),
            (json!({"x-names": {"id": {"in": ["list"], "name": ["A"]}}}), "`id` is a text"),
            (json!({"x-names": {"id": {"in": ["list"], "id": "ID", "name": []}}}), "`name` is a list of texts"),
            (json!({"x-names": {"id": {"in": ["l"], "id": "ID", "name": ["A"], "of": 1}}}), "there is no `of` in it"),
            (
                json!({"x-names": {"id": {"in": ["l"], "id": "ID", "name": ["A"], "as": "no"}}}),
                "`as` is a list of texts",
            ),
            (json!({"x-names": {"id": {"of": "fields.A", "kinds": {"a": 5}}}}), "`a`: it is written as"),
            (json!({"x-names": {"id": {"of": "fields.A", "kinds": {}}}}), "`kinds` is an object"),
            (
                json!({"x-names": {"id": {"of": 5, "kinds": {"a": {"in": ["l"], "id": "ID", "name": ["A"]}}}}}),
                "`of` is a text",
            ),
            (
                json!({"x-names": {"id": {"of": "KIND_", "kinds": {"a": {"in": ["l"], "id": "ID", "name": ["A"]}}}}}),
                "`x-names` names `KIND_`",
            ),
            (json!({"x-names": {"ID_": {"in": ["l"], "id": "ID", "name": ["A"]}}}), "`x-names` names `ID_`"),
        ] {
            let found = odd(annotations.clone());
            assert!(found.iter().any(|words| words.contains(part)), "{annotations}: {found:?}");
        }
    }
}
