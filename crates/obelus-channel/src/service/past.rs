//! The past of a session: events, timeline, log, fork.

use obelus_kernel::session::Input;
use obelus_runtime::engine::Record;
use obelus_runtime::sessions::InboxId;
use obelus_runtime::{EventNumber, HostError, SessionEvent, SessionHandle, SessionSpec, StoreError, Subscription};
use serde_json::Value;

use super::{Service, check_id, drawn_id};
use crate::ChannelError;
use crate::types::{ForkView, Log, LogFilter, LogRow, Timeline};

/// A record as a row.
fn log_row((stored, record): (Record, u64)) -> LogRow {
    let input = serde_json::to_value(&stored.input).unwrap_or(Value::Null);
    let kind = match &input {
        Value::Object(fields) => fields.keys().next().cloned(),
        other => other.as_str().map(str::to_owned),
    };
    LogRow { record, at: stored.at.to_string(), kind: kind.unwrap_or_default(), input }
}

impl LogFilter {
    fn wants(&self, row: &LogRow) -> bool {
        let has = |text: &String| row.input.to_string().to_lowercase().contains(&text.to_lowercase());
        self.kind.as_ref().is_none_or(|kind| row.kind == *kind) && self.text.as_ref().is_none_or(has)
    }
}

/// The limit of events or records on a page.
const MOST_LISTED: usize = 1000;

impl Service {
    /// The events of a session after a number, or from now on. The handle keeps the feed open.
    pub async fn events(
        &self,
        id: &str,
        after: Option<EventNumber>,
    ) -> Result<(SessionHandle, Subscription), ChannelError> {
        let handle = self.open(id).await?;
        Self::events_of(handle, after).await
    }

    /// Like [`Self::events`], for watchers: a session that is not in memory is not opened.
    pub async fn watch(
        &self,
        id: &str,
        after: Option<EventNumber>,
    ) -> Result<(SessionHandle, Subscription), ChannelError> {
        check_id(id)?;
        Self::events_of(self.host.watch(id).await?, after).await
    }

    async fn events_of(
        handle: SessionHandle,
        after: Option<EventNumber>,
    ) -> Result<(SessionHandle, Subscription), ChannelError> {
        let Some(after) = after else {
            let events = handle.subscribe(None);
            return Ok((handle, events));
        };
        let done = tokio::task::spawn_blocking(move || handle.history(after).map(|events| (handle, events))).await;
        let gone = || HostError::from(StoreError::NotWritten("the reader has ended".to_owned()));
        Ok(done.map_err(|_| gone())??)
    }

    /// The events of a session after a number, or from the beginning.
    pub async fn timeline(&self, id: &str, after: Option<EventNumber>, limit: usize) -> Result<Timeline, ChannelError> {
        check_id(id)?;
        let id = id.to_owned();
        let (after, limit) = (after.unwrap_or(EventNumber::START), limit.clamp(1, MOST_LISTED));
        self.blocking(move |host| {
            let mut events = host.history_after(&id, after)?;
            let is_more = events.len() > limit;
            events.truncate(limit);
            let next = events.last().filter(|_| is_more).map(|event| event.number.to_string());
            let as_value = |event: &std::sync::Arc<SessionEvent>| event_value(&id, event);
            Ok(Timeline { events: events.iter().map(as_value).collect(), next })
        })
        .await
    }

    /// The records of a session after one, filtered by kind and text.
    pub async fn log(&self, id: &str, after: u64, limit: usize, filter: LogFilter) -> Result<Log, ChannelError> {
        check_id(id)?;
        let (id, limit) = (id.to_owned(), limit.clamp(1, MOST_LISTED));
        self.blocking(move |host| {
            let (mut found, mut at) = (Vec::new(), after);
            loop {
                let upto = at.saturating_add(MOST_LISTED as u64);
                let records = host.records(&id, at, Some(upto))?.records;
                let is_end = records.len() < MOST_LISTED;
                let rows = records.into_iter().zip(at.saturating_add(1)..).map(log_row).filter(|row| filter.wants(row));
                // One more shows whether there is a next page.
                found.extend(rows.take(limit + 1 - found.len()));
                if is_end || found.len() > limit {
                    break;
                }
                at = upto;
            }
            let is_more = found.len() > limit;
            found.truncate(limit);
            Ok(Log { next: found.last().filter(|_| is_more).map(|row| row.record), records: found })
        })
        .await
    }

    /// A session with its whole journal, as the lines that `obelus sessions import` reads. To look at, it comes without
    /// the places, commands and addresses of its agent: of its activities there are names alone, each bound to nothing.
    pub async fn export(&self, id: &str, is_to_look: bool) -> Result<String, ChannelError> {
        let names =
            if is_to_look { Some(self.read(id, |session| session.settings().activities.clone()).await?) } else { None };
        check_id(id)?;
        let id = id.to_owned();
        self.blocking(move |host| {
            let mut export = host.export(&id)?;
            if let Some(names) = names {
                export.genesis = SessionSpec::without_places(export.genesis, names);
            }
            export.to_lines().map_err(|error| StoreError::NotWritten(error.to_string()).into())
        })
        .await
    }

    /// Creates a session at a record of another one, or at its present state. Without a given id, a random one is used.
    pub async fn fork(&self, id: &str, new: Option<String>, at: Option<u64>) -> Result<ForkView, ChannelError> {
        check_id(id)?;
        let new = new.unwrap_or_else(drawn_id);
        check_id(&new)?;
        let of = id.to_owned();
        self.blocking(move |host| {
            // The fork keeps the mode that was chosen when the session was created.
            let first = host.records(&of, 0, Some(1))?.records;
            let has_mode = first.first().is_some_and(|first| matches!(*first.input, Input::Mode { .. }));
            let at = at.map(|at| if has_mode { at.max(1) } else { at });
            let forked = host.fork(&of, &new, at)?;
            Ok(ForkView { id: new, of, at: forked.at, paused: forked.is_paused })
        })
        .await
    }
}

/// An event for clients. It also has the ids by which its questions are answered.
pub(crate) fn event_value(session: &str, event: &SessionEvent) -> Value {
    let mut value = serde_json::to_value(event).unwrap_or(Value::Null);
    let whole = |id: &Value| Some(Value::from(InboxId::new(session, &id.as_str()?.parse().ok()?).to_string()));
    let question = whole(&value["question"]).or_else(|| whole(value["question"].get("id")?));
    let waiting = value["reply"]["waiting"].as_array().map(|all| all.iter().filter_map(whole).collect::<Vec<_>>());
    if let Some(question) = question {
        value["question_id"] = question;
    }
    if let Some(waiting) = waiting.filter(|waiting| !waiting.is_empty()) {
        value["waiting_ids"] = waiting.into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_kernel::Time;
    use obelus_runtime::EventBody;

    #[test]
    fn events_have_the_ids_by_which_questions_are_answered() {
        let body = EventBody::QuestionExpired { question: "q1".parse().unwrap() };
        let number = EventNumber { record: 1, part: 1 };
        let value = event_value("monday", &SessionEvent { number, at: Time(0), is_transient: false, body });
        assert_eq!((&value["question"], &value["question_id"]), (&"q1".into(), &"monday:q1".into()));
    }
}
