//! Events of all stored sessions of a host, for watchers.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::{Host, HostShared};
use crate::events::SessionEvent;

/// The number of events queued for a watcher. A slower one misses some.
const HELD: usize = 1024;

/// News about a session.
#[derive(Clone, Debug)]
pub enum HostNews {
    /// It was created or imported.
    Made {
        /// The session.
        session: Arc<str>,
    },
    /// It was removed.
    Removed {
        /// The session.
        session: Arc<str>,
    },
    /// It had an event. Transient events are not included.
    Event {
        /// The session.
        session: Arc<str>,
        /// The event.
        event: Arc<SessionEvent>,
    },
    /// The watcher was too slow and missed some.
    Missed,
}

/// Sends the news of a host.
#[derive(Clone)]
pub(crate) struct NewsSender(broadcast::Sender<HostNews>);

impl Default for NewsSender {
    fn default() -> Self {
        Self(broadcast::Sender::new(HELD))
    }
}

impl NewsSender {
    pub(crate) fn publish(&self, news: HostNews) {
        // There may be no watchers.
        let _ = self.0.send(news);
    }

    /// Whether there are watchers.
    pub(crate) fn has_watchers(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Sends an event, if there are watchers.
    pub(crate) fn publish_event(&self, session: &Arc<str>, event: &Arc<SessionEvent>) {
        if self.has_watchers() {
            self.publish(HostNews::Event { session: Arc::clone(session), event: Arc::clone(event) });
        }
    }
}

/// Receives the news of a host, from its creation on.
pub struct NewsFeed(broadcast::Receiver<HostNews>);

impl NewsFeed {
    /// The next news. None once the host is gone. It is cancel-safe.
    pub async fn next(&mut self) -> Option<HostNews> {
        match self.0.recv().await {
            Ok(news) => Some(news),
            Err(RecvError::Lagged(_)) => Some(HostNews::Missed),
            Err(RecvError::Closed) => None,
        }
    }
}

impl Host {
    /// The news of all stored sessions from now on.
    pub fn news(&self) -> NewsFeed {
        NewsFeed(self.inner.news.0.subscribe())
    }
}

impl HostShared {
    pub(super) fn notify_created(&self, id: &str) {
        self.news.publish(HostNews::Made { session: id.into() });
    }

    pub(super) fn notify_removed(&self, id: &str) {
        self.news.publish(HostNews::Removed { session: id.into() });
    }
}
