//! Notes of `agents check` and `plan check` about usable tools: one without `x-effect`, and scopes that name nothing.

use obelus_kernel::memory::Segment;
use obelus_kernel::{Context, Effect, Expr, Path, Rule, Tool, closest};
use obelus_runtime::SessionSpec;
use serde_json::Value;

use super::faults::{SpecProblem, place_of_tool};

/// Kinds that every session may have.
const KINDS: [&str; 7] = ["text", "tool", "input", "state", "results", "error", "events"];

/// All notes about the tools of a session. `written` is what its calls write, if they are all known.
pub(crate) fn tool_notes(spec: &SessionSpec, written: Option<&[Path]>) -> Vec<SpecProblem> {
    let mut notes = Vec::new();
    for tool in spec.context.tools() {
        let place = place_of_tool(spec, &tool.name);
        if has_unsaid_effect(tool, spec) {
            notes.push(SpecProblem { rule: Some(Rule::Tool4), field: place.clone(), text: unsaid_effect(tool) });
        }
        let inner = if tool.schema["_scopes"].is_array() { "_scopes" } else { "properties._scopes.const" };
        let scopes = tool.meta("_scopes").and_then(|meta| meta.fixed.as_ref());
        notes.extend(stray_scopes(scopes, written, &spec.context).into_iter().map(|(index, text)| SpecProblem {
            rule: Some(Rule::Call4),
            field: format!("{place}.{inner}[{index}]"),
            text: format!("`{}`: `_scopes`: {text}", tool.name),
        }));
    }
    notes
}

/// Whether a tool acts and does not say how. A tool that declares a result and has no executor is meant for the model, and
/// one that nothing carries out is noted for that.
fn has_unsaid_effect(tool: &Tool, spec: &SessionSpec) -> bool {
    let has_bindings = !spec.agent.is_empty() || spec.activities.iter().any(|lot| !lot.bound.is_empty());
    let is_carried_out = !spec.runs_by_model(tool) || (!has_bindings && tool.output().is_none());
    !tool.declares_effect() && is_carried_out
}

fn unsaid_effect(tool: &Tool) -> String {
    format!(
        "`{}` has no `x-effect`, so it counts as `{}`: it runs only in the mode full, asks a person after untrusted data was \
         read, and is not repeated after a crash; if it only reads, write `x-effect: read`, else one of {}",
        tool.name,
        Effect::default().name(),
        Effect::names().into_iter().skip(1).collect::<Vec<_>>().join(", ")
    )
}

/// Scopes that name nothing: the index of each, and a text. `written` is what calls write, if they are all known: else a
/// model may write more than tools declare.
pub(crate) fn stray_scopes(
    scopes: Option<&Value>,
    written: Option<&[Path]>,
    context: &Context,
) -> Vec<(usize, String)> {
    let scopes = scopes.and_then(Value::as_array).into_iter().flatten().enumerate();
    let texts = scopes.filter_map(|(index, scope)| Some((index, scope.as_str()?)));
    let stray = |scope: &str| {
        if scope.starts_with('†') {
            stray_reference(scope, context).or_else(|| unwritten_path(scope, written?, context))
        } else {
            stray_kind(scope, written.unwrap_or_default(), context)
        }
    };
    texts.filter_map(|(index, scope)| Some((index, stray(scope)?))).collect()
}

/// Why a path has no value, if all calls are known.
fn unwritten_path(text: &str, written: &[Path], context: &Context) -> Option<String> {
    let expr = Expr::parse(text).ok()?;
    let path = expr.refs().into_iter().next()?;
    let all: Vec<Path> = written.iter().cloned().chain(context.tools().flat_map(|tool| outputs_of(tool))).collect();
    let is_written = all.iter().any(|one| one.covers(path) || path.covers(one));
    // The input may come later, and instances have values of their own.
    let is_open = path.kind == "input" || !context.instances().is_empty();
    if is_open || is_written || context.read(path, None).is_some() {
        return None;
    }
    let known: Vec<String> = all.iter().map(ToString::to_string).collect();
    let near = closest(text, &known.iter().map(String::as_str).collect::<Vec<_>>()).map(str::to_owned);
    Some(format!(
        "nothing here writes {path}{}",
        near.map(|near| format!("; did you mean {near}?")).unwrap_or_default()
    ))
}

fn stray_kind(scope: &str, written: &[Path], context: &Context) -> Option<String> {
    let of_tools = context.tools().flat_map(|tool| outputs_of(tool));
    let written: Vec<Path> = written.iter().cloned().chain(of_tools).collect();
    let kinds = context.views().map(|(kind, _)| kind).chain(written.iter().map(|path| path.kind.as_str()));
    let mut kinds: Vec<&str> = kinds.chain(KINDS).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.contains(&scope) {
        return None;
    }
    // The name of a field of a kind needs the whole path.
    let is_field = |path: &&Path| path.segments.first().is_some_and(|first| first.key() == scope);
    let of_schema = context.views().find_map(|(kind, view)| {
        let fields = view.schema(None)?["properties"].as_object()?;
        fields.contains_key(scope).then(|| format!("†{kind}.{scope}"))
    });
    let field = of_schema.or_else(|| written.iter().find(is_field).map(|path| format!("†{}.{scope}", path.kind)));
    let hint = match field.or_else(|| closest(scope, &kinds).map(|near| format!("`{near}`"))) {
        Some(near) => format!("; did you mean {near}?"),
        None => format!("; there are: {}", kinds.join(", ")),
    };
    Some(format!("nothing here writes the kind `{scope}`{hint}"))
}

/// The paths that a tool's results and side writes go to, as far as the tool says.
fn outputs_of(tool: &Tool) -> Vec<Path> {
    let exprs = declared_outputs(tool).filter_map(|text| Expr::parse(text).ok());
    let results: Vec<Path> =
        exprs.flat_map(|expr| expr.refs().into_iter().map(|path| (**path).clone()).collect::<Vec<_>>()).collect();
    results.into_iter().chain(tool.side_writes.iter().map(|side| side.to.clone())).collect()
}

/// The output paths that a tool declares, as text.
pub(crate) fn declared_outputs(tool: &Tool) -> impl Iterator<Item = &str> {
    let field = &tool.schema["properties"]["_outputPath"];
    let alternatives = field["enum"].as_array().into_iter().flatten();
    let named = [&field["const"], &field["default"], &tool.schema["_outputPath"]].into_iter().chain(alternatives);
    named.filter_map(Value::as_str)
}

/// The first path of an expression that is outside the schema of its kind, as a text.
pub(crate) fn stray_reference(text: &str, context: &Context) -> Option<String> {
    let expr = Expr::parse(text).ok()?;
    expr.refs().into_iter().find_map(|path| stray_path(path, context))
}

fn stray_path(path: &Path, context: &Context) -> Option<String> {
    let Some(view) = context.view(&path.kind) else {
        // A new kind needs no declaration, but a typing error looks the same.
        let known = context.views().map(|(kind, _)| kind).chain(["state", "input"]);
        let near = closest(&path.kind, &known.collect::<Vec<_>>()).filter(|near| *near != &*path.kind)?;
        return Some(format!("{path}: there is no kind `{}` yet; did you mean `{near}`?", path.kind));
    };
    let schema = view.schema(None)?;
    let (unknown, known) = unknown_field(schema, &path.segments)?;
    Some(format!("{path}: the schema of `{}` has no `{unknown}`{}", path.kind, hint(&unknown, &known)))
}

/// The first field of a path that a schema does not have, and the fields that it has there. What a schema leaves open
/// is known.
fn unknown_field(schema: &Value, segments: &[Segment]) -> Option<(String, Vec<String>)> {
    let (first, rest) = segments.split_first()?;
    if !schema["items"].is_null() {
        return unknown_field(&schema["items"], rest);
    }
    let fields = schema["properties"].as_object()?;
    let is_open = ["patternProperties", "$ref", "anyOf", "oneOf", "allOf"].iter().any(|key| !schema[*key].is_null());
    let is_more = schema["additionalProperties"].is_object() || schema["additionalProperties"] == true;
    match fields.get(&*first.key()) {
        Some(inner) => unknown_field(inner, rest),
        None if is_open || is_more => None,
        None => Some((first.key().to_string(), fields.keys().cloned().collect())),
    }
}

/// The nearest of the known names, or all of them.
pub(crate) fn hint(name: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match closest(name, &known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there are: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_schema_leaves_open_is_known() {
        let of = |schema: Value, path: &str| {
            let path = Expr::parse(path).unwrap().refs()[0].clone();
            unknown_field(&schema, &path.segments).map(|(unknown, _)| unknown)
        };
        let closed =
            json!({"properties": {"order": {"properties": {"id": {}}}, "rows": {"items": {"properties": {"n": {}}}}}});
        assert_eq!(of(closed.clone(), "†state.ordr"), Some("ordr".to_owned()));
        assert_eq!(of(closed.clone(), "†state.order.name"), Some("name".to_owned()));
        assert_eq!(of(closed.clone(), "†state.rows[0].n.deep"), None);
        assert_eq!(of(closed, "†state.rows[0].m"), Some("m".to_owned()));
        assert_eq!(of(json!({"properties": {}, "additionalProperties": true}), "†state.x"), None);
        assert_eq!(of(json!({"type": "object"}), "†state.x"), None);
    }
}
