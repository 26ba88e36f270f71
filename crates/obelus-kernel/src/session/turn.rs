//! A turn: how it begins, and what the model is asked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::input::{CallError, CallReport, Ends, Task};
use super::job::Origin;
use super::naming::Said;
use super::picture::Picture;
use super::settings::Settings;
use super::spent::Spent;
use super::{Refused, Session};
use crate::context::Context;
use crate::fault::Fault;
use crate::message::{Message, Role};
use crate::origin::Origins;
use crate::plan;

/// What the turn is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Nothing yet.
    New,
    /// The model has been asked; the request's number.
    Asking(u64),
    /// Calls are at work.
    Working,
    /// It came to rest.
    Rested(Ends),
}

/// From what was asked to what came of it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) phase: Phase,
    /// Whether a model is asked for calls and output at all.
    pub(super) asks_model: bool,
    /// Whether it is asked once a person has decided: the turn was begun by what came along from elsewhere.
    #[serde(default)]
    pub(super) asks_when_decided: bool,
    pub(super) requests: u32,
    pub(super) calls: u32,
    pub(super) tokens: u64,
    /// What the model took altogether, delegates and thoughts included; limits look at the turn's own.
    pub(super) spent: Spent,
    pub(super) repairs_left: u32,
    /// The last answer that was out of format, and what was wrong with it.
    pub(super) out_of_format: Option<(String, String)>,
    /// Whether something was read, or went wrong, that the model has not been shown yet.
    pub(super) unseen: bool,
    /// Whether the latest solution breaks a rule, so that the model has something to mend.
    pub(super) faulty: bool,
    /// The result, held back while something waits for a person.
    pub(super) output: Value,
    pub(super) said: Vec<String>,
    /// The call that a node of a graph has planned, and where its parts come from.
    #[serde(default)]
    pub(super) planned: Option<(Value, Origins)>,
    /// The ended calls, and the messages, that there were when the model last brought something to an end.
    #[serde(default)]
    pub(super) told: (usize, usize),
    /// Pictures that the user shows with the words that began it.
    #[serde(default)]
    pub(super) pictures: Vec<Picture>,
    /// The name of the end, where a graph of steps came to one.
    pub(super) named_end: Option<String>,
    #[serde(with = "super::checkpoint::reports")]
    pub(super) ended_calls: Vec<CallReport>,
    /// The same as they were proposed, for a planner that does not see what is not trusted.
    #[serde(with = "super::checkpoint::reports", default)]
    pub(super) ended_plainly: Vec<CallReport>,
    /// Where the values in those calls come from.
    pub(super) ended_origins: Origins,
    /// How many of those calls had ended at the latest request: the model has been shown them.
    #[serde(default)]
    pub(super) shown_calls: usize,
    /// Calls of earlier turns that came to nothing when the model was no longer asked: denied, lapsed, failed.
    #[serde(default, with = "super::checkpoint::reports")]
    pub(super) untold: Vec<CallReport>,
    /// How often in a row a call failed in the same way.
    pub(super) failures: BTreeMap<String, (String, u32)>,
    /// Why it came to rest, where that needs a reason.
    pub(super) reason: Option<CallError>,
    /// Why the turn must end.
    pub(super) stop: Option<(Ends, CallError)>,
    /// How it has ended, where only the user's words begin anew: what people still decide changes nothing in that.
    pub(super) over: Option<(Ends, CallError)>,
    /// Errors that belong to no call under way.
    pub(super) errors: Vec<Value>,
}

/// What the user said.
pub(super) struct Words {
    pub(super) text: String,
    /// The question that was waiting, and the only one, when it was said.
    pub(super) only_question: Option<String>,
    /// The pictures shown with it.
    pub(super) pictures: Vec<Picture>,
}

/// Calls of earlier turns that the model is told of.
const MOST_UNTOLD: usize = 10;

/// The same call failing the same way this often ends the turn.
const SAME_FAILURES: u32 = 3;

impl Turn {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            phase: Phase::New,
            asks_model: true,
            asks_when_decided: false,
            requests: 0,
            calls: 0,
            tokens: 0,
            spent: Spent::default(),
            repairs_left: settings.repairs,
            out_of_format: None,
            unseen: false,
            faulty: false,
            output: Value::Null,
            said: Vec::new(),
            planned: None,
            told: (0, 0),
            pictures: Vec::new(),
            named_end: None,
            ended_calls: Vec::new(),
            ended_plainly: Vec::new(),
            ended_origins: Origins::default(),
            shown_calls: 0,
            untold: Vec::new(),
            failures: BTreeMap::new(),
            reason: None,
            stop: None,
            over: None,
            errors: Vec::new(),
        }
    }

    /// What the model has still to be told of this turn.
    fn take_untold(&mut self) -> Vec<CallReport> {
        let came_to_nothing = |report: &&CallReport| ["denied", "failed"].contains(&report.status);
        let mut untold = std::mem::take(&mut self.untold);
        let since = self.ended_calls.get(self.shown_calls..).unwrap_or_default();
        untold.extend(since.iter().filter(came_to_nothing).cloned());
        untold.drain(..untold.len().saturating_sub(MOST_UNTOLD));
        untold
    }

    pub(super) fn output(&self) -> &Value {
        &self.output
    }

    pub(super) fn set_output(&mut self, output: Value) {
        self.output = output;
    }

    pub(super) fn take_output(&mut self) -> Value {
        std::mem::take(&mut self.output)
    }

    pub(super) fn stops(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Something the model has to know with the next request.
    pub(super) fn tell_model(&mut self, error: Value) {
        self.errors.push(error);
    }

    pub(super) fn must_end(&mut self, ends: Ends, code: &str, message: impl Into<String>) {
        self.stop.get_or_insert_with(|| (ends, CallError::new(code, message)));
    }

    pub(super) fn snapshot(&self) -> Value {
        json!({
            "phase": format!("{:?}", self.phase),
            "requests": self.requests,
            "calls": self.calls,
            "tokens": self.tokens,
            "spent": self.spent,
            "output": self.output,
            "said": self.said,
            "endedCalls": self.ended_calls,
        })
    }
}

impl Session {
    /// Begins a turn, with the user's words if there are some.
    pub(super) fn begin(&mut self, words: Option<Words>) {
        if !self.persistent && self.turn.phase == Phase::Rested(Ends::Output) {
            self.forget();
        }
        if self.walk.is_some() {
            self.withdraw(Said::WentOn);
        }
        // What the mode keeps back stays planned until there is another plan.
        self.projection.adopted_plan = self.kept_back();
        let untold = self.turn.take_untold();
        let origins = std::mem::take(&mut self.turn.ended_origins);
        self.turn = Turn::new(&self.settings);
        if !untold.is_empty() {
            self.turn.untold = untold;
            self.turn.ended_origins = origins;
        }
        match words {
            Some(words) => {
                self.remember_words(Role::User, &words.text);
                self.note_goal(&words.text);
                self.answerable = words.only_question;
                self.turn.pictures = words.pictures;
            }
            None => self.turn.pictures = std::mem::take(&mut self.attached),
        }
        if !self.turn.pictures.is_empty() {
            self.shown.join(&Origins::of(Role::User.into()));
        }
        if self.walk.is_some() {
            return self.begin_walk();
        }
        self.request();
    }

    /// A one-off request leaves its words behind, and nothing else.
    fn forget(&mut self) {
        let base = self.base;
        let kept = |(index, message): &(usize, &Message)| *index < base || matches!(message, Message::Text(_));
        let (places, messages): (Vec<usize>, Vec<Message>) =
            self.context.messages().iter().enumerate().filter(kept).map(|(at, message)| (at, message.clone())).unzip();
        let mut context = Context::new();
        if context.append(messages).is_ok() {
            self.context = context;
            // What is dated by the length of the context keeps its place among the words.
            self.questions.move_dates(|length| places.partition_point(|at| *at < length));
        }
    }

    /// Words of the user: at once if nothing is at work, else when the turn has come to rest.
    pub(super) fn hear(&mut self, text: String) {
        if self.is_answer(&text) {
            return;
        }
        let pictures = std::mem::take(&mut self.attached);
        let words = Words { text, only_question: self.only_question(), pictures };
        match self.turn.phase {
            Phase::New | Phase::Rested(_) => self.begin(Some(words)),
            Phase::Asking(_) | Phase::Working => self.pending_words.push_back(words),
        }
    }

    /// A turn is begun when the one before it has come to rest.
    pub(super) fn must_not_be_at_work(&self) -> Result<(), Refused> {
        match self.turn.phase {
            Phase::New | Phase::Rested(_) => Ok(()),
            Phase::Asking(_) | Phase::Working => Err(Refused::new("at_work", "the session is at work already")),
        }
    }

    /// Runs the plan in the context as it is.
    pub(super) fn run_plan(&mut self) -> Result<(), Refused> {
        self.must_not_be_at_work()?;
        let Some(plan) = self.context.plan().cloned() else {
            return Err(Refused::new("no_plan", "the context has no plan to run"));
        };
        self.turn = Turn::new(&self.settings);
        self.turn.asks_model = false;
        self.turn.phase = Phase::Working;
        let origin = Origin::Approved { by_person: true, before_reading: self.shown.is_trusted() };
        self.start_step(&plan.calls, origin, plan::Manner::default());
        Ok(())
    }

    pub(super) fn request(&mut self) {
        let limit = |text: String| CallError::new("limit", text);
        if self.turn.requests >= self.settings.max_requests {
            let text = format!("{} requests to the model in one turn", self.settings.max_requests);
            return self.rest(Ends::Limit, Some(limit(text)));
        }
        if let Some(most) = self.settings.max_tokens.filter(|most| self.turn.tokens >= *most) {
            return self.rest(Ends::Limit, Some(limit(format!("{most} tokens in one turn"))));
        }
        self.forget_early();
        self.turn.requests += 1;
        self.turn.unseen = false;
        self.turn.shown_calls = self.turn.ended_calls.len();
        self.shown.join(&self.in_sight(self.in_view()));
        let id = self.number_request();
        self.turn.phase = Phase::Asking(id);
        self.tasks.push_back(Task::AskModel { id: id.to_string() });
    }

    /// The origins of everything that a request shows: memory, the calls with their references resolved, and what
    /// delegates ask.
    fn in_view(&self) -> Origins {
        let mut all = self.context.all_origins();
        all.join(&self.turn.ended_origins);
        for job in self.steps.values().flat_map(|step| &step.jobs) {
            all.join(&job.origins);
            if let Some(child) = &job.child {
                all.join(&child.shown);
                all.join(&child.in_view());
            }
        }
        all
    }

    pub(super) fn number_request(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request
    }

    /// Counts failures of the same kind; the third in a row ends the turn.
    pub(super) fn note_failure(&mut self, call: &str, error: &str) {
        let (last, count) = self.turn.failures.entry(call.to_owned()).or_default();
        *count = if last == error { *count + 1 } else { 1 };
        error.clone_into(last);
        if *count >= SAME_FAILURES {
            let text = format!("the same call failed {SAME_FAILURES} times in the same way: {error}");
            self.turn.must_end(Ends::Limit, "same_failure", text);
        }
    }

    pub(super) fn note_success(&mut self, call: &str) {
        if !self.turn.failures.is_empty() {
            self.turn.failures.remove(call);
        }
    }

    pub(super) fn stop(&mut self) {
        match self.turn.phase {
            Phase::Asking(_) => {
                self.turn.phase = Phase::Working;
                self.turn.must_end(Ends::Stopped, "stopped", "stopped by a person");
            }
            Phase::Working => self.turn.must_end(Ends::Stopped, "stopped", "stopped by a person"),
            Phase::Rested(Ends::Waiting) if self.walk.is_some() => {
                self.withdraw(Said::Stopped);
                self.turn.phase = Phase::Working;
                self.turn.must_end(Ends::Stopped, "stopped", "stopped by a person");
            }
            // A call is at work still, and what it brings would set the turn to work again.
            Phase::Rested(Ends::Waiting) if self.has_elicitations() => {
                self.turn.phase = Phase::Working;
                self.turn.must_end(Ends::Stopped, "stopped", "stopped by a person");
            }
            Phase::New | Phase::Rested(_) => {}
        }
        let children: Vec<String> = self.children().map(|(id, _)| id).collect();
        for id in children {
            self.tell_child(&id, super::Input::Stop);
        }
    }
}

/// The payload of an error message.
pub(super) fn error_data(call: Value, error: Value) -> Value {
    json!({"call": call, "error": error})
}

pub(super) fn fault_data(fault: &Fault) -> Value {
    json!({"rule": fault.rule.name(), "message": fault.words()})
}
