//! A call as JSON, whether it is proposed, frozen, or part of a message.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::control_field::ControlField;

/// A call as JSON: as it was proposed, or with its references resolved. Its parameters are read by their names, its
/// meta-properties by methods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallJson(Arc<Value>);

impl CallJson {
    /// A call without parameters.
    pub fn of_tool(name: impl Into<Value>) -> Self {
        json!({"_tool": name.into()}).into()
    }

    /// The author of a person's edit of the state. A real tool may have the same name.
    pub fn of_user() -> Self {
        Self::of_tool("user")
    }

    /// The name of the tool.
    pub fn tool(&self) -> Option<&str> {
        self.text("_tool")
    }

    /// The name of the tool of a call in other JSON, such as an error message.
    pub fn tool_of(call: &Value) -> Option<&str> {
        call.get("_tool")?.as_str()
    }

    /// The name of the tool; empty if there is none.
    pub fn tool_name(&self) -> &str {
        self.tool().unwrap_or_default()
    }

    /// The instance that it runs for.
    pub fn instance(&self) -> Option<&str> {
        self.text("_instance")
    }

    /// The path of its result, or several with `||`.
    pub fn output_path(&self) -> Option<&str> {
        self.text("_outputPath")
    }

    /// How the result is combined with the value at its path.
    pub fn output_method(&self) -> Option<&str> {
        self.text("_outputMethod")
    }

    /// The parts of the context that its executor sees.
    pub fn scopes(&self) -> Option<&Value> {
        self.field("_scopes")
    }

    /// The delegate that it names.
    pub fn delegate(&self) -> Option<&str> {
        self.text("_delegate")
    }

    /// The activity that it names.
    pub fn activity(&self) -> Option<&str> {
        self.text("_activity")
    }

    /// Sets the path of its result.
    pub fn set_output_path(&mut self, path: &str) {
        self.make_mut()["_outputPath"] = path.into();
    }

    /// Makes the call ask for a confirmation.
    pub fn ask_confirmation(&mut self) {
        self.make_mut()[ControlField::RequiresConfirmation.name()] = true.into();
    }

    /// The same call for an instance.
    #[must_use]
    pub fn for_instance(&self, instance: Option<&str>) -> Self {
        let mut call = self.clone();
        if let Some(name) = instance.filter(|name| self.instance() != Some(name) && self.is_object()) {
            call.make_mut()["_instance"] = name.into();
        }
        call
    }

    /// Whether a field of this name says what is done: the tool, the instance and the parameters.
    pub fn is_of_action(name: &str) -> bool {
        !name.starts_with('_') || matches!(name, "_tool" | "_instance")
    }

    /// A field. With few fields comparing is cheaper than hashing.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.as_object()?.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// The JSON, to change it: a copy if the call is shared.
    pub fn make_mut(&mut self) -> &mut Value {
        Arc::make_mut(&mut self.0)
    }

    /// Whether both are one value in memory.
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.field(name)?.as_str()
    }
}

impl Deref for CallJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl PartialEq<Value> for CallJson {
    fn eq(&self, other: &Value) -> bool {
        *self.0 == *other
    }
}

impl fmt::Display for CallJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Value> for CallJson {
    fn from(call: Value) -> Self {
        Self(Arc::new(call))
    }
}

impl From<Map<String, Value>> for CallJson {
    fn from(fields: Map<String, Value>) -> Self {
        Value::Object(fields).into()
    }
}
