//! Bodies: JSON whose texts are templates, or one template.

use minijinja::Value as Given;
use obelus_kernel::session::CallError;
use serde_json::{Map, Value};

use super::template::{SingleExpression, TextTemplate};

/// A body template.
pub(super) enum BodyTemplate {
    /// Without templates.
    Literal(Value),
    /// A text with values in it.
    Text(TextTemplate),
    /// An expression, whose value keeps its type.
    Value(SingleExpression),
    /// A list.
    Array(Vec<BodyTemplate>),
    /// An object. Its names are not templates, because a call must not choose fields.
    Object(Vec<(String, BodyTemplate)>),
}

impl BodyTemplate {
    /// Reads a body; an error names the place.
    pub(super) fn parse(body: &Value) -> Result<Self, String> {
        match body {
            Value::String(text) => {
                // Parsed in any case, because a template gives better errors.
                let template = TextTemplate::text(text, &[])?;
                Ok(SingleExpression::parse(text).map_or(BodyTemplate::Text(template), BodyTemplate::Value))
            }
            Value::Array(items) => {
                let item = |(i, item)| BodyTemplate::parse(item).map_err(|problem| format!("[{i}]: {problem}"));
                items.iter().enumerate().map(item).collect::<Result<_, _>>().map(BodyTemplate::Array)
            }
            Value::Object(map) => {
                let field = |(name, value): (&String, &Value)| match BodyTemplate::parse(value) {
                    Ok(value) => Ok((name.clone(), value)),
                    Err(problem) => Err(format!("{name}: {problem}")),
                };
                map.iter().map(field).collect::<Result<_, _>>().map(BodyTemplate::Object)
            }
            literal => Ok(BodyTemplate::Literal(literal.clone())),
        }
    }

    /// Renders the body. A field whose value is not given is left out, so that a parameter may be optional.
    pub(super) fn fill(&self, given: &Given) -> Result<Option<Value>, CallError> {
        let filled = match self {
            BodyTemplate::Literal(value) => value.clone(),
            BodyTemplate::Text(template) => Value::String(template.render(given)?),
            BodyTemplate::Value(sole) => return sole.value(given),
            BodyTemplate::Array(items) => {
                let item = |item: &BodyTemplate| Ok(item.fill(given)?.unwrap_or_default());
                Value::Array(items.iter().map(item).collect::<Result<_, _>>()?)
            }
            BodyTemplate::Object(fields) => {
                let mut filled = Map::new();
                for (name, value) in fields {
                    if let Some(value) = value.fill(given)? {
                        filled.insert(name.clone(), value);
                    }
                }
                Value::Object(filled)
            }
        };
        Ok(Some(filled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::value::Serde;
    use serde_json::json;

    fn fill(body: &Value) -> Result<Option<Value>, CallError> {
        let call = json!({"n": 7, "f": 1.5, "b": false, "o": {"z": 1, "a": [null, "é"]}, "s": "7", "none": null});
        let given = minijinja::context! { call => Given::from(Serde(call)), key => "k" };
        BodyTemplate::parse(body).unwrap().fill(&given)
    }

    #[test]
    fn a_text_that_is_one_expression_keeps_the_type_of_its_value() {
        for (text, value) in [
            ("{{ call.n }}", json!(7)),
            ("{{call.f}}", json!(1.5)),
            ("{{ call.b }}", json!(false)),
            ("{{ call.o }}", json!({"z": 1, "a": [null, "é"]})),
            ("{{ call.s }}", json!("7")),
            ("{{ call.none }}", json!(null)),
            ("{{ call.n + 1 }}", json!(8)),
            ("{{ '}}' }}", json!("}}")),
            ("{{ call.n }}{{ call.n }}", json!("77")),
            ("{{- call.n }}", json!("7")),
            (" {{ call.n }}", json!(" 7")),
            ("n={{ call.n }} {{ call.none }}{{ call.o }}", json!("n=7 {\"z\":1,\"a\":[null,\"é\"]}")),
            ("plain", json!("plain")),
        ] {
            assert_eq!(fill(&json!({"x": [text]})), Ok(Some(json!({"x": [value]}))), "{text}");
        }
    }

    #[test]
    fn a_missing_value_omits_its_field() {
        let body = json!({"a": "{{ call.nothing }}", "b": ["{{ call.nothing }}"], "c": "{{ key }}"});
        assert_eq!(fill(&body), Ok(Some(json!({"b": [null], "c": "k"}))));
        assert_eq!(fill(&json!("{{ call.nothing }}")), Ok(None));
        let error = fill(&json!("a {{ call.nothing }}")).unwrap_err();
        assert_eq!(error.code, "template");
        assert!(error.message.contains("call.nothing"), "{}", error.message);
    }

    #[test]
    fn an_error_in_a_body_is_reported_with_its_place() {
        for (body, problem) in [
            (json!({"a": [1, "{{ call.x "]}), "a: [1]: syntax error"),
            (json!("{{ x }}"), "`x` is not defined"),
            (json!({"t": "{{ env.TOKEN }}"}), "t: only headers"),
        ] {
            let error = BodyTemplate::parse(&body).err().unwrap_or_default();
            assert!(error.contains(problem), "{body}: {error}");
        }
    }
}
