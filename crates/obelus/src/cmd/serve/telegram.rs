//! The Telegram bot of a server.

use std::path::Path;

use anyhow::Result;
use obelus_channel::Service;
use obelus_channel::telegram::{Telegram, TelegramConfig, TelegramError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::output;

/// A bot beside the server, or none.
pub(super) struct RunningBot {
    running: Option<JoinHandle<Result<(), TelegramError>>>,
    end: Option<oneshot::Sender<()>>,
    failure: Option<anyhow::Error>,
}

impl RunningBot {
    /// Runs the bot of a configuration file. Its data are stored in the store's folder.
    pub(super) fn start(config: Option<TelegramConfig>, service: &Service, folder: &Path) -> Self {
        let (end, ends) = oneshot::channel::<()>();
        let running = config.map(|config| {
            let warn = |words: &str| output::warning(&output::visible(words));
            let bot = Telegram::new(service.clone(), config, folder, warn);
            tokio::spawn(bot.run(async move { drop(ends.await) }))
        });
        Self { running, end: Some(end), failure: None }
    }

    /// Waits until the bot fails; for ever if there is none.
    pub(super) async fn failed(&mut self) {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let ended = running.await;
        self.running = None;
        self.failure = match ended {
            Ok(ended) => ended.err().map(Into::into),
            Err(error) => Some(error.into()),
        };
    }

    /// Ends the bot, and returns its error if it had failed before.
    pub(super) async fn stop(mut self) -> Result<()> {
        drop(self.end.take());
        if self.running.is_some() {
            self.failed().await;
        }
        self.failure.map_or(Ok(()), Err)
    }
}
