//! Replay: gives a session the inputs of its journal again (DUR-1, DUR-12).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Refused, Session, Start, Task};

use super::RestoreError;
use super::digest::digest_of;
use crate::store::{Digest, Record};

/// The number of records that this process has replayed.
static REPLAYED: AtomicU64 = AtomicU64::new(0);

/// Counts replayed records.
pub(crate) fn count_replayed(records: usize) {
    REPLAYED.fetch_add(records as u64, Ordering::Relaxed);
}

/// The number of records that this process has replayed.
pub(crate) fn replayed() -> u64 {
    REPLAYED.load(Ordering::Relaxed)
}

/// The consequences of an input.
pub struct InputEffects {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The digest of the tasks and of the appended messages.
    pub digest: Digest,
}

/// Gives a session an input and collects its tasks. They are not performed.
pub fn advance(session: &mut Session, at: Time, input: Input) -> Result<InputEffects, Refused> {
    let before = session.context().length();
    session.handle(at, input)?;
    let tasks: Vec<Task> = std::iter::from_fn(|| session.poll()).collect();
    // A further message to a one-off request removes all messages but texts. Then the digest covers every message.
    let appended = session.context().length().checked_sub(before).unwrap_or(usize::MAX);
    let digest = digest_of(&tasks, session.context(), appended);
    Ok(InputEffects { tasks, digest })
}

/// Unfinished tasks, by id.
#[derive(Default)]
pub(super) struct UnfinishedTasks(BTreeMap<String, Task>);

impl UnfinishedTasks {
    /// Removes the task that an input ends. A call in doubt is either started again or asked about, so it ends here too.
    pub(super) fn apply_input(&mut self, input: &Input) {
        let ended = match input {
            Input::Answer { id, .. } => id.to_string(),
            Input::Ended { id, .. } | Input::Loaded { id, .. } | Input::InDoubt { id } | Input::DidNot { id, .. } => {
                id.to_string()
            }
            _ => return,
        };
        self.0.remove(&ended);
    }

    /// Adds the new tasks that take time.
    pub(super) fn add_tasks(&mut self, tasks: impl IntoIterator<Item = Task>) {
        for task in tasks {
            let id = match &task {
                Task::AskModel { id } => id.to_string(),
                Task::Load { id, .. } => id.to_string(),
                Task::Call(start) => start.id.to_string(),
                // No call is running that could receive an answer.
                Task::Say(_)
                | Task::Ask { .. }
                | Task::AskAgain { .. }
                | Task::AnswerElicitation { .. }
                | Task::Rest(_) => continue,
            };
            self.0.insert(id, task);
        }
    }

    /// The unfinished calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Start> {
        self.0.values().filter_map(|task| match task {
            Task::Call(start) => Some(&**start),
            _ => None,
        })
    }

    /// The unfinished task of this id.
    pub(super) fn get(&self, id: &str) -> Option<&Task> {
        self.0.get(id)
    }

    /// All unfinished tasks, with their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Task)> {
        self.0.iter().map(|(id, task)| (id.as_str(), task))
    }

    /// All unfinished tasks.
    pub(super) fn into_tasks(self) -> Vec<Task> {
        self.0.into_values().collect()
    }
}

/// The result of the replay of one record.
pub(super) struct RecordReplay {
    pub tasks: Vec<Task>,
    /// Whether the session refused the input. Older versions journaled inputs before the session took them.
    pub is_refused: bool,
}

/// Replays one record, and compares its consequences with its digest. `rest` is the last record before it after which
/// the session rested.
pub(super) fn replay_record(
    session: &mut Session,
    id: &str,
    seq: u64,
    record: Record,
    rest: u64,
) -> Result<RecordReplay, RestoreError> {
    let Record { at, mut input, digest, .. } = record;
    // The digest of the question was checked when the answer was taken.
    if let Input::Decide { digest: Some(_), .. } = &*input
        && let Input::Decide { digest, .. } = Arc::make_mut(&mut input)
    {
        *digest = None;
    }
    let differs = |what| RestoreError::Differs { session: id.to_owned(), seq, since: at, what, rest };
    match (advance(session, at, Arc::unwrap_or_clone(input)), digest) {
        // Earlier versions, which wrote no digests, processed instances in another order, so that ids name other calls.
        (Ok(_), None) if !session.context().instances().is_empty() => {
            Err(differs("instances are processed in another order now".to_owned()))
        }
        (Ok(advanced), digest) => match digest.and_then(|digest| difference(digest, &advanced)) {
            None => Ok(RecordReplay { tasks: advanced.tasks, is_refused: false }),
            Some(what) => Err(differs(what)),
        },
        (Err(_), None) => Ok(RecordReplay { tasks: std::iter::from_fn(|| session.poll()).collect(), is_refused: true }),
        (Err(refused), Some(_)) => Err(differs(format!("it is refused now: {}", refused.text))),
    }
}

/// Describes how the consequences of a record differ from the original.
fn difference(then: Digest, now: &InputEffects) -> Option<String> {
    let tasks = || {
        let names: Vec<String> = now.tasks.iter().map(task_name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    match (then.has_same_tasks(now.digest), then.has_same_messages(now.digest)) {
        (true, true) => None,
        (false, true) => Some(format!("other tasks were handed out than now, which are: {}", tasks())),
        (true, false) => Some("other messages were appended than now".to_owned()),
        (false, false) => {
            Some(format!("other messages were appended, and other tasks handed out than now, which are: {}", tasks()))
        }
    }
}

fn task_name(task: &Task) -> String {
    match task {
        Task::AskModel { id } => format!("request {id}"),
        Task::Call(start) => format!("call {} of `{}`", start.id, start.tool.name),
        Task::Load { id, .. } => format!("file of call {id}"),
        Task::Say(_) => "words".to_owned(),
        Task::Ask { id } | Task::AskAgain { id, .. } => format!("question {id}"),
        Task::AnswerElicitation { id, .. } => format!("answer for call {id}"),
        Task::Rest(_) => "rest".to_owned(),
    }
}
