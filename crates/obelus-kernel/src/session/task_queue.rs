//! The tasks that the driver has not taken yet, and the pause that holds some of them back.

use std::collections::VecDeque;

use super::ids::{CallId, JobRef};
use super::output::{ElicitationAnswer, Task};
use super::sent_by::SentBy;

/// Tasks for the driver, oldest first.
#[derive(Default)]
pub(super) struct TaskQueue {
    tasks: VecDeque<Task>,
    /// Who has paused the session.
    paused: Option<String>,
    /// Calls to start again when the pause ends, if they may by then.
    held: Vec<JobRef>,
}

impl TaskQueue {
    pub(super) fn push(&mut self, task: Task) {
        self.tasks.push_back(task);
    }

    /// Answers a question of a running call.
    pub(super) fn answer_elicitation(&mut self, id: CallId, key: String, answer: ElicitationAnswer) {
        self.push(Task::AnswerElicitation { id, key, answer });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Pauses the session, for this person.
    pub(super) fn pause(&mut self, by: String) {
        self.paused = Some(SentBy::of_pause(self.paused.take(), by));
    }

    pub(super) fn resume(&mut self) {
        self.paused = None;
    }

    /// Who has paused the session.
    pub(super) fn paused(&self) -> Option<&str> {
        self.paused.as_deref()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Holds a call back until the pause ends.
    pub(super) fn hold(&mut self, at: JobRef) {
        if !self.held.contains(&at) {
            self.held.push(at);
        }
    }

    /// The calls that were held back.
    pub(super) fn take_held(&mut self) -> Vec<JobRef> {
        std::mem::take(&mut self.held)
    }

    /// The next task. During a pause, tasks that start something stay.
    pub(super) fn next(&mut self) -> Option<Task> {
        if !self.is_paused() {
            return self.tasks.pop_front();
        }
        let at = self.tasks.iter().position(|task| !task.starts_something())?;
        self.tasks.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ids::{RequestNumber, Routed};

    #[test]
    fn a_pause_holds_back_what_starts_something_and_nothing_else() {
        let mut queue = TaskQueue::default();
        queue.push(Task::AskModel { id: Routed::own(RequestNumber(1)) });
        queue.push(Task::Say("hello".to_owned()));
        queue.pause("ann".to_owned());
        assert!(matches!(queue.next(), Some(Task::Say(_))));
        assert!(queue.next().is_none() && !queue.is_empty());
        queue.resume();
        assert!(matches!(queue.next(), Some(Task::AskModel { .. })));
        assert!(queue.is_empty());
    }
}
