//! The session: a state machine that takes events and hands out tasks.
//!
//! A driver calls [`Session::handle`] with what happened and when, then [`Session::poll`] until it returns
//! nothing, does what it was handed, and comes back with the results. [`Session::timeout`] says when to come
//! back at the latest, with [`Input::Tick`]. The session itself does no I/O and knows no time but what it is
//! told, so the same inputs in the same order always give the same tasks and the same memory.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `input` | what comes in, what goes out |
//! | `turn`, `solve`, `rest` | how a turn begins, what the model answers, how it comes to rest |
//! | `walk` | a turn along a graph of steps |
//! | `partial` | calls that start while the model is still writing |
//! | `job`, `active_steps` | the calls of one solution and the graph between them, and where those under way are kept |
//! | `work`, `freeze` | a call's way from blocked to its end, and the call with its references resolved |
//! | `result`, `instances`, `leave` | what a call brings, and what it leaves beside that, written to memory |
//! | `seen`, `picture` | what the model is shown and nobody keeps, and pictures that the user shows |
//! | `state_projection`, `adopt` | the state with what the session keeps up in it, and a state that comes from elsewhere |
//! | `event` | what a service tells of its own accord |
//! | `naming`, `value_names` | names that people know, of tools, parameters and values; a call in one line |
//! | `question`, `ask`, `describe`, `look` | what waits for a person, in which words, and what it would change |
//! | `elicitation` | what a call at work asks a person |
//! | `decide`, `earlier`, `consent`, `doubt` | what a person may say, has said, and what that does |
//! | `checkpoint` | a session at rest as it is kept |
//! | `policy`, `provenance`, `explain` | what may happen, what the origins of values decide, and why |
//! | `why` | the chain of calls behind a value |
//! | `delegate` | calls carried out by a session of their own |
//! | `prompt`, `shelter` | what the model is shown, and what a planner is not |

mod active_steps;
mod adopt;
mod ask;
mod checkpoint;
mod consent;
mod decide;
mod delegate;
mod describe;
mod doubt;
mod earlier;
mod elicitation;
mod event;
mod explain;
mod freeze;
mod input;
mod instances;
mod job;
mod leave;
mod look;
mod naming;
mod observation;
mod partial;
mod picture;
mod policy;
mod prompt;
mod provenance;
mod question;
mod rest;
mod result;
mod settings;
mod shelter;
mod simulate;
mod solve;
mod spent;
mod state_projection;
mod turn;
mod value_names;
mod walk;
mod why;
mod work;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Value, json};

pub use crate::glob::fits as glob_fits;
pub use consent::ConsentWords;
pub use explain::explain;
pub use input::{
    Answer, AskedAgain, CallError, CallReport, Decision, ElicitationAnswer, Ends, Input, Outcome, Reply, Solution,
    Start, Task,
};
pub use observation::Observation;
pub use picture::Picture;
pub use policy::{Examples, Explanation, Match, Policy, Rule as PolicyRule, Say, Spoken, Verdict};
pub use prompt::{Prompt, Purpose};
pub use question::{About, AskedCall, Change, Question, QuestionStatus};
pub use settings::{Approval, FollowUp, ManagedFields, Mode, ModelMayConfirm, Planning, Settings};
pub use simulate::simulate;
pub use spent::{Money, Spent, Used};
pub use value_names::Named;
pub use why::{Because, Given, Why, Writer, why};

use crate::compose;
use crate::context::Context;
use crate::fault::{Fault, Rule};
use crate::jq::Filter;
use crate::message::{Message, PlanMode, Role};
use crate::names::Name;
use crate::origin::Origins;
use crate::schema;
use crate::steps::Steps;
use crate::time::Time;
use crate::tool::Tool;
use active_steps::ActiveSteps;
use doubt::INTERRUPTED;
use job::JobRef;
use look::Looks;
use observation::Observed;
use partial::Early;
use question::Questions;
use state_projection::StateProjection;
use turn::{Turn, Words};
use walk::Walk;

/// An agent at work on a request: its memory, what is under way, and what waits.
pub struct Session {
    id: String,
    settings: Arc<Settings>,
    schema: Option<Value>,
    output_validator: Option<Arc<Validator>>,
    context: Context,
    /// Messages that the request itself brought.
    base: usize,
    persistent: bool,
    /// How many delegates are above this one.
    depth: u32,
    now: Time,
    /// `now` in words, for many results bear the same date.
    date: Option<(Time, Arc<str>)>,
    turn: Turn,
    /// What the model took since the session began.
    spent: Spent,
    steps: ActiveSteps,
    next_step: u32,
    /// Jobs to be looked at again, because something they need has changed.
    dirty: VecDeque<JobRef>,
    /// Jobs that may run as soon as there is room.
    ready: VecDeque<JobRef>,
    /// Jobs that run, the forgotten ones included.
    running: u32,
    /// Of the running ones, those that nobody waits for and that do not rest.
    forgotten: u32,
    /// Of the running ones, those that rest until a person says something.
    resting: u32,
    /// The jobs behind requests to the model that are not the turn's own.
    sub_requests: BTreeMap<u64, JobRef>,
    next_request: u64,
    /// What was started before the solution was there.
    early: Early,
    questions: Questions,
    /// Looks at what calls are about to change, for whoever decides about them.
    looks: Looks,
    /// What the state tells of confirmations beside the questions.
    projection: StateProjection,
    /// What the model is shown of kinds that are not shown whole.
    views: BTreeMap<String, Filter>,
    /// Where digests of what was seen were written.
    observed: Vec<Observed>,
    /// Where everything comes from that the model has been shown so far.
    shown: Origins,
    /// Where the agent's own words of this session come from: it had been shown all that when it spoke.
    said: Origins,
    /// Words that came while the turn was at work.
    pending_words: VecDeque<Words>,
    /// Pictures for the words that come next.
    attached: Vec<Picture>,
    /// The question that the user's latest words can be an answer to.
    answerable: Option<String>,
    tasks: VecDeque<Task>,
    /// Who has paused it.
    paused: Option<String>,
    /// Where the turn is, if the agent's loop is a graph of steps.
    walk: Option<Walk>,
    /// Validators for parts of kinds' schemas, by kind, instance and pointer.
    part_validators: BTreeMap<PartOfKind, (Value, Arc<Validator>)>,
    /// The schema of the latest request's answer.
    composed: compose::Latest,
}

/// A kind, an instance, and a pointer into the kind's schema.
type PartOfKind = (Name, Option<String>, String);

/// An input that cannot be taken; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refused {
    /// A stable name of the cause.
    pub code: &'static str,
    /// What is wrong, and what would be right.
    pub text: String,
}

impl Refused {
    fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

impl std::fmt::Debug for Session {
    /// Its name alone: what it holds is long, and [`Session::snapshot`] has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Session {
    /// A session about to work on a request: its context, the schema of its result, and its settings.
    ///
    /// Fails where a tool names an activity that does not exist, or a schema is not one.
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
        let output_validator = match &schema {
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
        let shown = context.text_origins();
        Ok(Self {
            id: id.into(),
            base: context.length(),
            turn: Turn::new(&settings),
            settings,
            schema,
            output_validator,
            context,
            persistent,
            depth: 0,
            now: Time::default(),
            date: None,
            spent: Spent::default(),
            steps: ActiveSteps::default(),
            next_step: 0,
            dirty: VecDeque::new(),
            ready: VecDeque::new(),
            running: 0,
            forgotten: 0,
            resting: 0,
            sub_requests: BTreeMap::new(),
            next_request: 0,
            early: Early::new(),
            questions: Questions::default(),
            looks: Looks::default(),
            projection: StateProjection::default(),
            views,
            observed: Vec::new(),
            shown,
            said: Origins::default(),
            pending_words: VecDeque::new(),
            attached: Vec::new(),
            answerable: None,
            tasks: VecDeque::new(),
            paused: None,
            part_validators: BTreeMap::new(),
            composed: compose::Latest::default(),
            walk: None,
        })
    }

    /// The same session, whose turns walk a graph of steps. Such a session is always persistent.
    #[must_use]
    pub fn with_steps(mut self, steps: Arc<Steps>) -> Self {
        self.walk = Some(Walk::new(steps));
        self.persistent = true;
        self
    }

    /// The node of the graph where the session is.
    pub fn node(&self) -> Option<&str> {
        self.walk.as_ref().map(|walk| walk.at.node.as_str())
    }

    /// Takes in what happened. Afterwards [`Session::poll`] hands out what is to be done about it.
    ///
    /// An input that does not fit, such as an answer to a question that was never asked, is refused, and
    /// nothing has changed. A completion that is already known is taken as no news.
    pub fn handle(&mut self, now: Time, input: Input) -> Result<(), Refused> {
        // Time does not run backwards here, whatever the clock outside does.
        self.now = self.now.max(now);
        match input {
            Input::Start => {
                self.must_not_be_at_work()?;
                self.begin(None);
            }
            Input::RunPlan => self.run_plan()?,
            Input::Picture(picture) => self.attach(picture)?,
            Input::User { text } => self.hear(text),
            Input::State { state, by } => self.adopt(state, &by)?,
            Input::Event { id, event } => self.take_event(id, event)?,
            Input::Answer { id, answer } => {
                self.spent.answered(&answer);
                self.turn.spent.answered(&answer);
                self.take_answer(&id, answer);
            }
            // Whose request it was does not matter: what delegates take is the session's too.
            Input::Used { id: _, used } => {
                self.spent.used.add(used);
                self.turn.spent.used.add(used);
            }
            Input::Partial { id, index, call } => self.take_partial(&id, index, call),
            Input::Ended { id, outcome } => self.take_outcome(&id, outcome),
            Input::Asks { id, key, words, schema } => self.elicit(&id, key, words, schema),
            Input::Loaded { id, request } => self.take_loaded(&id, request),
            Input::InDoubt { id } => self.doubt(&id, INTERRUPTED),
            Input::DidNot { id, attempt } => self.did_not(&id, attempt),
            Input::Forgotten => {
                self.forget_elicitations();
                self.forget_seen();
            }
            Input::Decide { question, decision, by } => self.decide(&question, decision, &by)?,
            Input::Mode { mode } => self.set_mode(mode),
            Input::Pause { by } => drop(self.paused.get_or_insert(by)),
            Input::Resume { .. } => self.paused = None,
            Input::Stop => self.stop(),
            Input::Tick => {
                self.expire();
                self.remind();
            }
        }
        self.go_on();
        Ok(())
    }

    /// The next thing to do, if there is one.
    pub fn poll(&mut self) -> Option<Task> {
        if self.paused.is_none() {
            return self.tasks.pop_front();
        }
        // What would start something stays until the session goes on.
        let starts = |task: &Task| matches!(task, Task::Call(_) | Task::AskModel { .. } | Task::Load { .. });
        self.tasks.iter().position(|task| !starts(task)).and_then(|at| self.tasks.remove(at))
    }

    /// The next thing to do, if it is a call that may be begun already; anything else stays where it is.
    pub fn poll_call(&mut self, may: impl FnOnce(&Start) -> bool) -> Option<Box<Start>> {
        if self.paused.is_some() || !matches!(self.tasks.front(), Some(Task::Call(start)) if may(start)) {
            return None;
        }
        match self.tasks.pop_front() {
            Some(Task::Call(start)) => Some(start),
            _ => None,
        }
    }

    /// Who has paused it, if it is paused.
    pub fn paused(&self) -> Option<&str> {
        self.paused.as_deref()
    }

    /// When to come back at the latest, with [`Input::Tick`].
    pub fn timeout(&self) -> Option<Time> {
        let due = |question: &Question| question.remind_at.unwrap_or(question.expires_at).min(question.expires_at);
        let own = self.questions.open().map(due);
        own.chain(self.children().filter_map(|(_, child)| child.timeout())).min()
    }

    /// The session's memory.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The schema of the result.
    pub fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    /// The settings it runs under.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the model took: in this turn, and since the session began.
    pub fn spent(&self) -> (Spent, Spent) {
        (self.turn.spent, self.spent)
    }

    /// Changes how far it may go, from the next call on.
    fn set_mode(&mut self, mode: Mode) {
        Arc::make_mut(&mut self.settings).mode = mode;
        for job in self.steps.values_mut().flat_map(|step| &mut step.jobs) {
            if let Some(child) = &mut job.child {
                child.set_mode(mode);
            }
        }
    }

    /// Every question, decided ones too, those of delegates included with the ids by which they are answered.
    pub fn questions(&self) -> Vec<Question> {
        let mut all: Vec<Question> = self.questions.all().cloned().collect();
        for (job, child) in self.children() {
            all.extend(child.questions().into_iter().map(|question| question.below(&job)));
        }
        all
    }

    /// The question of this id.
    pub fn question(&self, id: &str) -> Option<Question> {
        match id.split_once('/') {
            Some((job, rest)) => Some(self.child(job)?.question(rest)?.below(job)),
            None => self.questions.get(id).cloned(),
        }
    }

    /// The states of the calls under way, and of the turn's calls that have ended.
    pub fn calls(&self) -> Vec<CallReport> {
        let ended = self.turn.ended_calls.iter().cloned();
        ended.chain(self.steps.iter().flat_map(|(number, step)| step.report(*number))).collect()
    }

    /// Everything the session is, as data. Equal sessions are equal here, byte for byte.
    pub fn snapshot(&self) -> Value {
        let steps = self.steps.iter().map(|(id, step)| {
            let jobs = step.report(*id).zip(&step.jobs).map(|(report, job)| {
                let child = job.child.as_ref().map(|child| child.snapshot());
                json!({"call": report.call, "status": report.status, "error": report.error,
                    "attempt": job.attempt, "child": child})
            });
            let errors: Vec<&Value> = step.errors.iter().map(|(error, _)| error).collect();
            (id.to_string(), json!({"jobs": jobs.collect::<Vec<_>>(), "errors": errors}))
        });
        let mut all = json!({
            "id": self.id,
            "now": self.now,
            "context": self.context.to_json(),
            "mode": self.settings.mode,
            "turn": self.turn.snapshot(),
            "spent": self.spent,
            "steps": steps.collect::<serde_json::Map<_, _>>(),
            "state": self.state(),
            "questions": self.questions.all().map(Question::to_json).collect::<Vec<_>>(),
            "shown": self.shown.to_json(),
            "walk": self.walk.as_ref().map(Walk::snapshot),
            "pendingWords": self.pending_words.iter().map(|words| &words.text).collect::<Vec<_>>(),
        });
        if let Some(by) = &self.paused {
            all["paused"] = by.as_str().into();
        }
        all
    }

    fn children(&self) -> impl Iterator<Item = (String, &Session)> {
        self.steps.iter().flat_map(|(step, jobs)| {
            jobs.jobs
                .iter()
                .enumerate()
                .filter_map(move |(index, job)| Some((format!("{step}.{index}"), job.child.as_deref()?)))
        })
    }

    fn child(&self, id: &str) -> Option<&Session> {
        let at = self.find(id)?;
        self.steps[&at.step].jobs[at.job as usize].child.as_deref()
    }

    /// The job of this id, if it still exists.
    fn find(&self, id: &str) -> Option<JobRef> {
        let at = JobRef::of_id(id)?;
        self.steps.get(&at.step)?.jobs.get(at.job as usize)?;
        Some(at)
    }

    fn plan_mode(&self) -> PlanMode {
        if self.plans_before_reading() {
            return PlanMode::Lazy;
        }
        self.context.plan().map(|plan| plan.mode).unwrap_or_default()
    }

    /// Who carries out a call of a tool, if not the model itself.
    fn activity_of<'a>(&self, tool: &'a Tool, named: Option<&'a str>) -> Option<&'a str> {
        self.known_activity(named).or_else(|| self.known_activity(Some(&tool.name)))
    }

    fn known_activity<'a>(&self, named: Option<&'a str>) -> Option<&'a str> {
        named.filter(|name| self.settings.activities.contains(*name))
    }

    /// Whether the model itself carries out calls of this tool.
    fn is_latent(&self, tool: &Tool) -> bool {
        tool.fixed_name("_delegate").is_none() && self.activity_of(tool, tool.fixed_name("_activity")).is_none()
    }

    fn date(&mut self) -> Arc<str> {
        match &self.date {
            Some((time, words)) if *time == self.now => words.clone(),
            _ => {
                let words: Arc<str> = self.now.to_string().into();
                self.date = Some((self.now, words.clone()));
                words
            }
        }
    }

    fn remember(&mut self, message: Message) {
        // Texts, plans and errors fold into nothing that could refuse them.
        let appended = self.context.append(vec![message]);
        debug_assert!(appended.is_ok());
    }

    fn remember_words(&mut self, role: Role, text: &str) {
        self.shown.join(&Origins::of(role.into()));
        if role == Role::Assistant {
            self.said.join(&self.shown);
        }
        self.remember(Message::text(role, text));
    }
}
