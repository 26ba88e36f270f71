//! One step of ACTION, and its conversion to a call.

use serde_json::{Map, Value};

use crate::call_json::CallJson;
use crate::control_field::ControlField;
use crate::visible::visible;
use crate::wording::{closest, short, type_name};

/// Meta-properties that a step may have.
const METAS: [&str; 5] = ["_outputPath", "_outputMethod", "_instance", "_scopes", "_reasoningForCall"];

/// One step of ACTION.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The method: the name of a tool.
    pub method: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// Other fields: `comment`, `http_method`, `requires_confirmation`, …, and meta-properties.
    pub beside: Map<String, Value>,
}

impl Step {
    /// Parses a step. The caller adds the position to the error.
    pub(super) fn read(step: Value) -> Result<Self, String> {
        let Value::Object(fields) = step else {
            return Err(format!("a step is an object with `method` and `params`, not {}", type_name(&step)));
        };
        let mut method = None;
        let mut step = Self::default();
        for (name, value) in fields {
            match name.as_str() {
                "method" => method = Some(value),
                "params" => match value {
                    Value::Object(params) => step.params = params,
                    Value::Null => {}
                    other => return Err(format!("`params` is an object, not {}", type_name(&other))),
                },
                _ => {
                    check_beside(&name, &value)?;
                    if !value.is_null() {
                        step.beside.insert(name, value);
                    }
                }
            }
        }
        step.method = match method {
            Some(Value::String(method)) if !method.trim().is_empty() => method,
            Some(Value::String(_)) => return Err("`method` is empty".to_owned()),
            Some(other) => return Err(format!("`method` is a string, not {}", type_name(&other))),
            None => return Err("`method` is missing: it names what is to be called".to_owned()),
        };
        for name in step.params.keys() {
            if name.starts_with('_') {
                let name = visible(name);
                return Err(format!("`params.{name}`: names that begin with `_` are no parameters"));
            }
            let controls = ControlField::named(name).is_some_and(|field| field != ControlField::Comment);
            if controls || step.beside.contains_key(name) {
                return Err(format!("`{name}` stands beside `params`, not inside"));
            }
        }
        Ok(step)
    }

    /// Parses a single step, as in a state file.
    pub fn from_json(step: &Value) -> Result<Self, String> {
        let parsed = super::json::parse(&step.to_string(), 0).map_err(|error| error.message)?;
        Self::read(parsed.value)
    }

    /// Converts the step to a call, in which parameters and other fields are on one level.
    pub fn into_call(self) -> CallJson {
        let mut call = Map::with_capacity(1 + self.params.len() + self.beside.len());
        call.insert("_tool".to_owned(), self.method.into());
        call.extend(self.params);
        call.extend(self.beside);
        call.into()
    }

    /// Converts a call to a step. `is_param` returns whether a control field is a parameter of the tool.
    pub fn from_call(call: &CallJson, is_param: impl Fn(&str) -> bool) -> Self {
        let mut step = Self::default();
        for (name, value) in call.as_object().into_iter().flatten() {
            match name.as_str() {
                "_tool" => step.method = value.as_str().unwrap_or_default().to_owned(),
                field if METAS.contains(&field) || (ControlField::named(field).is_some() && !is_param(field)) => {
                    step.beside.insert(name.clone(), value.clone());
                }
                other_meta if other_meta.starts_with('_') => {}
                _ => {
                    step.params.insert(name.clone(), value.clone());
                }
            }
        }
        step
    }

    /// The JSON of the step in ACTION.
    pub fn to_json(&self) -> Value {
        let mut fields = Map::with_capacity(2 + self.beside.len());
        fields.insert("method".to_owned(), self.method.as_str().into());
        fields.insert("params".to_owned(), self.params.clone().into());
        fields.extend(self.beside.clone());
        Value::Object(fields)
    }
}

/// Checks the name and value of a field beside the parameters.
fn check_beside(name: &str, value: &Value) -> Result<(), String> {
    let (fits, is) = match ControlField::named(name) {
        Some(ControlField::RequiresConfirmation | ControlField::Confirmed) => (value.is_boolean(), "true or false"),
        Some(ControlField::HttpMethod) => {
            let is_known = |written: &str| ["GET", "POST"].iter().any(|known| written.eq_ignore_ascii_case(known));
            (value.as_str().is_some_and(is_known), "GET or POST")
        }
        Some(ControlField::ConfirmationDecision) => {
            (matches!(value.as_str(), Some("approve" | "deny")), "`approve` or `deny`")
        }
        Some(ControlField::Comment | ControlField::ConfirmationReason) => (value.is_string(), "a string"),
        None if name == "_scopes" => (value.is_array(), "an array"),
        None if METAS.contains(&name) => (value.is_string(), "a string"),
        None => return Err(unknown(name)),
    };
    if fits || value.is_null() {
        Ok(())
    } else {
        Err(format!("`{name}` is {is}, not {}", visible(&short(&value.to_string()))))
    }
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> =
        ["method", "params"].into_iter().chain(ControlField::NAMES.iter().copied()).chain(METAS).collect();
    let hint = match closest(name, &known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("parameters stand in `params`; beside it may stand {}", ControlField::NAMES.join(", ")),
    };
    format!("a step has no `{}`; {hint}", visible(&short(name)))
}
