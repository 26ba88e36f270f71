//! One request, and the elicitations while it runs.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use obelus_runtime::text::clip;
use obelus_runtime::{Elicited, Elicitor};
use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
    InputResponses,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::connection::Connection;
use super::error::{McpError, McpErrorKind};
use super::handler::{ServerQuestion, form_of};

/// How often a server may ask for input before it must return a result.
const MOST_ROUNDS: usize = 10;

/// The number of characters shown of a question.
const MOST_WORDS: usize = 4000;

/// A person's answer. Dropping it withdraws the question.
pub type AskedFuture<'a> = Pin<Box<dyn Future<Output = Elicited> + Send + 'a>>;

/// Asks a person during a call.
pub trait Elicit: Send + Sync {
    /// Asks a person. The text and the answer's schema come from a server and are untrusted.
    fn ask(&self, words: String, schema: Value) -> AskedFuture<'_>;
}

impl Elicit for Elicitor {
    fn ask(&self, words: String, schema: Value) -> AskedFuture<'_> {
        Box::pin(Elicitor::ask(self, words, schema))
    }
}

/// The remaining time of a call. It is paused while a person is asked.
pub(super) struct CallTimer {
    pub(super) left: Duration,
}

impl CallTimer {
    fn spent(&mut self, since: Instant) {
        self.left = self.left.saturating_sub(since.elapsed());
    }
}

/// Makes a call, in as many rounds as the server needs.
pub(super) async fn call(
    connection: &Connection,
    mut params: CallToolRequestParams,
    elicitor: Option<&dyn Elicit>,
    clock: &mut CallTimer,
) -> Result<rmcp::model::CallToolResult, McpError> {
    for _ in 0..MOST_ROUNDS {
        match once(connection, params.clone(), elicitor, clock).await? {
            CallToolResponse::Complete(result) => return Ok(result),
            CallToolResponse::InputRequired(asks) => {
                params.request_state = asks.request_state.clone();
                params.input_responses = Some(answers(connection, asks, elicitor).await?);
            }
            _ => {
                let words = "it made a task of the call, to be looked at later; tasks are not supported";
                return Err(connection.error(McpErrorKind::Garbage, words));
            }
        }
    }
    Err(connection.error(McpErrorKind::Said, format!("it asked {MOST_ROUNDS} times for more and has no result")))
}

/// One request. Dropping it cancels the request at the server.
async fn once(
    connection: &Connection,
    params: CallToolRequestParams,
    elicitor: Option<&dyn Elicit>,
    clock: &mut CallTimer,
) -> Result<CallToolResponse, McpError> {
    let mut registered = elicitor.map(|elicitor| (elicitor, connection.shared.register_call()));
    let mut too_long = connection.too_long.clone();
    too_long.mark_unchanged();
    let response = connection.peer.call_tool_once(params);
    tokio::pin!(response);
    let mut asking: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
    loop {
        let since = Instant::now();
        let is_asking = asking.is_some();
        tokio::select! {
            biased;
            () = line_too_long(&mut too_long) => {
                return Err(connection.error(McpErrorKind::TooLarge, "it sent a message that is too large, which was dropped"));
            }
            result = &mut response => return match result {
                Ok(response) => Ok(response),
                Err(error) => Err(connection.failed(error).await),
            },
            () = or_never(&mut asking) => asking = None,
            question = next(&mut registered), if !is_asking => {
                clock.spent(since);
                let (elicitor, question) = question;
                asking = Some(Box::pin(put(connection, elicitor, question)));
            }
            () = tokio::time::sleep(clock.left), if !is_asking => {
                return Err(connection.failed(ServiceError::Timeout { timeout: clock.left }).await);
            }
        }
        if !is_asking && asking.is_none() {
            clock.spent(since);
        }
    }
}

async fn line_too_long(seen: &mut watch::Receiver<u64>) {
    if seen.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn or_never(asking: &mut Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>>) {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

type RegisteredCall<'a> =
    (&'a dyn Elicit, (super::handler::CallRegistration, tokio::sync::mpsc::Receiver<ServerQuestion>));

async fn next<'a>(registered: &mut Option<RegisteredCall<'a>>) -> (&'a dyn Elicit, ServerQuestion) {
    if let Some((elicitor, (_, questions))) = registered
        && let Some(question) = questions.recv().await
    {
        return (*elicitor, question);
    }
    std::future::pending().await
}

/// Asks a person a question until it is answered or withdrawn.
async fn put(connection: &Connection, elicitor: &dyn Elicit, question: ServerQuestion) {
    let ServerQuestion { words, schema, mut answer } = question;
    let elicited = tokio::select! {
        elicited = elicitor.ask(connection.words_of(&words), schema.clone()) => elicited,
        () = answer.closed() => return,
    };
    let _ = answer.send(result_of(elicited, &schema));
}

/// Answers the questions in a result. The call's time is paused meanwhile.
async fn answers(
    connection: &Connection,
    asks: InputRequiredResult,
    elicitor: Option<&dyn Elicit>,
) -> Result<InputResponses, McpError> {
    let mut answers = InputResponses::new();
    for (key, request) in asks.input_requests.unwrap_or_default() {
        let answer = match request {
            InputRequest::Elicitation(request) => {
                let result = match (form_of(request.params), elicitor) {
                    (Some((words, schema)), Some(elicitor)) => {
                        let elicited = elicitor.ask(connection.words_of(&words), schema.clone()).await;
                        result_of(elicited, &schema)
                    }
                    _ => ElicitResult::new(ElicitationAction::Decline),
                };
                serde_json::to_value(result).unwrap_or_else(|_| json!({"action": "cancel"}))
            }
            InputRequest::ListRoots(_) => json!({"roots": []}),
            _ => {
                let words = "it asks for a model of ours to work for it, which it was not offered";
                return Err(connection.error(McpErrorKind::Said, words));
            }
        };
        answers.insert(key, answer);
    }
    Ok(answers)
}

/// The answer for a server. A form is an object: a bare value becomes its only field.
fn result_of(elicited: Elicited, schema: &Value) -> ElicitResult {
    let content = match elicited {
        Elicited::Value(value @ Value::Object(_)) => value,
        Elicited::Value(value) => {
            let fields = schema.get("properties").and_then(Value::as_object);
            match fields.map(|fields| fields.keys().collect::<Vec<_>>()).as_deref() {
                Some([only]) => json!({ only.as_str(): value }),
                _ => return ElicitResult::new(ElicitationAction::Cancel),
            }
        }
        Elicited::Declined(_) => return ElicitResult::new(ElicitationAction::Decline),
        Elicited::Gone => return ElicitResult::new(ElicitationAction::Cancel),
    };
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

impl Connection {
    /// A question of the server, prefixed with its name because the text is not ours.
    fn words_of(&self, words: &str) -> String {
        format!("{}: {}", self.server, clip(words, MOST_WORDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_a_person_are_translated_to_the_protocol() {
        let schema = json!({"properties": {"name": {"type": "string"}}});
        let said = |elicited: Elicited, schema: &Value| serde_json::to_value(result_of(elicited, schema)).unwrap();
        let accept = json!({"action": "accept", "content": {"name": "Ann"}});
        assert_eq!(said(Elicited::Value(json!({"name": "Ann"})), &schema), accept);
        assert_eq!(said(Elicited::Value(json!("Ann")), &schema), accept);
        assert_eq!(said(Elicited::Value(json!("Ann")), &json!({})), json!({"action": "cancel"}));
        assert_eq!(said(Elicited::Declined("no".to_owned()), &schema), json!({"action": "decline"}));
        assert_eq!(said(Elicited::Gone, &schema), json!({"action": "cancel"}));
    }
}
