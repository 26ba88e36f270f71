//! Commands on the sessions of a server: `--server URL`, or a store that a server holds.
//!
//! | file | subject |
//! |---|---|
//! | `inspect` | inbox, list, show, log |
//! | `copy` | a copy of a session, which is told like one of a store |
//! | `answer` | answers, pause, resume, fork, rm |
//! | `lifecycle` | export, consents, prune |
//! | `talk`, `chat_commands` | a conversation, line by line, and its commands |
//! | `server_file` | the file by which a server is found beside its store |

mod answer;
mod chat_commands;
mod copy;
mod inspect;
mod lifecycle;
pub(super) mod server_file;
mod talk;

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use obelus_channel::client::{Client, ClientError, ServerEventBody, encoded};
use obelus_channel::types::{QuestionRow, TurnView};
use obelus_kernel::session::{CallStatus, TurnEnd};
use obelus_runtime::files::read_text;
use obelus_runtime::people::StepLine;
use obelus_runtime::{Language, Secret};
use serde_json::json;

use super::chat::styled;
use super::host::{open_viewer, store_folder};
use super::run::on;
use super::sessions::inspect::why;
use crate::cli::{Command, NoServer, ServerArgs, SessionsCommand, StoreArgs, Verb};
use crate::command_error::Declined;
use crate::language::{fill, words_of};
use crate::output::{self, Exit, visible};
use copy::copied;

/// How long the last events of a turn may take to arrive.
const LAST_EVENTS: Duration = Duration::from_millis(500);

/// The variable with the token, if no file is named.
const TOKEN: &str = "OBELUS_TOKEN";

/// Runs a command through a server, if it applies.
pub(super) fn run(command: &Command) -> Result<Option<Exit>> {
    let (server, held) = match command {
        Command::Chat(args) => (&args.server, args.how.session.is_some().then_some(&args.how.store)),
        Command::Inbox(args) => (&args.server, None),
        Command::Answer(args) => (&args.server, None),
        Command::Approve(args) => (&args.server, None),
        Command::Deny(args) => (&args.server, None),
        Command::Sessions(args) => match args {
            SessionsCommand::Fork { server, store, .. } | SessionsCommand::Rm { server, store, .. } => {
                (server, Some(store))
            }
            SessionsCommand::List { server, .. }
            | SessionsCommand::Show { server, .. }
            | SessionsCommand::Log { server, .. }
            | SessionsCommand::Pause { server, .. }
            | SessionsCommand::Resume { server, .. }
            | SessionsCommand::Export { server, .. }
            | SessionsCommand::Consents { server, .. }
            | SessionsCommand::Prune { server, .. } => (server, None),
            SessionsCommand::Adopt { server, .. } => return at_the_store(server, "sessions adopt"),
            SessionsCommand::Import { server, .. } => return at_the_store(server, "sessions import"),
            SessionsCommand::Back { server, .. } => return at_the_store(server, "sessions back"),
        },
        _ => return Ok(None),
    };
    let Some(client) = client(server, held)? else { return Ok(None) };
    let done = on(async { perform(&client, command).await });
    done.map(Some).map_err(in_words)
}

async fn perform(client: &Client, command: &Command) -> Result<Exit> {
    match command {
        Command::Chat(args) => talk::converse(client, args).await,
        Command::Inbox(args) => inspect::inbox(client, args.json, args.details).await,
        Command::Answer(args) => answer::answer(client, &args.id, &args.verb, args.digest.as_deref(), args.json).await,
        Command::Approve(args) => {
            let verb = Verb::Approve { only: Vec::new(), also: None, agreed: None, until: None };
            answer::each(client, &args.ids, &verb, args.json).await
        }
        Command::Deny(args) => {
            answer::each(client, &args.ids, &Verb::Deny { reason: args.reason.clone() }, args.json).await
        }
        Command::Sessions(SessionsCommand::List { json, .. }) => inspect::list(client, *json).await,
        Command::Sessions(SessionsCommand::Show { id, at, why: Some(expr), instance, json, .. }) => {
            why((&copied(client, id).await?, id, *at), expr, instance.as_deref(), *json)
        }
        Command::Sessions(SessionsCommand::Show { id, at, json, .. }) => inspect::show(client, id, *at, *json).await,
        Command::Sessions(SessionsCommand::Log { id, json, .. }) => inspect::log(client, id, *json).await,
        Command::Sessions(SessionsCommand::Pause { id, .. }) => answer::pause(client, id).await,
        Command::Sessions(SessionsCommand::Resume { id, json, .. }) => answer::resume(client, id, *json).await,
        Command::Sessions(SessionsCommand::Fork { id, new, at, .. }) => answer::fork(client, id, new, *at).await,
        Command::Sessions(SessionsCommand::Rm { id, yes, .. }) => answer::remove(client, id, *yes).await,
        Command::Sessions(SessionsCommand::Export { id, plan, out, .. }) => {
            lifecycle::carry(client, id, *plan, out.as_deref()).await
        }
        Command::Sessions(SessionsCommand::Consents { id, revoke, json, .. }) => {
            lifecycle::consents_of(client, id, revoke.as_deref(), *json).await
        }
        Command::Sessions(SessionsCommand::Prune { days, dry_run, shrink, .. }) => {
            lifecycle::prune(client, *days, *dry_run, *shrink).await
        }
        _ => Err(anyhow!(words_of(None).serving.not_remote)),
    }
}

/// Reports that a command needs the store itself, if a server is named.
fn at_the_store(server: &NoServer, command: &str) -> Result<Option<Exit>> {
    if server.server.is_some() || server.token_file.is_some() {
        Err(anyhow!(fill(words_of(None).serving.at_the_store, &[command])))
    } else {
        Ok(None)
    }
}

/// The client of the named server, or of the server that holds the store; none if there is no such server.
fn client(at: &ServerArgs, held: Option<&StoreArgs>) -> Result<Option<Client>> {
    let language = Some(words_of(None).language);
    if let Some(address) = &at.server {
        return Ok(Some(Client::new(address, token(at)?, language).context("--server")?));
    }
    let Some(store) = held else { return Ok(None) };
    let Ok(folder) = store_folder(store) else { return Ok(None) };
    match server_file::find(&folder) {
        Some((address, token)) if open_viewer(store).is_ok_and(|host| host.is_run_elsewhere()) => {
            Ok(Some(Client::new(&address, token, language)?))
        }
        _ => Ok(None),
    }
}

fn token(at: &ServerArgs) -> Result<Secret> {
    match &at.token_file {
        Some(file) => {
            let text = read_text(file).with_context(|| format!("--token-file {}", file.display()))?;
            Ok(Secret::new(text.trim()))
        }
        None => Secret::from_env(TOKEN).ok_or_else(|| anyhow!(fill(words_of(None).serving.no_token, &[TOKEN]))),
    }
}

/// Shows a server's refusal like a session's.
fn in_words(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<ClientError>() {
        Ok(ClientError::Refused { code, message, .. }) => {
            Declined { code, words: message, language: words_of(None).language }.into()
        }
        Ok(other) => other.into(),
        Err(other) => other,
    }
}

/// The steps that need the result of an effect in doubt, as text; none if no step does.
fn steps_that_read_it(row: &QuestionRow) -> Option<String> {
    let steps: Vec<String> = row.view.result_read_by.iter().map(|title| format!("«{}»", visible(title))).collect();
    (!steps.is_empty()).then(|| steps.join(", "))
}

/// Prints the result of a turn; returns its exit code.
async fn print_turn(client: &Client, turn: &TurnView, as_json: bool) -> Result<Exit> {
    let mut waiting: Vec<QuestionRow> = Vec::new();
    for id in &turn.waiting {
        waiting.push(client.get(&format!("/api/v1/questions/{}", encoded(id))).await?);
    }
    if as_json {
        output::json(&json!(turn));
    } else {
        if !turn.text.is_empty() {
            output::answer(&visible(&turn.text));
        }
        waiting.iter().for_each(|row| inspect::print_question(client, row));
    }
    Ok(match turn.ends {
        TurnEnd::Output => exit_of_output(turn),
        TurnEnd::Waiting => Exit::Waiting,
        // A person can answer at a limit too.
        TurnEnd::Limit if !waiting.is_empty() => Exit::Waiting,
        TurnEnd::Limit | TurnEnd::Degraded | TurnEnd::Stopped => Exit::Failed,
    })
}

/// The exit code of a turn with a result: calls may have been left undone.
fn exit_of_output(turn: &TurnView) -> Exit {
    let is_undone = turn.calls.iter().any(|call| StepLine::is_left_undone(call.status, call.error.as_deref()));
    if is_undone { Exit::Failed } else { Exit::Done }
}

/// The line for a call that begins or ends, as the server writes it (ASK-7). Other events have none.
fn print_step(event: ServerEventBody) {
    let (ServerEventBody::CallBegan { line } | ServerEventBody::CallEnded { line }) = event else { return };
    let Some(step) = line else { return };
    let seen = |words: Option<String>| words.map(|words| visible(&words));
    let StepLine { headline, comment, outcome, consent, edited, status, is_quiet } = step;
    let (headline, comment, outcome) = (visible(&headline), seen(comment), seen(outcome));
    let (consent, edited) = (seen(consent), seen(edited));
    let step = StepLine { headline, comment, outcome, consent, edited, status, is_quiet };
    match step.status {
        CallStatus::Running if step.is_quiet => {}
        CallStatus::Running => output::note(&styled(step.line()).styled()),
        _ => output::note(&format!("  {}", styled(step.line()).styled())),
    }
}

/// Prints the steps that follow from an input until the turn rests, and returns its result; none if nothing has begun
/// or the session is paused.
async fn followed(client: &Client, id: &str, after: &str) -> Result<Option<TurnView>> {
    let mut events = client.events(id, after).await?;
    let mut turn = None;
    let mut waits = std::pin::pin!(rested(client, id));
    loop {
        tokio::select! {
            biased;
            event = events.next() => match event {
                Some(event) => {
                    // Later events of a turn that rests are not printed.
                    if turn.is_some() && event.body == ServerEventBody::Rested {
                        break;
                    }
                    print_step(event.body);
                }
                None => break,
            },
            came = &mut waits, if turn.is_none() => turn = Some(came?),
            () = tokio::time::sleep(LAST_EVENTS), if turn.is_some() => break,
        }
    }
    match turn {
        Some(turn) => Ok(turn),
        None => waits.await,
    }
}

/// Waits until the turn of a session rests; none if nothing has begun or the session is paused.
async fn rested(client: &Client, id: &str) -> Result<Option<TurnView>> {
    let path = format!("/api/v1/sessions/{}/turn?timeout=600", encoded(id));
    Ok(client.get(&path).await?)
}

/// The language of this program.
fn language() -> Language {
    words_of(None).language
}
