//! Parses requests: the agent, the conversation, and the form of the answer.

use serde_json::Value;

use crate::ChannelError;
use crate::http::content_text;

/// A request for a completion.
pub(super) struct ChatRequest {
    /// The agent.
    pub(super) model: String,
    /// The messages before the last one: role and text.
    pub(super) before: Vec<(String, String)>,
    /// The user's message.
    pub(super) words: String,
    /// Whether the answer is a stream.
    pub(super) stream: bool,
    /// Whether the stream ends with the usage.
    pub(super) include_usage: bool,
    /// The client's end user, if named.
    pub(super) user: Option<String>,
}

impl ChatRequest {
    /// Parses a request. Options that would silently behave differently here are refused.
    pub(super) fn read(body: &Value) -> Result<Self, ChannelError> {
        let model = body["model"].as_str().ok_or_else(|| bad("`model` is the name of an agent"))?;
        if body["n"].as_u64().is_some_and(|n| n != 1) {
            return Err(bad("an agent gives one answer: `n` must be 1"));
        }
        for name in ["tools", "functions"] {
            if body[name].as_array().is_some_and(|list| !list.is_empty()) {
                return Err(bad(&format!("the agent has its own tools: `{name}` is not supported")));
            }
        }
        let format = body["response_format"]["type"].as_str();
        if format.is_some_and(|format| format != "text") {
            return Err(bad("`response_format` is `text`"));
        }
        let messages = body["messages"].as_array().ok_or_else(|| bad("`messages` is a list"))?;
        let mut all = Vec::new();
        for message in messages {
            match message["role"].as_str() {
                // The agent's file has the instructions.
                Some("system" | "developer") => {}
                Some(role @ ("user" | "assistant")) => all.push((role.to_owned(), content_text(&message["content"])?)),
                _ => return Err(bad("the role of a message is `user`, `assistant` or `system`")),
            }
        }
        let Some((_, words)) = all.pop().filter(|(role, words)| role == "user" && !words.trim().is_empty()) else {
            return Err(bad("the last message must be from the user"));
        };
        Ok(Self {
            model: model.to_owned(),
            before: all,
            words,
            stream: body["stream"].as_bool().unwrap_or_default(),
            include_usage: body["stream_options"]["include_usage"].as_bool().unwrap_or_default(),
            user: body["user"].as_str().filter(|user| !user.is_empty()).map(str::to_owned),
        })
    }
}

fn bad(text: &str) -> ChannelError {
    ChannelError::Unsupported(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_message_is_the_input_and_the_earlier_ones_identify_the_conversation() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let read = |messages: Value| ChatRequest::read(&json!({"model": "m", "messages": messages}));
        let messages =
            json!([{"role": "system", "content": "obey"}, user("a"), {"role": "assistant", "content": "b"}, user("c")]);
        let request = read(messages).ok().unwrap();
        assert_eq!((request.before.len(), request.words.as_str()), (2, "c"));
        assert!(read(json!([])).is_err() && read(json!([user("a"), {"role": "assistant", "content": "b"}])).is_err());
        for wrong in [json!({"n": 2}), json!({"tools": [{}]}), json!({"response_format": {"type": "json_object"}})] {
            let mut body = wrong.clone();
            body["model"] = json!("m");
            body["messages"] = json!([user("a")]);
            assert!(ChatRequest::read(&body).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fuzz_a_request_is_refused_or_ends_with_words_of_the_user() {
        crate::fuzz::fuzz("openai", |input| {
            let Ok(body) = serde_json::from_slice::<Value>(input) else { return false };
            ChatRequest::read(&body).is_ok_and(|request| !request.words.trim().is_empty())
        });
    }
}
