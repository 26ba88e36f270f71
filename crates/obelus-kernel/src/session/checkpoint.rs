//! The stored form of a resting session, so that the cost of restoring it does not depend on its age.
//!
//! The checkpoint has the current state: the fold of its memory with the latest messages, questions and decisions,
//! and how its turn ended. Earlier messages stay in the journal and are read on demand. Running work is not included:
//! a turn has limits, so the journal after a rest is never long.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::consents::Consents;
use super::graph_run::Cursor;
use super::inbox::InboxRecord;
use super::memory::DigestPlace;
use super::pending_messages::PendingMessages;
use super::scheduler::Counters;
use super::settings::Settings;
use super::spent::Spent;
use super::state_projection::StateProjection;
use super::transcript::TranscriptRecord;
use super::turn::Turn;
use super::{CallRules, CallsBesideSteps, Session};
use crate::context::{ContextCheckpoint, LoadPast};
use crate::message::Message;
use crate::policy::Mode;
use crate::time::Time;

/// The version of the format. Other versions are not read: the journal has everything.
const FORM: u32 = 4;

/// Serialised in place without a copy, because it is as large as the session's memory.
#[derive(Serialize, Deserialize)]
struct Checkpoint<'a> {
    form: u32,
    id: Cow<'a, str>,
    now: Time,
    mode: Mode,
    context: ContextCheckpoint<'a>,
    #[serde(default)]
    digests: Cow<'a, [DigestPlace]>,
    turn: Cow<'a, Turn>,
    transcript: Cow<'a, TranscriptRecord>,
    spent: Spent,
    next_step: u32,
    next_request: u64,
    #[serde(borrow)]
    inbox: InboxRecord<'a>,
    projection: Cow<'a, StateProjection>,
    #[serde(rename = "attached", default)]
    pending: Cow<'a, PendingMessages>,
    paused: Option<Cow<'a, str>>,
    /// The latest settings of the agent's file, if they differ from the session's initial ones.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Settings::from_journal")]
    rules: Option<Cow<'a, Settings>>,
    #[serde(default)]
    consents: Cow<'a, Consents>,
    cursor: Option<Cow<'a, Cursor>>,
}

impl Session {
    /// Does in place the work for [`Session::checkpoint`] that it would otherwise do in a copy.
    pub fn prepare_checkpoint(&mut self) {
        self.transcript.flush();
    }

    /// The checkpoint as JSON; none while work is running, or a call waits for a person.
    pub fn checkpoint(&self) -> Option<String> {
        // All fields are listed, so that a new one is stored, or left out on purpose.
        let Self {
            settings,
            constants,
            memory,
            scheduler,
            calls_beside_steps: CallsBesideSteps { early: _, previews },
            inbox,
            transcript,
            turn,
            pending,
            graph,
            projection,
            delegates: _,
            spent,
            tasks,
            call_rules: CallRules { file: rules, consents, past },
        } = self;
        let is_idle = turn.is_at_rest()
            && scheduler.is_idle()
            && tasks.is_empty()
            && pending.texts().is_empty()
            && previews.is_empty();
        if !is_idle || constants.depth > 0 {
            return None;
        }
        let Counters { next_step, next_request } = scheduler.counters();
        let checkpoint = Checkpoint {
            form: FORM,
            id: Cow::Borrowed(&constants.id),
            now: memory.now(),
            mode: settings.mode,
            context: memory.context().checkpoint(memory.base())?,
            digests: Cow::Borrowed(memory.digests()),
            turn: Cow::Borrowed(turn),
            transcript: transcript.record(),
            spent: *spent,
            next_step,
            next_request,
            inbox: inbox.record(past)?,
            projection: Cow::Borrowed(projection),
            pending: Cow::Borrowed(pending),
            paused: tasks.paused().map(Cow::Borrowed),
            rules: rules.changed().map(Cow::Borrowed),
            consents: Cow::Borrowed(consents),
            cursor: graph.as_ref().map(|run| Cow::Borrowed(run.cursor())),
        };
        serde_json::to_string(&checkpoint).ok()
    }

    /// Restores a [`Session::checkpoint`] in a new session that was created like the original. `past` loads the
    /// messages that were left out: [`Session::past`] of the session as its journal had it at that point.
    pub fn restore(mut self, stored: &str, past: LoadPast) -> Result<Self, String> {
        let stored: Checkpoint<'_> = serde_json::from_str(stored).map_err(|error| error.to_string())?;
        if stored.form != FORM {
            return Err(format!("it is of form {}, and not {FORM}", stored.form));
        }
        if stored.id != self.constants.id {
            return Err(format!("it is of the session `{}`", stored.id));
        }
        self.memory.restore(stored.context, past, stored.digests.into_owned())?;
        self.memory.set_now(stored.now);
        if let Some(rules) = stored.rules {
            self.set_rules(rules.into_owned());
        }
        self.set_mode(stored.mode);
        self.turn = stored.turn.into_owned();
        self.transcript.restore(stored.transcript.into_owned());
        self.spent = stored.spent;
        self.scheduler.restore(Counters { next_step: stored.next_step, next_request: stored.next_request });
        self.call_rules.past = self.inbox.restore(stored.inbox);
        self.projection = stored.projection.into_owned();
        self.pending = stored.pending.into_owned();
        if let Some(by) = stored.paused {
            self.tasks.pause(by.into_owned());
        }
        self.call_rules.consents = stored.consents.into_owned();
        match (&mut self.graph, stored.cursor) {
            (Some(run), Some(cursor)) => run.restore(cursor.into_owned()),
            (None, None) => {}
            _ => return Err("the agent's graph of steps is another one".to_owned()),
        }
        Ok(self)
    }

    /// The messages that a checkpoint of this session leaves out.
    pub fn past(&self) -> Vec<Message> {
        self.context().left_out(self.memory.base())
    }
}
