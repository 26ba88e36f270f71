//! The content of a thread: values, checkpoints, history, updates.

use std::sync::Arc;

use obelus_runtime::SessionEvent;
use serde_json::{Value, json};

use super::fold::{Fold, MODEL, RecordPoint, TOOLS};
use super::ids::{IdKind, id_of, record_of};
use super::interrupts::interrupt;
use super::threads::{Thread, ThreadSession};
use super::{CHANNEL, ThreadRequest, ValueResult, bad, limit_of};
use crate::ChannelError;
use crate::http::{Failure, InPath, InQuery, Json, OptionalBody};
use crate::service::SessionSnapshot;
use crate::tokens::TokenRole;

/// The interrupts of a snapshot.
pub(super) fn interrupts_of(now: &SessionSnapshot) -> Vec<Value> {
    now.questions.iter().map(interrupt).collect()
}

/// The values of a thread: `{messages, state}`.
pub(super) fn values_of(thread: &str, history: &[Arc<SessionEvent>], now: &SessionSnapshot) -> Value {
    let fold = Fold::of(thread, history.iter().map(AsRef::as_ref));
    json!({"messages": fold.messages, "state": now.state})
}

/// The session and record of a checkpoint.
#[derive(Clone)]
pub(super) struct CheckpointRef {
    pub(super) session: String,
    pub(super) record: u64,
}

/// Finds a checkpoint among the sessions of a thread.
pub(super) fn find_checkpoint(thread: &Thread, checkpoint: &str) -> Result<CheckpointRef, ChannelError> {
    let sessions = thread.sessions().into_iter();
    let mut found = sessions.filter_map(|session| {
        record_of(IdKind::Checkpoint, session, checkpoint)
            .map(|record| CheckpointRef { session: session.to_owned(), record })
    });
    let id: String = checkpoint.chars().take(64).collect();
    found.next().ok_or(ChannelError::NotFound(format!("checkpoint {id}")))
}

/// The checkpoint in a body, as `checkpoint_id` or `checkpoint`.
pub(super) fn named_checkpoint(body: &Value) -> Option<&str> {
    body["checkpoint_id"].as_str().or_else(|| body["checkpoint"]["checkpoint_id"].as_str())
}

fn checkpoint(thread: &str, session: &str, record: u64) -> Value {
    let id = id_of(IdKind::Checkpoint, session, record);
    json!({"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": id, "checkpoint_map": null})
}

/// A state of a session, for one thread.
struct ThreadState<'a> {
    thread: &'a str,
    session: &'a str,
    fold: &'a Fold,
    /// The index of the checkpoint; none before the first one.
    at: Option<usize>,
}

impl ThreadState<'_> {
    fn point(&self) -> Option<RecordPoint> {
        self.at.and_then(|at| self.fold.points.get(at).copied())
    }

    fn view(&self, now: &SessionSnapshot) -> Value {
        let point = self.point();
        let parent = self.at.and_then(|at| at.checked_sub(1)).and_then(|at| self.fold.points.get(at));
        let messages = point.map_or(0, |point| point.messages).min(self.fold.messages.len());
        let interrupts = interrupts_of(now);
        let next = match (interrupts.is_empty(), now.is_at_rest) {
            (false, _) => vec![TOOLS],
            (true, false) => vec![MODEL],
            (true, true) => vec![],
        };
        let task = |name: &&str| {
            json!({
                "id": format!("{}-{name}", self.session), "name": name, "error": null, "interrupts": interrupts,
                "checkpoint": null, "state": null, "result": null,
            })
        };
        let step = self.at.map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX));
        let of = |record: u64| checkpoint(self.thread, self.session, record);
        json!({
            "values": {"messages": self.fold.messages[..messages], "state": now.state},
            "next": next,
            "tasks": next.iter().map(task).collect::<Vec<_>>(),
            "interrupts": interrupts,
            "checkpoint": of(point.map_or(0, |point| point.record)),
            "parent_checkpoint": parent.map(|parent| of(parent.record)),
            "metadata": {"step": step, "source": point.map_or("input", |point| point.source), "thread_id": self.thread},
            "created_at": point.map(|point| point.at.to_string()),
        })
    }
}

/// The state of a thread after a record of a session, or now.
async fn stated(request: &ThreadRequest, thread: &Thread, place: Option<CheckpointRef>) -> Result<Value, ChannelError> {
    let session = match &place {
        Some(place) => place.session.clone(),
        None => match &thread.session {
            Some(session) => session.id.clone(),
            None => return Ok(empty(&thread.id)),
        },
    };
    let fold = request.fold(&thread.id, &session).await?;
    let record = place.map(|place| place.record);
    let now = request.snapshot(&session, record).await?;
    if record.is_none() {
        request.note_shown(&now);
    }
    let upto = record.unwrap_or(u64::MAX);
    let at = fold.points.iter().rposition(|point| point.record <= upto);
    Ok(ThreadState { thread: &thread.id, session: &session, fold: &fold, at }.view(&now))
}

/// The state of a thread that has no session yet.
fn empty(thread: &str) -> Value {
    json!({
        "values": {}, "next": [], "tasks": [], "interrupts": [], "checkpoint": checkpoint(thread, thread, 0),
        "parent_checkpoint": null, "metadata": {}, "created_at": null,
    })
}

/// Leaves out fields that `select` does not name.
fn selected(mut state: Value, select: &[&str]) -> Value {
    let Some(fields) = state.as_object_mut().filter(|_| !select.is_empty()) else { return state };
    let keys: Vec<&str> = select.iter().filter_map(|name| name.strip_prefix("values.")).collect();
    if !select.contains(&"values")
        && let Some(values) = fields.get_mut("values").and_then(Value::as_object_mut)
    {
        values.retain(|name, _| keys.contains(&name.as_str()));
    }
    fields.retain(|name, _| select.contains(&name.as_str()) || (name == "values" && !keys.is_empty()));
    state
}

fn selection(value: &Value) -> Vec<&str> {
    value["select"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The pairs of a query.
pub(super) type Pairs = Vec<(String, String)>;

/// A query as a JSON object of texts.
pub(super) fn as_object(query: Pairs) -> Value {
    query.into_iter().map(|(name, value)| (name, Value::from(value))).collect()
}

fn selection_of_query(query: &Pairs) -> Vec<&str> {
    query.iter().filter(|(name, _)| name == "select").map(|(_, value)| value.as_str()).collect()
}

pub(super) async fn now(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<Pairs>,
) -> ValueResult {
    let thread = Thread::get(&request, &id).await?;
    Ok(Json(selected(stated(&request, &thread, None).await?, &selection_of_query(&query))))
}

pub(super) async fn at(
    request: ThreadRequest,
    InPath((id, checkpoint)): InPath<(String, String)>,
    InQuery(query): InQuery<Pairs>,
) -> ValueResult {
    let thread = Thread::get(&request, &id).await?;
    let place = find_checkpoint(&thread, &checkpoint)?;
    Ok(Json(selected(stated(&request, &thread, Some(place)).await?, &selection_of_query(&query))))
}

pub(super) async fn at_checkpoint(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> ValueResult {
    let thread = Thread::get(&request, &id).await?;
    let place = named_checkpoint(&body).map(|checkpoint| find_checkpoint(&thread, checkpoint)).transpose()?;
    Ok(Json(selected(stated(&request, &thread, place).await?, &selection(&body))))
}

pub(super) async fn history(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> ValueResult {
    past(&request, &id, &body).await
}

pub(super) async fn history_by_query(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<Pairs>,
) -> ValueResult {
    past(&request, &id, &as_object(query)).await
}

/// The states of a thread, newest first.
async fn past(request: &ThreadRequest, id: &str, body: &Value) -> ValueResult {
    let thread = Thread::get(request, id).await?;
    let Some(ThreadSession { id: session, .. }) = &thread.session else { return Ok(Json(json!([]))) };
    let before = body["before"].as_str().or_else(|| {
        let nested = body["before"]["configurable"]["checkpoint_id"].as_str();
        nested.or_else(|| body["before"]["checkpoint_id"].as_str())
    });
    // Branches share their past, so a checkpoint of another branch counts by its record.
    let before = before.map(|checkpoint| find_checkpoint(&thread, checkpoint)).transpose()?;
    let before = before.map_or(u64::MAX, |place| place.record);
    let limit = limit_of(body, "limit", 10, 100);
    let fold = request.fold(&thread.id, session).await?;
    let places = (0..fold.points.len()).rev().filter(|at| fold.points[*at].record < before);
    let mut states = Vec::new();
    for at in places.take(limit) {
        let record = fold.points[at].record;
        let now = request.snapshot(session, Some(record)).await?;
        if at + 1 == fold.points.len() {
            request.note_shown(&now);
        }
        let state = ThreadState { thread: &thread.id, session, fold: &fold, at: Some(at) }.view(&now);
        states.push(selected(state, &selection(body)));
    }
    Ok(Json(Value::Array(states)))
}

/// Replaces the session's state. The conversation cannot be rewritten.
pub(super) async fn update(
    request: ThreadRequest,
    InPath(id): InPath<String>,
    OptionalBody(body): OptionalBody,
) -> Result<Json<Value>, Failure> {
    request.access.needs(TokenRole::Admin)?;
    let thread = Thread::get(&request, &id).await?;
    let values = body["values"].as_object().ok_or_else(|| bad("`values` is {state: ...}"))?;
    if let Some(wrong) = values.keys().find(|name| *name != "state") {
        let wrong: String = wrong.chars().take(64).collect();
        return Err(bad(format!("only `state` can be updated, not `{wrong}`: messages are never rewritten")).into());
    }
    let state = values.get("state").ok_or_else(|| bad("`values` is {state: ...}"))?;
    let mut session = thread.session()?.to_owned();
    if let Some(checkpoint) = named_checkpoint(&body) {
        let place = find_checkpoint(&thread, checkpoint)?;
        session = super::begin::branch(&request, &thread, &place).await?;
    }
    let by = request.access.caller.by(CHANNEL);
    let input_id = request.access.input_id();
    let accepted = request.service().edit_state(&session, state.clone(), &by, input_id).await?;
    Ok(Json(json!({"checkpoint": checkpoint(&thread.id, &session, accepted.record)})))
}
