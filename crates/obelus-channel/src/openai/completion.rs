//! The agent's answer to a request, plain or as a stream.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use obelus_kernel::session::{TurnEnd, Used};
use obelus_runtime::{EventBody, EventNumber, Language, SessionEvent, system_clock};
use obelus_words::fill;
use serde_json::{Value, json};

use super::CHANNEL;
use super::chats::Chats;
use super::codes::{answer_in, code_of, mark_of, mistyped, shown, verb_of};
use super::request::ChatRequest;
use crate::ChannelError;
use crate::http::{Access, App, Failure, Json, JsonBody};
use crate::langgraph::begin::StartedRun;
use crate::langgraph::fold::{AddedMessage, MODEL};
use crate::langgraph::follow::{FollowedRun, RunItem};
use crate::service::lines_visible;
use crate::tokens::TokenRole;
use crate::types::QuestionRow;

pub(super) async fn create(
    State(app): State<App>,
    Extension(chats): Extension<Arc<Chats>>,
    access: Access,
    headers: HeaderMap,
    JsonBody(body): JsonBody<Value>,
) -> Result<Response, Failure> {
    access.needs(TokenRole::Operator)?;
    let request = ChatRequest::read(&body)?;
    let named = headers.get("x-session-id").map(|value| value.to_str().unwrap_or_default());
    let chat = chats.find(&app, &access, &request, named).await?;
    let session = chat.session.clone();
    let is_stream = request.stream;
    let source = begin(&app, &access, &request, &session).await?;
    let answer = OpenAiAnswer {
        id: format!("chatcmpl-{}", uuid::Uuid::now_v7().simple()),
        created: system_clock().0 / 1000,
        app,
        access,
        chats: chat.is_by_words.then_some(chats),
        session: session.clone(),
        request,
        source,
        text: String::new(),
        written: 0,
        used: Used::default(),
        is_over: false,
    };
    let mut response = if is_stream { answer.stream() } else { Json(answer.whole().await?).into_response() };
    if let Ok(value) = HeaderValue::from_str(&session) {
        response.headers_mut().insert("x-session-id", value);
    }
    Ok(response)
}

/// The source of the agent's text.
enum TextSource {
    /// A run that is being followed.
    Run(Box<FollowedRun>),
    /// A text without a turn.
    Words(String),
    Over,
}

/// Sends the message, or answers the question whose code it contains.
async fn begin(app: &App, access: &Access, request: &ChatRequest, session: &str) -> Result<TextSource, ChannelError> {
    let by = access.caller.by(CHANNEL);
    let taken = match answer_in(&request.words) {
        None => match not_a_code(app, access, request, session).await? {
            Some(words) => return Ok(TextSource::Words(words)),
            None => app.service().say(session, &request.words, &by, access.input_id()).await?,
        },
        Some((code, answer)) => {
            let now = app.service().snapshot_for(session, access.input_id(), access.language).await?;
            let Some(question) = now.questions.iter().find(|question| code_of(question) == code) else {
                let view = app.service().session(session, access.language).await?;
                let language = Language::named(Some(&view.lang));
                let used = fill(language.words().codes.used, &[&code]);
                return Ok(TextSource::Words(with_questions(used, &view.questions, language)));
            };
            let digest = Some(question.digest.as_str());
            app.service().answer(&question.id, answer, &by, digest, access.input_id()).await?
        }
    };
    let started = StartedRun {
        thread: session.to_owned(),
        session: session.to_owned(),
        assistant: request.model.clone(),
        record: taken.record,
        after: EventNumber { record: taken.record, part: 0 },
    };
    Ok(TextSource::Run(Box::new(FollowedRun::open(app, access, &started, None).await?)))
}

/// The reply to a message that looks like an answer to a question but has no valid code; none if the message is for the
/// agent.
async fn not_a_code(
    app: &App,
    access: &Access,
    request: &ChatRequest,
    session: &str,
) -> Result<Option<String>, ChannelError> {
    if verb_of(&request.words).is_none() {
        return Ok(None);
    }
    let view = app.service().session(session, access.language).await?;
    let Some(typed) = mistyped(&request.words, &view.questions) else { return Ok(None) };
    let language = Language::named(Some(&view.lang));
    let typed: String = obelus_kernel::visible(typed).chars().take(40).collect();
    let words = fill(language.words().codes.mistyped, &[&typed]);
    Ok(Some(with_questions(words, &view.questions, language)))
}

/// A text, and the open questions with their codes.
fn with_questions(words: String, open: &[QuestionRow], language: Language) -> String {
    open.iter().fold(words, |words, question| format!("{words}\n\n{}", shown(question, language)))
}

/// The agent's answer to a request, while it arrives.
struct OpenAiAnswer {
    app: App,
    access: Access,
    /// The conversations, if this one identifies its session.
    chats: Option<Arc<Chats>>,
    session: String,
    request: ChatRequest,
    source: TextSource,
    id: String,
    created: i64,
    /// The text so far.
    text: String,
    /// How much of the text was sent before the message was complete.
    written: usize,
    used: Used,
    is_over: bool,
}

/// The next item of an answer.
enum AnswerItem {
    /// More text; it may be empty.
    More(String),
    /// Nothing for a while: send a keep-alive.
    Silence,
    End,
}

impl OpenAiAnswer {
    async fn next(&mut self) -> Result<AnswerItem, ChannelError> {
        let followed = match &mut self.source {
            TextSource::Over => return Ok(AnswerItem::End),
            TextSource::Words(words) => {
                let words = std::mem::take(words);
                self.source = TextSource::Over;
                return Ok(AnswerItem::More(self.add(&words)));
            }
            TextSource::Run(followed) => followed,
        };
        match followed.next().await {
            RunItem::Silence => Ok(AnswerItem::Silence),
            RunItem::Event(event, added) => Ok(AnswerItem::More(self.take(&event, &added))),
            RunItem::Cut => Err(ChannelError::Closing),
            RunItem::End => {
                let rest = self.rest().await?;
                self.source = TextSource::Over;
                Ok(AnswerItem::More(rest))
            }
        }
    }

    /// Adds the text of an event.
    fn take(&mut self, event: &SessionEvent, added: &[AddedMessage]) -> String {
        match &event.body {
            EventBody::Used { used, .. } => {
                self.used.add(*used);
                return String::new();
            }
            EventBody::Writing { text } => {
                let more = match self.written {
                    0 => self.add(&lines_visible(text)),
                    _ => self.push(&lines_visible(text)),
                };
                self.written += lines_visible(text).len();
                return more;
            }
            _ => {}
        }
        let mut more = String::new();
        for message in added.iter().filter(|added| added.node == MODEL) {
            let text = message.message["content"].as_str().unwrap_or_default();
            if text.is_empty() {
                continue;
            }
            let written = std::mem::take(&mut self.written);
            let sent = self.text.get(self.text.len().saturating_sub(written)..).unwrap_or_default();
            match text.strip_prefix(sent).filter(|_| written > 0).map(str::to_owned) {
                Some(rest) => more.push_str(&self.push(&rest)),
                None => more.push_str(&self.add(text)),
            }
        }
        more
    }

    /// The rest when the turn rests: why it has no result, and the open questions.
    async fn rest(&mut self) -> Result<String, ChannelError> {
        let view = self.app.service().session(&self.session, self.access.language).await?;
        let language = Language::named(Some(&view.lang));
        let mut more = String::new();
        let why = view.turn.as_ref().filter(|turn| matches!(turn.ends, TurnEnd::Degraded | TurnEnd::Limit));
        if let Some(words) =
            why.and_then(|turn| turn.text.rsplit("\n\n").next()).filter(|words| !self.text.contains(words))
        {
            let words = words.to_owned();
            more.push_str(&self.add(&words));
        }
        for question in &view.questions {
            more.push_str(&self.add(&shown(question, language)));
        }
        Ok(more)
    }

    /// Adds a paragraph.
    fn add(&mut self, words: &str) -> String {
        let gap = if self.text.is_empty() { "" } else { "\n\n" };
        self.push(&format!("{gap}{words}"))
    }

    fn push(&mut self, words: &str) -> String {
        self.text.push_str(words);
        words.to_owned()
    }

    /// Stores the conversation, so that it is found again by its text. Returns an additional line if another
    /// conversation is equal.
    async fn keep(&mut self) -> String {
        let Some(chats) = self.chats.clone() else { return String::new() };
        let caller = self.access.caller.name.clone();
        if chats.keep(&self.app, &caller, &self.request, &self.text, &self.session).await {
            return String::new();
        }
        let view = self.app.service().session(&self.session, self.access.language).await;
        let language = view.map_or(Language::English, |view| Language::named(Some(&view.lang)));
        let mark = mark_of(&self.session);
        let more = self.add(&fill(language.words().codes.apart, &[&mark]));
        chats.keep(&self.app, &caller, &self.request, &self.text, &self.session).await;
        more
    }

    fn usage(&self) -> Value {
        let (input, output) = (self.used.input, self.used.output);
        json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output)})
    }

    /// The whole answer.
    async fn whole(mut self) -> Result<Value, ChannelError> {
        while !matches!(self.next().await?, AnswerItem::End) {}
        self.keep().await;
        let message = json!({"role": "assistant", "content": self.text, "refusal": null});
        Ok(json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.request.model,
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"}],
            "usage": self.usage(),
        }))
    }

    fn chunk(&self, choices: Value) -> Value {
        json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.request.model,
            "choices": choices,
        })
    }

    fn delta(&self, delta: Value, finish: Option<&str>) -> Bytes {
        frame(&self.chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}])))
    }

    /// The answer as a stream: the role first, then text, one finish reason, and the usage if requested.
    fn stream(self) -> Response {
        let first = self.delta(json!({"role": "assistant", "content": ""}), None);
        let body = unfold((VecDeque::from([first]), self), |(mut ready, mut answer)| async move {
            if ready.is_empty() {
                if answer.is_over {
                    return None;
                }
                ready = answer.frames().await;
            }
            let bytes = ready.pop_front()?;
            Some((Ok::<_, Infallible>(bytes), (ready, answer)))
        });
        ([("content-type", "text/event-stream; charset=utf-8")], Body::from_stream(body)).into_response()
    }

    /// The next frames; there is at least one.
    async fn frames(&mut self) -> VecDeque<Bytes> {
        let silence = || Bytes::from_static(b": alive\n\n");
        match self.next().await {
            Ok(AnswerItem::Silence) => [silence()].into(),
            Ok(AnswerItem::More(words)) if words.is_empty() => [silence()].into(),
            Ok(AnswerItem::More(words)) => [self.delta(json!({"content": words}), None)].into(),
            Ok(AnswerItem::End) => {
                self.is_over = true;
                let mut last = VecDeque::new();
                let more = self.keep().await;
                if !more.is_empty() {
                    last.push_back(self.delta(json!({"content": more}), None));
                }
                last.push_back(self.delta(json!({}), Some("stop")));
                if self.request.include_usage {
                    let mut chunk = self.chunk(json!([]));
                    chunk["usage"] = self.usage();
                    last.push_back(frame(&chunk));
                }
                last.push_back(Bytes::from_static(b"data: [DONE]\n\n"));
                last
            }
            Err(error) => {
                self.is_over = true;
                let words = error.words(self.access.language.unwrap_or(Language::English));
                [frame(&json!({"error": {"message": words, "type": "server_error", "code": error.code()}}))].into()
            }
        }
    }
}

fn frame(data: &Value) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}
