//! The user's messages and pictures that no turn has taken yet.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Refused;
use super::ids::QuestionId;
use super::refusals::RefusalCode as Code;
use super::sent_by::SentBy;
use obelus_notebook::picture::Picture;

/// A message of the user.
#[derive(Clone)]
pub(super) struct PendingMessage {
    pub(super) text: String,
    /// Who sent it.
    pub(super) by: Option<String>,
    /// The only open question at that time, if there was exactly one.
    pub(super) only_question: Option<QuestionId>,
    /// Its pictures.
    pub(super) pictures: Vec<Picture>,
}

/// The user's messages and pictures that no turn has taken yet, and who sent the latest one that was taken. The pictures
/// are stored: a session with waiting messages has no checkpoint.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PendingMessages {
    /// Messages that came during the turn.
    #[serde(skip)]
    queue: VecDeque<PendingMessage>,
    /// Pictures for the next message.
    attached: Vec<Picture>,
    /// The sender of the latest message that was taken. It is not part of a checkpoint: after a restart,
    /// approvals by an earlier message name the conversation as sender.
    #[serde(skip)]
    latest_sender: Option<String>,
}

impl PendingMessages {
    pub(super) fn take_attached(&mut self) -> Vec<Picture> {
        std::mem::take(&mut self.attached)
    }

    /// Adds a message that came during the turn.
    pub(super) fn push(&mut self, message: PendingMessage) {
        self.queue.push_back(message);
    }

    /// Takes the oldest message.
    pub(super) fn pop(&mut self) -> Option<PendingMessage> {
        self.queue.pop_front()
    }

    /// The texts of the messages, oldest first.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.queue.iter().map(|message| message.text.as_str()).collect()
    }

    /// A message of this sender was taken.
    pub(super) fn note_sender(&mut self, by: Option<&str>) {
        self.latest_sender = by.map(str::to_owned);
    }

    /// The sender of the latest message that was taken.
    pub(super) fn latest_sender(&self) -> String {
        self.latest_sender.clone().unwrap_or_else(|| SentBy::CONVERSATION.to_owned())
    }

    /// Adds a picture to the user's next message.
    pub(super) fn attach(&mut self, picture: Picture) -> Result<(), Refused> {
        if !picture.is_plainly_named() {
            return Err(Refused::new(Code::BadPicture, "the name of a picture is that of a file, and nothing else"));
        }
        if self.attached.len() >= Picture::MOST_AT_ONCE {
            let text = format!("at most {} pictures go with one message", Picture::MOST_AT_ONCE);
            return Err(Refused::new(Code::TooManyPictures, text));
        }
        if !self.attached.contains(&picture) {
            self.attached.push(picture);
        }
        Ok(())
    }
}
