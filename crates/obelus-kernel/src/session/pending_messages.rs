//! The user's messages and pictures that no turn has taken yet.

use std::collections::VecDeque;

use super::Refused;
use super::ids::QuestionId;
use super::refusals::RefusalCode as Code;
use obelus_notebook::picture::Picture;

/// A message of the user.
pub(super) struct PendingMessage {
    pub(super) text: String,
    /// Who sent it.
    pub(super) by: Option<String>,
    /// The only open question at that time, if there was exactly one.
    pub(super) only_question: Option<QuestionId>,
    /// Its pictures.
    pub(super) pictures: Vec<Picture>,
}

/// The user's messages and pictures that no turn has taken yet, and who sent the latest one that was taken.
#[derive(Default)]
pub(super) struct PendingMessages {
    /// Messages that came during the turn.
    pub(super) queue: VecDeque<PendingMessage>,
    /// Pictures for the next message.
    pub(super) attached: Vec<Picture>,
    /// The sender of the latest message that was taken. It is not part of a checkpoint: after a restart,
    /// approvals by an earlier message name the conversation as sender.
    pub(super) latest_sender: Option<String>,
}

impl PendingMessages {
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
