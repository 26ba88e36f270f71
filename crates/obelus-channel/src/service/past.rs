//! What happened in a session: events, timeline, log, fork.

use obelus_runtime::{EventNumber, HostError, SessionHandle, StoreError, Subscription};
use serde_json::Value;

use super::{Service, check_id, drawn_id};
use crate::ChannelError;
use crate::types::{ForkView, Log, LogRow, Timeline};

/// The most events or records of one part of a list.
const MOST_LISTED: usize = 1000;

impl Service {
    /// The events of a session after one that was seen before, or from now on. The handle keeps the feed open.
    pub async fn events(
        &self,
        id: &str,
        after: Option<EventNumber>,
    ) -> Result<(SessionHandle, Subscription), ChannelError> {
        let handle = self.open(id).await?;
        let Some(after) = after else {
            let events = handle.subscribe(None);
            return Ok((handle, events));
        };
        let done = tokio::task::spawn_blocking(move || handle.history(after).map(|events| (handle, events))).await;
        let gone = || HostError::from(StoreError::NotWritten("the reader has ended".to_owned()));
        Ok(done.map_err(|_| gone())??)
    }

    /// What happened in a session after an event, from its beginning on where there is none.
    pub async fn timeline(&self, id: &str, after: Option<EventNumber>, limit: usize) -> Result<Timeline, ChannelError> {
        check_id(id)?;
        let id = id.to_owned();
        let (after, limit) = (after.unwrap_or(EventNumber::START), limit.clamp(1, MOST_LISTED));
        self.blocking(move |host| {
            let mut events = host.history_after(&id, after)?;
            let is_more = events.len() > limit;
            events.truncate(limit);
            let next = events.last().filter(|_| is_more).map(|event| event.number.to_string());
            let as_value = |event: &std::sync::Arc<_>| serde_json::to_value(&**event).unwrap_or(Value::Null);
            Ok(Timeline { events: events.iter().map(as_value).collect(), next })
        })
        .await
    }

    /// The records of a session's journal after one.
    pub async fn log(&self, id: &str, after: u64, limit: usize) -> Result<Log, ChannelError> {
        check_id(id)?;
        let (id, limit) = (id.to_owned(), limit.clamp(1, MOST_LISTED));
        self.blocking(move |host| {
            let upto = after.saturating_add(limit as u64);
            // One more tells whether there is a next part.
            let mut records = host.records(&id, after, upto.saturating_add(1))?;
            let next = (records.len() > limit).then_some(upto);
            records.truncate(limit);
            let row = |(kept, record): (obelus_runtime::engine::Record, u64)| LogRow {
                record,
                at: kept.at.to_string(),
                input: serde_json::to_value(&kept.input).unwrap_or(Value::Null),
            };
            Ok(Log { records: records.into_iter().zip(after.saturating_add(1)..).map(row).collect(), next })
        })
        .await
    }

    /// Begins a session where another one was after a record, or where it is now. Its id is drawn where none is given.
    pub async fn fork(&self, id: &str, new: Option<String>, at: Option<u64>) -> Result<ForkView, ChannelError> {
        check_id(id)?;
        let new = new.unwrap_or_else(drawn_id);
        check_id(&new)?;
        let of = id.to_owned();
        self.blocking(move |host| {
            let forked = host.fork(&of, &new, at)?;
            Ok(ForkView { id: new, of, at: forked.at, paused: forked.is_paused })
        })
        .await
    }
}
