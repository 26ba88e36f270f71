//! Turns literals from the user's messages into inputs of a plan (PLAN-12).

use obelus_kernel::CallJson;
use obelus_kernel::{Context, Expr, Message, Path, Role, type_name};
use serde_json::{Map, Value, json};

/// The inputs of a plan: the session's own, and those made from literals.
pub(super) struct Inputs {
    /// The user's messages, in lower case.
    said: Vec<String>,
    data: Map<String, Value>,
    schema: Map<String, Value>,
}

impl Inputs {
    pub(super) fn of(context: &Context) -> Self {
        let said = context.messages().iter().filter_map(|message| match message {
            Message::Text(text) if text.role == Role::User => Some(text.text.to_lowercase()),
            _ => None,
        });
        let data = context.read(&Path::root("input"), None).and_then(|data| data.as_object().cloned());
        let schema = context.view("input").and_then(|view| view.schema(None)?.as_object().cloned());
        Self { said: said.collect(), data: data.unwrap_or_default(), schema: schema.unwrap_or_default() }
    }

    /// The call with references instead of the user's literals.
    pub(super) fn lift_call(&mut self, call: &CallJson, context: &Context) -> Value {
        let tool = call.tool().and_then(|name| context.tool(name));
        let mut lifted = Value::clone(call);
        for (name, value) in lifted.as_object_mut().into_iter().flatten().filter(|(name, _)| !name.starts_with('_')) {
            let Some(schema) = tool.and_then(|tool| tool.param(name)) else { continue };
            *value = self.lift(value, name, schema);
        }
        lifted
    }

    fn lift(&mut self, value: &Value, name: &str, schema: &Value) -> Value {
        match value {
            Value::String(text) if text.contains('†') || !self.is_said(text) => value.clone(),
            Value::Number(number) if !self.is_said(&number.to_string()) => value.clone(),
            Value::String(_) | Value::Number(_) if schema.get("const").is_none() => self.reference(name, value, schema),
            Value::Array(items) => {
                let of_items = schema.get("items").unwrap_or(&Value::Null);
                items.iter().map(|item| self.lift(item, name, of_items)).collect()
            }
            Value::Object(fields) => {
                let of = |name: &str| schema.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null);
                fields.iter().map(|(name, value)| (name.clone(), self.lift(value, name, of(name)))).collect()
            }
            other => other.clone(),
        }
    }

    /// Whether the user's messages contain a text as whole words.
    fn is_said(&self, text: &str) -> bool {
        let text = text.trim().to_lowercase();
        let is_apart = |letter: Option<char>| !letter.is_some_and(char::is_alphanumeric);
        let stands_in = |said: &String| {
            let mut places = said.match_indices(&text);
            places.any(|(start, found)| {
                is_apart(said[..start].chars().next_back()) && is_apart(said[start + found.len()..].chars().next())
            })
        };
        !text.is_empty() && self.said.iter().any(stands_in)
    }

    /// A reference to the input with this value; a new one is named after the parameter.
    fn reference(&mut self, param: &str, value: &Value, schema: &Value) -> Value {
        let plain: String = param.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let is_name = Expr::parse(&format!("†input.{plain}")).is_ok();
        let base = if is_name { plain } else { "value".to_owned() };
        let names = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base}{number}")));
        let is_free = |name: &String| self.data.get(name).is_none_or(|known| known == value);
        let Some(name) = names.into_iter().find(is_free) else { return value.clone() };
        if self.data.insert(name.clone(), value.clone()).is_none() {
            self.declare(&name, value, schema);
        }
        format!("†input.{name}").into()
    }

    fn declare(&mut self, name: &str, value: &Value, schema: &Value) {
        let kind = schema.get("type").cloned();
        let kind = kind.unwrap_or_else(|| type_name(value).trim_start_matches("a ").into());
        self.schema.entry("type").or_insert_with(|| "object".into());
        if let Value::Object(properties) = self.schema.entry("properties").or_insert_with(|| json!({})) {
            properties.insert(name.to_owned(), json!({"type": kind}));
        }
        if let Value::Array(required) = self.schema.entry("required").or_insert_with(|| json!([])) {
            required.push(name.into());
        }
    }

    /// The message with the input: the session's values are examples.
    pub(super) fn message(self) -> Option<Value> {
        if self.data.is_empty() && self.schema.is_empty() {
            return None;
        }
        let mut message = json!({"type": "input", "data": self.data});
        if !self.schema.is_empty() {
            message["schema"] = Value::Object(self.schema);
        }
        Some(message)
    }
}
