//! A turn: from a request to its result.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Refused;
use super::ids::QuestionId;
use super::input::{CallError, Limit};
use super::output::TurnEnd;
use super::picture::Picture;
use super::settings::Settings;
use super::spent::Spent;
use crate::origin::Origins;
use crate::time::Time;

/// The phase of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Not begun.
    New,
    /// The model has been asked; the request's number.
    Asking(u64),
    /// Calls are running.
    Working,
    /// It rests.
    Rested(TurnEnd),
}

/// The latest turn.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Turn {
    phase: Phase,
    /// Whether a model is asked for calls and output.
    pub(super) asks_model: bool,
    /// Whether it is asked after a person's decision: an imported state began the turn.
    #[serde(default)]
    pub(super) asks_when_decided: bool,
    pub(super) requests: u32,
    pub(super) calls: u32,
    pub(super) tokens: u64,
    /// The total usage of the model, including delegates and model calls; limits apply to the turn's own.
    pub(super) spent: Spent,
    pub(super) repairs_left: u32,
    /// The last unreadable answer, and its error.
    pub(super) out_of_format: Option<(String, String)>,
    /// Whether the latest solution is faulty, so that the model must correct it.
    pub(super) is_faulty: bool,
    /// The result, held back while a question is open.
    pub(super) output: Value,
    /// Whether the result came along with calls: it was written before their results.
    #[serde(default)]
    pub(super) came_with_calls: bool,
    /// Whether something ran, failed or was decided since the latest request (LOOP-7).
    #[serde(default)]
    pub(super) has_moved: bool,
    /// The steps of decided questions, in a turn that began with a decision and has made no request yet.
    #[serde(default)]
    pub(super) decided: Vec<u32>,
    /// Its beginning: the number of its first step, and the number of messages in the context. Earlier steps and
    /// questions belong to earlier turns.
    #[serde(default)]
    pub(super) began: (u32, usize),
    pub(super) said: Vec<String>,
    /// What the agent asked the user in its last message, and when; until the user's next message.
    #[serde(default)]
    pub(super) asked_for: Option<(String, Time)>,
    /// The call that a node of a graph has planned, and its origins.
    #[serde(default)]
    pub(super) planned: Option<(Value, Origins)>,
    /// Pictures of the message that began it.
    #[serde(default)]
    pub(super) pictures: Vec<Picture>,
    /// The name of the end, if a graph of steps came to one.
    pub(super) named_end: Option<String>,
    /// How often in a row each call failed in the same way.
    failures: BTreeMap<String, (String, u32)>,
    /// Why it came to rest, if there is a reason.
    pub(super) reason: Option<CallError>,
    /// Why the turn must end.
    stop: Option<(TurnEnd, CallError)>,
    /// How it ended, if only a message of the user can begin another: decisions do not change it.
    pub(super) over: Option<(TurnEnd, CallError)>,
}

/// After this many equal failures of the same call the turn ends.
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
            is_faulty: false,
            output: Value::Null,
            came_with_calls: false,
            has_moved: false,
            decided: Vec::new(),
            began: (0, 0),
            said: Vec::new(),
            asked_for: None,
            planned: None,
            pictures: Vec::new(),
            named_end: None,
            failures: BTreeMap::new(),
            reason: None,
            stop: None,
            over: None,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// The only function that changes the phase.
    pub(super) fn enter(&mut self, phase: Phase) {
        let is_legal = match (self.phase, phase) {
            (_, Phase::New) => false,
            // A request is answered or given up before anything else happens.
            (Phase::Asking(_), Phase::Asking(_)) => false,
            _ => true,
        };
        debug_assert!(is_legal, "from {:?} to {phase:?}", self.phase);
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
        match self.is_at_rest() {
            true => Ok(()),
            false => Err(Refused::new("at_work", "the session is at work already")),
        }
    }

    /// Whether the turn must end.
    pub(super) fn stops(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn must_end(&mut self, ends: TurnEnd, code: &str, message: impl Into<String>) {
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
            self.must_end(TurnEnd::Limit, "same_failure", text);
        }
    }

    /// Records a success; the call is identified only if any has failed before.
    pub(super) fn note_success(&mut self, call: impl FnOnce() -> String) {
        if !self.failures.is_empty() {
            self.failures.remove(&call());
        }
    }

    /// The turn ends with a message: if that ends with a question, the user is asked for something.
    pub(super) fn note_last_words(&mut self, now: Time) {
        let last = self.output.as_str().or(self.said.last().map(String::as_str));
        if let Some(words) = last.map(str::trim).filter(|words| !words.is_empty()) {
            let end = words.trim_end_matches(|c: char| c.is_whitespace() || "\"'»”)*_".contains(c));
            self.asked_for = end.ends_with(['?', '？']).then(|| (words.to_owned(), now));
        }
    }

    /// A person's decision reopens a resting turn.
    pub(super) fn reopen(&mut self) {
        let Phase::Rested(ends) = self.phase else { return };
        if ends == TurnEnd::Limit {
            // The limit was for the agent; approved calls still run.
            self.calls = 0;
        }
        self.said.clear();
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
        self.has_moved = ended.has_moved;
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
            "said": self.said,
            "endedCalls": ended,
        })
    }
}

/// A message of the user.
pub(super) struct Words {
    pub(super) text: String,
    /// The only open question at that time, if there was exactly one.
    pub(super) only_question: Option<QuestionId>,
    /// Its pictures.
    pub(super) pictures: Vec<Picture>,
}

/// The user's messages and pictures that no turn has taken yet.
#[derive(Default)]
pub(super) struct PendingWords {
    /// Messages that came during the turn.
    pub(super) queue: VecDeque<Words>,
    /// Pictures for the next message.
    pub(super) attached: Vec<Picture>,
}

impl PendingWords {
    /// Adds a picture to the user's next message.
    pub(super) fn attach(&mut self, picture: Picture) -> Result<(), Refused> {
        if !picture.is_plainly_named() {
            return Err(Refused::new("bad_picture", "the name of a picture is that of a file, and nothing else"));
        }
        if self.attached.len() >= Picture::MOST_AT_ONCE {
            let text = format!("at most {} pictures go with one message", Picture::MOST_AT_ONCE);
            return Err(Refused::new("too_many_pictures", text));
        }
        if !self.attached.contains(&picture) {
            self.attached.push(picture);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_three_times_in_a_row_ends_the_turn() {
        let mut turn = Turn::new(&Settings::default());
        turn.note_failure("a", "no");
        turn.note_failure("a", "no");
        turn.note_success(|| "a".to_owned());
        turn.note_failure("a", "no");
        turn.note_failure("a", "other");
        turn.note_failure("a", "no");
        turn.note_failure("b", "no");
        assert!(!turn.stops());
        turn.note_failure("a", "no");
        turn.note_failure("a", "no");
        assert_eq!(turn.take_stop().unwrap().0, TurnEnd::Limit);
        assert!(turn.over.is_some() && !turn.stops());
    }

    #[test]
    fn a_decision_reopens_a_resting_turn_and_resets_its_limit_of_calls() {
        let mut turn = Turn::new(&Settings::default());
        turn.reopen();
        assert_eq!(turn.phase(), Phase::New, "there is nothing to reopen");
        turn.calls = 7;
        turn.enter(Phase::Working);
        turn.enter(Phase::Rested(TurnEnd::Limit));
        turn.reopen();
        assert_eq!((turn.phase(), turn.calls), (Phase::Working, 0));
    }
}
