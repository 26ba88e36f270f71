//! HTTP requests as activities, made from templates over `{call, tool, scope, key}`.
//!
//! The binding fixes the host: neither a value of the call nor a redirect can change it.

mod address;
mod answer;
mod body;
mod client;
mod redirect;
mod template;

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::{Serde, Value as Given};
use obelus_kernel::Effect;
use obelus_kernel::session::{CallError, FailureCode, Outcome};
use obelus_runtime::{Activity, ActivityFuture, ReconcileFuture, Reconciled, Secret, Work};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;

use self::address::AddressTemplate;
#[cfg(feature = "bitrix24")]
pub(crate) use self::answer::cause as innermost;
use self::body::BodyTemplate;
pub(super) use self::client::LazyClient;
use self::redirect::Redirects;
use self::template::TextTemplate;
use super::binding::{BindingError, BindingFields};
use super::messages;
use super::retry::{AttemptFailure, Retry};
use super::secret_name::register;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request that carries out calls.
pub(super) struct Http {
    endpoint: Arc<Endpoint>,
    /// Reconciles a call whose answer was lost: a request, and the place of the result in its answer.
    reconciler: Option<Arc<(Endpoint, String)>>,
    retry: Retry,
    limit: Option<Duration>,
}

struct Endpoint {
    client: LazyClient,
    method: TextTemplate,
    address: AddressTemplate,
    headers: Vec<(HeaderName, TextTemplate)>,
    body: Option<BodyTemplate>,
    /// Variables of the environment that headers may use.
    secrets: Vec<String>,
}

/// A request that can be sent several times.
struct HttpRequest {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    /// Whether the tool only reads.
    is_read: bool,
}

impl Http {
    pub(super) fn parse(fields: &BindingFields<'_>, client: &LazyClient) -> Result<Self, BindingError> {
        let (retry, limit, secrets) = (fields.retry()?, fields.own_time_limit()?, fields.texts("secrets")?);
        secrets.iter().for_each(|name| register(name).iter().for_each(|secret| secret.declare(name)));
        let http = fields.inner("http", "http.", &["method", "url", "headers", "body"])?;
        let endpoint = Endpoint::parse(&http, client, &secrets)?;
        let reconciler = match fields.get("reconcile") {
            None => None,
            Some(_) => {
                let known = ["method", "url", "headers", "body", "found"];
                let reconciler = fields.inner("reconcile", "reconcile.", &known)?;
                let found = reconciler.text("found")?.unwrap_or_default();
                if !found.is_empty() && !found.starts_with('/') {
                    return Err(reconciler.wrong("found", "it is a JSON pointer into the answer, such as /items/0"));
                }
                Some(Arc::new((Endpoint::parse(&reconciler, client, &secrets)?, found.to_owned())))
            }
        };
        Ok(Self { endpoint: Arc::new(endpoint), reconciler, retry, limit })
    }
}

impl Activity for Http {
    fn run(&self, work: Work) -> ActivityFuture {
        let endpoint = Arc::clone(&self.endpoint);
        let retry = self.retry;
        Box::pin(async move {
            let result = match endpoint.secrets() {
                Ok(secrets) => endpoint.run(&work, &secrets, retry).await,
                Err(name) => {
                    Err(CallError::new(FailureCode::NoSecret, format!("the environment has no `{name}`; set it")))
                }
            };
            match result.and_then(|value| messages::outcome_of(value).map_err(CallError::after_success)) {
                Err(error) if is_lost(&error) && !work.tool.idempotent => Outcome::Lost { message: error.message },
                Err(error) if matches!(error.code, FailureCode::Http(500..=599)) => {
                    Outcome::Error(error.perhaps_after_effect())
                }
                result => result.unwrap_or_else(Outcome::Error),
            }
        })
    }

    fn reconcile(&self, work: Work) -> Option<ReconcileFuture> {
        let reconciler = Arc::clone(self.reconciler.as_ref()?);
        let retry = self.retry;
        Some(Box::pin(async move {
            let (endpoint, found) = &*reconciler;
            let secrets = match endpoint.secrets() {
                Ok(secrets) => secrets,
                Err(name) => {
                    let words = format!("the look at it needs `{name}`, which the environment has not");
                    return Reconciled::Unknown(words);
                }
            };
            // Reconciling is a read, whatever the call's effect.
            let looked = match endpoint.request(&work, &secrets, true) {
                Ok(request) => retry.run(Effect::Read, || endpoint.send(&request)).await,
                Err(error) => Err(error),
            };
            match looked {
                Ok(answer) => match answer.pointer(found) {
                    None | Some(Value::Null | Value::Bool(false)) => Reconciled::DidNot,
                    Some(Value::Array(items)) if items.is_empty() => Reconciled::DidNot,
                    Some(result) => Reconciled::Happened(Outcome::Value(result.clone())),
                },
                Err(error) if error.code == FailureCode::Http(404) => Reconciled::DidNot,
                Err(error) => Reconciled::Unknown(format!("the look at it failed: {}", error.message)),
            }
        }))
    }

    fn time_limit(&self) -> Option<Duration> {
        self.limit
    }
}

/// Whether the request may have been carried out without an answer: the connection broke, a gateway gave up, or the
/// answer leads to another page.
fn is_lost(error: &CallError) -> bool {
    use FailureCode::{Http, LostAnswer, Redirected};
    matches!(error.code, LostAnswer | Redirected | Http(301..=303 | 502 | 504))
}

impl Endpoint {
    fn parse(http: &BindingFields<'_>, client: &LazyClient, secrets: &[String]) -> Result<Self, BindingError> {
        let wrong = |field: &str| {
            let field = field.to_owned();
            move |problem: String| http.wrong(&field, problem)
        };
        let url = http.text("url")?.ok_or_else(|| http.mistyped("url", "a text", None))?;
        let address = AddressTemplate::parse(url).map_err(wrong("url"))?;

        let body = http.get("body").map(BodyTemplate::parse).transpose().map_err(wrong("body"))?;

        let method = http.text("method")?.unwrap_or(if body.is_some() { "POST" } else { "GET" });
        let method = TextTemplate::text(method, &[]).map_err(wrong("method"))?;
        if method.fixed() == method.source() {
            method_of(method.source()).map_err(wrong("method"))?;
        }

        let mut headers = Vec::new();
        match http.get("headers") {
            None => {}
            Some(Value::Object(map)) => {
                for (name, value) in map {
                    let field = format!("headers.{name}");
                    let Value::String(text) = value else {
                        return Err(http.mistyped(&field, "a text", Some(value)));
                    };
                    let header = name.parse().map_err(|_| http.wrong(&field, "this cannot be the name of a header"))?;
                    headers.push((header, TextTemplate::text(text, secrets).map_err(wrong(&field))?));
                }
            }
            other => return Err(http.mistyped("headers", "an object of texts", other)),
        }
        Ok(Self { client: client.clone(), method, address, headers, body, secrets: secrets.to_vec() })
    }

    /// The secrets by name, read for each request and not stored; or the name of one that is not set.
    fn secrets(&self) -> Result<Vec<(&str, Secret)>, &str> {
        let secret = |name| Secret::from_env(name).map(|secret| (name, secret)).ok_or(name);
        self.secrets.iter().map(|name| secret(name.as_str())).collect()
    }

    async fn run(&self, work: &Work, secrets: &[(&str, Secret)], retry: Retry) -> Result<Value, CallError> {
        let request = self.request(work, secrets, work.tool.effect == Effect::Read)?;
        retry.run(work.tool.effect, || self.send(&request)).await
    }

    fn request(&self, work: &Work, secrets: &[(&str, Secret)], is_read: bool) -> Result<HttpRequest, CallError> {
        let given = minijinja::context! {
            call => Given::from(Serde(&*work.call)),
            tool => Given::from(Serde(&work.tool.schema)),
            scope => Given::from(Serde(&work.scope)),
            key => work.key.as_str(),
        };
        let method = self.method.render(&given)?;
        let method = method_of(&method).map_err(|problem| CallError::new("bad_method", problem))?;
        let url = self.address.render(&given)?;
        let body = self.body.as_ref().map(|body| body.fill(&given)).transpose()?.flatten();

        let mut headers = HeaderMap::new();
        if method != Method::GET {
            headers.insert(IDEMPOTENCY_KEY, header(&IDEMPOTENCY_KEY, &work.key)?);
        }
        let body = body.map(|body| match body {
            Value::String(text) => ("text/plain; charset=utf-8", text.into_bytes()),
            json => ("application/json", json.to_string().into_bytes()),
        });
        if let Some((kind, _)) = &body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        // Only headers can use secrets.
        let secrets = Given::from_pairs(secrets.iter().map(|(name, secret)| (*name, secret.expose())));
        let given = minijinja::context! { env => secrets, ..given };
        for (name, text) in &self.headers {
            let text = text.render(&given)?;
            if !text.is_empty() {
                headers.insert(name, header(name, &text)?);
            }
        }
        Ok(HttpRequest { method, url, headers, body: body.map(|(_, bytes)| bytes), is_read })
    }

    async fn send(&self, request: &HttpRequest) -> Result<Value, AttemptFailure> {
        let client = self.client.get()?;
        let is_get = [Method::GET, Method::HEAD].contains(&request.method);
        let mut redirects = Redirects::new(&request.url, request.is_read && is_get);
        let mut url = request.url.clone();
        loop {
            let mut builder = client.request(request.method.clone(), url.clone()).headers(request.headers.clone());
            if let Some(body) = &request.body {
                builder = builder.body(body.clone());
            }
            let answer = builder.send().await.map_err(|error| answer::not_sent(&error, &url))?;
            match redirects.next(answer.status(), answer.headers(), &url)? {
                Some(next) => url = next,
                None => return answer::read(answer).await,
            }
        }
    }
}

fn method_of(text: &str) -> Result<Method, String> {
    let method = Method::from_bytes(text.trim().to_ascii_uppercase().as_bytes());
    method.map_err(|_| format!("`{text}` is no method; GET, POST, PUT, PATCH and DELETE are"))
}

/// The value may hold a secret, so the error does not show it.
fn header(name: &HeaderName, text: &str) -> Result<HeaderValue, CallError> {
    let mut value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
        CallError::new("bad_header", format!("the value of `{name}` has a line break or another control character"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}
