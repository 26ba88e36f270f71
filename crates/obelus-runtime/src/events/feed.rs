//! The latest events of one session, and its subscribers.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_kernel::Time;
use tokio::sync::Notify;

use super::{EventBody, EventNumber, SessionEvent};
use crate::host::NewsSender;

/// The latest events of one session. Their number is limited: a slow reader is told that it missed some.
pub(crate) struct Feed {
    inner: Mutex<FeedState>,
    news: Notify,
    subscribers: AtomicUsize,
    /// Whether events are kept: since the first subscription. Earlier ones are in the journal.
    keeps_events: AtomicBool,
    /// The latest record, for those who subscribe before events are kept.
    record: AtomicU64,
    capacity: usize,
    /// The watchers of all sessions of the host, and the name of this one.
    watchers: Option<(Arc<str>, NewsSender)>,
}

#[derive(Default)]
struct FeedState {
    events: VecDeque<Arc<SessionEvent>>,
    /// The number of events dropped before the first one kept.
    dropped: u64,
    /// All events after this number are kept.
    complete_after: EventNumber,
    latest: EventNumber,
    is_closed: bool,
}

impl Feed {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            inner: Mutex::default(),
            news: Notify::new(),
            subscribers: AtomicUsize::new(0),
            keeps_events: AtomicBool::new(false),
            record: AtomicU64::new(0),
            capacity,
            watchers: None,
        }
    }

    /// Also sends its events to the watchers of all sessions.
    pub(crate) fn publishing_to(self, session: &str, news: NewsSender) -> Self {
        Self { watchers: Some((session.into(), news)), ..self }
    }

    /// A session with this many records becomes live. Earlier events are not kept here, unless this feed existed.
    pub(crate) fn resume_at(&self, record: u64) {
        if self.record.swap(record, Ordering::Relaxed) != record {
            let mut inner = self.lock();
            inner.latest = EventNumber::end_of(record);
            inner.complete_after = inner.latest;
        }
    }

    fn lock(&self) -> MutexGuard<'_, FeedState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether events are needed: for subscribers, or for watchers of all sessions.
    pub(crate) fn has_consumers(&self) -> bool {
        self.keeps_events() || self.watchers.as_ref().is_some_and(|(_, news)| news.has_watchers())
    }

    /// Whether events are kept for subscribers.
    fn keeps_events(&self) -> bool {
        self.keeps_events.load(Ordering::Relaxed)
    }

    /// Whether there is a reader.
    pub(crate) fn is_watched(&self) -> bool {
        self.subscribers.load(Ordering::Relaxed) > 0
    }

    /// Skips a record without events. Returns false if there is a new subscriber.
    pub(crate) fn skip_record(&self, record: u64) -> bool {
        let _subscribes_later = self.lock();
        let is_skipped = !self.has_consumers();
        if is_skipped {
            self.record.store(record, Ordering::Relaxed);
        }
        is_skipped
    }

    /// Adds the events of a record, in order.
    pub(crate) fn publish(&self, record: u64, at: Time, bodies: impl IntoIterator<Item = EventBody>) {
        self.record.store(record, Ordering::Relaxed);
        let next = |latest: EventNumber| {
            if latest.record == record {
                EventNumber { record, part: latest.part.saturating_add(1) }
            } else {
                EventNumber { record, part: 1 }
            }
        };
        self.add(at, bodies, false, next, self.watchers.as_ref());
    }

    /// Adds transient events, which have the number of the one before.
    pub(crate) fn publish_transient(&self, at: Time, bodies: impl IntoIterator<Item = EventBody>) {
        self.add(at, bodies, true, |latest| latest, None);
    }

    fn add(
        &self,
        at: Time,
        bodies: impl IntoIterator<Item = EventBody>,
        is_transient: bool,
        next: impl Fn(EventNumber) -> EventNumber,
        watchers: Option<&(Arc<str>, NewsSender)>,
    ) {
        let mut inner = self.lock();
        let before = inner.events.len();
        for body in bodies {
            inner.latest = next(inner.latest);
            let number = inner.latest;
            let event = Arc::new(SessionEvent { number, at, is_transient, body });
            if let Some((session, news)) = watchers {
                news.publish_event(session, &event);
            }
            if self.keeps_events() {
                inner.events.push_back(event);
            }
        }
        let is_news = inner.events.len() > before;
        while inner.events.len() > self.capacity {
            if let Some(event) = inner.events.pop_front() {
                inner.dropped += 1;
                inner.complete_after = event.number;
            }
        }
        drop(inner);
        if is_news {
            self.news.notify_waiters();
        }
    }

    /// Tells readers that there will be no more events.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.news.notify_waiters();
    }

    /// Reads events after a number, or from now on.
    pub(crate) fn subscribe(self: &Arc<Self>, from: Option<EventNumber>) -> Subscription {
        let mut inner = self.lock();
        if !self.keeps_events.swap(true, Ordering::Relaxed) {
            let record = self.record.load(Ordering::Relaxed);
            inner.latest = if record == 0 { EventNumber::START } else { EventNumber::end_of(record) };
            inner.complete_after = inner.latest;
        }
        let from = from.unwrap_or(inner.latest);
        let next = inner.dropped + inner.events.partition_point(|event| event.number <= from) as u64;
        let has_missed = from < inner.complete_after;
        self.subscribers.fetch_add(1, Ordering::Relaxed);
        drop(inner);
        Subscription { earlier: VecDeque::new(), feed: Arc::clone(self), next, has_missed }
    }
}

/// Reads the events of a session, each once, in order.
pub struct Subscription {
    /// Events from the journal, which precede those kept here.
    earlier: VecDeque<Arc<SessionEvent>>,
    feed: Arc<Feed>,
    /// The index of the next one, counted from the first event ever.
    next: u64,
    /// Whether events were dropped before they were read.
    has_missed: bool,
}

impl Subscription {
    /// The last dropped event, if some after the requested number were dropped.
    pub(crate) fn missed_upto(&self) -> Option<EventNumber> {
        self.has_missed.then(|| self.feed.lock().complete_after)
    }

    /// Puts events from the journal first. Then none are missed.
    pub(crate) fn put_first(&mut self, earlier: Vec<Arc<SessionEvent>>) {
        self.earlier = earlier.into();
        self.has_missed = false;
    }

    /// The next event. None once the session has ended for good. It is cancel-safe.
    pub async fn next(&mut self) -> Option<Arc<SessionEvent>> {
        loop {
            let feed = Arc::clone(&self.feed);
            let mut news = pin!(feed.news.notified());
            news.as_mut().enable();
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.feed.lock().is_closed {
                return None;
            }
            news.await;
        }
    }

    /// The next event, if it is available.
    pub fn try_next(&mut self) -> Option<Arc<SessionEvent>> {
        if let Some(event) = self.earlier.pop_front() {
            return Some(event);
        }
        let inner = self.feed.lock();
        if self.next < inner.dropped {
            self.next = inner.dropped;
            self.has_missed = true;
        }
        if std::mem::take(&mut self.has_missed) {
            let at = inner.events.front().map(|event| event.at).unwrap_or_default();
            let number = inner.complete_after;
            return Some(Arc::new(SessionEvent { number, at, is_transient: true, body: EventBody::Missed }));
        }
        let index = usize::try_from(self.next - inner.dropped).unwrap_or(usize::MAX);
        let event = inner.events.get(index).cloned()?;
        self.next += 1;
        Some(event)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.feed.subscribers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> EventBody {
        EventBody::AgentSaid { text: text.to_owned() }
    }

    fn read(subscription: &mut Subscription) -> Vec<String> {
        let next = || subscription.try_next();
        std::iter::from_fn(next)
            .map(|event| match &event.body {
                EventBody::AgentSaid { text } | EventBody::Writing { text } => format!("{} {text}", event.number),
                EventBody::Missed => format!("{} missed", event.number),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn event_numbers_follow_the_records_and_transient_events_have_none() {
        let feed = Arc::new(Feed::new(10));
        let mut all = feed.subscribe(Some(EventNumber::START));
        feed.publish(1, Time(1), [said("a"), said("b")]);
        feed.publish_transient(Time(2), [EventBody::Writing { text: "c".to_owned() }]);
        feed.publish(3, Time(2), [said("c")]);
        assert_eq!(read(&mut all), ["1-1 a", "1-2 b", "1-2 c", "3-1 c"]);
        let transient = feed.lock().events.iter().map(|event| event.is_transient).collect::<Vec<_>>();
        assert_eq!(transient, [false, false, true, false]);
        let mut later = feed.subscribe("1-1".parse().ok());
        assert_eq!(read(&mut later), ["1-2 b", "1-2 c", "3-1 c"]);
        assert!(read(&mut feed.subscribe(None)).is_empty());
    }

    #[test]
    fn a_subscriber_that_missed_events_is_told() {
        let feed = Arc::new(Feed::new(2));
        let mut slow = feed.subscribe(None);
        for record in 1..=4 {
            feed.publish(record, Time(0), [said("x")]);
        }
        assert_eq!(read(&mut slow), ["2-1 missed", "3-1 x", "4-1 x"]);
        assert_eq!(read(&mut feed.subscribe(Some(EventNumber::START))), ["2-1 missed", "3-1 x", "4-1 x"]);
        assert_eq!(read(&mut feed.subscribe("2-1".parse().ok())), ["3-1 x", "4-1 x"]);
    }

    #[test]
    fn a_feed_reports_events_that_it_does_not_hold() {
        let feed = Arc::new(Feed::new(8));
        feed.resume_at(7);
        let _watches = feed.subscribe(None);
        feed.publish(8, Time(0), [said("x")]);
        assert_eq!(read(&mut feed.subscribe("7-2".parse().ok())).len(), 2, "it may have had more events");
        assert_eq!(read(&mut feed.subscribe(None)).len(), 0);
    }

    #[test]
    fn no_events_are_recorded_before_the_first_subscription() {
        let feed = Arc::new(Feed::new(8));
        assert!(!feed.has_consumers());
        assert!(feed.skip_record(5));
        assert_eq!(read(&mut feed.subscribe(Some(EventNumber::START))).len(), 1);
        assert!(feed.has_consumers());
        assert!(!feed.skip_record(6), "the events of this record are wanted");
    }

    #[tokio::test]
    async fn waiting_for_an_event_ends_with_the_session() {
        let feed = Arc::new(Feed::new(8));
        let mut subscription = feed.subscribe(None);
        let waiting = tokio::spawn(async move { (subscription.next().await, subscription.next().await) });
        tokio::task::yield_now().await;
        feed.publish(1, Time(0), [said("x")]);
        tokio::task::yield_now().await;
        feed.close();
        let (first, second) = waiting.await.unwrap();
        assert!(first.is_some() && second.is_none());
    }

    #[test]
    fn event_numbers_are_written_and_read_back() {
        let number = EventNumber { record: 12, part: 3 };
        assert_eq!(number.to_string().parse(), Ok(number));
        for wrong in ["", "12", "12-", "-3", "a-b", "1-2-3"] {
            assert!(wrong.parse::<EventNumber>().is_err(), "{wrong}");
        }
    }
}
