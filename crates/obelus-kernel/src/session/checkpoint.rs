//! A session at rest, as it is kept, so that taking it up does not depend on how old it is.
//!
//! What is kept is what the session has become: the fold of its memory with the latest messages, what was asked and
//! said, and where its turn came to rest. Messages before that stay where they are, in the journal, and are read when
//! somebody needs them. What is under way is not kept: a turn has limits, so the journal after a rest is never long.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Session;
use super::desk::Desk;
use super::input::CallReport;
use super::job::Status;
use super::picture::Picture;
use super::question::KeptQuestions;
use super::seen::Observed;
use super::settings::Mode;
use super::spent::Spent;
use super::turn::{Phase, Turn};
use super::walk::Place;
use crate::context::{KeptContext, LoadPast};
use crate::message::Message;
use crate::origin::Origins;
use crate::time::Time;

/// The form of what is kept. Another form is not read: the journal has everything.
const FORM: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    id: String,
    now: Time,
    mode: Mode,
    context: KeptContext,
    turn: Turn,
    spent: Spent,
    next_step: u32,
    next_request: u64,
    questions: KeptQuestions,
    desk: Desk,
    #[serde(default)]
    observed: Vec<Observed>,
    shown: Origins,
    said: Origins,
    #[serde(default)]
    attached: Vec<Picture>,
    answerable: Option<String>,
    paused: Option<String>,
    walk: Option<Place>,
}

impl Session {
    /// What is needed to go on from here; none while something is under way, or waits for a person about a call.
    pub fn checkpoint(&self) -> Option<Value> {
        // Every field stands here, so that a new one is kept, or left out on purpose.
        let Self {
            id,
            settings,
            schema: _,
            output_validator: _,
            context,
            base,
            persistent: _,
            depth,
            now,
            date: _,
            turn,
            spent,
            steps,
            next_step,
            dirty: _,
            ready: _,
            running: _,
            forgotten: _,
            resting: _,
            sub_requests,
            next_request,
            // At rest it holds calls of steps only, and there is no step then.
            early: _,
            questions,
            desk,
            looks,
            views: _,
            observed,
            shown,
            said,
            pending_words,
            attached,
            answerable,
            tasks,
            paused,
            walk,
            part_validators: _,
        } = self;
        let rests = matches!(turn.phase, Phase::New | Phase::Rested(_));
        let is_idle = steps.is_empty() && tasks.is_empty() && sub_requests.is_empty() && pending_words.is_empty();
        let is_idle = is_idle && looks.is_empty();
        if !(rests && is_idle && *depth == 0) {
            return None;
        }
        let kept = Kept {
            form: FORM,
            id: id.clone(),
            now: *now,
            mode: settings.mode,
            context: context.kept(*base)?,
            turn: turn.clone(),
            spent: *spent,
            next_step: *next_step,
            next_request: *next_request,
            questions: questions.kept()?,
            desk: desk.clone(),
            observed: observed.clone(),
            shown: shown.clone(),
            said: said.clone(),
            attached: attached.clone(),
            answerable: answerable.clone(),
            paused: paused.clone(),
            walk: walk.as_ref().map(|walk| walk.at.clone()),
        };
        serde_json::to_value(kept).ok()
    }

    /// Takes up what [`Session::checkpoint`] kept, in a session that was made as the kept one was made and has been
    /// told nothing yet. `past` brings the messages that were left out: [`Session::past`] of the session as its
    /// journal had made it at that point.
    pub fn restore(mut self, kept: Value, past: LoadPast) -> Result<Self, String> {
        let kept: Kept = serde_json::from_value(kept).map_err(|error| error.to_string())?;
        if kept.form != FORM {
            return Err(format!("it is of form {}, and not {FORM}", kept.form));
        }
        if kept.id != self.id {
            return Err(format!("it is of the session `{}`", kept.id));
        }
        self.context.take_up(kept.context, past)?;
        self.now = kept.now;
        self.set_mode(kept.mode);
        self.turn = kept.turn;
        self.spent = kept.spent;
        self.next_step = kept.next_step;
        self.next_request = kept.next_request;
        self.questions = kept.questions.into();
        self.desk = kept.desk;
        self.observed = kept.observed;
        self.shown = kept.shown;
        self.said = kept.said;
        self.attached = kept.attached;
        self.answerable = kept.answerable;
        self.paused = kept.paused;
        match (&mut self.walk, kept.walk) {
            (Some(walk), Some(kept)) => walk.at = kept,
            (None, None) => {}
            _ => return Err("the agent's graph of steps is another one".to_owned()),
        }
        Ok(self)
    }

    /// The messages that a checkpoint of this session leaves out.
    pub fn past(&self) -> Vec<Message> {
        self.context.left_out(self.base)
    }
}

/// What became of calls, with their places.
pub(super) mod reports {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use super::{CallReport, Status};

    type Report = ((u32, u32), Arc<Value>, String, Option<Value>);

    pub(in super::super) fn serialize<S: Serializer>(reports: &[CallReport], to: S) -> Result<S::Ok, S::Error> {
        let plain = |report: &CallReport| -> Report {
            (report.place, report.call.clone(), report.status.to_owned(), report.error.clone())
        };
        reports.iter().map(plain).collect::<Vec<_>>().serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CallReport>, D::Error> {
        let read = |(place, call, status, error): Report| {
            let known = Status::ALL.iter().map(|known| known.name()).find(|name| *name == status);
            let status = known.ok_or_else(|| serde::de::Error::custom(format!("there is no state `{status}`")))?;
            Ok(CallReport { place, call, status, error })
        };
        Vec::<Report>::deserialize(from)?.into_iter().map(read).collect()
    }
}
