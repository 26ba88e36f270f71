//! Begins runs: finds or creates the session, and gives it the input of the run.

use obelus_kernel::session::Refused;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::sent_by::SentBy;
use obelus_runtime::{EventNumber, HostError, StoreError, system_clock};
use serde_json::Value;

use super::input::{RunInput, check_options};
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
    check_options(body)?;
    let assistant = body["assistant_id"].as_str().ok_or_else(|| bad("`assistant_id` is the name of an agent"))?;
    let thread = thread_of(request, thread, body).await?;
    if let Some(other) = thread.session.as_ref().filter(|session| session.agent != assistant) {
        return Err(unsupported(&format!("this thread belongs to the assistant `{}`", other.agent)));
    }
    // Read first, so that nothing is created for an invalid run.
    let input = RunInput::read(body)?;
    let mut session = match &thread.session {
        Some(session) => session.id.clone(),
        None => create_session(request, &thread.id, assistant, &input).await?,
    };
    let mut checkpoint = None;
    if let Some(id) = named_checkpoint(body) {
        let found = find_checkpoint(&thread, id)?;
        session = session_at(request, &thread, &found, &input).await?;
        // An answer in another session than the checkpoint's is given to what that session shows now.
        checkpoint = Some(found).filter(|found| found.session == session);
    } else if body["multitask_strategy"] == "reject" {
        must_rest(request, &session).await?;
    }
    let records = match &input {
        RunInput::Message(text) => vec![say(request, &session, text).await?],
        RunInput::Answers(resume) => {
            answer(request, &session, resume, checkpoint.map(|checkpoint| checkpoint.record)).await?
        }
        RunInput::Nothing => vec![go_on(request, &session).await?],
    };
    let (first, last) = (records.first().copied().unwrap_or_default(), records.last().copied().unwrap_or_default());
    let after = EventNumber { record: first, part: 0 };
    Ok(StartedRun { thread: thread.id, session, assistant: assistant.to_owned(), record: last, after })
}

/// Creates the session of a thread, in the language of the first message.
async fn create_session(
    request: &ThreadRequest,
    id: &str,
    assistant: &str,
    input: &RunInput<'_>,
) -> Result<String, ChannelError> {
    let lang = match input {
        RunInput::Message(text) => request.service().lang_of(text),
        RunInput::Answers(_) | RunInput::Nothing => None,
    };
    let new = NewSession { agent: assistant.to_owned(), id: Some(id.to_owned()), lang, ..NewSession::default() };
    match request.service().create_session(new).await {
        // Another run of the same thread was faster.
        Ok(_) | Err(ChannelError::Host(HostError::Store(StoreError::Exists(_)))) => Ok(id.to_owned()),
        Err(error) => Err(error),
    }
}

/// The thread of a run. One without a thread begins a new one.
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
async fn session_at(
    request: &ThreadRequest,
    thread: &Thread,
    place: &CheckpointRef,
    input: &RunInput<'_>,
) -> Result<String, ChannelError> {
    let first_id = request.access.input_id().map(|id| match input {
        RunInput::Answers(_) => answer_id(id, 0),
        RunInput::Message(_) | RunInput::Nothing => id.to_owned(),
    });
    if let Some(id) = &first_id
        && request.service().input_record(&place.session, id).await?.is_some()
    {
        // A repeated request continues where it did the first time.
        return Ok(place.session.clone());
    }
    if let RunInput::Answers(resume) = input {
        let then = request.snapshot(&place.session, Some(place.record)).await?.questions;
        let given = answers(&then, resume, |_| true)?;
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
async fn say(request: &ThreadRequest, session: &str, text: &str) -> Result<u64, ChannelError> {
    let is_fork = is_paused_fork(request, session).await?;
    let accepted =
        request.service().say(session, text, &request.access.caller.by(CHANNEL), request.access.input_id()).await?;
    if is_fork {
        resume_fork(request, session).await?;
    }
    Ok(accepted.record)
}

/// Ends the pause of a fork. The message or the answers before it have the id of the request, so this has its own.
async fn resume_fork(request: &ThreadRequest, session: &str) -> Result<(), ChannelError> {
    let id = request.access.id_of_key("resume");
    request.service().resume(session, &request.access.caller.by(CHANNEL), id.as_deref()).await.map(drop)
}

/// The input id of the answer at this place among those of a request.
fn answer_id(request: &str, place: usize) -> String {
    format!("{request}.{place}")
}

/// Answers the open questions, as they were shown at the checkpoint of this record if there is one. Returns the records
/// of the answers.
async fn answer(
    request: &ThreadRequest,
    session: &str,
    resume: &Value,
    checkpoint: Option<u64>,
) -> Result<Vec<u64>, ChannelError> {
    let ThreadRequest { app, access, .. } = request;
    let (service, by) = (app.service(), access.caller.by(CHANNEL));
    let is_fork = is_paused_fork(request, session).await?;
    let first_id = access.input_id().map(|id| answer_id(id, 0));
    let shown = match checkpoint {
        Some(record) => request.snapshot(session, Some(record)).await?,
        None => service.snapshot_for(session, first_id.as_deref(), access.language).await?,
    };
    // A checkpoint says what was shown; a repeated request was checked the first time.
    let is_checked = match &first_id {
        _ if checkpoint.is_some() => true,
        Some(id) => service.input_record(session, id).await?.is_some(),
        None => false,
    };
    let given = answers(&shown.questions, resume, |question| is_checked || app.was_shown(access, question))?;
    let mut records = Vec::new();
    for (place, answer) in given.into_iter().enumerate() {
        let input_id = access.input_id().map(|id| answer_id(id, place));
        let digest = Some(answer.digest.as_str()).filter(|digest| !digest.is_empty());
        let accepted = service.answer(&answer.question, answer.body, &by, digest, input_id.as_deref()).await?;
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
async fn go_on(request: &ThreadRequest, session: &str) -> Result<u64, ChannelError> {
    if !is_paused_fork(request, session).await? {
        return Err(bad("there is nothing to continue: send `input` with messages, or `command` with `resume`"));
    }
    let access = &request.access;
    let accepted = request.service().resume(session, &access.caller.by(CHANNEL), access.input_id()).await?;
    Ok(accepted.record)
}
