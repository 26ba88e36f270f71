//! JSON Schema: validation, and finding parts of a schema.

mod nulls;
mod parts;
mod spelling;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, Validator};
use serde_json::{Map, Value, json};

use crate::fault::{Fault, Rule};
use crate::path::Segment;
use crate::wording::{closest, short};
pub(crate) use nulls::without_null_members;
pub use nulls::without_nulls;
use parts::{ROOT, pointer_of};
pub use parts::{part_at, property_names};
pub(crate) use spelling::{NameClash, as_declared};

/// A violation of a schema by a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Keys and indexes to the position in the value.
    pub place: Vec<String>,
    /// The violated keyword, such as `type` or `required`.
    pub keyword: String,
    /// Whether it is below a conditional keyword, such as `if` or `not`.
    pub(crate) conditional: bool,
    /// The demand of the keyword: a limit, the permitted types or values, the missing name, or the unexpected names.
    pub demand: Value,
    /// What is wrong.
    pub text: String,
}

impl Breach {
    /// The breach as a fault without a position.
    pub fn into_fault(self, rule: Rule) -> Fault {
        match (self.keyword.as_str(), &self.demand) {
            ("required", Value::String(name)) => Fault::missing_property(rule, name, self.text),
            _ => Fault::new(rule, self.text),
        }
    }
}

/// Compiles a schema. A reference to another document is an error; nothing is fetched.
pub fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options().offline().build(schema).map_err(|error| short(&error.to_string()))
}

/// The first violation of a schema by a value. An invalid schema has none.
pub fn first_breach(schema: &Value, value: &Value) -> Option<Breach> {
    breaches(&compile(schema).ok()?, value).into_iter().next()
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// A quick check whether a schema is certainly valid: it has only common keywords, with values of the right types. The
/// first [`compile`] of a process takes milliseconds, because it compiles the schema of schemas too.
pub(crate) fn is_surely_valid(schema: &Value) -> bool {
    let Value::Object(fields) = schema else { return schema.is_boolean() };
    fields.iter().all(|(keyword, value)| match (keyword.as_str(), value) {
        ("type", Value::String(name)) => TYPES.contains(&name.as_str()),
        ("title" | "description", Value::String(_)) | ("enum", Value::Array(_)) | ("default", _) => true,
        ("properties", Value::Object(each)) => each.values().all(is_surely_valid),
        ("items" | "additionalProperties", inner) => is_surely_valid(inner),
        ("required", Value::Array(names)) => {
            names.iter().enumerate().all(|(at, name)| name.is_string() && !names[..at].contains(name))
        }
        (keyword, _) => keyword.starts_with("x-"),
    })
}

/// The error in an invalid schema, after its position: a dotted path with a leading dot.
pub(crate) fn fault_in(schema: &Value) -> Option<(String, String)> {
    let error = jsonschema::options().offline().build(schema).err()?;
    let place: Vec<String> = error.instance_path().to_string().split('/').skip(1).map(unescape).collect();
    let path: String = place.iter().map(|step| format!(".{step}")).collect();
    let written = error.instance().as_str().filter(|_| place.last().is_some_and(|step| step == "type"));
    let text = match written {
        Some(written) => {
            let near = closest(written, &TYPES).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("there is no type `{}`{near}", short(written))
        }
        None => short(&error.to_string()),
    };
    Some((path, text))
}

/// Compiles a part of the schema `root` (see [`part_at`]); its references are resolved in `root`.
pub fn compile_part(root: &Value, part: &Value) -> Result<Validator, String> {
    if pointer_of(part).is_some_and(|pointer| pointer.is_empty()) {
        return compile(root);
    }
    let (mut whole, mut part) = (root.clone(), part.clone());
    if let (Value::Object(whole), Value::Object(_)) = (&mut whole, &part) {
        whole.insert("$id".to_owned(), ROOT.into());
        part["$defs"] = json!({"root": whole});
    }
    compile(&part)
}

/// All violations of the schema by `value`.
pub fn breaches(validator: &Validator, value: &Value) -> Vec<Breach> {
    if validator.is_valid(value) {
        return Vec::new();
    }
    let breach = |error: jsonschema::ValidationError<'_>| {
        let way = error.evaluation_path().to_string();
        let branches = ["/if", "/then", "/else", "/dependentSchemas", "/not", "/contains"];
        Breach {
            place: error.instance_path().to_string().split('/').skip(1).map(unescape).collect(),
            keyword: error.kind().keyword().to_owned(),
            conditional: branches.iter().any(|branch| way.contains(branch)),
            demand: demand(error.kind()),
            text: short(&error.to_string()),
        }
    };
    validator.iter_errors(value).map(breach).collect()
}

/// The violations of `format`, such as `date` or `email`, by what a person typed. For calls of a model `format` is only
/// a comment, as in JSON Schema itself. The zone and the seconds of a time may be missing, as services of one
/// place and forms leave them out.
pub fn format_breaches(schema: &Value, value: &Value) -> Vec<Breach> {
    let compiled = |schema: &Value| jsonschema::options().offline().should_validate_formats(true).build(schema).ok();
    let lacks_only_zone = |breach: &Breach| {
        let typed = breach.place.iter().try_fold(value, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            value => value.get(key),
        });
        let (Some(typed), Some(format)) = (typed.and_then(Value::as_str), compiled(&json!({"format": breach.demand})))
        else {
            return false;
        };
        (breach.demand == "date-time" || breach.demand == "time")
            && ["Z", ":00Z"].iter().any(|rest| format.is_valid(&json!(format!("{typed}{rest}"))))
    };
    let Some(validator) = compiled(schema) else { return Vec::new() };
    let found = breaches(&validator, value).into_iter();
    found.filter(|breach| breach.keyword == "format" && !lacks_only_zone(breach)).collect()
}

/// The demand of a violated keyword; null for keywords that are not listed here.
fn demand(broken: &ValidationErrorKind) -> Value {
    use ValidationErrorKind as Kind;
    match broken {
        Kind::Required { property } => property.clone(),
        Kind::Type { kind: TypeKind::Single(name) } => json!([name.as_str()]),
        Kind::Type { kind: TypeKind::Multiple(names) } => names.into_iter().map(JsonType::as_str).collect(),
        Kind::Enum { options } => (**options).clone(),
        Kind::Constant { expected_value } => json!([**expected_value]),
        Kind::Minimum { limit }
        | Kind::Maximum { limit }
        | Kind::ExclusiveMinimum { limit }
        | Kind::ExclusiveMaximum { limit } => limit.clone(),
        Kind::MinLength { limit } | Kind::MaxLength { limit } | Kind::MinItems { limit } | Kind::MaxItems { limit } => {
            json!(limit)
        }
        Kind::Format { format } => json!(format),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => json!(unexpected),
        _ => Value::Null,
    }
}

/// The JSON pointer of the schema for the value at `path`, if a single place of `root` describes it.
pub fn pointer_at(root: &Value, path: &[Segment]) -> Option<String> {
    followed(root, pointer_of(&part_at(root, path)?)?)
}

/// Follows local references. The number of steps is limited, because references may be circular.
pub(crate) fn followed(root: &Value, mut pointer: String) -> Option<String> {
    for _ in 0..16 {
        match root.pointer(&pointer)?.get("$ref").and_then(Value::as_str) {
            Some(target) => target.strip_prefix('#')?.clone_into(&mut pointer),
            None => return Some(pointer),
        }
    }
    None
}

/// The schema itself, or the target of its local reference.
pub(crate) fn resolved<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    let Some(target) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
    root.pointer(&followed(root, target.strip_prefix('#')?.to_owned())?)
}

/// The type name of a value, as in schemas.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The declared properties of an object's schema.
pub(crate) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// One of them.
pub(crate) fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// The names of required properties.
pub(crate) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The types that a schema names.
pub(crate) fn named_types(schema: &Value) -> impl Iterator<Item = &str> {
    let types = schema.get("type").map(|named| named.as_array().map_or(std::slice::from_ref(named), Vec::as_slice));
    types.into_iter().flatten().filter_map(Value::as_str)
}

/// Whether the schema lists null among its types or values.
pub fn admits_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "null",
        Some(Value::Array(names)) => {
            let listed = schema.get("enum").and_then(Value::as_array);
            names.iter().any(|name| name == "null") && listed.is_none_or(|values| values.contains(&Value::Null))
        }
        _ => {
            let has_null = |list: &str| schema.get(list).and_then(Value::as_array);
            has_null("enum").is_some_and(|values| values.contains(&Value::Null))
                || ["anyOf", "oneOf"].iter().any(|list| has_null(list).is_some_and(|all| all.iter().any(admits_null)))
        }
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn unescape(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::segments_of as segments;

    #[test]
    fn a_schema_that_is_surely_valid_compiles() {
        for schema in [
            json!({}),
            json!(true),
            json!({"type": "object", "properties": {"n": {"type": "integer", "title": "N"}}, "required": ["n"]}),
            json!({"type": "array", "items": {"enum": ["a", 1]}, "x-effect": "read", "description": "d", "default": 3}),
            json!({"properties": {"a": {"properties": {}, "additionalProperties": {"type": "null"}}}}),
        ] {
            assert!(is_surely_valid(&schema) && compile(&schema).is_ok(), "{schema}");
        }
        for schema in [
            json!("string"),
            json!({"type": "text"}),
            json!({"type": ["string", "null"]}),
            json!({"title": 5}),
            json!({"enum": "a"}),
            json!({"properties": {"a": {"type": "int"}}}),
            json!({"properties": []}),
            json!({"items": {"items": [1]}}),
            json!({"additionalProperties": "no"}),
            json!({"required": "a"}),
            json!({"required": ["a", "a"]}),
            json!({"required": [1]}),
            json!({"minimum": "1"}),
            json!({"$ref": "#/nowhere"}),
        ] {
            assert!(!is_surely_valid(&schema), "{schema}");
        }
    }

    #[test]
    fn a_subschema_is_found_through_properties_items_and_references() {
        let root = json!({
            "$defs": {"deal": {"properties": {"id": {"type": "integer"}}}},
            "properties": {"deals": {"type": "array", "items": {"$ref": "#/$defs/deal"}}, "a/b": {}},
        });
        assert_eq!(pointer_at(&root, &segments("†s.deals[0].id")).unwrap(), "/$defs/deal/properties/id");
        assert_eq!(pointer_at(&root, &segments("†s[\"a/b\"]")).unwrap(), "/properties/a~1b");
        assert_eq!(pointer_at(&root, &segments("†s.unknown")), None);
        let circle = json!({"$ref": "#"});
        assert_eq!(pointer_at(&circle, &[]), None);
    }

    #[test]
    fn a_subschema_is_validated_with_the_references_of_its_root() {
        let root = json!({
            "$defs": {"id": {"type": "integer"}},
            "properties": {"deal": {"properties": {"id": {"$ref": "#/$defs/id"}}}},
        });
        let validator = compile_part(&root, &part_at(&root, &segments("†s.deal")).unwrap()).unwrap();
        assert!(validator.is_valid(&json!({"id": 1})));
        let found = breaches(&validator, &json!({"id": "x"}));
        assert_eq!((found.len(), found[0].place.as_slice()), (1, ["id".to_owned()].as_slice()));
    }

    #[test]
    fn a_typed_value_has_the_format_of_its_schema() {
        let of = |format: &str, value: &str| {
            let schema = json!({"properties": {"rows": {"items": {"properties": {"x": {"format": format}}}}}});
            format_breaches(&schema, &json!({"rows": [{"x": value}]})).pop().map(|breach| breach.place.join("."))
        };
        for (format, right, wrong) in [
            ("date", "2028-02-29", "2026-02-29"),
            ("date", "2026-12-31", "31.12.2026"),
            ("date-time", "2026-12-31T10:00:00+03:00", "2026-12-31T25:00:00Z"),
            ("date-time", "2026-12-31T10:00:00", "2026-12-32T10:00:00"),
            ("date-time", "2026-12-31T10:00", "2026-12-31T10"),
            ("time", "10:00:00", "ten"),
            ("time", "10:00", "10"),
            ("email", "anna@example.test", "anna"),
            ("uri", "https://example.test/a", "example"),
            ("anything else", "x", ""),
        ] {
            assert_eq!(of(format, right), None, "{right}");
            let found = of(format, wrong);
            assert_eq!(found.as_deref(), Some("rows.0.x").filter(|_| !wrong.is_empty()), "{wrong}");
        }
    }

    #[test]
    fn remote_references_are_not_fetched() {
        assert!(compile(&json!({"$ref": "https://example.test/schema.json"})).is_err());
    }
}
