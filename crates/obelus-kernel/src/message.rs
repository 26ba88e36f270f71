//! Messages: what a context is made of, and the forms in which they are accepted.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::names::Name;
use crate::origin::{Origin, Origins};
use crate::path::{MAX_DEPTH, Path, Segment};
use crate::wording::type_name;

/// One entry of an agent's memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Words.
    Text(Text),
    /// Structured information of a kind; `input`, `state` and `error` are kinds too.
    Data(Box<Data>),
    /// Capabilities offered to the model: name → schema.
    Tool(Box<Map<String, Value>>),
    /// The strategy committed so far.
    Plan(Plan),
}

/// Words of the author (`system`), the user or the agent (`assistant`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: String,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The agent's author.
    System,
    /// The person.
    User,
    /// The agent.
    Assistant,
}

impl Role {
    const ALL: [(&'static str, Role); 3] =
        [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant)];

    /// The role's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |&(name, _)| name)
    }
}

impl From<Role> for Origin {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Origin::Author,
            Role::User => Origin::User,
            Role::Assistant => Origin::Model,
        }
    }
}

/// Structured, lasting information. Messages of one kind and instance fold into one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The kind; with the instance it is the identity of the object.
    pub kind: Name,
    /// The instance it belongs to; without one it is global.
    pub instance: Option<String>,
    /// The payload, or what is at the path of a result whose `data` does no more than spell that path.
    pub(crate) content: Value,
    /// What the kind should look like; the last one wins.
    pub schema: Option<Box<Value>>,
    /// What the kind means, for the model; the last one wins.
    pub description: Option<String>,
    /// How the payload joins what is there.
    pub method: Option<Method>,
    /// Present on the result of a call.
    pub output: Option<Output>,
    /// Where the data comes from, where that is known.
    pub origins: Option<Origins>,
    /// Parts of what is written that come from elsewhere, by dotted path, upper ones first.
    pub parts: Option<Parts>,
    /// Other meta fields, kept as they came. Few messages have any.
    pub meta: Option<Box<Map<String, Value>>>,
}

/// Dotted paths, and where what lies there comes from. Arrays are looked through; the empty path is the whole.
pub type Parts = Arc<Vec<(String, Origins)>>;

/// What a call's result carries beside its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The call, as it was run.
    pub call: Arc<Value>,
    /// The path this message writes.
    pub path: Arc<Path>,
    /// When, as RFC 3339 in UTC.
    pub date: Option<Arc<str>>,
    /// Whether the message's content is the value alone, so that `data` is made of it and the path when it is asked for.
    pub(crate) bare: bool,
}

/// The calls committed so far, and whether they run as they are written or wait for an approval.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The calls.
    pub calls: Vec<Arc<Value>>,
    /// When they run.
    pub mode: PlanMode,
}

/// When the calls of a plan run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanMode {
    /// Planning is execution.
    #[default]
    Eager,
    /// The plan is made first, and approved as a whole.
    Lazy,
}

impl PlanMode {
    /// The mode's name.
    pub fn name(self) -> &'static str {
        match self {
            PlanMode::Eager => "eager",
            PlanMode::Lazy => "lazy",
        }
    }
}

/// Fields of the engine that the model never sees.
const META: [&str; 8] =
    ["_call", "_date", "_instance", "_labels", "_outputMethod", "_outputPath", "_partLabels", "_reasoningForCall"];

impl Data {
    /// A plain data message of a kind.
    pub fn plain(kind: impl Into<Name>, data: Value) -> Self {
        Self {
            kind: kind.into(),
            instance: None,
            content: data,
            schema: None,
            description: None,
            method: None,
            output: None,
            origins: None,
            parts: None,
            meta: None,
        }
    }

    /// A call's result: this value, written at this path.
    pub fn result(call: Arc<Value>, path: Arc<Path>, date: Option<Arc<str>>, value: Value) -> Self {
        let kind = path.kind.clone();
        Self { output: Some(Output { call, path, date, bare: true }), ..Self::plain(kind, value) }
    }

    /// The payload.
    pub fn data(&self) -> Cow<'_, Value> {
        match &self.output {
            Some(output) if output.bare => Cow::Owned(output.path.spell(self.content.clone())),
            _ => Cow::Borrowed(&self.content),
        }
    }

    /// Where the data comes from: what the message says, and what its kind says whatever the message says.
    pub(crate) fn sources(&self) -> Cow<'_, Origins> {
        let by_kind = match &self.output {
            // The result of a call that was made elsewhere is believed as little as anything.
            Some(output) if self.origins.is_none() => {
                let name = output.call.get("_tool").and_then(Value::as_str).unwrap_or("unknown");
                Origin::Tool { name: name.into(), trusted: false }
            }
            Some(_) => return Cow::Borrowed(self.origins.as_ref().unwrap_or(Origins::NONE)),
            None if self.kind == "input" => Origin::User,
            None => Origin::Author,
        };
        let by_kind = Origins::of(by_kind);
        Cow::Owned(match &self.origins {
            Some(said) => by_kind.joined(said),
            None => by_kind,
        })
    }

    /// Everything it carries, its parts included.
    pub(crate) fn all_sources(&self) -> Origins {
        let parts = self.parts.iter().flat_map(|parts| parts.iter());
        parts.fold(self.sources().into_owned(), |all, (_, of)| all.joined(of))
    }

    /// The one operation this message is: path, method, and the value within `data`.
    pub(crate) fn operation(&self) -> (&[Segment], Method, Option<&Value>) {
        match &self.output {
            // `†error` is the latest one, never a mixture of several.
            _ if self.kind == "error" => (&[], Method::Set, Some(&self.content)),
            Some(output) => {
                let value = if output.bare { Some(&self.content) } else { output.path.spelled_in(&self.content) };
                (&output.path.segments, self.method.unwrap_or(Method::Set), value)
            }
            None => (&[], self.method.unwrap_or(Method::Merge), Some(&self.content)),
        }
    }
}

impl Message {
    /// A text message.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Message::Text(Text { role, text: text.into() })
    }

    /// Reads one message from JSON text. Depth is looked at before the text is parsed, so that hostile
    /// nesting costs neither stack nor memory.
    pub fn from_raw(raw: &RawValue) -> Result<Parsed, Fault> {
        check_depth(depth_of_text(raw.get()))?;
        let value = serde_json::from_str(raw.get()).map_err(|e| Fault::new(Rule::Ctx3, e.to_string()))?;
        Self::from_value(value)
    }

    /// Reads one message, in canonical or short form.
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
            Message::Data(data) => data_to_json(data),
            Message::Tool(tools) => json!({"type": "tool", "tool": tools}),
            Message::Plan(plan) => json!({"type": "plan", "mode": plan.mode.name(), "plan": plan.calls}),
        }
    }
}

/// A message, and the names of fields beside it that nothing reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The message.
    pub message: Message,
    /// Fields that mean nothing; worth a warning, for a misspelt field is silent otherwise.
    pub ignored: Vec<String>,
}

fn wrong(text: impl Into<String>) -> Fault {
    Fault::new(Rule::Ctx3, text)
}

fn text(fields: &mut Map<String, Value>) -> Result<Text, Fault> {
    let role = take_string(fields, "role")?.ok_or_else(|| wrong("`role` is missing"))?;
    let Some(&(_, role)) = Role::ALL.iter().find(|(name, _)| *name == role) else {
        return Err(wrong(format!("unknown role `{role}`: use system, user or assistant")));
    };
    let text = match take_string(fields, "text")? {
        Some(text) => Some(text),
        None => take_string(fields, "content")?,
    };
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
    let method = match take_string(fields, "_outputMethod")? {
        Some(name) => Some(Method::parse(&name).ok_or_else(|| unknown_method(&name))?),
        None => None,
    };
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
        // Misspelt meta fields stay behind and are reported as ignored.
        if META.contains(&name.as_str()) {
            meta.extend(fields.shift_remove(&name).map(|value| (name, value)));
        }
    }
    let mut content = payload(type_, fields)?;
    let output = match call {
        Some(call) => {
            let mut output = output(&kind, call, own_path, date, &content)?;
            // The same message is the same value, whether it was made here or read.
            output.bare = kind != "error" && output.path.spells(&content);
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

/// `data`, else the field named like the type, else, for `input` and `state`, all that remains.
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

fn output(kind: &str, call: Value, own: Option<String>, date: Option<String>, data: &Value) -> Result<Output, Fault> {
    let text = match own {
        Some(path) => Some(path),
        None => call.get("_outputPath").and_then(Value::as_str).map(str::to_owned),
    };
    let root = Path::root(kind);
    let path = match text {
        None => Arc::new(root),
        // The canonical form names the root so, also of a kind whose name no expression can spell.
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
    Ok(Output { call: Arc::new(call), path, date: date.map(Arc::from), bare: false })
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
    Ok(Plan { calls: calls.into_iter().map(Arc::new).collect(), mode })
}

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

fn data_to_json(data: &Data) -> Value {
    let mut fields = Map::new();
    let own_type = matches!(data.kind.as_str(), "input" | "state" | "error");
    fields.insert("type".into(), if own_type { data.kind.as_str() } else { "data" }.into());
    if !own_type && data.kind != "data" {
        fields.insert("kind".into(), data.kind.as_str().into());
    }
    let mut put = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("description", data.description.as_deref().map(Value::from));
    put("schema", data.schema.as_deref().cloned());
    put("data", Some(data.data().into_owned()));
    if let Some(output) = &data.output {
        put("_call", Some((*output.call).clone()));
        put("_outputPath", Some(output.path.to_string().into()));
        put("_date", output.date.as_deref().map(Value::from));
    }
    // A result always says how it was written, as CALL-8 wants; plain data only where it was said.
    let method = data.method.or(data.output.as_ref().map(|_| Method::Set));
    put("_outputMethod", method.map(|method| method.name().into()));
    put("_instance", data.instance.as_deref().map(Value::from));
    for (name, value) in data.meta.iter().flat_map(|meta| meta.iter()).filter(|(name, _)| *name != "_labels") {
        put(name, Some(value.clone()));
    }
    let labels = data.origins.as_ref().map(Origins::to_json);
    put("_labels", labels.or_else(|| data.meta.as_ref()?.get("_labels").cloned()));
    let part = |(path, of): &(String, Origins)| (path.clone(), of.to_json());
    put("_partLabels", data.parts.as_ref().map(|parts| Value::Object(parts.iter().map(part).collect())));
    Value::Object(fields)
}

/// The message's own braces are not counted: the limit is for what it holds.
fn check_depth(levels: usize) -> Result<(), Fault> {
    if levels > MAX_DEPTH + 1 {
        return Err(wrong(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    Ok(())
}

/// Levels of arrays and objects in a value.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Levels of arrays and objects in JSON text, found without parsing it.
pub fn depth_of_text(text: &str) -> usize {
    let (mut level, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
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
    fn a_result_is_the_same_message_whether_it_was_made_here_or_read() {
        let Expr::Ref(path) = Expr::parse("†state.deal.rows[0]").unwrap() else { unreachable!() };
        let call = Arc::new(json!({"_tool": "t"}));
        let mut data = Data::result(call, path, None, json!({"sum": 5}));
        data.method = Some(Method::Set);
        assert_eq!(*data.data(), json!({"deal": {"rows": {"0": {"sum": 5}}}}));
        let made = Message::Data(Box::new(data));
        assert_eq!(Message::from_value(made.to_json()).unwrap().message, made);
    }

    #[test]
    fn what_stands_beside_the_path_of_a_result_is_kept() {
        let read = json!({"type": "state", "data": {"a": 1, "b": 2}, "_call": {"_tool": "t"}, "_outputPath": "†state.a",
            "_outputMethod": "set"});
        assert_eq!(Message::from_value(read.clone()).unwrap().message.to_json(), read);
    }
}
