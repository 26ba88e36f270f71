//! Routes of existing runs: showing, listing, joining and stopping.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use obelus_kernel::session::TurnEnd;
use obelus_runtime::EventNumber;
use serde_json::{Value, json};

use super::begin::StartedRun;
use super::fold::{Fold, Run};
use super::follow::FollowedRun;
use super::ids::{IdKind, id_of, record_of};
use super::state::{Pairs, as_object};
use super::stream::{FrameId, Modes, frames};
use super::threads::{Thread, ThreadSession};
use super::wait::final_response;
use super::{ThreadRequest, ValueResult, limit_of, unsupported};
use crate::ChannelError;
use crate::http::{Failure, InPath, InQuery, Json};
use crate::tokens::TokenRole;

/// A run, found by its id.
struct FoundRun {
    thread: Thread,
    session: String,
    fold: Fold,
    run: Run,
}

impl FoundRun {
    async fn find(request: &ThreadRequest, thread: &str, id: &str) -> Result<Self, ChannelError> {
        let unknown = || ChannelError::NotFound(format!("run {}", id.chars().take(64).collect::<String>()));
        let thread = Thread::get(request, thread).await?;
        let record_in = |session: &str| record_of(IdKind::Run, session, id).map(|record| (session.to_owned(), record));
        let (session, record) = thread.sessions().into_iter().find_map(record_in).ok_or_else(unknown)?;
        let fold = request.fold(&thread.id, &session).await?;
        let run = fold.run(record).cloned().ok_or_else(unknown)?;
        Ok(Self { thread, session, fold, run })
    }

    fn view(&self) -> Value {
        run_view(&self.thread, &self.session, &self.fold, &self.run)
    }

    /// Follows the run after an event, or from its beginning. This resumes the work of an earlier process.
    async fn follow(&self, request: &ThreadRequest, after: Option<EventNumber>) -> Result<FollowedRun, ChannelError> {
        let record = self.run.record;
        let started = StartedRun {
            thread: self.thread.id.clone(),
            session: self.session.clone(),
            assistant: self.thread.session.as_ref().map(|session| session.agent.clone()).unwrap_or_default(),
            record,
            after: EventNumber { record, part: 0 },
        };
        FollowedRun::open(&request.app, &request.access, &started, after).await
    }
}

/// A run for clients.
pub(super) fn run_view(thread: &Thread, session: &str, fold: &Fold, run: &Run) -> Value {
    let agent = thread.session.as_ref().map(|session| session.agent.as_str());
    let ended = run.end.as_ref().map_or(run.at, |end| end.at);
    json!({
        "run_id": id_of(IdKind::Run, session, run.record), "thread_id": thread.id, "assistant_id": agent,
        "created_at": run.at.to_string(), "updated_at": ended.to_string(), "status": status_of(fold, run),
        "metadata": {}, "kwargs": {}, "multitask_strategy": "enqueue",
    })
}

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

pub(super) async fn show(request: ThreadRequest, InPath((id, run)): InPath<(String, String)>) -> ValueResult {
    Ok(Json(FoundRun::find(&request, &id, &run).await?.view()))
}

/// The runs of a thread, newest first.
pub(super) async fn list(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<Pairs>,
) -> ValueResult {
    let thread = Thread::get(&request, &id).await?;
    let Some(ThreadSession { id: session, .. }) = &thread.session else { return Ok(Json(json!([]))) };
    let query = as_object(query);
    let fold = request.fold(&id, session).await?;
    let fits = |run: &&Run| query["status"].as_str().is_none_or(|status| status_of(&fold, run) == status);
    let (offset, limit) = (limit_of(&query, "offset", 0, u64::MAX), limit_of(&query, "limit", 10, 1000));
    let page = fold.runs.iter().rev().filter(fits).skip(offset).take(limit);
    Ok(Json(page.map(|run| run_view(&thread, session, &fold, run)).collect()))
}

pub(super) async fn join(
    request: ThreadRequest,
    InPath((id, run)): InPath<(String, String)>,
) -> Result<Response, Failure> {
    request.access.needs(TokenRole::Operator)?;
    let found = FoundRun::find(&request, &id, &run).await?;
    Ok(final_response(found.follow(&request, None).await?))
}

pub(super) async fn join_stream(
    request: ThreadRequest,
    InPath((id, run)): InPath<(String, String)>,
    InQuery(query): InQuery<Pairs>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    request.access.needs(TokenRole::Operator)?;
    let modes = Modes::of_query(&query)?;
    let found = FoundRun::find(&request, &id, &run).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    // Clients send -1 to get the run from its beginning.
    let last = last.filter(|last| *last != "-1").map(FrameId::parse).transpose()?;
    let followed = found.follow(&request, last.map(FrameId::event_before)).await?;
    Ok(frames(followed, modes, last))
}

/// Stops the turn of a run. A run that has ended is unchanged.
pub(super) async fn cancel(
    request: ThreadRequest,
    InPath((id, run)): InPath<(String, String)>,
    InQuery(query): InQuery<Pairs>,
) -> Result<Response, Failure> {
    request.access.needs(TokenRole::Operator)?;
    let param = |name: &str| query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if param("action").is_some_and(|action| action != "interrupt") {
        return Err(unsupported("only `interrupt` is supported: effects cannot be rolled back").into());
    }
    let found = FoundRun::find(&request, &id, &run).await?;
    if found.fold.is_queued(found.run.record) {
        return Err(unsupported("the run has not begun: cancel the active one first").into());
    }
    if found.run.end.is_none() {
        request.service().stop(&found.session, request.access.input_id()).await?;
    }
    if param("wait") == Some("1") {
        return Ok(final_response(found.follow(&request, None).await?));
    }
    Ok((StatusCode::ACCEPTED, Json(json!({}))).into_response())
}
