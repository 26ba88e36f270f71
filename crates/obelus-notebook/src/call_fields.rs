//! The fields that every call has as JSON, whether it is proposed, frozen, or part of a message.

use serde_json::{Map, Value};

/// Reads the fields of a call as JSON.
pub trait CallFields {
    /// A field with a text.
    fn text(&self, name: &str) -> Option<&str>;

    /// The name of the tool.
    fn tool(&self) -> Option<&str> {
        self.text("_tool")
    }

    /// The name of the tool; empty if there is none.
    fn tool_name(&self) -> &str {
        self.tool().unwrap_or_default()
    }

    /// The instance that it runs for.
    fn instance(&self) -> Option<&str> {
        self.text("_instance")
    }

    /// The path of its result, or several with `||`.
    fn output_path(&self) -> Option<&str> {
        self.text("_outputPath")
    }
}

impl CallFields for Value {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }
}

impl CallFields for Map<String, Value> {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }
}
