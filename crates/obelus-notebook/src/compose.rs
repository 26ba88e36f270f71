//! The schema of the model's answers: words, calls, output.

mod limits;
mod offered;
mod strict;

use std::sync::OnceLock;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::control_field::ControlField;
use crate::dialect::entries::ENTRIES;
use crate::fold::Method;
use crate::message::PlanMode;
use crate::schema;
pub use crate::schema::without_nulls;
use crate::tool::Tool;
use offered::OfferedTool;
pub use offered::{AnswerSchema, Offered};
use strict::{Notes, Strict, described, nullable};

/// The objects around a parameter: the answer and the call.
const LEVELS: usize = 2;

/// The schema of an answer. In answers, entries stand for properties (see `dialect::entries`), and null in an optional
/// place means absent.
#[derive(Clone, Debug, Serialize)]
pub struct Composed {
    /// The schema.
    pub schema: Value,
    /// Why it cannot be sent in a strict mode; empty if it can.
    pub loose: Vec<String>,
    #[serde(skip)]
    text: OnceLock<String>,
}

impl Composed {
    /// A schema, and why it cannot be sent in a strict mode.
    pub fn new(schema: Value, loose: Vec<String>) -> Self {
        Self { schema, loose, text: OnceLock::new() }
    }

    /// The schema as JSON text, written once.
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| self.schema.to_string())
    }
}

/// How a tool is offered to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Not at all: the model does not see it.
    No,
    /// The model may call it.
    Call,
    /// The model may plan one call of it, which another step carries out.
    Plan,
}

/// Composes the schema of an answer for the tools of a context.
///
/// `offer` returns how each tool is offered. `by_model` returns whether the model carries out a tool itself: its calls
/// then contain `_output`, unless the plan is lazy. `output` is the schema of the request's result.
pub fn compose(
    context: &Context,
    output: Option<&Value>,
    mode: PlanMode,
    offer: impl Fn(&Tool) -> Offer,
    by_model: impl Fn(&Tool) -> bool,
) -> Composed {
    composed(&Offered::new(context, output, mode, offer, by_model))
}

fn composed(offered: &Offered) -> Composed {
    let mut notes = Notes::default();
    let call_of = |OfferedTool { tool, is_called, brings_output }: &OfferedTool| {
        if *is_called {
            call(tool, &offered.instances, *brings_output, &mut notes)
        } else {
            // A planned call has no output path, because another step decides about its result, and no references.
            closed(named_params(tool, false, &mut notes))
        }
    };
    let calls: Vec<Value> = offered.tools.iter().map(call_of).collect();
    let runs = offered.tools.iter().filter(|offered| offered.is_called).count();
    let plans = calls.len() > runs;
    let items = if calls.is_empty() { closed(Map::new()) } else { json!({"anyOf": calls}) };
    let mut list = json!({"type": "array", "items": items});
    if runs == 0 {
        list["maxItems"] = usize::from(plans).into();
    }
    if plans {
        list = described(list, "The one call that is to be carried out next, if there is one.");
    }
    let output = match &offered.output {
        Some(schema) => nullable(Strict::new(schema, "output", 1, &mut notes).plain(schema)),
        None => json!({"type": ["string", "number", "boolean", "null"]}),
    };
    let say = "Words for the user, shown at once. Null if there is nothing to say yet.";
    let result = match (plans, runs > 0) {
        (true, _) => "The result of this step, along with the call that is to be carried out next.",
        (false, true) => "The result of the whole request. Null while calls still have to bring something.",
        (false, false) => "The result.",
    };
    let properties = [
        ("say", described(json!({"type": ["string", "null"]}), say)),
        ("calls", list),
        ("output", described(output, result)),
    ];
    let properties = properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut definitions = Map::new();
    if runs > 0 {
        let methods = Method::ALL.iter().map(|(name, _)| (*name).into());
        definitions.insert("method".to_owned(), one_of(methods));
        if !offered.instances.is_empty() {
            definitions.insert("instance".to_owned(), instances(&offered.instances));
        }
    }
    finished(closed(properties), definitions, notes)
}

/// Composes the schema of an answer with the result of one model call. If there are several alternatives, the model
/// also chooses the path of the result.
pub fn compose_result(tool: &Tool, alternatives: &[String]) -> Composed {
    let mut notes = Notes::default();
    let schema = tool.output().unwrap_or(&Value::Bool(true));
    let output = Strict::new(schema, &tool.name, 1, &mut notes).plain(schema);
    let mut properties = Map::from_iter([("output".to_owned(), output)]);
    if alternatives.len() > 1 {
        let chosen = one_of(alternatives.iter().map(|path| path.as_str().into()));
        properties.insert("_outputPath".to_owned(), described(chosen, "Where the result goes."));
    }
    finished(closed(properties), Map::new(), notes)
}

/// Adds shared definitions, because strict modes limit the size of a schema.
fn finished(mut schema: Value, mut definitions: Map<String, Value>, mut notes: Notes) -> Composed {
    if notes.has_anything {
        definitions.extend(strict::definitions().map(|(name, schema)| (name.to_owned(), schema)));
    }
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    notes.loose.extend(limits::excess(&schema));
    Composed::new(schema, notes.loose)
}

/// The properties of a call with the tool's name and parameters.
fn named_params(tool: &Tool, by_reference: bool, notes: &mut Notes) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut put = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
    put("_tool", json!({"type": "string", "const": tool.name}));

    let params = tool.prescribing().unwrap_or_else(|| tool.params());
    let mut strict = Strict::new(params, &tool.name, LEVELS, notes);
    for (name, schema) in schema::properties(params).into_iter().flatten() {
        put(name, strict.member(params, name, schema, by_reference));
    }
    if let Some(entries) = strict.free_params(params) {
        put(ENTRIES, entries);
    }
    properties
}

/// The schema of one call of a tool. The tool's description is not repeated here; it is in the list of tools.
fn call(tool: &Tool, instances: &[String], brings_output: bool, notes: &mut Notes) -> Value {
    let mut properties = Map::from_iter([("_reasoningForCall".to_owned(), json!({"type": ["string", "null"]}))]);
    properties.extend(named_params(tool, true, notes));
    let mut put = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);

    let acts = tool.effect.acts() && !brings_output;
    let mut put_control = |field: ControlField, schema: Value| put(field.name(), schema);
    let takes = |field: ControlField| acts && tool.param(field.name()).is_none();
    for field in [ControlField::RequiresConfirmation, ControlField::Confirmed].into_iter().filter(|field| takes(*field))
    {
        put_control(field, json!({"type": ["boolean", "null"]}));
    }
    if takes(ControlField::ConfirmationDecision) {
        put_control(ControlField::ConfirmationDecision, json!({"type": ["string", "null"], "enum": ["deny", null]}));
        put_control(ControlField::ConfirmationReason, json!({"type": ["string", "null"]}));
    }

    for meta in ["_scopes", "_delegate", "_activity"] {
        if let Some(rule) = tool.meta(meta).filter(|rule| rule.fixed.is_none()) {
            let plain = if meta == "_scopes" && rule.schema.get("items").is_none() {
                json!({"type": "array", "items": {"type": "string"}})
            } else {
                Strict::new(&rule.schema, &tool.name, LEVELS, notes).plain(&rule.schema)
            };
            put(meta, nullable(plain));
        }
    }
    if !instances.is_empty() {
        put("_instance", json!({"$ref": "#/$defs/instance"}));
    }
    put("_outputPath", output_path(tool, notes));
    put("_outputMethod", output_method(tool));
    if brings_output {
        let schema = match tool.output() {
            Some(schema) => Strict::new(schema, &tool.name, LEVELS, notes).plain(schema),
            None => json!({"type": ["string", "number", "boolean"]}),
        };
        put("_output", nullable(schema));
    }
    closed(properties)
}

fn instances(names: &[String]) -> Value {
    if names.len() > limits::MOST_INSTANCES {
        return json!({"type": ["string", "null"], "description": "The name of an instance"});
    }
    one_of(names.iter().map(|name| name.as_str().into()))
}

/// One of these texts, or null.
fn one_of(names: impl Iterator<Item = Value>) -> Value {
    json!({"type": ["string", "null"], "enum": names.chain([Value::Null]).collect::<Vec<_>>()})
}

fn output_path(tool: &Tool, notes: &mut Notes) -> Value {
    match tool.meta("_outputPath") {
        Some(rule) if rule.fixed.is_some() => json!({"type": ["string", "null"], "enum": [rule.fixed, null]}),
        Some(rule) => {
            let schema = Strict::new(&rule.schema, &tool.name, LEVELS, notes).plain(&rule.schema);
            if tool.requires_path { schema } else { nullable(schema) }
        }
        None => {
            let type_ = if tool.requires_path { json!("string") } else { json!(["string", "null"]) };
            json!({"type": type_, "description": "Where the result is written, such as †state.name"})
        }
    }
}

fn output_method(tool: &Tool) -> Value {
    match tool.meta("_outputMethod").and_then(|rule| rule.fixed.clone()) {
        Some(name) => one_of([name].into_iter()),
        None => json!({"$ref": "#/$defs/method"}),
    }
}

/// An object with exactly these properties.
fn closed(properties: Map<String, Value>) -> Value {
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composed(tools: Value, mode: PlanMode, by_model: &[&str]) -> Composed {
        let context = Context::from_value(json!([{"type": "tool", "tool": tools}])).unwrap();
        compose(
            &context,
            Some(&json!({"type": "string"})),
            mode,
            |_| Offer::Call,
            |tool| by_model.contains(&tool.name.as_str()),
        )
    }

    fn first_call(composed: &Composed) -> &Value {
        &composed.schema["properties"]["calls"]["items"]["anyOf"][0]["properties"]
    }

    #[test]
    fn a_reference_is_allowed_in_place_of_a_number() {
        let tools = json!({"get": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        let validator = crate::schema::compile(&first_call(&composed)["id"]).unwrap();
        assert!(validator.is_valid(&json!(7)) && validator.is_valid(&json!("†state.id")));
        assert!(!validator.is_valid(&json!("seven")) && !validator.is_valid(&json!(null)));
        assert!(composed.loose.is_empty());
    }

    #[test]
    fn constant_and_enumerated_references_are_offered_unchanged_at_every_depth() {
        let fields = json!({"type": "object", "properties": {
            "owner": {"const": "†input.me"}, "from": {"enum": ["†state.a", "†state.b"]}, "sum": {"type": "number"},
        }, "required": ["owner", "from", "sum"]});
        let tools =
            json!({"add": {"type": "object", "properties": {"fields": fields}, "required": ["fields", "_outputPath"]}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        let fields = crate::schema::compile(&first_call(&composed)["fields"]).unwrap();
        let given = |owner: Value, from: &str, sum: Value| json!({"owner": owner, "from": from, "sum": sum});
        assert!(fields.is_valid(&given(json!("†input.me"), "†state.a", json!(1))));
        assert!(fields.is_valid(&given(Value::Null, "†state.b", json!("{†state.n}"))), "it is filled in");
        assert!(!fields.is_valid(&given(json!("†input.you"), "†state.a", json!(1))));
        assert!(!fields.is_valid(&given(Value::Null, "†state.c", json!(1))));
        let path = crate::schema::compile(&first_call(&composed)["_outputPath"]).unwrap();
        assert!(path.is_valid(&json!("†state.x")) && !path.is_valid(&Value::Null), "the tool requires it");
        assert!(composed.loose.is_empty());
    }

    #[test]
    fn optional_values_can_be_null_at_every_depth() {
        let fields = json!({"type": "object", "properties": {"TITLE": {"type": "string"}, "SUM": {"type": "number"}}, "required": ["TITLE"]});
        let tools = json!({"add": {"type": "object", "properties": {"fields": fields}}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        let validator = crate::schema::compile(&first_call(&composed)["fields"]).unwrap();
        assert!(validator.is_valid(&json!({"TITLE": "x", "SUM": null})));
        assert!(validator.is_valid(&json!({"TITLE": "x", "SUM": "†state.sum"})));
        assert!(!validator.is_valid(&json!({"TITLE": null, "SUM": 1})));
        assert!(validator.is_valid(&json!(null)));
    }

    #[test]
    fn a_model_call_has_an_output_only_in_eager_mode() {
        let tools = json!({"sum_up": {"type": "object", "properties": {"text": {}, "_output": {"type": "string"}}}});
        assert!(first_call(&composed(tools.clone(), PlanMode::Eager, &["sum_up"])).get("_output").is_some());
        assert!(first_call(&composed(tools.clone(), PlanMode::Lazy, &["sum_up"])).get("_output").is_none());
        assert!(first_call(&composed(tools, PlanMode::Eager, &[])).get("_output").is_none());
    }

    #[test]
    fn instances_are_offered_only_if_they_exist() {
        let tool = json!({"type": "tool", "tool": {"t": {"type": "object"}}});
        let mut messages = vec![tool];
        let alone = Context::from_value(messages.clone().into()).unwrap();
        messages.push(json!({"type": "state", "data": {}, "_instance": "anna"}));
        let many = Context::from_value(messages.into()).unwrap();
        let schema = |context| compose(context, None, PlanMode::Eager, |_| Offer::Call, |_| false);
        assert!(first_call(&schema(&alone)).get("_instance").is_none());
        assert_eq!(schema(&many).schema["$defs"]["instance"]["enum"], json!(["anna", null]));
    }

    #[test]
    fn an_object_with_arbitrary_names_is_a_list_of_entries() {
        let tools = json!({"list": {"type": "object", "properties": {
            "filter": {"type": "object", "description": "by field"},
            "order": {"type": "object", "additionalProperties": {"type": "string", "enum": ["ASC", "DESC"]}, "minProperties": 1},
            "fields": {"type": "object", "properties": {"TITLE": {"type": "string"}}, "additionalProperties": true},
            "any": {},
        }}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        assert_eq!(composed.loose, Vec::<String>::new());
        let call = |name: &str, value: Value| {
            let mut schema = first_call(&composed)[name].clone();
            schema["$defs"] = composed.schema["$defs"].clone();
            crate::schema::compile(&schema).unwrap().is_valid(&value)
        };
        let entries = |list: Value| json!({"_entries": list});
        let deep = json!({"name": "@ID", "value": [1, {"_entries": [{"name": "a", "value": null}]}]});
        assert!(call("filter", entries(json!([{"name": ">SUM", "value": 1}, deep]))));
        assert!(call("filter", json!("†state.filter")) && call("filter", Value::Null));
        assert!(!call("filter", json!({">SUM": 1})) && !call("filter", entries(json!([{"name": "a"}]))));
        assert!(call("order", entries(json!([{"name": "ID", "value": "ASC"}]))));
        assert!(call("order", entries(json!([{"name": "ID", "value": "†state.way"}]))));
        assert!(!call("order", entries(json!([{"name": "ID", "value": "up"}]))) && !call("order", entries(json!([]))));
        assert!(call("fields", json!({"TITLE": null, "_entries": [{"name": "UF_1", "value": true}]})));
        assert!(call("any", json!([1, "a"])) && call("any", entries(json!([]))) && !call("any", json!({"a": 1})));
    }

    #[test]
    fn a_recursive_schema_allows_any_value_from_the_recursion_on() {
        let node =
            json!({"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}});
        let circle = json!({"allOf": [{"$ref": "#/$defs/lists"}]});
        let tools = json!({"put": {"type": "object", "$defs": {"node": node, "lists": {"type": "array", "items": circle}},
            "properties": {"node": {"$ref": "#/$defs/node"}, "lists": {"$ref": "#/$defs/lists"}, "lost": {"$ref": "#/no"}}}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        assert_eq!(composed.loose, Vec::<String>::new());
        let node = &first_call(&composed)["node"]["anyOf"][0];
        assert_eq!(node["properties"]["next"], json!({"$ref": "#/$defs/value"}));
        assert_eq!(first_call(&composed)["lost"], json!({"$ref": "#/$defs/value"}));
    }

    #[test]
    fn schemas_combined_by_all_of_are_merged() {
        let base = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        let tools = json!({"put": {"type": "object", "$defs": {"base": base}, "properties": {
            "x": {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "integer"}}, "additionalProperties": false}]},
            "y": {"allOf": [{"type": "string"}, {"type": "integer"}]},
        }, "required": ["x"]}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        let x = crate::schema::compile(&first_call(&composed)["x"]).unwrap();
        assert!(x.is_valid(&json!({"a": "t", "b": null})) && !x.is_valid(&json!({"a": null, "b": 1})));
        assert_eq!(first_call(&composed)["y"], json!({"$ref": "#/$defs/value"}), "else it is any value");
        assert_eq!(composed.loose, Vec::<String>::new());
    }

    #[test]
    fn at_most_one_call_is_planned_with_only_tool_and_parameters() {
        let tools = json!({"press": {"type": "object", "properties": {"target": {"type": "string"}}, "required": ["target"]}, "look": {"type": "object"}});
        let context = Context::from_value(json!([{"type": "tool", "tool": tools}])).unwrap();
        let offer = |tool: &Tool| if tool.name == "press" { Offer::Plan } else { Offer::No };
        let composed = compose(&context, None, PlanMode::Eager, offer, |_| false);
        assert!(composed.loose.is_empty());
        let validator = crate::schema::compile(&composed.schema["properties"]["calls"]).unwrap();
        let press = json!({"_tool": "press", "target": "e1"});
        assert!(validator.is_valid(&json!([])) && validator.is_valid(&json!([press])));
        assert!(!validator.is_valid(&json!([press, press])));
        assert!(!validator.is_valid(&json!([{"_tool": "look"}])));
        assert!(!validator.is_valid(&json!([{"_tool": "press", "target": "e1", "_outputPath": null}])));
    }

    #[test]
    fn schemas_that_strict_mode_cannot_express_are_named() {
        let own = json!({"type": "object", "properties": {"_entries": {"type": "array"}}});
        let tools = json!({"put": {"type": "object", "properties": {"anything": own}}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        assert_eq!(composed.loose, ["put.anything has a property `_entries` of its own"]);
    }

    #[test]
    fn many_instances_are_free_names_and_not_enumerated() {
        let mut messages = vec![json!({"type": "tool", "tool": {"a": {"type": "object"}, "b": {"type": "object"}}})];
        messages.extend((0..600).map(|n| json!({"type": "state", "data": {}, "_instance": n.to_string()})));
        let context = Context::from_value(messages.into()).unwrap();
        let composed = compose(&context, None, PlanMode::Eager, |_| Offer::Call, |_| false);
        assert_eq!(composed.loose, Vec::<String>::new());
        assert_eq!(composed.schema["$defs"]["instance"]["type"], json!(["string", "null"]));
    }
}
