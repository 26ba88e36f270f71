//! Events as a stream of server-sent events. A client continues after the id of the last one.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use obelus_runtime::{EventBody, EventNumber, SessionEvent, SessionHandle, Subscription};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;

use super::body::{InPath, InQuery};
use super::reply::{Failure, Failures, text};
use super::{Access, App};
use crate::Changes;
use crate::ChannelError;
use crate::schemas::SessionEventShape;
use crate::service::{StepWords, event_value};
use crate::tokens::Caller;
use crate::types::ListChange;

/// Where a stream begins
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AfterQuery {
    /// The event after which the stream begins, `RECORD-PART`; `0-0` is the beginning. By default from now on.
    #[param(pattern = "^[0-9]+-[0-9]+$")]
    pub(super) after: Option<String>,
}

/// The events of a session, for one client.
pub(crate) struct EventStream {
    app: App,
    caller: Caller,
    pub(super) session: String,
    events: Subscription,
    /// Keeps the session's feed open.
    _handle: SessionHandle,
    _permit: OwnedSemaphorePermit,
}

/// The next item for a client.
pub(crate) enum StreamItem {
    Event(Arc<SessionEvent>),
    /// Nothing has happened for a while: send a keep-alive.
    Silence,
    /// The stream ends.
    End,
}

impl EventStream {
    /// Opens a stream after an event, within the token's limits.
    pub(crate) async fn open(app: &App, access: &Access, id: &str, after: Option<&str>) -> Result<Self, Failure> {
        let permit = app.inner.limits.stream(&access.caller.name)?;
        let number =
            |text: &str| text.parse::<EventNumber>().map_err(|error| ChannelError::BadRequest(error.to_string()));
        let after = after.map(number).transpose()?;
        let (handle, events) = app.service().watch(id, after).await?;
        app.inner.metrics.stream(1);
        Ok(Self {
            app: app.clone(),
            caller: access.caller.clone(),
            session: id.to_owned(),
            events,
            _handle: handle,
            _permit: permit,
        })
    }

    /// The next event, if it is available.
    pub(crate) fn try_next(&mut self) -> Option<Arc<SessionEvent>> {
        self.events.try_next()
    }

    /// The next item. The stream ends when its token is removed.
    pub(crate) async fn next(&mut self) -> StreamItem {
        let next = self.wait().await;
        if self.app.inner.tokens.still_permits(&self.caller) { next } else { StreamItem::End }
    }

    async fn wait(&mut self) -> StreamItem {
        tokio::select! {
            event = self.events.next() => match event {
                Some(event) => {
                    self.app.inner.metrics.event();
                    StreamItem::Event(event)
                }
                None => StreamItem::End,
            },
            () = tokio::time::sleep(self.app.inner.options.keep_alive) => StreamItem::Silence,
            () = self.app.closing() => StreamItem::End,
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.app.inner.metrics.stream(-1);
    }
}

/// The events of a session, as server-sent events
///
/// Each event has its number as id. `Last-Event-ID` or `after` resumes after it, also after a restart of the server.
/// Transient events, such as partial text, have no id. After `missed` the stream ends: resume by the last id. If a
/// language is requested, `call_began` and `call_ended` have a `line`: the step in words.
#[utoipa::path(get, path = "/api/v1/sessions/{id}/events", tag = "events", operation_id = "streamEvents",
    params(("id" = String, Path, description = "the session"), AfterQuery, ("last-event-id" = Option<String>, Header, description = "the id of the last received event")),
    responses((status = 200, description = "the events, each as JSON in its `data`", body = SessionEventShape, content_type = "text/event-stream"), Failures))]
pub(super) async fn events(
    State(app): State<App>,
    access: Access,
    InPath(id): InPath<String>,
    InQuery(query): InQuery<AfterQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let events = EventStream::open(&app, &access, &id, last.or(query.after.as_deref())).await?;
    let words = match access.language {
        Some(language) => Some(app.service().step_words(&id, language).await?),
        None => None,
    };
    // The headers are sent at once, without waiting for an event.
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b": open\n\n"))]);
    let rest = stream::unfold(Some((events, words)), |state| async move {
        let (mut events, mut words) = state?;
        match events.next().await {
            StreamItem::Event(event) => {
                let is_last = matches!(event.body, EventBody::Missed);
                let frame = frame(&events.session, &event, words.as_mut());
                Some((Ok(frame), Some((events, words)).filter(|_| !is_last)))
            }
            StreamItem::Silence => Some((Ok(Bytes::from_static(b": alive\n\n")), Some((events, words)))),
            StreamItem::End => None,
        }
    });
    use futures_util::StreamExt as _;
    Ok(text("text/event-stream; charset=utf-8", Body::from_stream(first.chain(rest))))
}

/// Changes in the lists of sessions and questions, as server-sent events
///
/// Each change is sent once: read the lists after the stream is open. After `missed` the stream ends.
#[utoipa::path(get, path = "/api/v1/changes", tag = "events", operation_id = "streamChanges",
    responses((status = 200, description = "the changes, each as JSON in its `data`", body = ListChange, content_type = "text/event-stream"), Failures))]
pub(super) async fn changes(State(app): State<App>, access: Access) -> Result<Response, Failure> {
    let permit = app.inner.limits.stream(&access.caller.name)?;
    let changes = app.service().changes(access.language);
    app.inner.metrics.stream(1);
    let watched = ListWatcher { app, access, changes, _permit: permit };
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b": open\n\n"))]);
    let rest = stream::unfold(Some(watched), |watched| async move {
        let mut watched = watched?;
        let change = tokio::select! {
            change = watched.changes.next() => change?,
            () = tokio::time::sleep(watched.app.inner.options.keep_alive) => {
                if !watched.app.still_permits(&watched.access) {
                    return None;
                }
                return Some((Ok(Bytes::from_static(b": alive\n\n")), Some(watched)));
            }
            () = watched.app.closing() => return None,
        };
        if !watched.app.still_permits(&watched.access) {
            return None;
        }
        let is_last = change == ListChange::Missed;
        let body = serde_json::to_value(&change).unwrap_or_default();
        let frame = format!("event: {}\ndata: {body}\n\n", body["event"].as_str().unwrap_or("event"));
        Some((Ok(Bytes::from(frame)), Some(watched).filter(|_| !is_last)))
    });
    use futures_util::StreamExt as _;
    Ok(text("text/event-stream; charset=utf-8", Body::from_stream(first.chain(rest))))
}

/// A watcher of the lists.
struct ListWatcher {
    app: App,
    access: Access,
    changes: Changes,
    _permit: OwnedSemaphorePermit,
}

impl Drop for ListWatcher {
    fn drop(&mut self) {
        self.app.inner.metrics.stream(-1);
    }
}

/// An event as a frame. Transient events have no id.
fn frame(session: &str, event: &SessionEvent, words: Option<&mut StepWords>) -> Bytes {
    let mut body = event_value(session, event);
    if let Some(line) = words.and_then(|words| words.line(event)) {
        body["line"] = serde_json::to_value(line).unwrap_or_default();
    }
    let name = body["event"].as_str().unwrap_or("event").to_owned();
    let id = if event.is_transient { String::new() } else { format!("id: {}\n", event.number) };
    // JSON on one line has no line breaks.
    Bytes::from(format!("{id}event: {name}\ndata: {body}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_kernel::Time;

    #[test]
    fn stored_events_have_their_number_as_id_and_transient_events_have_none() {
        let number = EventNumber { record: 12, part: 3 };
        let event = |is_transient, body| SessionEvent { number, at: Time(0), is_transient, body };
        let told =
            |is_transient, body| String::from_utf8(frame("s", &event(is_transient, body), None).to_vec()).unwrap();
        let said = told(false, EventBody::AgentSaid { text: "a\nid: 99-9\n\nb".to_owned() });
        assert!(said.starts_with("id: 12-3\nevent: agent_said\ndata: {"), "{said}");
        assert_eq!(said.lines().count(), 4, "words of a model make no lines: {said}");
        assert!(told(true, EventBody::Writing { text: "a".to_owned() }).starts_with("event: writing\n"));
        assert!(told(true, EventBody::Missed).starts_with("event: missed\n"));
    }
}
