//! The input of a run, and the options that a run may have.

use serde_json::Value;

use super::{bad, unsupported};
use crate::ChannelError;

/// What a run gives to its session.
pub(super) enum RunInput<'a> {
    /// A message of the user.
    Message(String),
    /// Answers to questions: the `resume` of a command.
    Answers(&'a Value),
    /// Nothing: a session that was forked from the middle of a turn goes on.
    Nothing,
}

impl<'a> RunInput<'a> {
    /// Reads the input in the body of a request. A command takes precedence.
    pub(super) fn read(body: &'a Value) -> Result<Self, ChannelError> {
        if !body["command"].is_object() {
            return Ok(text_of(&body["input"])?.map_or(Self::Nothing, Self::Message));
        }
        match &body["command"]["resume"] {
            Value::Null => Err(bad("`command` is {resume: ...}")),
            resume => Ok(Self::Answers(resume)),
        }
    }
}

/// Refuses options that would silently behave differently here.
pub(super) fn check_options(body: &Value) -> Result<(), ChannelError> {
    let has = |name: &str| match &body[name] {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    match body["multitask_strategy"].as_str() {
        None | Some("enqueue" | "reject") => {}
        Some(_) => {
            return Err(unsupported("`multitask_strategy` is `enqueue` or `reject`: cancel the run to interrupt it"));
        }
    }
    if has("webhook") {
        return Err(unsupported("`webhook` is not supported: the server calls no address that a request names"));
    }
    for name in ["interrupt_before", "interrupt_after", "after_seconds"] {
        if has(name) {
            return Err(unsupported(&format!(
                "`{name}` is not supported: the agent's policy says where a person is asked"
            )));
        }
    }
    for name in ["goto", "update"] {
        if !body["command"][name].is_null() {
            return Err(unsupported(&format!("only `resume` is supported in a command, not `{name}`")));
        }
    }
    Ok(())
}

/// The user's text in an input: the messages after the agent's last one.
fn text_of(input: &Value) -> Result<Option<String>, ChannelError> {
    let messages = match input {
        Value::Null => return Ok(None),
        Value::String(text) => return Ok(Some(text.clone())),
        Value::Array(messages) => messages.as_slice(),
        Value::Object(fields) => {
            if fields.contains_key("state") {
                return Err(unsupported("the state is edited by POST /threads/{id}/state, not by the input of a run"));
            }
            match (&input["messages"], fields.is_empty()) {
                (Value::Array(messages), _) => messages.as_slice(),
                (Value::String(text), _) => return Ok(Some(text.clone())),
                (_, true) => return Ok(None),
                (one @ Value::Object(_), _) => std::slice::from_ref(one),
                _ => return Err(bad("`input` is {messages: [{role: user, content: ...}]}")),
            }
        }
        _ => return Err(bad("`input` is {messages: [{role: user, content: ...}]}")),
    };
    let mut texts = Vec::new();
    for message in messages {
        match role_of(message) {
            "human" | "user" => texts.push(crate::http::content_text(content_of(message))?),
            "ai" | "assistant" => texts.clear(),
            "system" | "tool" | "developer" => {
                return Err(unsupported(
                    "only messages of the user are accepted: the agent's file has its instructions",
                ));
            }
            _ => return Err(bad("the role of a message is `user`")),
        }
    }
    if texts.is_empty() { Err(bad("there is no message of the user")) } else { Ok(Some(texts.join("\n\n"))) }
}

fn role_of(message: &Value) -> &str {
    match message {
        Value::String(_) => "user",
        Value::Array(pair) => pair.first().and_then(Value::as_str).unwrap_or_default(),
        _ => message["type"].as_str().or_else(|| message["role"].as_str()).unwrap_or_default(),
    }
}

fn content_of(message: &Value) -> &Value {
    match message {
        Value::Array(pair) => pair.get(1).unwrap_or(&Value::Null),
        Value::String(_) => message,
        _ => &message["content"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_input_is_the_users_messages_after_the_agents_last_one() {
        let of = |input: Value| text_of(&input).ok().flatten();
        assert_eq!(of(json!({"messages": [{"role": "user", "content": "a"}]})).as_deref(), Some("a"));
        let long = json!({"messages": [
            {"type": "human", "content": "old"}, {"type": "ai", "content": "yes"},
            {"type": "human", "content": [{"type": "text", "text": "new"}]}, ["user", "more"],
        ]});
        assert_eq!(of(long).as_deref(), Some("new\n\nmore"));
        assert_eq!(of(json!("plain")).as_deref(), Some("plain"));
        assert_eq!(of(Value::Null), None);
        for wrong in [
            json!({"messages": []}),
            json!({"messages": [{"role": "system", "content": "obey"}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}),
            json!({"messages": 5}),
            json!({"state": {}}),
            json!(5),
        ] {
            assert!(text_of(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn unsupported_run_options_are_refused() {
        for wrong in [
            json!({"multitask_strategy": "rollback"}),
            json!({"interrupt_before": ["tools"]}),
            json!({"webhook": "https://example.test"}),
            json!({"command": {"goto": "x"}}),
        ] {
            assert!(check_options(&wrong).is_err(), "{wrong}");
        }
        assert!(check_options(&json!({"multitask_strategy": "reject", "interrupt_before": []})).is_ok());
    }

    #[test]
    fn fuzz_the_start_of_a_run_is_refused_or_read() {
        crate::fuzz::fuzz("langgraph", |input| {
            let Ok(body) = serde_json::from_slice::<Value>(input) else { return false };
            check_options(&body).is_ok() && text_of(&body["input"]).is_ok()
        });
    }
}
