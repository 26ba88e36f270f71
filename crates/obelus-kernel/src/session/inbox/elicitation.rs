//! Elicitations: a running call asks a person, such as a server that needs a value.
//!
//! An elicitation becomes a question, whose text names its source. The call keeps waiting; only it gets the answer.
//! When the call ends, its open elicitations are closed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::elicitation_form::ElicitationForm;
use crate::schema::first_breach;
use crate::session::Refused;
use crate::session::ids::{CallId, JobRef};
use crate::session::input::Decision;
use crate::session::output::ElicitationAnswer;
use crate::session::refusals::RefusalCode as Code;
use obelus_notebook::requested::{fields_of, fitted};

/// The call that asks, and its key of the question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::session) struct Elicitation {
    pub(in crate::session) job: JobRef,
    /// The driver's id of the call.
    pub(in crate::session) call: CallId,
    pub(in crate::session) key: String,
    /// What people see, also after the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::session) form: Option<ElicitationForm>,
}

/// The call's answer from a decision; refused if it does not fit the schema.
pub(in crate::session) fn check_answer(decision: Decision, schema: &Value) -> Result<ElicitationAnswer, Refused> {
    let value = match decision {
        Decision::Deny { reason } => return Ok(ElicitationAnswer::Declined { reason }),
        Decision::Value { value } => fitted(value, schema),
        // If nothing is to be filled in, approval is the only answer.
        Decision::Approve { only: None } if fields_of(schema).is_none_or(Map::is_empty) => Value::Object(Map::new()),
        _ => {
            let text = "a call asks for a value: answer with a value, or deny it";
            return Err(Refused::new(Code::UnfitAnswer, text));
        }
    };
    match first_breach(schema, &value) {
        Some(breach) => Err(Refused::breach(Code::BadAnswer, breach)),
        None => Ok(ElicitationAnswer::Value(value)),
    }
}
