//! Questions to the user of a client with a handshake: the answer to a call is a stream, on which the server asks,
//! and the client sends the person's answer with a request of its own.
//!
//! There is no state of a client between calls: its `Mcp-Session-Id` itself says whether it can ask its user.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{ClientCapabilities, RpcError, tools};
use crate::http::{Access, App};

/// The prefix of session ids of clients that can ask their user.
const CAN_ELICIT: &str = "elicits-";
/// The time limit of a person's answer. Then the question waits in the inbox.
const PATIENCE: Duration = Duration::from_secs(600);
/// The limit of questions open on streams.
const MOST: usize = 1024;

/// A session id for a client with these capabilities; none if it cannot ask.
pub(super) fn session_id(capabilities: &Value) -> Option<String> {
    let can_elicit = super::has_form(&capabilities["elicitation"]);
    can_elicit.then(|| format!("{CAN_ELICIT}{}", uuid::Uuid::now_v7().simple()))
}

/// Whether the client of this session can ask its user.
pub(super) fn can_elicit(session: Option<&str>) -> bool {
    session.is_some_and(|session| session.starts_with(CAN_ELICIT))
}

/// Open questions on streams: the caller, and the channel for the answer.
#[derive(Default)]
pub(super) struct OpenQuestions(Mutex<HashMap<String, (String, oneshot::Sender<Value>)>>);

impl OpenQuestions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (String, oneshot::Sender<Value>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a question to this caller; returns its id.
    fn wait(&self, caller: &str) -> Option<(String, oneshot::Receiver<Value>)> {
        let mut all = self.lock();
        all.retain(|_, (_, sender)| !sender.is_closed());
        if all.len() >= MOST {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let id = uuid::Uuid::now_v7().to_string();
        all.insert(id.clone(), (caller.to_owned(), sender));
        Some((id, receiver))
    }

    /// Takes a client's answer. Returns whether it was expected.
    pub(super) fn answer(&self, caller: &str, message: &Value) -> bool {
        let Some(id) = message["id"].as_str() else { return false };
        let mut all = self.lock();
        if all.get(id).is_none_or(|(asked, _)| asked != caller) {
            return false;
        }
        let sent = all.remove(id).map(|(_, sender)| sender.send(message["result"].clone()));
        sent.is_some_and(|sent| sent.is_ok())
    }
}

/// A call in progress.
struct StreamedCall {
    app: App,
    access: Access,
    pending: Arc<OpenQuestions>,
    id: Value,
    params: Value,
    step: CallStage,
}

enum CallStage {
    Call,
    /// The person is asked; the state to continue with.
    Wait(oneshot::Receiver<Value>, String),
    Over,
}

/// Answers a call with a stream, on which the person may be asked.
pub(super) fn call(app: &App, access: &Access, pending: &Arc<OpenQuestions>, id: &Value, params: &Value) -> Response {
    let call = StreamedCall {
        app: app.clone(),
        access: access.clone(),
        pending: Arc::clone(pending),
        id: id.clone(),
        params: params.clone(),
        step: CallStage::Call,
    };
    let body = unfold(call, |mut call| async move {
        let bytes = call.next().await?;
        Some((Ok::<_, Infallible>(bytes), call))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(body)).into_response()
}

impl StreamedCall {
    async fn next(&mut self) -> Option<Bytes> {
        match std::mem::replace(&mut self.step, CallStage::Over) {
            CallStage::Over => return None,
            CallStage::Call => {}
            CallStage::Wait(answer, state) => {
                let response = tokio::select! {
                    answer = tokio::time::timeout(PATIENCE, answer) => answer.ok().and_then(Result::ok).unwrap_or_default(),
                    () = self.app.closing() => Value::Null,
                };
                // Without an answer the question stays open.
                self.params["inputResponses"] = json!({super::ask::KEY: response});
                self.params["requestState"] = state.into();
                // The answer counts only if the call's token still permits it.
                if !self.app.still_permits(&self.access) {
                    let error = json!({"code": super::INVALID_REQUEST, "message": "the token no longer permits this"});
                    return Some(frame(&json!({"jsonrpc": "2.0", "id": self.id, "error": error})));
                }
            }
        }
        let client = ClientCapabilities { can_elicit: true };
        match tools::call(&self.app, &self.access, &self.params, &client).await {
            Ok(result) if result["resultType"] == "input_required" => Some(self.ask(&result)),
            Ok(result) => Some(frame(&json!({"jsonrpc": "2.0", "id": self.id, "result": result}))),
            Err(RpcError { code, message, .. }) => {
                Some(frame(&json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": code, "message": message}})))
            }
        }
    }

    /// Asks the person.
    fn ask(&mut self, result: &Value) -> Bytes {
        let request = &result["inputRequests"][super::ask::KEY];
        let Some((id, answer)) = self.pending.wait(&self.access.caller.name) else {
            let text = "too many questions are open: answer with `decide`";
            let content = json!({"content": [{"type": "text", "text": text}], "isError": true});
            return frame(&json!({"jsonrpc": "2.0", "id": self.id, "result": content}));
        };
        let state = result["requestState"].as_str().unwrap_or_default().to_owned();
        self.step = CallStage::Wait(answer, state);
        frame(&json!({"jsonrpc": "2.0", "id": id, "method": request["method"], "params": request["params"]}))
    }
}

fn frame(message: &Value) -> Bytes {
    Bytes::from(format!("event: message\ndata: {message}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_once_and_only_from_the_caller_who_was_asked() {
        let pending = OpenQuestions::default();
        let (id, mut answer) = pending.wait("anna").unwrap();
        let message = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}});
        assert!(!pending.answer("boris", &message));
        assert!(!pending.answer("anna", &json!({"id": 1, "result": {}})));
        assert!(pending.answer("anna", &message) && !pending.answer("anna", &message));
        assert_eq!(answer.try_recv().unwrap()["action"], "accept");
    }
}
