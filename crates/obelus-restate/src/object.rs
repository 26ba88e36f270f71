//! The Virtual Object of a session. Its handlers are short and never wait for anything outside.
//!
//! A handler that a worker could not finish is repeated, perhaps in another worker, and must issue the same commands.
//! Therefore it decides only by its argument and the head, which it reads first. Other data are read outside of the
//! journal; they are always the same, because records never change.

use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::Time;
use obelus_kernel::session::Refused;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_runtime::SessionSpec;
use obelus_runtime::sessions::InputId;
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use serde_json::Value;

use crate::live::{LiveError, SessionGuard, Sessions};
use crate::step::{self, StepChanges};
use crate::wire::{
    Answered, CheckpointRequest, Checksum, Creation, EFFECTS, EffectTask, Envelope, ImportPart, SESSION, SentParts,
    SessionHead, StoredCheckpoint, StoredRecord, TakenInput, Tick, key,
};

/// How long a session rests before a checkpoint: the next turn may follow at once.
const CHECKPOINT_DELAY: Duration = Duration::from_secs(1);

/// How long after an outcome was parked to check whether the session can be restored.
const UNPARKED_AFTER: Duration = Duration::from_secs(10);

/// The pause before the third attempt at a call, which doubles with each one, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The object. Every worker has one, for all sessions.
pub(crate) struct SessionObject(pub(crate) Arc<Sessions>);

/// The result of handlers.
type HandlerAnswer = HandlerResult<Json<Answered>>;

#[object(
    name = "Session",
    lazy_state = true,
    journal_retention = "0s",
    idempotency_retention = "10m",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "5s", max_attempts = 1000000)
)]
impl SessionObject {
    /// Creates a session.
    #[handler]
    async fn create(&self, ctx: ObjectContext<'_>, creation: Json<Creation>) -> HandlerResult<Json<Answered>> {
        let Creation { at, genesis, records, parts } = creation.into_inner();
        if ctx.get::<Json<SessionHead>>(key::HEAD).await?.is_some() {
            return Ok(Json(Answered::Exists));
        }
        let Some(records) = joined(&ctx, parts, records).await? else {
            return refused(
                RefusalCode::Refused,
                "another import under this name has begun: import it again".to_owned(),
            );
        };
        let text = genesis.to_string();
        let head = SessionHead {
            seq: records.len() as u64,
            last_at: records.last().and_then(|stored| stored.record().ok()).map(|record| record.at),
            sum: records.last().map(|stored| stored.sum.clone()).unwrap_or_default(),
            ..SessionHead::new(SessionSpec::key_in(&genesis), at, Checksum::of(&text))
        };
        let live = match self.0.begin(ctx.key(), genesis, &records, &head) {
            Ok(live) => live,
            Err(error) => return refused(RefusalCode::Unreadable, error.to_string()),
        };
        let step = step::step_of_import(&live.replica, &head);
        ctx.set(key::GENESIS, text.into_bytes());
        for (seq, stored) in (1..).zip(&records) {
            if let Some(id) = stored.record().ok().and_then(|record| Some((record.id?, record.input))) {
                let (id, input) = id;
                ctx.set(&key::input(id.as_str()), Json(TakenInput { seq, sum: step::sum_of_input(&input)? }));
            }
            ctx.set(&key::record(seq), Json(stored.clone()));
        }
        *self.0.lock_session(ctx.key()).await = Some(live);
        write(&ctx, None, &step);
        Ok(Json(Answered::Taken(step.head.seq)))
    }

    /// Takes a part of an import that is too large for one message. The last message creates the session.
    #[handler]
    async fn part(&self, ctx: ObjectContext<'_>, part: Json<ImportPart>) -> HandlerResult<Json<Answered>> {
        let ImportPart { import, number, records } = part.into_inner();
        if ctx.get::<Json<SessionHead>>(key::HEAD).await?.is_some() {
            return Ok(Json(Answered::Exists));
        }
        if number == 0 {
            // Parts of an import that was given up.
            let earlier = ctx.get_keys().await?.into_iter().filter(|key| key.starts_with(key::PARTS));
            earlier.for_each(|key| ctx.clear(&key));
        }
        ctx.set(&key::part(&import, number), Json(records));
        Ok(Json(Answered::Taken(number)))
    }

    /// Gives a session an input, or the outcome of a task.
    #[handler]
    async fn input(&self, ctx: ObjectContext<'_>, envelope: Json<Envelope>) -> HandlerResult<Json<Answered>> {
        let envelope = envelope.into_inner();
        let Some(Json(head)) = ctx.get::<Json<SessionHead>>(key::HEAD).await? else {
            return Ok(Json(Answered::Unknown));
        };
        if let Some(id) = &envelope.id
            && let Some(Json(taken)) = ctx.get::<Json<TakenInput>>(&key::input(id.as_str())).await?
        {
            return again(id, &taken, &envelope);
        }
        if envelope.of.as_ref().is_some_and(|of| of.key != head.key) {
            return Ok(Json(Answered::Unknown));
        }
        let mut place = match self.0.at(ctx.key(), &head).await {
            Ok(place) => place,
            Err(error) => return self.unusable(&ctx, head, envelope, error),
        };
        let stored = head.clone();
        let head = unpark(&ctx, head, &mut place).await?;
        let step = if is_due(&place, &envelope) {
            advance(&mut place, |live| step::take(live, &head, &envelope))?
        } else {
            // The task has already ended, and this outcome is a repetition.
            StepChanges::nothing(&head)
        };
        if let (Some(id), Ok(seq)) = (&envelope.id, &step.answer) {
            ctx.set(&key::input(id.as_str()), Json(step::noted(&envelope, *seq)?));
        }
        if step.stopped {
            // Nothing may be running here.
            let _ = self.0.stops.send(ctx.key().to_owned());
        }
        if step.answer.is_err() {
            // For the next input the session is restored from its records, so that a refusal leaves no trace.
            *place = None;
        }
        write(&ctx, Some(&stored), &step);
        Ok(Json(match step.answer {
            Ok(seq) => Answered::Taken(seq),
            Err(refused) => Answered::Refused(refused),
        }))
    }

    /// A timer has expired.
    #[handler]
    async fn tick(&self, ctx: ObjectContext<'_>, tick: Json<Tick>) -> HandlerResult<()> {
        let Tick { key, timer } = tick.into_inner();
        let Some(Json(head)) = ctx.get::<Json<SessionHead>>(key::HEAD).await? else { return Ok(()) };
        let Some(due) = timer.due.filter(|_| head.key == key && head.timer == timer) else { return Ok(()) };
        let mut place = match self.0.at(ctx.key(), &head).await {
            Ok(place) => place,
            // The error is reported with the next input.
            Err(LiveError::Unrestorable(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let step = advance(&mut place, |live| step::tick(live, &head, due))?;
        write(&ctx, Some(&head), &step);
        Ok(())
    }

    /// Checkpoints a resting session.
    #[handler]
    async fn keep(&self, ctx: ObjectContext<'_>, request: Json<CheckpointRequest>) -> HandlerResult<()> {
        let CheckpointRequest { key, seq } = request.into_inner();
        let Some(Json(head)) = ctx.get::<Json<SessionHead>>(key::HEAD).await? else { return Ok(()) };
        if head.key != key || head.seq != seq || head.rest >= seq {
            return Ok(());
        }
        let place = match self.0.at(ctx.key(), &head).await {
            Ok(place) => place,
            Err(LiveError::Unrestorable(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let checkpoint = place.as_ref().and_then(|live| live.replica.session().checkpoint());
        if let Some(state) = checkpoint {
            ctx.set(key::REST, Json(StoredCheckpoint { seq, state }));
            ctx.set(key::HEAD, Json(SessionHead { rest: seq, ..head }));
        }
        Ok(())
    }

    /// Retries the inputs that came while the session could not be restored.
    #[handler]
    async fn unpark(&self, ctx: ObjectContext<'_>, key: Json<String>) -> HandlerResult<()> {
        let Some(Json(head)) = ctx.get::<Json<SessionHead>>(key::HEAD).await? else { return Ok(()) };
        if head.key != key.0 || head.parked == 0 {
            return Ok(());
        }
        match self.0.at(ctx.key(), &head).await {
            Ok(mut place) => {
                let after = unpark(&ctx, head, &mut place).await?;
                ctx.set(key::HEAD, Json(after));
                Ok(())
            }
            Err(LiveError::Unrestorable(_)) => {
                try_again(&ctx, &head);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the records from a number on.
    #[handler]
    async fn cut(&self, ctx: ObjectContext<'_>, from: Json<u64>) -> HandlerResult<Json<Answered>> {
        let from = from.into_inner().max(1);
        let Some(Json(head)) = ctx.get::<Json<SessionHead>>(key::HEAD).await? else {
            return Ok(Json(Answered::Unknown));
        };
        let before = match from {
            1 => None,
            from => ctx.get::<Json<StoredRecord>>(&key::record(from - 1)).await?.map(Json::into_inner),
        };
        let mut ids = Vec::new();
        for seq in from..=head.seq {
            let stored = ctx.get::<Json<StoredRecord>>(&key::record(seq)).await?;
            ids.extend(stored.and_then(|stored| stored.into_inner().record().ok()).and_then(|record| record.id));
        }
        let cut = SessionHead {
            seq: head.seq.min(from - 1),
            last_at: before.as_ref().and_then(|stored| stored.record().ok()).map(|record| record.at),
            sum: before.map(|stored| stored.sum).unwrap_or_default(),
            rest: Some(head.rest).filter(|rest| *rest < from).unwrap_or_default(),
            parked: 0,
            // Results of calls that were removed, and workers that still have them in memory, are of the old key.
            key: key_after_cut(&head),
            ..head.clone()
        };
        let place = match self.0.at(ctx.key(), &cut).await {
            Ok(place) => place,
            Err(LiveError::Unrestorable(text)) => return refused(RefusalCode::Unreadable, text),
            Err(error) => return Err(error.into()),
        };
        let step =
            place.as_ref().map_or_else(|| StepChanges::nothing(&cut), |live| step::step_of_import(&live.replica, &cut));
        write(&ctx, None, &step);
        if head.rest >= from {
            ctx.clear(key::REST);
        }
        ids.iter().for_each(|id| ctx.clear(&key::input(id.as_str())));
        (0..head.parked).for_each(|number| ctx.clear(&key::parked(number)));
        (from..=head.seq).for_each(|seq| ctx.clear(&key::record(seq)));
        Ok(Json(Answered::Taken(step.head.seq)))
    }

    /// Removes a session, except that its name was used.
    #[handler]
    async fn remove(&self, ctx: ObjectContext<'_>, _nothing: Json<Value>) -> HandlerResult<Json<Answered>> {
        if ctx.get::<Json<SessionHead>>(key::HEAD).await?.is_none() {
            return Ok(Json(Answered::Unknown));
        }
        let removed = ctx.get::<Json<u64>>(key::REMOVED).await?.map_or(0, Json::into_inner);
        *self.0.lock_session(ctx.key()).await = None;
        ctx.clear_all();
        ctx.set(key::REMOVED, Json(removed + 1));
        Ok(Json(Answered::Taken(0)))
    }
}

impl SessionObject {
    /// Handles a session that this version cannot restore: people get an error, and outcomes wait (DUR-12).
    fn unusable(
        &self,
        ctx: &ObjectContext<'_>,
        head: SessionHead,
        envelope: Envelope,
        error: LiveError,
    ) -> HandlerAnswer {
        match error {
            LiveError::Unavailable(_) => Err(error.into()),
            LiveError::Unrestorable(text) if envelope.of.is_none() => refused(RefusalCode::Unreadable, text),
            LiveError::Unrestorable(_) => {
                ctx.set(&key::parked(head.parked), Json(envelope));
                if head.parked == 0 {
                    try_again(ctx, &head);
                }
                let answer = Answered::Taken(head.seq);
                ctx.set(key::HEAD, Json(SessionHead { parked: head.parked + 1, ..head }));
                Ok(Json(answer))
            }
        }
    }
}

/// The records of a new session: those of its parts, which are removed, and the last ones. None if a part is missing.
async fn joined(
    ctx: &ObjectContext<'_>,
    parts: Option<SentParts>,
    last: Vec<StoredRecord>,
) -> HandlerResult<Option<Vec<StoredRecord>>> {
    let Some(SentParts { import, count }) = parts else { return Ok(Some(last)) };
    let mut records = Vec::new();
    for number in 0..count {
        let key = key::part(&import, number);
        let Some(Json(part)) = ctx.get::<Json<Vec<StoredRecord>>>(&key).await? else { return Ok(None) };
        records.extend(part);
        ctx.clear(&key);
    }
    records.extend(last);
    Ok(Some(records))
}

/// Schedules another attempt to restore the session.
fn try_again(ctx: &ObjectContext<'_>, head: &SessionHead) {
    let target = RequestTarget::object(SESSION, ctx.key(), "unpark");
    ctx.request::<Json<String>, ()>(target, Json(head.key.clone())).send_after(UNPARKED_AFTER);
}

/// Gives a session the parked inputs; returns the head after that.
async fn unpark(
    ctx: &ObjectContext<'_>,
    mut head: SessionHead,
    place: &mut SessionGuard,
) -> HandlerResult<SessionHead> {
    for number in 0..std::mem::take(&mut head.parked) {
        let parked = ctx.get::<Json<Envelope>>(&key::parked(number)).await?;
        ctx.clear(&key::parked(number));
        if let Some(Json(envelope)) = parked.filter(|parked| is_due(place, &parked.0)) {
            let step = advance(place, |live| step::take(live, &head, &envelope))?;
            write(ctx, None, &step);
            head = step.head;
        }
    }
    Ok(head)
}

/// Whether the task of an envelope is still waited for.
fn is_due(place: &SessionGuard, envelope: &Envelope) -> bool {
    let Some(of) = &envelope.of else { return true };
    let Some(task) = place.as_ref().and_then(|live| live.replica.task(&of.id)) else { return false };
    match task {
        obelus_kernel::session::Task::Call(start) => start.attempt == of.attempt,
        _ => true,
    }
}

/// Applies something to the session in memory.
fn advance(
    place: &mut SessionGuard,
    take: impl FnOnce(&mut obelus_runtime::engine::Replica) -> Result<StepChanges, serde_json::Error>,
) -> HandlerResult<StepChanges> {
    let Some(live) = place.as_mut() else { return Err("the session is not in memory".into()) };
    match take(&mut live.replica) {
        Ok(step) => {
            live.advanced(&step.head);
            Ok(step)
        }
        Err(error) => {
            // The session has taken an input that cannot be written.
            **place = None;
            Err(TerminalError::new(error.to_string()).into())
        }
    }
}

/// Writes the changes of a step, and sends its effects.
fn write(ctx: &ObjectContext<'_>, before: Option<&SessionHead>, step: &StepChanges) {
    for (seq, stored) in &step.records {
        ctx.set(&key::record(*seq), Json(stored.clone()));
    }
    match step.inbox.as_deref() {
        None => {}
        Some([]) => ctx.clear(key::INBOX),
        Some(open) => ctx.set(key::INBOX, Json(Value::from(open.to_vec()))),
    }
    if before != Some(&step.head) {
        ctx.set(key::HEAD, Json(step.head.clone()));
    }
    for effect in &step.effects {
        let target = RequestTarget::service(EFFECTS, "perform");
        let request = ctx.request::<Json<EffectTask>, ()>(target, Json(effect.clone()));
        match pause_before(effect.task.attempt) {
            Duration::ZERO => request.send(),
            pause => request.send_after(pause),
        };
    }
    let own = |handler| RequestTarget::object(SESSION, ctx.key(), handler);
    if let Some(timer) = step.timer {
        let tick = Tick { key: step.head.key.clone(), timer };
        let after = delay(timer.due, step.head.last_at.unwrap_or(step.head.created));
        ctx.request::<Json<Tick>, ()>(own("tick"), Json(tick)).send_after(after);
    }
    if step.needs_checkpoint {
        let request = CheckpointRequest { key: step.head.key.clone(), seq: step.head.seq };
        ctx.request::<Json<CheckpointRequest>, ()>(own("keep"), Json(request)).send_after(CHECKPOINT_DELAY);
    }
}

/// The pause before an attempt at a call: one that kills its workers must not do so without end.
fn pause_before(attempt: u32) -> Duration {
    match attempt {
        0..=2 => Duration::ZERO,
        attempt => FIRST_PAUSE.saturating_mul(1 << (attempt - 3).min(16)).min(LONGEST_PAUSE),
    }
}

fn delay(due: Option<Time>, now: Time) -> Duration {
    let wait = due.map_or(0, |due| due.0.saturating_sub(now.0));
    Duration::from_millis(u64::try_from(wait).unwrap_or(0))
}

fn refused(code: RefusalCode, text: String) -> HandlerAnswer {
    Ok(Json(Answered::Refused(Refused::new(code, text))))
}

/// A repeated id: the same input gets the same answer, another one is refused (DUR-13).
fn again(id: &InputId, taken: &TakenInput, envelope: &Envelope) -> HandlerAnswer {
    if taken.sum == step::noted(envelope, taken.seq)?.sum {
        Ok(Json(Answered::Taken(taken.seq)))
    } else {
        let seq = taken.seq;
        refused(
            RefusalCode::IdReused,
            format!("the id `{id}` was used for another input, with record {seq}: use a new id"),
        )
    }
}

/// The key of a session after records of this head were removed.
fn key_after_cut(head: &SessionHead) -> String {
    let drawn = head.key.split('.').next().unwrap_or_default();
    format!("{drawn}.{}", head.sum.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_at_a_call_come_ever_slower_up_to_a_limit() {
        let pauses = [1, 2, 3, 4, 8, 9, 40].map(|attempt| pause_before(attempt).as_millis());
        assert_eq!(pauses, [0, 0, 100, 200, 3_200, 5_000, 5_000]);
    }
}
