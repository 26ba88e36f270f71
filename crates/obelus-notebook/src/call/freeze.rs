//! A call with resolved references, as an activity and a person see it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::call::{Call, Scope, faults_of};
use crate::call_json::CallJson;
use crate::context::Context;
use crate::fault::Fault;
use crate::fold::Method;
use crate::path::Path;
use crate::schema::without_nulls;
use crate::template::Template;
use crate::tool::Tool;

/// The call as an activity and a person see it.
pub fn frozen_call(call: &Call, params: Value, instance: Option<&str>) -> CallJson {
    let Value::Object(mut fields) = params else { return params.into() };
    fields.shift_insert(0, "_tool".to_owned(), call.tool_name().into());
    add_metas(&mut fields, call, instance);
    fields.into()
}

/// The tool and the parameters with their values; none if a value is missing.
pub fn filled<'a>(call: &Call, read: &impl Fn(&Path) -> Option<Cow<'a, Value>>) -> Option<Map<String, Value>> {
    // Most calls have two meta-properties: their tool and the path of the result.
    let mut fields = Map::with_capacity(call.params.len() + 2);
    fields.insert("_tool".to_owned(), call.tool_name().into());
    for (name, template) in &call.params {
        fields.insert(name.to_string(), template.resolve(read).ok()?);
    }
    Some(fields)
}

/// Validates the first parameters of a call, which follow its tool, against the tool's schema. Names inside values of
/// references are normalised to the declared ones.
pub fn fit(fields: &mut Map<String, Value>, params: usize, tool: &Tool, context: &Context) -> Result<(), Fault> {
    if let Some(respelled) = context.respelled(fields, tool)? {
        *fields = respelled;
    }
    if tool.surely_takes(fields.iter().skip(1).take(params)) {
        return Ok(());
    }
    let given: Map<String, Value> = fields.clone().into_iter().skip(1).take(params).collect();
    let names: Vec<String> = given.keys().cloned().collect();
    let meant = fitted(Value::Object(given), tool)?;
    for name in names {
        match meant.get(&name) {
            Some(value) => fields[&name] = value.clone(),
            None => drop(fields.shift_remove(&name)),
        }
    }
    Ok(())
}

/// The parameters as the tool accepts them. An unaccepted null of an optional parameter means that it is absent
/// (TOOL-8).
pub fn fitted(params: Value, tool: &Tool) -> Result<Value, Fault> {
    if tool.breaches(&params).is_empty() {
        return Ok(params);
    }
    let meant = without_nulls(&params, tool.params()).into_owned();
    match faults_of(tool.breaches(&meant)).next() {
        None => Ok(meant),
        Some(fault) => Err(fault),
    }
}

/// The tool and the parameters with their values, in the whole proposal if there is one; none if a value is missing.
pub fn frozen_fields<'a, 'r>(
    call: &Call,
    whole: Option<&'r Map<String, Value>>,
    read: &impl Fn(&Path) -> Option<Cow<'a, Value>>,
) -> Option<Cow<'r, Map<String, Value>>> {
    match whole {
        Some(raw) => refilled(raw, call, read),
        None => filled(call, read).map(Cow::Owned),
    }
}

/// A whole proposal with the values of its parameters: itself, if they are all in it.
fn refilled<'a, 'r>(
    raw: &'r Map<String, Value>,
    call: &Call,
    read: &impl Fn(&Path) -> Option<Cow<'a, Value>>,
) -> Option<Cow<'r, Map<String, Value>>> {
    let is_there = |(value, template): (&Value, &Template)| matches!(template, Template::Literal(own) if own == value);
    if raw.values().skip(1).zip(call.params.iter().map(|(_, template)| template)).all(is_there) {
        return Some(Cow::Borrowed(raw));
    }
    let mut fields = raw.clone();
    for (value, (_, template)) in fields.values_mut().skip(1).zip(&call.params) {
        *value = template.resolve(read).ok()?;
    }
    Some(Cow::Owned(fields))
}

/// The call with these fields: the proposal, if they are its own.
pub fn with_fields(call: &Call, fields: Cow<'_, Map<String, Value>>) -> CallJson {
    match fields {
        Cow::Borrowed(_) => call.raw.clone(),
        Cow::Owned(fields) => fields.into(),
    }
}

/// The fields of a proposal, if they are exactly those of the frozen call, in order: the tool, the parameters, and
/// the result's path as text. Then they need not be rebuilt.
pub fn whole_proposal<'a>(call: &'a Call, instance: Option<&str>) -> Option<&'a Map<String, Value>> {
    let raw = call.raw.as_object().filter(|raw| raw.len() == call.params.len() + 2)?;
    let mut names = raw.keys().map(String::as_str);
    let is_whole = names.next() == Some("_tool")
        && call.params.iter().all(|(name, _)| names.next() == Some(name))
        && names.next() == Some("_outputPath")
        && raw.values().next_back().is_some_and(Value::is_string)
        && call.output_path.is_some()
        && call.output_method == Method::Set
        && call.scopes.is_empty()
        && instance.is_none();
    is_whole.then_some(raw)
}

/// Adds the other fields that an activity and a person see.
pub fn add_metas(fields: &mut Map<String, Value>, call: &Call, instance: Option<&str>) {
    let control = call.control_fields.iter().flat_map(|fields| fields.iter());
    fields.extend(control.map(|(name, value)| (name.clone(), value.clone())));
    for chosen in ["_delegate", "_activity"] {
        if let Some(name) = call.meta_field(chosen).filter(|name| !name.is_null()) {
            fields.insert(chosen.to_owned(), name.clone());
        }
    }
    // People are asked about the proposal, and their answer is bound to it.
    let own_path = call.output_path.as_ref().filter(|_| !call.keeps_by_default);
    if let Some(path) = own_path {
        // The proposal's own text is cheaper than formatting the path again.
        let given = call.meta_field("_outputPath").filter(|given| given.is_string()).cloned();
        fields.insert("_outputPath".to_owned(), given.unwrap_or_else(|| path.to_string().into()));
    }
    if call.output_method != Method::Set && !call.keeps_by_default {
        fields.insert("_outputMethod".to_owned(), call.output_method.name().into());
    }
    if !call.scopes.is_empty() {
        let scopes: Vec<Value> = call
            .scopes
            .iter()
            .map(|scope| match scope {
                Scope::Kind(kind) => kind.as_str().into(),
                Scope::Path(path) => path.to_string().into(),
            })
            .collect();
        fields.insert("_scopes".to_owned(), scopes.into());
    }
    if let Some(name) = instance {
        fields.insert("_instance".to_owned(), name.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn context() -> Context {
        Context::from_value(json!([
            {"type": "state", "data": {"a": 7}},
            {"type": "tool", "tool": {"t": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "string"}, "z": {"const": 1}},
                "x-effect": "read",
            }}},
        ]))
        .unwrap()
    }

    fn read(proposal: Value, context: &Context) -> Call {
        Call::read(&proposal.into(), context).0
    }

    #[test]
    fn the_fast_and_the_general_freeze_give_the_same_text() {
        let context = context();
        let read_path = |path: &Path| context.read(path, None);
        for proposal in [
            json!({"_tool": "t", "_outputPath": "†state.b"}),
            json!({"_tool": "t", "x": "†state.a", "_outputPath": "†state.b"}),
            json!({"_tool": "t", "y": "words", "x": "†state.a", "z": 1, "_outputPath": "†state.b || †state.c"}),
            json!({"_tool": "t", "y": "words", "x": "†state.a", "_outputPath": " †state.b"}),
            json!({"_tool": "t", "y": "words", "x": 3, "_outputPath": "†state.b"}),
        ] {
            let call = read(proposal, &context);
            let raw = whole_proposal(&call, None).expect("it is whole");
            let short = with_fields(&call, frozen_fields(&call, Some(raw), &read_path).unwrap());
            let mut long = frozen_fields(&call, None, &read_path).unwrap();
            add_metas(long.to_mut(), &call, None);
            assert_eq!(short.to_string(), with_fields(&call, long).to_string());
            assert_eq!(short.is_shared_with(&call.raw), !call.has_refs(), "a call without references is not copied");
        }
    }

    #[test]
    fn only_a_proposal_with_exactly_the_expected_fields_takes_the_fast_freeze() {
        let context = context();
        for proposal in [
            json!({"_tool": "t", "x": 1}),
            json!({"x": 1, "_tool": "t", "_outputPath": "†state.b"}),
            json!({"_tool": "t", "_outputPath": "†state.b", "x": 1}),
            json!({"_tool": "t", "x": null, "_outputPath": "†state.b"}),
            json!({"_tool": "t", "x": 1, "confirmed": true, "_outputPath": "†state.b"}),
            json!({"_tool": "t", "x": 1, "_outputPath": "†state.."}),
            json!({"_tool": "t", "x": 1, "_outputPath": "†state.b", "_outputMethod": "push"}),
        ] {
            let call = read(proposal.clone(), &context);
            assert!(whole_proposal(&call, None).is_none(), "{proposal}");
        }
        let whole = read(json!({"_tool": "t", "x": 1, "_outputPath": "†state.b"}), &context);
        assert!(whole_proposal(&whole, None).is_some());
        assert!(whole_proposal(&whole, Some("one")).is_none());
    }
}
