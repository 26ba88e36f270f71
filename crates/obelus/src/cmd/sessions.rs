//! `obelus sessions`, `inbox`, `answer`, `approve` and `deny`: saved sessions.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `inspect`, `event_texts` | list, show, log, inbox; events as text |
//! | `interrupted` | how to continue a session whose process has ended |
//! | `import_uses` | what an imported session could use |
//! | `transfer` | export, import, fork, back |
//! | `as_plan`, `plan_inputs`, `plan_paths` | export as a plan, whose inputs are the user's literals |
//! | `consents` | standing consents: list, give, revoke |
//! | `lifecycle` | pause, resume, prune |
//! | `nearest` | the nearest right name |

mod as_plan;
pub(super) mod consents;
mod event_texts;
mod import_uses;
pub(super) mod inspect;
pub(super) mod interrupted;
mod lifecycle;
pub(super) mod nearest;
mod plan_inputs;
mod plan_paths;
pub(super) mod transfer;

use anyhow::{Result, anyhow, bail};
#[cfg(feature = "restate")]
use obelus_connect::StandardConnector;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{About, Decision, Input, Question, QuestionId, QuestionStatus, Session};
use obelus_runtime::people::{QuestionView, refused_in_words};
use obelus_runtime::sessions::InboxId;
use obelus_runtime::{Host, SessionHandle};
use serde_json::{Value, json};

use super::adopt::Import;
use super::chat::{open_calls, question_lines};
use super::host::{Notices, connector, open_editor, open_host, report_reopened};
use super::people::{by_in_words, only_calls, with_store};
use super::run::{Begin, SessionRun, ShowOptions, on, play};
#[cfg(feature = "restate")]
use crate::cli::EngineName;
use crate::cli::{AnswerArgs, Approve, Deny, InboxArgs, SessionsCommand, StoreArgs, Verb};
use crate::command_error::{Declined, wrong};
use crate::language::{Words, fill, words_of, words_of_session};
use crate::output::{self, Exit};

pub(crate) fn run(args: &SessionsCommand) -> Result<Exit> {
    let done = perform(args);
    match args {
        SessionsCommand::Show { store, .. }
        | SessionsCommand::Log { store, .. }
        | SessionsCommand::Export { store, .. }
        | SessionsCommand::Fork { store, .. }
        | SessionsCommand::Back { store, .. }
        | SessionsCommand::Consents { store, .. }
        | SessionsCommand::Pause { store, .. }
        | SessionsCommand::Resume { store, .. }
        | SessionsCommand::Rm { store, .. } => nearest::of_session(done, store),
        SessionsCommand::List { .. }
        | SessionsCommand::Import { .. }
        | SessionsCommand::Prune { .. }
        | SessionsCommand::Adopt { .. } => done,
    }
}

fn perform(args: &SessionsCommand) -> Result<Exit> {
    #[cfg(feature = "restate")]
    if let SessionsCommand::Export { engine, .. } | SessionsCommand::Import { engine, .. } = args {
        super::engine::check(engine)?;
    }
    match args {
        SessionsCommand::List { store, json, .. } => inspect::list(store, *json),
        SessionsCommand::Show { id, at, why: Some(expr), instance, store, json, .. } => {
            inspect::why((&inspect::open_for(store, id)?, id, *at), expr, instance.as_deref(), *json)
        }
        SessionsCommand::Show { id, at, store, json, .. } => {
            let opened = inspect::open_for(store, id)?;
            let exit = inspect::show(&opened, id, *at, *json, Some(store))?;
            if !json && at.is_none() {
                interrupted::report_by_name(&opened, store, id);
            }
            Ok(exit)
        }
        SessionsCommand::Log { id, store, json, .. } => inspect::log(&inspect::open_for(store, id)?, id, *json),
        #[cfg(feature = "restate")]
        SessionsCommand::Export { id, plan: false, out, engine, .. } if engine.engine == EngineName::Restate => {
            transfer::export(&super::engine::host(engine, StandardConnector::new())?, id, out.as_deref())
        }
        #[cfg(feature = "restate")]
        SessionsCommand::Import { file, name, trusted, engine, .. } if engine.engine == EngineName::Restate => {
            let host = super::engine::host(engine, StandardConnector::new())?;
            transfer::import(&host, file, name.as_deref(), *trusted, |id| format!("{id} --server URL"))
        }
        SessionsCommand::Export { id, plan: true, out, store, .. } => {
            as_plan::export(&inspect::open_for(store, id)?, id, out.as_deref())
        }
        SessionsCommand::Export { id, out, store, .. } => {
            transfer::export(&inspect::open_for(store, id)?, id, out.as_deref())
        }
        SessionsCommand::Import { file, name, trusted, store, .. } => {
            let named = |id: &str| with_store(id, store);
            transfer::import(&open_editor(store)?, file, name.as_deref(), *trusted, named)
        }
        SessionsCommand::Fork { id, new, at, store, .. } => transfer::fork_at(store, id, new, *at),
        SessionsCommand::Back { id, save, store, .. } => transfer::back(store, id, save),
        SessionsCommand::Consents { id, revoke, store, json, .. } => consents::run(id, revoke.as_deref(), store, *json),
        SessionsCommand::Pause { id, store, .. } => lifecycle::pause(id, store),
        SessionsCommand::Resume { id, store, json, .. } => lifecycle::resume(id, store, *json),
        SessionsCommand::Prune { days, dry_run, shrink, store, .. } => {
            lifecycle::prune(store, *days, *dry_run, *shrink)
        }
        SessionsCommand::Adopt { file, agent, session, mode, store, json, .. } => {
            let import = Import { file, agent, session: session.as_deref(), mode: mode.map(Into::into) };
            super::adopt::adopt(&open_host(store, connector(store, &Notices::default())?)?, &import, *json)
        }
        SessionsCommand::Rm { id, yes, store, .. } => {
            let host = open_editor(store)?;
            if !yes {
                must_have_no_questions(&host, id)?;
            }
            on(async { Ok(host.remove(id).await?) })?;
            Ok(Exit::Done)
        }
    }
}

/// Refuses to remove a session with an open question, or with an effect that its process left in doubt. A session that
/// cannot be read may be removed.
fn must_have_no_questions(host: &Host, id: &str) -> Result<()> {
    let Ok(session) = host.view_interrupted(id) else { return Ok(()) };
    let open: Vec<String> =
        session.questions().iter().filter(|q| q.is_open()).map(|q| InboxId::new(id, &q.id).to_string()).collect();
    if open.is_empty() {
        Ok(())
    } else {
        let words = words_of_session(&session);
        Err(wrong(fill(words.carried.has_questions, &[id, &open.join(", ")]), words))
    }
}

/// A session as it is now, for reading.
pub(crate) fn read_session(store: &StoreArgs, id: &str) -> Result<Session> {
    inspect::read(&inspect::open_for(store, id)?, id, None)
}

/// Opens a session of a store, to continue it.
async fn opened(host: &Host, id: &str) -> Result<SessionHandle> {
    let handle = host.open(id).await?;
    report_reopened(&handle).await?;
    Ok(handle)
}

pub(crate) fn inbox(args: &InboxArgs) -> Result<Exit> {
    inspect::inbox(args)
}

pub(crate) fn approve(args: &Approve) -> Result<Exit> {
    let yes = |id: &str| decide(id, Decision::Approve { only: None }, None, &args.store, args.json);
    each(&args.ids, &args.store, args.json, yes)
}

pub(crate) fn deny(args: &Deny) -> Result<Exit> {
    let no = |id: &str| decide(id, denial(args.reason.as_deref(), id, &args.store)?, None, &args.store, args.json);
    each(&args.ids, &args.store, args.json, no)
}

/// Answers questions one after the other. If one cannot be answered, none is.
fn each(ids: &[String], at: &StoreArgs, as_json: bool, answer: impl Fn(&str) -> Result<Exit>) -> Result<Exit> {
    if ids.len() > 1 {
        if as_json {
            return Err(wrong(words_of(None).answering.one_with_json.to_owned(), words_of(None)));
        }
        ids.iter().try_for_each(|id| asked(id, at).map(drop))?;
    }
    let mut worst = None;
    let mut last = Exit::Done;
    for id in ids {
        last = answer(id)?;
        worst = worst.or(matches!(last, Exit::Failed | Exit::Interrupted).then_some(last));
    }
    Ok(worst.unwrap_or(last))
}

/// A denial. Without a reason it has the words for that in the session's language.
fn denial(reason: Option<&str>, id: &str, store: &StoreArgs) -> Result<Decision> {
    let silent = || Ok::<_, anyhow::Error>(phrases_for(store, parts(id)?.0).ask.no_reason.to_owned());
    Ok(Decision::Deny { reason: reason.map_or_else(silent, |reason| Ok(reason.to_owned()))? })
}

pub(crate) fn answer(args: &AnswerArgs) -> Result<Exit> {
    let mut digest = args.digest.clone();
    let json = |name: &str, text: &str| -> Result<Value> {
        serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line().to_string(), error.column().to_string());
            anyhow!("{}", fill(words_of(None).answering.is_json, &[name, &line, &column]))
        })
    };
    let decision = match &args.verb {
        Verb::Approve { also: None, only, .. } if only.is_empty() => Decision::Approve { only: None },
        Verb::Approve { also: None, only, .. } => {
            let open = open_calls(&asked(&args.id, &args.store)?);
            let phrases = phrases_for(&args.store, parts(&args.id)?.0);
            Decision::Approve { only: only_calls(only, &open, phrases)? }
        }
        Verb::Approve { also: Some(also), agreed, until, .. } => {
            match consents::offered(args, *also, agreed.as_deref(), until.as_deref())? {
                Some(decision) => decision,
                None => return Ok(Exit::Waiting),
            }
        }
        Verb::Deny { reason } => denial(reason.as_deref(), &args.id, &args.store)?,
        Verb::Edit { params } => match json("--params", params)? {
            Value::Object(params) => {
                let shown = show_edit(args, &params)?;
                digest = digest.or(shown);
                Decision::Edit { params }
            }
            _ => bail!("{}", fill(words_of(None).answering.is_an_object, &["--params"])),
        },
        Verb::Value { value } => {
            let question = asked(&args.id, &args.store)?;
            Decision::Value { value: super::people::argument_value(value, question.schema.as_ref()) }
        }
        Verb::Happened { result } => {
            let result = result.as_deref().map(|text| json("--result", text)).transpose()?;
            if result.is_none() {
                must_need_no_result(args)?;
            }
            Decision::Happened { result: result.unwrap_or_default() }
        }
        Verb::DidNot => Decision::DidNot,
    };
    decide(&args.id, decision, digest, &args.store, args.json)
}

/// Shows an edited call before it runs; returns the digest of what is shown. An edited plan becomes a new question
/// instead.
fn show_edit(args: &AnswerArgs, params: &serde_json::Map<String, Value>) -> Result<Option<String>> {
    if asked(&args.id, &args.store)?.about != About::Call {
        return Ok(None);
    }
    let (name, number) = parts(&args.id)?;
    let host = inspect::open_for(&args.store, name)?;
    let session = inspect::read(&host, name, None)?;
    let language = words_of_session(&session).language;
    let view = QuestionView::edited(&session, &number, params, host.pictures(name), language).map_err(|refused| {
        let words = refused_in_words(&refused, Some(About::Call), language);
        Declined { code: refused.code.to_string(), words, language }
    })?;
    if !args.json {
        let lines = question_lines(&view.clone().under(&args.id), false);
        lines.iter().for_each(|line| output::note(&line.styled()));
    }
    Ok(Some(view.digest))
}

/// Refuses an effect without a result if waiting calls read it: they would not run.
fn must_need_no_result(args: &AnswerArgs) -> Result<()> {
    let question = asked(&args.id, &args.store)?;
    let session = read_session(&args.store, parts(&args.id)?.0)?;
    let words = words_of_session(&session);
    let view = QuestionView::of(&session, &question, words.language);
    if view.result_read_by.is_empty() {
        Ok(())
    } else {
        Err(wrong(fill(words.answering.needs_result, &[&view.steps_that_read_it()]), words))
    }
}

/// The session and question of an id.
fn parts(id: &str) -> Result<(&str, QuestionId)> {
    let parts = InboxId::parse(id).map(|id| (id.session, id.question));
    parts.ok_or_else(|| anyhow!("{}", fill(words_of(None).answering.not_an_id, &[id])))
}

/// The texts for a session: in its agent's language, if it can be read.
fn phrases_for(store: &StoreArgs, id: &str) -> &'static Words {
    let session = inspect::open_for(store, id).and_then(|host| inspect::read(&host, id, None));
    session.map_or_else(|_| words_of(None), |session| words_of_session(&session))
}

/// An open question.
fn asked(id: &str, store: &StoreArgs) -> Result<Question> {
    let (name, number) = parts(id)?;
    let session = nearest::of_session(read_session(store, name), store)?;
    let phrases = words_of_session(&session);
    let answering = &phrases.answering;
    let declined =
        |code: &str, words: String| Err(Declined { code: code.to_owned(), words, language: phrases.language }.into());
    match session.question(&number) {
        None => declined("unknown_question", fill(answering.no_question, &[name, &number.to_string()])),
        Some(known) if !known.is_open() => {
            let status = match known.status {
                QuestionStatus::Requested => answering.was_asked,
                QuestionStatus::Approved => answering.was_approved,
                QuestionStatus::Denied => answering.was_denied,
                QuestionStatus::Answered => answering.was_answered,
                QuestionStatus::Expired => answering.was_expired,
            };
            let code = if known.status == QuestionStatus::Expired { "expired" } else { "already_decided" };
            match known.reason.filter(|_| known.status == QuestionStatus::Expired) {
                Some(reason) => declined(code, fill(answering.closed, &[id, &output::visible(&reason)])),
                None => {
                    // An approved call of an interrupted session may not have been made.
                    let rest = interrupted::way_on_by_name(store, name).map(|words| format!("; {words}"));
                    declined(code, fill(answering.already, &[id, status]) + &rest.unwrap_or_default())
                }
            }
        }
        Some(known) => Ok(known.clone()),
    }
}

/// Gives a stored session a person's decision, and runs it until it rests; if another process holds the store, that
/// one does.
fn decide(id: &str, decision: Decision, digest: Option<String>, store: &StoreArgs, as_json: bool) -> Result<Exit> {
    let (session, question) = parts(id)?;
    // Refuse an invalid answer before anything is written.
    asked(id, store)?;
    let input = Input::Decide { question: question.to_owned(), decision, by: SentBy::COMMAND_LINE.to_owned(), digest };
    let host = match lifecycle::open_or_tell(session, store, &input, as_json)? {
        Ok(host) => host,
        Err(exit) => return Ok(exit),
    };
    on(async {
        let handle = opened(&host, session).await?;
        let read = |session: &Session| (session.paused().map(str::to_owned), words_of_session(session));
        if let (Some(by), phrases) = handle.inspect(read).await? {
            // A paused session takes the answer, but does nothing yet.
            handle.tell(input).await?;
            host.close().await;
            if as_json {
                output::json(&json!({"taken": true, "paused": by}));
            } else {
                let named = with_store(session, store);
                output::note(&fill(phrases.sessions.noted, &[&by_in_words(&by, phrases), &named]));
            }
            return Ok(Exit::Done);
        }
        let stage = SessionRun { host, handle };
        play(stage, Begin::GoingOn(Some(input)), ShowOptions { as_json, is_plan: false, store: store.clone() }).await
    })
}
