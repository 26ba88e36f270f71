//! The activity `bitrix24`: a call becomes a request to the portal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use obelus_kernel::session::{CallError, Outcome};
use obelus_kernel::{Call, Effect};
use obelus_runtime::{Activity, ActivityFuture, ReconcileFuture, Reconciled, Secret, Work};
use obelus_words::{Language, PortalWords, fill};
use serde_json::{Map, Value};

use super::annotation::Annotation;
use super::embed_key;
use super::errors::PortalFailure;
use super::keyed::{KeyedCreation, is_not_offered};
use super::names::{NameCache, Namer};
use super::pace::Rate;
use super::page::ListRequest;
use super::portal::{WebhookQueue, locked};
use super::webhook::Webhook;
use super::wire::{self, HttpVerb, PortalRequest};
use crate::activity::secret_name::register;
use crate::activity::{BindingError, BindingFields};

/// The time limit of a call, including the wait for its turn.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// How often a reconciling read is retried if its answer is lost. It does no harm; the alternative is to ask a
/// person.
const MOST_TRIES: u32 = 4;

/// The first pause between reconciling reads of an effect that may still be under way. Later pauses are longer.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// The fields of a binding.
const KNOWN: [&str; 6] = ["webhook", "application_token", "rate", "patience", "settle", "language"];

/// The settings of a portal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The rate limit; none if the portal has none.
    pub rate: Option<Rate>,
    /// How long a call may wait for a busy portal.
    pub patience: Duration,
    /// How long an effect may still happen after its answer was lost. The portal ends a request after a minute.
    pub settle: Duration,
    /// The time limit of a call.
    pub time_limit: Duration,
    /// The language of hints in errors.
    pub language: Language,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rate: Some(Rate::default()),
            patience: Duration::from_secs(120),
            settle: Duration::from_secs(60),
            time_limit: TIME_LIMIT,
            language: Language::English,
        }
    }
}

/// Where the webhook comes from.
#[derive(Clone, Debug)]
enum WebhookSource {
    /// A variable of the environment, read when it is needed.
    Variable(String),
    Given(Webhook),
}

/// The activity `bitrix24`.
#[derive(Clone, Debug)]
pub struct Bitrix24 {
    source: WebhookSource,
    options: Options,
    /// The names that the session has looked up.
    names: Arc<NameCache>,
}

impl Bitrix24 {
    /// An activity for a portal whose webhook is in this environment variable.
    pub fn from_env(variable: impl Into<String>, options: Options) -> Self {
        let variable = variable.into();
        let registered = register(&variable);
        let activity = Self { source: WebhookSource::Variable(variable), options, names: Arc::default() };
        if registered.is_some() {
            // Reading the webhook registers its token too. Errors are reported by the first call.
            drop(activity.webhook());
        }
        activity
    }

    /// An activity for a portal with this webhook.
    pub fn new(webhook: Webhook, options: Options) -> Self {
        Self { source: WebhookSource::Given(webhook), options, names: Arc::default() }
    }

    pub(crate) fn parse(fields: &BindingFields<'_>) -> Result<Self, BindingError> {
        let inner = fields.inner("bitrix24", "bitrix24.", &KNOWN)?;
        let webhook = inner
            .text("webhook")?
            .ok_or_else(|| inner.mistyped("webhook", "the name of a variable of the environment", None))?;
        let is_name =
            |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        // Only the name is checked here; the event listener reads the value.
        let token = inner.text("application_token")?.map(|name| name.strip_prefix('$').unwrap_or(name));
        if token.is_some_and(|name| !is_name(&name)) {
            let problem =
                "the token is a secret: put it into a variable of the environment, and write the variable's name here";
            return Err(inner.wrong("application_token", problem));
        }
        drop(token.and_then(register));
        let Some(variable) = Some(webhook.strip_prefix('$').unwrap_or(webhook)).filter(is_name) else {
            let problem = "the address is a secret: put it into a variable of the environment, and write the variable's name here";
            return Err(inner.wrong("webhook", problem));
        };
        let mut options = Options { rate: rate(&inner)?, ..Options::default() };
        if fields.get("timeout").is_some() {
            options.time_limit = fields.time_limit()?;
        }
        for (name, option) in [("patience", &mut options.patience), ("settle", &mut options.settle)] {
            if let Some(value) = inner.get(name) {
                let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                *option = seconds.ok_or_else(|| inner.mistyped(name, "a number of seconds", Some(value)))?;
            }
        }
        options.language = match inner.text("language")? {
            None | Some("en") => Language::English,
            Some("ru") => Language::Russian,
            Some(other) => return Err(inner.wrong("language", format!("it must be en or ru; it is `{other}`"))),
        };
        Ok(Self::from_env(variable, options))
    }

    fn webhook(&self) -> Result<Webhook, CallError> {
        let variable = match &self.source {
            WebhookSource::Given(webhook) => return Ok(webhook.clone()),
            WebhookSource::Variable(variable) => variable,
        };
        let Some(secret) = Secret::from_env(variable) else {
            let words = fill(self.options.language.words().portal.no_webhook, &[variable]);
            return Err(CallError::new("no_webhook", words));
        };
        Webhook::parse(secret.expose()).map_err(|error| CallError::new("bad_webhook", format!("{variable}: {error}")))
    }

    fn job(&self, work: &Work) -> Result<PortalCall, CallError> {
        let webhook = self.webhook()?;
        let annotation = Annotation::of(&work.tool).map_err(|error| CallError::new("bad_tool", error))?;
        let is_read = work.tool.effect == Effect::Read;
        let (annotation, mut params) = annotation.for_call(params_of(work));
        let method = annotation.method.clone().unwrap_or_else(|| work.tool.name.clone());
        let verb = verb_of(work)?;
        if !is_read && wire::mentions_results(&params) {
            let text =
                "a parameter refers to `$result[…]`, which means nothing outside of a batch; give the value itself";
            return Err(CallError::new("unresolved_reference", text));
        }
        if let Some(name) = wire::misread_name(&params) {
            let text = format!("`{name}` is no name of a parameter: the portal would read it as another one");
            return Err(CallError::new("bad_name", text));
        }
        if let Some((one, other)) = wire::doubled_name(&params).filter(|_| !is_read) {
            let text = format!("`{one}` and `{other}` are one name to the portal: give it once");
            return Err(CallError::new("bad_name", text));
        }
        let key = embed_key::key_of(&work.key, &params);
        let line = WebhookQueue::to(&webhook, self.options.rate);
        let keyed = annotation.keyed.as_ref().and_then(|keyed| keyed.params(&params, &key, webhook.user()));
        let planted = !is_read && embed_key::embed_key(&annotation, &key, &mut params);
        let request = PortalRequest { verb, ..PortalRequest::post(&method, params) };
        let names = Arc::clone(&self.names);
        Ok(PortalCall { line, annotation, request, is_read, key, planted, keyed, options: self.options, names })
    }
}

/// The rate limit in a binding.
fn rate(fields: &BindingFields<'_>) -> Result<Option<Rate>, BindingError> {
    let what = "`off`, or an object such as {burst: 50, per_second: 2} with numbers above 0";
    match fields.get("rate") {
        None => Ok(Some(Rate::default())),
        Some(Value::Bool(false)) => Ok(None),
        Some(Value::String(text)) if text == "off" => Ok(None),
        Some(value @ Value::Object(_)) => {
            let rate = fields.inner("rate", "bitrix24.rate.", &["burst", "per_second"])?;
            let usual = Rate::default();
            let number = |name: &str, usual: f64| match rate.get(name) {
                None => Some(usual),
                Some(value) => value.as_f64().filter(|number| *number > 0.0 && number.is_finite()),
            };
            match (number("burst", usual.burst), number("per_second", usual.per_second)) {
                (Some(burst), Some(per_second)) => Ok(Some(Rate { burst, per_second })),
                _ => Err(fields.wrong("rate", format!("it must be {what}; it is {value}"))),
            }
        }
        other => Err(fields.mistyped("rate", what, other)),
    }
}

/// The parameters for the portal, without those for the engine.
fn params_of(work: &Work) -> Map<String, Value> {
    let fields = work.call.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| Call::is_param(name, &work.tool))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn verb_of(work: &Work) -> Result<HttpVerb, CallError> {
    match work.call.get("http_method").filter(|_| work.tool.param("http_method").is_none()) {
        None | Some(Value::Null) => Ok(HttpVerb::Post),
        Some(Value::String(verb)) if verb.eq_ignore_ascii_case("POST") => Ok(HttpVerb::Post),
        Some(Value::String(verb)) if verb.eq_ignore_ascii_case("GET") => Ok(HttpVerb::Get),
        Some(other) => Err(CallError::new("bad_http_method", format!("`http_method` is GET or POST, not {other}"))),
    }
}

/// A call in progress.
struct PortalCall {
    line: Arc<WebhookQueue>,
    annotation: Annotation,
    request: PortalRequest,
    is_read: bool,
    /// The key that marks the created record.
    key: String,
    planted: bool,
    /// The parameters of the method with an idempotency key, if the call fits it.
    keyed: Option<Map<String, Value>>,
    options: Options,
    names: Arc<NameCache>,
}

impl PortalCall {
    async fn run(self) -> Outcome {
        let result = self.result().await;
        if !self.is_read {
            self.names.clear();
        }
        match result {
            Ok(mut value) => {
                if !self.annotation.names.is_empty() {
                    self.namer().add_names(&self.annotation.names, &mut value).await;
                }
                Outcome::Value(value)
            }
            Err(PortalFailure::Lost(cause)) if !self.is_read => {
                let words = self.words().lost;
                Outcome::Lost { message: format!("{}: {words}: {cause}", self.line.webhook.portal()) }
            }
            Err(failure @ PortalFailure::TooLarge) if !self.is_read => {
                Outcome::Lost { message: self.error(failure).message }
            }
            Err(failure) => Outcome::Error(self.error(failure)),
        }
    }

    fn namer(&self) -> Namer<'_> {
        let Options { patience, language, .. } = self.options;
        Namer { line: &self.line, cache: &self.names, patience, language }
    }

    fn error(&self, failure: PortalFailure) -> CallError {
        failure.into_error(&self.request.method, self.line.webhook.portal(), self.options.language)
    }

    async fn result(&self) -> Result<Value, PortalFailure> {
        let (line, patience) = (&self.line, self.options.patience);
        if let (true, Some(list)) = (self.is_read, self.annotation.list()) {
            let lister = ListRequest { line, list: &list, patience, language: self.options.language };
            let result = lister.run(self.request.clone()).await?;
            return Ok(if self.annotation.result.is_some() { lister.bare(result) } else { result });
        }
        if let Some(result) = self.keyed_result().await {
            return result;
        }
        let request = &self.request;
        let answer = if self.is_read {
            line.tried(&request.method, true, patience, || line.read(request)).await?
        } else {
            line.tried(&request.method, false, patience, || line.send(request)).await?
        };
        Ok(match &self.annotation.result {
            Some(field) => answer.result.get(field).cloned().unwrap_or_default(),
            None => answer.result,
        })
    }

    /// The method with an idempotency key and its parameters, if the call fits it and the portal offers it.
    fn keyed(&self) -> Option<(&KeyedCreation, &Map<String, Value>)> {
        let keyed = self.annotation.keyed.as_ref()?;
        let is_offered = !locked(&self.line.portal.not_offered).contains(&keyed.method);
        Some((keyed, self.keyed.as_ref().filter(|_| is_offered)?))
    }

    /// Creates with an idempotency key, so that the request may be repeated. None if the portal does not offer the
    /// method.
    async fn keyed_result(&self) -> Option<Result<Value, PortalFailure>> {
        let (keyed, params) = self.keyed()?;
        let request =
            PortalRequest { key: Some(self.key.clone()), ..PortalRequest::new_post(&keyed.method, params.clone()) };
        let answer = self.line.tried(&request.method, true, self.options.patience, || self.line.send(&request)).await;
        match answer {
            Ok(answer) => Some(Ok(keyed.returned(&answer.result))),
            Err(failure) if is_not_offered(&failure) => {
                locked(&self.line.portal.not_offered).insert(keyed.method.clone());
                None
            }
            Err(failure) => Some(Err(failure)),
        }
    }

    /// Looks for a record created with an idempotency key. None if the portal does not offer the method.
    async fn find_keyed(&self) -> Option<Reconciled> {
        let (keyed, params) = self.keyed()?;
        let asked = embed_key::filled_fields(&keyed.find.params, &self.key, params)?;
        let request = PortalRequest::new_post(&keyed.find.method, asked);
        let answer = self.line.tried(&request.method, true, self.options.patience, || self.line.send(&request)).await;
        Some(match answer {
            Ok(answer) => match keyed.find.found(&answer.result, &self.key) {
                Ok(Some(value)) => Reconciled::Happened(Outcome::Value(value)),
                Ok(None) => Reconciled::DidNot,
                Err(error) => Reconciled::Unknown(error),
            },
            Err(failure) if is_not_offered(&failure) => return None,
            Err(failure) => {
                let words = self.words().look_failed;
                Reconciled::Unknown(format!("{words}: {}", self.error(failure).message))
            }
        })
    }

    /// Checks whether the effect happened. A missing record may still be on its way, so it is looked for until the
    /// portal would have given up.
    async fn reconcile_until_settled(self) -> Reconciled {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.reconcile_once().await {
                Reconciled::DidNot if began.elapsed() < self.options.settle => {
                    let left = self.options.settle.saturating_sub(began.elapsed());
                    tokio::time::sleep(pause.min(left)).await;
                    pause *= 2;
                }
                found => return found,
            }
        }
    }

    async fn reconcile_once(&self) -> Reconciled {
        if let Some(found) = self.find_keyed().await {
            return found;
        }
        let params = &self.request.params;
        let (method, template) = match (&self.annotation.find, &self.annotation.same) {
            (Some(find), _) if self.planted => (&find.method, &find.params),
            (_, Some(same)) => (&same.method, &same.params),
            _ => return Reconciled::Unknown(self.words().no_look.to_owned()),
        };
        let Some(asked) = embed_key::filled_fields(template, &self.key, params) else {
            return Reconciled::Unknown(self.words().look_lacks.to_owned());
        };
        let request = PortalRequest::post(method, asked);
        let mut tries = 1;
        let answer = loop {
            match self.line.tried(method, true, self.options.patience, || self.line.read(&request)).await {
                Err(PortalFailure::Lost(_)) if tries < MOST_TRIES => tries += 1,
                answer => break answer,
            }
        };
        let result = match answer {
            Ok(answer) => answer.result,
            Err(failure) => {
                let words = self.words().look_failed;
                return Reconciled::Unknown(format!("{words}: {}", self.error(failure).message));
            }
        };
        match (&self.annotation.find, &self.annotation.same) {
            (Some(find), _) if self.planted => match find.found(&result, &self.key) {
                Ok(Some(value)) => Reconciled::Happened(Outcome::Value(value)),
                Ok(None) => Reconciled::DidNot,
                Err(error) => Reconciled::Unknown(error),
            },
            (_, Some(same)) => {
                match same.holds(&result, params) {
                    Some(true) => Reconciled::Happened(Outcome::Value(Value::Bool(true))),
                    // The record may have been changed since.
                    _ => Reconciled::Unknown(self.words().not_as_set.to_owned()),
                }
            }
            _ => Reconciled::Unknown(String::new()),
        }
    }

    fn words(&self) -> &'static PortalWords {
        &self.options.language.words().portal
    }
}

impl Activity for Bitrix24 {
    fn run(&self, work: Work) -> ActivityFuture {
        match self.job(&work) {
            Ok(job) => Box::pin(job.run()),
            Err(error) => Box::pin(std::future::ready(Outcome::Error(error))),
        }
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(self.options.time_limit)
    }

    fn reconcile(&self, work: Work) -> Option<ReconcileFuture> {
        let job = self.job(&work).ok()?;
        let can_tell = (job.planted && job.annotation.find.is_some()) || job.annotation.same.is_some();
        can_tell.then(|| -> ReconcileFuture { Box::pin(job.reconcile_until_settled()) })
    }
}
