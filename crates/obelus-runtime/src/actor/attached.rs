//! Pictures that wait for the next message. The session's slot holds them too, so that they outlive an actor that
//! panics.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_kernel::session::{Input, Picture};

use crate::images::{ImageError, ImageStore};

/// The pictures of a session.
pub(crate) struct SessionPictures {
    pub(crate) images: ImageStore,
    /// Those for the next message.
    pub(crate) attached: Arc<Attached>,
}

impl SessionPictures {
    /// Stores a picture from a file. It belongs to the message that begins the next turn, and is shown in that turn.
    pub(super) fn attach(&mut self, path: &Path) -> Result<(), ImageError> {
        if self.attached.is_full() {
            return Err(ImageError::TooMany(path.to_owned()));
        }
        self.attached.add(Input::Picture(self.images.add(path)?));
        Ok(())
    }
}

/// Pictures for the next message.
#[derive(Default)]
pub(crate) struct Attached(Mutex<WaitingPictures>);

#[derive(Default)]
struct WaitingPictures {
    pictures: Vec<Input>,
    /// The last record before the message with which they are being stored.
    sent_after: Option<u64>,
}

impl Attached {
    fn waiting(&self) -> MutexGuard<'_, WaitingPictures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by a new actor, with the last record. If the previous actor panicked after it had stored the pictures, they
    /// wait no longer.
    pub(super) fn resume(&self, last: u64) {
        let mut waiting = self.waiting();
        if waiting.sent_after.take().is_some_and(|before| last > before) {
            waiting.pictures.clear();
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting().pictures.len() >= Picture::MOST_AT_ONCE
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting().pictures.is_empty()
    }

    /// Adds a picture, unless it waits already.
    pub(super) fn add(&self, picture: Input) {
        let mut waiting = self.waiting();
        if !waiting.pictures.contains(&picture) {
            waiting.pictures.push(picture);
        }
    }

    /// The pictures, which are stored after this record with their message.
    pub(super) fn send(&self, after: u64) -> Vec<Input> {
        let mut waiting = self.waiting();
        waiting.sent_after = Some(after);
        waiting.pictures.clone()
    }

    /// Keeps the pictures for the next message: this one was refused.
    pub(super) fn keep(&self) {
        self.waiting().sent_after = None;
    }

    /// Drops the pictures: they were stored, or the session has ended.
    pub(crate) fn clear(&self) {
        *self.waiting() = WaitingPictures::default();
    }
}
