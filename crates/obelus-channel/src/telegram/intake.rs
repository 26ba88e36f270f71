//! Updates: the users' messages and pressed buttons.
//!
//! An update's id is its input id, so that one repeated after a crash is taken once (DUR-13).

use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::session::QuestionStatus;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::visible;
use obelus_runtime::people::{AnswerKind, typed_value};
use obelus_runtime::{EventNumber, HostError, Language, StoreError, system_clock};
use obelus_words::fill;
use serde_json::{Value, json};

use super::action::{ButtonAction, read_data};
use super::api::{Backoff, ButtonPress, Sender, TelegramMessage, Update, UpdateContent};
use super::card;
use super::state::{Card, TelegramTalk};
use super::words::language_of;
use super::{Bot, CHANNEL, TelegramError};
use crate::ChannelError;
use crate::types::{AnswerBody, NewSession};

/// The long-polling time.
const POLL: Duration = Duration::from_secs(50);
/// How often a message is retried that a session cannot take now.
const TRIES: u32 = 5;
/// The limit of unknown users who get a refusal; each gets it once.
const MOST_OUTSIDERS: usize = 1_000;
/// Kinds of messages without text.
const MEDIA: [&str; 12] = [
    "voice",
    "audio",
    "video",
    "video_note",
    "document",
    "photo",
    "sticker",
    "animation",
    "contact",
    "location",
    "poll",
    "story",
];

/// The user of an update, and their chat.
pub(super) struct ChatUser {
    pub(super) user: i64,
    pub(super) chat: i64,
    pub(super) language: Language,
    pub(super) update: i64,
}

impl ChatUser {
    /// The sender and channel, as journals store them.
    fn by(&self) -> String {
        SentBy::InChannel { channel: CHANNEL, name: &self.user.to_string() }.to_string()
    }

    fn input_id(&self) -> String {
        format!("{CHANNEL}:{}", self.update)
    }
}

impl Bot {
    /// Polls for updates and processes them one by one, as long as the server runs. A token that has become invalid
    /// is reported repeatedly and does not end the server.
    pub(super) async fn poll(self: &Arc<Self>) -> Result<(), TelegramError> {
        let mut backoff = Backoff::new();
        loop {
            let offset = self.state_file.read(|saved| saved.offset_at(system_clock()));
            match self.api.updates(offset, POLL).await {
                Ok(updates) => {
                    backoff = Backoff::new();
                    for update in updates {
                        self.take(update).await;
                    }
                }
                Err(error) => {
                    (self.warn)(&format!("Telegram: {error}"));
                    backoff.pause(&error).await;
                }
            }
        }
    }

    async fn take(self: &Arc<Self>, update: Update) {
        // An update is repeated until its id is confirmed.
        if self.state_file.read(|saved| saved.offset_at(system_clock()).is_some_and(|offset| update.id < offset)) {
            return;
        }
        match update.content {
            UpdateContent::Message(message) => self.message(update.id, *message).await,
            UpdateContent::ButtonPress(press) => self.press(update.id, *press).await,
            UpdateContent::Other => {}
        }
        self.keep(|saved| {
            saved.offset = update.id.saturating_add(1);
            saved.offset_at = system_clock().0;
        });
    }

    async fn message(self: &Arc<Self>, update: i64, message: TelegramMessage) {
        let Some(sender) = message.from.as_ref().filter(|sender| !sender.is_bot) else { return };
        let from = ChatUser {
            user: sender.id,
            chat: message.chat.id,
            language: language_of(self.config.lang, sender.language_code.as_deref()),
            update,
        };
        let is_private = message.chat.kind == "private";
        if !self.config.allow.contains(&sender.id) {
            if is_private && self.is_new_outsider(sender.id) {
                let words = from.language.words().bot.outsider;
                self.note(from.chat, fill(words, &[&sender.id.to_string()]));
            }
            return;
        }
        self.remember(sender);
        if !is_private && !self.is_addressed(&message) {
            return;
        }
        // Forwarded text is not the user's own (POL-7).
        if ["forward_origin", "forward_date", "via_bot"].iter().any(|kind| message.other.contains_key(*kind)) {
            return self.note(from.chat, from.language.words().bot.own_words_only.to_owned());
        }
        match &message.text {
            Some(text) => self.words(&from, &without_mention(text, &self.username), &message).await,
            None if MEDIA.iter().any(|kind| message.other.contains_key(*kind)) => {
                self.note(from.chat, from.language.words().bot.text_only.to_owned());
            }
            None => {}
        }
    }

    /// Whether a message in a group is for the bot: a command, a mention, or a reply.
    fn is_addressed(&self, message: &TelegramMessage) -> bool {
        let text = message.text.as_deref().unwrap_or_default().to_lowercase();
        let replied = message.reply_to_message.as_ref().and_then(|replied| replied.from.as_ref());
        text.starts_with('/')
            || replied.is_some_and(|sender| sender.id == self.id)
            || (!self.username.is_empty() && text.contains(&format!("@{}", self.username)))
    }

    async fn words(self: &Arc<Self>, from: &ChatUser, text: &str, message: &TelegramMessage) {
        let words = &from.language.words().bot;
        match text.trim() {
            "" => {}
            "/start" | "/help" => self.note(from.chat, words.hello.to_owned()),
            "/new" => {
                self.forget_fields(from);
                self.stop_talk(from).await;
                self.keep(|saved| {
                    saved.end_talk(from.user, from.chat);
                    // A repeated update must not end the next conversation.
                    saved.offset = from.update.saturating_add(1);
                    saved.offset_at = system_clock().0;
                });
                self.note(from.chat, words.begun_anew.to_owned());
            }
            "/stop" => {
                self.forget_fields(from);
                self.stop_talk(from).await;
            }
            text => {
                let replied = message.reply_to_message.as_ref().map(|replied| replied.message_id);
                let card = replied.and_then(|replied| self.card_at(from.chat, replied));
                if let Some(token) = card.or_else(|| self.card_for_value(from))
                    && self.answer_in_words(from, &token, text).await
                {
                    return;
                }
                self.say(from, text).await;
            }
        }
    }

    /// Stops the turn of a user's session. Without a session there is nothing to stop.
    async fn stop_talk(&self, from: &ChatUser) {
        let session = self.state_file.read(|saved| saved.session_of(from.user, from.chat));
        if self.state_file.read(|saved| saved.talks.contains_key(&session)) {
            let _ = self.service.stop(&session, Some(&from.input_id())).await;
        }
    }

    fn card_at(&self, chat: i64, message: i64) -> Option<String> {
        self.state_file.read(|saved| saved.card_at(chat, message).map(|(token, _)| token.clone()))
    }

    /// Sends a message to the user's session. The user is told if it is refused.
    async fn say(self: &Arc<Self>, from: &ChatUser, text: &str) {
        let mut pause = Duration::from_millis(500);
        let mut tries = 0;
        loop {
            tries += 1;
            let sent = match self.talk_of(from).await {
                Ok(session) => self.service.say(&session, text, &from.by(), Some(&from.input_id())).await,
                Err(error) => Err(error),
            };
            match sent {
                Ok(_) => return,
                // The session was removed.
                Err(error) if error.is_unknown_session() && tries < TRIES => {
                    self.keep(|saved| {
                        let session = saved.session_of(from.user, from.chat);
                        saved.talks.remove(&session);
                        saved.end_talk(from.user, from.chat);
                    });
                }
                Err(error) if error.status() >= 500 && tries < TRIES => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => return self.not_taken(from, &error),
            }
        }
    }

    pub(super) fn not_taken(self: &Arc<Self>, from: &ChatUser, error: &ChannelError) {
        let words = from.language.words().bot.not_taken;
        self.note(from.chat, fill(words, &[&error.words(from.language)]));
    }

    /// The session of a user, created if necessary, and shown in the chat.
    async fn talk_of(self: &Arc<Self>, from: &ChatUser) -> Result<String, ChannelError> {
        let session = self.state_file.read(|saved| saved.session_of(from.user, from.chat));
        if !self.state_file.read(|saved| saved.talks.contains_key(&session)) {
            let lang = Some(from.language.code().to_owned());
            let new = NewSession {
                agent: self.config.agent.clone(),
                id: Some(session.clone()),
                lang,
                ..NewSession::default()
            };
            let shown = match self.service.create_session(new).await {
                Ok(_) => EventNumber::START,
                // It was created before a crash, or the bot's file was lost: its events are not shown again.
                Err(ChannelError::Host(HostError::Store(StoreError::Exists(_) | StoreError::NameUsed(_)))) => {
                    self.latest_event(&session).await?
                }
                Err(error) => return Err(error),
            };
            let lang = from.language.code().to_owned();
            let talk = TelegramTalk {
                user: from.user,
                chat: from.chat,
                lang,
                shown: shown.to_string(),
                parts: 0,
                draft: None,
            };
            self.keep(|saved| saved.talks.insert(session.clone(), talk));
        }
        self.show(&session);
        Ok(session)
    }

    async fn latest_event(&self, session: &str) -> Result<EventNumber, ChannelError> {
        let mut latest = EventNumber::START;
        loop {
            let part = self.service.timeline(session, Some(latest), 1_000).await?;
            let last = part.events.last().and_then(|event| event["number"].as_str()?.parse().ok());
            latest = last.unwrap_or(latest);
            if part.next.is_none() {
                return Ok(latest);
            }
        }
    }

    /// Takes a message as the reason of a denial or as the requested value of a card. Returns whether it was one.
    async fn answer_in_words(self: &Arc<Self>, from: &ChatUser, token: &str, text: &str) -> bool {
        let Some(card) = self.state_file.read(|saved| saved.cards.get(token).cloned()) else { return false };
        let Ok(row) = self.service.question(&card.question, Some(from.language)).await else { return false };
        let asks_field = card.edit.as_ref().is_some_and(|edit| edit.place.is_some());
        if asks_field {
            if row.status == QuestionStatus::Requested {
                self.take_value(from, token, &card, text).await;
            } else {
                self.note(from.chat, from.language.words().bot.used.to_owned());
                self.refresh_later(token);
            }
            return true;
        }
        let answer = if card.is_denying {
            AnswerBody::Deny { reason: text.to_owned(), only: None }
        } else if row.answers.contains(&AnswerKind::Value) {
            AnswerBody::Value { value: typed_value(text, row.schema.as_ref()) }
        } else {
            return false;
        };
        self.answer(from, token, &card.question, answer, &card.digest).await;
        true
    }

    async fn press(self: &Arc<Self>, update: i64, press: ButtonPress) {
        let language = language_of(self.config.lang, press.from.language_code.as_deref());
        let words = &language.words().bot;
        if press.from.is_bot || !self.config.allow.contains(&press.from.id) {
            return self.answer_press(&press.id, words.not_yours);
        }
        self.remember(&press.from);
        let known = read_data(&press.data).and_then(|(token, action)| {
            Some((token, action, self.state_file.read(|saved| saved.cards.get(token).cloned())?))
        });
        let Some((token, action, card)) = known else { return self.answer_press(&press.id, words.used) };
        // A process that ended right after sending the card did not store its message id.
        if card.message.is_none()
            && let Some(message) = press.message.as_ref().filter(|message| message.chat.id == card.chat)
        {
            self.keep(|saved| saved.cards.get_mut(token).map(|card| card.message = Some(message.message_id)));
        }
        let from = ChatUser { user: press.from.id, chat: card.chat, language, update };
        if action.is_step() {
            self.answer_press(&press.id, "");
            return self.step(&from, token, &card, action).await;
        }
        if !self.memory().pressed.insert(token.to_owned()) {
            return self.answer_press(&press.id, words.used);
        }
        self.answer_press(&press.id, words.taken);
        match self.answer_of(action, &card, language).await {
            Ok(Some(answer)) => self.answer(&from, token, &card.question, answer, &card.digest).await,
            Ok(None) => drop(self.memory().pressed.remove(token)),
            Err(error) => {
                self.memory().pressed.remove(token);
                self.not_taken(&from, &error);
            }
        }
    }

    /// The answer that a button gives to the question of a card; none if the question has no such answer.
    async fn answer_of(
        &self,
        action: ButtonAction,
        card: &Card,
        language: Language,
    ) -> Result<Option<AnswerBody>, ChannelError> {
        let row = self.service.question(&card.question, Some(language)).await?;
        Ok(Some(match action {
            ButtonAction::DenyNow => AnswerBody::Deny { reason: String::new(), only: None },
            // The rest of its text was not delivered.
            _ if card.is_cut => return Ok(None),
            ButtonAction::Approve => self.approval_of(card, language).await?,
            ButtonAction::Happened => AnswerBody::Happened { result: Value::Null },
            ButtonAction::DidNot => AnswerBody::DidNot,
            ButtonAction::Value(index) => match card::offered(&row).into_iter().nth(index) {
                Some(value) => AnswerBody::Value { value },
                None => return Ok(None),
            },
            ButtonAction::Consent(code) => AnswerBody::Consent { code: format!("{code:08x}"), until: None },
            _ => return Ok(None),
        }))
    }

    /// Answers a question. The result is shown by an event of the session; a refusal is shown at once.
    async fn answer(self: &Arc<Self>, from: &ChatUser, token: &str, question: &str, answer: AnswerBody, digest: &str) {
        let (by, id) = (from.by(), from.input_id());
        if let Err(error) = self.service.answer(question, answer, &by, Some(digest), Some(&id)).await {
            self.memory().pressed.remove(token);
            self.not_taken(from, &error);
            self.refresh_later(token);
        }
    }

    pub(super) fn refresh_later(self: &Arc<Self>, token: &str) {
        let (bot, token) = (Arc::clone(self), token.to_owned());
        self.spawn(async move { bot.refresh_card(&token).await });
    }

    /// Acknowledges a press. One that is too old needs no answer.
    fn answer_press(self: &Arc<Self>, id: &str, text: &str) {
        let (bot, answer) = (Arc::clone(self), json!({"callback_query_id": id, "text": text}));
        self.spawn(async move { drop(bot.api.call("answerCallbackQuery", &answer).await) });
    }

    fn is_new_outsider(&self, id: i64) -> bool {
        let outsiders = &mut self.memory().outsiders;
        outsiders.len() < MOST_OUTSIDERS && outsiders.insert(id)
    }

    fn remember(&self, sender: &Sender) {
        let name: String = visible(&sender.first_name).chars().take(64).collect();
        if !name.trim().is_empty() {
            self.memory().names.insert(sender.id, name);
        }
    }
}

/// A text without the bot's name.
fn without_mention(text: &str, username: &str) -> String {
    let mention = format!("@{username}");
    let is_it = |word: &str| word.to_lowercase().trim_end_matches([',', ':']) == mention;
    match text.split_whitespace().next() {
        _ if username.is_empty() => text.to_owned(),
        // `/stop@name`
        Some(first) if first.starts_with('/') && first.to_lowercase().ends_with(&mention) => {
            text.trim_start().replacen(first, &first[..first.len() - mention.len()], 1)
        }
        Some(first) if is_it(first) => text.trim_start()[first.len()..].trim_start().to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mention_of_the_bot_is_removed_from_a_message() {
        assert_eq!(without_mention("@Crm_Bot, create a deal", "crm_bot"), "create a deal");
        assert_eq!(without_mention("/stop@crm_bot", "crm_bot"), "/stop");
        assert_eq!(without_mention("write to @anna", "crm_bot"), "write to @anna");
        assert_eq!(without_mention("", "crm_bot"), "");
        assert_eq!(without_mention("/stop", ""), "/stop");
    }
}
