//! Telegram: people talk to an agent through a bot, and answer its questions by buttons.
//!
//! Updates are received by long polling. Each user has a session, whose events are shown in the chat. Everything is
//! sent as plain text, so that a model or a page cannot create links, mentions or formatting.
//!
//! | file | subject |
//! |---|---|
//! | `config` | the configuration file: bot, allowed users, agent |
//! | `api` | the Bot API over HTTP |
//! | `intake` | updates: words, commands, buttons |
//! | `presenter` | what happens in a session, as messages |
//! | `card`, `action` | questions with buttons, and what a button means |
//! | `edit` | a call is changed on its card |
//! | `state` | what must be known after a restart |
//! | `split`, `pace`, `words` | long texts, how often is sent, what the bot says of its own |

mod action;
mod api;
mod card;
mod config;
mod edit;
mod intake;
mod pace;
mod presenter;
mod split;
mod state;
mod words;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_kernel::session::QuestionStatus;
use obelus_runtime::Language;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Service;
use crate::types::QuestionRow;
use api::{ApiError, Backoff, BotApi};
pub use config::{ConfigError, TelegramConfig};
use pace::ChatPace;
use state::{BotStateFile, Card};

/// The channel in the names of senders.
const CHANNEL: &str = "telegram";

/// Why a bot cannot continue.
#[derive(Debug, thiserror::Error)]
#[error("Telegram: {0}")]
pub struct TelegramError(String);

/// A configured bot.
pub struct Telegram {
    service: Service,
    config: TelegramConfig,
    folder: PathBuf,
    warn: WarnOperator,
}

/// Reports problems to the server's operator.
type WarnOperator = Box<dyn Fn(&str) + Send + Sync>;

impl Telegram {
    /// A bot for a service. Its data are stored in the folder; `warn` gets its problems.
    pub fn new(
        service: Service,
        config: TelegramConfig,
        folder: impl Into<PathBuf>,
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self { service, config, folder: folder.into(), warn: Box::new(warn) }
    }

    /// Runs the bot until `end` completes. An error is permanent: an invalid token, an unreadable file, a missing
    /// agent.
    pub async fn run(self, end: impl Future<Output = ()>) -> Result<(), TelegramError> {
        let mut end = std::pin::pin!(end);
        let bot = tokio::select! {
            bot = self.connect() => bot?,
            () = &mut end => return Ok(()),
        };
        bot.resume_talks();
        let ended = tokio::select! {
            ended = bot.poll() => ended,
            () = &mut end => Ok(()),
        };
        bot.stop().await;
        ended
    }

    /// Asks the Bot API for the bot's identity, with retries while it is unreachable.
    async fn connect(self) -> Result<Arc<Bot>, TelegramError> {
        let Self { service, config, folder, warn } = self;
        if let Err(error) = service.agent(&config.agent, config.lang).await {
            return Err(TelegramError(error.words(service.language())));
        }
        let api = BotApi::new(&config.api, config.token.clone()).map_err(TelegramError)?;
        let mut backoff = Backoff::new();
        let me = loop {
            match api.call("getMe", &json!({})).await {
                Ok(me) => break me,
                Err(error) if is_fatal(&error) => return Err(no_bot(&error)),
                Err(error) => {
                    warn(&format!("Telegram: {error}"));
                    backoff.pause(&error).await;
                }
            }
        };
        let id =
            me["id"].as_i64().ok_or_else(|| TelegramError("the Bot API does not say which bot it is".to_owned()))?;
        let username = me["username"].as_str().unwrap_or_default().to_lowercase();
        let state_file = BotStateFile::open(&folder, id).map_err(TelegramError)?;
        if config.allow.is_empty() {
            warn("Telegram: `allow` is empty, so the bot answers nobody: write to it, and it replies with your number");
        }
        Ok(Arc::new(Bot {
            service,
            config,
            api,
            id,
            username,
            state_file,
            warn,
            pace: ChatPace::default(),
            memory: Mutex::default(),
            tasks: Mutex::default(),
        }))
    }
}

/// Whether a retry is useless.
fn is_fatal(error: &ApiError) -> bool {
    matches!(error, ApiError::Refused { code: 401 | 404, .. })
}

fn no_bot(error: &ApiError) -> TelegramError {
    TelegramError(format!("{error}; is the token the one that BotFather gave?"))
}

/// A running bot.
struct Bot {
    service: Service,
    config: TelegramConfig,
    api: BotApi,
    /// The id and name of the bot.
    id: i64,
    username: String,
    state_file: BotStateFile,
    pace: ChatPace,
    warn: WarnOperator,
    memory: Mutex<BotMemory>,
    /// Tasks beside the polling. They end with the bot.
    tasks: Mutex<JoinSet<()>>,
}

/// Data that need not survive a restart.
#[derive(Default)]
struct BotMemory {
    /// The names of allowed users.
    names: HashMap<i64, String>,
    /// Tokens of cards whose answer is in progress.
    pressed: HashSet<String>,
    /// Users who have been told that they are not allowed.
    outsiders: HashSet<i64>,
    /// Sessions that are being shown.
    shown: HashSet<String>,
}

impl Bot {
    fn memory(&self) -> MutexGuard<'_, BotMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Spawns a task beside the polling.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// Ends all tasks.
    async fn stop(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }

    /// Changes the stored data. If they cannot be written, the change lasts until the next restart.
    fn keep<T>(&self, change: impl FnOnce(&mut state::Saved) -> T) -> Option<T> {
        let written = self.state_file.change(change);
        written.map_err(|error| (self.warn)(&format!("Telegram: telegram.json cannot be written: {error}"))).ok()
    }

    /// The language of a conversation.
    fn language_of(&self, session: &str) -> Language {
        let code = self.state_file.read(|saved| saved.talks.get(session).map(|talk| talk.lang.clone()));
        words::language_of(self.config.lang, code.as_deref())
    }

    /// The name of a user who has written since the start.
    fn name_of(&self, id: i64) -> Option<String> {
        self.memory().names.get(&id).cloned()
    }

    /// Sends a text within the chat's rate limit; returns the message's id.
    async fn send(&self, chat: i64, text: &str, keyboard: Option<&Value>) -> Result<i64, ApiError> {
        let mut message = json!({"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": true}});
        if let Some(keyboard) = keyboard {
            message["reply_markup"] = keyboard.clone();
        }
        self.pace.turn(chat).await;
        let sent = self.api.call_patiently("sendMessage", &message).await?;
        sent["message_id"].as_i64().ok_or_else(|| ApiError::Network("a message without a number".to_owned()))
    }

    /// Edits a message within the chat's rate limit.
    async fn edit(&self, chat: i64, message: i64, text: &str, keyboard: Option<&Value>) -> Result<(), ApiError> {
        let preview = json!({"is_disabled": true});
        let mut edit = json!({"chat_id": chat, "message_id": message, "text": text, "link_preview_options": preview});
        if let Some(keyboard) = keyboard {
            edit["reply_markup"] = keyboard.clone();
        }
        self.pace.turn(chat).await;
        match self.api.call_patiently("editMessageText", &edit).await {
            Err(error) if !error.says("message is not modified") => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends a short text in the background.
    fn note(self: &Arc<Self>, chat: i64, text: String) {
        let bot = Arc::clone(self);
        self.spawn(async move {
            if let Err(error) = bot.send(chat, &text, None).await {
                (bot.warn)(&format!("Telegram: {error}"));
            }
        });
    }

    /// Sends the whole question as a file, if it is too long for a message. Returns whether all of it is shown.
    async fn send_whole(&self, chat: i64, whole: &str) -> bool {
        if !card::is_long(whole) {
            return true;
        }
        self.pace.turn(chat).await;
        let sent = self.api.send_text_file(chat, "question.txt", whole, "").await;
        sent.map_err(|error| (self.warn)(&format!("Telegram: {error}"))).is_ok()
    }

    /// Updates a card: with buttons while its question is open, else with the result.
    async fn refresh_card(&self, token: &str) {
        let Some(card) = self.state_file.read(|saved| saved.cards.get(token).cloned()) else { return };
        let language = self.language_of(&card.session);
        let row = match self.service.question(&card.question, Some(language)).await {
            Ok(row) => row,
            Err(error) => return (self.warn)(&format!("Telegram: {}: {error}", card.question)),
        };
        if row.status == QuestionStatus::Requested {
            return self.refresh_open(token, &card, &row, language).await;
        }
        let (text, keyboard) = card::closed_card(&row, language, |id| self.name_of(id));
        if let Some(message) = card.message
            && let Err(error) = self.edit(card.chat, message, &text, Some(&keyboard)).await
        {
            (self.warn)(&format!("Telegram: {error}"));
        }
        self.keep(|saved| saved.cards.remove(token));
        self.memory().pressed.remove(token);
    }

    /// Shows a card whose question is open.
    async fn refresh_open(&self, token: &str, card: &Card, row: &QuestionRow, language: Language) {
        let mut shown = self.shown_on(card, row, language).await;
        // Buttons of an earlier version of the card do not answer the present one.
        let has_changed = shown.digest != card.digest;
        let drawn = if has_changed { action::draw_token().ok() } else { None };
        let new = drawn.as_deref().unwrap_or(token);
        let is_cut = (has_changed || card.is_cut) && !self.send_whole(card.chat, &shown.text).await;
        if is_cut && !matches!(shown.face, card::CardFace::Denying) {
            shown.face = card::CardFace::Cut;
        }
        let (text, keyboard) = card::open_card(row, &shown.text, &shown.face, new, card.chat < 0, language);
        let Some(message) = card.message else { return };
        let is_plain = matches!(shown.face, card::CardFace::Answers) && card.edit.is_some();
        // The new tokens are stored before the card is sent, so that a button works as soon as it is seen.
        if has_changed || is_plain || is_cut != card.is_cut {
            self.keep(|saved| {
                if let Some(mut card) = saved.cards.remove(token) {
                    card.edit = card.edit.filter(|_| !is_plain);
                    saved.cards.insert(new.to_owned(), Card { digest: shown.digest, is_cut, ..card });
                }
            });
        }
        let edited = self.edit(card.chat, message, &text, Some(&keyboard)).await;
        if edited.is_err() && new != token {
            // The buttons that are still seen work again.
            self.keep(|saved| {
                saved.cards.remove(new);
                saved.cards.insert(token.to_owned(), card.clone());
            });
        }
        if let Err(error) = edited {
            (self.warn)(&format!("Telegram: {error}"));
        }
    }
}
