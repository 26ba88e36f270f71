//! Inputs on their way into the session and its journal.

use std::collections::VecDeque;
use std::sync::Arc;

use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Input, Refused, Start, Task};
use obelus_kernel::{Effect, Time};

use super::{Actor, EventBody, MOST_AT_ONCE};
use crate::restore::{InputEffects, RestoreError, Restored, SessionFactory, advance, restore};
use crate::store::{CheckpointData, Durable, InputId, Record, SessionLock, Store, StoreError};

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
    pub(super) changes_memory: bool,
    /// The resulting events, if there was a subscriber when it was taken.
    pub(super) events: Option<Vec<EventBody>>,
    /// Whether its calls are speculative reads: they were started before it is durable.
    pub(super) is_speculative: bool,
}

/// Inputs that the session has taken and that are not yet durable.
struct InputBatch {
    accepted: Vec<AcceptedInput>,
    /// Their records.
    records: Vec<Record>,
    /// The number of inputs with which it began. Those behind them are outcomes of speculative reads.
    given: usize,
    /// Whether it has only outcomes of reads, which led to nothing but reads.
    has_only_reads: bool,
}

/// Inputs of a batch that could not be stored.
struct LostInputs {
    /// Whether there are any.
    is_any: bool,
    /// Whether one of them reported that a process was lost.
    has_process_lost: bool,
    /// The outcomes among them that must be offered again. Those of speculative reads are not: the reads start again.
    outcomes: Vec<Input>,
}

impl InputBatch {
    fn new(given: usize, has_only_reads: bool) -> Self {
        Self { accepted: Vec::new(), records: Vec::new(), given, has_only_reads }
    }

    /// Adds an input. Its reads are speculative if all inputs so far led to nothing but reads.
    fn add(&mut self, record: Record, input: AcceptedInput) {
        self.has_only_reads &= self.accepted.len() < MOST_AT_ONCE && input.tasks.iter().all(is_read);
        self.records.push(record);
        self.accepted.push(AcceptedInput { is_speculative: self.has_only_reads, ..input });
    }

    /// The speculative reads of the latest input.
    fn speculative_reads(&self) -> impl Iterator<Item = &Start> {
        let latest = self.accepted.last().filter(|input| input.is_speculative);
        latest.into_iter().flat_map(|input| &input.tasks).filter_map(|task| match task {
            Task::Call(start) => Some(&**start),
            _ => None,
        })
    }

    /// Removes the inputs that could not be stored: all but the first `stored`.
    fn split_lost(&mut self, stored: usize) -> LostInputs {
        let stored = stored.min(self.accepted.len());
        let lost: Vec<Input> =
            self.accepted.split_off(stored).into_iter().map(|lost| Arc::unwrap_or_clone(lost.input)).collect();
        let (is_any, has_process_lost) = (!lost.is_empty(), lost.contains(&Input::ProcessLost));
        if is_any {
            // Speculative reads start again with the inputs that lead to them.
            self.accepted.iter_mut().for_each(|input| input.is_speculative = false);
        }
        let given = self.given.saturating_sub(stored);
        LostInputs { is_any, has_process_lost, outcomes: lost.into_iter().take(given).filter(is_outcome).collect() }
    }
}

/// The journal of a session.
pub(crate) struct Journal {
    store: Arc<dyn Store>,
    id: Arc<str>,
    /// The name of the session's agent in the catalogue.
    agent: String,
    session_factory: SessionFactory,
    _lock: SessionLock,
}

impl Journal {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        id: &str,
        agent: String,
        session_factory: SessionFactory,
        lock: SessionLock,
    ) -> Self {
        Self { store, id: id.into(), agent, session_factory, _lock: lock }
    }

    /// The name of the session's agent in the catalogue.
    pub(super) fn agent(&self) -> &str {
        &self.agent
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

    /// Appends records after this one; the future completes when they are durable.
    fn append(&self, after: u64, records: Vec<Record>) -> Durable {
        self.store.append(&self.id, after, records)
    }

    /// The session as the store has it.
    fn restore(&self) -> Result<Restored, RestoreError> {
        restore(&self.store, &self.id, &self.session_factory)
    }

    pub(super) fn store_checkpoint(&self, seq: u64, rest: CheckpointData) {
        self.store.store_checkpoint(&self.id, seq, rest);
    }
}

impl Actor {
    /// Takes an outcome and all others that are ready, so that one commit serves them.
    pub(super) async fn take_outcomes(&mut self, first: Option<Input>) {
        let now = self.clock.now();
        let mut batch = std::mem::take(&mut self.buffers.inputs);
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
        let now = self.clock.now();
        self.take(inputs.into_iter().map(|input| Incoming::new(now, input)).collect()).await
    }

    /// Gives inputs to the session, stores them, and performs the resulting tasks. A refused input ends the batch;
    /// those before it are taken.
    ///
    /// Outcomes of reads that lead to nothing but reads are stored together with the outcomes of these, so that a chain
    /// of quick reads needs few syncs. Anything else waits until the records before it are durable.
    pub(super) async fn take(&mut self, mut batch: Vec<Incoming>) -> Result<(), Refused> {
        if let Some(loss) = self.recovery.take_loss() {
            batch.insert(0, Incoming::new(self.clock.now(), loss));
        }
        let taken = match self.journal {
            None => self.take_in_memory(batch),
            Some(_) => self.take_durably(batch).await,
        };
        if self.recovery.is_awake() {
            self.resume_tasks();
        }
        taken
    }

    fn take_in_memory(&mut self, mut batch: Vec<Incoming>) -> Result<(), Refused> {
        let has_consumers = self.report.feed.has_consumers();
        let (mut refusal, mut count, mut at, mut events) = (Ok(()), 0, self.clock.latest(), Vec::new());
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
            let handed_out = self.buffers.tasks.len();
            self.buffers.tasks.extend(std::iter::from_fn(|| self.session.poll()));
            if let Some(input) = for_events {
                let changes_memory = self.session.context().length() > before;
                let tasks = &self.buffers.tasks[handed_out..];
                events.extend(EventBody::of(&self.session, at, &input, changes_memory, tasks));
            }
        }
        self.buffers.inputs = batch;
        if count > 0 {
            self.record += count;
            self.publish(at, || events);
            let mut tasks = std::mem::take(&mut self.buffers.tasks);
            let rest = tasks.drain(..).fold(None, |rest, task| self.perform(task).or(rest));
            self.buffers.tasks = tasks;
            self.finish(at, rest);
        }
        refusal
    }

    async fn take_durably(&mut self, inputs: Vec<Incoming>) -> Result<(), Refused> {
        let (mut batch, refusal) = self.accept(inputs);
        if let Some(why) = self.session.context().unreadable() {
            let text = format!("what came before cannot be read: {why}");
            return self.roll_back(batch, Refused::new(RefusalCode::Damaged, text));
        }
        let Some(journal) = self.journal.as_ref().filter(|_| !batch.accepted.is_empty()) else { return refusal };
        match journal.append(self.record, std::mem::take(&mut batch.records)).await {
            Ok(_) => {
                self.writing.on_success();
                self.work.keep_speculative();
                self.perform_taken(batch.accepted);
                refusal
            }
            Err(error) => self.roll_back(batch, Refused::new(error.code(), error.to_string())).and(refusal),
        }
    }

    /// Gives inputs to the session, until one is refused. Speculative reads start; the outcomes of those that end at once
    /// are given to the session too.
    fn accept(&mut self, inputs: Vec<Incoming>) -> (InputBatch, Result<(), Refused>) {
        let has_only_reads = inputs.iter().all(|incoming| self.work.is_of_read(&incoming.input));
        let mut batch = InputBatch::new(inputs.len(), has_only_reads);
        let mut inputs = VecDeque::from(inputs);
        while let Some(incoming) = inputs.pop_front() {
            let at = incoming.at;
            if let Err(refused) = self.accept_into(&mut batch, incoming) {
                return (batch, Err(refused));
            }
            let ended = batch.speculative_reads().filter_map(|start| self.work.start_speculative(start.clone()));
            inputs.extend(ended.map(|input| Incoming::new(at, input)));
        }
        (batch, Ok(()))
    }

    /// Gives an input to the session, and adds it to the batch.
    fn accept_into(&mut self, batch: &mut InputBatch, Incoming { at, input, id }: Incoming) -> Result<(), Refused> {
        let before = self.session.context().length();
        let input = Arc::new(input);
        let InputEffects { tasks, digest } = advance(&mut self.session, at, Input::clone(&input))?;
        let changes_memory = self.session.context().length() > before;
        let has_consumers = self.report.feed.has_consumers();
        let events = has_consumers.then(|| EventBody::of(&self.session, at, &input, changes_memory, &tasks));
        let record = Record { at, input: Arc::clone(&input), id, digest: Some(digest) };
        batch.add(record, AcceptedInput { at, input, tasks, changes_memory, events, is_speculative: false });
        Ok(())
    }

    /// Restores the session from the store, because the inputs of a batch could not be stored. After a failed sync the
    /// store may have some of them; these count as taken. Outcomes among the others are offered again later.
    fn roll_back(&mut self, mut batch: InputBatch, refused: Refused) -> Result<(), Refused> {
        let restored = match &self.journal {
            None => Err("it is not kept".to_owned()),
            Some(journal) => journal.restore().map_err(|error| error.to_string()),
        };
        let stored = restored.as_ref().map_or(0, |restored| restored.last.saturating_sub(self.record));
        let lost = batch.split_lost(usize::try_from(stored).unwrap_or(usize::MAX));
        if lost.is_any {
            self.work.drop_speculative();
        } else {
            self.work.keep_speculative();
        }
        if lost.has_process_lost {
            self.recovery.report_loss_again();
        }
        let must_retry = self.recovery.must_report_loss() || !lost.outcomes.is_empty();
        self.work.give_back(lost.outcomes.into_iter());
        let is_final = restored.is_err();
        let refused = match restored {
            Ok(restored) => {
                self.session = restored.session;
                self.perform_taken(batch.accepted);
                refused
            }
            Err(text) => Refused { text: format!("{}; {text}", refused.text), ..refused },
        };
        if must_retry || is_final {
            self.writing.on_failure(refused.clone(), is_final);
            self.publish_failure(&refused);
        }
        if lost.is_any || is_final { Err(refused) } else { Ok(()) }
    }
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
