//! `obelus chat`: a conversation with an agent.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `talk` | the conversation: turns, commands, how it ends |
//! | `terminal`, `lines` | the user's side: a person at a terminal, or lines of stdin |
//! | `editor` | the line editor |
//! | `screen` | output, and the redrawn part of the screen |
//! | `steps`, `results` | the steps of a turn and their results |
//! | `why` | where a value comes from |
//! | `question`, `approve` | a question in words, and the keys that answer it |
//! | `tour` | a scripted conversation |
//! | `events` | events from a portal |
//! | `commands` | lines that begin with `/` |
//! | `titles`, `phrases`, `outline`, `text` | titles of tools, texts by language, JSON as an outline, styled lines |

mod approve;
mod commands;
mod cost;
mod editor;
mod events;
mod lines;
mod outline;
mod phrases;
mod question;
mod results;
mod screen;
mod steps;
mod talk;
mod terminal;
mod text;
mod titles;
mod tour;
mod why;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use obelus_kernel::session::Mode;
use obelus_runtime::{Driver, SessionJournal, Store, system_clock};
use tokio::runtime::Runtime;

use super::holder::Holder;
use super::host::{Job, Mcp, runtime, store_folder, with_files};
use super::run::load_agent;
use super::{agents, sessions};
use crate::cli::{Chat, How};
use crate::output::Exit;
use editor::Editor;
use phrases::{Phrases, fill};
use screen::Part;
use talk::{Talk, Work, Worked};
use terminal::Terminal;
pub(crate) use tour::Move;

/// The conversation that was asked for.
struct Opened {
    driver: Driver,
    /// Where it is kept.
    store: Option<Store>,
    /// The agent's name, and the language it speaks.
    agent: String,
    language: Option<String>,
    /// Whether it was there already.
    goes_on: bool,
    /// A mode that it is to be set to.
    mode: Option<Mode>,
    /// The variable with the token by which the portal's events are known.
    token: String,
    /// The servers whose tools it has.
    mcp: Mcp,
}

pub(crate) fn run(args: &Chat) -> Result<Exit> {
    let runtime = runtime()?;
    let mut opened = open(args, &runtime)?;
    let phrases = Phrases::of(opened.language.as_deref());
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_terminal && opened.store.is_none() {
        opened.driver = opened.driver.alone();
    }
    let local = tokio::task::LocalSet::new();
    let ended = local.block_on(&runtime, async {
        let mut talk = Talk::new(opened.driver, opened.agent, args.how.session.clone(), phrases, is_terminal)?;
        let screen = talk.screen.clone();
        opened.mcp.servers()?.on_change(move |words| screen.lock().complain(words));
        if let Some(mode) = opened.mode.filter(|mode| *mode != talk.mode())
            && let Worked::Left = talk.work(Work::Tell(obelus_kernel::session::Input::Mode { mode })).await?
        {
            return Ok(Exit::Interrupted);
        }
        greet(&talk, opened.goes_on, is_terminal);
        // Others can answer the session while this process holds its store.
        let (over, is_over) = tokio::sync::oneshot::channel();
        let served = match (opened.store, &args.how.session) {
            (Some(store), Some(id)) => {
                let holder = Holder::open(store, id, talk.driver.counter())?;
                Some(tokio::task::spawn_local(holder.serve(is_over)))
            }
            _ => None,
        };
        let listening = match args.events {
            Some(address) => Some(events::listen(address, &opened.token, &mut talk).await?),
            None => None,
        };
        let ended = converse(talk, args, is_terminal).await;
        drop((over, listening));
        if let Some(served) = served {
            served.await?;
        }
        opened.mcp.close().await;
        ended
    });
    // A blocked thread may still be reading from the keyboard.
    runtime.shutdown_background();
    ended
}

async fn converse(talk: Talk, args: &Chat, is_terminal: bool) -> Result<Exit> {
    if !is_terminal {
        return lines::converse(talk).await;
    }
    let history = store_folder(&args.how.store).ok().map(|folder| folder.join("chat_history"));
    let has_colours = talk.screen.lock().has_colours();
    let editor = Editor::new(history.as_deref(), has_colours);
    Terminal::new(talk, editor).converse().await
}

/// Runs a scripted conversation and shows it.
pub(crate) fn tour(args: &Chat, moves: &[Move]) -> Result<Exit> {
    let runtime = runtime()?;
    let opened = open(args, &runtime)?;
    let phrases = Phrases::of(opened.language.as_deref());
    runtime.block_on(async {
        let mut talk = Talk::new(opened.driver.alone(), opened.agent, args.how.session.clone(), phrases, false)?;
        talk.plays_itself = true;
        tour::play(&mut talk, moves).await?;
        opened.mcp.close().await;
        Ok::<(), anyhow::Error>(())
    })?;
    Ok(Exit::Done)
}

/// Prints the agent, the mode and, in a saved session, the latest words.
fn greet(talk: &Talk, goes_on: bool, is_terminal: bool) {
    let phrases = talk.phrases;
    let mut screen = talk.screen.lock();
    if !is_terminal {
        // Notes about the conversation go to stderr, because stdout has the answers.
        drop(screen);
        let mode = talk.mode();
        crate::output::note(&format!(
            "{} · {}",
            crate::output::visible(&talk.agent),
            fill(phrases.mode_is, &[mode.name(), phrases.mode_means(mode)])
        ));
        return;
    }
    let head = text::Line::new().shown(crate::output::BOLD, &talk.agent);
    let kept = match &talk.session {
        Some(session) => fill(phrases.kept, &[session]),
        None => phrases.not_kept.to_owned(),
    };
    let mut lines = vec![head.own(crate::output::DIM, format!("  {kept}")).hanging(2)];
    drop(screen);
    lines.extend(talk.mode_lines());
    lines.push(text::Line::of(crate::output::DIM, phrases.hello));
    screen = talk.screen.lock();
    screen.write(Part::Note, &lines);
    drop(screen);
    if goes_on {
        let mut lines = vec![text::Line::of(crate::output::DIM, phrases.going_on)];
        lines.extend(talk.latest_words());
        talk.screen.lock().write(Part::Words, &lines);
    }
}

/// The session, new or as its journal has it.
fn open(args: &Chat, runtime: &Runtime) -> Result<Opened> {
    let record = args.how.record.as_deref();
    let Some(id) = &args.how.session else {
        let job = begun(args, runtime)?;
        let mcp = job.mcp.clone();
        let (agent, language, token) = (job.agent.clone(), job.language.clone(), job.application_token());
        let driver = job.drive("chat", record)?;
        return Ok(Opened { driver, store: None, agent, language, goes_on: false, mode: None, token, mcp });
    };
    let store = Store::open(&store_folder(&args.how.store)?)?;
    let Some(genesis) = store.genesis(id)? else {
        let job = begun(args, runtime)?;
        let mcp = job.mcp.clone();
        let (agent, language, token) = (job.agent.clone(), job.language.clone(), job.application_token());
        // Create the session only after its driver has been built.
        let genesis = job.genesis()?;
        let driver = job.pictured(&store, id).drive(id, record)?;
        store.create(id, system_clock(), &genesis)?;
        let driver = driver.journaled_by(SessionJournal::new(store.clone(), id));
        let driver = with_files(driver, &store, id, &agent)?;
        return Ok(Opened { driver, store: Some(store), agent, language, goes_on: false, mode: None, token, mcp });
    };
    let job = Job::from_genesis(genesis)?;
    if let Some(named) = &args.agent {
        let folder = agents::locate(named)?;
        let is_file = folder.file_name().is_some_and(|name| name == "agent.yaml");
        let folder = if is_file { folder.parent().map(PathBuf::from).unwrap_or_default() } else { folder };
        let whole = |path: &std::path::Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if whole(&folder) != whole(&job.folder) {
            bail!(
                "the session `{id}` is with the agent in {}, not with `{named}`: leave --agent out, or name another session",
                job.folder.display()
            );
        }
    }
    let (agent, language, token) = (job.agent.clone(), job.language.clone(), job.application_token());
    let goes_on = store.last_word(id)?.is_some();
    // The mode is part of the journal; the model may change at any time.
    let genesis = job.told(&How { mode: None, ..args.how.clone() })?.genesis()?;
    let (driver, _, mcp) = sessions::restore(&store, id, genesis, record, None)?;
    mcp.tell_changes(driver.session().context(), runtime)?;
    Ok(Opened { driver, store: Some(store), agent, language, goes_on, mode: args.how.mode.map(Into::into), token, mcp })
}

/// The named agent, else the user's `crm`, else the user's only agent, else the bundled `crm`.
fn begun(args: &Chat, runtime: &Runtime) -> Result<Job> {
    let folder = match &args.agent {
        Some(agent) => agents::locate(agent)?,
        None => the_only_agent()?,
    };
    let job = Job::from_agent(load_agent(&folder)?).told(&args.how);
    let met = job.and_then(|mut job| job.meet_servers(runtime).map(|()| job));
    met.context("the agent cannot be started")
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
            bail!("which agent? name one with --agent: {}", names.join(", "))
        }
    }
}
