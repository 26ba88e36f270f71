//! The JSON forms of messages: canonical and short forms are parsed, the canonical form is written.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Data, Message, Parsed, Plan, PlanMode, ResultOf, Role, Text};
use crate::call_json::CallJson;
use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::origin::Origins;
use crate::path::{MAX_DEPTH, Path, Segment, nested};
use crate::wording::type_name;

/// Fields of the engine, which the model never sees.
const META: [&str; 8] =
    ["_call", "_date", "_instance", "_labels", "_outputMethod", "_outputPath", "_partLabels", "_reasoningForCall"];

impl Message {
    /// Parses one message from JSON text. The depth is checked before parsing, so that hostile nesting costs nothing.
    pub(crate) fn from_raw(raw: &RawValue) -> Result<Parsed, Fault> {
        check_depth(depth_of_text(raw.get()))?;
        let value = serde_json::from_str(raw.get()).map_err(|e| Fault::new(Rule::Ctx3, e.to_string()))?;
        Self::from_value(value)
    }

    /// Parses one message, in canonical or short form.
    pub fn from_value(value: Value) -> Result<Parsed, Fault> {
        check_depth(depth(&value))?;
        let Value::Object(mut fields) = value else {
            return Err(wrong(format!("a message is an object, not {}", type_name(&value))));
        };
        let type_ = match fields.shift_remove("type") {
            Some(Value::String(name)) => name,
            Some(other) => return Err(wrong(format!("`type` is a string, not {}", type_name(&other)))),
            None if fields.contains_key("role") => "text".to_owned(),
            None => return Err(wrong("`type` is missing: one of text, data, input, state, tool, plan, error")),
        };
        let message = match type_.as_str() {
            "text" => Message::Text(text(&mut fields)?),
            "data" | "input" | "state" | "error" => Message::Data(Box::new(data(&type_, &mut fields)?)),
            "tool" => Message::Tool(Box::new(tool(&mut fields)?)),
            "plan" => Message::Plan(plan(&mut fields)?),
            other => {
                return Err(wrong(format!(
                    "unknown type `{other}`: use text, data, input, state, tool, plan or error"
                )));
            }
        };
        Ok(Parsed { message, ignored: fields.into_iter().map(|(name, _)| name).collect() })
    }

    /// The canonical form.
    pub fn to_json(&self) -> Value {
        match self {
            Message::Text(text) => json!({"type": "text", "role": text.role.name(), "text": text.text}),
            Message::Data(data) => data.to_json(),
            Message::Tool(tools) => json!({"type": "tool", "tool": tools}),
            Message::Plan(plan) => json!({"type": "plan", "mode": plan.mode.name(), "plan": plan.calls}),
        }
    }
}

fn wrong(text: impl Into<String>) -> Fault {
    Fault::new(Rule::Ctx3, text)
}

fn text(fields: &mut Map<String, Value>) -> Result<Text, Fault> {
    let role = take_string(fields, "role")?.ok_or_else(|| wrong("`role` is missing"))?;
    let Some(&(_, role)) = Role::ALL.iter().find(|(name, _)| *name == role) else {
        return Err(wrong(format!("unknown role `{role}`: use system, user or assistant")));
    };
    let text = take_string(fields, "text")?.map_or_else(|| take_string(fields, "content"), |text| Ok(Some(text)))?;
    Ok(Text { role, text: text.ok_or_else(|| wrong("`text` is missing"))? })
}

fn data(type_: &str, fields: &mut Map<String, Value>) -> Result<Data, Fault> {
    let kind = match take_string(fields, "kind")? {
        Some(kind) if type_ != "data" && kind != type_ => {
            return Err(wrong(format!("a message of type `{type_}` cannot be of kind `{kind}`: use type `data`")));
        }
        Some(kind) if kind.is_empty() => return Err(wrong("`kind` is empty")),
        Some(kind) => kind,
        None => type_.to_owned(),
    };
    let instance = take_string(fields, "_instance")?;
    if instance.as_deref() == Some("") {
        return Err(wrong("`_instance` is empty"));
    }
    let method = take_string(fields, "_outputMethod")?;
    let method = method.map(|name| Method::parse(&name).ok_or_else(|| unknown_method(&name))).transpose()?;
    let description = take_string(fields, "description")?;
    let schema = match fields.shift_remove("schema") {
        Some(Value::Null) | None => None,
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => Some(Box::new(schema)),
        Some(other) => return Err(wrong(format!("`schema` is a JSON Schema, not {}", type_name(&other)))),
    };
    let call = fields.shift_remove("_call").filter(|call| !call.is_null());
    let own_path = take_string(fields, "_outputPath")?;
    let date = take_string(fields, "_date")?;

    let mut meta = Map::new();
    for name in fields.keys().filter(|name| name.starts_with('_')).cloned().collect::<Vec<_>>() {
        // Unknown meta fields remain in `fields` and are reported as ignored.
        if META.contains(&name.as_str()) {
            meta.extend(fields.shift_remove(&name).map(|value| (name, value)));
        }
    }
    let mut content = payload(type_, fields)?;
    let output = match call {
        Some(call) => {
            let mut output = output(&kind, call.into(), own_path, date, &content)?;
            // The same form as for a result of this session, so that both are equal.
            output.bare = kind != "error" && output.path.spelled_alone_in(&content).is_some();
            if output.bare {
                content = output.path.within(content);
            }
            Some(output)
        }
        None => {
            meta.extend(own_path.map(|path| ("_outputPath".to_owned(), path.into())));
            meta.extend(date.map(|date| ("_date".to_owned(), date.into())));
            None
        }
    };
    let origins = meta.get("_labels").map(Origins::from_json);
    let parts =
        meta.shift_remove("_partLabels").as_ref().and_then(Value::as_object).map(|parts| {
            Arc::new(parts.iter().map(|(path, labels)| (path.clone(), Origins::from_json(labels))).collect())
        });
    let meta = (!meta.is_empty()).then(|| Box::new(meta));
    Ok(Data { kind: kind.into(), instance, content, schema, description, method, output, origins, parts, meta })
}

/// `data`; for `input` and `state` also the field with the name of the type, or all remaining fields.
fn payload(type_: &str, fields: &mut Map<String, Value>) -> Result<Value, Fault> {
    if let Some(data) = fields.shift_remove("data") {
        return Ok(data);
    }
    if !matches!(type_, "input" | "state") {
        return Err(wrong("`data` is missing"));
    }
    if let Some(data) = fields.shift_remove(type_) {
        return Ok(data);
    }
    let (meta, rest) = std::mem::take(fields).into_iter().partition(|(name, _)| name.starts_with('_'));
    *fields = meta;
    Ok(Value::Object(rest))
}

fn output(
    kind: &str,
    call: CallJson,
    own: Option<String>,
    date: Option<String>,
    data: &Value,
) -> Result<ResultOf, Fault> {
    let text = own.or_else(|| call.output_path().map(str::to_owned));
    let root = Path::root(kind);
    let path = match text {
        None => Arc::new(root),
        // The canonical form names the root even for a kind that no expression can name.
        Some(text) if text == root.to_string() => Arc::new(root),
        Some(text) => {
            let expr = Expr::parse(&text).map_err(|fault| fault.at("_outputPath"))?;
            let found = expr.refs().into_iter().find(|path| path.kind == kind && path.spelled_in(data).is_some());
            let Some(path) = found else {
                let text = format!("`data` does not spell `{text}` in the kind `{kind}`");
                return Err(Fault::new(Rule::Ctx4, text));
            };
            path.clone()
        }
    };
    Ok(ResultOf { call, path, date: date.map(Arc::from), bare: false })
}

fn tool(fields: &mut Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    match fields.shift_remove("tool") {
        Some(Value::Object(tools)) => match tools.iter().find(|(_, tool)| !tool.is_object()) {
            Some((name, tool)) => {
                Err(wrong(format!("a tool is a JSON Schema object, not {}", type_name(tool))).at(name))
            }
            None => Ok(tools),
        },
        Some(other) => Err(wrong(format!("`tool` maps names to schemas; here it is {}", type_name(&other)))),
        None => Err(wrong("`tool` is missing")),
    }
}

fn plan(fields: &mut Map<String, Value>) -> Result<Plan, Fault> {
    let mode = match take_string(fields, "mode")?.as_deref() {
        None | Some("eager") => PlanMode::Eager,
        Some("lazy") => PlanMode::Lazy,
        Some(other) => return Err(wrong(format!("unknown mode `{other}`: use eager or lazy"))),
    };
    let calls = match fields.shift_remove("plan") {
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(wrong(format!("`plan` is an array of calls, not {}", type_name(&other)))),
        None => return Err(wrong("`plan` is missing")),
    };
    if let Some((index, call)) = calls.iter().enumerate().find(|(_, call)| !call.is_object()) {
        return Err(wrong(format!("a call is an object, not {}", type_name(call))).in_call(index));
    }
    Ok(Plan { calls: calls.into_iter().map(Into::into).collect(), mode })
}

/// The fault for an unknown method.
pub(crate) fn unknown_method(name: &str) -> Fault {
    wrong(format!("unknown method `{name}`: use set, merge, assign, push or concat")).at("_outputMethod")
}

/// Takes a field that is a string or absent; null counts as absent.
fn take_string(fields: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Fault> {
    match fields.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(format!("`{name}` is a string, not {}", type_name(&other)))),
    }
}

/// A member of the canonical form of data.
pub enum Member<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// Any value.
    Value(Cow<'a, Value>),
    /// Labels: a list of strings.
    Labels(&'a Origins),
    /// Nested objects along these segments, with this value at the end.
    Nested(&'a [Segment], &'a Value),
}

impl Member<'_> {
    fn into_json(self) -> Value {
        match self {
            Member::Text(text) => text.into_owned().into(),
            Member::Value(value) => value.into_owned(),
            Member::Labels(origins) => origins.to_json(),
            Member::Nested(segments, value) => nested(segments, value.clone()),
        }
    }
}

impl Data {
    /// Visits the members of the canonical form in their order. Each name occurs once.
    pub fn each_member<'a>(&'a self, visit: &mut impl FnMut(&'a str, Member<'a>)) {
        let text = |text: &'a str| Member::Text(Cow::Borrowed(text));
        let value = |value: &'a Value| Member::Value(Cow::Borrowed(value));
        let own_type = matches!(self.kind.as_str(), "input" | "state" | "error");
        visit("type", text(if own_type { &self.kind } else { "data" }));
        if !own_type && self.kind != "data" {
            visit("kind", text(&self.kind));
        }
        let mut put = |name: &'a str, member: Option<Member<'a>>| {
            if let Some(member) = member {
                visit(name, member);
            }
        };
        put("description", self.description.as_deref().map(text));
        put("schema", self.schema.as_deref().map(value));
        match &self.output {
            Some(output) if output.bare => put("data", Some(Member::Nested(&output.path.segments, &self.content))),
            _ => put("data", Some(value(&self.content))),
        }
        if let Some(output) = &self.output {
            put("_call", Some(value(&output.call)));
            put("_outputPath", Some(Member::Text(output.path.to_string().into())));
            put("_date", output.date.as_deref().map(text));
        }
        // CALL-8: a result always has a method, plain data only if it was given.
        let method = self.method.or(self.output.as_ref().map(|_| Method::Set));
        put("_outputMethod", method.map(|method| text(method.name())));
        put("_instance", self.instance.as_deref().map(text));
        for (name, other) in self.meta.iter().flat_map(|meta| meta.iter()).filter(|(name, _)| *name != "_labels") {
            put(name, Some(value(other)));
        }
        let labels = self.origins.as_ref().map(Member::Labels);
        put("_labels", labels.or_else(|| self.meta.as_ref()?.get("_labels").map(value)));
        let part = |(path, of): &(String, Origins)| (path.clone(), of.to_json());
        let parts = self.parts.as_ref().map(|parts| Value::Object(parts.iter().map(part).collect()));
        put("_partLabels", parts.map(|parts| Member::Value(Cow::Owned(parts))));
    }

    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        self.each_member(&mut |name, member| drop(fields.insert(name.to_owned(), member.into_json())));
        Value::Object(fields)
    }
}

/// The limit is for the contents of a message, so its own braces do not count.
fn check_depth(levels: usize) -> Result<(), Fault> {
    if levels > MAX_DEPTH + 1 {
        return Err(wrong(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    Ok(())
}

/// Levels of arrays and objects in a value.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Levels of arrays and objects in JSON text, without parsing it.
pub fn depth_of_text(text: impl AsRef<[u8]>) -> usize {
    let (mut level, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text.as_ref() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                level += 1;
                deepest = deepest.max(level);
            }
            b'}' | b']' if !in_string => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_message_is_equal_whether_created_or_parsed() {
        let Expr::Ref(path) = Expr::parse("†state.deal.rows[0]").unwrap() else { unreachable!() };
        let call = CallJson::from(json!({"_tool": "t"}));
        let mut data = Data::result(call, path, None, json!({"sum": 5}));
        data.method = Some(Method::Set);
        assert_eq!(*data.data(), json!({"deal": {"rows": {"0": {"sum": 5}}}}));
        let made = Message::Data(Box::new(data));
        assert_eq!(Message::from_value(made.to_json()).unwrap().message, made);
    }

    #[test]
    fn fields_beside_the_output_path_are_preserved() {
        let read = json!({"type": "state", "data": {"a": 1, "b": 2}, "_call": {"_tool": "t"}, "_outputPath": "†state.a",
            "_outputMethod": "set"});
        assert_eq!(Message::from_value(read.clone()).unwrap().message.to_json(), read);
    }
}
