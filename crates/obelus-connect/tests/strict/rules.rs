//! The published rules of strict structured outputs for schemas.
//!
//! The text: OpenAI, "Structured model outputs", section "Supported schemas",
//! <https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas> (earlier
//! <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>), as of 2026. The server enforces two
//! rules that the text leaves out: nothing stands beside `$ref` (openai/openai-python#1637 works around it), and
//! patterns have no lookaround (vercel/ai#21037). Where the text is ambiguous, the narrower reading applies: an unnamed
//! keyword is refused, and levels are counted through references.

use serde_json::{Value, json};

const MOST_PROPERTIES: usize = 5_000;
const MOST_LEVELS: usize = 10;
const MOST_ENUM_VALUES: usize = 1_000;
const MOST_NAME_CHARACTERS: usize = 120_000;
/// The limit for all texts together of an enum with more than [`LARGE_ENUM`] values.
const MOST_LARGE_ENUM_CHARACTERS: usize = 15_000;
const LARGE_ENUM: usize = 250;

const TYPES: [&str; 7] = ["string", "number", "boolean", "integer", "object", "array", "null"];
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// The permitted keywords. All others are refused: `allOf`, `not`, `if`, `oneOf`, `patternProperties`, …
const KEYWORDS: [&str; 20] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "description",
    "pattern",
    "format",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];

/// The quantities that the rules limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    properties: usize,
    enum_values: usize,
    characters: usize,
    levels: usize,
}

/// Counts and violations of one schema.
#[derive(Default)]
struct Strict {
    wrong: Vec<String>,
    size: Size,
}

/// The quantities of a schema.
pub(crate) fn size(schema: &Value) -> Size {
    let mut strict = Strict::default();
    strict.look(schema, "#", schema);
    strict.size.levels = levels(schema, schema, &mut Vec::new());
    strict.size
}

/// The depth of nested objects; a recursive reference is followed once.
fn levels(schema: &Value, root: &Value, following: &mut Vec<String>) -> usize {
    if let Some(target) = schema["$ref"].as_str() {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        let Some(found) = found.filter(|_| !following.iter().any(|known| known == target)) else { return 0 };
        following.push(target.to_owned());
        let deepest = levels(found, root, following);
        following.pop();
        return deepest;
    }
    let own = usize::from(schema["properties"].is_object());
    let properties = schema["properties"].as_object().into_iter().flat_map(|named| named.values());
    let inner = properties.chain(schema.get("items")).chain(schema["anyOf"].as_array().into_iter().flatten());
    own + inner.map(|inner| levels(inner, root, following)).max().unwrap_or(0)
}

/// The violations of a schema.
pub(crate) fn breaches(schema: &Value) -> Vec<String> {
    let mut strict = Strict::default();
    if schema["type"] != "object" {
        strict.wrong.push("the root is an object".to_owned());
    }
    if schema.get("anyOf").is_some() {
        strict.wrong.push("the root has no anyOf".to_owned());
    }
    strict.look(schema, "#", schema);
    let deepest = levels(schema, schema, &mut Vec::new());
    for (name, count, most) in [
        ("levels of objects", deepest, MOST_LEVELS),
        ("properties", strict.size.properties, MOST_PROPERTIES),
        ("values of enums", strict.size.enum_values, MOST_ENUM_VALUES),
        ("characters of names, enums and constants", strict.size.characters, MOST_NAME_CHARACTERS),
    ] {
        if count > most {
            strict.wrong.push(format!("{count} {name}, and {most} are permitted"));
        }
    }
    strict.wrong
}

impl Strict {
    fn look(&mut self, schema: &Value, at: &str, root: &Value) {
        let Some(fields) = schema.as_object() else {
            return self.wrong.push(format!("{at}: a schema is an object, not {schema}"));
        };
        for name in fields.keys().filter(|name| !KEYWORDS.contains(&name.as_str())) {
            self.wrong.push(format!("{at}: `{name}` is not supported"));
        }
        if let Some(reference) = schema.get("$ref") {
            let target = reference.as_str().and_then(|text| root.pointer(text.strip_prefix('#')?));
            if target.is_none() {
                self.wrong.push(format!("{at}: {reference} leads nowhere"));
            }
            if fields.len() > 1 {
                self.wrong.push(format!("{at}: nothing stands beside `$ref`"));
            }
        } else if !["type", "anyOf"].iter().any(|name| fields.contains_key(*name)) {
            self.wrong.push(format!("{at}: it has no type"));
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::String(one) => vec![one],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for unknown in types.iter().filter(|name| !TYPES.contains(name)) {
            self.wrong.push(format!("{at}: there is no type `{unknown}`"));
        }
        if let Some(format) = schema.get("format").filter(|format| !FORMATS.iter().any(|known| *format == known)) {
            self.wrong.push(format!("{at}: the format {format} is not supported"));
        }
        if schema["pattern"].as_str().is_some_and(|pattern| pattern.replace("(?:", "").contains("(?")) {
            self.wrong.push(format!("{at}: a pattern does not look around"));
        }
        if types.contains(&"object") {
            self.object(schema, at, root);
        }
        if types.contains(&"array") && !schema["items"].is_object() {
            self.wrong.push(format!("{at}: an array says what its items are"));
        }
        self.values(schema, at);
        for (name, inner) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            self.size.characters += name.chars().count();
            self.look(inner, &format!("{at}/$defs/{name}"), root);
        }
        if let Some(items) = schema.get("items") {
            self.look(items, &format!("{at}/items"), root);
        }
        for (index, inner) in schema["anyOf"].as_array().into_iter().flatten().enumerate() {
            self.look(inner, &format!("{at}/anyOf/{index}"), root);
        }
    }

    fn object(&mut self, schema: &Value, at: &str, root: &Value) {
        if schema["additionalProperties"] != false {
            self.wrong.push(format!("{at}: additionalProperties is false in every object"));
        }
        let empty = serde_json::Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, inner) in properties {
            self.size.properties += 1;
            self.size.characters += name.chars().count();
            if !required.contains(&name.as_str()) {
                self.wrong.push(format!("{at}: `{name}` is not required, and every property is"));
            }
            self.look(inner, &format!("{at}/{name}"), root);
        }
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            self.wrong.push(format!("{at}: `{name}` is required and is no property"));
        }
    }

    fn values(&mut self, schema: &Value, at: &str) {
        let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
        if let Some(value) = schema.get("const") {
            self.size.characters += length(value);
        }
        let Some(values) = schema.get("enum") else { return };
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        if values.is_empty() {
            self.wrong.push(format!("{at}: an enum has values"));
        }
        let together: usize = values.iter().map(length).sum();
        self.size.enum_values += values.len();
        self.size.characters += together;
        if values.len() > LARGE_ENUM && together > MOST_LARGE_ENUM_CHARACTERS {
            self.wrong.push(format!("{at}: an enum of {} values has {together} characters", values.len()));
        }
    }
}

#[test]
fn violations_of_the_strict_rules_are_found() {
    let object = |inner: Value| json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": false});
    assert_eq!(breaches(&object(json!({"type": ["string", "null"]}))), Vec::<String>::new());
    assert_eq!(breaches(&object(json!({"type": "array", "items": {"$ref": "#"}}))), Vec::<String>::new());
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = object(deep);
    }
    let many: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
    for (schema, part) in [
        (json!({"anyOf": [{"type": "string"}]}), "the root is an object"),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}), "additionalProperties"),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": false}),
            "not required",
        ),
        (json!({"type": "object", "properties": {}, "required": ["b"], "additionalProperties": false}), "no property"),
        (object(json!({"oneOf": [{"type": "string"}]})), "`oneOf`"),
        (object(json!({"type": "string", "allOf": []})), "`allOf`"),
        (object(json!({"type": "string", "minLength": 1})), "`minLength`"),
        (object(json!({"type": "string", "format": "uri"})), "format"),
        (object(json!({})), "no type"),
        (object(json!(true)), "a schema is an object"),
        (object(json!({"type": "array"})), "items"),
        (object(json!({"$ref": "#/$defs/x"})), "nowhere"),
        (object(json!({"$ref": "#", "description": "a"})), "beside `$ref`"),
        (object(json!({"enum": ["a"]})), "no type"),
        (object(json!({"type": "string", "pattern": "^(?!a)"})), "look around"),
        (object(json!({"type": "string", "title": "a"})), "`title`"),
        (object(json!({"type": "string", "enum": many})), "1001 values"),
        (deep, "levels"),
    ] {
        let wrong = breaches(&schema);
        assert!(wrong.iter().any(|words| words.contains(part)), "{schema}: {wrong:?}");
    }
}
