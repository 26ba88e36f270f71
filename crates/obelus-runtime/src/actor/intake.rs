//! Inputs on their way into the session and its journal.

use std::collections::VecDeque;
use std::sync::Arc;

use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Input, Refused, Start, Task};
use obelus_kernel::{Effect, Time};

use super::{Actor, EventBody, MOST_AT_ONCE, RETRY, WriteFailure};
use crate::restore::{InputEffects, SessionFactory, advance, restore};
use crate::store::{CheckpointData, InputId, Record, SessionLock, Store, StoreError};

/// An input that the session is about to take.
pub(super) struct Incoming {
    pub(super) at: Time,
    pub(super) input: Input,
    pub(super) id: Option<InputId>,
}

impl Incoming {
    pub(super) fn new(at: Time, input: Input) -> Self {
        Self { at, input, id: None }
    }
}

/// An input that the session has taken and that is not yet durable.
pub(super) struct AcceptedInput {
    pub(super) at: Time,
    pub(super) input: Arc<Input>,
    /// The resulting tasks.
    pub(super) tasks: Vec<Task>,
    /// Whether it changed the memory.
    pub(super) is_news: bool,
    /// The resulting events, if there was a subscriber when it was taken.
    pub(super) events: Option<Vec<EventBody>>,
    /// Whether its calls are speculative reads: they were started before it is durable.
    pub(super) is_speculative: bool,
}

/// The journal of a session.
pub(crate) struct Journal {
    store: Arc<dyn Store>,
    id: Arc<str>,
    session_factory: SessionFactory,
    _lock: SessionLock,
}

impl Journal {
    pub(crate) fn new(store: Arc<dyn Store>, id: &str, session_factory: SessionFactory, lock: SessionLock) -> Self {
        Self { store, id: id.into(), session_factory, _lock: lock }
    }

    /// The record of an input with this id that was taken before. A different input is refused.
    pub(super) fn taken(&self, id: &InputId, input: &Input) -> Result<Option<u64>, Refused> {
        let damaged = |error: StoreError| Refused::new(RefusalCode::Damaged, error.to_string());
        let Some(seq) = self.store.taken(&self.id, id).map_err(damaged)? else { return Ok(None) };
        let first = self.store.load(&self.id, seq.saturating_sub(1), Some(seq)).map_err(damaged)?;
        match first.records.first() {
            Some(record) if InputId::compared(&record.input) != InputId::compared(input) => {
                let text = format!("the id `{id}` was used for another input, with record {seq}: use a new id");
                Err(Refused::new(RefusalCode::IdReused, text))
            }
            _ => Ok(Some(seq)),
        }
    }

    pub(super) fn store_checkpoint(&self, seq: u64, rest: CheckpointData) {
        self.store.store_checkpoint(&self.id, seq, rest);
    }
}

impl Actor {
    /// The time, which never runs backwards for a session.
    pub(super) fn now(&mut self) -> Time {
        self.latest = self.latest.max((self.clock)());
        self.latest
    }

    /// Takes an outcome and all others that are ready, so that one commit serves them.
    pub(super) async fn take_outcomes(&mut self, first: Option<Input>) {
        let now = self.now();
        let mut batch = std::mem::take(&mut self.batch_buffer);
        batch.extend(first.map(|input| Incoming::new(now, input)));
        let mut is_whole = batch.iter().any(|incoming| matches!(incoming.input, Input::Answer { .. }));
        while batch.len() < MOST_AT_ONCE {
            // Parts of an answer come before the answer, which may be among these.
            if let Some(part) = self.work.parts.ready() {
                // Once the answer is complete, early calls are not needed.
                let input = self.take_part(part).filter(|part| !is_whole || matches!(part, Input::Used { .. }));
                batch.extend(input.map(|input| Incoming::new(now, input)));
            } else if let Some(done) = self.work.ready() {
                is_whole |= matches!(done, Input::Answer { .. });
                batch.push(Incoming::new(now, done));
            } else {
                break;
            }
        }
        if !batch.is_empty() {
            // A failure is recorded where it occurs.
            let _ = self.take(batch).await;
        }
    }

    /// Takes inputs that have no sender.
    pub(super) async fn take_inputs(&mut self, inputs: impl IntoIterator<Item = Input>) -> Result<(), Refused> {
        let now = self.now();
        self.take(inputs.into_iter().map(|input| Incoming::new(now, input)).collect()).await
    }

    /// Gives inputs to the session, stores them, and performs the resulting tasks. A refused input ends the batch;
    /// those before it are taken.
    ///
    /// Outcomes of reads that lead to nothing but reads are stored together with the outcomes of these, so that a chain
    /// of quick reads needs few syncs. Anything else waits until the records before it are durable.
    pub(super) async fn take(&mut self, mut batch: Vec<Incoming>) -> Result<(), Refused> {
        if std::mem::take(&mut self.must_report_process_lost) {
            let now = self.now();
            batch.insert(0, Incoming::new(now, Input::ProcessLost));
        }
        let taken = match self.journal {
            None => self.take_in_memory(batch),
            Some(_) => self.take_durably(batch).await,
        };
        if self.is_awake {
            self.resume_tasks();
        }
        taken
    }

    fn take_in_memory(&mut self, mut batch: Vec<Incoming>) -> Result<(), Refused> {
        let has_consumers = self.report.feed.has_consumers();
        let (mut refusal, mut count, mut at, mut events) = (Ok(()), 0, self.latest, Vec::new());
        for incoming in batch.drain(..) {
            at = incoming.at;
            self.before(&incoming.input);
            let for_events = has_consumers.then(|| incoming.input.clone());
            let before = self.session.context().length();
            refusal = self.session.handle(incoming.at, incoming.input);
            if refusal.is_err() {
                break;
            }
            count += 1;
            let handed_out = self.tasks.len();
            self.tasks.extend(std::iter::from_fn(|| self.session.poll()));
            if let Some(input) = for_events {
                let is_news = self.session.context().length() > before;
                let tasks = &self.tasks[handed_out..];
                events.extend(EventBody::of(&self.session, at, &input, is_news, tasks));
            }
        }
        self.batch_buffer = batch;
        if count > 0 {
            self.record += count;
            self.publish(at, || events);
            let mut tasks = std::mem::take(&mut self.tasks);
            let rest = tasks.drain(..).fold(None, |rest, task| self.perform(task).or(rest));
            self.tasks = tasks;
            self.finish(at, rest);
        }
        refusal
    }

    async fn take_durably(&mut self, batch: Vec<Incoming>) -> Result<(), Refused> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let (mut all, mut records, mut refusal) = (Vec::new(), Vec::new(), Ok(()));
        // Anything but the outcome of a read is stored at once.
        let mut may_speculate = batch.iter().all(|incoming| self.work.is_of_read(&incoming.input));
        // Outcomes of speculative reads are added behind these.
        let own = batch.len();
        let mut batch = VecDeque::from(batch);
        while let Some(Incoming { at, input, id }) = batch.pop_front() {
            let before = self.session.context().length();
            let input = Arc::new(input);
            match advance(&mut self.session, at, Input::clone(&input)) {
                Ok(InputEffects { tasks, digest }) => {
                    records.push(Record { at, input: Arc::clone(&input), id, digest: Some(digest) });
                    let is_news = self.session.context().length() > before;
                    let has_consumers = self.report.feed.has_consumers();
                    let events = has_consumers.then(|| EventBody::of(&self.session, at, &input, is_news, &tasks));
                    may_speculate &= all.len() < MOST_AT_ONCE && tasks.iter().all(is_read);
                    if may_speculate {
                        let ended = calls(&tasks).filter_map(|start| self.work.start_speculative(start.clone()));
                        batch.extend(ended.map(|input| Incoming::new(at, input)));
                    }
                    all.push(AcceptedInput { at, input, tasks, is_news, events, is_speculative: may_speculate });
                }
                Err(refused) => {
                    refusal = Err(refused);
                    break;
                }
            }
        }
        if let Some(why) = self.session.context().unreadable() {
            let text = format!("what came before cannot be read: {why}");
            return self.roll_back(all, own, Refused::new(RefusalCode::Damaged, text));
        }
        if all.is_empty() {
            return refusal;
        }
        match journal.store.append(&journal.id, self.record, records).await {
            Ok(_) => {
                self.failures = 0;
                self.work.keep_speculative();
                self.perform_taken(all);
                refusal
            }
            Err(error) => self.roll_back(all, own, Refused::new(error.code(), error.to_string())).and(refusal),
        }
    }

    /// Restores the session from the store, because the latest inputs could not be stored. Outcomes among the first
    /// `own` inputs are offered again later. Inputs after the first `own` are dropped: they are outcomes of speculative
    /// reads, which start again. After a failed sync the store may have some of the inputs; these count as taken.
    fn roll_back(&mut self, mut taken: Vec<AcceptedInput>, own: usize, refused: Refused) -> Result<(), Refused> {
        let restored = match &self.journal {
            None => Err("it is not kept".to_owned()),
            Some(it) => restore(&it.store, &it.id, &it.session_factory).map_err(|error| error.to_string()),
        };
        let last = restored.as_ref().map_or(self.record, |restored| restored.last);
        let kept = usize::try_from(last.saturating_sub(self.record)).unwrap_or_default().min(taken.len());
        if kept == taken.len() {
            self.work.keep_speculative();
        } else {
            // Speculative reads start again with the inputs that lead to them.
            self.work.drop_speculative();
            taken.iter_mut().for_each(|input| input.is_speculative = false);
        }
        let lost: Vec<Input> =
            taken.split_off(kept).into_iter().map(|taken| Arc::unwrap_or_clone(taken.input)).collect();
        let is_lost = !lost.is_empty();
        self.must_report_process_lost |= lost.iter().any(|input| matches!(input, Input::ProcessLost));
        let outcomes: Vec<Input> = lost.into_iter().take(own.saturating_sub(kept)).filter(is_outcome).collect();
        let (is_stuck, is_final) = (self.must_report_process_lost || !outcomes.is_empty(), restored.is_err());
        self.work.give_back(outcomes.into_iter());
        let refused = match restored {
            Ok(restored) => {
                self.session = restored.session;
                self.perform_taken(taken);
                refused
            }
            Err(text) => Refused { text: format!("{}; {text}", refused.text), ..refused },
        };
        if is_stuck || is_final {
            self.failures += 1;
            let pause = (RETRY[0] * self.failures).min(RETRY[1]);
            self.failure = Some(WriteFailure { refused: refused.clone(), pause, is_final });
            self.publish_failure(&refused);
        }
        if is_lost || is_final { Err(refused) } else { Ok(()) }
    }
}

/// The calls among tasks.
fn calls(tasks: &[Task]) -> impl Iterator<Item = &Start> {
    tasks.iter().filter_map(|task| match task {
        Task::Call(start) => Some(&**start),
        _ => None,
    })
}

/// Whether a task is a call that only reads. It needs no stored intent, because it may be repeated (DUR-3, DUR-4).
fn is_read(task: &Task) -> bool {
    matches!(task, Task::Call(start) if start.tool.effect == Effect::Read)
}

/// Whether an input is the outcome of a task, or a question from a call.
fn is_outcome(input: &Input) -> bool {
    matches!(
        input,
        Input::Answer { .. }
            | Input::Used { .. }
            | Input::Ended { .. }
            | Input::Elicit { .. }
            | Input::Loaded { .. }
            | Input::InDoubt { .. }
            | Input::DidNot { .. }
    )
}
