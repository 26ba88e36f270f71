//! A session at rest, as it is kept, so that taking it up does not depend on how old it is.
//!
//! What is kept is what the session has become: the fold of its memory with the latest messages, what was asked and
//! said, and where its turn came to rest. Messages before that stay where they are, in the journal, and are read when
//! somebody needs them. What is under way is not kept: a turn has limits, so the journal after a rest is never long.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Session;
use super::input::CallReport;
use super::job::Status;
use super::observation::Observed;
use super::picture::Picture;
use super::question::QuestionsCheckpoint;
use super::settings::Mode;
use super::spent::Spent;
use super::state_projection::StateProjection;
use super::turn::{Phase, Turn};
use super::walk::Place;
use crate::context::{ContextCheckpoint, LoadPast};
use crate::message::Message;
use crate::origin::Origins;
use crate::time::Time;

/// The form of what is kept. Another form is not read: the journal has everything.
const FORM: u32 = 2;

/// What is kept is as long as the memory of the session: it is written down from where it is, without a copy.
#[derive(Serialize, Deserialize)]
struct Checkpoint<'a> {
    form: u32,
    id: Cow<'a, str>,
    now: Time,
    mode: Mode,
    context: ContextCheckpoint<'a>,
    turn: Cow<'a, Turn>,
    spent: Spent,
    next_step: u32,
    next_request: u64,
    questions: QuestionsCheckpoint<'a>,
    projection: Cow<'a, StateProjection>,
    #[serde(default)]
    observed: Cow<'a, [Observed]>,
    shown: Cow<'a, Origins>,
    said: Cow<'a, Origins>,
    #[serde(default)]
    attached: Cow<'a, [Picture]>,
    answerable: Cow<'a, Option<String>>,
    paused: Cow<'a, Option<String>>,
    walk: Option<Cow<'a, Place>>,
}

impl Session {
    /// What is needed to go on from here, as JSON; none while something is under way, or waits for a person about a
    /// call.
    pub fn checkpoint(&self) -> Option<String> {
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
            projection,
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
            composed: _,
        } = self;
        let rests = matches!(turn.phase, Phase::New | Phase::Rested(_));
        let is_idle = steps.is_empty() && tasks.is_empty() && sub_requests.is_empty() && pending_words.is_empty();
        let is_idle = is_idle && looks.is_empty();
        if !(rests && is_idle && *depth == 0) {
            return None;
        }
        let kept = Checkpoint {
            form: FORM,
            id: Cow::Borrowed(id),
            now: *now,
            mode: settings.mode,
            questions: questions.kept()?,
            context: context.kept(*base)?,
            turn: Cow::Borrowed(turn),
            spent: *spent,
            next_step: *next_step,
            next_request: *next_request,
            projection: Cow::Borrowed(projection),
            observed: Cow::Borrowed(observed),
            shown: Cow::Borrowed(shown),
            said: Cow::Borrowed(said),
            attached: Cow::Borrowed(attached),
            answerable: Cow::Borrowed(answerable),
            paused: Cow::Borrowed(paused),
            walk: walk.as_ref().map(|walk| Cow::Borrowed(&walk.at)),
        };
        serde_json::to_string(&kept).ok()
    }

    /// Takes up what [`Session::checkpoint`] kept, in a session that was made as the kept one was made and has been
    /// told nothing yet. `past` brings the messages that were left out: [`Session::past`] of the session as its
    /// journal had made it at that point.
    pub fn restore(mut self, kept: &str, past: LoadPast) -> Result<Self, String> {
        let kept: Checkpoint<'_> = serde_json::from_str(kept).map_err(|error| error.to_string())?;
        if kept.form != FORM {
            return Err(format!("it is of form {}, and not {FORM}", kept.form));
        }
        if kept.id != self.id {
            return Err(format!("it is of the session `{}`", kept.id));
        }
        self.context.restore(kept.context, past)?;
        self.now = kept.now;
        self.set_mode(kept.mode);
        self.turn = kept.turn.into_owned();
        self.spent = kept.spent;
        self.next_step = kept.next_step;
        self.next_request = kept.next_request;
        self.questions = kept.questions.into();
        self.projection = kept.projection.into_owned();
        self.observed = kept.observed.into_owned();
        self.shown = kept.shown.into_owned();
        self.said = kept.said.into_owned();
        self.attached = kept.attached.into_owned();
        self.answerable = kept.answerable.into_owned();
        self.paused = kept.paused.into_owned();
        match (&mut self.walk, kept.walk) {
            (Some(walk), Some(kept)) => walk.at = kept.into_owned(),
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

    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Value;

    use super::{CallReport, Status};

    type Report = ((u32, u32), Arc<Value>, String, Option<Value>);

    pub(in super::super) fn serialize<S: Serializer>(reports: &[CallReport], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(reports.iter().map(|report| (report.place, &report.call, report.status, &report.error)))
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
