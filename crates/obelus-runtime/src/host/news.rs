//! News of all sessions of a host that are kept, for whoever watches more than one.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::{Host, Inner};
use crate::events::SessionEvent;

/// News that are held for a watcher. One that is slower misses some.
const HELD: usize = 1024;

/// Something about one of the sessions.
#[derive(Clone, Debug)]
pub enum HostNews {
    /// It was made, or came from elsewhere.
    Made {
        /// The session.
        session: Arc<str>,
    },
    /// It was removed.
    Removed {
        /// The session.
        session: Arc<str>,
    },
    /// Something happened in it. Passing events are not told here.
    Event {
        /// The session.
        session: Arc<str>,
        /// What happened.
        event: Arc<SessionEvent>,
    },
    /// Some news came too fast for this watcher.
    Missed,
}

/// Where the news of a host are told.
#[derive(Clone)]
pub(crate) struct NewsSender(broadcast::Sender<HostNews>);

impl Default for NewsSender {
    fn default() -> Self {
        Self(broadcast::Sender::new(HELD))
    }
}

impl NewsSender {
    pub(crate) fn tell(&self, news: HostNews) {
        // Nobody may be watching.
        let _ = self.0.send(news);
    }

    /// Whether somebody watches.
    pub(crate) fn has_watchers(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Tells of an event, if somebody watches.
    pub(crate) fn tell_event(&self, session: &Arc<str>, event: &Arc<SessionEvent>) {
        if self.has_watchers() {
            self.tell(HostNews::Event { session: Arc::clone(session), event: Arc::clone(event) });
        }
    }
}

/// Reads the news of a host, from when it was asked for.
pub struct NewsFeed(broadcast::Receiver<HostNews>);

impl NewsFeed {
    /// The next news. None, once the host is gone. Nothing is lost if the waiting is given up.
    pub async fn next(&mut self) -> Option<HostNews> {
        match self.0.recv().await {
            Ok(news) => Some(news),
            Err(RecvError::Lagged(_)) => Some(HostNews::Missed),
            Err(RecvError::Closed) => None,
        }
    }
}

impl Host {
    /// What happens from now on in the sessions that are kept.
    pub fn news(&self) -> NewsFeed {
        NewsFeed(self.inner.news.0.subscribe())
    }
}

impl Inner {
    pub(super) fn tell_made(&self, id: &str) {
        self.news.tell(HostNews::Made { session: id.into() });
    }

    pub(super) fn tell_removed(&self, id: &str) {
        self.news.tell(HostNews::Removed { session: id.into() });
    }
}
