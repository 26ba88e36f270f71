//! The working state of an operator: a goal, a plan, progress, facts.
//!
//! The working state outlives a step, so it contains only general statements. Pages, markup, element ids and long
//! quotations are refused, with place and reason; everything else is stored.

mod answer;
mod quote;
mod words;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::text::hex;
use obelus_runtime::{Activity, ActivityFuture, ObservationSlot, Work};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub use words::Refusal;
use words::{TextChecker, ids_in, same};

/// After this many repetitions of an action, or of an unchanged page, the model is told to try something else.
const NUDGE_AT: u64 = 5;

/// The number of notes on finished work that are kept; facts are never dropped.
const MOST_DONE: usize = 50;

/// The length limits, in characters.
const LONGEST_GOAL: usize = 600;
const LONGEST_ITEM: usize = 200;
const LONGEST_FACT: usize = 300;

/// New content for a working state.
#[derive(Clone, Debug, Default)]
pub struct Recording<'a> {
    /// The current working state.
    pub state: &'a Value,
    /// A goal: `{goal, is_new}`; null keeps the current one.
    pub goal: &'a Value,
    /// A plan: a list of texts; null keeps the current one.
    pub plan: &'a Value,
    /// The model's decision: `progress` and `facts`; null for none.
    pub step: &'a Value,
    /// The action that was carried out, without ids; null for none.
    pub action: &'a Value,
    /// The stored part of the shown observation; null if the observation is lost.
    pub observation: &'a Value,
    /// The shown observation, if it is still available.
    pub shown: Option<&'a str>,
    /// Element ids shown before, as far as known.
    pub earlier: Option<&'a BTreeSet<String>>,
}

/// Updates the working state. Refused parts of a step are listed in `progress.refused`; a refused goal or plan is an
/// error, because it cannot be stored in part.
pub fn record(new: &Recording<'_>) -> Result<Value, CallError> {
    let looker = TextChecker::new(new.shown, new.earlier);
    let mut state = Map::new();
    let goal = match new.goal {
        Value::Null => new.state["current_goal"].clone(),
        goal => {
            let text = goal["goal"].as_str().unwrap_or_default();
            looker.take(text, LONGEST_GOAL).map_err(|why| refused("goal", "goal", why))?.into()
        }
    };
    state.insert("current_goal".to_owned(), goal);
    state.insert("plan".to_owned(), plan(new, &looker)?);
    let mut refused: Vec<Value> = Vec::new();
    let progress = progress(new, &state["plan"], &looker, &mut refused);
    let facts = facts(new, &looker, &mut refused);
    let mut progress = counted(new, progress);
    // Refusals are shown until the model has answered again.
    let earlier_refusals = &new.state["progress"]["refused"];
    let refused = if new.step.is_null() { earlier_refusals.clone() } else { refused.into() };
    if refused.as_array().is_some_and(|refused| !refused.is_empty()) {
        progress.insert("refused".to_owned(), refused);
    }
    state.insert("progress".to_owned(), progress.into());
    state.insert("facts".to_owned(), facts.into());
    let earlier = earlier(new);
    if !earlier.is_empty() {
        state.insert("earlier".to_owned(), earlier.into());
    }
    Ok(state.into())
}

/// Whether a new task begins.
fn begins_anew(new: &Recording<'_>) -> bool {
    new.goal["is_new"] == true
}

fn refused(code: &str, place: &str, why: Refusal) -> CallError {
    CallError::new(code, format!("{place}: {why}"))
}

fn plan(new: &Recording<'_>, looker: &TextChecker<'_>) -> Result<Value, CallError> {
    let is_given = new.plan.as_array().is_some_and(|plan| !plan.is_empty());
    let items = match (is_given, begins_anew(new)) {
        (true, _) => texts(new.plan),
        // A new task may be answered without a plan; the old plan does not fit it.
        (false, true) => return Ok(Value::Array(Vec::new())),
        (false, false) => return Ok(Value::Array(texts(&new.state["plan"]).map(Value::from).collect())),
    };
    let mut plan = Vec::new();
    for (index, item) in items.enumerate() {
        let item = looker.take(item, LONGEST_ITEM).map_err(|why| refused("plan", &format!("plan[{index}]"), why))?;
        plan.push(item);
    }
    if let Some(answer) = answer::missing(&plan) {
        plan.push(answer.into());
    }
    match plan.len() {
        3..=6 => Ok(plan.into()),
        n => Err(CallError::new("plan", format!("a plan has 3 to 6 items, and the last is the answer; this has {n}"))),
    }
}

/// The progress: the step's, together with what was done before.
fn progress(
    new: &Recording<'_>,
    plan: &Value,
    looker: &TextChecker<'_>,
    refused: &mut Vec<Value>,
) -> Map<String, Value> {
    let before = &new.state["progress"];
    let begins_anew = begins_anew(new);
    let reported = &new.step["progress"];
    let items = plan.as_array().map_or(0, Vec::len) as u64;
    let fits = |item: &u64| (1..=items).contains(item);
    let item = match reported["item"].as_u64() {
        // A new plan begins at its first item.
        _ if begins_anew || new.plan.as_array().is_some_and(|plan| !plan.is_empty()) => 1,
        Some(item) if fits(&item) => item,
        Some(item) => {
            refused.push(format!("progress.item: the plan has no item {item}").into());
            before["item"].as_u64().filter(fits).unwrap_or(1)
        }
        None => before["item"].as_u64().filter(fits).unwrap_or(1),
    };
    let mut done: Vec<String> =
        if begins_anew { Vec::new() } else { texts(&before["done"]).map(str::to_owned).collect() };
    let newly = texts(&reported["done"]).filter(|_| !begins_anew);
    for (index, text) in newly.enumerate() {
        match looker.take(text, LONGEST_ITEM) {
            Ok(text) if done.iter().any(|known| same(known) == same(&text)) => {}
            Ok(text) => done.push(text),
            Err(why) => refused.push(format!("progress.done[{index}]: {why}").into()),
        }
    }
    done.drain(..done.len().saturating_sub(MOST_DONE));
    let blocked = match (&reported["blocked"], new.step) {
        (Value::String(text), _) => looker.take(text, LONGEST_FACT).map(Value::from).unwrap_or_else(|why| {
            refused.push(format!("progress.blocked: {why}").into());
            Value::Null
        }),
        (_, Value::Null) if !begins_anew => before["blocked"].clone(),
        _ => Value::Null,
    };
    let Value::Object(progress) = json!({"item": item, "done": done, "blocked": blocked}) else { return Map::new() };
    progress
}

/// Adds facts; one that names an older fact replaces it.
fn facts(new: &Recording<'_>, looker: &TextChecker<'_>, refused: &mut Vec<Value>) -> Vec<Value> {
    let before = new.state["facts"].as_array().cloned().unwrap_or_default();
    let mut facts = if begins_anew(new) { Vec::new() } else { before };
    let proposed = new.step["facts"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, fact) in proposed.iter().enumerate() {
        let text = fact["fact"].as_str().unwrap_or_default();
        // After a restart it is unknown whether it is a quotation.
        let checked = match new.observation {
            Value::Null if new.shown.is_none() => Err(Refusal::Unseen),
            _ => looker.take(text, LONGEST_FACT),
        };
        let text = match checked {
            Ok(text) => text,
            Err(why) => {
                refused.push(format!("facts[{index}]: {why}").into());
                continue;
            }
        };
        let place = |facts: &[Value], words: &str| {
            facts.iter().position(|fact| fact["fact"].as_str().is_some_and(|known| same(known) == same(words)))
        };
        let corrected = fact["instead_of"].as_str().and_then(|words| place(&facts, words));
        match (place(&facts, &text), corrected) {
            (None, Some(old)) => facts[old] = json!({"fact": text}),
            (None, None) => facts.push(json!({"fact": text})),
            (Some(known), Some(old)) if known != old => drop(facts.remove(old)),
            (Some(_), _) => {}
        }
    }
    facts
}

/// Facts of earlier tasks, kept separately.
fn earlier(new: &Recording<'_>) -> Vec<Value> {
    let mut earlier = new.state["earlier"].as_array().cloned().unwrap_or_default();
    if begins_anew(new) {
        earlier.extend(new.state["facts"].as_array().into_iter().flatten().cloned());
    }
    earlier
}

/// Counts repeated actions and unchanged pages.
fn counted(new: &Recording<'_>, mut progress: Map<String, Value>) -> Map<String, Value> {
    let before = &new.state["progress"];
    let mut repeats = before["repeats"].as_u64().unwrap_or(0);
    let mut last = before["last"].clone();
    if !new.action.is_null() {
        let now = Value::from(short_digest(new.action));
        repeats = if now == last { repeats + 1 } else { 1 };
        last = now;
    }
    if !last.is_null() {
        progress.insert("last".to_owned(), last);
        progress.insert("repeats".to_owned(), repeats.into());
    }
    let unchanged = new.observation["unchanged"].as_u64().unwrap_or(0);
    let nudge = match (repeats >= NUDGE_AT, unchanged >= NUDGE_AT) {
        (true, _) => {
            format!("You did the same {repeats} times in a row. Do something else, make another plan, or ask.")
        }
        (_, true) => {
            format!("Nothing has changed in {unchanged} observations. Try another way, make another plan, or ask.")
        }
        _ => return progress,
    };
    progress.insert("nudge".to_owned(), nudge.into());
    progress
}

fn short_digest(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string())[..6])
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The activity: parameters `state`, `goal`, `plan`, `step`, `action`, `seen`; the observation is in the slot.
#[derive(Default)]
pub(super) struct RecordActivity {
    /// The ids shown in each slot, while its session lives.
    shown: Mutex<Vec<(Weak<ObservationSlot>, BTreeSet<String>)>>,
}

impl RecordActivity {
    /// The ids shown in this slot so far, including the current ones.
    fn ids_on(&self, slot: &Arc<ObservationSlot>) -> BTreeSet<String> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.retain(|(slot, _)| slot.strong_count() > 0);
        let this = Arc::downgrade(slot);
        let at = shown.iter().position(|(slot, _)| slot.ptr_eq(&this)).unwrap_or_else(|| {
            shown.push((this, BTreeSet::new()));
            shown.len() - 1
        });
        let ids = &mut shown[at].1;
        if let Some(latest) = slot.latest() {
            // Ids with a frame's number are recognised by their form.
            ids.extend(ids_in(&latest.text).filter(|id| id.starts_with('e')).map(str::to_owned));
        }
        ids.clone()
    }
}

impl Activity for RecordActivity {
    fn run(&self, work: Work) -> ActivityFuture {
        let shown = work.slot.latest();
        let earlier = self.ids_on(&work.slot);
        let call = &work.call;
        let new = Recording {
            state: &call["state"],
            goal: &call["goal"],
            plan: &call["plan"],
            step: &call["step"],
            action: &call["action"],
            observation: &call["seen"],
            shown: shown.as_ref().map(|shown| shown.text.as_str()),
            earlier: Some(&earlier),
        };
        let outcome = match record(&new) {
            Ok(state) => Outcome::Value(state),
            Err(error) => Outcome::Error(error),
        };
        Box::pin(async move { outcome })
    }
}

#[cfg(test)]
mod tests;
