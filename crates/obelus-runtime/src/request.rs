//! A request as a file: a context, the schema of the result, and bindings of activities.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use obelus_kernel::session::Settings;
use obelus_kernel::text::without_position;
use obelus_kernel::{Context, Fault, closest};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::places::{Places, from_yaml, said_by_yaml, with_nearest};

/// The fields of a request.
const FIELDS: [&str; 6] = ["context", "schema", "activities", "model", "settings", "solution"];

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its context.
    pub context: Context,
    /// The schema of its result.
    pub schema: Option<Value>,
    /// Activities bound by the file itself, by name.
    pub activities: Map<String, Value>,
    /// Its model: a name, or an object with options.
    pub model: Option<Value>,
    /// Settings, as in an agent's file.
    pub settings: Option<Value>,
    /// Unknown fields.
    pub ignored: Vec<String>,
}

/// Why a file is not a request.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// It is neither JSON nor YAML.
    #[error("{}{}: {words}", path.display(), place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line and column, where the parser knows them.
        place: Option<(u64, u64)>,
        /// What is wrong.
        words: String,
    },
    /// It is not a request.
    #[error("{0}: {1}")]
    Shape(PathBuf, String),
    /// Its context breaks a rule.
    #[error("{}{}: {fault}", path.display(), place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default())]
    Context {
        /// The file.
        path: PathBuf,
        /// Line and column, where they are known.
        place: Option<(u64, u64)>,
        /// What is wrong.
        fault: Box<Fault>,
    },
}

/// Reads a JSON or YAML document; an error names the position.
pub fn read_document(path: &Path, text: &str) -> Result<Value, RequestError> {
    if text.trim().is_empty() {
        return Err(RequestError::Shape(path.to_owned(), "it is empty; JSON or YAML is expected".to_owned()));
    }
    if is_yaml(path, text) {
        from_yaml(text).map_err(|error| {
            let (place, words) = said_by_yaml(&error, text);
            RequestError::Syntax { path: path.to_owned(), place, words: format!("not YAML: {words}") }
        })
    } else {
        serde_json::from_str(text).map_err(|error| not_json(path, &error))
    }
}

fn not_json(path: &Path, error: &serde_json::Error) -> RequestError {
    let words = error.to_string();
    let words = without_position(&words);
    // An unexpected end is reported at column 0.
    let place = Some((error.line() as u64, error.column().max(1) as u64));
    RequestError::Syntax { path: path.to_owned(), place, words: format!("not JSON: {words}") }
}

/// By its extension, or by its first character for other sources.
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
        Self::read(path, text).map_err(|error| match error {
            RequestError::Context { path, fault, .. } => {
                let place = place_of(&Places::of(text), &fault);
                RequestError::Context { path, place, fault }
            }
            other => other,
        })
    }

    fn read(path: &Path, text: &str) -> Result<Self, RequestError> {
        let shape = |error: String| RequestError::Shape(path.to_owned(), error);
        let (context, mut fields) = match text.trim_start().chars().next() {
            Some('{') if !is_yaml(path, text) => from_json_object(path, text)?,
            Some('[') if !is_yaml(path, text) => {
                let context = Context::from_json(text);
                (context.map_err(|fault| in_context(path, fault))?, Map::new())
            }
            _ => from_document(path, text, read_document(path, text)?)?,
        };
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
            Some(model @ (Value::String(_) | Value::Object(_))) => Some(model),
            Some(other) => {
                let kind = obelus_kernel::type_name(&other);
                return Err(shape(format!("`model` is a string, or an object such as {{openai: NAME}}, not {kind}")));
            }
        };
        let settings = fields.shift_remove("settings").filter(|settings| !settings.is_null());
        if let Some(settings) = settings.as_ref().filter(|settings| !settings.is_object()) {
            return Err(shape(format!("`settings` is an object, not {}", obelus_kernel::type_name(settings))));
        }
        if settings.as_ref().is_some_and(|settings| settings.get("activities").is_some()) {
            return Err(shape("`activities` is a field beside `settings`, not in it".to_owned()));
        }
        if let Some(settings) = &settings
            && let Err(error) = serde_json::from_value::<Settings>(settings.clone())
        {
            return Err(wrong_settings(path, text, &error));
        }
        fields.shift_remove("solution");
        let ignored: Vec<String> = fields.into_iter().map(|(name, _)| name).collect();
        ignored.iter().try_for_each(|field| must_be_meant(path, text, field))?;
        Ok(Self { context, schema, activities, model, settings, ignored })
    }
}

/// The context of a JSON request, and its other fields. Messages are kept as text, so that one nested too deeply is
/// named before it is parsed.
fn from_json_object(path: &Path, text: &str) -> Result<(Context, Map<String, Value>), RequestError> {
    let mut raw: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(|error| not_json(path, &error))?;
    let context = match raw.remove("context") {
        None => return Err(no_context(path, text, raw.keys())),
        Some(messages) if messages.get().starts_with('[') => Context::from_json(messages.get()),
        Some(other) => Context::from_value(serde_json::from_str(other.get()).unwrap_or_default()),
    };
    let context = context.map_err(|fault| in_context(path, fault))?;
    let read = |(name, raw): (String, &RawValue)| match serde_json::from_str(raw.get()) {
        Ok(value) => Ok((name, value)),
        // It was valid JSON as part of the document, so only its depth can be at fault.
        Err(_) => Err(RequestError::Shape(path.to_owned(), format!("`{name}` is nested too deep"))),
    };
    Ok((context, raw.into_iter().map(read).collect::<Result<_, _>>()?))
}

fn from_document(path: &Path, text: &str, document: Value) -> Result<(Context, Map<String, Value>), RequestError> {
    let (messages, fields) = match document {
        Value::Object(mut fields) => match fields.shift_remove("context") {
            Some(messages) => (messages, fields),
            None => return Err(no_context(path, text, fields.keys())),
        },
        Value::Array(messages) => (Value::Array(messages), Map::new()),
        other => {
            let words = format!("a request is an object with a `context`, not {}", obelus_kernel::type_name(&other));
            return Err(RequestError::Shape(path.to_owned(), words));
        }
    };
    let context = Context::from_value(messages).map_err(|fault| in_context(path, fault))?;
    Ok((context, fields))
}

/// The settings are parsed again, by the parser that knows positions.
fn wrong_settings(path: &Path, text: &str, error: &serde_json::Error) -> RequestError {
    #[derive(serde::Deserialize)]
    struct OnlySettings {
        #[serde(rename = "settings")]
        _settings: Settings,
    }
    let place = from_yaml::<OnlySettings>(text).err().and_then(|error| said_by_yaml(&error, text).0);
    RequestError::Syntax {
        path: path.to_owned(),
        place,
        words: format!("settings: {}", with_nearest(&error.to_string())),
    }
}

fn in_context(path: &Path, fault: Fault) -> RequestError {
    RequestError::Context { path: path.to_owned(), place: None, fault: Box::new(fault) }
}

/// The position of a context's error in the request's file.
pub fn place_of(places: &Places, fault: &Fault) -> Option<(u64, u64)> {
    let context = if places.is_list("") { "" } else { "context" };
    let message = fault.message.map(|index| format!("[{index}]")).unwrap_or_default();
    let call = fault.call.map(|index| format!(".plan[{index}]")).unwrap_or_default();
    places.find(&format!("{context}{message}{call}.{}", fault.field))
}

fn no_context<'a>(path: &Path, text: &str, mut fields: impl Iterator<Item = &'a String>) -> RequestError {
    let near = fields.find(|field| closest(field, &["context"]).is_some());
    let hint = near.map(|near| format!("; did you mean `context` by `{near}`?")).unwrap_or_default();
    let place = near.and_then(|near| Places::of(text).find_key(near));
    let words = format!("the request has no `context`, an array of messages{hint}");
    RequestError::Syntax { path: path.to_owned(), place, words }
}

/// Refuses a field whose name is similar to a known one: otherwise bindings or settings would be lost silently.
fn must_be_meant(path: &Path, text: &str, field: &str) -> Result<(), RequestError> {
    let Some(near) = closest(field, &FIELDS) else { return Ok(()) };
    let words = format!("a request has no field `{field}`; did you mean `{near}`?");
    Err(RequestError::Syntax { path: path.to_owned(), place: Places::of(text).find_key(field), words })
}
