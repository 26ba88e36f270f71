//! Commands on the sessions of a server: `--server URL`, or a store that a server holds.
//!
//! | file | subject |
//! |---|---|
//! | `look` | inbox, list, show, log |
//! | `answer` | answers, pause, resume, fork, rm |
//! | `talk` | a conversation, line by line |
//! | `beacon` | the file by which a server is found beside its store |

mod answer;
pub(super) mod beacon;
mod look;
mod talk;

use anyhow::{Context as _, Result, anyhow};
use obelus_channel::client::{Client, ClientError};
use obelus_runtime::files::read_text;
use obelus_runtime::{Language, Secret, SqliteStore};
use serde_json::Value;

use super::host::store_folder;
use super::run::on;
use crate::cli::{Command, ServerAt, Sessions, StoreAt, Verb};
use crate::language::{fill, words_of};
use crate::output::{self, Exit, visible};
use crate::trouble::Declined;

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
            Sessions::Fork { server, store, .. } | Sessions::Rm { server, store, .. } => (server, Some(store)),
            Sessions::List { server, .. }
            | Sessions::Show { server, .. }
            | Sessions::Log { server, .. }
            | Sessions::Pause { server, .. }
            | Sessions::Resume { server, .. } => (server, None),
            _ => return Ok(None),
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
        Command::Inbox(args) => look::inbox(client, args.json, args.details).await,
        Command::Answer(args) => answer::answer(client, &args.id, &args.verb, args.digest.as_deref(), args.json).await,
        Command::Approve(args) => {
            let verb = Verb::Approve { also: None, agreed: None, until: None };
            answer::answer(client, &args.id, &verb, None, args.json).await
        }
        Command::Deny(args) => {
            answer::answer(client, &args.id, &Verb::Deny { reason: args.reason.clone() }, None, args.json).await
        }
        Command::Sessions(Sessions::List { json, .. }) => look::list(client, *json).await,
        Command::Sessions(Sessions::Show { id, at, why, instance, json, .. }) => match why {
            Some(expr) => look::why(client, id, expr, instance.as_deref(), *json).await,
            None => look::show(client, id, *at, *json).await,
        },
        Command::Sessions(Sessions::Log { id, json, .. }) => look::log(client, id, *json).await,
        Command::Sessions(Sessions::Pause { id, .. }) => answer::pause(client, id).await,
        Command::Sessions(Sessions::Resume { id, json, .. }) => answer::resume(client, id, *json).await,
        Command::Sessions(Sessions::Fork { id, new, at, .. }) => answer::fork(client, id, new, *at).await,
        Command::Sessions(Sessions::Rm { id, .. }) => answer::remove(client, id).await,
        _ => Err(anyhow!(words_of(None).serving.not_remote)),
    }
}

/// The client of the named server, or of the one that holds the store; none if there is none.
fn client(at: &ServerAt, held: Option<&StoreAt>) -> Result<Option<Client>> {
    let language = Some(words_of(None).language);
    if let Some(address) = &at.server {
        return Ok(Some(Client::new(address, token(at)?, language).context("--server")?));
    }
    let Some(store) = held else { return Ok(None) };
    let Ok(folder) = store_folder(store) else { return Ok(None) };
    match beacon::find(&folder) {
        Some((address, token)) if SqliteStore::look(&folder).is_ok_and(|store| store.is_held()) => {
            Ok(Some(Client::new(&address, token, language)?))
        }
        _ => Ok(None),
    }
}

fn token(at: &ServerAt) -> Result<Secret> {
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

/// A text of an answer; empty if it is missing.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Prints the result of a turn; returns its exit code.
async fn tell_turn(client: &Client, turn: &Value, words: &str, as_json: bool) -> Result<Exit> {
    let mut waiting = Vec::new();
    for id in turn["waiting"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        waiting.push(client.get(&format!("/api/v1/questions/{}", obelus_channel::client::encoded(id))).await?);
    }
    if as_json {
        output::json(turn);
    } else {
        if !words.is_empty() {
            output::answer(&visible(words));
        }
        waiting.iter().for_each(|row| look::tell_question(client, row));
    }
    Ok(match text(turn, "ends") {
        "output" => Exit::Done,
        "waiting" => Exit::Waiting,
        _ => Exit::Failed,
    })
}

/// Waits until the turn of a session rests; none if nothing has begun or the session is paused.
async fn rested(client: &Client, id: &str) -> Result<Value> {
    let path = format!("/api/v1/sessions/{}/turn?timeout=600", obelus_channel::client::encoded(id));
    Ok(client.get(&path).await?)
}

/// The language of this program.
fn language() -> Language {
    words_of(None).language
}
