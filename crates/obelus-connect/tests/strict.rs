//! The composed schema beside the provider's published rules for strict structured outputs ("Structured Outputs,
//! supported schemas"): a schema that passes here is one that the server takes.

use std::sync::Arc;

use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::{Input, Prompt, Session, Task};
use obelus_kernel::{Context, Time};
use obelus_runtime::{Agent, bundled_agents, read_document};
use serde_json::{Value, json};

const MOST_PROPERTIES: usize = 5_000;
const MOST_LEVELS: usize = 10;
const MOST_ENUM_VALUES: usize = 1_000;
const MOST_NAME_CHARACTERS: usize = 120_000;
/// Of one enum of more than [`LARGE_ENUM`] texts, all of them together.
const MOST_LARGE_ENUM_CHARACTERS: usize = 15_000;
const LARGE_ENUM: usize = 250;

const TYPES: [&str; 7] = ["string", "number", "boolean", "integer", "object", "array", "null"];
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// What may stand in a schema. Everything else is refused: `allOf`, `not`, `if`, `oneOf`, `patternProperties`, …
const KEYWORDS: [&str; 22] = [
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
    "definitions",
    "description",
    "title",
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

/// Counts and complaints of one schema.
#[derive(Default)]
struct Strict {
    wrong: Vec<String>,
    properties: usize,
    enum_values: usize,
    characters: usize,
}

/// Everything that the rules have against a schema.
fn breaches(schema: &Value) -> Vec<String> {
    let mut strict = Strict::default();
    if schema["type"] != "object" {
        strict.wrong.push("the root is an object".to_owned());
    }
    if schema.get("anyOf").is_some() {
        strict.wrong.push("the root has no anyOf".to_owned());
    }
    strict.look(schema, "#", 0, schema);
    for (name, count, most) in [
        ("properties", strict.properties, MOST_PROPERTIES),
        ("values of enums", strict.enum_values, MOST_ENUM_VALUES),
        ("characters of names, enums and constants", strict.characters, MOST_NAME_CHARACTERS),
    ] {
        if count > most {
            strict.wrong.push(format!("{count} {name}, and {most} are permitted"));
        }
    }
    strict.wrong
}

impl Strict {
    fn look(&mut self, schema: &Value, at: &str, level: usize, root: &Value) {
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
        } else if !["type", "anyOf", "enum", "const"].iter().any(|name| fields.contains_key(*name)) {
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
        if types.contains(&"object") {
            self.object(schema, at, level, root);
        }
        if types.contains(&"array") && !schema["items"].is_object() {
            self.wrong.push(format!("{at}: an array says what its items are"));
        }
        self.values(schema, at);
        for name in ["$defs", "definitions"] {
            for (name, inner) in schema.get(name).and_then(Value::as_object).into_iter().flatten() {
                self.characters += name.chars().count();
                self.look(inner, &format!("{at}/{name}"), level, root);
            }
        }
        if let Some(items) = schema.get("items") {
            self.look(items, &format!("{at}/items"), level, root);
        }
        for (index, inner) in schema["anyOf"].as_array().into_iter().flatten().enumerate() {
            self.look(inner, &format!("{at}/anyOf/{index}"), level, root);
        }
    }

    fn object(&mut self, schema: &Value, at: &str, level: usize, root: &Value) {
        if level + 1 > MOST_LEVELS {
            return self.wrong.push(format!("{at}: more than {MOST_LEVELS} levels of objects"));
        }
        if schema["additionalProperties"] != false {
            self.wrong.push(format!("{at}: additionalProperties is false in every object"));
        }
        let empty = serde_json::Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, inner) in properties {
            self.properties += 1;
            self.characters += name.chars().count();
            if !required.contains(&name.as_str()) {
                self.wrong.push(format!("{at}: `{name}` is not required, and every property is"));
            }
            self.look(inner, &format!("{at}/{name}"), level + 1, root);
        }
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            self.wrong.push(format!("{at}: `{name}` is required and is no property"));
        }
    }

    fn values(&mut self, schema: &Value, at: &str) {
        let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
        if let Some(value) = schema.get("const") {
            self.characters += length(value);
        }
        let Some(values) = schema.get("enum") else { return };
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        if values.is_empty() {
            self.wrong.push(format!("{at}: an enum has values"));
        }
        let together: usize = values.iter().map(length).sum();
        self.enum_values += values.len();
        self.characters += together;
        if values.len() > LARGE_ENUM && together > MOST_LARGE_ENUM_CHARACTERS {
            self.wrong.push(format!("{at}: an enum of {} values has {together} characters", values.len()));
        }
    }
}

/// What the model is shown first by an agent that answers in JSON.
fn first_prompt(
    context: Context,
    schema: Option<Value>,
    mut settings: obelus_kernel::session::Settings,
    activities: impl IntoIterator<Item = String>,
) -> Prompt {
    settings.dialect = Dialect::Json;
    settings.activities = activities.into_iter().collect();
    let mut session = Session::new("s", context, schema, Arc::new(settings)).unwrap();
    session.handle(Time(0), Input::User { text: "a".to_owned() }).unwrap();
    let mut task = session.poll();
    loop {
        match task {
            Some(Task::AskModel { id }) => return session.prompt(&id).unwrap(),
            Some(_) => task = session.poll(),
            None => panic!("the model is not asked"),
        }
    }
}

fn prompt_of(agent: Agent) -> Prompt {
    let activities: Vec<String> = agent.activities.keys().cloned().collect();
    first_prompt(agent.context, agent.schema, agent.settings, activities)
}

#[test]
fn the_schema_of_every_bundled_agent_is_strict_or_says_why_not() {
    let agents = bundled_agents();
    assert!(!agents.is_empty());
    for folder in agents {
        let name = folder.display().to_string();
        let agent = Agent::load(&folder).unwrap();
        let answers_in_json = agent.settings.dialect == Dialect::Json;
        let prompt = prompt_of(agent);
        if prompt.loose.is_empty() {
            assert_eq!(breaches(&prompt.schema), Vec::<String>::new(), "{name}");
        }
        // An agent of another dialect may have tools whose fields nobody can list; its schema is put in words then.
        assert!(prompt.loose.is_empty() || !answers_in_json, "{name}: {:#?}", prompt.loose);
    }
}

#[test]
fn references_are_permitted_where_numbers_and_objects_are_due() {
    let context = json!([{"type": "tool", "tool": {"count": {"properties": {
        "n": {"type": "integer"},
        "o": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"], "additionalProperties": false},
    }, "required": ["n", "o"]}}}]);
    let prompt = first_prompt(Context::from_value(context).unwrap(), None, Default::default(), ["count".to_owned()]);
    assert_eq!((prompt.loose, breaches(&prompt.schema)), (vec![], vec![]));
    let accepts = |n: Value, o: Value| {
        let mut call = json!({"_tool": "count", "n": n, "o": o});
        let schema = &prompt.schema["properties"]["calls"]["items"]["anyOf"][0];
        for name in schema["required"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            if call.get(name).is_none() {
                call[name] = Value::Null;
            }
        }
        jsonschema::is_valid(&prompt.schema, &json!({"say": null, "calls": [call], "output": null}))
    };
    assert!(accepts(json!(1), json!({"a": 1.5})));
    assert!(accepts(json!("†state.n"), json!("†state.o")));
    assert!(accepts(json!(1), json!({"a": "†state.x"})));
    assert!(!accepts(json!("many"), json!({"a": 1})), "other texts are not");
}

#[test]
fn the_examples_are_strict_or_say_why_not() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut looked_at = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(entry.unwrap().path()).into_iter().flatten() {
            let path = file.unwrap().path();
            let is_document = path.extension().is_some_and(|ending| ending == "yaml" || ending == "json");
            let Some(text) = is_document.then(|| std::fs::read_to_string(&path).ok()).flatten() else { continue };
            let Ok(document) = read_document(&path, &text) else { continue };
            let Ok(context) = Context::from_value(document["context"].clone()) else { continue };
            let schema = document.get("schema").filter(|schema| schema.is_object()).cloned();
            let names: Vec<String> =
                context.tools().filter_map(|tool| tool.fixed_name("_activity").map(str::to_owned)).collect();
            let prompt = first_prompt(context, schema, Default::default(), names);
            looked_at += 1;
            if prompt.loose.is_empty() {
                assert_eq!(breaches(&prompt.schema), Vec::<String>::new(), "{}", path.display());
            }
        }
    }
    assert!(looked_at > 0);
}

#[test]
fn the_rules_find_what_they_forbid() {
    let object = |inner: Value| json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": false});
    assert_eq!(breaches(&object(json!({"type": ["string", "null"]}))), Vec::<String>::new());
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
        (object(json!({"type": "string", "enum": many})), "1001 values"),
        (deep, "levels"),
    ] {
        let wrong = breaches(&schema);
        assert!(wrong.iter().any(|words| words.contains(part)), "{schema}: {wrong:?}");
    }
}
