//! Run cases: a request with scripted activities, model and people, and the expected result.

mod expect;
mod script;

use std::collections::BTreeSet;
use std::sync::Arc;

use obelus_kernel::Context;
use obelus_kernel::session::{
    About, CallReport, Decision, Input, Mode, QuestionId, Reply, RequestId, Session, Settings, Task, TurnEnd,
};
use serde_json::{Value, json};

use crate::case::Case;
use script::{ScriptedActivities, contains};

/// A run in progress and its record.
pub(crate) struct CaseRun {
    pub(crate) session: Session,
    activities: ScriptedActivities,
    solutions: std::vec::IntoIter<Value>,
    requests: u64,
    /// Calls that activities received, with the moments of start and end.
    received: Vec<ReceivedCall>,
    /// Running calls and requests, in the order of their start.
    pending: Vec<PendingWork>,
    /// The number of completions; a run has no other clock.
    completions: u64,
    moment: u64,
    asked: BTreeSet<Vec<String>>,
    reply: Option<Box<Reply>>,
    history: Vec<CallReport>,
    problems: Option<String>,
}

struct ReceivedCall {
    call: Arc<Value>,
    began: u64,
    ended: Option<u64>,
}

struct PendingWork {
    what: PendingKind,
    takes: u64,
    began: u64,
}

enum PendingKind {
    Call { start: Box<obelus_kernel::session::Start>, received: usize },
    Request(RequestId),
}

pub(crate) fn run(case: &Case<'_>) -> Result<(Vec<String>, Value), String> {
    let request = case.get("request")?;
    let context = Context::from_value(request["context"].clone()).map_err(|fault| fault.to_string())?;
    let mut settings: Settings = match case.get("settings")? {
        Value::Null => Settings { mode: Mode::Full, before: false, ..Settings::default() },
        given => settings(given)?,
    };
    let activities = ScriptedActivities::new(case.get("activities")?);
    settings.activities = activities.names();
    let schema = request.get("schema").cloned();
    let session = Session::new("case", context, schema, Arc::new(settings)).map_err(|fault| fault.to_string())?;
    let solutions = case.get("solutions")?.as_array().cloned().unwrap_or_default().into_iter();
    let mut run = CaseRun {
        session,
        activities,
        solutions,
        requests: 0,
        received: Vec::new(),
        pending: Vec::new(),
        completions: 0,
        moment: 0,
        asked: BTreeSet::new(),
        reply: None,
        history: Vec::new(),
        problems: None,
    };
    run.handle(Input::Start);
    run.play();
    for decision in case.get("decisions")?.as_array().into_iter().flatten() {
        if !run.decide(decision) {
            break;
        }
        run.play();
    }
    let why = match run.problems.take() {
        Some(problems) => vec![problems],
        None => expect::differences(&run, &case.get("expect")?),
    };
    Ok((why, run.observed()))
}

/// Reads the settings of a case. Settings that this version does not know are ignored.
fn settings(given: Value) -> Result<Settings, String> {
    let known = serde_json::to_value(Settings::default()).map_err(|error| error.to_string())?;
    let Value::Object(mut fields) = given else { return Err("`settings` is not an object".to_owned()) };
    let after_reading = fields.shift_remove("after_reading");
    fields.retain(|name, _| known.get(name).is_some());
    fields.entry("mode").or_insert_with(|| "full".into());
    // Reads before a change are off unless the case sets them.
    fields.entry("before").or_insert(Value::Bool(false));
    for setting in Settings::OF_NEW_SESSIONS {
        fields.entry(setting).or_insert(Value::Bool(true));
    }
    let settings = serde_json::from_value(Value::Object(fields)).map_err(|error| format!("settings: {error}"))?;
    with_after_reading(settings, after_reading.as_ref())
}

/// Applies `after_reading`, which a case may set outside of its policy.
pub(crate) fn with_after_reading(mut settings: Settings, given: Option<&Value>) -> Result<Settings, String> {
    if let Some(given) = given {
        let read = serde_json::from_value(given.clone());
        let after_reading = read.map_err(|error| format!("settings.after_reading: {error}"))?;
        settings.policy = settings.policy.with_after_reading(after_reading);
    }
    Ok(settings)
}

impl CaseRun {
    fn handle(&mut self, input: Input) {
        // A fixed time, because these cases do not depend on it.
        let now = obelus_kernel::Time(1_768_467_600_000);
        if let Err(refused) = self.session.handle(now, input) {
            self.problems.get_or_insert(refused.to_string());
        }
        while let Some(task) = self.session.poll() {
            self.perform(task);
        }
    }

    fn perform(&mut self, task: Task) {
        match task {
            Task::AskModel { id } => {
                self.requests += 1;
                self.pending.push(PendingWork { what: PendingKind::Request(id), takes: 0, began: self.completions });
            }
            Task::Call(start) => {
                self.moment += 1;
                let received = self.received.len();
                self.received.push(ReceivedCall { call: start.call.clone(), began: self.moment, ended: None });
                let takes = self.activities.takes(start.activity());
                self.pending.push(PendingWork {
                    what: PendingKind::Call { start, received },
                    takes,
                    began: self.completions,
                });
            }
            Task::Load { id, path } => {
                let request = Err(format!("no file `{path}` in a vector"));
                self.handle(Input::Loaded { id, request });
            }
            Task::Ask { id } => {
                let question = self.session.question(&id).filter(|question| question.about == About::Call);
                self.asked
                    .extend(question.map(|question| question.calls.iter().map(|call| call.hash.clone()).collect()));
            }
            Task::Rest(reply) => self.reply = Some(reply),
            Task::Say(_) | Task::AskAgain { .. } | Task::AnswerElicitation { .. } => {}
        }
    }

    /// Completes everything that runs, in the order of the script.
    fn play(&mut self) {
        while !self.pending.is_empty() && self.problems.is_none() {
            let free = |pending: &PendingWork| self.completions - pending.began >= pending.takes;
            let next = self.pending.iter().position(free).unwrap_or(0);
            let PendingWork { what, .. } = self.pending.remove(next);
            self.completions += 1;
            match what {
                PendingKind::Request(id) => match self.solutions.next() {
                    Some(solution) => self.handle(Input::Answer { id, answer: script::answer(solution) }),
                    None => self.problems = Some("the model was asked more often than there are solutions".to_owned()),
                },
                PendingKind::Call { start, received } => {
                    self.moment += 1;
                    self.received[received].ended = Some(self.moment);
                    let outcome = self.activities.run(&start);
                    self.handle(Input::Ended { id: start.id, outcome });
                }
            }
        }
    }

    /// Applies a decision; false if no open question fits it.
    fn decide(&mut self, decision: &Value) -> bool {
        if let Some(text) = decision["user"].as_str() {
            self.history.extend(self.session.calls());
            self.handle(Input::User { text: text.to_owned() });
            return true;
        }
        let open: Vec<_> =
            self.session.questions().into_iter().filter(obelus_kernel::session::Question::is_open).collect();
        let about_plan = match decision["edit_plan"].as_object() {
            Some(changes) => Some(Decision::Edit { params: changes.clone() }),
            None => (decision["approve_plan"] == true).then_some(Decision::Approve { only: None }),
        };
        if let Some(chosen) = about_plan {
            let Some(question) = open.iter().find(|question| question.about == About::Plan) else { return false };
            self.handle(decided(&question.id, chosen, None));
            return true;
        }
        for question in open.iter().filter(|question| question.about == About::Call) {
            let fits = |fields: &Value| -> Vec<usize> {
                let calls = question.calls.iter().enumerate().filter(|(_, call)| call.decided.is_none());
                calls.filter(|(_, call)| contains(&call.call, fields)).map(|(index, _)| index).collect()
            };
            let chosen = match decision.as_object().into_iter().flatten().next() {
                Some((verb, fields)) => match (verb.as_str(), fits(fields)) {
                    (_, matching) if matching.is_empty() => continue,
                    ("approve", matching) => Decision::Approve { only: Some(matching) },
                    ("deny", _) => {
                        Decision::Deny { reason: decision["reason"].as_str().unwrap_or_default().to_owned() }
                    }
                    ("edit", _) => {
                        Decision::Edit { params: decision["params"].as_object().cloned().unwrap_or_default() }
                    }
                    _ => continue,
                },
                None => continue,
            };
            // A refused answer leaves the question open; it is not a problem of the case.
            let before = self.problems.take();
            let digest = match decision["shown"].as_bool() {
                Some(true) => Some(question.digest()),
                Some(false) => Some("of another question".to_owned()),
                None => None,
            };
            self.handle(decided(&question.id, chosen, digest));
            self.problems = before;
            return true;
        }
        false
    }

    fn ends(&self) -> &'static str {
        match self.reply.as_ref().map(|reply| reply.ends) {
            Some(TurnEnd::Output) => "output",
            Some(TurnEnd::Waiting) => "waiting",
            Some(TurnEnd::Degraded) => "degraded",
            Some(TurnEnd::Limit) => "limit",
            Some(TurnEnd::Stopped) => "stopped",
            None => "never",
        }
    }

    fn waiting(&self) -> Vec<Value> {
        let open =
            self.session.questions().into_iter().filter(|question| question.is_open() && question.about == About::Call);
        let calls = open.flat_map(|question| question.calls.into_iter().filter(|call| call.decided.is_none()));
        calls.map(|call| (*call.call).clone()).collect()
    }

    fn observed(&self) -> Value {
        json!({
            "ends": self.ends(),
            "questions": self.asked.len(),
            "calls": self.received.iter().map(|received| (*received.call).clone()).collect::<Vec<_>>(),
            "waiting": self.waiting(),
        })
    }
}

fn decided(question: &QuestionId, decision: Decision, digest: Option<String>) -> Input {
    Input::Decide { question: question.clone(), decision, by: "a person".to_owned(), digest }
}
