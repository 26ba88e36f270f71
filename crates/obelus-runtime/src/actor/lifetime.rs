//! How long the actor of a session lives, and when it checkpoints the session.

use std::time::Duration;

use tokio::time::Instant;

/// How long a session rests before a checkpoint: the next turn may follow soon, even from a busy client, and a
/// checkpoint is as large as the session's memory.
const CHECKPOINT_DELAY: Duration = Duration::from_millis(250);

/// After this many records a resting session is checkpointed at once, to limit the replay when it is restored.
const MOST_RECORDS: u64 = 1024;

/// The latest input and checkpoint, and the limit of idle time.
pub(super) struct Lifetime {
    /// When the latest input was taken.
    active_at: Instant,
    /// The number of records at the last checkpoint, or when the session was opened.
    checkpointed: u64,
    /// How long it may be idle before it ends; none means for ever.
    idle_after: Option<Duration>,
    /// Whether to end as soon as it is idle.
    may_unload: bool,
}

impl Lifetime {
    pub(super) fn new(records: u64, idle_after: Option<Duration>) -> Self {
        Self { active_at: Instant::now(), checkpointed: records, idle_after, may_unload: false }
    }

    /// An input arrived: there is no hurry to end.
    pub(super) fn keep(&mut self) {
        self.may_unload = false;
    }

    /// Too many sessions are in memory: ends as soon as it is idle.
    pub(super) fn unload(&mut self) {
        self.may_unload = true;
    }

    /// Inputs were taken.
    pub(super) fn on_inputs(&mut self) {
        self.active_at = Instant::now();
    }

    pub(super) fn on_checkpoint(&mut self, records: u64) {
        self.checkpointed = records;
    }

    /// Whether there are records that no checkpoint has.
    pub(super) fn is_beyond_checkpoint(&self, records: u64) -> bool {
        records > self.checkpointed
    }

    /// Whether there are so many of them that a checkpoint should not wait.
    pub(super) fn is_checkpoint_urgent(&self, records: u64) -> bool {
        records >= self.checkpointed + MOST_RECORDS
    }

    /// How long a checkpoint waits.
    pub(super) fn until_checkpoint(&self) -> Duration {
        CHECKPOINT_DELAY.saturating_sub(self.active_at.elapsed())
    }

    /// How long an idle session lives; none means for ever.
    pub(super) fn until_end(&self) -> Option<Duration> {
        self.idle_after.map(|idle| if self.may_unload { Duration::ZERO } else { idle })
    }
}
