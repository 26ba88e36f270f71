//! A request as a file: a context, the schema of the result, and what its activities are.

use std::path::{Path, PathBuf};

use obelus_kernel::{Context, Fault};
use serde_json::{Map, Value};

/// A request as it was read.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the agent is given.
    pub context: Context,
    /// What its result must look like.
    pub schema: Option<Value>,
    /// Activities bound by the file itself, by name.
    pub activities: Map<String, Value>,
    /// The model that the file asks for.
    pub model: Option<String>,
    /// Settings, as in an agent's file.
    pub settings: Option<Value>,
    /// Fields that nothing reads.
    pub ignored: Vec<String>,
}

/// Why a file is no request.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
    /// It is neither JSON nor YAML.
    #[error("{0}: {1}")]
    Syntax(PathBuf, String),
    /// It is not a request.
    #[error("{0}: {1}")]
    Shape(PathBuf, String),
    /// Its context breaks a rule.
    #[error("{0}: {1}")]
    Context(PathBuf, Fault),
}

/// Reads a JSON or YAML document; the place at fault is part of the message.
pub fn read_document(path: &Path, text: &str) -> Result<Value, RequestError> {
    let syntax = |error: String| RequestError::Syntax(path.to_owned(), error);
    if is_yaml(path, text) {
        serde_saphyr::from_str(text).map_err(|error| syntax(error.to_string()))
    } else {
        serde_json::from_str(text).map_err(|error| syntax(error.to_string()))
    }
}

/// By its ending, or, for what comes from elsewhere, by its first letter.
fn is_yaml(path: &Path, text: &str) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("yaml" | "yml") => true,
        Some("json") => false,
        _ => !text.trim_start().starts_with(['{', '[']),
    }
}

impl Request {
    /// Reads a request from the text of a file, or a bare array of messages as its context.
    pub fn parse(path: &Path, text: &str) -> Result<Self, RequestError> {
        let shape = |error: String| RequestError::Shape(path.to_owned(), error);
        let mut fields = match read_document(path, text)? {
            Value::Object(fields) => fields,
            Value::Array(messages) => Map::from_iter([("context".to_owned(), Value::Array(messages))]),
            other => {
                return Err(shape(format!(
                    "a request is an object with a `context`, not {}",
                    obelus_kernel::type_name(&other)
                )));
            }
        };
        let context = fields
            .shift_remove("context")
            .ok_or_else(|| shape("the request has no `context`, an array of messages".to_owned()))?;
        let context = Context::from_value(context).map_err(|fault| RequestError::Context(path.to_owned(), fault))?;
        let schema = fields.shift_remove("schema").filter(|schema| !schema.is_null());
        if let Some(schema) = schema.as_ref().filter(|schema| !schema.is_object() && !schema.is_boolean()) {
            return Err(shape(format!("`schema` is a JSON Schema, not {}", obelus_kernel::type_name(schema))));
        }
        let activities = match fields.shift_remove("activities") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(bound)) => bound,
            Some(other) => {
                return Err(shape(format!(
                    "`activities` maps names to what they do; here it is {}",
                    obelus_kernel::type_name(&other)
                )));
            }
        };
        let model = match fields.shift_remove("model") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => return Err(shape(format!("`model` is a string, not {}", obelus_kernel::type_name(&other)))),
        };
        let settings = fields.shift_remove("settings").filter(|settings| !settings.is_null());
        fields.shift_remove("solution");
        let ignored = fields.into_iter().map(|(name, _)| name).collect();
        Ok(Self { context, schema, activities, model, settings, ignored })
    }
}
