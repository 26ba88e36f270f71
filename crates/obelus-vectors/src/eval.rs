//! Runs conversation cases with a real model. People and portal are scripted by the case; the scripted answers of the
//! model are not used.
//!
//! A real model may call in another order, so the portal answers by method and parameters. Reads may be repeated.

use std::path::{Path, PathBuf};

use obelus_connect::model::SentChars;
use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::{Answer, CallError, FailureCode, Outcome, Prompt, Spent, Used};
use obelus_runtime::Agent;
use serde_json::{Value, json};

use crate::case::{Case, read_cases};
use crate::conversation::peers::{Called, Peers, names, outcome_of};
use crate::conversation::{Conversation, same_method, with_settings};

/// A model's answer and its cost.
pub struct Asked {
    /// The answer.
    pub answer: Answer,
    /// What the request used, as reported by the model.
    pub used: Used,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum EvalVerdict {
    /// Every expectation was met.
    Passed,
    /// Some expectation was not met.
    Failed,
    /// The case was not run, for this reason.
    Skipped(String),
}

/// A case run with a model.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The file that contains it.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// The result.
    pub verdict: EvalVerdict,
    /// Differences from the expectations.
    pub why: Vec<String>,
    /// Answers that could not be read. A case still passes if the model repaired its answer.
    pub out_of_format: Vec<String>,
    /// The cost of each turn.
    pub turns: Vec<Spent>,
    /// Characters sent to the model, and how many of them were a prefix of the request before.
    pub sent: SentChars,
    /// Why the model cannot be asked at all, if retrying would not help.
    pub hopeless: Option<String>,
    /// The end, questions and calls of the conversation.
    pub seen: Value,
}

impl Evaluated {
    /// The cost of the whole case.
    pub fn spent(&self) -> Spent {
        let mut all = Spent::default();
        self.turns.iter().for_each(|turn| all.add(*turn));
        all
    }

    /// The result as JSON for other programs.
    pub fn to_json(&self) -> Value {
        let (verdict, reason) = match &self.verdict {
            EvalVerdict::Passed => ("passed", None),
            EvalVerdict::Failed => ("failed", None),
            EvalVerdict::Skipped(reason) => ("skipped", Some(reason)),
        };
        let mut case = json!({
            "file": self.file.display().to_string(),
            "name": self.name,
            "verdict": verdict,
            "why": self.why,
            "out_of_format": self.out_of_format,
            "spent": self.spent(),
            "sent": self.sent,
            "turns": self.turns,
        });
        if let Some(reason) = reason {
            case["skipped"] = reason.as_str().into();
        }
        if let (Value::Object(case), Value::Object(seen)) = (&mut case, &self.seen) {
            case.extend(seen.clone());
        }
        case
    }
}

/// Runs the cases of a file with a model, one after the other; `done` is called after each. Stops if the model cannot
/// be asked at all.
pub fn evaluate(
    file: &Path,
    text: &str,
    agent: &Agent,
    mut model: impl FnMut(Prompt) -> Asked,
    mut done: impl FnMut(&Evaluated),
) -> Result<Vec<Evaluated>, String> {
    let mut all: Vec<Evaluated> = Vec::new();
    for (index, case) in read_cases(file, text)?.iter().enumerate() {
        let mut evaluated = Evaluated {
            file: file.to_owned(),
            name: case.name(index),
            verdict: EvalVerdict::Passed,
            why: Vec::new(),
            out_of_format: Vec::new(),
            turns: Vec::new(),
            sent: SentChars::default(),
            hopeless: None,
            seen: Value::Null,
        };
        if let Err(error) = evaluate_case(case, agent, &mut model, &mut evaluated) {
            evaluated.why.push(error);
        }
        if !evaluated.why.is_empty() {
            evaluated.verdict = EvalVerdict::Failed;
        }
        done(&evaluated);
        let stop = evaluated.hopeless.is_some();
        all.push(evaluated);
        if stop {
            break;
        }
    }
    Ok(all)
}

fn evaluate_case(
    case: &Case<'_>,
    agent: &Agent,
    model: &mut dyn FnMut(Prompt) -> Asked,
    into: &mut Evaluated,
) -> Result<(), String> {
    let settings = with_settings(agent.settings.clone(), &case.get("settings")?)?;
    if let Some(reason) = skip_reason(case, agent, settings.dialect)? {
        into.verdict = EvalVerdict::Skipped(reason);
        return Ok(());
    }
    let peers = ModelPeers { model, portal: Vec::new(), turns: Vec::new(), out_of_format: Vec::new(), hopeless: None };
    let mut conversation = Conversation::new(case, agent.clone(), settings, peers)?;
    let why = conversation.play_all(case);
    (into.seen, into.sent) = (conversation.observed(), conversation.sent());
    (into.turns, into.out_of_format) = (conversation.peers.turns, conversation.peers.out_of_format);
    into.hopeless = conversation.peers.hopeless;
    into.why = why?;
    Ok(())
}

/// Why a case cannot be used to evaluate a model.
fn skip_reason(case: &Case<'_>, agent: &Agent, dialect: Dialect) -> Result<Option<String>, String> {
    match case.text("kind").as_str() {
        "conversation" | "" => {}
        other => return Ok(Some(format!("its kind is `{other}`; only conversations are run with a model"))),
    }
    let named = case.text("agent");
    if !named.is_empty() && named != agent.name {
        return Ok(Some(format!("it is for the agent `{named}`")));
    }
    let turns = case.get("turns")?;
    let scripted = turns.as_array().into_iter().flatten().flat_map(|turn| turn["model"].as_array()).flatten();
    for answer in scripted {
        match answer.as_str().map(|text| dialect.read(text)) {
            Some(Ok(_)) => {}
            Some(Err(_)) => return Ok(Some("it is about an answer that is out of format".to_owned())),
            None => return Ok(Some("it is about a model that fails".to_owned())),
        }
    }
    Ok(None)
}

/// A real model, and a portal with the case's answers in any order.
struct ModelPeers<'a> {
    model: &'a mut dyn FnMut(Prompt) -> Asked,
    portal: Vec<Scripted>,
    turns: Vec<Spent>,
    out_of_format: Vec<String>,
    hopeless: Option<String>,
}

/// An answer of the portal.
struct Scripted {
    answer: Value,
    is_used: bool,
}

/// Errors that a retry cannot fix.
const FATAL_CODES: [FailureCode; 8] = [
    FailureCode::NoModel,
    FailureCode::NoKey,
    FailureCode::NoSecret,
    FailureCode::BadSettings,
    FailureCode::Unauthorised,
    FailureCode::Forbidden,
    FailureCode::UnknownModel,
    FailureCode::Quota,
];

impl Peers for ModelPeers<'_> {
    fn begin(&mut self, turn: &Value) {
        let answers = turn["portal"].as_array().cloned().unwrap_or_default();
        self.portal = answers.into_iter().map(|answer| Scripted { answer, is_used: false }).collect();
        self.turns.push(Spent::default());
    }

    fn answer(&mut self, prompt: Prompt, problems: &mut Vec<String>) -> Answer {
        let Asked { answer, used } = (self.model)(prompt);
        let turn = self.turns.len();
        let tokens = match &answer {
            Answer::Solution { tokens, .. } => *tokens,
            Answer::OutOfFormat { text, error, tokens } => {
                let request = self.turns.last().map_or(0, |spent| spent.requests) + 1;
                self.out_of_format.push(format!("turn {turn}, answer {request}: {error}: {}", excerpt(text)));
                *tokens
            }
            Answer::Failed { code, message } => {
                problems.push(format!("the model did not answer: {message} ({code})"));
                if FATAL_CODES.contains(code) {
                    self.hopeless = Some(message.clone());
                }
                0
            }
        };
        if let Some(spent) = self.turns.last_mut() {
            spent.add(Spent { requests: 1, tokens: tokens.max(used.input + used.output), used });
        }
        answer
    }

    fn outcome(&mut self, called: &Called, problems: &mut Vec<String>) -> Outcome {
        let fits = |one: &Scripted| called.is_for(&one.answer) && called.fits(&one.answer);
        let fresh = self.portal.iter().position(|one| fits(one) && !one.is_used);
        // Only reads may be repeated.
        let again = || self.portal.iter().rposition(fits).filter(|_| called.is_read);
        if let Some(index) = fresh.or_else(again) {
            self.portal[index].is_used = true;
            return outcome_of(&self.portal[index].answer);
        }
        let method = &called.method;
        let known = self.portal.iter().find(|one| called.is_for(&one.answer));
        problems.push(match known {
            Some(one) if !called.fits(&one.answer) => {
                format!("{method} was called with {} instead of {}", called.call, one.answer["params"])
            }
            Some(_) => format!("{method} was called once more, with {}", called.call),
            None => format!("{method} is not in this case, but was called with {}", called.call),
        });
        Outcome::Error(CallError::new("not_in_this_case", "not in this case"))
    }

    fn unused(&mut self) -> Vec<String> {
        // The expectations name the required calls; a model may get the same information by other reads.
        Vec::new()
    }

    /// Writes must be exactly the expected ones, in order. All expected reads must occur; other reads are permitted.
    fn calls_differ(&self, made: &[Called], expected: &[&str]) -> Option<String> {
        let (reads, writes): (Vec<&Called>, Vec<&Called>) = made.iter().partition(|called| called.is_read);
        let was_read = |method: &&&str| reads.iter().any(|called| same_method(&called.method, method));
        let wanted: Vec<&&str> = expected.iter().filter(|method| !was_read(method)).collect();
        let mut pairs = writes.iter().zip(&wanted);
        let same = writes.len() == wanted.len() && pairs.all(|(called, method)| same_method(&called.method, method));
        (!same).then(|| format!("calls: {:?} instead of {expected:?}", names(made)))
    }
}

/// The start of a model's answer, for messages.
fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 120;
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect();
    let more = if text.trim().chars().count() > MAX_CHARS { "…" } else { "" };
    format!("«{line}{more}»")
}
