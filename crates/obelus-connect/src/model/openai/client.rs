//! The client: one request, tried until it is answered, refused for good, or out of time.

use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use obelus_kernel::session::{Answer, Prompt};
use obelus_runtime::{AnswerFuture, MASKED, Model, Part, Parts, Secret};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::access::{Access, KEY};
use super::collect::Collected;
use super::failure::{Code, Failure, short};
use super::options::OpenAiOptions;
use super::patience::{Budget, pause};
use super::picture::Pictures;
use super::sse::{Events, MOST_EVENT_BYTES};
use super::wire::{Form, Learned, body};
use crate::model::{PromptOptions, render};

/// How much of the body of an error is read.
const MOST_OF_ERROR: usize = 16 * 1024;
/// What a whole stream may take on the wire. Each token comes in an event of its own, with much around it.
const MOST_STREAM_BYTES: usize = 64 * 1024 * 1024;
/// Ways to send a request that are found out one refusal after the other.
const MOST_LESSONS: usize = 5;

/// A model on a server that speaks OpenAI's protocol.
#[derive(Clone)]
pub struct OpenAi(Arc<Inner>);

struct Inner {
    options: OpenAiOptions,
    access: Access,
    /// Made when the first request needs it: loading the machine's certificates takes time.
    client: OnceLock<Result<reqwest::Client, Failure>>,
    learned: Mutex<Learned>,
    budget: Budget,
}

/// One way to send a request.
struct Sending<'a> {
    body: Vec<u8>,
    headers: &'a HeaderMap,
    form: Form,
    has_pictures: bool,
    until: Instant,
}

impl OpenAi {
    /// A model, and where it is asked.
    pub fn new(options: OpenAiOptions, access: Access) -> Self {
        let (client, learned, budget) = (OnceLock::new(), Mutex::default(), Budget::default());
        Self(Arc::new(Inner { options, access, client, learned, budget }))
    }
}

impl Model for OpenAi {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        self.ask_aloud(prompt, Parts::to_nobody())
    }

    fn ask_aloud(&self, prompt: Prompt, parts: Parts) -> AnswerFuture {
        let model = Arc::clone(&self.0);
        Box::pin(async move { model.answer(&prompt, &parts).await.unwrap_or_else(Failure::into_answer) })
    }
}

impl Inner {
    async fn answer(&self, prompt: &Prompt, parts: &Parts) -> Result<Answer, Failure> {
        self.options.check().map_err(|problem| Failure::new(Code::BadSettings, problem))?;
        let (headers, secrets) = self.access.headers(&self.options)?;
        let answer = self.tried(prompt, parts, &headers).await;
        let answer = answer.map_err(|failure| failure.without(secrets.iter().map(Secret::expose)));
        answer.map_err(|failure| match failure.code {
            Code::Unauthorised if !self.access.has_key() && self.options.headers.is_empty() => {
                let words = format!("{}; the environment has no {KEY}", failure.message);
                Failure::new(Code::NoKey, words)
            }
            _ => failure,
        })
    }

    /// Sends the request, as often and in as many ways as makes sense.
    async fn tried(&self, prompt: &Prompt, parts: &Parts, headers: &HeaderMap) -> Result<Answer, Failure> {
        let [_, _, total] = self.options.timeouts.durations();
        let until = Instant::now() + total;
        let (mut attempt, mut lessons) = (0, 0);
        loop {
            let sending = self.sending(prompt, headers, until).await?;
            let (form, has_pictures) = (sending.form, sending.has_pictures);
            let mut collected = Collected::new(prompt.dialect, parts.is_heard());
            let sent = self.sent(sending, &mut collected, parts).await;
            if let Some(used) = collected.used(self.options.price) {
                parts.tell(Part::Used(used));
            }
            let told = collected.told;
            let failure = match sent.and_then(|()| collected.into_answer()) {
                Ok(answer) => {
                    self.budget.earn();
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            if lessons < MOST_LESSONS && self.learn(&failure, form, has_pictures) {
                lessons += 1;
                continue;
            }
            // Words that somebody has read cannot be said again otherwise.
            if !failure.may_pass || told || attempt >= self.options.retries || !self.budget.take() {
                return Err(failure);
            }
            let pause = pause(&failure, attempt);
            if Instant::now() + pause >= until {
                let words = format!(
                    "{}; asking again has to wait {} s, and that is too long",
                    failure.message,
                    pause.as_secs()
                );
                return Err(Failure { message: words, ..failure });
            }
            sleep(pause).await;
            attempt += 1;
        }
    }

    async fn sending<'a>(
        &self,
        prompt: &Prompt,
        headers: &'a HeaderMap,
        until: Instant,
    ) -> Result<Sending<'a>, Failure> {
        let learned = *self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        let form = Form::of(prompt, self.options.structured, learned.form);
        let options = PromptOptions {
            language: prompt.language.clone(),
            without_schema: form == Form::Schema,
            images: self.options.images && learned.images,
        };
        let messages = render(prompt, &options).map_err(|error| Failure::new(Code::BadSettings, error.to_string()))?;
        let has_pictures = messages.iter().any(|message| !message.images.is_empty());
        let pictures = Pictures::of(&messages).await;
        let body = body(&self.options, (messages, &pictures), prompt, form, learned);
        Ok(Sending { body: body.to_string().into_bytes(), headers, form, has_pictures, until })
    }

    /// Remembers what a refusal teaches. Whether there is another way to ask.
    fn learn(&self, failure: &Failure, form: Form, has_pictures: bool) -> bool {
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_refusal = matches!(failure.code, Code::BadRequest | Code::UnknownModel | Code::ServerError);
        let without_pictures = if has_pictures && is_refusal { learned.after_pictures(&failure.message) } else { None };
        let otherwise = || match failure.code {
            Code::BadRequest => learned.after_refusal(&failure.message, form, &self.options),
            _ => None,
        };
        match without_pictures.or_else(otherwise) {
            Some(more) => {
                *learned = more;
                true
            }
            None => false,
        }
    }

    fn client(&self) -> Result<&reqwest::Client, Failure> {
        self.client.get_or_init(|| self.access.client(&self.options)).as_ref().map_err(Clone::clone)
    }

    /// Sends it once, and takes in what comes.
    async fn sent(&self, sending: Sending<'_>, collected: &mut Collected, parts: &Parts) -> Result<(), Failure> {
        let [first_byte, idle, total] = self.options.timeouts.durations();
        let until = sending.until;
        let out_of_time = || {
            let words = format!("the answer was not complete after {} s", total.as_secs_f64());
            Failure::new(Code::TimeoutTotal, words)
        };
        let nothing = || {
            let words = format!("nothing came from the server for {} s", first_byte.as_secs_f64());
            Failure::new(Code::TimeoutFirstByte, words)
        };
        let first_until = Instant::now() + first_byte;
        let begin = async {
            let request = self.client()?.post(self.access.url()?.clone());
            let request = request.headers(sending.headers.clone()).body(sending.body);
            let mut response = request.send().await.map_err(|error| self.not_sent(&error))?;
            if !response.status().is_success() {
                return Err(refused(response).await);
            }
            let first = response.chunk().await.map_err(|error| broken(&error))?;
            Ok((response, first))
        };
        let (mut response, mut next) = match timeout_at(first_until.min(until), begin).await {
            Ok(begun) => begun?,
            Err(_) if first_until < until => return Err(nothing()),
            Err(_) => return Err(out_of_time()),
        };
        let mut body = Body::of(&response);
        while let Some(bytes) = next {
            body.push(&bytes, collected, parts)?;
            let left = until.saturating_duration_since(Instant::now());
            next = match timeout(idle.min(left), response.chunk()).await {
                Ok(next) => next.map_err(|error| broken(&error))?,
                Err(_) if idle < left => {
                    let words = format!("the answer stopped in its midst for {} s", idle.as_secs_f64());
                    return Err(Failure::new(Code::TimeoutIdle, words));
                }
                Err(_) => return Err(out_of_time()),
            };
        }
        body.finish(collected, parts)
    }

    fn not_sent(&self, error: &reqwest::Error) -> Failure {
        let place = self.access.url().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        match error {
            error if error.is_builder() => Failure::new(Code::BadSettings, cause(error)),
            error if error.is_connect() => {
                Failure::new(Code::Unreachable, format!("{place} cannot be reached: {}", cause(error)))
            }
            error => Failure::new(Code::Unreachable, format!("{place} broke off the connection: {}", cause(error))),
        }
    }
}

/// What comes: a stream of events, or one JSON object from a server that does not stream.
struct Body {
    events: Events,
    /// The object, where it is one.
    whole: Option<Vec<u8>>,
    size: usize,
}

impl Body {
    fn of(response: &Response) -> Self {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_stream = kind.trim().to_ascii_lowercase().starts_with("text/event-stream");
        Self { events: Events::default(), whole: (!is_stream).then(Vec::new), size: 0 }
    }

    fn push(&mut self, bytes: &[u8], collected: &mut Collected, parts: &Parts) -> Result<(), Failure> {
        self.size += bytes.len();
        match &mut self.whole {
            None if self.size > MOST_STREAM_BYTES => Err(Failure::too_large()),
            None => self.events.push(bytes, |data| collected.event(data, parts)),
            Some(_) if self.size > MOST_EVENT_BYTES => Err(Failure::too_large()),
            Some(whole) => {
                // Some servers forget to say that they stream.
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

    fn finish(&mut self, collected: &mut Collected, parts: &Parts) -> Result<(), Failure> {
        let Some(whole) = &self.whole else { return self.events.finish(|data| collected.event(data, parts)) };
        match std::str::from_utf8(whole) {
            Ok(text) if text.trim().is_empty() => Err(Failure::new(Code::Empty, "the server's answer is empty")),
            Ok(text) => collected.chunk(text, parts),
            Err(_) => Err(Failure::new(Code::NotUtf8, "the server's answer is not UTF-8")),
        }
    }
}

/// An answer that says no.
async fn refused(mut response: Response) -> Failure {
    let status = response.status().as_u16();
    let after = retry_after(response.headers(), SystemTime::now());
    let mut body = Vec::new();
    while body.len() < MOST_OF_ERROR
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk[..chunk.len().min(MOST_OF_ERROR)]);
    }
    Failure::of_status(status, &body, after)
}

/// When the server wants to be asked again: in so many seconds, or at a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()),
    }
}

fn broken(error: &reqwest::Error) -> Failure {
    let words = format!("the connection broke in the midst of the answer: {}", cause(error));
    Failure::new(Code::CutOff, words)
}

/// The innermost cause, which is the one that tells.
fn cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    short(&causes.last().map_or_else(|| "it cannot be sent".to_owned(), ToString::to_string))
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "openai:{} ({MASKED})", self.0.options.name)
    }
}
