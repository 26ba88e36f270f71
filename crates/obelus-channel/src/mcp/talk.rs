//! Messages to an agent and their results.

use obelus_kernel::session::{Question, Session};
use obelus_runtime::sessions::InboxId;
use std::time::Duration;

use serde_json::{Value, json};

use super::ask::{self, ElicitedAnswer};
use super::tools::{ToolAnswer, row, text};
use super::{CHANNEL, ClientCapabilities};
use crate::ChannelError;
use crate::http::{Access, App};
use crate::tokens::TokenRole;
use crate::types::NewSession;

/// The default time to wait for a turn, in seconds.
pub(super) const USUAL: u64 = 60;
/// The longest wait, in seconds.
pub(super) const LONGEST: u64 = 600;

/// Sends a message to an agent, and waits for the result.
pub(super) async fn talk(
    app: &App,
    access: &Access,
    args: &Value,
    params: &Value,
    client: &ClientCapabilities,
) -> Result<ToolAnswer, ChannelError> {
    access.needs(TokenRole::Operator)?;
    // The message was sent with the first request; this one has the person's answer.
    if let Some(given) = ask::given(params)? {
        return go_on(app, access, &given, client).await;
    }
    let message = text(args, "message")?;
    let session = match (args["session"].as_str(), args["agent"].as_str()) {
        (Some(session), _) => session.to_owned(),
        (None, Some(agent)) => {
            let lang = app.service().lang_of(message);
            let new = NewSession { agent: agent.to_owned(), lang, ..NewSession::default() };
            app.service().create_session_once(new, "talk", access.input_id()).await?.0.id
        }
        (None, None) => return Err(ChannelError::BadRequest("`agent`, or `session`, is missing".to_owned())),
    };
    if client.can_elicit {
        must_not_consent(app, &session, message).await?;
    }
    app.service().say(&session, message, &access.caller.by(CHANNEL), access.input_id()).await?;
    let seconds = args["wait_seconds"].as_u64().unwrap_or(USUAL).clamp(1, LONGEST);
    turn_result(app, access, &session, seconds, client).await
}

/// Refuses a message that approves in words, while a question is open or the turn may come to ask one: the client's
/// model writes the message, and the person at the client decides by the form.
async fn must_not_consent(app: &App, session: &str, message: &str) -> Result<(), ChannelError> {
    let words = message.to_owned();
    let consents = move |session: &Session| {
        let may_ask = !session.is_at_rest() || session.questions().iter().any(Question::is_open);
        may_ask && session.settings().consent.consents(&words)
    };
    if app.service().read(session, consents).await? {
        return Err(ChannelError::BadRequest(
            "a message cannot approve an open question: call `decide`, and the user is asked".to_owned(),
        ));
    }
    Ok(())
}

/// Gives a person's answer, and waits for the result.
pub(super) async fn go_on(
    app: &App,
    access: &Access,
    given: &ElicitedAnswer,
    client: &ClientCapabilities,
) -> Result<ToolAnswer, ChannelError> {
    access.needs(TokenRole::Operator)?;
    let session = InboxId::parse(&given.question).map_or("", |id| id.session);
    match &given.answer {
        // The question stays in the inbox.
        None => Ok(ToolAnswer::Result(self::session(app, access, session).await?)),
        Some(answer) => {
            let by = access.caller.by(CHANNEL);
            // A client may give the message and each answer the same key: they are requests of one tool call.
            let id = access.id_of_key(&given.question);
            app.service().answer(&given.question, answer.clone(), &by, Some(&given.digest), id.as_deref()).await?;
            turn_result(app, access, session, USUAL, client).await
        }
    }
}

/// The result of a turn when it rests, or its progress. A question is put to the person, if the client can ask.
pub(super) async fn turn_result(
    app: &App,
    access: &Access,
    id: &str,
    seconds: u64,
    client: &ClientCapabilities,
) -> Result<ToolAnswer, ChannelError> {
    tokio::select! {
        rested = app.service().rested(id, access.language) => drop(rested?),
        () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
        () = app.closing() => return Err(ChannelError::Closing),
    }
    let view = app.service().session(id, access.language).await?;
    match view.questions.first().filter(|_| client.can_elicit) {
        Some(question) => Ok(ToolAnswer::Asks(ask::ask(question))),
        None => Ok(ToolAnswer::Result(session(app, access, id).await?)),
    }
}

/// The status of a session, its latest reply and its open questions.
pub(super) async fn session(app: &App, access: &Access, id: &str) -> Result<Value, ChannelError> {
    let view = app.service().session(id, access.language).await?;
    let reply = view.turn.map(|turn| turn.text);
    Ok(json!({
        "session": view.id, "agent": view.agent, "status": view.status, "reply": reply,
        "questions": view.questions.iter().map(row).collect::<Vec<_>>(),
    }))
}
