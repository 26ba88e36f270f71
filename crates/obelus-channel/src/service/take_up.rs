//! Work that an earlier process left when it ended.

use super::Service;
use crate::ChannelError;

/// What a service found in its store when it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Started {
    /// Sessions whose work goes on.
    pub taken_up: usize,
    /// Sessions that wait for a person.
    pub waiting: usize,
}

impl Service {
    /// Takes up what an earlier process had under way when it ended. Sessions at rest are left in the store.
    pub async fn take_up(&self) -> Result<Started, ChannelError> {
        let rows = self.blocking(|host| Ok(host.inbox()?)).await?;
        let mut started = Started::default();
        for row in rows {
            if row.questions.is_some() {
                started.waiting += 1;
                continue;
            }
            // One that cannot be opened says so to whoever asks for it.
            if let Ok(handle) = self.host.open(&row.session).await {
                started.taken_up += 1;
                tokio::spawn(async move { handle.finished().await });
            }
        }
        Ok(started)
    }
}
