//! Resumes the unfinished work of an earlier process.

use super::Service;
use crate::ChannelError;

/// The sessions that a service found in its store at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredSessions {
    /// Resumed sessions.
    pub resumed: usize,
    /// Sessions that wait for a person.
    pub waiting: usize,
}

impl Service {
    /// Resumes the unfinished work of an earlier process. Resting sessions stay in the store.
    pub async fn restore(&self) -> Result<RestoredSessions, ChannelError> {
        let rows = self.blocking(|host| Ok(host.inbox()?)).await?;
        let mut started = RestoredSessions::default();
        for row in rows {
            if row.questions.is_some() {
                started.waiting += 1;
                continue;
            }
            // A session that cannot be opened reports its error when it is used.
            if let Ok(handle) = self.host.open(&row.session).await {
                started.resumed += 1;
                tokio::spawn(async move { handle.finished().await });
            }
        }
        Ok(started)
    }
}
