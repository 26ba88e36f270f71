//! Routes that begin a run: in the background, as a stream, or until its end.
//!
//! Each exists twice: for a thread, and without one, which begins a new thread.

use axum::http::HeaderValue;
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

use super::ThreadRequest;
use super::begin::{StartedRun, begin};
use super::fold::Run;
use super::follow::FollowedRun;
use super::ids::{IdKind, id_of};
use super::runs::run_view;
use super::stream::{Modes, frames};
use super::threads::Thread;
use super::wait::final_response;
use crate::http::{Failure, InPath, Json, OptionalBody};

type RunResponse = Result<Response, Failure>;

pub(super) async fn create(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> RunResponse {
    begin_in_background(&request, Some(&id), &body).await
}

pub(super) async fn create_stateless(request: ThreadRequest, OptionalBody(body): OptionalBody) -> RunResponse {
    begin_in_background(&request, None, &body).await
}

pub(super) async fn stream(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> RunResponse {
    begin_and_stream(&request, Some(&id), &body).await
}

pub(super) async fn stream_stateless(request: ThreadRequest, OptionalBody(body): OptionalBody) -> RunResponse {
    begin_and_stream(&request, None, &body).await
}

pub(super) async fn wait(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> RunResponse {
    begin_and_wait(&request, Some(&id), &body).await
}

pub(super) async fn wait_stateless(request: ThreadRequest, OptionalBody(body): OptionalBody) -> RunResponse {
    begin_and_wait(&request, None, &body).await
}

async fn begin_in_background(request: &ThreadRequest, thread: Option<&str>, body: &Value) -> RunResponse {
    let started = begin(request, thread, body).await?;
    // The history may not have the run yet.
    let new = Run { record: started.record, at: obelus_runtime::system_clock(), end: None };
    let thread = Thread::get(request, &started.thread).await?;
    let fold = request.fold(&started.thread, &started.session).await?;
    let run = fold.run(started.record).unwrap_or(&new);
    let response = Json(run_view(&thread, &started.session, &fold, run)).into_response();
    Ok(with_location(response, &started, "join"))
}

async fn begin_and_stream(request: &ThreadRequest, thread: Option<&str>, body: &Value) -> RunResponse {
    let modes = Modes::of_body(&body["stream_mode"])?;
    let started = begin(request, thread, body).await?;
    let followed = FollowedRun::open(&request.app, &request.access, &started, None).await?;
    let rest = format!("stream?{}", modes.query());
    Ok(with_location(frames(followed, modes, None), &started, &rest))
}

async fn begin_and_wait(request: &ThreadRequest, thread: Option<&str>, body: &Value) -> RunResponse {
    let started = begin(request, thread, body).await?;
    let followed = FollowedRun::open(&request.app, &request.access, &started, None).await?;
    Ok(with_location(final_response(followed), &started, "join"))
}

/// Adds the headers by which clients find a run again. `rest` ends the path at which they continue.
fn with_location(mut response: Response, started: &StartedRun, rest: &str) -> Response {
    let run = id_of(IdKind::Run, &started.session, started.record);
    let path = format!("/threads/{}/runs/{run}", started.thread);
    for (name, value) in [("location", format!("{path}/{rest}")), ("content-location", path)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
