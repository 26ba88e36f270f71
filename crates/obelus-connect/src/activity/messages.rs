//! Results of activities: a value, or messages for chosen paths (CALL-5).

use obelus_kernel::session::{CallError, FailureCode, Outcome};
use serde_json::Value;

/// The only field of a result that consists of messages.
const MESSAGES: &str = "_messages";

/// A result `{"_messages": […]}` consists of data messages; every other result is a value. The session checks the
/// messages against the call's `_outputPath`.
pub(super) fn outcome_of(result: Value) -> Result<Outcome, CallError> {
    let Value::Object(mut fields) = result else { return Ok(Outcome::Value(result)) };
    if fields.len() != 1 || !fields.contains_key(MESSAGES) {
        return Ok(Outcome::Value(Value::Object(fields)));
    }
    match fields.remove(MESSAGES) {
        Some(Value::Array(messages)) => Ok(Outcome::Messages(messages)),
        _ => Err(CallError::new(FailureCode::BadOutput, format!("`{MESSAGES}` must be a list of data messages"))),
    }
}
