//! The session: a state machine that takes inputs and returns tasks.
//!
//! A driver calls [`Session::handle`] with an input and the time, then [`Session::poll`] until it returns nothing,
//! performs the tasks, and comes back with the results. [`Session::timeout`] says when to send [`Input::Tick`] at the
//! latest. The session does no I/O and has no clock, so the same inputs in the same order always give the same tasks
//! and the same memory.
//!
//! A session is made of parts that own their data and do not know each other. Only `delegates` knows the type
//! `Session`, because a delegate is one:
//!
//! | part | owns |
//! |---|---|
//! | `memory` | the context, the time, everything that is written |
//! | `scheduler` | steps and jobs: what is blocked, ready, running |
//! | `early_calls` | calls that start while the model is still writing |
//! | `inbox` | questions, decisions, elicitations |
//! | `past` | effects that need a person before they are repeated |
//! | `previews` | reads that show what a question would change |
//! | `transcript` | what the model has been shown, and what the next request adds |
//! | `turn` | phase, limits and result of the latest turn |
//! | `pending_messages` | messages and pictures that no turn has taken yet |
//! | `graph_run` | the position of a turn in a graph of steps |
//! | `state_projection` | keys of confirmations, plans and events for the state |
//! | `delegates` | sessions that carry out calls, and what the callers of the session leave to it |
//! | `consents` | standing consents |
//! | `file_rules` | the agent's file when it was last opened |
//! | `spent` | the usage of the model |
//! | `task_queue` | tasks for the driver, and the pause |
//!
//! The session routes between them. The files:
//!
//! | file | subject |
//! |---|---|
//! | `input`, `output`, `ids` | inputs and outputs; `refused`: inputs that are refused |
//! | `settings` | the author's settings of an agent |
//! | `flow`, `solve`, `follow_up` | a turn to its rest; the model's answer; whether the model is asked again |
//! | `calls`, `judge`, `results` | a call from blocked to its end; `grounds`: grounding of its values |
//! | `report_error` | the error in a call's report |
//! | `constants` | what never changes in a session |
//! | `delegate`, `allowance` | delegates at work; limits that a session and its delegates share |
//! | `nodes` | a turn along a graph of steps |
//! | `asking`, `preview_reads`, `eliciting` | asking questions; `consenting`: standing consents |
//! | `decide`, `doubt`, `happened`, `earlier_decisions` | people's decisions and their effects |
//! | `edit_call`, `edit_plan`, `edited_params` | edits by people, and what they changed |
//! | `prompt`, `transcript_writes`, `prompt_tail`, `redact` | what the model is shown |
//! | `state`, `adopt` | the state for people and its provenance, and a state from outside |
//! | `plan_graph` | the calls of a turn as a graph; `proposed_step`: those of a step as proposed |
//! | `naming` | calls, questions and values as text for people |
//! | `rules` | changes of the agent's file |
//! | `checkpoint` | the stored form of a resting session |

mod adopt;
mod allowance;
mod asking;
mod calls;
mod checkpoint;
mod consenting;
mod consents;
mod constants;
mod decide;
mod delegate;
mod delegates;
mod doubt;
mod earlier_decisions;
mod early_calls;
mod edit_call;
mod edit_plan;
mod edited_params;
mod eliciting;
mod file_rules;
mod flow;
mod follow_up;
mod graph_run;
mod grounds;
mod happened;
pub mod ids;
mod inbox;
mod input;
mod judge;
mod memory;
mod naming;
mod nodes;
mod output;
mod past;
mod pending_messages;
pub mod plan_graph;
mod preview_reads;
mod previews;
mod prompt;
mod prompt_tail;
mod proposed_step;
mod redact;
mod refused;
pub mod report_error;
mod results;
mod rules;
mod scheduler;
mod settings;
mod solve;
mod spent;
mod state;
mod state_projection;
mod task_queue;
mod transcript;
mod transcript_writes;
mod turn;

use std::sync::Arc;

use serde_json::{Value, json};

pub use crate::policy::gate::Mode;
pub use ids::{CallId, QuestionId, RequestId};
pub use inbox::{About, AskedCall, Change, Question, QuestionStatus};
pub use input::{Answer, CallError, Decision, FailureCode, Input, Outcome};
pub use obelus_notebook::call_texts::Named;
pub use obelus_notebook::describe::{ValueMark, quoted_value};
pub use obelus_notebook::dialect::Solution;
pub use obelus_notebook::observation::Observation;
pub use obelus_notebook::picture::Picture;
pub use output::{CallReport, CallStatus, ElicitationAnswer, RepeatReason, Reply, Start, Task, TurnEnd};
pub use prompt::{Prompt, Purpose};
pub use refused::Refused;
pub use settings::Settings;
pub use spent::{Money, Spent, Used};
pub use transcript::{CallEntry, TranscriptEntry, TranscriptEvent};

/// Who sent an input, as journals name them.
pub mod sent_by {
    pub use obelus_notebook::sent_by::SentBy;
}

/// The parts of a [`Refused`].
pub mod refusals {
    pub use super::refused::{InvalidValue, RefusalCode};
}

/// What a running call asks of a person, in parts.
pub mod elicitations {
    pub use super::inbox::ElicitationForm;
    pub use obelus_notebook::requested::{RequestedField, RequestedKind};
}

/// The types of the fields of [`Settings`].
pub mod options {
    pub use super::input::Limit;
    pub use super::settings::{Approval, FollowUp, ManagedFields, ModelMayConfirm, Planning};
    pub use obelus_notebook::mention::consent::ConsentWords;
}

use crate::context::Context;
use crate::fault::{Fault, Rule};
use crate::message::PlanMode;
use crate::schema;
use crate::time::Time;
use consents::Consents;
use constants::SessionConstants;
use delegates::Delegates;
use early_calls::EarlyCalls;
use file_rules::FileRules;
use graph_run::GraphRun;
use ids::{JobRef, Routed};
use inbox::Inbox;
use memory::Memory;
use obelus_notebook::jq::Filter;
use obelus_notebook::steps::Steps;
use past::PastEffects;
use pending_messages::PendingMessages;
use previews::PreviewReads;
use report_error::error_data;
use scheduler::Scheduler;
use state_projection::StateProjection;
use task_queue::TaskQueue;
use transcript::Transcript;
use turn::Turn;

/// An agent working on a request: its memory, running work, and open questions.
pub struct Session {
    settings: Arc<Settings>,
    constants: SessionConstants,
    memory: Memory,
    scheduler: Scheduler,
    calls_beside_steps: CallsBesideSteps,
    inbox: Inbox,
    transcript: Transcript,
    turn: Turn,
    pending: PendingMessages,
    /// The position of the turn, if the agent has a graph of steps.
    graph: Option<GraphRun>,
    projection: StateProjection,
    delegates: Delegates,
    /// The usage of the model since the session began.
    spent: Spent,
    tasks: TaskQueue,
    call_rules: CallRules,
}

/// Running calls that belong to no step.
#[derive(Default)]
struct CallsBesideSteps {
    early: EarlyCalls,
    previews: PreviewReads,
}

/// What decides about calls besides the settings.
struct CallRules {
    /// The agent's file when it was last opened.
    file: FileRules,
    /// The standing consents.
    consents: Consents,
    /// Effects that need a person.
    past: PastEffects,
}

impl std::fmt::Debug for Session {
    /// Only its name; [`Session::snapshot`] has the content.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.constants.id).finish_non_exhaustive()
    }
}

impl Session {
    /// A new session for a request: its context, the schema of its result, and its settings.
    ///
    /// Fails if a tool names a missing activity, or a schema is invalid.
    pub fn new(
        id: impl Into<String>,
        context: Context,
        schema: Option<Value>,
        settings: Arc<Settings>,
    ) -> Result<Self, Fault> {
        for tool in context.tools() {
            tool.check()?;
            if let Some(name) = tool.fixed_name("_activity")
                && tool.fixed_name("_delegate").is_none()
                && !settings.activities.contains(name)
            {
                let text = format!("the activity `{name}` is not registered");
                return Err(Fault::new(Rule::Tool3, text).at(&format!("tool.{}", tool.name)));
            }
        }
        let validator = match &schema {
            None | Some(Value::Null) => None,
            Some(schema) => {
                let compiled = schema::compile(schema);
                let wrong = |error| Fault::new(Rule::Loop1, format!("not a valid JSON Schema: {error}")).at("schema");
                Some(Arc::new(compiled.map_err(wrong)?))
            }
        };
        let view = |(kind, text): (&String, &String)| match Filter::compile(text) {
            Ok(filter) => Ok((kind.clone(), filter)),
            Err(why) => Err(Fault::new(Rule::Loop1, why).at(&format!("show.{kind}"))),
        };
        let views = settings.show.iter().map(view).collect::<Result<_, _>>()?;
        let persistent = settings.persistent || context.plan().is_some();
        let mut session = Self {
            constants: SessionConstants { id: id.into(), root: None, schema, validator, persistent, depth: 0 },
            transcript: Transcript::new(context.text_origins(), views),
            memory: Memory::new(context),
            scheduler: Scheduler::default(),
            calls_beside_steps: CallsBesideSteps::default(),
            inbox: Inbox::default(),
            turn: Turn::new(&settings),
            pending: PendingMessages::default(),
            graph: None,
            projection: StateProjection::default(),
            delegates: Delegates::default(),
            spent: Spent::default(),
            tasks: TaskQueue::default(),
            call_rules: CallRules {
                file: FileRules::of(&settings),
                consents: Consents::default(),
                past: PastEffects::default(),
            },
            settings,
        };
        session.transcribe_given_texts();
        Ok(session)
    }

    /// Makes its turns follow a graph of steps. Such a session is always persistent.
    #[must_use]
    pub fn with_steps(mut self, steps: Arc<Steps>) -> Self {
        self.graph = Some(GraphRun::new(steps));
        self.constants.persistent = true;
        self
    }

    /// Numbers its questions after this number: ids of questions are never reused, and an earlier session of the same
    /// name may have used those before (ASK-1).
    #[must_use]
    pub fn with_questions_after(mut self, number: u64) -> Self {
        self.inbox.number_after(number);
        self
    }

    /// Takes an input. Afterwards [`Session::poll`] returns the resulting tasks.
    ///
    /// An invalid input, such as an answer to an unknown question, is refused without any change. A completion that
    /// is already known is ignored.
    pub fn handle(&mut self, now: Time, mut input: Input) -> Result<(), Refused> {
        let before = self.memory.now();
        self.memory.set_now(now);
        self.scheduler.begin_round();
        // In this session or in a delegate.
        self.spent.count(&input);
        self.turn.count_usage(&input);
        let taken = match input.pop_job() {
            Some(job) => self.pass_to_delegate(job, input),
            None => self.take(input),
        };
        // A refused input is not journaled, so it does not change the time.
        taken.inspect_err(|_| self.memory.undo_set_now(before))?;
        self.proceed();
        if self.constants.depth == 0 {
            self.wake_delegates();
            self.share_past();
        }
        Ok(())
    }

    /// Takes an input for this session itself. An unknown id is ignored.
    fn take(&mut self, input: Input) -> Result<(), Refused> {
        match input {
            Input::Start => {
                self.turn.must_be_at_rest()?;
                self.begin(None);
            }
            Input::RunPlan => self.run_plan()?,
            Input::Picture(picture) => self.pending.attach(picture)?,
            Input::User { text, by } => self.take_user_message(text, by),
            Input::State { state, by, is_whole } => self.adopt(state, &by, is_whole)?,
            Input::Event { id, event } => self.take_event(id, event)?,
            Input::Used { .. } => {}
            Input::Elicit { id, key, words, schema } => self.elicit(&id, key, words, schema),
            Input::Answer { id, answer } => self.take_answer(id.within().0, answer),
            Input::Partial { id, index, call } => self.start_early(id.within().0, index, &call),
            Input::Ended { id, outcome } => self.take_outcome(id.within(), outcome),
            Input::Loaded { id, request } => self.take_loaded(id.within(), request),
            Input::InDoubt { id } => self.take_doubt(id.within()),
            Input::DidNot { id, attempt } => self.take_not_done(id.within(), attempt),
            Input::ProcessLost => {
                self.drop_elicitations();
                self.memory.forget_observations();
                self.transcript.forget_observations();
                self.give_to_delegates(&Input::ProcessLost);
            }
            Input::Decide { question, decision, by, digest } => {
                let texts = question.local().map(|number| self.inbox.texts_of_decision(number, &decision));
                self.decide(&question, decision, &by, digest.as_deref())?;
                self.inbox.note_texts_by_people(texts.unwrap_or_default());
            }
            Input::Revoke { consent, by } => self.revoke(consent, &by)?,
            Input::Mode { mode } => self.set_mode(mode),
            Input::Rules { settings, tools, removed } => self.take_rules(*settings, tools, &removed),
            Input::Pause { by } => {
                self.give_to_delegates(&Input::Pause { by: by.clone() });
                self.tasks.pause(by);
            }
            input @ Input::Resume { .. } => {
                self.tasks.resume();
                self.start_held();
                self.give_to_delegates(&input);
            }
            Input::Stop => self.stop(),
            Input::Tick => {
                self.expire();
                self.remind();
            }
        }
        Ok(())
    }

    /// The next task, if there is one.
    pub fn poll(&mut self) -> Option<Task> {
        self.tasks.next()
    }

    /// When to send [`Input::Tick`] at the latest.
    pub fn timeout(&self) -> Option<Time> {
        let own = self.inbox.timeout();
        own.into_iter().chain(self.delegates.iter().filter_map(|(_, child)| child.timeout())).min()
    }

    /// Changes the mode, from the next call on.
    fn set_mode(&mut self, mode: Mode) {
        Arc::make_mut(&mut self.settings).mode = mode;
        self.delegates.iter_mut().for_each(|child| child.set_mode(mode));
    }

    /// Who has paused it, if it is paused.
    pub fn paused(&self) -> Option<&str> {
        self.tasks.paused()
    }

    /// The session's current node of the graph.
    pub fn node(&self) -> Option<&str> {
        self.graph.as_ref().map(GraphRun::node)
    }

    /// The session's memory.
    pub fn context(&self) -> &Context {
        self.memory.context()
    }

    /// The schema of the result.
    pub fn schema(&self) -> Option<&Value> {
        self.constants.schema.as_ref()
    }

    /// The settings it runs under.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The usage of the model: in this turn, and since the session began.
    pub fn spent(&self) -> (Spent, Spent) {
        (self.turn.spent(), self.spent)
    }

    /// All questions, including decided ones and those of delegates, with the ids by which they are answered.
    pub fn questions(&self) -> Vec<Question> {
        let mut all: Vec<Question> = self.inbox.all().cloned().collect();
        for (job, child) in self.delegates.iter() {
            all.extend(child.questions().into_iter().map(|question| question.below(job)));
        }
        all
    }

    /// The question of this id.
    pub fn question(&self, id: &QuestionId) -> Option<Question> {
        let (owner, number) = self.owner(id)?;
        Some(Question { id: id.clone(), ..owner.inbox.get(number)?.clone() })
    }

    /// The session or delegate that an id belongs to, and the id within it. None if there is no such delegate.
    fn owner<T: Copy>(&self, id: &Routed<T>) -> Option<(&Session, T)> {
        let owner = id.route().iter().try_fold(self, |session, job| session.delegates.get(*job))?;
        Some((owner, id.within()))
    }

    /// The time of the latest input.
    pub fn now(&self) -> Time {
        self.memory.now()
    }

    /// The whole session as data. Equal sessions are equal here, byte for byte.
    pub fn snapshot(&self) -> Value {
        let steps = self.scheduler.steps().map(|(number, step)| {
            let jobs = step.report(number).zip(&step.jobs).enumerate().map(|(index, (report, job))| {
                let child = self.delegates.get(JobRef::new(number, index)).map(Session::snapshot);
                json!({"call": report.call, "status": report.status, "error": report.error,
                    "attempt": job.attempt, "child": child})
            });
            let errors: Vec<&Value> = step.errors.iter().map(|(error, _)| error).collect();
            (number.to_string(), json!({"jobs": jobs.collect::<Vec<_>>(), "errors": errors}))
        });
        let mut all = json!({
            "id": self.constants.id,
            "now": self.memory.now(),
            "context": self.context().to_json(),
            "mode": self.settings.mode,
            "turn": self.turn.snapshot(self.transcript.ended()),
            "spent": self.spent,
            "steps": steps.collect::<serde_json::Map<_, _>>(),
            "state": self.state(),
            "questions": self.inbox.all().map(Question::to_json).collect::<Vec<_>>(),
            "shown": self.transcript.shown().to_json(),
            "walk": self.graph.as_ref().map(GraphRun::snapshot),
            "pendingWords": self.pending.texts(),
        });
        if let Some(by) = self.paused() {
            all["paused"] = by.into();
        }
        all
    }

    fn plan_mode(&self) -> PlanMode {
        if self.settings.plans_before_reading() {
            return PlanMode::Lazy;
        }
        self.context().plan().map(|plan| plan.mode).unwrap_or_default()
    }
}
