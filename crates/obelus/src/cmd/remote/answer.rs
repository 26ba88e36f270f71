//! Answers questions of a server's sessions, and pauses, resumes, forks and removes them.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use obelus_channel::client::{Client, ClientError, encoded};
use obelus_channel::types::{
    AnswerBody, AnswerRequest, ForkForecastView, ForkView, MaybeKnown, PreviewView, QuestionRow, SessionView, Taken,
    TurnView,
};
use obelus_kernel::session::{About, Decision, QuestionStatus};
use obelus_runtime::people::Titles;
use obelus_runtime::sessions::{Forked, SessionStatus};
use serde_json::{Map, Value, json};

use super::copy::copied;
use super::{followed, print_turn, rested, steps_that_read_it};
use crate::cli::Verb;
use crate::cmd::chat::styled;
use crate::cmd::people::{Narrator, argument_value, by_in_words, happened_step, only_calls};
use crate::cmd::run::is_same_call;
use crate::cmd::sessions::inspect;
use crate::cmd::sessions::transfer::print_fork;
use crate::language::{fill, words_of};
use crate::output::{self, Exit, visible};

/// Answers a question as it is now, or with the digest that was shown, and waits until the turn rests.
pub(super) async fn answer(
    client: &Client,
    id: &str,
    verb: &Verb,
    digest: Option<&str>,
    as_json: bool,
) -> Result<Exit> {
    let path = format!("/api/v1/questions/{}", encoded(id));
    let row: QuestionRow = client.get(&path).await?;
    let Some(answer) = body_of(verb, &row)? else { return Ok(Exit::Waiting) };
    let shown = match &answer {
        AnswerBody::Edit { params } if row.about == About::Call && row.status == QuestionStatus::Requested => {
            show_edit(client, &path, params, as_json).await?
        }
        _ => Some(row.digest.clone()),
    };
    let request = AnswerRequest { answer, digest: digest.map(str::to_owned).or(shown) };
    let session = row.session.as_str();
    let known: SessionView = client.get(&format!("/api/v1/sessions/{}", encoded(session))).await?;
    let taken: Taken = match client.post(&format!("{path}/answer"), &request).await {
        Err(ClientError::AnswerLost(_)) => {
            report_unknown_end(client, words_of(None).answering.end_of_lost_unknown);
            return Ok(Exit::Failed);
        }
        taken => taken?,
    };
    if let Some(by) = known.paused_by {
        // A paused session takes the answer, but does nothing yet.
        print_paused(client, session, &by, true, as_json);
        return Ok(Exit::Done);
    }
    if let (AnswerBody::Happened { result }, false) = (request.answer, as_json) {
        print_happened(client, &row, result).await?;
    }
    let (turn, exit) = finish(client, session, &taken.event, as_json).await?;
    let starts = matches!(verb, Verb::Approve { .. } | Verb::Edit { .. } | Verb::DidNot);
    let has_failed = starts && turn.is_some_and(|turn| has_failed(&row, &turn));
    Ok(if exit == Exit::Done && has_failed { Exit::Failed } else { exit })
}

/// Whether a call that a person approved failed.
fn has_failed(row: &QuestionRow, turn: &TurnView) -> bool {
    let mut failed = turn.calls.iter().filter(|call| call.status.did_not_succeed());
    failed.any(|failed| row.calls.iter().any(|asked| is_same_call(asked, &failed.call)))
}

/// Answers questions one after the other.
pub(super) async fn each(client: &Client, ids: &[String], verb: &Verb, as_json: bool) -> Result<Exit> {
    if ids.len() > 1 && as_json {
        bail!("{}", words_of(None).answering.one_with_json);
    }
    let (mut worst, mut last) = (None, Exit::Done);
    for id in ids {
        last = answer(client, id, verb, None, as_json).await?;
        worst = worst.or(matches!(last, Exit::Failed | Exit::Interrupted).then_some(last));
    }
    Ok(worst.unwrap_or(last))
}

/// Shows an edited call before it runs (ASK-3), and returns the digest of the shown question.
async fn show_edit(client: &Client, path: &str, params: &Map<String, Value>, as_json: bool) -> Result<Option<String>> {
    let preview: PreviewView = client.post(&format!("{path}/preview"), &json!({"params": params})).await?;
    let problems: Vec<String> = preview.problems.iter().map(|problem| visible(&problem.message)).collect();
    if !problems.is_empty() {
        bail!("{}", problems.join("; "));
    }
    if !as_json {
        output::note(&visible(preview.text.as_deref().unwrap_or_default()));
    }
    Ok(preview.digest)
}

/// The body of the answer; none if only the terms of a consent were printed.
fn body_of(verb: &Verb, row: &QuestionRow) -> Result<Option<AnswerBody>> {
    let json = |name: &str, text: &str| -> Result<Value> {
        serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line().to_string(), error.column().to_string());
            anyhow!(fill(words_of(None).answering.is_json, &[name, &line, &column]))
        })
    };
    Ok(Some(match verb {
        Verb::Approve { also: None, only, .. } => {
            let open = row.view.calls.iter().filter(|call| call.is_open).map(|call| call.index);
            AnswerBody::Approve { only: only_calls(only, &open.collect::<Vec<_>>(), words_of(None))? }
        }
        Verb::Approve { also: Some(also), agreed, until, .. } => {
            let Some(offer) = row.consents.iter().find(|offer| offer.scope == also.name()) else {
                let others: Vec<String> = row.consents.iter().map(|offer| visible(&offer.scope)).collect();
                bail!("{}", fill(words_of(None).answering.other_scopes, &[also.name(), &others.join(", ")]));
            };
            let Some(code) = agreed else {
                output::answer(&visible(&offer.covers));
                output::note(&format!("--agreed {}", visible(&offer.code)));
                return Ok(None);
            };
            AnswerBody::Consent { code: code.clone(), until: until.clone() }
        }
        Verb::Deny { reason } => {
            let reason = reason.as_deref().unwrap_or(words_of(None).ask.no_reason).to_owned();
            AnswerBody::Deny { reason, only: None }
        }
        Verb::Edit { params } => match json("--params", params)? {
            Value::Object(params) => AnswerBody::Edit { params },
            _ => bail!("{}", fill(words_of(None).answering.is_an_object, &["--params"])),
        },
        Verb::Value { value } => AnswerBody::Value { value: argument_value(value, row.schema.as_ref()) },
        Verb::Happened { result } => {
            let result = result.as_deref().map(|text| json("--result", text)).transpose()?;
            if let (None, Some(steps)) = (&result, steps_that_read_it(row)) {
                bail!("{}", fill(words_of(None).answering.needs_result, &[&steps]));
            }
            AnswerBody::Happened { result: result.unwrap_or_default() }
        }
        Verb::DidNot => AnswerBody::DidNot,
    }))
}

/// Prints the step of an effect in doubt that happened: it has no event of its own.
async fn print_happened(client: &Client, row: &QuestionRow, result: Value) -> Result<()> {
    let copy = copied(client, &row.session).await?;
    let read = inspect::read(&copy, &row.session, None)?;
    let phrases = words_of(None);
    let narrator = Narrator { phrases, titles: Titles::of(read.context(), phrases.code) };
    if let Some(step) =
        happened_step(&row.calls.first().cloned().unwrap_or_default().into(), &Decision::Happened { result }, &narrator)
    {
        output::note(&format!("  {}", styled(step.line()).styled()));
    }
    Ok(())
}

/// Says that a paused session has taken an answer, or that it was paused while it carried it out.
fn print_paused(client: &Client, session: &str, by: &str, is_noted: bool, as_json: bool) {
    if as_json {
        output::json(&json!({"taken": true, "paused": by}));
        return;
    }
    let (id, by, words) = (visible(session), by_in_words(by, words_of(None)), &words_of(None).sessions);
    let named = format!("{id} --server {}", visible(client.address()));
    output::note(&if is_noted {
        fill(words.noted, &[&by, &named])
    } else {
        fill(words.paused_by, &[&id, &by, &named])
    });
}

/// Waits for the turn, and prints its steps and its result; returns it with the exit code. If the server ends before,
/// says that the input was taken.
async fn finish(client: &Client, session: &str, after: &str, as_json: bool) -> Result<(Option<TurnView>, Exit)> {
    let ended = match finished(client, session, after, as_json).await {
        Ok(turn) => print_end(client, session, turn.as_ref(), as_json).await.map(|exit| exit.map(|exit| (turn, exit))),
        Err(error) => Err(error),
    };
    match ended {
        Ok(Some(ended)) => Ok(ended),
        Err(error) if !error.is::<ClientError>() => Err(error),
        Ok(None) | Err(_) => {
            if as_json {
                output::json(&json!({"taken": true}));
            }
            report_unknown_end(client, words_of(None).answering.end_unknown);
            Ok((None, Exit::Failed))
        }
    }
}

/// Says by a phrase that it is not known how an answer ended.
fn report_unknown_end(client: &Client, phrase: &str) {
    let address = visible(client.address());
    let server = fill(words_of(None).answering.by_server, &[&address]);
    output::warning(&fill(phrase, &[&server, &format!(" --server {address}")]));
}

/// Waits for the turn, and prints its steps.
async fn finished(client: &Client, session: &str, after: &str, as_json: bool) -> Result<Option<TurnView>> {
    if as_json { rested(client, session).await } else { followed(client, session, after).await }
}

/// Prints the result of a turn, or why there is none yet. None if it still runs: the server is about to end, or has
/// waited long enough.
async fn print_end(client: &Client, session: &str, turn: Option<&TurnView>, as_json: bool) -> Result<Option<Exit>> {
    if let Some(turn) = turn {
        return print_turn(client, turn, as_json).await.map(Some);
    }
    let known: SessionView = client.get(&format!("/api/v1/sessions/{}", encoded(session))).await?;
    if let Some(by) = known.paused_by {
        print_paused(client, session, &by, false, as_json);
        return Ok(Some(Exit::Waiting));
    }
    if let Some(turn) = &known.turn {
        return print_turn(client, turn, as_json).await.map(Some);
    }
    if known.status != MaybeKnown::Known(SessionStatus::New) {
        return Ok(None);
    }
    if as_json {
        output::json(&json!({"taken": true}));
    }
    Ok(Some(Exit::Done))
}

pub(super) async fn pause(client: &Client, id: &str) -> Result<Exit> {
    let _: Taken = client.post(&format!("/api/v1/sessions/{}/pause", encoded(id)), &json!({})).await?;
    let named = format!("{id} --server {}", client.address());
    output::note(&fill(words_of(None).sessions.paused_now, &[&visible(id), &visible(&named)]));
    Ok(Exit::Done)
}

pub(super) async fn resume(client: &Client, id: &str, as_json: bool) -> Result<Exit> {
    let taken: Taken = client.post(&format!("/api/v1/sessions/{}/resume", encoded(id)), &json!({})).await?;
    Ok(finish(client, id, &taken.event, as_json).await?.1)
}

pub(super) async fn fork(client: &Client, id: &str, new: &str, at: Option<u64>) -> Result<Exit> {
    let mut body = json!({"id": new});
    if let Some(at) = at {
        body["at"] = at.into();
    }
    let forked: ForkView = client.post(&format!("/api/v1/sessions/{}/fork", encoded(id)), &body).await?;
    let forked = Forked { at: forked.at, is_paused: forked.paused };
    // The fork exists, also if the forecast cannot be read.
    let path = format!("/api/v1/sessions/{}/fork?at={}", encoded(id), forked.at);
    let forecast = client.get::<ForkForecastView>(&path).await.map(|forecast| forecast.later);
    let mut later: BTreeMap<String, usize> = BTreeMap::new();
    for call in forecast.unwrap_or_default() {
        *later.entry(call.tool).or_default() += 1;
    }
    print_fork(id, new, &format!("{new} --server {}", client.address()), &forked, &later);
    Ok(Exit::Done)
}

/// Removes a session. One with open questions is removed only with `--yes`.
pub(super) async fn remove(client: &Client, id: &str, is_meant: bool) -> Result<Exit> {
    if !is_meant {
        let rows: Vec<QuestionRow> = client.get("/api/v1/questions").await?;
        let open: Vec<String> = rows.iter().filter(|row| row.session == id).map(|row| visible(&row.id)).collect();
        if !open.is_empty() {
            bail!("{}", fill(words_of(None).carried.has_questions, &[id, &open.join(", ")]));
        }
    }
    client.delete::<()>(&format!("/api/v1/sessions/{}", encoded(id))).await?;
    Ok(Exit::Done)
}
