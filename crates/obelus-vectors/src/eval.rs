//! Conversation cases put to a real model. The people and the portal are those of the case; what its script has for
//! the model is not used.
//!
//! A model goes its own ways, so the portal answers by method and parameters and not by order; reads may come again.

use std::path::{Path, PathBuf};

use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::{Answer, CallError, Outcome, Prompt, Spent, Used};
use obelus_runtime::Agent;
use serde_json::{Value, json};

use crate::case::{Case, read_cases};
use crate::conversation::peers::{Called, Peers, names, outcome_of};
use crate::conversation::{Talk, same_method, with_settings};

/// What was asked of a model, and what that took.
pub struct Asked {
    /// The answer.
    pub answer: Answer,
    /// What the request took, as far as the model says.
    pub used: Used,
}

/// How a case went.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Everything was as expected.
    Passed,
    /// Something was not.
    Failed,
    /// It was not put to the model, for this reason.
    Skipped(String),
}

/// A case that was put to a model.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The file it stands in.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// How it went.
    pub verdict: Verdict,
    /// What differed from what was expected.
    pub why: Vec<String>,
    /// Answers that could not be read. One that was mended when the model was asked again fails nothing by itself.
    pub out_of_format: Vec<String>,
    /// What each turn took.
    pub turns: Vec<Spent>,
    /// Set where the model could not be asked, and would not be the next time either.
    pub hopeless: Option<String>,
    /// What the conversation was seen to do.
    pub seen: Value,
}

impl Evaluated {
    /// What the whole case took.
    pub fn spent(&self) -> Spent {
        let mut all = Spent::default();
        self.turns.iter().for_each(|turn| all.add(*turn));
        all
    }

    /// The form in which other programs read it.
    pub fn to_json(&self) -> Value {
        let (verdict, reason) = match &self.verdict {
            Verdict::Passed => ("passed", None),
            Verdict::Failed => ("failed", None),
            Verdict::Skipped(reason) => ("skipped", Some(reason)),
        };
        let mut case = json!({
            "file": self.file.display().to_string(),
            "name": self.name,
            "verdict": verdict,
            "why": self.why,
            "out_of_format": self.out_of_format,
            "spent": self.spent(),
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

/// Puts the cases of a file to a model, one after the other, and tells of each as soon as it is done. Stops where the
/// model cannot be asked at all.
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
            verdict: Verdict::Passed,
            why: Vec::new(),
            out_of_format: Vec::new(),
            turns: Vec::new(),
            hopeless: None,
            seen: Value::Null,
        };
        if let Err(error) = put(case, agent, &mut model, &mut evaluated) {
            evaluated.why.push(error);
        }
        if !evaluated.why.is_empty() {
            evaluated.verdict = Verdict::Failed;
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

fn put(
    case: &Case<'_>,
    agent: &Agent,
    model: &mut dyn FnMut(Prompt) -> Asked,
    into: &mut Evaluated,
) -> Result<(), String> {
    let settings = with_settings(agent.settings.clone(), &case.get("settings")?)?;
    if let Some(reason) = unfit(case, agent, settings.dialect)? {
        into.verdict = Verdict::Skipped(reason);
        return Ok(());
    }
    let peers = Asking { model, portal: Vec::new(), turns: Vec::new(), out_of_format: Vec::new(), hopeless: None };
    let mut talk = Talk::new(case, agent.clone(), settings, peers)?;
    let why = talk.play_all(case);
    into.seen = talk.seen();
    (into.turns, into.out_of_format) = (talk.peers.turns, talk.peers.out_of_format);
    into.hopeless = talk.peers.hopeless;
    into.why = why?;
    Ok(())
}

/// Why a case says nothing about a model.
fn unfit(case: &Case<'_>, agent: &Agent, dialect: Dialect) -> Result<Option<String>, String> {
    match case.text("kind").as_str() {
        "conversation" | "" => {}
        other => return Ok(Some(format!("it is of the kind `{other}`, and only conversations are put to a model"))),
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

/// A real model, and a portal that answers what the case has written down, in whatever order.
struct Asking<'a> {
    model: &'a mut dyn FnMut(Prompt) -> Asked,
    portal: Vec<Scripted>,
    turns: Vec<Spent>,
    out_of_format: Vec<String>,
    hopeless: Option<String>,
}

/// What the portal answers to a method.
struct Scripted {
    answer: Value,
    is_used: bool,
}

/// Failures that asking again does not mend.
const HOPELESS: [&str; 8] =
    ["no_model", "no_key", "no_secret", "bad_settings", "unauthorised", "forbidden", "unknown_model", "quota"];

impl Peers for Asking<'_> {
    fn begin(&mut self, turn: &Value) {
        let answers = turn["portal"].as_array().cloned().unwrap_or_default();
        self.portal = answers.into_iter().map(|answer| Scripted { answer, is_used: false }).collect();
        self.turns.push(Spent::default());
    }

    fn answer(&mut self, prompt: Prompt, trouble: &mut Vec<String>) -> Answer {
        let Asked { answer, used } = (self.model)(prompt);
        let turn = self.turns.len();
        let tokens = match &answer {
            Answer::Solution { tokens, .. } => *tokens,
            Answer::OutOfFormat { text, error, tokens } => {
                let request = self.turns.last().map_or(0, |spent| spent.requests) + 1;
                self.out_of_format.push(format!("turn {turn}, answer {request}: {error}: {}", beginning(text)));
                *tokens
            }
            Answer::Failed { code, message } => {
                trouble.push(format!("the model did not answer: {message} ({code})"));
                if HOPELESS.contains(&code.as_str()) {
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

    fn outcome(&mut self, called: &Called, trouble: &mut Vec<String>) -> Outcome {
        let fits = |one: &Scripted| called.is_for(&one.answer) && called.fits(&one.answer);
        let fresh = self.portal.iter().position(|one| fits(one) && !one.is_used);
        // Looking twice changes nothing; doing twice does.
        let again = || self.portal.iter().rposition(fits).filter(|_| called.is_read);
        if let Some(index) = fresh.or_else(again) {
            self.portal[index].is_used = true;
            return outcome_of(&self.portal[index].answer);
        }
        let method = &called.method;
        let known = self.portal.iter().find(|one| called.is_for(&one.answer));
        trouble.push(match known {
            Some(one) if !called.fits(&one.answer) => {
                format!("{method} was called with {} instead of {}", called.call, one.answer["params"])
            }
            Some(_) => format!("{method} was called once more, with {}", called.call),
            None => format!("{method} was called, which is not in this case, with {}", called.call),
        });
        Outcome::Error(CallError::new("not_in_this_case", "not in this case"))
    }

    fn left(&mut self) -> Vec<String> {
        // What had to be called stands in the expectations; there may be another way to know what a read tells.
        Vec::new()
    }

    /// Writes must be those that were expected, in that order. Every read that was expected must be there; others may.
    fn calls_differ(&self, made: &[Called], expected: &[&str]) -> Option<String> {
        let (reads, writes): (Vec<&Called>, Vec<&Called>) = made.iter().partition(|called| called.is_read);
        let was_read = |method: &&&str| reads.iter().any(|called| same_method(&called.method, method));
        let wanted: Vec<&&str> = expected.iter().filter(|method| !was_read(method)).collect();
        let mut pairs = writes.iter().zip(&wanted);
        let same = writes.len() == wanted.len() && pairs.all(|(called, method)| same_method(&called.method, method));
        (!same).then(|| format!("calls: {:?} instead of {expected:?}", names(made)))
    }
}

/// The first line or so of what a model wrote.
fn beginning(text: &str) -> String {
    const MOST: usize = 120;
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    let more = if text.trim().chars().count() > MOST { "…" } else { "" };
    format!("«{line}{more}»")
}
