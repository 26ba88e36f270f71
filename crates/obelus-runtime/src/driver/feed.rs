//! Telling a session what happened, once that is durable.

use futures_util::FutureExt;
use futures_util::stream::StreamExt;
use obelus_kernel::session::{Input, Refused};

use super::{Batch, DAMAGED, Driver, Event, MOST_AT_ONCE, NOT_DURABLE, Writing};

impl Driver {
    /// What was said or has completed first, and what else has meanwhile, so that one commit serves all of it.
    pub(super) fn with_others_ready(&mut self, first: Option<Input>) -> Batch {
        let now = (self.clock)();
        let mut batch = std::mem::take(&mut self.room);
        if let Some(first) = first {
            batch.push((now, first));
        }
        while batch.len() < MOST_AT_ONCE {
            // What was told of an answer comes before the answer, which may be among these.
            if let Some(part) = self.parts.ready() {
                let early = self.take_part(part);
                // With the whole answer at hand nothing is early any more.
                let is_whole = batch.iter().any(|(_, input)| matches!(input, Input::Answer { .. }));
                batch.extend(
                    early.filter(|part| !is_whole || matches!(part, Input::Used { .. })).map(|part| (now, part)),
                );
                continue;
            }
            if let Some(done) = self.done.pop_front() {
                batch.push((now, done));
            } else if let Some(completed) = self.next_completed() {
                batch.push((now, completed));
            } else {
                break;
            }
        }
        batch
    }

    /// What has completed among that which waits, if something has.
    pub(super) fn next_completed(&mut self) -> Option<Input> {
        // To ask is not free even where nothing is there.
        if self.pending.is_empty() { None } else { self.pending.next().now_or_never().flatten() }
    }

    /// Keeps inputs in the journal, then tells the session. The first refusal is returned.
    pub(super) async fn feed(&mut self, inputs: Vec<Input>) -> Result<(), Refused> {
        let now = (self.clock)();
        self.feed_batch(inputs.into_iter().map(|input| (now, input)).collect()).await
    }

    pub(super) async fn feed_batch(&mut self, mut batch: Batch) -> Result<(), Refused> {
        // What was being written when an earlier turn was given up comes first.
        let _ = self.written().await;
        if self.forgets {
            batch.insert(0, ((self.clock)(), Input::ProcessLost));
        }
        if batch.is_empty() {
            return Ok(());
        }
        if self.journal.is_none() {
            return self.handle(batch);
        }
        if let Some(journal) = &mut self.journal {
            let kept = journal.append(&batch);
            self.writing = Some(Writing { batch, kept });
            self.written().await?;
        }
        Ok(())
    }

    /// Waits until what is on its way into the journal is durable, and tells the session.
    pub(super) async fn written(&mut self) -> Result<(), Refused> {
        let Some(writing) = &mut self.writing else { return Ok(()) };
        let kept = (&mut writing.kept).await;
        let Some(Writing { batch, .. }) = self.writing.take() else { return Ok(()) };
        if let Err(text) = kept {
            // What people said is refused. What was done is done, and is kept as soon as there is room for it.
            let done = batch.into_iter().map(|(_, input)| input).filter(is_completion).rev();
            done.for_each(|input| self.done.push_front(input));
            return Err(Refused { code: NOT_DURABLE, text });
        }
        self.handle(batch)
    }

    pub(super) fn handle(&mut self, mut batch: Batch) -> Result<(), Refused> {
        let mut refusal = Ok(());
        for (at, input) in batch.drain(..) {
            self.forgets &= !matches!(input, Input::ProcessLost);
            if let Input::Ended { id, .. } | Input::InDoubt { id } | Input::DidNot { id, .. } = &input {
                self.elicitations.forget(id);
            }
            if let Input::Ended { id, outcome } = &input {
                (self.watch)(Event::Ended(id, outcome));
            }
            if let Some(files) = &mut self.files {
                files.heard(at, &input);
            }
            let event = if let Input::Event { event, .. } = &input { Some(event.clone()) } else { None };
            let before = self.session.context().length();
            refusal = refusal.and(self.session.handle(at, input));
            if let Some(event) = event.filter(|_| self.session.context().length() > before) {
                (self.watch)(Event::Happened(&event));
            }
        }
        self.room = batch;
        match self.session.context().unreadable() {
            None => refusal,
            Some(why) => Err(Refused { code: DAMAGED, text: format!("what came before cannot be read: {why}") }),
        }
    }
}

/// Whether an input tells what became of something that was handed out, or what it asks.
fn is_completion(input: &Input) -> bool {
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
