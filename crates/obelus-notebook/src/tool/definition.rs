//! Parses a tool's definition.

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::{Effect, METAS, Meta, ResultPart, SideWrite, Tool, before, prescribed, trust, upfront, wrong};
use crate::expr::OutputPath;
use crate::fault::Fault;
use crate::fold::Method;
use crate::message::unknown_method;
use crate::origin::{Origin, Origins};
use crate::wording::{closest, type_name};

pub(super) fn read(name: &str, schema: &Value) -> Result<Tool, Fault> {
    let (definition, properties) = parts_of(name, schema)?;
    let metas = metas_of(definition, &properties)?;
    upfront::check(definition, meta_of(definition, &properties, "_delegate").fixed.as_ref().and_then(Value::as_str))?;
    let effect = effect_of(definition)?;
    let idempotent = match definition.get("x-idempotent") {
        None => false,
        Some(declared) => declared.as_bool().ok_or_else(|| wrong("`x-idempotent` is true or false"))?,
    };
    let trust = trust::read(definition.get("x-trust"))?;
    let issued = names(definition, "x-issued")?.unwrap_or_default();
    let issued: Vec<String> = issued.iter().map(|path| path.replace("[]", "")).collect();
    let trusted = trust::at(&trust, "");
    let all_trusted = trust.iter().all(|(_, trusted)| *trusted) && trusted;
    let keeps_digest = keeps_digest(definition, metas.iter().any(|(meta, _)| *meta == "_delegate"))?;
    let origin_of = |trusted: bool| Origins::of(Origin::Tool { name: name.into(), trusted });
    let part = |(path, trusted, issued)| ResultPart { path, origin: origin_of(trusted), issued };
    let mut parts: Vec<ResultPart> = trust::parts(&trust, &issued).into_iter().map(part).collect();
    if keeps_digest && !parts.is_empty() {
        // The digest represents the whole result, so it is trusted only if all parts are.
        parts.push(part(("digest".to_owned(), all_trusted, false)));
    }
    let requires_path = is_required(definition, "_outputPath");
    let written = params_schema(definition, properties);
    let (params, prescribing) = match prescribed::relaxed(&written) {
        Some(relaxed) => (relaxed, Some(written)),
        None => (written, None),
    };
    Ok(Tool {
        name: name.to_owned(),
        schema: schema.clone(),
        effect,
        idempotent: idempotent || effect == Effect::Read,
        trusted,
        risky: names(definition, "x-risky")?.unwrap_or_default(),
        target: names(definition, "x-target")?,
        instances: match definition.get("x-instances") {
            None => None,
            Some(Value::String(field)) => Some(field.clone()),
            Some(_) => return Err(wrong("`x-instances` is the name of the field that tells rows apart")),
        },
        side_writes: SideWrite::parse_all(definition.get("x-leaves"))?,
        keeps_digest,
        parts,
        before: before::read(definition.get("x-before"))?,
        issued,
        params,
        metas,
        prescribing,
        requires_path,
        validator: OnceLock::new(),
        plain: OnceLock::new(),
        output_validator: OnceLock::new(),
        origin: origin_of(trusted),
        error_origin: origin_of(all_trusted),
    })
}

type DefinitionFields = Map<String, Value>;

/// The definition as an object, and its properties; an error if it is not a valid tool of this name.
fn parts_of<'a>(name: &str, schema: &'a Value) -> Result<(&'a DefinitionFields, DefinitionFields), Fault> {
    let Value::Object(definition) = schema else {
        return Err(wrong(format!("a tool is a JSON Schema object, not {}", type_name(schema))));
    };
    if name.is_empty() {
        return Err(wrong("a tool needs a name"));
    }
    let properties = match definition.get("properties") {
        None => Map::new(),
        Some(Value::Object(properties)) => properties.clone(),
        Some(other) => return Err(wrong(format!("`properties` is an object, not {}", type_name(other)))),
    };
    match meta_of(definition, &properties, "_tool").fixed {
        Some(own) if own != name => Err(wrong(format!("`_tool` says {own}, the name is `{name}`"))),
        _ => Ok((definition, properties)),
    }
}

fn metas_of(
    definition: &Map<String, Value>,
    properties: &Map<String, Value>,
) -> Result<Vec<(&'static str, Meta)>, Fault> {
    let is_defined = |meta: &&str| definition.contains_key(*meta) || properties.contains_key(*meta);
    let checked = |meta| {
        let rule = meta_of(definition, properties, meta);
        check_fixed(meta, &rule).map(|()| (meta, rule))
    };
    METAS.into_iter().filter(is_defined).map(checked).collect()
}

fn effect_of(definition: &Map<String, Value>) -> Result<Effect, Fault> {
    let Some(declared) = definition.get("x-effect") else { return Ok(Effect::default()) };
    let known = Effect::ALL.iter().find(|(name, _)| declared == name).map(|&(_, effect)| effect);
    known.ok_or_else(|| {
        let near = declared.as_str().and_then(|declared| closest(declared, &Effect::names()));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let text = format!("`x-effect` is one of {}, not {declared}{hint}", Effect::names().join(", "));
        wrong(text).at("x-effect")
    })
}

fn is_required(definition: &Map<String, Value>, name: &str) -> bool {
    let required = definition.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|known| known == name))
}

/// The meta-property of a tool, declared among the properties or on the tool itself.
fn meta_of(definition: &Map<String, Value>, properties: &Map<String, Value>, name: &str) -> Meta {
    match (properties.get(name), definition.get(name)) {
        (Some(schema), _) => Meta { schema: schema.clone(), fixed: schema.get("const").cloned() },
        (None, Some(plain)) if name == "_output" => Meta { schema: plain.clone(), fixed: None },
        (None, Some(schema @ Value::Object(_))) => Meta { schema: schema.clone(), fixed: schema.get("const").cloned() },
        (None, Some(plain)) => Meta { schema: json!({"const": plain}), fixed: Some(plain.clone()) },
        (None, None) => Meta::default(),
    }
}

fn check_fixed(meta: &str, rule: &Meta) -> Result<(), Fault> {
    let Some(fixed) = &rule.fixed else { return Ok(()) };
    match (meta, fixed) {
        ("_outputPath", Value::String(text)) => OutputPath::parse(text).map(drop).map_err(|fault| fault.at(meta)),
        ("_outputMethod", Value::String(name)) if Method::parse(name).is_none() => Err(unknown_method(name)),
        ("_scopes", Value::Array(_)) | ("_output", _) => Ok(()),
        ("_scopes", _) => Err(wrong("`_scopes` is an array of kinds and paths")),
        (_, Value::String(_) | Value::Null) => Ok(()),
        (meta, other) => Err(wrong(format!("`{meta}` is a string, not {}", type_name(other)))),
    }
}

/// Parses `x-keep`.
fn keeps_digest(definition: &Map<String, Value>, is_delegated: bool) -> Result<bool, Fault> {
    match definition.get("x-keep") {
        None => Ok(false),
        Some(Value::String(what)) if what == "digest" && !is_delegated => Ok(true),
        Some(Value::String(what)) if what == "digest" => {
            Err(wrong("`x-keep` is for tools that an activity carries out, not a delegate"))
        }
        Some(_) => Err(wrong("`x-keep` is `digest`, or is left out")),
    }
}

fn names(definition: &Map<String, Value>, field: &str) -> Result<Option<Vec<String>>, Fault> {
    let Some(declared) = definition.get(field) else { return Ok(None) };
    let list = declared.as_array().and_then(|all| all.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    match list {
        Some(names) => Ok(Some(names)),
        None => Err(wrong(format!("`{field}` is an array of dotted paths"))),
    }
}

/// The definition without meta-properties and annotations.
fn params_schema(definition: &Map<String, Value>, mut properties: Map<String, Value>) -> Value {
    properties.retain(|name, _| !name.starts_with('_'));
    let keep = |name: &&String| !name.starts_with('_') && !name.starts_with("x-") && *name != "properties";
    let mut params: Map<String, Value> =
        definition.iter().filter(|(name, _)| keep(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(Value::Array(required)) = params.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| !name.starts_with('_')));
    }
    params.insert("properties".to_owned(), Value::Object(properties));
    Value::Object(params)
}
