//! Sessions as threads: creating, finding, copying, removing.

use std::collections::BTreeSet;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use obelus_runtime::sessions::SessionStatus;
use obelus_runtime::{HostError, StoreError, system_clock};
use serde_json::{Map, Value, json};

use super::notes::ThreadNote;
use super::state::{interrupts_of, values_of};
use super::{ThreadRequest, ValueResult, bad, limit_of, unsupported};
use crate::ChannelError;
use crate::http::{Failure, InPath, Json, OptionalBody};
use crate::service::check_id;
use crate::tokens::TokenRole;
use crate::types::NewSession;

/// A thread: its note, and its session if there is one.
pub(super) struct Thread {
    pub(super) id: String,
    pub(super) note: ThreadNote,
    /// Its current session.
    pub(super) session: Option<ThreadSession>,
}

/// The session of a thread.
pub(super) struct ThreadSession {
    pub(super) id: String,
    pub(super) agent: String,
}

impl Thread {
    /// The thread of this id, if there is one.
    pub(super) async fn find(request: &ThreadRequest, id: &str) -> Result<Option<Self>, ChannelError> {
        check_id(id)?;
        let note = request.notes.get(id).map_err(note_error)?;
        let name = note.as_ref().map_or(id, |note| note.session(id)).to_owned();
        let agent = request.service().agent_of_session(&name).await?;
        if note.is_none() && agent.is_none() {
            return Ok(None);
        }
        let session = agent.map(|agent| ThreadSession { id: name, agent });
        Ok(Some(Self { id: id.to_owned(), note: note.unwrap_or_default(), session }))
    }

    /// Like [`Self::find`], but a missing thread is an error.
    pub(super) async fn get(request: &ThreadRequest, id: &str) -> Result<Self, ChannelError> {
        Self::find(request, id).await?.ok_or_else(|| StoreError::Unknown(id.to_owned()).into())
    }

    /// Its session; an error if it has none.
    pub(super) fn session(&self) -> Result<&str, ChannelError> {
        let session = self.session.as_ref().map(|session| session.id.as_str());
        session.ok_or_else(|| StoreError::Unknown(self.id.clone()).into())
    }

    /// All its sessions, the current one first.
    pub(super) fn sessions(&self) -> Vec<&str> {
        self.note.branches.iter().rev().map(String::as_str).chain([self.id.as_str()]).collect()
    }

    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = self.note.metadata.clone();
        if let Some(ThreadSession { agent, .. }) = &self.session {
            metadata.insert("graph_id".to_owned(), agent.as_str().into());
            metadata.insert("assistant_id".to_owned(), agent.as_str().into());
        }
        metadata
    }

    /// The view without its session.
    fn bare(&self, status: &str) -> Value {
        json!({
            "thread_id": self.id, "status": status, "values": null, "interrupts": {}, "config": {},
            "metadata": self.metadata(),
            "created_at": self.note.created.to_string(), "updated_at": self.note.updated.to_string(),
        })
    }

    /// The view for clients.
    async fn view(&self, request: &ThreadRequest) -> Result<Value, ChannelError> {
        let mut view = self.bare("idle");
        if let Some(ThreadSession { id: session, .. }) = &self.session {
            let history = request.service().whole_history(session).await?;
            let now = request.snapshot(session, None).await?;
            view["status"] = status_name(now.status).into();
            view["values"] = values_of(&self.id, &history, &now);
            if !now.questions.is_empty() {
                request.note_shown(&now);
                view["interrupts"] = json!({super::fold::TOOLS: interrupts_of(&now)});
            }
            if let (Some(first), Some(last)) = (history.first(), history.last()) {
                view["created_at"] = first.at.min(self.created_or(first.at)).to_string().into();
                view["updated_at"] = last.at.max(self.note.updated).to_string().into();
            }
        }
        Ok(view)
    }

    fn created_or(&self, other: obelus_kernel::Time) -> obelus_kernel::Time {
        if self.note.created == obelus_kernel::Time::default() { other } else { self.note.created }
    }
}

/// The name of a thread's status.
pub(super) fn status_name(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::UnderWay => "busy",
        SessionStatus::Waiting => "interrupted",
        SessionStatus::Degraded | SessionStatus::Limit | SessionStatus::Unreadable => "error",
        SessionStatus::New | SessionStatus::Paused | SessionStatus::Done | SessionStatus::Stopped => "idle",
    }
}

/// The error if the note of a thread cannot be read or written.
pub(super) fn note_error(error: std::io::Error) -> ChannelError {
    match error.kind() {
        std::io::ErrorKind::FileTooLarge => {
            ChannelError::TooLarge("the metadata of a thread may have 1 MiB".to_owned())
        }
        _ => HostError::Store(StoreError::NotWritten(error.to_string())).into(),
    }
}

/// An id in the form that LangGraph's clients expect.
pub(super) fn drawn_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

pub(super) async fn create(request: ThreadRequest, OptionalBody(body): OptionalBody) -> ValueResult {
    request.access.needs(TokenRole::Operator)?;
    if body["supersteps"].as_array().is_some_and(|steps| !steps.is_empty()) {
        return Err(unsupported("a thread begins with its first run: `supersteps` are not supported").into());
    }
    let keyed = request.access.id_of_key("thread");
    let is_keyed = keyed.is_some() && body["thread_id"].is_null();
    let id = body["thread_id"].as_str().map(str::to_owned).or(keyed).unwrap_or_else(drawn_id);
    if let Some(known) = Thread::find(&request, &id).await? {
        return match body["if_exists"].as_str() {
            // The same request was repeated.
            _ if is_keyed => Ok(Json(known.view(&request).await?)),
            Some("do_nothing") => Ok(Json(known.view(&request).await?)),
            _ => Err(ChannelError::from(StoreError::Exists(id)).into()),
        };
    }
    let metadata = body["metadata"].as_object().cloned().unwrap_or_default();
    let agent = metadata.get("graph_id").and_then(Value::as_str).map(str::to_owned);
    if let Some(agent) = agent {
        request.service().create_session(NewSession { agent, id: Some(id.clone()), ..NewSession::default() }).await?;
    }
    request.notes.change(&id, system_clock(), |note| note.metadata = metadata).map_err(note_error)?;
    let thread = Thread::get(&request, &id).await?;
    Ok(Json(thread.view(&request).await?))
}

pub(super) async fn show(request: ThreadRequest, InPath(id): InPath<String>) -> ValueResult {
    Ok(Json(Thread::get(&request, &id).await?.view(&request).await?))
}

pub(super) async fn update(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody,
) -> Result<Response, Failure> {
    request.access.needs(TokenRole::Operator)?;
    Thread::get(&request, &id).await?;
    let more = body["metadata"].as_object().cloned().unwrap_or_default();
    request.notes.change(&id, system_clock(), |note| note.metadata.extend(more)).map_err(note_error)?;
    if headers.get("prefer").is_some_and(|value| value == "return=minimal") {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let thread = Thread::get(&request, &id).await?;
    Ok(Json(thread.view(&request).await?).into_response())
}

pub(super) async fn remove(request: ThreadRequest, InPath(id): InPath<String>) -> Result<Response, Failure> {
    request.access.needs(TokenRole::Admin)?;
    check_id(&id)?;
    // An unreadable note is removed too.
    let thread = match request.notes.get(&id) {
        Err(_) => Thread { id: id.clone(), note: ThreadNote::default(), session: None },
        Ok(_) => Thread::get(&request, &id).await?,
    };
    for session in thread.sessions() {
        if request.service().agent_of_session(session).await?.is_some() {
            request.service().remove(session).await?;
        }
        request.notes.remove(session).map_err(note_error)?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Copies a thread in its current state.
pub(super) async fn copy(request: ThreadRequest, InPath(id): InPath<String>) -> ValueResult {
    request.access.needs(TokenRole::Operator)?;
    let thread = Thread::get(&request, &id).await?;
    let new = request.access.id_of_key("copy").unwrap_or_else(drawn_id);
    if let Some(ThreadSession { id: session, .. }) = &thread.session {
        request.service().fork(session, Some(new.clone()), None).await?;
    }
    let metadata = thread.note.metadata.clone();
    request.notes.change(&new, system_clock(), |note| note.metadata = metadata).map_err(note_error)?;
    let copied = Thread::get(&request, &new).await?;
    Ok(Json(copied.view(&request).await?))
}

/// Whether the query filters by content, so that each thread must be read.
fn is_filtered(query: &Value) -> bool {
    query["metadata"].as_object().is_some_and(|wanted| !wanted.is_empty()) || query["status"].is_string()
}

/// A page of the matching threads, newest first.
async fn wanted(
    request: &ThreadRequest,
    query: &Value,
    offset: usize,
    limit: usize,
) -> Result<Vec<Thread>, ChannelError> {
    let (mut skipped, mut threads) = (0, Vec::new());
    // Reading every thread is slow, so only one request does it at a time.
    let _one = if is_filtered(query) { Some(request.notes.searching.lock().await) } else { None };
    for id in ids_of(request, query).await? {
        if threads.len() == limit {
            break;
        }
        if !is_filtered(query) && skipped < offset {
            skipped += 1;
            continue;
        }
        // Unreadable threads are skipped.
        let Ok(Some(thread)) = Thread::find(request, &id).await else { continue };
        if fits(request, &thread, query).await {
            if skipped < offset { skipped += 1 } else { threads.push(thread) }
        }
    }
    Ok(threads)
}

/// The ids of all requested threads, newest first.
async fn ids_of(request: &ThreadRequest, query: &Value) -> Result<Vec<String>, ChannelError> {
    let noted = request.notes.all();
    let hidden: BTreeSet<&String> =
        noted.iter().filter(|(_, note)| note.branch_of.is_some()).map(|(id, _)| id).collect();
    let rows = request.service().session_rows().await?;
    let mut ids: Vec<(obelus_kernel::Time, String)> =
        rows.into_iter().filter(|row| !hidden.contains(&row.id)).map(|row| (row.created, row.id)).collect();
    let known: BTreeSet<String> = ids.iter().map(|(_, id)| id.clone()).collect();
    let empty = noted.iter().filter(|(id, note)| note.branch_of.is_none() && !known.contains(*id));
    ids.extend(empty.map(|(id, note)| (note.created, id.clone())));
    ids.sort_by(|one, other| other.cmp(one));
    if query["sort_order"] == "asc" {
        ids.reverse();
    }
    if matches!(query["status"].as_str(), Some("busy" | "interrupted")) {
        // All others rest and have no questions.
        let open = request.service().sessions_to_look_at().await?;
        ids.retain(|(_, id)| open.contains(noted.get(id).map_or(id.as_str(), |note| note.session(id))));
    }
    let only: Option<BTreeSet<&str>> =
        query["ids"].as_array().map(|ids| ids.iter().filter_map(Value::as_str).collect());
    let is_wanted = |id: &String| only.as_ref().is_none_or(|only| only.contains(id.as_str()));
    Ok(ids.into_iter().map(|(_, id)| id).filter(is_wanted).collect())
}

async fn fits(request: &ThreadRequest, thread: &Thread, query: &Value) -> bool {
    let metadata = thread.metadata();
    let is_noted = |(name, value): (&String, &Value)| metadata.get(name) == Some(value);
    if !query["metadata"].as_object().is_none_or(|wanted| wanted.iter().all(is_noted)) {
        return false;
    }
    let Some(wanted) = query["status"].as_str() else { return true };
    let status = match &thread.session {
        Some(session) => request.service().summary(&session.id).await.map_or(SessionStatus::Unreadable, |it| it.status),
        None => SessionStatus::New,
    };
    status_name(status) == wanted
}

pub(super) async fn search(request: ThreadRequest, OptionalBody(query): OptionalBody) -> ValueResult {
    if query["values"].as_object().is_some_and(|values| !values.is_empty()) {
        return Err(bad("threads are found by `ids`, `metadata` and `status`, not by `values`").into());
    }
    let (offset, limit) = (limit_of(&query, "offset", 0, u64::MAX), limit_of(&query, "limit", 10, 100));
    let mut views = Vec::new();
    for thread in wanted(&request, &query, offset, limit).await? {
        // An unreadable session gets a bare view.
        views.push(thread.view(&request).await.unwrap_or_else(|_| thread.bare("error")));
    }
    Ok(Json(Value::Array(views)))
}

pub(super) async fn count(request: ThreadRequest, OptionalBody(query): OptionalBody) -> ValueResult {
    let count = if is_filtered(&query) {
        wanted(&request, &query, 0, usize::MAX).await?.len()
    } else {
        ids_of(&request, &query).await?.len()
    };
    Ok(Json(count.into()))
}
