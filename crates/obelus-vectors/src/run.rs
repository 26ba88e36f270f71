//! Run cases: a request with scripted activities, model and people, and the expected result.

mod expect;
mod script;

use std::collections::BTreeSet;

use obelus_kernel::CallJson;
use obelus_kernel::session::{
    About, CallReport, Decision, Input, Mode, Question, QuestionId, Reply, Session, Settings,
};
use obelus_kernel::{Context, Time};
use obelus_runtime::{EventBody, SessionSpec};
use serde_json::{Value, json};

use crate::case::Case;
use crate::session::{CaseSession, StartedWork};
use script::{ScriptedActivities, contains};

/// A fixed time, because these cases do not depend on it.
const NOW: Time = Time(1_768_467_600_000);

/// A run in progress and its record.
pub(crate) struct CaseRun {
    session: CaseSession,
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
    call: CallJson,
    began: u64,
    ended: Option<u64>,
}

struct PendingWork {
    work: StartedWork,
    takes: u64,
    began: u64,
    /// The index of the received call; none for a request.
    received: Option<usize>,
}

/// The session at the end of a run.
struct FinalSession {
    context: Context,
    calls: Vec<CallReport>,
    /// The calls that wait for a person.
    waiting: Vec<Value>,
}

impl FinalSession {
    fn of(session: &Session) -> Self {
        let open = open_questions(session).into_iter().filter(|question| question.about == About::Call);
        let waiting = open.flat_map(|question| question.calls.into_iter().filter(|call| call.decided.is_none()));
        let waiting = waiting.map(|call| (*call.call).clone()).collect();
        Self { context: session.context().clone(), calls: session.calls(), waiting }
    }
}

fn open_questions(session: &Session) -> Vec<Question> {
    session.questions().into_iter().filter(Question::is_open).collect()
}

pub(crate) fn run(case: &Case<'_>) -> Result<(Vec<String>, Value), String> {
    let request = case.get("request")?;
    let context = Context::from_value(request["context"].clone()).map_err(|fault| fault.to_string())?;
    let settings: Settings = match case.get("settings")? {
        Value::Null => Settings { mode: Mode::Full, before: false, ..Settings::default() },
        given => settings(given)?,
    };
    let activities = ScriptedActivities::new(case.get("activities")?);
    let spec = SessionSpec { context, schema: request.get("schema").cloned(), settings, ..SessionSpec::default() };
    let session = CaseSession::open(spec, activities.names(), NOW)?;
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
    let end = run.session.inspect(FinalSession::of);
    let why = match run.problems.take() {
        Some(problems) => vec![problems],
        None => expect::differences(&run, &end, &case.get("expect")?),
    };
    Ok((why, run.observed(&end)))
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
        if let Err(refused) = self.session.send(input) {
            self.problems.get_or_insert(refused.to_string());
        }
        self.note_news();
    }

    /// Records what the session has started, asked and replied.
    fn note_news(&mut self) {
        for work in self.session.take_started() {
            let (takes, received) = match &work {
                StartedWork::Request { .. } => {
                    self.requests += 1;
                    (0, None)
                }
                StartedWork::Call { activity, work, .. } => {
                    self.moment += 1;
                    self.received.push(ReceivedCall { call: work.call.clone(), began: self.moment, ended: None });
                    (self.activities.takes(activity), Some(self.received.len() - 1))
                }
            };
            self.pending.push(PendingWork { work, takes, began: self.completions, received });
        }
        while let Some(event) = self.session.next_event() {
            match &event.body {
                EventBody::QuestionAsked { question } if question.about == About::Call => {
                    self.asked.insert(question.calls.iter().map(|call| call.hash.clone()).collect());
                }
                EventBody::Rested { reply } => self.reply = Some(reply.clone()),
                _ => {}
            }
        }
    }

    /// Completes everything that runs, in the order of the script.
    fn play(&mut self) {
        while !self.pending.is_empty() && self.problems.is_none() {
            let free = |pending: &PendingWork| self.completions - pending.began >= pending.takes;
            let next = self.pending.iter().position(free).unwrap_or(0);
            let PendingWork { work, received, .. } = self.pending.remove(next);
            self.completions += 1;
            match work {
                StartedWork::Request { result, .. } => match self.solutions.next() {
                    Some(solution) => self.session.complete(result, script::answer(solution)),
                    None => self.problems = Some("the model was asked more often than there are solutions".to_owned()),
                },
                StartedWork::Call { activity, work, result } => {
                    self.moment += 1;
                    if let Some(received) = received {
                        self.received[received].ended = Some(self.moment);
                    }
                    self.session.complete(result, self.activities.run(&activity, &work));
                }
            }
            self.note_news();
        }
    }

    /// Applies a decision; false if no open question fits it.
    fn decide(&mut self, decision: &Value) -> bool {
        if let Some(text) = decision["user"].as_str() {
            self.history.extend(self.session.inspect(Session::calls));
            self.handle(Input::User { text: text.to_owned(), by: None });
            return true;
        }
        let open = self.session.inspect(open_questions);
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
        self.reply.as_ref().map_or("never", |reply| crate::conversation::ends(reply.ends))
    }

    fn observed(&self, end: &FinalSession) -> Value {
        json!({
            "ends": self.ends(),
            "questions": self.asked.len(),
            "calls": self.received.iter().map(|received| (*received.call).clone()).collect::<Vec<_>>(),
            "waiting": end.waiting,
        })
    }
}

fn decided(question: &QuestionId, decision: Decision, digest: Option<String>) -> Input {
    Input::Decide { question: question.clone(), decision, by: "a person".to_owned(), digest }
}
