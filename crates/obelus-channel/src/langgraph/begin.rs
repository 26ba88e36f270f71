//! The input of a run: messages, decisions, or an earlier checkpoint.

use obelus_kernel::session::Refused;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::sent_by::SentBy;
use obelus_runtime::{EventNumber, HostError, StoreError, system_clock};
use serde_json::Value;

use super::interrupts::answers;
use super::notes::ThreadNote;
use super::state::{CheckpointRef, find_checkpoint, named_checkpoint};
use super::threads::{Thread, drawn_id, note_error};
use super::{CHANNEL, ThreadRequest, bad, unsupported};
use crate::ChannelError;
use crate::tokens::TokenRole;
use crate::types::{AnswerBody, NewSession};

/// A run that has begun.
#[derive(Clone)]
pub(crate) struct StartedRun {
    pub(crate) thread: String,
    pub(crate) session: String,
    /// The agent.
    pub(crate) assistant: String,
    /// The record of its last input.
    pub(crate) record: u64,
    /// The event before all its consequences.
    pub(crate) after: EventNumber,
}

/// Begins a run on a thread, or on a new one.
pub(super) async fn begin(
    request: &ThreadRequest,
    thread: Option<&str>,
    body: &Value,
) -> Result<StartedRun, ChannelError> {
    request.access.needs(TokenRole::Operator)?;
    check(body)?;
    let assistant = body["assistant_id"].as_str().ok_or_else(|| bad("`assistant_id` is the name of an agent"))?;
    let thread = thread_of(request, thread, body).await?;
    if let Some((_, agent)) = thread.session.as_ref().filter(|(_, agent)| agent != assistant) {
        return Err(unsupported(&format!("this thread belongs to the assistant `{agent}`")));
    }
    // Checked first, so that nothing is created for an invalid run.
    let text = if body["command"].is_object() { None } else { text_of(&body["input"])? };
    let mut session = match &thread.session {
        Some((session, _)) => session.clone(),
        None => create_session(request, &thread.id, assistant, text.as_deref()).await?,
    };
    if let Some(checkpoint) = named_checkpoint(body) {
        let place = find_checkpoint(&thread, checkpoint)?;
        session = from_checkpoint(request, &thread, &place, body).await?;
    } else if body["multitask_strategy"] == "reject" {
        must_rest(request, &session).await?;
    }
    let inputs = match text {
        Some(text) => say(request, &session, &text).await?,
        None if body["command"].is_object() => {
            let shown = checkpoint_record(&thread, &session, body);
            resume(request, &session, &body["command"]["resume"], shown).await?
        }
        None => go_on(request, &session).await?,
    };
    let (first, last) = (inputs.first().copied().unwrap_or_default(), inputs.last().copied().unwrap_or_default());
    let after = EventNumber { record: first, part: 0 };
    Ok(StartedRun { thread: thread.id, session, assistant: assistant.to_owned(), record: last, after })
}

/// Creates the session of a thread, in the language of the first message.
async fn create_session(
    request: &ThreadRequest,
    id: &str,
    assistant: &str,
    text: Option<&str>,
) -> Result<String, ChannelError> {
    let lang = text.and_then(|text| request.service().lang_of(text));
    let new = NewSession { agent: assistant.to_owned(), id: Some(id.to_owned()), lang, ..NewSession::default() };
    match request.service().create_session(new).await {
        // Another run of the same thread was faster.
        Ok(_) | Err(ChannelError::Host(HostError::Store(StoreError::Exists(_)))) => Ok(id.to_owned()),
        Err(error) => Err(error),
    }
}

/// Refuses options that would silently behave differently here.
fn check(body: &Value) -> Result<(), ChannelError> {
    let has = |name: &str| match &body[name] {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    match body["multitask_strategy"].as_str() {
        None | Some("enqueue" | "reject") => {}
        Some(_) => {
            return Err(unsupported("`multitask_strategy` is `enqueue` or `reject`: cancel the run to interrupt it"));
        }
    }
    if has("webhook") {
        return Err(unsupported("`webhook` is not supported: the server calls no address that a request names"));
    }
    for name in ["interrupt_before", "interrupt_after", "after_seconds"] {
        if has(name) {
            return Err(unsupported(&format!(
                "`{name}` is not supported: the agent's policy says where a person is asked"
            )));
        }
    }
    for name in ["goto", "update"] {
        if !body["command"][name].is_null() {
            return Err(unsupported(&format!("only `resume` is supported in a command, not `{name}`")));
        }
    }
    Ok(())
}

async fn thread_of(request: &ThreadRequest, id: Option<&str>, body: &Value) -> Result<Thread, ChannelError> {
    let new = |id: String| Thread { id, note: ThreadNote::default(), session: None };
    let Some(id) = id else {
        // A repeated request continues the thread that it created.
        let Some(keyed) = request.access.id_of_key("run") else { return Ok(new(drawn_id())) };
        return Ok(Thread::find(request, &keyed).await?.unwrap_or_else(|| new(keyed)));
    };
    match Thread::find(request, id).await? {
        Some(thread) => Ok(thread),
        None if body["if_not_exists"] == "create" => Ok(new(id.to_owned())),
        None => Err(StoreError::Unknown(id.to_owned()).into()),
    }
}

/// The session in which a run from a checkpoint continues: its own, or a branch.
///
/// An answer counts once, for the question that was shown: it is given in the session that asks. Only a denial may
/// begin a branch, because nothing runs by it; approving a question that was decided since would be a second answer
/// (DUR-6).
async fn from_checkpoint(
    request: &ThreadRequest,
    thread: &Thread,
    place: &CheckpointRef,
    body: &Value,
) -> Result<String, ChannelError> {
    let is_answer = body["command"].is_object();
    let first_id = request.access.input_id().map(|id| if is_answer { format!("{id}.0") } else { id.to_owned() });
    if let Some(id) = &first_id
        && request.service().input_record(&place.session, id).await?.is_some()
    {
        // A repeated request continues where it did the first time.
        return Ok(place.session.clone());
    }
    if is_answer {
        let then = request.snapshot(&place.session, Some(place.record)).await?.questions;
        let given = answers(&then, &body["command"]["resume"], |_| true)?;
        let now = request.snapshot(&place.session, None).await?.questions;
        if given.iter().all(|answer| now.iter().any(|question| question.id == answer.question)) {
            return Ok(place.session.clone());
        }
        if !given.iter().all(|answer| matches!(answer.body, AnswerBody::Deny { .. })) {
            let text = "the question of this checkpoint has been decided since: its calls are not repeated";
            return Err(Refused::new(RefusalCode::AlreadyDecided, text).into());
        }
    }
    branch(request, thread, place).await
}

/// Creates a session that begins at a checkpoint; the thread shows it from now on. The latest checkpoint needs none.
/// A repeated request gets the same branch.
pub(super) async fn branch(
    request: &ThreadRequest,
    thread: &Thread,
    place: &CheckpointRef,
) -> Result<String, ChannelError> {
    let shown = thread.session()?;
    let rows = request.service().session_rows().await?;
    let latest = rows.iter().find(|row| row.id == shown).map(|row| row.records);
    if place.session == shown && latest == Some(place.record) {
        return Ok(shown.to_owned());
    }
    let keyed = request.access.id_of_key("branch");
    let is_keyed = keyed.is_some();
    let name = keyed.unwrap_or_else(drawn_id);
    match request.service().fork(&place.session, Some(name.clone()), Some(place.record)).await {
        Err(ChannelError::Host(HostError::Store(StoreError::Exists(_)))) if is_keyed => {}
        forked => drop(forked?),
    }
    let now = system_clock();
    request.notes.change(&name, now, |note| note.branch_of = Some(thread.id.clone())).map_err(note_error)?;
    let add = |note: &mut ThreadNote| {
        if !note.branches.contains(&name) {
            note.branches.push(name.clone());
        }
    };
    request.notes.change(&thread.id, now, add).map_err(note_error)?;
    Ok(name)
}

/// Refuses a second run while one is active.
async fn must_rest(request: &ThreadRequest, session: &str) -> Result<(), ChannelError> {
    if request.service().read(session, obelus_kernel::session::Session::is_at_rest).await? {
        Ok(())
    } else {
        Err(Refused::new(RefusalCode::AtWork, "a run is active in this thread").into())
    }
}

/// Sends the message. A fork from the middle of a turn is resumed first.
async fn say(request: &ThreadRequest, session: &str, text: &str) -> Result<Vec<u64>, ChannelError> {
    let is_fork = is_paused_fork(request, session).await?;
    let accepted =
        request.service().say(session, text, &request.access.caller.by(CHANNEL), request.access.input_id()).await?;
    if is_fork {
        resume_fork(request, session).await?;
    }
    Ok(vec![accepted.record])
}

/// Ends the pause of a fork. The message or the answers before it have the id of the request, so this has its own.
async fn resume_fork(request: &ThreadRequest, session: &str) -> Result<(), ChannelError> {
    let id = request.access.id_of_key("resume");
    request.service().resume(session, &request.access.caller.by(CHANNEL), id.as_deref()).await.map(drop)
}

/// The record of the checkpoint in a body, if it belongs to this session.
fn checkpoint_record(thread: &Thread, session: &str, body: &Value) -> Option<u64> {
    let place = find_checkpoint(thread, named_checkpoint(body)?).ok()?;
    (place.session == session).then_some(place.record)
}

/// Answers the open questions, as they were shown at a checkpoint if one is named.
async fn resume(
    request: &ThreadRequest,
    session: &str,
    value: &Value,
    shown: Option<u64>,
) -> Result<Vec<u64>, ChannelError> {
    if value.is_null() {
        return Err(bad("`command` is {resume: ...}"));
    }
    let ThreadRequest { app, access, .. } = request;
    let by = access.caller.by(CHANNEL);
    let is_fork = is_paused_fork(request, session).await?;
    let first_id = access.input_id().map(|id| format!("{id}.0"));
    let open = match shown {
        Some(record) => request.snapshot(session, Some(record)).await?,
        None => app.service().snapshot_for(session, first_id.as_deref(), access.language).await?,
    };
    let open = open.questions;
    // A checkpoint says what was shown; a repeated request was checked the first time.
    let is_known = match &first_id {
        _ if shown.is_some() => true,
        Some(id) => app.service().input_record(session, id).await?.is_some(),
        None => false,
    };
    let mut records = Vec::new();
    for (place, answer) in
        answers(&open, value, |question| is_known || app.was_shown(access, question))?.into_iter().enumerate()
    {
        let input_id = access.input_id().map(|id| format!("{id}.{place}"));
        let digest = Some(answer.digest.as_str()).filter(|digest| !digest.is_empty());
        let accepted = app.service().answer(&answer.question, answer.body, &by, digest, input_id.as_deref()).await?;
        records.push(accepted.record);
    }
    if is_fork {
        resume_fork(request, session).await?;
    }
    Ok(records)
}

/// Whether a session is paused because it was forked from the middle of a turn. A person's pause is not ended by a
/// run (DUR-11).
async fn is_paused_fork(request: &ThreadRequest, session: &str) -> Result<bool, ChannelError> {
    match request.service().read(session, |session| session.paused().map(str::to_owned)).await? {
        None => Ok(false),
        Some(by) if matches!(SentBy::of(&by), SentBy::ForkOf { .. }) => Ok(true),
        Some(by) => {
            Err(Refused::new(RefusalCode::Paused, format!("the session is paused by {by}: a person must resume it"))
                .into())
        }
    }
}

/// Resumes a session that was forked from the middle of a turn.
async fn go_on(request: &ThreadRequest, session: &str) -> Result<Vec<u64>, ChannelError> {
    if !is_paused_fork(request, session).await? {
        return Err(bad("there is nothing to continue: send `input` with messages, or `command` with `resume`"));
    }
    let access = &request.access;
    let accepted = request.service().resume(session, &access.caller.by(CHANNEL), access.input_id()).await?;
    Ok(vec![accepted.record])
}

/// The user's text in an input: the messages after the agent's last one.
fn text_of(input: &Value) -> Result<Option<String>, ChannelError> {
    let messages = match input {
        Value::Null => return Ok(None),
        Value::String(text) => return Ok(Some(text.clone())),
        Value::Array(messages) => messages.as_slice(),
        Value::Object(fields) => {
            if fields.contains_key("state") {
                return Err(unsupported("the state is edited by POST /threads/{id}/state, not by the input of a run"));
            }
            match (&input["messages"], fields.is_empty()) {
                (Value::Array(messages), _) => messages.as_slice(),
                (Value::String(text), _) => return Ok(Some(text.clone())),
                (_, true) => return Ok(None),
                (one @ Value::Object(_), _) => std::slice::from_ref(one),
                _ => return Err(bad("`input` is {messages: [{role: user, content: ...}]}")),
            }
        }
        _ => return Err(bad("`input` is {messages: [{role: user, content: ...}]}")),
    };
    let mut texts = Vec::new();
    for message in messages {
        match role_of(message) {
            "human" | "user" => texts.push(crate::http::content_text(content_of(message))?),
            "ai" | "assistant" => texts.clear(),
            "system" | "tool" | "developer" => {
                return Err(unsupported(
                    "only messages of the user are accepted: the agent's file has its instructions",
                ));
            }
            _ => return Err(bad("the role of a message is `user`")),
        }
    }
    if texts.is_empty() { Err(bad("there is no message of the user")) } else { Ok(Some(texts.join("\n\n"))) }
}

fn role_of(message: &Value) -> &str {
    match message {
        Value::String(_) => "user",
        Value::Array(pair) => pair.first().and_then(Value::as_str).unwrap_or_default(),
        _ => message["type"].as_str().or_else(|| message["role"].as_str()).unwrap_or_default(),
    }
}

fn content_of(message: &Value) -> &Value {
    match message {
        Value::Array(pair) => pair.get(1).unwrap_or(&Value::Null),
        Value::String(_) => message,
        _ => &message["content"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_input_is_the_users_messages_after_the_agents_last_one() {
        let of = |input: Value| text_of(&input).ok().flatten();
        assert_eq!(of(json!({"messages": [{"role": "user", "content": "a"}]})).as_deref(), Some("a"));
        let long = json!({"messages": [
            {"type": "human", "content": "old"}, {"type": "ai", "content": "yes"},
            {"type": "human", "content": [{"type": "text", "text": "new"}]}, ["user", "more"],
        ]});
        assert_eq!(of(long).as_deref(), Some("new\n\nmore"));
        assert_eq!(of(json!("plain")).as_deref(), Some("plain"));
        assert_eq!(of(Value::Null), None);
        for wrong in [
            json!({"messages": []}),
            json!({"messages": [{"role": "system", "content": "obey"}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}),
            json!({"messages": 5}),
            json!({"state": {}}),
            json!(5),
        ] {
            assert!(text_of(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn unsupported_run_options_are_refused() {
        for wrong in [
            json!({"multitask_strategy": "rollback"}),
            json!({"interrupt_before": ["tools"]}),
            json!({"webhook": "https://example.test"}),
            json!({"command": {"goto": "x"}}),
        ] {
            assert!(check(&wrong).is_err(), "{wrong}");
        }
        assert!(check(&json!({"multitask_strategy": "reject", "interrupt_before": []})).is_ok());
    }

    #[test]
    fn fuzz_the_start_of_a_run_is_refused_or_read() {
        crate::fuzz::fuzz("langgraph", |input| {
            let Ok(body) = serde_json::from_slice::<Value>(input) else { return false };
            check(&body).is_ok() && text_of(&body["input"]).is_ok()
        });
    }
}
