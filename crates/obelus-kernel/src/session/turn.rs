//! A turn: from a request to its result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::input::{CallError, Decision, Input, Limit};
use super::output::TurnEnd;
use super::refusals::RefusalCode as Code;
use super::settings::Settings;
use super::spent::Spent;
use super::{FailureCode, Refused};
use crate::origin::Origins;
use crate::time::Time;
use obelus_notebook::picture::Picture;

/// The phase of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Not begun.
    #[default]
    New,
    /// The model has been asked; the request's number.
    Asking(u64),
    /// Calls are running.
    Working,
    /// It rests.
    Rested(TurnEnd),
}

/// The latest turn.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Turn {
    phase: Phase,
    /// Whether a model is asked for calls and output.
    asks_model: bool,
    /// Whether it is asked after a person's decision: an imported state began the turn.
    #[serde(default)]
    asks_when_decided: bool,
    requests: u32,
    calls: u32,
    /// The calls that its delegates have started.
    #[serde(default, skip_serializing_if = "is_zero")]
    calls_below: u32,
    tokens: u64,
    /// The total usage of the model, including delegates and model calls.
    spent: Spent,
    repairs_left: u32,
    /// The last unreadable answer, and its error.
    out_of_format: Option<(String, String)>,
    /// Whether the latest solution is faulty, so that the model must correct it.
    is_faulty: bool,
    /// The result, held back while a question is open.
    output: Value,
    /// Whether the result came along with calls: it was written before their results.
    #[serde(default)]
    came_with_calls: bool,
    /// Whether something ran, failed or was decided since the latest request (LOOP-7).
    #[serde(rename = "has_moved", default)]
    has_progress: bool,
    /// The steps of decided questions, in a turn that began with a decision and has made no request yet.
    #[serde(default)]
    decided: Vec<u32>,
    /// Its beginning: the number of its first step, and the number of messages in the context. Earlier steps and
    /// questions belong to earlier turns.
    #[serde(default)]
    began: (u32, usize),
    /// What the agent has said to the user.
    #[serde(rename = "said")]
    agent_messages: Vec<String>,
    /// What the agent asked the user in its last message, and when; until the user's next message.
    #[serde(default)]
    asked_for: Option<(String, Time)>,
    /// The call that a node of a graph has planned, and its origins.
    #[serde(default)]
    planned: Option<(Value, Origins)>,
    /// Pictures of the message that began it.
    #[serde(default)]
    pictures: Vec<Picture>,
    /// The name of the end, if a graph of steps came to one.
    named_end: Option<String>,
    /// How often in a row each call failed in the same way.
    failures: BTreeMap<String, (String, u32)>,
    /// Why it came to rest, if there is a reason.
    reason: Option<CallError>,
    /// Why the turn must end.
    stop: Option<(TurnEnd, CallError)>,
    /// How it ended, if only a message of the user can begin another: decisions do not change it.
    over: Option<(TurnEnd, CallError)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// After this many equal failures of the same call the turn ends.
const SAME_FAILURES: u32 = 3;

impl Turn {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { asks_model: true, repairs_left: settings.repairs, ..Self::default() }
    }

    /// Begins a turn in place of the former one, which rests or is given up. `began` is the number of its first step,
    /// and the number of messages in the context.
    pub(super) fn begin(&mut self, settings: &Settings, began: (u32, usize), pictures: Vec<Picture>) {
        self.must_not_ask();
        *self = Self { began, pictures, ..Self::new(settings) };
    }

    /// Begins a turn without model requests for calls or output. What the agent has asked the user stays asked.
    pub(super) fn begin_without_model(&mut self, settings: &Settings) {
        self.must_not_ask();
        let asked_for = self.asked_for.take();
        *self = Self { asked_for, asks_model: false, ..Self::new(settings) };
        self.enter(Phase::Working);
    }

    /// A request is answered or given up before another turn begins.
    fn must_not_ask(&self) {
        debug_assert!(!matches!(self.phase, Phase::Asking(_)), "a turn begins in {:?}", self.phase);
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Changes the phase within a turn.
    fn enter(&mut self, phase: Phase) {
        // A request is answered or given up before another one.
        let asks_twice = matches!((self.phase, phase), (Phase::Asking(_), Phase::Asking(_)));
        debug_assert!(phase != Phase::New && !asks_twice, "from {:?} to {phase:?}", self.phase);
        self.phase = phase;
    }

    /// Whether nothing is running: no turn has begun, or the latest rests.
    pub(super) fn is_at_rest(&self) -> bool {
        matches!(self.phase, Phase::New | Phase::Rested(_))
    }

    /// Whether it rests until a person acts.
    pub(super) fn is_waiting(&self) -> bool {
        self.phase == Phase::Rested(TurnEnd::Waiting)
    }

    /// A turn can begin only when the previous one rests.
    pub(super) fn must_be_at_rest(&self) -> Result<(), Refused> {
        if self.is_at_rest() { Ok(()) } else { Err(Refused::new(Code::AtWork, "the session is at work already")) }
    }

    pub(super) fn asks_model(&self) -> bool {
        self.asks_model
    }

    /// The model is asked after a person's decision.
    pub(super) fn ask_when_decided(&mut self) {
        self.asks_when_decided = true;
    }

    pub(super) fn began(&self) -> (u32, usize) {
        self.began
    }

    pub(super) fn pictures(&self) -> &[Picture] {
        &self.pictures
    }

    /// The model is asked, with the request of this number.
    pub(super) fn ask_model(&mut self, number: u64) {
        self.requests += 1;
        self.has_progress = false;
        self.decided.clear();
        self.enter(Phase::Asking(number));
    }

    /// The model has answered a request: the turn goes on. Returns whether it waits for this one.
    pub(super) fn take_answer(&mut self, number: u64) -> bool {
        let is_asked = self.phase == Phase::Asking(number);
        if is_asked {
            self.enter(Phase::Working);
        }
        is_asked
    }

    /// Goes on at a node of a graph, without a result.
    pub(super) fn enter_node(&mut self) {
        self.enter(Phase::Working);
        self.output = Value::Null;
    }

    /// A person stops it.
    pub(super) fn stop(&mut self) {
        self.enter(Phase::Working);
        self.must_end(TurnEnd::Stopped, FailureCode::Stopped, "stopped by a person");
    }

    /// A resting turn that must end goes on to its end.
    pub(super) fn go_on_to_end(&mut self) {
        if self.is_ending() && self.is_at_rest() {
            self.enter(Phase::Working);
        }
    }

    /// It comes to rest.
    pub(super) fn rest(&mut self, ends: TurnEnd, reason: Option<CallError>) {
        self.enter(Phase::Rested(ends));
        self.reason = reason;
    }

    pub(super) fn reason(&self) -> Option<&CallError> {
        self.reason.as_ref()
    }

    /// Calls have started: its own, and those of delegates.
    pub(super) fn count_calls(&mut self, own: u32, below: u32) {
        self.calls += own;
        self.calls_below += below;
    }

    /// The calls that have started: its own, and those of delegates.
    pub(super) fn calls(&self) -> (u32, u32) {
        (self.calls, self.calls_below)
    }

    /// Counts the usage of the model that an input reports.
    pub(super) fn count_usage(&mut self, input: &Input) {
        self.spent.count(input);
    }

    pub(super) fn spent(&self) -> Spent {
        self.spent
    }

    /// A node of a graph has planned a call.
    pub(super) fn plan_call(&mut self, call: Value, origins: Origins) {
        self.planned = Some((call, origins));
    }

    /// Takes the call that a node of a graph has planned, with its origins.
    pub(super) fn take_planned(&mut self) -> Option<(Value, Origins)> {
        self.planned.take()
    }

    pub(super) fn requests(&self) -> u32 {
        self.requests
    }

    /// The model has used tokens.
    pub(super) fn count_tokens(&mut self, tokens: u64) {
        self.tokens += tokens;
    }

    /// The model has answered with a solution, which has no fault so far.
    pub(super) fn note_solution(&mut self, tokens: u64) {
        self.count_tokens(tokens);
        self.out_of_format = None;
        self.is_faulty = false;
        self.planned = None;
    }

    /// The model's answer is unreadable. Returns whether it may repair it; otherwise the turn must end.
    pub(super) fn note_out_of_format(&mut self, text: String, error: String, tokens: u64) -> bool {
        self.count_tokens(tokens);
        if self.repairs_left == 0 {
            self.must_end(TurnEnd::Degraded, FailureCode::OutOfFormat, error);
            return false;
        }
        self.repairs_left -= 1;
        self.out_of_format = Some((text, error));
        true
    }

    pub(super) fn out_of_format(&self) -> Option<&(String, String)> {
        self.out_of_format.as_ref()
    }

    /// The latest solution is faulty: the model must correct it.
    pub(super) fn note_fault(&mut self) {
        self.is_faulty = true;
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.is_faulty
    }

    /// Something ran, failed or was decided (LOOP-7).
    pub(super) fn note_progress(&mut self) {
        self.has_progress = true;
    }

    /// Whether something ran, failed or was decided since the latest request, or must be corrected.
    pub(super) fn has_progress(&self) -> bool {
        self.has_progress || self.is_faulty
    }

    /// Questions of these steps are decided. After a request that does not matter: the model has seen the decision.
    pub(super) fn note_decided(&mut self, steps: &[u32]) {
        if self.requests == 0 {
            self.decided.extend(steps);
        }
    }

    /// Whether a question of this step is decided, in a turn that began with a decision and has made no request yet.
    pub(super) fn has_decided(&self, step: u32) -> bool {
        self.decided.contains(&step)
    }

    /// The agent has said something to the user.
    pub(super) fn note_agent_message(&mut self, text: &str) {
        self.agent_messages.push(text.to_owned());
    }

    pub(super) fn agent_messages(&self) -> &[String] {
        &self.agent_messages
    }

    /// Whether the agent has said this to the user.
    pub(super) fn has_sent(&self, text: &str) -> bool {
        self.agent_messages.iter().any(|message| message == text)
    }

    pub(super) fn asked_for(&self) -> Option<&(String, Time)> {
        self.asked_for.as_ref()
    }

    pub(super) fn output(&self) -> &Value {
        &self.output
    }

    /// Sets the result. One that comes with calls was written before their results.
    pub(super) fn set_output(&mut self, output: Value, comes_with_calls: bool) {
        self.output = output;
        self.came_with_calls = comes_with_calls;
    }

    /// Takes the result away.
    pub(super) fn take_output(&mut self) -> Value {
        self.output.take()
    }

    pub(super) fn came_with_calls(&self) -> bool {
        self.came_with_calls
    }

    /// A graph of steps came to an end of this name, with a text if the end has one.
    pub(super) fn end_at(&mut self, name: &str, text: Option<String>) {
        self.named_end = Some(name.to_owned());
        self.output = text.map(Value::from).unwrap_or_default();
    }

    pub(super) fn named_end(&self) -> Option<&str> {
        self.named_end.as_deref()
    }

    /// Whether a turn that ended this way has a result. A limit or a stop has one if the graph has a text for it.
    pub(super) fn gives_output(&self, ends: TurnEnd) -> bool {
        match ends {
            TurnEnd::Output => true,
            TurnEnd::Limit | TurnEnd::Stopped => self.named_end.is_some(),
            TurnEnd::Waiting | TurnEnd::Degraded => false,
        }
    }

    pub(super) fn over(&self) -> Option<&(TurnEnd, CallError)> {
        self.over.as_ref()
    }

    /// Whether the turn must end.
    pub(super) fn is_ending(&self) -> bool {
        self.stop.is_some()
    }

    /// Refuses decisions that start something while the turn ends.
    pub(super) fn must_not_be_ending(&self, decision: &Decision) -> Result<(), Refused> {
        if !self.is_ending() || !decision.starts_something() {
            return Ok(());
        }
        let text = "the turn is ending, and starts nothing more; answer again when it has come to rest";
        Err(Refused::new(Code::Ending, text))
    }

    pub(super) fn must_end(&mut self, ends: TurnEnd, code: impl Into<FailureCode>, message: impl Into<String>) {
        self.stop.get_or_insert_with(|| (ends, CallError::new(code, message)));
    }

    /// The turn must end at a limit.
    pub(super) fn must_end_at(&mut self, limit: Limit) {
        self.stop.get_or_insert_with(|| (TurnEnd::Limit, CallError::at(limit)));
    }

    /// Why the turn must end, if it must; from now on it is over.
    pub(super) fn take_stop(&mut self) -> Option<(TurnEnd, CallError)> {
        let stop = self.stop.take()?;
        self.over = Some(stop.clone());
        Some(stop)
    }

    /// Counts equal failures; the third in a row ends the turn.
    pub(super) fn note_failure(&mut self, call: &str, error: &str) {
        let (last, count) = self.failures.entry(call.to_owned()).or_default();
        *count = if last == error { *count + 1 } else { 1 };
        error.clone_into(last);
        if *count >= SAME_FAILURES {
            let text = format!("the same call failed {SAME_FAILURES} times in the same way: {error}");
            self.must_end(TurnEnd::Limit, FailureCode::SameFailure, text);
        }
    }

    /// Records a success; the call is identified only if any has failed before.
    pub(super) fn note_success(&mut self, call: impl FnOnce() -> String) {
        if !self.failures.is_empty() {
            self.failures.remove(&call());
        }
    }

    /// The turn ends with a message: if that ends with a question, the user is asked for something.
    pub(super) fn note_last_message(&mut self, now: Time) {
        let last = self.output.as_str().or(self.agent_messages.last().map(String::as_str));
        let text = last.unwrap_or_default().trim();
        if !text.is_empty() {
            let end = text.trim_end_matches(|c: char| c.is_whitespace() || "\"'»”)*_".contains(c));
            self.asked_for = end.ends_with(['?', '？']).then(|| (text.to_owned(), now));
        }
    }

    /// A person's decision reopens a resting turn.
    pub(super) fn reopen(&mut self) {
        let Phase::Rested(ends) = self.phase else { return };
        if ends == TurnEnd::Limit {
            // The limit was for the agent; approved calls still run.
            self.calls = 0;
            self.calls_below = 0;
        }
        self.agent_messages.clear();
        // With several questions, the model is asked after the last decision, whichever turn raised them.
        self.began = (0, 0);
        self.named_end = None;
        self.asks_model |= self.asks_when_decided;
        self.enter(Phase::Working);
    }

    /// A decision has reopened a turn after its end: what follows counts as a new turn with new limits. A result that
    /// is held back stays so.
    pub(super) fn renew(&mut self, settings: &Settings) {
        let fresh = Self { phase: self.phase, asks_model: self.asks_model, ..Self::new(settings) };
        let ended = std::mem::replace(self, fresh);
        self.output = ended.output;
        self.came_with_calls = ended.came_with_calls;
        self.has_progress = ended.has_progress;
        self.decided = ended.decided;
        self.asked_for = ended.asked_for;
    }

    /// The limit that another model request would exceed, if any.
    pub(super) fn limit_of_requests(&self, settings: &Settings) -> Option<CallError> {
        if self.requests >= settings.max_requests {
            return Some(CallError::at(Limit::Requests(settings.max_requests.into())));
        }
        let most = settings.max_tokens.filter(|most| self.tokens >= *most)?;
        Some(CallError::at(Limit::Tokens(most)))
    }

    pub(super) fn snapshot(&self, ended: &[super::CallReport]) -> Value {
        json!({
            "phase": format!("{:?}", self.phase),
            "requests": self.requests,
            "calls": self.calls,
            "tokens": self.tokens,
            "spent": self.spent,
            "output": self.output,
            "said": self.agent_messages,
            "endedCalls": ended,
        })
    }
}

#[cfg(test)]
mod tests;
