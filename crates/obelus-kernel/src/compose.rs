//! The one schema that the model answers in: words, calls, output.

mod strict;

use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::fold::Method;
use crate::message::PlanMode;
use crate::tool::{Effect, Tool};
use strict::{Strict, described, nullable};

/// The schema of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    /// The schema.
    pub schema: Value,
    /// Why it cannot be sent in a provider's strict mode; empty if it can. It is valid JSON Schema either way.
    pub loose: Vec<String>,
}

/// What the model may do with a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Nothing: it does not see it.
    No,
    /// Call it.
    Call,
    /// Plan one call of it, for another step to carry out.
    Plan,
}

/// Composes the schema of an answer for the tools of a context.
///
/// `offer` says what the model may do with each tool now. `is_latent` says which tools the model carries out itself:
/// those bring their `_output` along, unless the plan is lazy. `output` is the schema of the request's result.
pub fn compose(
    context: &Context,
    output: Option<&Value>,
    mode: PlanMode,
    offer: impl Fn(&Tool) -> Offer,
    is_latent: impl Fn(&Tool) -> bool,
) -> Composed {
    let mut loose = Vec::new();
    let mut runs = 0;
    let mut calls = Vec::new();
    for tool in context.tools() {
        calls.push(match offer(tool) {
            Offer::No => continue,
            Offer::Call => call(tool, context, mode == PlanMode::Eager && is_latent(tool), &mut loose),
            Offer::Plan => planned(tool, &mut loose),
        });
        runs += usize::from(offer(tool) == Offer::Call);
    }
    let plans = calls.len() > runs;
    let items = if calls.is_empty() { closed(Map::new()) } else { json!({"anyOf": calls}) };
    let mut list = json!({"type": "array", "items": items});
    if runs == 0 {
        list["maxItems"] = usize::from(plans).into();
    }
    if plans {
        list = described(list, "The one call that is to be carried out next, if there is one.");
    }
    let output = match output {
        Some(schema) => nullable(Strict::new(schema, "output", &mut loose).plain(schema)),
        None => json!({"type": ["string", "number", "boolean", "null"]}),
    };
    let mut properties = Map::new();
    let say = "Words for the user, shown at once. Null if there is nothing to say yet.";
    properties.insert("say".to_owned(), described(json!({"type": ["string", "null"]}), say));
    properties.insert("calls".to_owned(), list);
    let result = match plans {
        true => "The result of this step, along with the call that is to be carried out next.",
        false => "The result of the whole request. Null while calls still have to bring something.",
    };
    properties.insert("output".to_owned(), described(output, result));
    Composed { schema: closed(properties), loose }
}

/// A tool's name and its parameters, as they are written in a call.
fn named_params(tool: &Tool, loose: &mut Vec<String>) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut put = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
    put("_reasoningForCall", json!({"type": ["string", "null"]}));
    put("_tool", json!({"type": "string", "const": tool.name}));

    let mut strict = Strict::new(tool.params(), &tool.name, loose);
    for (name, schema) in tool.params().get("properties").and_then(Value::as_object).into_iter().flatten() {
        if tool.prescribed().iter().any(|(prescribed, _)| prescribed == name) {
            continue;
        }
        put(name, strict.member(tool.params(), name, schema));
    }
    for (name, reference) in tool.prescribed() {
        put(name, json!({"type": ["string", "null"], "enum": [reference, null]}));
    }
    properties
}

fn about(tool: &Tool, schema: Value) -> Value {
    match tool.schema.get("description").and_then(Value::as_str) {
        Some(words) => described(schema, words),
        None => schema,
    }
}

/// The schema of a call that another step carries out: what becomes of its result is that step's to say.
fn planned(tool: &Tool, loose: &mut Vec<String>) -> Value {
    about(tool, closed(named_params(tool, loose)))
}

/// The schema of one call of a tool.
fn call(tool: &Tool, context: &Context, brings_output: bool, loose: &mut Vec<String>) -> Value {
    let mut properties = named_params(tool, loose);
    let mut put = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);

    let acts = tool.effect != Effect::Read && !brings_output;
    for aside in ["requires_confirmation", "confirmed"] {
        if acts && tool.param(aside).is_none() {
            put(aside, json!({"type": ["boolean", "null"]}));
        }
    }
    if acts && tool.param("confirmation_decision").is_none() {
        put("confirmation_decision", json!({"type": ["string", "null"], "enum": ["deny", null]}));
        put("confirmation_reason", json!({"type": ["string", "null"]}));
    }

    for meta in ["_scopes", "_delegate", "_activity"] {
        if let Some(rule) = tool.meta(meta).filter(|rule| rule.fixed.is_none()) {
            let plain = if meta == "_scopes" && rule.schema.get("items").is_none() {
                json!({"type": "array", "items": {"type": "string"}})
            } else {
                Strict::new(&rule.schema, &tool.name, loose).plain(&rule.schema)
            };
            put(meta, nullable(plain));
        }
    }
    if !context.instances().is_empty() {
        let names: Vec<Value> =
            context.instances().iter().map(|name| name.as_str().into()).chain([Value::Null]).collect();
        put("_instance", json!({"type": ["string", "null"], "enum": names}));
    }
    put("_outputPath", output_path(tool, loose));
    put("_outputMethod", output_method(tool));
    if brings_output {
        let schema = match tool.output() {
            Some(schema) => Strict::new(schema, &tool.name, loose).plain(schema),
            None => json!({"type": ["string", "number", "boolean"]}),
        };
        put("_output", schema);
    }
    about(tool, closed(properties))
}

fn output_path(tool: &Tool, loose: &mut Vec<String>) -> Value {
    match tool.meta("_outputPath") {
        Some(rule) if rule.fixed.is_some() => json!({"type": ["string", "null"], "enum": [rule.fixed, null]}),
        Some(rule) => nullable(Strict::new(&rule.schema, &tool.name, loose).plain(&rule.schema)),
        None => json!({"type": ["string", "null"], "description": "Where the result is written, such as †state.name"}),
    }
}

fn output_method(tool: &Tool) -> Value {
    let fixed = tool.meta("_outputMethod").and_then(|rule| rule.fixed.clone());
    let names: Vec<Value> = match fixed {
        Some(name) => vec![name, Value::Null],
        None => Method::ALL.iter().map(|(name, _)| (*name).into()).chain([Value::Null]).collect(),
    };
    json!({"type": ["string", "null"], "enum": names})
}

/// An object of which every property is required and no other is permitted.
fn closed(properties: Map<String, Value>) -> Value {
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composed(tools: Value, mode: PlanMode, latent: &[&str]) -> Composed {
        let context = Context::from_value(json!([{"type": "tool", "tool": tools}])).unwrap();
        compose(
            &context,
            Some(&json!({"type": "string"})),
            mode,
            |_| Offer::Call,
            |tool| latent.contains(&tool.name.as_str()),
        )
    }

    fn first_call(composed: &Composed) -> &Value {
        &composed.schema["properties"]["calls"]["items"]["anyOf"][0]["properties"]
    }

    #[test]
    fn a_reference_may_stand_where_a_number_is_due() {
        let tools = json!({"get": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        let validator = crate::schema::compile(&first_call(&composed)["id"]).unwrap();
        assert!(validator.is_valid(&json!(7)) && validator.is_valid(&json!("†state.id")));
        assert!(!validator.is_valid(&json!("seven")) && !validator.is_valid(&json!(null)));
        assert!(composed.loose.is_empty());
    }

    #[test]
    fn what_is_optional_may_be_null_at_every_depth() {
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
    fn a_latent_tool_brings_its_output_only_where_planning_is_execution() {
        let tools = json!({"sum_up": {"type": "object", "properties": {"text": {}, "_output": {"type": "string"}}}});
        assert!(first_call(&composed(tools.clone(), PlanMode::Eager, &["sum_up"])).get("_output").is_some());
        assert!(first_call(&composed(tools.clone(), PlanMode::Lazy, &["sum_up"])).get("_output").is_none());
        assert!(first_call(&composed(tools, PlanMode::Eager, &[])).get("_output").is_none());
    }

    #[test]
    fn instances_are_offered_where_there_are_some() {
        let tool = json!({"type": "tool", "tool": {"t": {"type": "object"}}});
        let mut messages = vec![tool];
        let alone = Context::from_value(messages.clone().into()).unwrap();
        messages.push(json!({"type": "state", "data": {}, "_instance": "anna"}));
        let many = Context::from_value(messages.into()).unwrap();
        let schema = |context| compose(context, None, PlanMode::Eager, |_| Offer::Call, |_| false);
        assert!(first_call(&schema(&alone)).get("_instance").is_none());
        assert_eq!(first_call(&schema(&many))["_instance"]["enum"], json!(["anna", null]));
    }

    #[test]
    fn at_most_one_call_is_planned_and_it_is_nothing_but_tool_and_parameters() {
        let tools = json!({"press": {"type": "object", "properties": {"target": {"type": "string"}}, "required": ["target"]}, "look": {"type": "object"}});
        let context = Context::from_value(json!([{"type": "tool", "tool": tools}])).unwrap();
        let offer = |tool: &Tool| if tool.name == "press" { Offer::Plan } else { Offer::No };
        let composed = compose(&context, None, PlanMode::Eager, offer, |_| false);
        assert!(composed.loose.is_empty());
        let validator = crate::schema::compile(&composed.schema["properties"]["calls"]).unwrap();
        let press = json!({"_reasoningForCall": null, "_tool": "press", "target": "e1"});
        assert!(validator.is_valid(&json!([])) && validator.is_valid(&json!([press])));
        assert!(!validator.is_valid(&json!([press, press])));
        assert!(!validator.is_valid(&json!([{"_reasoningForCall": null, "_tool": "look"}])));
        assert!(
            !validator
                .is_valid(&json!([{"_reasoningForCall": null, "_tool": "press", "target": "e1", "_outputPath": null}]))
        );
    }

    #[test]
    fn what_a_strict_mode_cannot_say_is_named() {
        let tools = json!({"put": {"type": "object", "properties": {"anything": {"type": "object"}}}});
        let composed = composed(tools, PlanMode::Eager, &[]);
        assert_eq!(composed.loose.len(), 1);
        assert!(composed.loose[0].contains("put.anything"), "{:?}", composed.loose);
    }
}
