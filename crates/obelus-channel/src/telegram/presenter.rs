//! Shows the events of a session as messages in its chat.
//!
//! The number of the last shown event is stored, so that events missed before a restart are shown after it.

use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::session::QuestionStatus;
use obelus_kernel::session::{QuestionId, RepeatReason, Reply};
use obelus_runtime::people::why_it_ended;
use obelus_runtime::sessions::InboxId;
use obelus_runtime::{EventBody, EventNumber, Language, SessionEvent, Subscription};
use obelus_words::fill;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior};

use super::Bot;
use super::action::draw_token;
use super::api::ApiError;
use super::card;
use super::split::{LONGEST, beginning, split};
use super::state::{Card, TelegramTalk};
use crate::service::lines_visible;

/// Apps show the typing indicator for five seconds.
const TYPING: Duration = Duration::from_secs(4);
/// Text that is written faster than this is shown when it is complete.
const BEFORE_DRAFT: Duration = Duration::from_millis(700);
/// Longer texts are sent as a file.
const MOST_PARTS: usize = 5;
/// The pause before a session that cannot be opened is retried.
const AGAIN: Duration = Duration::from_secs(30);

impl Bot {
    /// Resumes showing all conversations. Ended ones are dropped when they have no open questions.
    pub(super) fn resume_talks(self: &Arc<Self>) {
        self.keep(|saved| {
            let is_over = |(session, talk): &(&String, &TelegramTalk)| {
                saved.session_of(talk.user, talk.chat) != **session
                    && !saved.cards.values().any(|card| card.session == **session)
            };
            let over: Vec<String> = saved.talks.iter().filter(is_over).map(|(session, _)| session.clone()).collect();
            saved.talks.retain(|session, _| !over.contains(session));
        });
        // Users who are no longer allowed are shown nothing.
        let is_allowed = |talk: &TelegramTalk| self.config.allow.contains(&talk.user);
        let talks = self.state_file.read(|saved| saved.talks.clone());
        talks.iter().filter(|(_, talk)| is_allowed(talk)).for_each(|(session, _)| self.show(session));
    }

    /// Starts showing a session, unless it is already shown.
    pub(super) fn show(self: &Arc<Self>, session: &str) {
        if self.memory().shown.insert(session.to_owned()) {
            let presenter = SessionPresenter {
                bot: Arc::clone(self),
                session: session.to_owned(),
                language: self.language_of(session),
                chat: 0,
                after: EventNumber::START,
                draft: String::new(),
                drafted: String::new(),
                draft_since: None,
                is_at_work: false,
            };
            self.spawn(presenter.run());
        }
    }
}

/// Shows one session.
struct SessionPresenter {
    bot: Arc<Bot>,
    session: String,
    chat: i64,
    language: Language,
    /// The last processed event.
    after: EventNumber,
    /// The text being written, the part of it that is in the chat, and its start time.
    draft: String,
    drafted: String,
    draft_since: Option<Instant>,
    is_at_work: bool,
}

impl SessionPresenter {
    async fn run(mut self) {
        while let Some(talk) = self.talk() {
            self.chat = talk.chat;
            self.after = talk.shown.parse().unwrap_or(EventNumber::START).max(self.after);
            match self.bot.service.events(&self.session, Some(self.after)).await {
                // The handle keeps the feed open.
                Ok((_handle, events)) => self.follow(events).await,
                Err(error) if error.is_unknown_session() => {
                    self.bot.keep(|saved| saved.talks.remove(&self.session));
                }
                Err(error) => {
                    (self.bot.warn)(&format!("Telegram: {}: {error}", self.session));
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
        self.bot.memory().shown.remove(&self.session);
    }

    fn talk(&self) -> Option<TelegramTalk> {
        self.bot.state_file.read(|saved| saved.talks.get(&self.session).cloned())
    }

    /// Shows events until some were missed, or the session is unloaded.
    async fn follow(&mut self, mut events: Subscription) {
        let mut typing = tokio::time::interval(TYPING);
        typing.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let due = self.draft_due();
            tokio::select! {
                event = events.next() => {
                    let Some(event) = event else { return tokio::time::sleep(Duration::from_secs(1)).await };
                    if matches!(event.body, EventBody::Missed) {
                        return;
                    }
                    let was_at_work = self.is_at_work;
                    self.take(&event).await;
                    if self.is_at_work && !was_at_work {
                        self.show_typing();
                        typing.reset();
                    }
                }
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.show_draft().await;
                }
                _ = typing.tick(), if self.is_at_work => self.show_typing(),
            }
        }
    }

    async fn take(&mut self, event: &SessionEvent) {
        let number = event.number;
        match &event.body {
            EventBody::Writing { text } => {
                self.draft.push_str(text);
                self.draft_since.get_or_insert_with(Instant::now);
                return;
            }
            EventBody::Failed { text, .. } => {
                let words = fill(self.language.words().bot.stands_still, &[&obelus_kernel::visible(text)]);
                return self.bot.note(self.chat, words);
            }
            EventBody::Files { .. } | EventBody::Moved { .. } | EventBody::Missed => return,
            EventBody::ModelAsked { .. } => {
                self.is_at_work = true;
                self.draft.clear();
            }
            EventBody::UserSaid { .. } | EventBody::CallBegan { .. } | EventBody::Resumed { .. } => {
                self.is_at_work = true;
            }
            EventBody::AgentSaid { text } => self.say(number, text).await,
            EventBody::QuestionAsked { question } => self.ask(number, &question.id).await,
            EventBody::QuestionAskedAgain { question, because } => {
                self.ask(number, &question.id).await;
                if *because == RepeatReason::ItWillLapse {
                    self.bot.note(self.chat, self.language.words().bot.lapses_soon.to_owned());
                }
            }
            EventBody::QuestionDecided { question, .. } | EventBody::QuestionExpired { question } => {
                if let Some(token) = self.token_of(question) {
                    self.bot.refresh_card(&token).await;
                }
            }
            EventBody::Rested { reply } => {
                self.is_at_work = false;
                self.rest(number, reply).await;
            }
            _ => {}
        }
        self.after = number;
    }

    /// The final text of a turn that was not yet sent, and why it ended if it has no result.
    async fn rest(&mut self, number: EventNumber, reply: &Reply) {
        let output = reply.output.as_str().filter(|words| !reply.said.iter().any(|said| said == words));
        let why = why_it_ended(reply, None, self.language);
        let words: Vec<&str> = output.into_iter().chain(Some(why.as_str())).filter(|words| !words.is_empty()).collect();
        if !words.is_empty() {
            return self.say(number, &words.join("\n\n")).await;
        }
        // A draft that was not completed.
        if let Some(message) = self.talk().and_then(|talk| talk.draft) {
            let _ = self.bot.api.call("deleteMessage", &json!({"chat_id": self.chat, "message_id": message})).await;
        }
        self.shown(number);
    }

    /// Sends a text, in several messages if necessary. Those sent before a restart are not repeated.
    async fn say(&mut self, number: EventNumber, text: &str) {
        let text = lines_visible(text);
        let mut parts = split(&text, LONGEST);
        let is_file = parts.len() > MOST_PARTS;
        if is_file {
            parts.truncate(1);
        }
        let Some(TelegramTalk { parts: sent, draft, .. }) = self.talk() else { return };
        for (index, part) in parts.iter().enumerate().skip(sent) {
            self.deliver(part, draft.filter(|_| index == 0)).await;
            self.keep(|talk| {
                talk.parts = index + 1;
                talk.draft = None;
            });
        }
        if is_file {
            let caption = self.language.words().bot.reply_file;
            self.bot.pace.turn(self.chat).await;
            let sent = self.bot.api.send_text_file(self.chat, "reply.txt", &text, caption).await;
            self.report(sent.map(drop));
        }
        self.shown(number);
    }

    /// Replaces the draft with the text, or sends it.
    async fn deliver(&self, text: &str, draft: Option<i64>) {
        if let Some(message) = draft {
            match self.bot.edit(self.chat, message, text, None).await {
                Ok(()) => return,
                // The draft was deleted meanwhile.
                Err(ApiError::Refused { code: 400, .. }) => {}
                Err(error) => return self.report(Err(error)),
            }
        }
        self.report(self.bot.send(self.chat, text, None).await.map(drop));
    }

    /// Shows a question as a card, or updates its card.
    async fn ask(&mut self, number: EventNumber, question: &QuestionId) {
        self.is_at_work = false;
        let known = self.token_of(question);
        let has_message = |token: &String| {
            self.bot.state_file.read(|saved| saved.cards.get(token).is_some_and(|card| card.message.is_some()))
        };
        match known {
            Some(token) if has_message(&token) => self.bot.refresh_card(&token).await,
            known => self.send_card(question, known).await,
        }
        self.keep(|talk| {
            talk.shown = number.to_string();
            talk.parts = 0;
        });
    }

    /// Sends a card. Its token is stored first, so that its buttons work even if the process ends right after.
    async fn send_card(&self, question: &QuestionId, known: Option<String>) {
        let id = InboxId::new(&self.session, question).to_string();
        let row = match self.bot.service.question(&id, Some(self.language)).await {
            // It was already answered.
            Ok(row) if row.status != QuestionStatus::Requested => return,
            Ok(row) => row,
            Err(error) => return (self.bot.warn)(&format!("Telegram: {id}: {error}")),
        };
        let token = match known.map_or_else(draw_token, Ok) {
            Ok(token) => token,
            Err(why) => return (self.bot.warn)(&format!("Telegram: {why}")),
        };
        let text = card::plain(&row.text, &row.id);
        let is_cut = !self.bot.send_whole(self.chat, &text).await;
        let face = if is_cut { card::CardFace::Cut } else { card::CardFace::Answers };
        let card = Card {
            session: self.session.clone(),
            question: id,
            digest: row.digest.clone(),
            chat: self.chat,
            message: None,
            is_denying: false,
            is_consenting: false,
            is_cut,
            edit: None,
        };
        self.bot.keep(|saved| saved.cards.insert(token.clone(), card));
        let (text, keyboard) = card::open_card(&row, &text, &face, &token, self.chat < 0, self.language);
        match self.bot.send(self.chat, &text, Some(&keyboard)).await {
            Ok(message) => {
                self.bot.keep(|saved| saved.cards.get_mut(&token).map(|card| card.message = Some(message)));
            }
            Err(error) => self.report(Err(error)),
        }
    }

    fn token_of(&self, question: &QuestionId) -> Option<String> {
        let id = InboxId::new(&self.session, question).to_string();
        self.bot.state_file.read(|saved| saved.card_of(&id).map(|(token, _)| token.clone()))
    }

    /// Stores that everything up to an event was shown.
    fn shown(&mut self, number: EventNumber) {
        self.keep(|talk| {
            talk.shown = number.to_string();
            talk.parts = 0;
            talk.draft = None;
        });
        self.draft.clear();
        self.drafted.clear();
        self.draft_since = None;
    }

    fn keep(&self, change: impl FnOnce(&mut TelegramTalk)) {
        self.bot.keep(|saved| saved.talks.get_mut(&self.session).map(change));
    }

    /// When the draft is shown next.
    fn draft_due(&self) -> Option<Instant> {
        let since = self.draft_since.filter(|_| !self.draft.trim().is_empty() && self.draft != self.drafted)?;
        Some(self.bot.pace.free_at(self.chat).max(since + BEFORE_DRAFT))
    }

    async fn show_draft(&mut self) {
        let text = beginning(&lines_visible(&self.draft), LONGEST - 2);
        self.drafted.clone_from(&self.draft);
        let text = format!("{} …", text.trim());
        match self.talk().and_then(|talk| talk.draft) {
            // The complete text comes later anyway.
            Some(message) => drop(self.bot.edit(self.chat, message, &text, None).await),
            None => match self.bot.send(self.chat, &text, None).await {
                Ok(message) => self.keep(|talk| talk.draft = Some(message)),
                Err(error) => self.report(Err(error)),
            },
        }
    }

    fn show_typing(&self) {
        let (bot, action) = (Arc::clone(&self.bot), json!({"chat_id": self.chat, "action": "typing"}));
        self.bot.spawn(async move { drop(bot.api.call("sendChatAction", &action).await) });
    }

    /// Errors of a chat, such as a blocked bot, do not end the presenter.
    fn report(&self, sent: Result<(), ApiError>) {
        if let Err(error) = sent {
            (self.bot.warn)(&format!("Telegram: {}: {error}", self.session));
        }
    }
}
