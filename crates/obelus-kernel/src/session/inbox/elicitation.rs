//! Elicitations: a running call asks a person, such as a server that needs a value.
//!
//! An elicitation becomes a question, whose text names its source. The call keeps waiting; only it gets the answer.
//! When the call ends, its open elicitations are closed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::elicitation_form::fields_of;
use crate::session::Refused;
use crate::session::ids::{CallId, JobRef};
use crate::session::input::Decision;
use crate::session::output::ElicitationAnswer;

/// The call that asks, and its key of the question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::session) struct Elicitation {
    pub(in crate::session) job: JobRef,
    /// The driver's id of the call.
    pub(in crate::session) call: CallId,
    pub(in crate::session) key: String,
}

/// What a call asks.
pub(in crate::session) struct ElicitationRequest {
    pub(in crate::session) key: String,
    pub(in crate::session) words: String,
    pub(in crate::session) schema: Value,
}

/// The limits of requested values, and of bytes of their schema.
const MOST_FIELDS: usize = 50;
const MOST_SCHEMA: usize = 20_000;

/// The call's answer from a decision; refused if it does not fit the schema.
pub(in crate::session) fn check_answer(decision: Decision, schema: &Value) -> Result<ElicitationAnswer, Refused> {
    let value = match decision {
        Decision::Deny { reason } => return Ok(ElicitationAnswer::Declined { reason }),
        Decision::Value { value } => fitted(value, schema),
        // If nothing is to be filled in, approval is the only answer.
        Decision::Approve { only: None } if fields_of(schema).is_none_or(Map::is_empty) => Value::Object(Map::new()),
        _ => {
            let text = "a call asks for a value: answer with a value, or deny it";
            return Err(Refused::new("unfit_answer", text));
        }
    };
    if let Ok(validator) = crate::schema::compile(schema)
        && let Some(breach) = crate::schema::breaches(&validator, &value).into_iter().next()
    {
        return Err(Refused::breach("bad_answer", breach));
    }
    Ok(ElicitationAnswer::Value(value))
}

/// Why a person cannot be asked for an answer with this schema.
pub(in crate::session) fn fault_of_schema(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some(format!("the schema of an answer is an object, not {}", crate::type_name(schema)));
    }
    if schema.to_string().len() > MOST_SCHEMA || fields_of(schema).is_some_and(|fields| fields.len() > MOST_FIELDS) {
        let text = format!("more is asked for than {MOST_FIELDS} values, or {MOST_SCHEMA} bytes of schema");
        return Some(text);
    }
    if crate::message::depth(schema) >= crate::path::MAX_DEPTH {
        return Some("the schema of an answer is nested too deep".to_owned());
    }
    crate::schema::compile(schema).err().map(|why| format!("the schema of an answer is not valid: {why}"))
}

/// A single value need not be wrapped, and a single text not quoted.
fn fitted(value: Value, schema: &Value) -> Value {
    let mut fields = fields_of(schema).into_iter().flatten();
    match (fields.next(), fields.next()) {
        (Some((name, only)), None) if !value.is_object() => {
            let value = match &value {
                Value::Number(_) | Value::Bool(_) if only["type"] == "string" => value.to_string().into(),
                _ => value,
            };
            Map::from_iter([(name.clone(), value)]).into()
        }
        _ => value,
    }
}
