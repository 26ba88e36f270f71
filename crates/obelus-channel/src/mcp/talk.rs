//! Messages to an agent and their results.

use std::time::Duration;

use obelus_kernel::session::{Question, Session};
use obelus_runtime::sessions::InboxId;
use serde_json::{Value, json};

use super::CHANNEL;
use super::ask::{self, ElicitedAnswer};
use super::tools::{ToolAnswer, ToolCall, row};
use crate::ChannelError;
use crate::http::{LONGEST_WAIT, USUAL_WAIT};
use crate::tokens::TokenRole;
use crate::types::NewSession;

impl ToolCall<'_> {
    /// Sends a message to an agent, and waits for the result.
    pub(super) async fn talk(&self) -> Result<ToolAnswer, ChannelError> {
        let (service, access) = (self.app.service(), self.access);
        access.needs(TokenRole::Operator)?;
        // The message was sent with the first request; this one has the person's answer.
        if let Some(given) = ask::given(self.params)? {
            return self.go_on(&given).await;
        }
        let message = self.text("message")?;
        let session = match (self.args["session"].as_str(), self.args["agent"].as_str()) {
            (Some(session), _) => session.to_owned(),
            (None, Some(agent)) => {
                let lang = service.lang_of(message);
                let new = NewSession { agent: agent.to_owned(), lang, ..NewSession::default() };
                service.create_session_once(new, "talk", access.input_id()).await?.0.id
            }
            (None, None) => return Err(ChannelError::BadRequest("`agent`, or `session`, is missing".to_owned())),
        };
        if self.client.can_elicit {
            self.must_not_consent(&session, message).await?;
        }
        service.say(&session, message, &access.caller.by(CHANNEL), access.input_id()).await?;
        let seconds = self.args["wait_seconds"].as_u64().unwrap_or(USUAL_WAIT).clamp(1, LONGEST_WAIT);
        self.turn_result(&session, seconds).await
    }

    /// Refuses a message that approves in words, while a question is open or the turn may come to ask one: the client's
    /// model writes the message, and the person at the client decides by the form.
    async fn must_not_consent(&self, session: &str, message: &str) -> Result<(), ChannelError> {
        let words = message.to_owned();
        let consents = move |session: &Session| {
            let may_ask = !session.is_at_rest() || session.questions().iter().any(Question::is_open);
            may_ask && session.settings().consent.consents(&words)
        };
        if self.app.service().read(session, consents).await? {
            return Err(ChannelError::BadRequest(
                "a message cannot approve an open question: call `decide`, and the user is asked".to_owned(),
            ));
        }
        Ok(())
    }

    /// Gives a person's answer, and waits for the result.
    pub(super) async fn go_on(&self, given: &ElicitedAnswer) -> Result<ToolAnswer, ChannelError> {
        self.access.needs(TokenRole::Operator)?;
        let session = InboxId::parse(&given.question).map_or("", |id| id.session);
        match &given.answer {
            // The question stays in the inbox.
            None => Ok(ToolAnswer::Result(self.session(session).await?)),
            Some(answer) => {
                let by = self.access.caller.by(CHANNEL);
                // A client may give the message and each answer the same key: they are requests of one tool call.
                let id = self.access.id_of_key(&given.question);
                let (service, digest) = (self.app.service(), Some(given.digest.as_str()));
                service.answer(&given.question, answer.clone(), &by, digest, id.as_deref()).await?;
                self.turn_result(session, USUAL_WAIT).await
            }
        }
    }

    /// The result of a turn when it rests, or its progress. A question is put to the person, if the client can ask.
    pub(super) async fn turn_result(&self, id: &str, seconds: u64) -> Result<ToolAnswer, ChannelError> {
        let service = self.app.service();
        tokio::select! {
            rested = service.rested(id, self.access.language) => drop(rested?),
            () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
            () = self.app.closing() => return Err(ChannelError::Closing),
        }
        let view = service.session(id, self.access.language).await?;
        match view.questions.first().filter(|_| self.client.can_elicit) {
            Some(question) => Ok(ToolAnswer::Asks(ask::ask(question))),
            None => Ok(ToolAnswer::Result(self.session(id).await?)),
        }
    }

    /// The status of a session, its latest reply and its open questions.
    pub(super) async fn session(&self, id: &str) -> Result<Value, ChannelError> {
        let view = self.app.service().session(id, self.access.language).await?;
        let reply = view.turn.map(|turn| turn.text);
        Ok(json!({
            "session": view.id, "agent": view.agent, "status": view.status, "reply": reply,
            "questions": view.questions.iter().map(row).collect::<Vec<_>>(),
        }))
    }
}
