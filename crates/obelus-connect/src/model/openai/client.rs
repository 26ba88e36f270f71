//! The client: sends a request, and retries until it is answered, finally refused, or out of time.

use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use obelus_kernel::session::{Answer, Prompt};
use obelus_runtime::masking::MASKED;
use obelus_runtime::{AnswerFuture, Model, Part, Parts, Secret};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::access::{KEY, ServerAccess};
use super::collect::Collected;
use super::failure::{Code, ModelFailure, shorten};
use super::options::OpenAiOptions;
use super::picture::Pictures;
use super::retry::{Budget, pause};
use super::sse::{MAX_EVENT_BYTES, SseParser};
use super::wire::{AnswerFormat, Capabilities, body};
use crate::model::{PromptOptions, render};

/// The number of bytes read of an error's body.
const MAX_ERROR_BYTES: usize = 16 * 1024;
/// The size of a whole stream. It is much larger than the answer, because each token is a JSON event.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;
/// How often a request is changed after refusals, to find a form that the server supports.
const MAX_ADAPTATIONS: usize = 5;

/// A model on a server with OpenAI's protocol.
#[derive(Clone)]
pub struct OpenAi(Arc<OpenAiShared>);

struct OpenAiShared {
    options: OpenAiOptions,
    access: ServerAccess,
    /// Created by the first request, because loading the system's certificates takes time.
    client: OnceLock<Result<reqwest::Client, ModelFailure>>,
    capabilities: Mutex<Capabilities>,
    budget: Budget,
}

/// A request ready to be sent.
struct WireRequest<'a> {
    body: Vec<u8>,
    headers: &'a HeaderMap,
    form: AnswerFormat,
    has_pictures: bool,
    until: Instant,
}

impl OpenAi {
    /// A model with its options, and the server's address and key.
    pub fn new(options: OpenAiOptions, access: ServerAccess) -> Self {
        // Registers their secrets for masking. Errors are reported by the first request.
        drop(access.headers(&options));
        let (client, capabilities, budget) = (OnceLock::new(), Mutex::default(), Budget::default());
        Self(Arc::new(OpenAiShared { options, access, client, capabilities, budget }))
    }
}

impl Model for OpenAi {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        self.ask_streaming(prompt, Parts::without_listener())
    }

    fn ask_streaming(&self, prompt: Prompt, parts: Parts) -> AnswerFuture {
        let model = Arc::clone(&self.0);
        Box::pin(async move { model.answer(&prompt, &parts).await.unwrap_or_else(ModelFailure::into_answer) })
    }
}

impl OpenAiShared {
    async fn answer(&self, prompt: &Prompt, parts: &Parts) -> Result<Answer, ModelFailure> {
        self.options.check().map_err(|problem| ModelFailure::new(Code::BadSettings, problem))?;
        let (headers, secrets) = self.access.headers(&self.options)?;
        let answer = self.ask_with_retries(prompt, parts, &headers).await;
        let answer = answer.map_err(|failure| failure.without(secrets.iter().map(Secret::expose)));
        answer.map_err(|failure| match failure.code {
            Code::Unauthorised if !self.access.has_key() && self.options.headers.is_empty() => {
                let words = format!("{}; the environment has no {KEY}", failure.message);
                ModelFailure::new(Code::NoKey, words)
            }
            _ => failure,
        })
    }

    /// Sends the request; repeats it after temporary failures, and changes its form after refusals.
    async fn ask_with_retries(
        &self,
        prompt: &Prompt,
        parts: &Parts,
        headers: &HeaderMap,
    ) -> Result<Answer, ModelFailure> {
        let [_, _, total] = self.options.timeouts.durations();
        let until = Instant::now() + total;
        let (mut attempt, mut adaptations) = (0, 0);
        loop {
            let request = self.request(prompt, headers, until).await?;
            let (form, has_pictures) = (request.form, request.has_pictures);
            let mut collected = Collected::new(prompt.dialect, parts.has_listener());
            let sent = self.send_once(request, &mut collected, parts).await;
            if let Some(used) = collected.used(self.options.price) {
                parts.tell(Part::Used(used));
            }
            let has_published = collected.has_published;
            let failure = match sent.and_then(|()| collected.into_answer()) {
                Ok(answer) => {
                    self.budget.earn();
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            if adaptations < MAX_ADAPTATIONS && self.adapt(&failure, form, has_pictures) {
                adaptations += 1;
                continue;
            }
            // Output that was already shown cannot be replaced by another answer.
            if !failure.may_pass || has_published || attempt >= self.options.retries || !self.budget.take() {
                return Err(failure);
            }
            let pause = pause(&failure, attempt);
            if Instant::now() + pause >= until {
                let words = format!(
                    "{}; asking again has to wait {} s, and that is too long",
                    failure.message,
                    pause.as_secs()
                );
                return Err(ModelFailure { message: words, ..failure });
            }
            sleep(pause).await;
            attempt += 1;
        }
    }

    async fn request<'a>(
        &self,
        prompt: &Prompt,
        headers: &'a HeaderMap,
        until: Instant,
    ) -> Result<WireRequest<'a>, ModelFailure> {
        let capabilities = *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        let form = AnswerFormat::of(prompt, self.options.structured, capabilities.form);
        let options = PromptOptions {
            language: prompt.language.clone(),
            without_schema: form == AnswerFormat::Schema,
            images: self.options.images && capabilities.images,
        };
        let messages =
            render(prompt, &options).map_err(|error| ModelFailure::new(Code::BadSettings, error.to_string()))?;
        let has_pictures = messages.iter().any(|message| !message.images.is_empty());
        let pictures = Pictures::of(&messages).await;
        let body = body(&self.options, (messages, &pictures), prompt, form, capabilities);
        Ok(WireRequest { body: body.to_string().into_bytes(), headers, form, has_pictures, until })
    }

    /// Updates the server's capabilities after a refusal; returns whether the request can be sent in another form.
    fn adapt(&self, failure: &ModelFailure, form: AnswerFormat, has_pictures: bool) -> bool {
        let mut capabilities = self.capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        let is_refusal = matches!(failure.code, Code::BadRequest | Code::UnknownModel | Code::ServerError);
        let without_pictures =
            if has_pictures && is_refusal { capabilities.after_pictures(&failure.message) } else { None };
        let otherwise = || match failure.code {
            Code::BadRequest => capabilities.after_bad_request(&failure.message, form, &self.options),
            _ => None,
        };
        match without_pictures.or_else(otherwise) {
            Some(more) => {
                *capabilities = more;
                true
            }
            None => false,
        }
    }

    fn client(&self) -> Result<&reqwest::Client, ModelFailure> {
        self.client.get_or_init(|| self.access.client(&self.options)).as_ref().map_err(Clone::clone)
    }

    /// Sends the request once and collects the answer.
    async fn send_once(
        &self,
        wire: WireRequest<'_>,
        collected: &mut Collected,
        parts: &Parts,
    ) -> Result<(), ModelFailure> {
        let [first_byte, idle, total] = self.options.timeouts.durations();
        let until = wire.until;
        let out_of_time = || {
            let words = format!("the answer was not complete after {} s", total.as_secs_f64());
            ModelFailure::new(Code::TimeoutTotal, words)
        };
        let nothing = || {
            let words = format!("nothing came from the server for {} s", first_byte.as_secs_f64());
            ModelFailure::new(Code::TimeoutFirstByte, words)
        };
        let first_until = Instant::now() + first_byte;
        let begin = async {
            let request = self.client()?.post(self.access.url()?.clone());
            let request = request.headers(wire.headers.clone()).body(wire.body);
            let mut response = request.send().await.map_err(|error| self.not_sent(&error))?;
            if !response.status().is_success() {
                return Err(read_refusal(response).await);
            }
            let first = response.chunk().await.map_err(|error| broken(&error))?;
            Ok((response, first))
        };
        let (mut response, mut next) = match timeout_at(first_until.min(until), begin).await {
            Ok(begun) => begun?,
            Err(_) if first_until < until => return Err(nothing()),
            Err(_) => return Err(out_of_time()),
        };
        let mut body = ResponseBody::of(&response);
        while let Some(bytes) = next {
            body.push(&bytes, collected, parts)?;
            let left = until.saturating_duration_since(Instant::now());
            next = match timeout(idle.min(left), response.chunk()).await {
                Ok(next) => next.map_err(|error| broken(&error))?,
                Err(_) if idle < left => {
                    let words = format!("the answer paused for {} s", idle.as_secs_f64());
                    return Err(ModelFailure::new(Code::TimeoutIdle, words));
                }
                Err(_) => return Err(out_of_time()),
            };
        }
        body.finish(collected, parts)
    }

    fn not_sent(&self, error: &reqwest::Error) -> ModelFailure {
        let place = self.access.url().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        match error {
            error if error.is_builder() => ModelFailure::new(Code::BadSettings, innermost_cause(error)),
            error if error.is_connect() => {
                ModelFailure::new(Code::Unreachable, format!("{place} cannot be reached: {}", innermost_cause(error)))
            }
            error => ModelFailure::new(
                Code::Unreachable,
                format!("{place} broke off the connection: {}", innermost_cause(error)),
            ),
        }
    }
}

/// The body of an answer: a stream of events, or one JSON object from a server that does not stream.
struct ResponseBody {
    events: SseParser,
    /// The bytes of the object, if the answer is not a stream.
    whole: Option<Vec<u8>>,
    size: usize,
}

impl ResponseBody {
    fn of(response: &Response) -> Self {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_stream = kind.trim().to_ascii_lowercase().starts_with("text/event-stream");
        Self { events: SseParser::default(), whole: (!is_stream).then(Vec::new), size: 0 }
    }

    fn push(&mut self, bytes: &[u8], collected: &mut Collected, parts: &Parts) -> Result<(), ModelFailure> {
        self.size += bytes.len();
        match &mut self.whole {
            None if self.size > MAX_STREAM_BYTES => Err(ModelFailure::too_large()),
            None => self.events.push(bytes, |data| collected.event(data, parts)),
            Some(_) if self.size > MAX_EVENT_BYTES => Err(ModelFailure::too_large()),
            Some(whole) => {
                // Some servers stream without the right content type.
                whole.extend_from_slice(bytes);
                if whole.len() >= 5 && whole.starts_with(b"data:") {
                    let begun = std::mem::take(whole);
                    self.whole = None;
                    return self.events.push(&begun, |data| collected.event(data, parts));
                }
                Ok(())
            }
        }
    }

    fn finish(&mut self, collected: &mut Collected, parts: &Parts) -> Result<(), ModelFailure> {
        let Some(whole) = &self.whole else { return self.events.finish(|data| collected.event(data, parts)) };
        match std::str::from_utf8(whole) {
            Ok(text) if text.trim().is_empty() => Err(ModelFailure::new(Code::Empty, "the server's answer is empty")),
            Ok(text) => collected.chunk(text, parts),
            Err(_) => Err(ModelFailure::new(Code::NotUtf8, "the server's answer is not UTF-8")),
        }
    }
}

/// Reads the error of a refused request.
async fn read_refusal(mut response: Response) -> ModelFailure {
    let status = response.status().as_u16();
    let after = retry_after(response.headers(), SystemTime::now());
    let mut body = Vec::new();
    while body.len() < MAX_ERROR_BYTES
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk[..chunk.len().min(MAX_ERROR_BYTES)]);
    }
    ModelFailure::of_status(status, &body, after)
}

/// The wait that the server asks for in `Retry-After`: seconds or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()),
    }
}

fn broken(error: &reqwest::Error) -> ModelFailure {
    let words = format!("the connection broke in the midst of the answer: {}", innermost_cause(error));
    ModelFailure::new(Code::CutOff, words)
}

/// The innermost cause, which is the most specific.
fn innermost_cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    shorten(&causes.last().map_or_else(|| "it cannot be sent".to_owned(), ToString::to_string))
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "openai:{} ({MASKED})", self.0.options.name)
    }
}
