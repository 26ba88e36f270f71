//! Runs: creating, listing, waiting and stopping.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use obelus_kernel::session::TurnEnd;
use obelus_runtime::EventNumber;
use serde_json::{Value, json};

use super::begin::{StartedRun, begin};
use super::fold::{Fold, Run, RunEnd};
use super::follow::FollowedRun;
use super::ids::{IdKind, id_of, record_of};
use super::notes::ThreadNotes;
use super::state::{Pairs, interrupts_of};
use super::stream::{FrameId, Modes, frames};
use super::threads::Thread;
use super::{ValueResult, limit_of, unsupported};
use crate::ChannelError;
use crate::http::{Access, App, Failure, InPath, InQuery, Json, OptionalBody};
use crate::tokens::TokenRole;

/// The status of a run for clients.
pub(super) fn status_of(fold: &Fold, run: &Run) -> &'static str {
    match run.end.as_ref().map(|end| end.ends) {
        Some(TurnEnd::Output) => "success",
        Some(TurnEnd::Waiting | TurnEnd::Stopped) => "interrupted",
        Some(TurnEnd::Degraded | TurnEnd::Limit) => "error",
        None if fold.is_queued(run.record) => "pending",
        None => "running",
    }
}

fn view(thread: &Thread, session: &str, fold: &Fold, run: &Run) -> Value {
    let agent = thread.session.as_ref().map(|(_, agent)| agent.as_str());
    let ended = run.end.as_ref().map_or(run.at, |end| end.at);
    json!({
        "run_id": id_of(IdKind::Run, session, run.record), "thread_id": thread.id, "assistant_id": agent,
        "created_at": run.at.to_string(), "updated_at": ended.to_string(), "status": status_of(fold, run),
        "metadata": {}, "kwargs": {}, "multitask_strategy": "enqueue",
    })
}

/// The session and the record of a run.
async fn find(app: &App, notes: &ThreadNotes, id: &str, run: &str) -> Result<(Thread, String, u64), ChannelError> {
    let thread = Thread::get(app, notes, id).await?;
    let sessions = thread.sessions();
    let found = sessions
        .iter()
        .find_map(|session| record_of(IdKind::Run, session, run).map(|record| ((*session).to_owned(), record)));
    let (session, record) = found.ok_or_else(|| ChannelError::NotFound(format!("run {}", short(run))))?;
    Ok((thread, session, record))
}

fn short(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The folded session, with its runs.
async fn folded(app: &App, thread: &str, session: &str) -> Result<Fold, ChannelError> {
    let history = app.service().whole_history(session).await?;
    Ok(Fold::of(thread, history.iter().map(AsRef::as_ref)))
}

/// The headers by which clients find a run again.
fn located(mut response: Response, begun: &StartedRun, last: &str) -> Response {
    let run = id_of(IdKind::Run, &begun.session, begun.record);
    let place = format!("/threads/{}/runs/{run}", begun.thread);
    let headers = response.headers_mut();
    for (name, value) in [("location", format!("{place}/{last}")), ("content-location", place)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

async fn created(
    app: &App,
    notes: &ThreadNotes,
    access: &Access,
    thread: Option<&str>,
    body: &Value,
) -> Result<Response, Failure> {
    let begun = begin(app, notes, access, thread, body).await?;
    let run = Run { record: begun.record, at: obelus_runtime::system_clock(), end: None };
    let thread = Thread::get(app, notes, &begun.thread).await?;
    let fold = folded(app, &begun.thread, &begun.session).await?;
    let run = fold.run(begun.record).unwrap_or(&run);
    let response = Json(view(&thread, &begun.session, &fold, run)).into_response();
    Ok(located(response, &begun, "join"))
}

pub(super) async fn create(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> Result<Response, Failure> {
    created(&app, &notes, &access, Some(&id), &body).await
}

pub(super) async fn create_stateless(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    OptionalBody(body): OptionalBody,
) -> Result<Response, Failure> {
    created(&app, &notes, &access, None, &body).await
}

async fn streamed(
    app: &App,
    notes: &ThreadNotes,
    access: &Access,
    thread: Option<&str>,
    body: &Value,
) -> Result<Response, Failure> {
    let modes = Modes::of_body(&body["stream_mode"])?;
    let begun = begin(app, notes, access, thread, body).await?;
    let followed = FollowedRun::open(app, access, &begun, None).await?;
    let last = format!("stream?{}", modes.query());
    Ok(located(frames(followed, modes, None), &begun, &last))
}

pub(super) async fn stream(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> Result<Response, Failure> {
    streamed(&app, &notes, &access, Some(&id), &body).await
}

pub(super) async fn stream_stateless(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    OptionalBody(body): OptionalBody,
) -> Result<Response, Failure> {
    streamed(&app, &notes, &access, None, &body).await
}

/// The final values of a run, as a body that is kept alive until then.
fn awaited(followed: FollowedRun) -> Response {
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

/// The answer of `wait` and `join`: the values, the interrupts if there are any, and the error if there is one.
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

async fn waited(
    app: &App,
    notes: &ThreadNotes,
    access: &Access,
    thread: Option<&str>,
    body: &Value,
) -> Result<Response, Failure> {
    let begun = begin(app, notes, access, thread, body).await?;
    let followed = FollowedRun::open(app, access, &begun, None).await?;
    Ok(located(awaited(followed), &begun, "join"))
}

pub(super) async fn wait(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> Result<Response, Failure> {
    waited(&app, &notes, &access, Some(&id), &body).await
}

pub(super) async fn wait_stateless(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    OptionalBody(body): OptionalBody,
) -> Result<Response, Failure> {
    waited(&app, &notes, &access, None, &body).await
}

/// An existing run of a thread.
async fn begun_before(app: &App, notes: &ThreadNotes, id: &str, run: &str) -> Result<StartedRun, ChannelError> {
    let (thread, session, record) = find(app, notes, id, run).await?;
    let fold = folded(app, id, &session).await?;
    fold.run(record).ok_or_else(|| ChannelError::NotFound(format!("run {}", short(run))))?;
    let assistant = thread.session.map(|(_, agent)| agent).unwrap_or_default();
    Ok(StartedRun { thread: id.to_owned(), session, assistant, record, after: EventNumber { record, part: 0 } })
}

pub(super) async fn join(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    InPath((id, run)): InPath<(String, String)>,
) -> Result<Response, Failure> {
    // Waiting resumes the work of an earlier process.
    access.needs(TokenRole::Operator)?;
    let begun = begun_before(&app, &notes, &id, &run).await?;
    Ok(awaited(FollowedRun::open(&app, &access, &begun, None).await?))
}

pub(super) async fn join_stream(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    InPath((id, run)): InPath<(String, String)>,
    InQuery(query): InQuery<Pairs>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    access.needs(TokenRole::Operator)?;
    let modes = Modes::of_query(&query)?;
    let begun = begun_before(&app, &notes, &id, &run).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = last.filter(|last| *last != "-1").map(FrameId::parse).transpose()?;
    let followed = FollowedRun::open(&app, &access, &begun, last.map(FrameId::event_before)).await?;
    Ok(frames(followed, modes, last))
}

pub(super) async fn list(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    _: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<Pairs>,
) -> ValueResult {
    let thread = Thread::get(&app, &notes, &id).await?;
    let Some((session, _)) = &thread.session else { return Ok(Json(json!([]))) };
    let query: serde_json::Map<String, Value> = query.into_iter().map(|(name, value)| (name, value.into())).collect();
    let query = Value::Object(query);
    let fold = folded(&app, &id, session).await?;
    let fits = |run: &&Run| query["status"].as_str().is_none_or(|status| status_of(&fold, run) == status);
    let (offset, limit) = (limit_of(&query, "offset", 0, u64::MAX), limit_of(&query, "limit", 10, 1000));
    let wanted = fold.runs.iter().rev().filter(fits).skip(offset).take(limit);
    Ok(Json(wanted.map(|run| view(&thread, session, &fold, run)).collect()))
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    _: Access,
    InPath((id, run)): InPath<(String, String)>,
) -> ValueResult {
    let (thread, session, record) = find(&app, &notes, &id, &run).await?;
    let fold = folded(&app, &id, &session).await?;
    let found = fold.run(record).ok_or_else(|| ChannelError::NotFound(format!("run {}", short(&run))))?;
    Ok(Json(view(&thread, &session, &fold, found)))
}

/// Stops the turn of a run. A run that has ended is unchanged.
pub(super) async fn cancel(
    State(app): State<App>,
    Extension(notes): Extension<Arc<ThreadNotes>>,
    access: Access,
    InPath((id, run)): InPath<(String, String)>,
    InQuery(query): InQuery<Pairs>,
) -> Result<Response, Failure> {
    access.needs(TokenRole::Operator)?;
    let of = |name: &str| query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if of("action").is_some_and(|action| action != "interrupt") {
        return Err(unsupported("only `interrupt` is supported: effects cannot be rolled back").into());
    }
    let begun = begun_before(&app, &notes, &id, &run).await?;
    let fold = folded(&app, &id, &begun.session).await?;
    if fold.is_queued(begun.record) {
        return Err(unsupported("the run has not begun: cancel the active one first").into());
    }
    if fold.run(begun.record).is_some_and(|run| run.end.is_none()) {
        app.service().stop(&begun.session, access.input_id()).await?;
    }
    if of("wait") == Some("1") {
        return Ok(awaited(FollowedRun::open(&app, &access, &begun, None).await?));
    }
    Ok((StatusCode::ACCEPTED, Json(json!({}))).into_response())
}
