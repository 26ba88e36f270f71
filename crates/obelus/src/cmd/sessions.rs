//! `obelus sessions`, `inbox`, `answer`, `approve` and `deny`: sessions that are kept.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::session::{Decision, Input, Question};
use obelus_runtime::{Driver, SessionJournal, Store, StoreError, one_line};
use serde_json::{Value, json};

use super::host::{Job, store_folder, with_files};
use super::people;
use super::run::{Begin, play};
use crate::cli::{Answer, Inbox, Sessions, StoreAt, Verb};
use crate::output::{self, BOLD, DIM, Exit, visible};

pub(crate) fn run(args: &Sessions) -> Result<Exit> {
    match args {
        Sessions::List { store, json } => list(&open(store)?, *json),
        Sessions::Show { id, at, why: Some(expr), instance, store, json } => {
            why(&read(&open(store)?, id, *at)?, expr, instance.as_deref(), *json)
        }
        Sessions::Show { id, at, store, json, .. } => show(&open(store)?, id, *at, *json),
        Sessions::Log { id, store } => log(&open(store)?, id),
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
pub(crate) fn take_up(
    store: &Store,
    id: &str,
    genesis: Value,
    record: Option<&Path>,
    then: Option<Input>,
) -> Result<(Driver, Begin)> {
    let journal = store.journal(id)?;
    let said_last = journal
        .iter()
        .rev()
        .map(|(_, input)| input)
        .find(|input| matches!(input, Input::Start | Input::RunPlan | Input::User { .. }));
    let is_said = then.as_ref().is_some_and(|then| said_last == Some(then));
    let job = Job::from_genesis(genesis)?;
    let agent = job.agent.clone();
    let mut driver = job.drive(id, record)?;
    let recovered = driver.recover(journal);
    let is_at_rest = recovered.in_doubt == 0 && recovered.requests == 0;
    // The same words once more are an echo while they are at work, and words once that is done.
    let is_echo = is_said && (!is_at_rest || !matches!(then, Some(Input::User { .. })));
    let begin = Begin::GoingOn { then: then.filter(|_| !is_echo), rested: recovered.reply.map(Box::new) };
    let driver = driver.journaled_by(SessionJournal::new(store.clone(), id));
    Ok((with_files(driver, store, id, &agent)?, begin))
}

/// A session read from the store, to look at.
fn read(store: &Store, id: &str, at: Option<usize>) -> Result<Driver> {
    let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
    let mut journal = store.journal(id)?;
    if let Some(at) = at {
        if at > journal.len() {
            bail!("the journal of `{id}` has {} records, and not {at}", journal.len());
        }
        journal.truncate(at);
    }
    let mut driver = Job::from_genesis(genesis)?.drive(id, None)?;
    driver.recover(journal);
    Ok(driver)
}

fn list(store: &Store, as_json: bool) -> Result<Exit> {
    let rows = store.list()?;
    if as_json {
        let row = |row: &obelus_runtime::SessionRow| json!({"id": row.id, "created": row.created.to_string(), "records": row.records});
        output::json(&rows.iter().map(row).collect());
    } else {
        for row in &rows {
            output::answer(&format!(
                "{BOLD}{:<24}{BOLD:#} {}  {DIM}{} records{DIM:#}",
                row.id, row.created, row.records
            ));
        }
        if rows.is_empty() {
            output::note("No sessions are kept here: run something with --session NAME.");
        }
    }
    Ok(Exit::Done)
}

fn show(store: &Store, id: &str, at: Option<usize>, as_json: bool) -> Result<Exit> {
    let driver = read(store, id, at)?;
    let session = driver.session();
    let open: Vec<Question> = session.questions().into_iter().filter(Question::is_open).collect();
    if as_json {
        output::json(&json!({
            "id": id,
            "context": session.context().to_json(),
            "calls": session.calls(),
            "waiting": open.iter().map(Question::to_json).collect::<Vec<_>>(),
            "node": session.node(),
        }));
        return Ok(Exit::Done);
    }
    for (kind, view) in session.context().views() {
        if let Some(value) = view.read(&[], None) {
            output::answer(&format!("{BOLD}†{kind}{BOLD:#} {}", visible(&format!("{value:#}"))));
        }
    }
    for report in session.calls() {
        output::answer(&format!("{:<8} {}", report.status, visible(&one_line(&report))));
    }
    for question in &open {
        output::answer(&people::shown(question));
    }
    Ok(Exit::Done)
}

/// The chain behind a value.
fn why(driver: &Driver, expr: &str, instance: Option<&str>, as_json: bool) -> Result<Exit> {
    let why = driver.session().why(expr, instance).with_context(|| format!("--why '{expr}'"))?;
    if as_json {
        output::json(&why.to_json());
    } else {
        why.lines().iter().for_each(|line| output::answer(&visible(line)));
    }
    Ok(if why.is_absent() { Exit::Failed } else { Exit::Done })
}

fn log(store: &Store, id: &str) -> Result<Exit> {
    if store.genesis(id)?.is_none() {
        return Err(StoreError::Unknown(id.to_owned()).into());
    }
    for (index, (at, input)) in store.journal(id)?.iter().enumerate() {
        output::json(&json!({"seq": index + 1, "at": at.to_string(), "input": input}));
    }
    Ok(Exit::Done)
}

pub(crate) fn inbox(args: &Inbox) -> Result<Exit> {
    let store = open(&args.store)?;
    let mut waiting = Vec::new();
    for row in store.list()? {
        // One session that cannot be read does not hide the others.
        match read(&store, &row.id, None) {
            Ok(driver) => {
                let open = driver.session().questions().into_iter().filter(Question::is_open);
                waiting.extend(open.map(|question| (row.id.clone(), question)));
            }
            Err(error) => output::warning(&format!("{}: {error:#}", row.id)),
        }
    }
    if args.json {
        let row = |(session, question): &(String, Question)| {
            let mut row = question.to_json();
            row["id"] = format!("{session}:{}", question.id).into();
            row["session"] = session.as_str().into();
            row
        };
        output::json(&waiting.iter().map(row).collect());
    } else {
        for (session, question) in &mut waiting {
            question.id = format!("{session}:{}", question.id);
            output::answer(&people::shown(question));
        }
        if waiting.is_empty() {
            output::note("Nothing waits for a person.");
        }
    }
    Ok(Exit::Done)
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
            Decision::Value { value: serde_json::from_str(value).unwrap_or_else(|_| value.as_str().into()) }
        }
        Verb::Happened { result } => {
            let result = result.as_deref().map(|text| json("--result", text)).transpose()?;
            Decision::Happened { result: result.unwrap_or_default() }
        }
        Verb::DidNot => Decision::DidNot,
    };
    decide(&args.id, decision, &args.store, args.json)
}

/// Tells a kept session what a person decided, and drives it to its rest.
pub(crate) fn decide(id: &str, decision: Decision, store: &StoreAt, as_json: bool) -> Result<Exit> {
    let (session, question) = id
        .split_once(':')
        .ok_or_else(|| anyhow!("`{id}` is no question: it is SESSION:QUESTION, as `obelus inbox` prints"))?;
    let store = open(store)?;
    let genesis = store.genesis(session)?.ok_or_else(|| StoreError::Unknown(session.to_owned()))?;
    let (driver, begin) = take_up(&store, session, genesis, None, None)?;
    // An answer that does not fit is refused before anything is written.
    let known = driver.session().question(question);
    match known {
        None => bail!("the session `{session}` has no question `{question}`"),
        Some(known) if !known.is_open() => {
            let status = serde_json::to_value(known.status)?;
            bail!("`{id}` is {} already", status.as_str().unwrap_or_default());
        }
        Some(_) => {}
    }
    let input =
        Input::Decide { question: question.to_owned(), decision, by: "a person at the command line".to_owned() };
    let begin = match begin {
        Begin::GoingOn { rested, .. } => Begin::GoingOn { then: Some(input), rested },
        Begin::With(_) => Begin::With(input),
    };
    play(driver, begin, as_json, false)
}
