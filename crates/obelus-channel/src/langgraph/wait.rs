//! The final values of a run, for clients that wait for its end.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use obelus_kernel::session::TurnEnd;
use serde_json::{Value, json};

use super::fold::RunEnd;
use super::follow::FollowedRun;
use super::state::interrupts_of;

/// The response of `wait` and `join`. Line breaks keep it alive until the run ends; then its values follow.
pub(super) fn final_response(followed: FollowedRun) -> Response {
    let body = unfold(Some(followed), |followed| async move {
        let mut followed = followed?;
        match followed.ended().await {
            None => Some((Ok::<_, Infallible>(Bytes::from_static(b"\n")), Some(followed))),
            Some(end) => {
                let values = final_values(&followed, end).await;
                Some((Ok(Bytes::from(values.to_string())), None))
            }
        }
    });
    ([("content-type", "application/json")], Body::from_stream(body)).into_response()
}

/// The values, the interrupts if there are any, and the error if there is one.
async fn final_values(followed: &FollowedRun, end: Option<RunEnd>) -> Value {
    let now = match followed.snapshot().await {
        Ok(now) => now,
        Err(error) => return json!({"__error__": {"error": error.code(), "message": followed.words(&error)}}),
    };
    let mut values = json!({"messages": followed.fold.messages, "state": now.state});
    if !now.questions.is_empty() {
        followed.note_shown(&now);
        values["__interrupt__"] = interrupts_of(&now).into();
    }
    let failed = end.filter(|end| matches!(end.ends, TurnEnd::Degraded | TurnEnd::Limit));
    if let Some((code, message)) = failed.and_then(|end| end.reason) {
        values["__error__"] = json!({"error": code, "message": message});
    }
    values
}
