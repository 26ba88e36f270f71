//! The changes of one input, as a value. Nothing here reads or writes, so that a repeated handler gets the same
//! result.

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Question, Refused, Task};
use obelus_runtime::engine::{Record, Replica};
use obelus_runtime::sessions::InputId;
use serde_json::Value;

use crate::wire::{Checksum, EffectTask, Envelope, SessionHead, StoredRecord, TakenInput, TaskRef, Timer};

/// A resting session is checkpointed after this many records, so that restoring it replays few.
const CHECKPOINT_RECORDS: u64 = 32;

/// The changes to write, and the effects to send.
#[derive(Debug)]
pub(crate) struct StepChanges {
    /// The new head.
    pub(crate) head: SessionHead,
    /// New records, with their numbers.
    pub(crate) records: Vec<(u64, StoredRecord)>,
    /// The open questions, if they have changed.
    pub(crate) inbox: Option<Vec<Value>>,
    /// Effects to start.
    pub(crate) effects: Vec<EffectTask>,
    /// A timer to set.
    pub(crate) timer: Option<Timer>,
    /// Whether a checkpoint is due.
    pub(crate) needs_checkpoint: bool,
    /// Whether a person said stop.
    pub(crate) stopped: bool,
    /// The record of the last input, or why it was refused.
    pub(crate) answer: Result<u64, Refused>,
}

/// Gives a session its inputs, in order. A refused one ends the batch; those before it are taken.
pub(crate) fn take(
    replica: &mut Replica,
    head: &SessionHead,
    envelope: &Envelope,
) -> Result<StepChanges, serde_json::Error> {
    let at = head.last_at.map_or(envelope.at, |last| last.max(envelope.at));
    let mut step = StepChanges::begin(head);
    // Expired questions can no longer be answered.
    if envelope.of.is_none() && replica.session().timeout().is_some_and(|due| due <= at) {
        let _ = step.take_input(replica, at, Input::Tick, None)?;
    }
    let last = envelope.inputs.len().saturating_sub(1);
    for (index, input) in envelope.inputs.iter().enumerate() {
        let id = envelope.id.clone().filter(|_| index == last);
        match step.take_input(replica, at, input.clone(), id)? {
            Ok(()) => step.answer = Ok(step.head.seq),
            Err(refused) => {
                step.answer = Err(refused);
                break;
            }
        }
    }
    step.finish(replica);
    Ok(step)
}

/// Tells a session that time has passed.
pub(crate) fn tick(replica: &mut Replica, head: &SessionHead, at: Time) -> Result<StepChanges, serde_json::Error> {
    let at = head.last_at.map_or(at, |last| last.max(at));
    let mut step = StepChanges::begin(head);
    step.answer = step.take_input(replica, at, Input::Tick, None)?.map(|()| step.head.seq);
    step.finish(replica);
    Ok(step)
}

/// The step of a session that was created with records: this engine has done nothing of it.
pub(crate) fn step_of_import(replica: &Replica, head: &SessionHead) -> StepChanges {
    let mut step = StepChanges::begin(head);
    step.head.held = replica.unfinished().map(|(id, _)| id.to_owned()).collect();
    step.finish(replica);
    step.answer = Ok(step.head.seq);
    step
}

impl StepChanges {
    /// No changes.
    pub(crate) fn nothing(head: &SessionHead) -> Self {
        Self::begin(head)
    }

    fn begin(head: &SessionHead) -> Self {
        Self {
            head: head.clone(),
            records: Vec::new(),
            inbox: None,
            effects: Vec::new(),
            timer: None,
            needs_checkpoint: false,
            stopped: false,
            answer: Ok(head.seq),
        }
    }

    /// Gives the session one input.
    fn take_input(
        &mut self,
        replica: &mut Replica,
        at: Time,
        input: Input,
        id: Option<InputId>,
    ) -> Result<Result<(), Refused>, serde_json::Error> {
        let is_stop = matches!(input, Input::Stop);
        let (record, heard) = match replica.take(at, input) {
            Ok(taken) => taken,
            Err(refused) => return Ok(Err(refused)),
        };
        let stored = StoredRecord::after(&self.head.sum, &Record { id, ..record })?;
        self.head.seq = replica.last();
        self.head.last_at = Some(at);
        self.head.sum = stored.sum.clone();
        self.head.stops += u64::from(is_stop);
        self.stopped |= is_stop;
        self.records.push((self.head.seq, stored));
        for task in &heard.tasks {
            self.enqueue_effect(replica, task, false);
        }
        Ok(Ok(()))
    }

    fn enqueue_effect(&mut self, replica: &Replica, task: &Task, in_doubt: bool) {
        let (id, attempt, is_call) = match task {
            Task::AskModel { id } => (id.to_string(), 0, false),
            Task::Load { id, .. } => (id.to_string(), 0, false),
            Task::Call(start) => (start.id.to_string(), start.attempt, true),
            // The follower of the session tells people; no call waits for an answer here.
            Task::Say(_)
            | Task::Ask { .. }
            | Task::AskAgain { .. }
            | Task::AnswerElicitation { .. }
            | Task::Rest(_) => {
                return;
            }
        };
        let session = replica.id().to_owned();
        let (seq, stops) = (self.head.seq, self.head.stops);
        let task = TaskRef { key: self.head.key.clone(), id, attempt };
        self.effects.push(EffectTask { session, task, seq, stops, is_call, in_doubt });
    }

    /// Adds the consequences of all inputs.
    fn finish(&mut self, replica: &Replica) {
        let session = replica.session();
        let is_paused = session.paused().is_some();
        if !is_paused {
            for id in std::mem::take(&mut self.head.held) {
                if let Some(task) = replica.task(&id) {
                    let task = task.clone();
                    self.enqueue_effect(replica, &task, true);
                }
            }
        }
        let due = session.timeout().filter(|_| !is_paused);
        if due != self.head.timer.due {
            self.head.timer = Timer { number: self.head.timer.number + 1, due };
            self.timer = due.map(|_| self.head.timer);
        }
        let open: Vec<_> =
            session.questions().into_iter().filter(Question::is_open).map(|question| question.to_json()).collect();
        let sum =
            if open.is_empty() { Checksum::default() } else { Checksum::of(&Value::from(open.clone()).to_string()) };
        if sum != self.head.inbox {
            self.head.inbox = sum;
            self.inbox = Some(open);
        }
        self.needs_checkpoint = session.is_at_rest() && self.head.seq >= self.head.rest + CHECKPOINT_RECORDS;
    }
}

/// The stored data of an input with an id. It is the last input of its envelope.
pub(crate) fn noted(envelope: &Envelope, seq: u64) -> Result<TakenInput, serde_json::Error> {
    let sum = envelope.inputs.last().map(sum_of_input).transpose()?.unwrap_or_default();
    Ok(TakenInput { seq, sum })
}

/// The sum of an input, to compare it with another.
pub(crate) fn sum_of_input(input: &Input) -> Result<Checksum, serde_json::Error> {
    Ok(Checksum::of(&serde_json::to_string(&InputId::compared(input))?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use obelus_kernel::Context;
    use obelus_kernel::session::{Mode, Session, Settings};
    use serde_json::json;

    use super::*;

    /// A session before its first input, with a plan of one call with this effect.
    fn begun(effect: &str) -> (Replica, SessionHead) {
        let tool = json!({"type": "object", "properties": {"n": {}}, "x-effect": effect, "x-trust": "trusted", "x-target": []});
        let call = json!({"_tool": "step", "n": 1, "_outputPath": "†state.v"});
        let messages = json!([{"type": "tool", "tool": {"step": tool}}, {"type": "plan", "plan": [call]}]);
        let settings = Settings { mode: Mode::Full, activities: ["step".to_owned()].into(), ..Settings::default() };
        let session = Session::new("s", Context::from_value(messages).unwrap(), None, Arc::new(settings)).unwrap();
        let head = SessionHead::new("k", Time(1), Checksum::default());
        (Replica::new("s", session), head)
    }

    fn told(at: i64, input: Input) -> Envelope {
        Envelope { at: Time(at), inputs: vec![input], id: None, of: None }
    }

    #[test]
    fn repeating_a_step_gives_the_same_result() {
        let steps: Vec<String> = (0..2)
            .map(|_| {
                let (mut replica, head) = begun("create");
                format!("{:?}", take(&mut replica, &head, &told(5, Input::RunPlan)).unwrap())
            })
            .collect();
        assert_eq!(steps[0], steps[1]);
    }

    #[test]
    fn a_call_is_handed_out_with_its_record_and_begins_with_an_intent() {
        for effect in ["read", "create"] {
            let (mut replica, head) = begun(effect);
            let step = take(&mut replica, &head, &told(5, Input::RunPlan)).unwrap();
            assert_eq!((step.head.seq, step.records.len(), step.answer), (1, 1, Ok(1)));
            assert!(step.records[0].1.fits(&Checksum::default()));
            let effect = &step.effects[0];
            assert_eq!((effect.task.id.as_str(), effect.task.attempt, effect.seq), ("0.0", 1, 1));
            assert_eq!((effect.is_call, effect.in_doubt), (true, false));
        }
    }

    #[test]
    fn time_does_not_run_backwards_and_a_refused_input_changes_nothing() {
        let (mut replica, head) = begun("read");
        let step = take(&mut replica, &head, &told(50, Input::Mode { mode: Mode::Shadow })).unwrap();
        let later = take(&mut replica, &step.head, &told(7, Input::Mode { mode: Mode::Full })).unwrap();
        assert_eq!(later.head.last_at, Some(Time(50)));
        let unknown = Input::Revoke { consent: 9, by: "ann".to_owned() };
        let refused = take(&mut replica, &later.head, &told(60, unknown)).unwrap();
        assert!(refused.answer.is_err() && refused.records.is_empty());
        assert_eq!(refused.head, later.head);
    }

    #[test]
    fn an_open_question_is_in_the_inbox_with_a_timer() {
        let (mut replica, head) = begun("delete");
        let step = take(&mut replica, &head, &told(5, Input::RunPlan)).unwrap();
        assert_eq!(step.inbox.as_ref().map(Vec::len), Some(1));
        let timer = step.timer.expect("it lapses some time");
        assert_eq!((timer.number, timer), (1, step.head.timer));
        let again = take(&mut replica, &step.head, &told(6, Input::Mode { mode: Mode::Full })).unwrap();
        assert_eq!((again.inbox, again.timer), (None, None), "nothing new");
        let due = timer.due.unwrap();
        let mut lapsed = tick(&mut replica, &again.head, due).unwrap();
        // People may be reminded first.
        while let Some(due) = lapsed.head.timer.due.filter(|_| lapsed.inbox.is_none()) {
            lapsed = tick(&mut replica, &lapsed.head, due).unwrap();
        }
        assert_eq!(lapsed.inbox, Some(Vec::new()));
    }

    #[test]
    fn running_calls_of_an_imported_session_are_in_doubt_and_wait_while_it_is_paused() {
        let (mut replica, head) = begun("create");
        let step = take(&mut replica, &head, &told(5, Input::RunPlan)).unwrap();
        let brought = step_of_import(&replica, &step.head);
        assert!(brought.effects.len() == 1 && brought.effects[0].in_doubt && brought.head.held.is_empty());
        let paused = take(&mut replica, &step.head, &told(6, Input::Pause { by: "ann".to_owned() })).unwrap();
        let brought = step_of_import(&replica, &paused.head);
        assert_eq!((brought.effects.len(), brought.head.held.len()), (0, 1));
        let resumed = take(&mut replica, &brought.head, &told(7, Input::Resume { by: "ann".to_owned() })).unwrap();
        assert!(resumed.effects.iter().any(|effect| effect.in_doubt) && resumed.head.held.is_empty());
    }
}
