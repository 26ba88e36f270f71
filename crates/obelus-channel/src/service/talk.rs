//! Inputs to a session, and their results.

use obelus_kernel::policy::ConsentId;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Input, Question, Refused, Reply, Session};
use obelus_kernel::visible;
use obelus_runtime::people::{QuestionView, Titles, why_it_ended};
use obelus_runtime::sessions::InboxId;
use obelus_runtime::{EventBody, EventNumber, Language};
use serde_json::Value;

use super::sessions::call_rows;
use super::{Service, check_id, once};
use crate::ChannelError;
use crate::types::{Taken, TurnView};

impl Service {
    /// Sends a message as the user; `by` says who, and from where. It returns when the message is durable;
    /// [`Service::rested`] waits for the turn. An input with the same `input_id` is taken once (DUR-13).
    pub async fn say(&self, id: &str, text: &str, by: &str, input_id: Option<&str>) -> Result<Taken, ChannelError> {
        self.tell(id, Input::User { text: text.to_owned(), by: Some(by.to_owned()) }, input_id).await
    }

    /// Stops the turn and all running work.
    pub async fn stop(&self, id: &str, input_id: Option<&str>) -> Result<Taken, ChannelError> {
        self.tell(id, Input::Stop, input_id).await
    }

    /// Pauses the session: running work continues to its end, and nothing new starts. `by` says who, and from where.
    pub async fn pause(&self, id: &str, by: &str, input_id: Option<&str>) -> Result<Taken, ChannelError> {
        self.tell(id, Input::Pause { by: by.to_owned() }, input_id).await
    }

    /// Resumes a paused session.
    pub async fn resume(&self, id: &str, by: &str, input_id: Option<&str>) -> Result<Taken, ChannelError> {
        self.tell(id, Input::Resume { by: by.to_owned() }, input_id).await
    }

    /// Replaces the session's state.
    pub async fn edit_state(
        &self,
        id: &str,
        state: Value,
        by: &str,
        input_id: Option<&str>,
    ) -> Result<Taken, ChannelError> {
        let edit = Input::State { state, by: by.to_owned(), is_whole: true };
        match self.tell(id, edit, input_id).await {
            Err(ChannelError::Refused(refused)) if refused.code == RefusalCode::AtWork => {
                if self.read(id, |session| session.paused().is_some()).await? {
                    Err(Refused::new(
                        RefusalCode::Paused,
                        "the session is paused in the middle of a turn: resume it first",
                    )
                    .into())
                } else {
                    Err(refused.into())
                }
            }
            taken => taken,
        }
    }

    /// Revokes a standing consent (ASK-9), by its id such as `c1`.
    pub async fn revoke(
        &self,
        id: &str,
        consent: &str,
        by: &str,
        input_id: Option<&str>,
    ) -> Result<Taken, ChannelError> {
        let ConsentId(consent) =
            consent.parse().map_err(|_| ChannelError::NotFound(consent.chars().take(32).collect()))?;
        self.tell(id, Input::Revoke { consent, by: by.to_owned() }, input_id).await
    }

    /// Gives a session an input.
    pub async fn tell(&self, id: &str, input: Input, input_id: Option<&str>) -> Result<Taken, ChannelError> {
        let handle = self.open(id).await?;
        let record = once(&handle, input_id)?.tell_recorded(input).await?;
        Ok(Taken { session: id.to_owned(), record, event: format!("{record}-0") })
    }

    /// Waits until the turn rests, and returns its result; none if nothing has begun, or the session is paused within
    /// a turn.
    pub async fn rested(&self, id: &str, wanted: Option<Language>) -> Result<Option<TurnView>, ChannelError> {
        let handle = self.open(id).await?;
        let (service, name) = (self.clone(), id.to_owned());
        let view = move |session: &Session| {
            let reply = session.reply()?;
            Some(turn_view(session, &reply, &name, service.language_of(session, wanted)))
        };
        Ok(handle.read_at_rest(view).await?)
    }

    /// Why the message of this record, which may be meant as an answer, has left questions open that were open before
    /// it (ASK-6); none for other messages, and if no question is left open.
    pub async fn left_open(
        &self,
        id: &str,
        record: u64,
        wanted: Option<Language>,
    ) -> Result<Option<String>, ChannelError> {
        check_id(id)?;
        let name = id.to_owned();
        let sent = self.blocking(move |host| {
            let before = record.saturating_sub(1);
            let records = host.records(&name, before, Some(record))?.records;
            let Some(Input::User { text, .. }) = records.first().map(|record| &*record.input) else { return Ok(None) };
            let open = host.view(&name, Some(before))?.questions().into_iter().filter(Question::is_open);
            Ok(Some((text.clone(), open.map(|question| question.id).collect::<Vec<_>>())))
        });
        let Some((text, open)) = sent.await? else { return Ok(None) };
        let service = self.clone();
        self.read(id, move |session| {
            QuestionView::left_open(session, &text, &open, service.language_of(session, wanted))
        })
        .await
    }

    /// The result of the turn that a record began or continued, as it was when that turn first came to rest; none while
    /// it runs. A repeated request gets it instead of the result of a later turn.
    pub async fn turn_after(
        &self,
        id: &str,
        record: u64,
        wanted: Option<Language>,
    ) -> Result<Option<TurnView>, ChannelError> {
        let (service, id) = (self.clone(), id.to_owned());
        self.blocking(move |host| {
            for event in host.history_after(&id, EventNumber { record, part: 0 })? {
                let EventBody::Rested { reply } = &event.body else { continue };
                let session = host.view(&id, Some(event.number.record))?;
                // A message that waited for the end of the turn before begins its own turn at once.
                if session.is_at_rest() {
                    return Ok(Some(turn_view(&session, reply, &id, service.language_of(&session, wanted))));
                }
            }
            Ok(None)
        })
        .await
    }
}

/// The result of a turn.
pub(super) fn turn_view(session: &Session, reply: &Reply, id: &str, language: Language) -> TurnView {
    TurnView {
        ends: reply.ends,
        text: text_of(session, reply, language),
        output: reply.output.clone(),
        said: reply.said.clone(),
        calls: call_rows(session, &reply.calls, language),
        waiting: reply.waiting.iter().map(|question| InboxId::new(id, question).to_string()).collect(),
        reason: reply.reason.as_ref().and_then(|reason| serde_json::to_value(reason).ok()),
        end: reply.end.clone(),
        left_open: None,
        at: reply.at.to_string(),
    }
}

/// The whole text of a turn for the user: the agent's messages, the result, and why it ended if it has none.
fn text_of(session: &Session, reply: &Reply, language: Language) -> String {
    let mut parts: Vec<String> = reply.said.iter().map(|words| lines_visible(words)).collect();
    if let Some(words) = reply.output.as_str().filter(|words| !reply.said.iter().any(|said| said == words)) {
        parts.push(lines_visible(words));
    }
    let titles = Titles::of(session.context(), language.code());
    parts.extend(Some(why_it_ended(reply, Some(&titles), language)).filter(|why| !why.is_empty()));
    parts.join("\n\n")
}

/// Text of a model with control and direction characters escaped. Line breaks stay.
pub(crate) fn lines_visible(text: &str) -> String {
    text.split('\n')
        .map(|line| line.split('\t').map(visible).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}
