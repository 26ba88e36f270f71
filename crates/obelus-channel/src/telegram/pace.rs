//! The rate limit of chats.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The interval between messages to a private chat; for groups it is longer.
const IN_PRIVATE: Duration = Duration::from_secs(1);
const IN_GROUP: Duration = Duration::from_secs(3);

/// Beyond this number of entries, outdated ones are removed.
const MANY: usize = 1_000;

/// When each chat may next be sent a message.
#[derive(Default)]
pub(super) struct ChatPace(Mutex<HashMap<i64, Instant>>);

impl ChatPace {
    /// Waits until a chat may be sent a message.
    pub(super) async fn turn(&self, chat: i64) {
        tokio::time::sleep_until(self.reserve(chat)).await;
    }

    /// When a chat may next be sent a message.
    pub(super) fn free_at(&self, chat: i64) -> Instant {
        let booked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        booked.get(&chat).copied().unwrap_or_else(Instant::now)
    }

    fn reserve(&self, chat: i64) -> Instant {
        let now = Instant::now();
        let mut booked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if booked.len() > MANY {
            booked.retain(|_, free| *free > now);
        }
        // Groups have negative ids.
        let gap = if chat < 0 { IN_GROUP } else { IN_PRIVATE };
        let free = booked.entry(chat).or_insert(now);
        let at = (*free).max(now);
        *free = at + gap;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_sent_one_message_a_second_and_chats_do_not_wait_for_each_other() {
        let pace = ChatPace::default();
        let first = pace.reserve(1);
        assert_eq!(pace.reserve(1) - first, IN_PRIVATE);
        assert_eq!(pace.reserve(1) - first, IN_PRIVATE * 2);
        assert!(pace.reserve(2) - first < IN_PRIVATE, "another chat is free");
        let group = pace.reserve(-5);
        assert_eq!(pace.reserve(-5) - group, IN_GROUP);
        assert_eq!(pace.free_at(1) - first, IN_PRIVATE * 3);
    }
}
