//! Reads the sessions of a server.

use anyhow::Result;
use obelus_channel::client::{Client, encoded};
use serde_json::{Value, json};

use super::text;
use crate::language::{fill, words_of};
use crate::output::{self, BOLD, DIM, Exit, visible};

/// The limit of rows, in case a server's list never ends.
const MOST_ROWS: usize = 100_000;

/// Prints an open question, and how to answer it.
pub(super) fn tell_question(client: &Client, row: &Value) {
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
fn tell_details(row: &Value) {
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
        tell_question(client, row);
        if with_details {
            tell_details(row);
        }
        output::answer("");
    }
    if rows.is_empty() {
        output::note(words_of(None).answering.none);
    }
    Ok(Exit::Done)
}

pub(super) async fn list(client: &Client, as_json: bool) -> Result<Exit> {
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
    if as_json {
        output::json(&rows.into());
        return Ok(Exit::Done);
    }
    let phrases = words_of(None);
    let width = rows.iter().map(|row| visible(text(row, "id")).chars().count()).max().unwrap_or_default().min(64);
    for row in &rows {
        let records = phrases.count(phrases.kept.records, row["records"].as_u64().unwrap_or_default());
        let when = row["last"].as_str().unwrap_or_else(|| text(row, "created"));
        let (when, [id, status, agent]) =
            (visible(when), ["id", "status", "agent"].map(|name| visible(text(row, name))));
        output::answer(&format!("{BOLD}{id:<width$}{BOLD:#} {status:<12} {agent:<16} {when}  {DIM}{records}{DIM:#}"));
    }
    if rows.is_empty() {
        output::note(phrases.kept.none);
    }
    Ok(Exit::Done)
}

pub(super) async fn show(client: &Client, id: &str, at: Option<u64>, as_json: bool) -> Result<Exit> {
    let path = format!("/api/v1/sessions/{}", encoded(id));
    let at = at.map(|at| format!("?at={at}")).unwrap_or_default();
    let session = client.get(&path).await?;
    let state = client.get(&format!("{path}/state{at}")).await?;
    if as_json {
        let context = client.get(&format!("{path}/messages{at}")).await?;
        let plan = client.get(&format!("{path}/plan")).await?;
        let waiting = session["questions"].as_array().cloned().unwrap_or_default();
        output::json(&json!({
            "id": id, "context": context, "state": state, "calls": plan["calls"],
            "waiting": waiting.into_iter().map(as_row).collect::<Vec<_>>(),
            "node": session["node"], "spent": session["spent"], "status": session["status"], "agent": session["agent"],
        }));
        return Ok(Exit::Done);
    }
    let phrases = words_of(None);
    let parts = ["agent", "status", "mode"].map(|name| visible(text(&session, name)));
    let parts = parts.each_ref().map(String::as_str);
    output::answer(&format!("{BOLD}{}{BOLD:#}  {}", visible(id), fill(phrases.kept.head, &parts)));
    output::answer(&format!("{BOLD}†state{BOLD:#} {}", visible(&format!("{state:#}"))));
    let words = text(&session["turn"], "text");
    if !words.is_empty() {
        output::answer(&visible(words));
    }
    session["questions"].as_array().into_iter().flatten().for_each(|row| tell_question(client, row));
    Ok(Exit::Done)
}

pub(super) async fn why(client: &Client, id: &str, expr: &str, instance: Option<&str>, as_json: bool) -> Result<Exit> {
    let instance = instance.map(|instance| format!("&instance={}", encoded(instance))).unwrap_or_default();
    let path = format!("/api/v1/sessions/{}/provenance?path={}{instance}", encoded(id), encoded(expr));
    let why = client.get(&path).await?;
    match as_json {
        true => output::json(&why),
        false => output::answer(&visible(&format!("{why:#}"))),
    }
    Ok(Exit::Done)
}

/// The journal of a session: records as JSON, or events as lines.
pub(super) async fn log(client: &Client, id: &str, as_json: bool) -> Result<Exit> {
    let (list, name) = if as_json { ("log", "records") } else { ("timeline", "events") };
    let (mut after, mut told) = (if as_json { "0" } else { "0-0" }.to_owned(), 0);
    loop {
        let path = format!("/api/v1/sessions/{}/{list}?limit=1000&after={}", encoded(id), encoded(&after));
        let part = client.get(&path).await?;
        for row in part[name].as_array().into_iter().flatten() {
            match as_json {
                true => output::json(&json!({"seq": row["record"], "at": row["at"], "input": row["input"]})),
                false => tell_event(row),
            }
        }
        told += part[name].as_array().map_or(0, Vec::len);
        let next = match &part["next"] {
            Value::Null => return Ok(Exit::Done),
            next => next.as_str().map_or_else(|| next.to_string(), str::to_owned),
        };
        if next == after || told >= MOST_ROWS {
            return Ok(Exit::Done);
        }
        after = next;
    }
}

fn tell_event(event: &Value) {
    let words = [text(event, "text"), text(event, "by"), text(&event["question"], "description")];
    let words = words.into_iter().find(|words| !words.is_empty()).unwrap_or_default();
    let [number, at, name] = ["number", "at", "event"].map(|name| visible(text(event, name)));
    output::answer(format!("{DIM}{number:>7} {at}{DIM:#} {name} {}", visible(words)).trim_end());
}
