//! Reads the sessions of a server.

use anyhow::Result;
use obelus_channel::client::{Client, encoded};
use obelus_runtime::sessions::SessionStatus;
use serde_json::{Value, json};

use super::copy::SessionCopy;
use super::text;
use crate::cmd::sessions;
use crate::cmd::sessions::inspect::status_in_words;
use crate::language::words_of;
use crate::output::{self, BOLD, DIM, Exit, visible};

/// The limit of rows, in case a server's list never ends.
const MOST_ROWS: usize = 100_000;

/// Prints an open question, and how to answer it.
pub(super) fn print_question(client: &Client, row: &Value) {
    output::answer(&visible(text(row, "text")));
    let answers = row["answers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // A consent is given by `approve --also`.
    let answers: Vec<&str> = answers.filter(|answer| *answer != "consent").collect();
    let (id, server) = (visible(text(row, "id")), client.address());
    let how = |answer: &&str| {
        let more = match *answer {
            "edit" => " --params JSON",
            "value" => " VALUE",
            _ => "",
        };
        format!("obelus answer {id} {}{more} --server {server}", visible(answer).replace('_', "-"))
    };
    let how: Vec<String> = answers.iter().map(how).collect();
    output::answer(&format!("  {DIM}{}{DIM:#}", how.join(" · ")));
}

/// Prints the details of a question, the common ones first.
fn print_details(row: &Value) {
    let view = &row["view"];
    let of_calls = view["calls"].as_array().into_iter().flatten().map(|call| &call["details"]);
    for detail in std::iter::once(&view["common_details"]).chain(of_calls).filter_map(Value::as_array).flatten() {
        let (label, value) = (visible(text(detail, "label")), visible(text(detail, "value")));
        output::answer(&format!("    {DIM}{label}: {value}{DIM:#}"));
    }
}

/// The same form as from a store, with the server's additions.
fn as_row(mut row: Value) -> Value {
    row["call"] = row["calls"].get(0).cloned().unwrap_or_default();
    row
}

pub(super) async fn inbox(client: &Client, as_json: bool, with_details: bool) -> Result<Exit> {
    let Value::Array(rows) = client.get("/api/v1/questions").await? else { return Ok(Exit::Done) };
    if as_json {
        output::json(&rows.into_iter().map(as_row).collect());
        return Ok(Exit::Done);
    }
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

/// The sessions of a server.
pub(super) async fn rows(client: &Client) -> Result<Vec<Value>> {
    let (mut rows, mut after) = (Vec::new(), String::new());
    let mut path = "/api/v1/sessions?limit=200".to_owned();
    loop {
        let mut part = client.get(&path).await?;
        if let Value::Array(sessions) = part["sessions"].take() {
            rows.extend(sessions);
        }
        // Stops at a server whose list never ends.
        let Some(next) = part["next"].as_str().filter(|next| *next != after && rows.len() < MOST_ROWS) else { break };
        next.clone_into(&mut after);
        path = format!("/api/v1/sessions?limit=200&after={}", encoded(next));
    }
    Ok(rows)
}

/// The status of a session of a server; none if this program does not know it.
pub(super) fn status_of(row: &Value) -> Option<SessionStatus> {
    serde_json::from_value(row["status"].clone()).ok()
}

pub(super) async fn list(client: &Client, as_json: bool) -> Result<Exit> {
    let rows = rows(client).await?;
    if as_json {
        output::json(&rows.into());
        return Ok(Exit::Done);
    }
    let phrases = words_of(None);
    let width = rows.iter().map(|row| visible(text(row, "id")).chars().count()).max().unwrap_or_default().min(64);
    for row in &rows {
        let records = phrases.count(phrases.sessions.records, row["records"].as_u64().unwrap_or_default());
        let when = row["last"].as_str().unwrap_or_else(|| text(row, "created"));
        let (when, [id, agent]) = (visible(when), ["id", "agent"].map(|name| visible(text(row, name))));
        let status = status_of(row)
            .map_or_else(|| visible(text(row, "status")), |status| status_in_words(status, phrases).to_owned());
        output::answer(&format!("{BOLD}{id:<width$}{BOLD:#} {status:<18} {agent:<16} {when}  {DIM}{records}{DIM:#}"));
    }
    if rows.is_empty() {
        output::note(phrases.sessions.none);
    }
    Ok(Exit::Done)
}

pub(super) async fn show(client: &Client, id: &str, at: Option<u64>, as_json: bool) -> Result<Exit> {
    if !as_json {
        return sessions::inspect::show(&SessionCopy::of(client, id).await?.store, id, at, false, None);
    }
    let path = format!("/api/v1/sessions/{}", encoded(id));
    let session = client.get(&path).await?;
    if at.is_some() {
        let past = sessions::inspect::read(&SessionCopy::of(client, id).await?.store, id, at)?;
        let mut shown = sessions::inspect::shown(&past, id);
        shown["status"] = SessionStatus::of(&past).name().into();
        shown["agent"] = session["agent"].clone();
        output::json(&shown);
        return Ok(Exit::Done);
    }
    let state = client.get(&format!("{path}/state")).await?;
    let context = client.get(&format!("{path}/messages")).await?;
    let plan = client.get(&format!("{path}/plan")).await?;
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
        return sessions::inspect::log(&SessionCopy::of(client, id).await?.store, id, false);
    }
    let (mut after, mut count) = ("0".to_owned(), 0);
    loop {
        let path = format!("/api/v1/sessions/{}/log?limit=1000&after={}", encoded(id), encoded(&after));
        let part = client.get(&path).await?;
        let records = part["records"].as_array().map(Vec::as_slice).unwrap_or_default();
        for row in records {
            output::json(&json!({"seq": row["record"], "at": row["at"], "input": row["input"]}));
        }
        count += records.len();
        let next = part["next"].to_string();
        if part["next"].is_null() || next == after || count >= MOST_ROWS {
            return Ok(Exit::Done);
        }
        after = next;
    }
}
