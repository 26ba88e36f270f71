//! `obelus sessions`, `inbox`, `answer`, `approve` and `deny`: sessions that are kept.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `look` | what is there, and what waits |
//! | `carry` | export, import, fork |
//! | `keep` | pause, resume, prune |

mod carry;
mod keep;
mod look;

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::session::{Decision, Input, Question, QuestionId};
use obelus_runtime::{Driver, Store, StoreError};
use serde_json::Value;

use super::host::{Job, Mcp, store_folder};
use super::run::{Begin, Place, play};
use crate::cli::{Answer, Inbox, Sessions, StoreAt, Verb};
use crate::output::Exit;

pub(crate) fn run(args: &Sessions) -> Result<Exit> {
    match args {
        Sessions::List { store, json } => look::list(store, *json),
        Sessions::Show { id, at, why: Some(expr), instance, store, json } => {
            look::why(&look::read(&look::open_for(store, id)?, id, *at)?, expr, instance.as_deref(), *json)
        }
        Sessions::Show { id, at, store, json, .. } => look::show(&look::open_for(store, id)?, id, *at, *json),
        Sessions::Log { id, store } => look::log(&look::open_for(store, id)?, id),
        Sessions::Export { id, out, store } => carry::export(&look::open_for(store, id)?, id, out.as_deref()),
        Sessions::Import { file, name, store } => carry::import(&open(store)?, file, name.as_deref()),
        Sessions::Fork { id, new, at, store } => carry::fork_at(&open(store)?, id, new, *at),
        Sessions::Pause { id, store } => keep::pause(id, store),
        Sessions::Resume { id, store, json } => keep::resume(id, store, *json),
        Sessions::Prune { days, dry_run, shrink, store } => keep::prune(store, *days, *dry_run, *shrink),
        Sessions::Adopt { file, agent, session, store, json } => {
            super::adopt::adopt(&open(store)?, file, agent, session.as_deref(), *json)
        }
        Sessions::Rm { id, store } => {
            open(store)?.remove(id)?;
            Ok(Exit::Done)
        }
    }
}

fn open(store: &StoreAt) -> Result<Store> {
    Ok(Store::open(&store_folder(store)?)?)
}

/// A session as its journal has it. `then` is said to it unless the journal ends with just that under way.
pub(crate) fn restore(
    store: &Store,
    id: &str,
    genesis: Value,
    record: Option<&Path>,
    then: Option<Input>,
) -> Result<(Driver, Begin, Mcp)> {
    let is_said = then.is_some() && store.last_word(id)? == then;
    let (taken, mcp) = Job::restore(store, id, genesis, record)?;
    let recovered = taken.recovered;
    let is_at_rest = recovered.in_doubt == 0 && recovered.requests == 0;
    // The same words once more are an echo while they are at work, and words once that is done.
    let is_echo = is_said && (!is_at_rest || !matches!(then, Some(Input::User { .. })));
    let begin = Begin::GoingOn { then: then.filter(|_| !is_echo), rested: recovered.reply.map(Box::new) };
    Ok((taken.driver, begin, mcp))
}

pub(crate) fn inbox(args: &Inbox) -> Result<Exit> {
    look::inbox(args)
}

pub(crate) fn answer(args: &Answer) -> Result<Exit> {
    let json = |name: &str, text: &str| -> Result<Value> {
        serde_json::from_str(text).with_context(|| format!("{name} is JSON"))
    };
    let decision = match &args.verb {
        Verb::Approve => Decision::Approve { only: None },
        Verb::Deny { reason } => Decision::Deny { reason: reason.clone() },
        Verb::Edit { params } => match json("--params", params)? {
            Value::Object(params) => Decision::Edit { params },
            other => bail!("--params is a JSON object, not {}", obelus_kernel::type_name(&other)),
        },
        Verb::Value { value } => {
            let question = asked(&args.id, &args.store)?;
            Decision::Value { value: super::people::value_said(value, question.schema.as_ref()) }
        }
        Verb::Happened { result } => {
            let result = result.as_deref().map(|text| json("--result", text)).transpose()?;
            Decision::Happened { result: result.unwrap_or_default() }
        }
        Verb::DidNot => Decision::DidNot,
    };
    decide(&args.id, decision, &args.store, args.json)
}

/// The session and the question that an id names.
fn parts(id: &str) -> Result<(&str, QuestionId)> {
    let parts = id.split_once(':').and_then(|(session, question)| Some((session, question.parse().ok()?)));
    parts.ok_or_else(|| anyhow!("`{id}` is no question: it is SESSION:QUESTION, as `obelus inbox` prints"))
}

/// A question that waits.
fn asked(id: &str, store: &StoreAt) -> Result<Question> {
    let (session, question) = parts(id)?;
    match look::read(&look::open_for(store, session)?, session, None)?.question(&question) {
        None => bail!("the session `{session}` has no question `{question}`"),
        Some(known) if !known.is_open() => {
            let status = serde_json::to_value(known.status)?;
            bail!("`{id}` is {} already", status.as_str().unwrap_or_default());
        }
        Some(known) => Ok(known.clone()),
    }
}

/// Tells a kept session what a person decided, and drives it to its rest; where another process holds the store, that
/// one does.
pub(crate) fn decide(id: &str, decision: Decision, store: &StoreAt, as_json: bool) -> Result<Exit> {
    let (session, question) = parts(id)?;
    // An answer that does not fit is refused before anything is written.
    asked(id, store)?;
    let input = Input::Decide { question, decision, by: keep::BY.to_owned() };
    let Some(store) = keep::open_or_tell(session, store, &input, as_json)? else { return Ok(Exit::Done) };
    let genesis = store.genesis(session)?.ok_or_else(|| StoreError::Unknown(session.to_owned()))?;
    let (driver, begin, mcp) = restore(&store, session, genesis, None, None)?;
    let begin = match begin {
        // A paused session takes the answer, and does nothing about it yet.
        _ if driver.session().paused().is_some() => Begin::Resumed(input),
        Begin::GoingOn { rested, .. } => Begin::GoingOn { then: Some(input), rested },
        other => other,
    };
    play(driver, Place::with(mcp)?, begin, Some((store, session)), as_json, false)
}
