//! `obelus chat`: a conversation with an agent.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `talk` | the conversation: turns, commands, how it ends |
//! | `work` | work that it gives to its session |
//! | `answers` | the answers to commands that only read |
//! | `first_input` | the first line, by which an agent of several languages chooses one |
//! | `terminal`, `lines` | the user's side: a person at a terminal, or lines of stdin |
//! | `editor`, `keyboard` | the line editor; single keys, and a terminal that is closed |
//! | `screen` | output, and the redrawn part of the screen |
//! | `steps` | the steps of a turn and their results |
//! | `why` | where a value comes from |
//! | `question`, `approve` | a question as text, and the keys that answer it |
//! | `tour` | a scripted conversation |
//! | `events` | events from a portal |
//! | `commands` | lines that begin with `/` |
//! | `cost` | the cost of model requests |
//! | `outline`, `text` | JSON as an outline, styled lines |
//!
//! The texts are in `obelus-words`.

pub(crate) mod answers;
mod approve;
pub(crate) mod commands;
pub(crate) mod cost;
mod editor;
mod events;
mod first_input;
mod keyboard;
mod lines;
mod outline;
mod question;
mod screen;
mod steps;
mod talk;
mod terminal;
mod text;
mod tour;
mod why;
mod work;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use obelus_connect::bitrix24::token_variable;
use obelus_kernel::session::{Input, Mode};
use obelus_runtime::{Host, SessionHandle, SessionSpec};

use super::agents;
use super::holder::GuestServer;
use super::host::{Notices, checked_folder, connector, open_host, report_changes, report_reopened, with_options};
use super::run::{load_agent, on};
use crate::cli::{ChatArgs, RunOptions, StoreArgs};
use crate::command_error::wrong;
use crate::language::{Words, fill, mode_means, words_of};
use crate::output::Exit;
pub(crate) use approve::{listed, numbers};
use editor::Editor;
use first_input::{FirstInput, UserSide};
pub(crate) use question::{lines as question_lines, open_calls, styled};
use screen::{OutputKind, Surface};
use talk::Talk;
use terminal::Terminal;
pub(crate) use text::StyledLine;
pub(crate) use tour::TourStep;
pub(crate) use why::lines as why_lines;
use work::ChatWorkResult;
pub(crate) use work::{ChatWork, SentMessage};

/// The requested conversation.
struct OpenedChat {
    host: Host,
    handle: SessionHandle,
    /// The agent's name and language.
    agent: String,
    language: Option<String>,
    /// Whether it already existed.
    goes_on: bool,
    /// A mode to set.
    mode: Option<Mode>,
    /// The variable with the token that authenticates the portal's events.
    token: String,
    /// The line typed before there was a session.
    first: Option<String>,
}

pub(crate) fn run(args: &ChatArgs) -> Result<Exit> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    on(async {
        let notices = Notices::default();
        let is_alone = !is_terminal && args.how.session.is_none();
        let mut side = user_side(args, is_terminal)?;
        let opened = match open(args, &notices, is_alone, &mut side).await {
            Ok(Some(opened)) => opened,
            // A person who leaves before the first message leaves no session behind.
            Ok(None) => return Ok(Exit::Done),
            Err(error) if error.is::<keyboard::TerminalClosed>() => return Ok(Exit::Interrupted),
            Err(error) => return Err(error),
        };
        let phrases = words_of(opened.language.as_deref());
        let surface = if is_terminal { Surface::Terminal } else { Surface::Lines };
        let mut talk = Talk::new(opened.handle, opened.agent, args.how.session.clone(), phrases, surface).await?;
        talk.store.clone_from(&args.how.store);
        let screen = talk.screen.clone();
        notices.set_receiver(move |words| screen.lock().complain(words));
        if let Some(mode) = opened.mode
            && mode != talk.mode().await?
            && let ChatWorkResult::Left = talk.work(ChatWork::Send(Input::Mode { mode })).await?
        {
            return Ok(Exit::Interrupted);
        }
        if !is_terminal || opened.first.is_none() {
            greet(&talk, opened.goes_on, is_terminal).await?;
        }
        // Other processes can answer the session while this one holds its store.
        let served = match opened.host.folder() {
            Some(folder) => {
                let holder = GuestServer::open(opened.host.clone(), folder)?;
                let (over, is_over) = tokio::sync::oneshot::channel();
                Some((over, tokio::spawn(holder.serve(is_over))))
            }
            None => None,
        };
        let listening = match args.events {
            Some(address) => Some(events::listen(address, &opened.token, &talk).await?),
            None => None,
        };
        let ended = converse(talk, side, opened.first).await;
        drop(listening);
        if let Some((over, served)) = served {
            drop(over);
            served.await?;
        }
        opened.host.close().await;
        ended
    })
}

async fn converse(talk: Talk, side: UserSide, first: Option<String>) -> Result<Exit> {
    match side {
        UserSide::Lines(lines) => lines::converse(talk, lines, first).await,
        UserSide::Terminal(Some(editor)) => Terminal::new(talk, *editor).converse(first).await,
        UserSide::Terminal(None) | UserSide::Script => Ok(Exit::Done),
    }
}

/// The user's side.
fn user_side(args: &ChatArgs, is_terminal: bool) -> Result<UserSide> {
    if !is_terminal {
        return Ok(UserSide::of_lines());
    }
    let history = checked_folder(&args.how.store)?.map(|folder| folder.join("chat_history"));
    let has_colours = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    Ok(UserSide::Terminal(Some(Box::new(Editor::new(history.as_deref(), has_colours)))))
}

/// Runs a session of another command with a person at the terminal: steps and questions appear as in a conversation,
/// on stderr. Returns whether the person broke off.
pub(crate) async fn attend(
    handle: &SessionHandle,
    session: Option<String>,
    store: StoreArgs,
    phrases: &'static Words,
    work: Vec<ChatWork>,
) -> Result<bool> {
    let mut talk = Talk::new(handle.clone(), String::new(), session, phrases, Surface::Stderr).await?;
    talk.store = store;
    let has_colours = talk.screen.lock().has_colours();
    Terminal::new(talk, Editor::new(None, has_colours)).attend(work).await
}

/// Runs a scripted conversation and shows it.
pub(crate) fn tour(args: &ChatArgs, moves: &[TourStep]) -> Result<Exit> {
    on(async {
        let Some(opened) = open(args, &Notices::default(), true, &mut UserSide::Script).await? else {
            return Ok(Exit::Done);
        };
        let phrases = words_of(opened.language.as_deref());
        let session = args.how.session.clone();
        let mut talk = Talk::new(opened.handle, opened.agent, session, phrases, Surface::Lines).await?;
        talk.plays_itself = true;
        tour::play(&mut talk, moves).await?;
        opened.host.close().await;
        Ok(Exit::Done)
    })
}

/// Prints the agent, its mode, and the latest messages.
async fn greet(talk: &Talk, goes_on: bool, is_terminal: bool) -> Result<()> {
    let phrases = talk.phrases;
    if !is_terminal {
        // Notes about the conversation go to stderr, apart from the answers.
        let mode = talk.mode().await?;
        crate::output::note(&format!(
            "{} · {}",
            crate::output::visible(&talk.agent),
            fill(phrases.chat.mode_is, &[mode.name(), mode_means(mode, phrases)])
        ));
        return Ok(());
    }
    let lines = greeting(&talk.agent, talk.mode().await?, talk.session.as_deref(), phrases);
    talk.screen.lock().write(OutputKind::Note, &lines);
    if goes_on {
        let mut lines = vec![text::StyledLine::of(crate::output::DIM, phrases.chat.going_on)];
        lines.extend(talk.latest_words().await?);
        talk.screen.lock().write(OutputKind::Words, &lines);
    }
    Ok(())
}

/// The agent and its mode.
fn greeting(agent: &str, mode: Mode, kept_as: Option<&str>, phrases: &Words) -> Vec<text::StyledLine> {
    let head = text::StyledLine::new().shown(crate::output::BOLD, agent);
    let saved = match kept_as {
        Some(session) => fill(phrases.chat.kept, &[session]),
        None => phrases.chat.not_kept.to_owned(),
    };
    let mode_is = fill(phrases.chat.mode_is, &[mode.name(), mode_means(mode, phrases)]);
    vec![
        head.own(crate::output::DIM, format!("  {saved}")).hanging(2),
        text::StyledLine::of(editor::colour(mode), mode_is),
        text::StyledLine::of(crate::output::DIM, phrases.chat.hello),
    ]
}

/// Opens the session, new or existing; none if the person left before it was created. With `is_alone`, questions of
/// running calls are declined, because no person can answer.
async fn open(args: &ChatArgs, notices: &Notices, is_alone: bool, side: &mut UserSide) -> Result<Option<OpenedChat>> {
    let connector = connector(&args.how.store, notices)?;
    let Some(id) = &args.how.session else {
        let Some((mut spec, first)) = begun(args, side).await? else { return Ok(None) };
        spec.local.unattended = is_alone;
        let (agent, language, token) = (spec.agent.clone(), spec.language.clone(), token_variable(&spec));
        let host = Host::new(connector);
        let handle = host.create_temporary("chat", spec).await.context(words_of(None).starting.not_started)?;
        let (goes_on, mode) = (false, None);
        return Ok(Some(OpenedChat { host, handle, agent, language, goes_on, mode, token, first }));
    };
    let host = open_host(&args.how.store, connector)?;
    let Some(spec) = host.spec(id)? else {
        let Some((mut spec, first)) = begun(args, side).await? else { return Ok(None) };
        spec.local.unattended = is_alone;
        let (agent, language, token) = (spec.agent.clone(), spec.language.clone(), token_variable(&spec));
        let mode = args.how.mode.map(Into::into);
        let handle = host.create_in(id, spec, mode).await.context(words_of(None).starting.not_started)?;
        return Ok(Some(OpenedChat { host, handle, agent, language, goes_on: false, mode: None, token, first }));
    };
    if let Some(named) = &args.agent {
        let folder = agents::locate(named)?;
        let is_file = folder.file_name().is_some_and(|name| name == "agent.yaml");
        let folder = if is_file { folder.parent().map(PathBuf::from).unwrap_or_default() } else { folder };
        let whole = |path: &std::path::Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if whole(&folder) != whole(&spec.folder) {
            let words = words_of(spec.language.as_deref());
            let folder = spec.folder.display().to_string();
            return Err(wrong(fill(words.starting.other_agent, &[id, &folder, named]), words));
        }
    }
    let (agent, language, token) = (spec.agent.clone(), spec.language.clone(), token_variable(&spec));
    let goes_on = host.last_turn_input(id)?.is_some();
    // The journal has the mode; the model may change at any time.
    let mut spec = with_options(spec, &RunOptions { mode: None, ..args.how.clone() })?;
    spec.local.unattended = is_alone;
    let handle = host.open_with(id, spec).await?;
    report_reopened(&handle).await?;
    report_changes(&handle).await?;
    let mode = args.how.mode.map(Into::into);
    Ok(Some(OpenedChat { host, handle, agent, language, goes_on, mode, token, first: None }))
}

/// The named agent, else `crm`, else the only one, else the bundled one. It speaks the language of the first line,
/// which is returned too; none if the person left instead.
async fn begun(args: &ChatArgs, side: &mut UserSide) -> Result<Option<(SessionSpec, Option<String>)>> {
    let folder = match &args.agent {
        Some(agent) => agents::locate(agent)?,
        None => the_only_agent()?,
    };
    // The mode of a stored session is set by an input: the file's setting and a person's choice are kept apart
    // (POL-9).
    let mode = args.how.mode.filter(|_| args.how.session.is_none());
    let how = RunOptions { mode, ..args.how.clone() };
    let make = |said: Option<&str>| {
        let spec = SessionSpec::from_agent(load_agent(&folder, said)?);
        with_options(spec, &how).context(words_of(None).starting.not_started)
    };
    let spec = make(None)?;
    // Events may come before the first message.
    if args.events.is_some() {
        return Ok(Some((spec, None)));
    }
    match side.first(&folder, &spec, args.how.session.as_deref()).await? {
        FirstInput::Left => Ok(None),
        FirstInput::Line(None) => Ok(Some((spec, None))),
        FirstInput::Line(Some(line)) if line.starts_with('/') => Ok(Some((spec, Some(line)))),
        FirstInput::Line(Some(line)) => Ok(Some((make(Some(&line))?, Some(line)))),
    }
}

fn the_only_agent() -> Result<PathBuf> {
    let found = agents::found();
    let is_crm = |path: &&PathBuf| path.file_name().is_some_and(|name| name == "crm");
    match (found.iter().find(is_crm), &found[..]) {
        (Some(crm), _) => Ok(crm.clone()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => agents::locate("crm"),
        (None, all) => {
            let names: Vec<_> = all.iter().filter_map(|path| path.file_name()?.to_str()).collect();
            bail!("{}", fill(words_of(None).starting.which_agent, &[&names.join(", ")]))
        }
    }
}
