//! The JSON of Chat Completions: requests and answers.

use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::Prompt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::options::{OpenAiOptions, Structured};
use super::picture::Pictures;
use crate::model::{ChatMessage, ChatRole};

/// A message of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct WireMessage {
    role: ChatRole,
    content: Content,
}

/// The content of a message: a text, or parts if there are pictures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

/// A picture as a `data:` URL.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ImageUrl {
    pub(super) url: String,
}

impl WireMessage {
    fn of(message: ChatMessage, pictures: &Pictures) -> Self {
        let ChatMessage { role, content, images } = message;
        if images.is_empty() {
            return Self { role, content: Content::Text(content) };
        }
        let pictures = images.iter().map(|path| pictures.part(path));
        Self {
            role,
            content: Content::Parts([ContentPart::Text { text: content }].into_iter().chain(pictures).collect()),
        }
    }
}

/// How strictly a request asks for the answer's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AnswerFormat {
    /// Only the prompt describes it.
    Words,
    /// The prompt describes it, and the server is asked for JSON.
    Json,
    /// The server enforces the schema.
    Schema,
}

impl AnswerFormat {
    /// The strictest form for a request to a server that supports up to `most`.
    pub(super) fn of(prompt: &Prompt, wanted: Structured, most: AnswerFormat) -> Self {
        let wanted = match wanted {
            Structured::Probe => most,
            Structured::Strict => AnswerFormat::Schema,
            Structured::JsonObject => AnswerFormat::Json,
            Structured::None => AnswerFormat::Words,
        };
        match prompt.dialect {
            Dialect::Blocks => AnswerFormat::Words,
            // The strict mode would refuse this schema.
            Dialect::Json if !prompt.answer.loose.is_empty() => wanted.min(AnswerFormat::Json),
            Dialect::Json => wanted,
        }
    }

    pub(super) fn lower(self) -> Option<Self> {
        match self {
            AnswerFormat::Schema => Some(AnswerFormat::Json),
            AnswerFormat::Json => Some(AnswerFormat::Words),
            AnswerFormat::Words => None,
        }
    }
}

/// What the server supports, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub(super) form: AnswerFormat,
    /// Newer models require `max_completion_tokens`; older servers know only `max_tokens`.
    pub(super) completion_tokens: bool,
    /// Whether it can report the usage at the end of a stream.
    pub(super) stream_options: bool,
    /// Whether it accepts pictures.
    pub(super) images: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { form: AnswerFormat::Schema, completion_tokens: false, stream_options: true, images: true }
    }
}

impl Capabilities {
    /// The capabilities after a refused request with pictures. Servers use many statuses for this, so only the message
    /// is looked at.
    pub(super) fn after_pictures(self, message: &str) -> Option<Self> {
        let message = message.to_ascii_lowercase();
        let names = ["image", "multimodal", "multi-modal", "vision", "content part", "contentpart"];
        (self.images && names.iter().any(|name| message.contains(name))).then_some(Self { images: false, ..self })
    }

    /// The capabilities after a refused request; `None` if another form would not help.
    pub(super) fn after_bad_request(self, message: &str, sent: AnswerFormat, options: &OpenAiOptions) -> Option<Self> {
        let message = message.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if self.stream_options && options.stream && names(&["stream_options", "include_usage"]) {
            return Some(Self { stream_options: false, ..self });
        }
        if !self.completion_tokens && options.max_tokens.is_some() && names(&["max_completion_tokens"]) {
            return Some(Self { completion_tokens: true, ..self });
        }
        if options.structured == Structured::Probe
            && names(&["response_format", "json_schema", "json_object", "structured output", "schema"])
        {
            return sent.lower().map(|form| Self { form, ..self });
        }
        None
    }
}

/// The body of a request.
pub(super) fn body(
    options: &OpenAiOptions,
    (messages, pictures): (Vec<ChatMessage>, &Pictures),
    prompt: &Prompt,
    form: AnswerFormat,
    capabilities: Capabilities,
) -> Value {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    let messages: Vec<WireMessage> = messages.into_iter().map(|message| WireMessage::of(message, pictures)).collect();
    put("model", options.name.as_str().into());
    put("messages", serde_json::to_value(messages).unwrap_or_default());
    if options.stream {
        put("stream", true.into());
        if capabilities.stream_options {
            put("stream_options", json!({"include_usage": true}));
        }
    }
    if let Some(temperature) = options.temperature {
        put("temperature", temperature.into());
    }
    if let Some(effort) = &options.reasoning_effort {
        put("reasoning_effort", effort.as_str().into());
    }
    if let Some(most) = options.max_tokens {
        put(if capabilities.completion_tokens { "max_completion_tokens" } else { "max_tokens" }, most.into());
    }
    match form {
        AnswerFormat::Words => None,
        AnswerFormat::Json => put("response_format", json!({"type": "json_object"})),
        AnswerFormat::Schema => {
            let schema = json!({"name": "solution", "strict": true, "schema": prompt.answer.schema});
            put("response_format", json!({"type": "json_schema", "json_schema": schema}))
        }
    };
    Value::Object(body)
}

/// A whole answer, or a piece of one.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) choices: Vec<Choice>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// One choice of an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: u32,
    /// Set in a whole answer.
    #[serde(default)]
    pub(super) message: Option<ModelMessage>,
    /// Set in a stream.
    #[serde(default)]
    pub(super) delta: Option<ModelMessage>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

/// The model's text; its reasoning is ignored.
#[derive(Debug, Deserialize)]
pub(super) struct ModelMessage {
    #[serde(default)]
    pub(super) content: Option<WireText>,
    /// The reason for not answering.
    #[serde(default)]
    pub(super) refusal: Option<String>,
}

/// A text, or parts of one.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text, or a list of parts")]
pub(super) enum WireText {
    Plain(String),
    Parts(Vec<Value>),
}

impl WireText {
    pub(super) fn into_string(self) -> String {
        match self {
            WireText::Plain(text) => text,
            WireText::Parts(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        }
    }
}

/// The usage reported by the server.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) prompt_tokens: u64,
    #[serde(default)]
    pub(super) completion_tokens: u64,
    #[serde(default)]
    pub(super) total_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{asked, bare};
    use obelus_kernel::compose::Composed;

    #[test]
    fn a_request_uses_the_strictest_supported_response_format() {
        let strict = asked("a");
        let answer = Composed::new(json!({"type": "object"}), vec!["a map".to_owned()]);
        let loose = Prompt { answer: answer.into(), ..bare() };
        let blocks = Prompt { dialect: Dialect::Blocks, ..bare() };
        for (prompt, wanted, most, form) in [
            (&strict, Structured::Probe, AnswerFormat::Schema, AnswerFormat::Schema),
            (&strict, Structured::Probe, AnswerFormat::Json, AnswerFormat::Json),
            (&strict, Structured::Strict, AnswerFormat::Words, AnswerFormat::Schema),
            (&strict, Structured::None, AnswerFormat::Schema, AnswerFormat::Words),
            (&loose, Structured::Probe, AnswerFormat::Schema, AnswerFormat::Json),
            (&blocks, Structured::Strict, AnswerFormat::Schema, AnswerFormat::Words),
        ] {
            assert_eq!(AnswerFormat::of(prompt, wanted, most), form);
        }
    }

    #[test]
    fn only_configured_options_are_sent() {
        let pictures = Pictures::default();
        let none = || (Vec::new(), &pictures);
        let plain = body(&OpenAiOptions::named("m"), none(), &bare(), AnswerFormat::Words, Capabilities::default());
        assert_eq!(
            plain,
            json!({"model": "m", "messages": [], "stream": true, "stream_options": {"include_usage": true}})
        );
        let options = OpenAiOptions {
            temperature: Some(0.5),
            reasoning_effort: Some("low".to_owned()),
            max_tokens: Some(9),
            stream: false,
            ..OpenAiOptions::named("m")
        };
        let capabilities = Capabilities { completion_tokens: true, ..Capabilities::default() };
        let full = body(&options, none(), &bare(), AnswerFormat::Schema, capabilities);
        let expected = json!({
            "model": "m", "messages": [], "temperature": 0.5, "reasoning_effort": "low", "max_completion_tokens": 9,
            "response_format": {"type": "json_schema",
                "json_schema": {"name": "solution", "strict": true, "schema": {"type": "object"}}},
        });
        assert_eq!(full, expected);
    }

    #[test]
    fn a_refused_request_adapts_the_capabilities() {
        let options = OpenAiOptions { max_tokens: Some(1), ..OpenAiOptions::named("m") };
        let known = Capabilities::default();
        let adapted = |said: &str, sent| known.after_bad_request(said, sent, &options);
        assert!(!adapted("unknown field `stream_options`", AnswerFormat::Schema).unwrap().stream_options);
        let tokens = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
        assert!(adapted(tokens, AnswerFormat::Schema).unwrap().completion_tokens);
        assert_eq!(adapted("Invalid response_format", AnswerFormat::Schema).unwrap().form, AnswerFormat::Json);
        assert_eq!(adapted("Invalid response_format", AnswerFormat::Json).unwrap().form, AnswerFormat::Words);
        assert_eq!(adapted("Invalid response_format", AnswerFormat::Words), None);
        assert_eq!(adapted("the conversation is too long", AnswerFormat::Schema), None);
        let fixed = OpenAiOptions { structured: Structured::Strict, ..options.clone() };
        assert_eq!(known.after_bad_request("response_format", AnswerFormat::Schema, &fixed), None);
    }

    #[test]
    fn only_a_refusal_that_mentions_pictures_disables_them() {
        let known = Capabilities::default();
        for said in [
            "the server answered 400: Invalid content type. image_url is only supported by certain models.",
            "the server answered 422: unknown variant `image_url`, expected `text`",
            "the server answered 400: m is not a multimodal model",
            "the server answered 400: Unsupported content part type",
        ] {
            let adapted = known.after_pictures(said).unwrap();
            assert!(!adapted.images);
            assert_eq!(adapted.after_pictures(said), None, "once");
        }
        assert_eq!(known.after_pictures("the server answered 400: the conversation is too long"), None);
    }
}
