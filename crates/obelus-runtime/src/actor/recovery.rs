//! Recovery: the tasks that an earlier process left.

use obelus_kernel::session::{CallId, Input, Session, Start, Task};

/// The tasks of an earlier process. They resume when somebody sends an input or waits.
pub(super) struct Recovery {
    tasks: Vec<Task>,
    is_awake: bool,
    /// Whether the tasks are being resumed: until the turn rests or nothing runs.
    is_settling: bool,
    /// Whether the session must still be told that it has lost data which only the earlier process had.
    must_report_loss: bool,
}

impl Recovery {
    pub(super) fn new(session: &Session, tasks: Vec<Task>) -> Self {
        let must_report_loss = session.has_observations() || session.has_elicitations();
        Self { tasks, is_awake: false, is_settling: false, must_report_loss }
    }

    /// Somebody has sent an input or waits.
    pub(super) fn wake(&mut self) {
        self.is_awake = true;
    }

    pub(super) fn is_awake(&self) -> bool {
        self.is_awake
    }

    /// Whether all tasks were resumed.
    pub(super) fn is_done(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The input that reports lost data, if it was not taken yet.
    pub(super) fn take_loss(&mut self) -> Option<Input> {
        std::mem::take(&mut self.must_report_loss).then_some(Input::ProcessLost)
    }

    /// That input could not be stored.
    pub(super) fn report_loss_again(&mut self) {
        self.must_report_loss = true;
    }

    pub(super) fn must_report_loss(&self) -> bool {
        self.must_report_loss
    }

    /// The tasks to resume now. A paused session resumes none.
    pub(super) fn take_tasks(&mut self, session: &Session) -> Vec<Task> {
        if self.tasks.is_empty() || session.paused().is_some() || self.must_report_loss {
            return Vec::new();
        }
        self.is_settling = true;
        std::mem::take(&mut self.tasks)
    }

    /// The calls among the tasks that only a person can settle. They are no longer tasks.
    pub(super) fn take_in_doubt(&mut self, needs_person: impl Fn(&Start) -> bool) -> Vec<CallId> {
        let in_doubt = |task: &mut Task| matches!(task, Task::Call(start) if needs_person(start));
        let calls = self.tasks.extract_if(.., in_doubt);
        calls.filter_map(|task| if let Task::Call(start) = task { Some(start.id) } else { None }).collect()
    }

    /// The turn has come to rest.
    pub(super) fn on_rest(&mut self) {
        self.is_settling = false;
    }

    /// Whether resumed tasks still run.
    pub(super) fn is_settling(&mut self, is_working: bool) -> bool {
        self.is_settling &= is_working;
        self.is_settling
    }
}
