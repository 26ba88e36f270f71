//! Reads the sessions of a server.

use anyhow::Result;
use obelus_channel::client::{Client, encoded};
use obelus_channel::types::{Log, MaybeKnown, QuestionRow, SessionListRow};
use obelus_runtime::people::AnswerKind;
use obelus_runtime::sessions::SessionStatus;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::copy::copied;
use crate::cmd::sessions;
use crate::cmd::sessions::inspect::status_in_words;
use crate::language::words_of;
use crate::output::{self, BOLD, DIM, Exit, visible};

/// The limit of rows, in case a server's list never ends.
const MOST_ROWS: usize = 100_000;

/// Prints an open question, and how to answer it.
pub(super) fn print_question(client: &Client, row: &QuestionRow) {
    output::answer(&visible(&row.text));
    let (id, server) = (visible(&row.id), client.address());
    let how = |answer: &AnswerKind| {
        let more = match answer {
            AnswerKind::Edit => " --params JSON",
            AnswerKind::Value => " VALUE",
            _ => "",
        };
        format!("obelus answer {id} {}{more} --server {server}", answer.name().replace('_', "-"))
    };
    // A consent is given by `approve --also`.
    let how: Vec<String> = row.answers.iter().filter(|answer| **answer != AnswerKind::Consent).map(how).collect();
    output::answer(&format!("  {DIM}{}{DIM:#}", how.join(" · ")));
}

/// Prints the details of a question, the common ones first.
fn print_details(row: &QuestionRow) {
    let of_calls = row.view.calls.iter().flat_map(|call| &call.details);
    for detail in row.view.common_details.iter().chain(of_calls) {
        let (label, value) = (visible(&detail.label), visible(&detail.value));
        output::answer(&format!("    {DIM}{label}: {value}{DIM:#}"));
    }
}

/// A question for `--json`: the same form as from a store, with all that the server adds.
fn as_row(mut row: Value) -> Value {
    row["call"] = row["calls"].get(0).cloned().unwrap_or_default();
    row
}

pub(super) async fn inbox(client: &Client, as_json: bool, with_details: bool) -> Result<Exit> {
    let path = "/api/v1/questions";
    if as_json {
        let rows: Vec<Value> = client.get(path).await?;
        output::json(&rows.into_iter().map(as_row).collect());
        return Ok(Exit::Done);
    }
    let rows: Vec<QuestionRow> = client.get(path).await?;
    for row in &rows {
        print_question(client, row);
        if with_details {
            print_details(row);
        }
        output::answer("");
    }
    if rows.is_empty() {
        output::note(words_of(None).answering.none);
    }
    Ok(Exit::Done)
}

/// A page of a server's sessions: rows of the API, or JSON as it came.
#[derive(Deserialize)]
struct SessionPage<T> {
    sessions: Vec<T>,
    next: Option<String>,
}

/// The sessions of a server.
pub(super) async fn rows<T: DeserializeOwned>(client: &Client) -> Result<Vec<T>> {
    let (mut rows, mut after) = (Vec::new(), String::new());
    let mut path = "/api/v1/sessions?limit=200".to_owned();
    loop {
        let page: SessionPage<T> = client.get(&path).await?;
        rows.extend(page.sessions);
        // Stops at a server whose list never ends.
        let Some(next) = page.next.filter(|next| *next != after && rows.len() < MOST_ROWS) else { break };
        path = format!("/api/v1/sessions?limit=200&after={}", encoded(&next));
        after = next;
    }
    Ok(rows)
}

pub(super) async fn list(client: &Client, as_json: bool) -> Result<Exit> {
    if as_json {
        output::json(&rows::<Value>(client).await?.into());
        return Ok(Exit::Done);
    }
    let rows: Vec<SessionListRow> = rows(client).await?;
    let phrases = words_of(None);
    let width = rows.iter().map(|row| visible(&row.id).chars().count()).max().unwrap_or_default().min(64);
    for row in &rows {
        let records = phrases.count(phrases.sessions.records, row.records);
        let when = visible(row.last.as_ref().unwrap_or(&row.created));
        let (id, agent) = (visible(&row.id), visible(&row.agent));
        let status = match &row.status {
            MaybeKnown::Known(status) => status_in_words(*status, phrases).to_owned(),
            MaybeKnown::Other(name) => visible(name),
        };
        output::answer(&format!("{BOLD}{id:<width$}{BOLD:#} {status:<18} {agent:<16} {when}  {DIM}{records}{DIM:#}"));
    }
    if rows.is_empty() {
        output::note(phrases.sessions.none);
    }
    Ok(Exit::Done)
}

pub(super) async fn show(client: &Client, id: &str, at: Option<u64>, as_json: bool) -> Result<Exit> {
    if !as_json {
        return sessions::inspect::show(&copied(client, id).await?, id, at, false, None);
    }
    let path = format!("/api/v1/sessions/{}", encoded(id));
    let session: Value = client.get(&path).await?;
    if at.is_some() {
        let past = sessions::inspect::read(&copied(client, id).await?, id, at)?;
        let mut shown = sessions::inspect::shown(&past, id);
        shown["status"] = SessionStatus::of(&past).name().into();
        shown["agent"] = session["agent"].clone();
        output::json(&shown);
        return Ok(Exit::Done);
    }
    let state: Value = client.get(&format!("{path}/state")).await?;
    let context: Value = client.get(&format!("{path}/messages")).await?;
    let plan: Value = client.get(&format!("{path}/plan")).await?;
    let waiting = session["questions"].as_array().cloned().unwrap_or_default();
    output::json(&json!({
        "id": id, "context": context, "state": state, "calls": plan["calls"],
        "waiting": waiting.into_iter().map(as_row).collect::<Vec<_>>(),
        "node": session["node"], "spent": session["spent"], "status": session["status"], "agent": session["agent"],
    }));
    Ok(Exit::Done)
}

/// The journal of a session: records as JSON, or events as text.
pub(super) async fn log(client: &Client, id: &str, as_json: bool) -> Result<Exit> {
    if !as_json {
        return sessions::inspect::log(&copied(client, id).await?, id, false);
    }
    let (mut after, mut count) = (0, 0);
    loop {
        let path = format!("/api/v1/sessions/{}/log?limit=1000&after={after}", encoded(id));
        let page: Log = client.get(&path).await?;
        for row in &page.records {
            output::json(&json!({"seq": row.record, "at": row.at, "input": row.input}));
        }
        count += page.records.len();
        // Stops at a server whose log never ends.
        let Some(next) = page.next.filter(|next| *next != after && count < MOST_ROWS) else { return Ok(Exit::Done) };
        after = next;
    }
}
