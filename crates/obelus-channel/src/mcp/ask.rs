//! Questions to the client's user, by elicitation within the answer to a request, as in 2026-07-28.
//!
//! The client repeats its request with the person's answer and the state that it was given. The state names the
//! question, its digest, and an edit or a value that the person confirms; changing it gives no more rights than the token has.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use obelus_kernel::session::About;
use serde_json::{Value, json};

use crate::ChannelError;
use crate::types::{AnswerBody, PreviewView, QuestionRow};

/// The key of the question in an answer.
pub(super) const KEY: &str = "question";

/// A person's answer.
pub(super) struct ElicitedAnswer {
    pub(super) question: String,
    pub(super) digest: String,
    /// None if the person did not decide: the question stays open.
    pub(super) answer: Option<AnswerBody>,
}

/// A result that asks the person.
pub(super) fn ask(question: &QuestionRow) -> Value {
    let (properties, required) = match question.about {
        About::Input => (json!({"value": {"type": "string"}}), "value"),
        About::InDoubt => (json!({"decision": choice(["happened", "did_not"])}), "decision"),
        About::Call | About::Plan => (approval(), "decision"),
    };
    let schema = json!({"type": "object", "properties": properties, "required": [required]});
    let state = json!({"question": question.id, "digest": question.digest, "about": question.about});
    form(&question.text, &schema, &state)
}

/// A result that asks the person whether to edit the call as the client proposes; `edited` is the preview.
pub(super) fn ask_about_edit(question: &QuestionRow, edited: &PreviewView) -> Value {
    let state = json!({
        "question": question.id, "digest": question.digest, "about": question.about,
        "edit": edited.params, "edited_digest": edited.digest,
    });
    form(edited.text.as_deref().unwrap_or_default(), &approval_schema(), &state)
}

/// A result that asks the person whether to give the value that the client proposes.
pub(super) fn ask_about_value(question: &QuestionRow, value: &Value) -> Value {
    let state = json!({"question": question.id, "digest": question.digest, "about": "value", "value": value});
    let text = format!("{}\n\n{}", question.text, obelus_kernel::visible(&json!({"value": value}).to_string()));
    form(&text, &approval_schema(), &state)
}

fn choice(names: [&str; 2]) -> Value {
    json!({"type": "string", "enum": names})
}

fn approval() -> Value {
    json!({"decision": choice(["approve", "deny"]), "reason": {"type": "string"}})
}

fn approval_schema() -> Value {
    json!({"type": "object", "properties": approval(), "required": ["decision"]})
}

fn form(text: &str, schema: &Value, state: &Value) -> Value {
    let params = json!({"mode": "form", "message": text, "requestedSchema": schema});
    json!({
        "resultType": "input_required",
        "inputRequests": {KEY: {"method": "elicitation/create", "params": params}},
        "requestState": URL_SAFE_NO_PAD.encode(state.to_string()),
    })
}

/// The person's answer in this request, if it has one.
pub(super) fn given(params: &Value) -> Result<Option<ElicitedAnswer>, ChannelError> {
    let Some(state) = params["requestState"].as_str() else { return Ok(None) };
    let bad = || ChannelError::BadRequest("`requestState` is not from this server".to_owned());
    let state = URL_SAFE_NO_PAD.decode(state).map_err(|_| bad())?;
    let state: Value = serde_json::from_slice(&state).map_err(|_| bad())?;
    let of = |name: &str| state[name].as_str().map(str::to_owned).ok_or_else(bad);
    let response = &params["inputResponses"][KEY];
    let answer = match response["action"].as_str() {
        Some("accept") => Some(answer(&of("about")?, &state, &response["content"])?),
        Some("decline") => {
            Some(AnswerBody::Deny { reason: String::new(), only: None }).filter(|_| state["about"] != "in_doubt")
        }
        _ => None,
    };
    let digest = if matches!(answer, Some(AnswerBody::Edit { .. })) { "edited_digest" } else { "digest" };
    Ok(Some(ElicitedAnswer { question: of("question")?, digest: of(digest)?, answer }))
}

fn answer(about: &str, state: &Value, content: &Value) -> Result<AnswerBody, ChannelError> {
    let reason = content["reason"].as_str().unwrap_or_default().to_owned();
    Ok(match (about, content["decision"].as_str()) {
        ("input", _) => AnswerBody::Value { value: content["value"].clone() },
        ("in_doubt", Some("happened")) => AnswerBody::Happened { result: Value::Null },
        ("in_doubt", Some("did_not")) => AnswerBody::DidNot,
        ("value", Some("approve")) => AnswerBody::Value { value: state["value"].clone() },
        ("call" | "plan", Some("approve")) => match state["edit"].as_object() {
            Some(params) => AnswerBody::Edit { params: params.clone() },
            None => AnswerBody::Approve { only: None },
        },
        ("value" | "call" | "plan", Some("deny")) => AnswerBody::Deny { reason, only: None },
        _ => return Err(ChannelError::BadRequest("the answer is not one of those that were offered".to_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_accepted_form_with_an_offered_choice_approves() {
        let state = URL_SAFE_NO_PAD.encode(json!({"question": "s:q1", "digest": "d", "about": "call"}).to_string());
        let of = |response: Value| {
            given(&json!({"requestState": state, "inputResponses": {KEY: response}})).map(|given| given.unwrap().answer)
        };
        let yes = of(json!({"action": "accept", "content": {"decision": "approve"}})).ok().unwrap();
        assert_eq!(yes, Some(AnswerBody::Approve { only: None }));
        let no = of(json!({"action": "decline"})).ok().unwrap();
        assert_eq!(no, Some(AnswerBody::Deny { reason: String::new(), only: None }));
        assert_eq!(of(json!({"action": "cancel"})).ok().unwrap(), None);
        assert_eq!(of(Value::Null).ok().unwrap(), None);
        assert!(of(json!({"action": "accept", "content": {}})).is_err());
        assert!(of(json!({"action": "accept", "content": {"decision": "happened"}})).is_err());
        assert!(given(&json!({"requestState": "%%"})).is_err());
        assert!(given(&json!({})).ok().unwrap().is_none());
    }
}
