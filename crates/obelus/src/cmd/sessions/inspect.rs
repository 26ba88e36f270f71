//! Reads saved sessions. It needs no lock on the store, so it works while another process holds it.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use obelus_kernel::session::{Question, Session};
use obelus_runtime::engine::RestoreError;
use obelus_runtime::people::QuestionView;
use obelus_runtime::sessions::InboxId;
use obelus_runtime::sessions::{SessionRow, SessionStatus};
use obelus_runtime::{EventBody, Host, HostError, StoreError, system_clock};
use serde_json::{Value, json};

use super::super::chat::why_lines;
use super::super::host::{open_editor, open_viewer};
use super::super::people::{Narrator, by_in_words, with_store};
use super::super::spent::in_words;
use super::event_texts::EventTexts;
use super::{import_uses, interrupted, nearest};
use crate::cli::{InboxArgs, StoreArgs};
use crate::input;
use crate::language::{Language, Words, fill, words_of, words_of_session};
use crate::output::{self, BOLD, DIM, Exit, YELLOW, visible};

/// A host for reading sessions; none if there is no store yet. An older store is migrated.
pub(super) fn open(at: &StoreArgs) -> Result<Option<Host>> {
    match open_viewer(at).map_err(anyhow::Error::downcast) {
        Ok(host) => Ok(Some(host)),
        Err(Ok(StoreError::Folder(folder, error))) if error.kind() == std::io::ErrorKind::NotFound => {
            // The default store is created by the first session; one that was named may be a typing error.
            if at.store.is_some() {
                let name = visible(&folder.display().to_string());
                output::warning(&fill(words_of(None).answering.no_store, &[&name]));
            }
            Ok(None)
        }
        Err(Ok(StoreError::Older { found, .. })) => match open_editor(at) {
            // It is just being created.
            Err(error) if found == 0 && matches!(error.downcast_ref(), Some(StoreError::Held { .. })) => Ok(None),
            opened => Ok(Some(opened?)),
        },
        Err(Ok(error)) => Err(error.into()),
        Err(Err(error)) => Err(error),
    }
}

/// The same; a missing store is an error.
pub(super) fn open_for(at: &StoreArgs, id: &str) -> Result<Host> {
    Ok(open(at)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?)
}

/// A session after a record or as it is now. If no process runs it, effects that the last one left in doubt are already
/// questions.
pub(in crate::cmd) fn read(host: &Host, id: &str, at: Option<u64>) -> Result<Session> {
    Ok(if at.is_some() { host.view(id, at) } else { host.view_interrupted(id) }?)
}

/// Why a session cannot be read, for people; for a damaged end with the command that goes back.
fn problem_in_words(error: &anyhow::Error, id: &str, at: &StoreArgs) -> String {
    match error.downcast_ref() {
        Some(HostError::Restore(RestoreError::DamagedEnd { seq, problem, rest, .. })) => {
            let named = with_store(id, at);
            fill(words_of(None).sessions.damaged_end, &[&seq.to_string(), problem, &rest.to_string(), &named])
        }
        _ => format!("{error:#}"),
    }
}

/// A session for looking only: if the end of its journal is damaged, as it was before that, with the error.
fn read_sound_part(host: &Host, id: &str, at: Option<u64>) -> Result<(Session, Option<anyhow::Error>)> {
    match (read(host, id, at), at) {
        (Err(error), None) => match error.downcast_ref() {
            Some(HostError::Restore(RestoreError::DamagedEnd { seq, .. })) => {
                Ok((read(host, id, Some(seq - 1))?, Some(error)))
            }
            _ => Err(error),
        },
        (done, _) => Ok((done?, None)),
    }
}

/// The status of a session, as text.
pub(in crate::cmd) fn status_in_words(status: SessionStatus, phrases: &Words) -> &'static str {
    let words = &phrases.sessions;
    match status {
        SessionStatus::New => words.is_new,
        SessionStatus::UnderWay => words.under_way,
        SessionStatus::Waiting => words.waits,
        SessionStatus::Paused => words.paused,
        SessionStatus::Done => words.done,
        SessionStatus::Degraded => words.degraded,
        SessionStatus::Limit => words.limit,
        SessionStatus::Stopped => words.stopped,
        SessionStatus::Unreadable => words.unreadable,
    }
}

/// A saved session in a list: its agent and status, and the store's data.
struct ListedSession {
    row: SessionRow,
    agent: String,
    /// Why it cannot be read, or its status.
    status: Result<SessionStatus>,
}

impl ListedSession {
    fn of(host: &Host, row: SessionRow) -> Self {
        let agent = agent_of(host, &row.id);
        let status = host.summary(&row.id).map(|summary| summary.status).map_err(Into::into);
        Self { row, agent, status }
    }

    /// An unreadable session is listed as such.
    fn status(&self) -> SessionStatus {
        *self.status.as_ref().unwrap_or(&SessionStatus::Unreadable)
    }

    /// Says what a person has to do so that the session goes on, if anything.
    fn report(&self, host: &Host, at: &StoreArgs) {
        match &self.status {
            Ok(status) => interrupted::report(host, at, &self.row.id, *status, words_of(None)),
            Err(error) => output::warning(&format!("{}: {}", self.row.id, problem_in_words(error, &self.row.id, at))),
        }
    }

    fn to_json(&self) -> Value {
        let SessionRow { id, created, records, last_at } = &self.row;
        let last = last_at.map(|at| at.to_string());
        let status = self.status().name();
        json!({
            "id": id, "created": created.to_string(), "records": records, "last": last, "agent": self.agent, "status": status
        })
    }

    /// The row as text, with columns of these widths.
    fn line(&self, (of_id, of_agent): (usize, usize), phrases: &Words) -> String {
        let SessionRow { id, created, records, last_at } = &self.row;
        let (status, when) = (status_in_words(self.status(), phrases), last_at.unwrap_or(*created));
        let colour = if matches!(self.status(), SessionStatus::Waiting | SessionStatus::Paused) {
            YELLOW
        } else {
            anstyle::Style::new()
        };
        let records = phrases.count(phrases.sessions.records, *records);
        format!(
            "{BOLD}{id:<of_id$}{BOLD:#} {colour}{status:<18}{colour:#} {:<of_agent$} {when}  {DIM}{records}{DIM:#}",
            visible(&self.agent)
        )
    }
}

/// The agent's or request's name in the session's spec.
fn agent_of(host: &Host, id: &str) -> String {
    let Ok(Some(spec)) = host.spec(id) else { return String::new() };
    if spec.agent.is_empty() { spec.name } else { spec.agent }
}

pub(super) fn list(at: &StoreArgs, as_json: bool) -> Result<Exit> {
    let host = open(at)?;
    let listed: Vec<ListedSession> = match &host {
        Some(host) => host.list()?.into_iter().map(|row| ListedSession::of(host, row)).collect(),
        None => Vec::new(),
    };
    if as_json {
        output::json(&listed.iter().map(ListedSession::to_json).collect());
        return Ok(Exit::Done);
    }
    let phrases = words_of(None);
    let widest =
        |of: fn(&ListedSession) -> &str| listed.iter().map(|listed| of(listed).chars().count()).max().unwrap_or(0);
    let widths = (widest(|listed| &listed.row.id), widest(|listed| &listed.agent));
    listed.iter().for_each(|listed| output::answer(&listed.line(widths, phrases)));
    if let Some(host) = &host {
        listed.iter().for_each(|listed| listed.report(host, at));
    }
    if listed.is_empty() {
        output::note(phrases.sessions.none);
    }
    Ok(Exit::Done)
}

pub(in crate::cmd) fn show(
    host: &Host,
    id: &str,
    at: Option<u64>,
    as_json: bool,
    args: Option<&StoreArgs>,
) -> Result<Exit> {
    let (session, damage) = read_sound_part(host, id, at)?;
    if let Some(error) = damage {
        output::warning(&problem_in_words(&error, id, args.unwrap_or(&StoreArgs::default())));
    }
    if as_json {
        output::json(&shown(&session, id));
    } else {
        print_session(host, &session, id, at, args)?;
        // The copy of a session of a server does not have the programs.
        if args.is_some() {
            import_uses::print_if_imported(host, id, &session)?;
        }
    }
    match session.context().unreadable() {
        Some(why) => bail!("{}", fill(words_of_session(&session).carried.part_unreadable, &[id, why])),
        None => Ok(Exit::Done),
    }
}

pub(in crate::cmd) fn shown(session: &Session, id: &str) -> Value {
    let (turn, whole) = session.spent();
    let mut shown = json!({
        "id": id,
        "context": session.context().to_json(),
        "state": session.state(),
        "calls": session.distinct_calls(),
        "waiting": open_questions(session).iter().map(Question::to_json).collect::<Vec<_>>(),
        "node": session.node(),
        "spent": {"turn": turn, "session": whole},
    });
    if let Some(by) = session.paused() {
        shown["paused"] = by.into();
    }
    shown
}

/// Prints a session for people: agent and status, messages and steps, memory, open questions. With the arguments of
/// a store the commands that answer them are printed too.
fn print_session(host: &Host, session: &Session, id: &str, at: Option<u64>, args: Option<&StoreArgs>) -> Result<()> {
    let narrator = narrator_of(host, id, session);
    let (phrases, agent) = (narrator.phrases, agent_of(host, id));
    let status = status_in_words(SessionStatus::of(session), phrases);
    let head = fill(phrases.sessions.head, &[&visible(&agent), status, session.settings().mode.name()]);
    output::answer(&format!("{BOLD}{}{BOLD:#}  {head}", visible(id)));
    let mut story = EventTexts::new(&narrator, session, &agent);
    if let Some(by) = session.paused() {
        output::answer(&format!("{YELLOW}{}{YELLOW:#}", fill(phrases.story.paused, &[&by_in_words(by, phrases)])));
    }
    output::answer("");
    let events = host.history(id)?;
    let events = events.iter().filter(|event| at.is_none_or(|at| event.number.record <= at));
    events.filter_map(|event| story.lines_of(&event.body)).for_each(|line| output::answer(&line));
    output::answer(&format!("\n{BOLD}{}{BOLD:#}", phrases.sessions.memory));
    for (kind, view) in session.context().views() {
        // The state also has open questions and decisions, as in its file.
        let value = if kind == "state" { Some(session.state()) } else { view.read(&[], None).map(Cow::into_owned) };
        if let Some(value) = value {
            output::answer(&format!("{BOLD}†{kind}{BOLD:#} {}", visible(&format!("{value:#}"))));
        }
    }
    for question in &open_questions(session) {
        let view = viewed(host, id, session, question, phrases.language);
        output::answer(&format!("\n{}", narrator.question(&view, false)));
        if let (Some(args), None) = (args, at) {
            output::answer(&narrator.how_to_answer(&view, &view.id, args));
        }
    }
    let (turn, whole) = session.spent();
    if whole.requests > 0 {
        let the_turn = fill(phrases.sessions.the_turn, &[&in_words(&turn, phrases)]);
        output::answer(&format!("\n{BOLD}{}{BOLD:#} {}{the_turn}", phrases.sessions.model, in_words(&whole, phrases)));
    }
    Ok(())
}

/// The narrator of a stored session.
fn narrator_of(host: &Host, id: &str, session: &Session) -> Narrator {
    Narrator::of(session).with_pages(host.pictures(id))
}

/// A question of a stored session for people, with its id for the command line.
fn viewed(host: &Host, id: &str, session: &Session, question: &Question, language: Language) -> QuestionView {
    QuestionView::with_pages(session, question, host.pictures(id), language)
        .under(InboxId::new(id, &question.id).to_string())
}

fn open_questions(session: &Session) -> Vec<Question> {
    session.questions().into_iter().filter(Question::is_open).collect()
}

/// Prints the provenance of a value of a session, as it was after a record or is now.
pub(in crate::cmd) fn why(
    (host, id, at): (&Host, &str, Option<u64>),
    expr: &str,
    instance: Option<&str>,
    as_json: bool,
) -> Result<Exit> {
    let session = &read(host, id, at)?;
    let expr = input::expression(expr);
    let mut why = session.why(&expr, instance).with_context(|| format!("--why '{expr}'"))?;
    host.name_editors(id, &mut why)?;
    if as_json {
        output::json(&why.to_json());
    } else {
        let narrator = Narrator::of(session);
        let lines = why_lines(&why, &narrator.titles, narrator.phrases, true);
        lines.iter().for_each(|line| output::answer(&line.styled()));
        if let Some(near) = Some(&expr).filter(|_| why.value.is_none()).and_then(|expr| nearest::path(session, expr)) {
            output::note(&fill(narrator.phrases.because.nearest, &[&visible(&near)]));
        }
    }
    Ok(if why.is_absent() { Exit::Failed } else { Exit::Done })
}

/// The journal of a session: records as JSON, or events as text.
pub(in crate::cmd) fn log(host: &Host, id: &str, as_json: bool) -> Result<Exit> {
    let journal = host.records(id, 0, None)?;
    if as_json {
        for (index, record) in journal.records.iter().enumerate() {
            output::json(&json!({"seq": index + 1, "at": record.at.to_string(), "input": record.input}));
        }
    } else {
        let (session, _) = read_sound_part(host, id, None)?;
        let narrator = narrator_of(host, id, &session);
        let mut story = EventTexts::new(&narrator, &session, &agent_of(host, id));
        for event in host.history(id)? {
            if let Some(line) = story.lines_of(&event.body) {
                output::answer(&format!("{DIM}{:>5} {}{DIM:#} {line}", event.number.record, event.at));
            }
        }
        // The session expires them when it is opened, and records that in its journal.
        for question in open_questions(&session).into_iter().filter(|question| question.expires_at <= system_clock()) {
            let expired = story.lines_of(&EventBody::QuestionExpired { question: question.id }).unwrap_or_default();
            output::answer(&format!("{DIM}      {}{DIM:#} {expired}", question.expires_at));
        }
    }
    if let Some(cut) = journal.cut {
        let words = words_of(None).sessions.damaged;
        output::warning(&fill(words, &[&cut.seq.to_string(), &cut.problem.to_string()]));
    }
    Ok(Exit::Done)
}

/// An open question, and its session's narrator.
struct InboxEntry {
    id: String,
    session: String,
    question: Question,
    view: QuestionView,
    narrator: Arc<Narrator>,
}

impl InboxEntry {
    fn to_json(&self) -> Value {
        let mut row = self.question.to_json();
        row["id"] = self.id.as_str().into();
        row["session"] = self.session.as_str().into();
        row["view"] = json!(self.view);
        row
    }
}

/// The open questions of all sessions, and the number of sessions that cannot be read.
fn waiting(host: &Host, at: &StoreArgs) -> Result<(Vec<InboxEntry>, usize)> {
    let now = system_clock();
    let (mut all, mut unread) = (Vec::new(), 0);
    for row in host.list()? {
        // Unreadable sessions are reported, and skipped.
        let session = match read(host, &row.id, None) {
            Ok(session) => session,
            Err(error) => {
                output::warning(&format!("{}: {}", row.id, problem_in_words(&error, &row.id, at)));
                unread += 1;
                continue;
            }
        };
        let narrator = Arc::new(narrator_of(host, &row.id, &session));
        // Expired questions cannot be answered; the session closes them when it is opened.
        for question in open_questions(&session).into_iter().filter(|question| question.expires_at > now) {
            let view = viewed(host, &row.id, &session, &question, narrator.phrases.language);
            let id = view.id.clone();
            all.push(InboxEntry { id, session: row.id.clone(), question, view, narrator: Arc::clone(&narrator) });
        }
    }
    Ok((all, unread))
}

pub(super) fn inbox(args: &InboxArgs) -> Result<Exit> {
    let host = open(&args.store)?;
    let (waiting, unread) = host.as_ref().map(|host| waiting(host, &args.store)).transpose()?.unwrap_or_default();
    if args.json {
        output::json(&waiting.iter().map(InboxEntry::to_json).collect());
        return Ok(Exit::Done);
    }
    for InboxEntry { id, view, narrator, .. } in &waiting {
        output::answer(&narrator.question(view, args.details));
        output::answer(&narrator.how_to_answer(view, id, &args.store));
    }
    let words = &words_of(None).answering;
    if unread > 0 {
        output::note(&fill(words.unread, &[&unread.to_string()]));
    } else if waiting.is_empty() {
        output::note(words.none);
    }
    // The work on an answer may have been interrupted: then it waits for a person without a question.
    if let Some(host) = &host {
        for listed in host.list()?.into_iter().map(|row| ListedSession::of(host, row)) {
            if let Ok(status) = listed.status {
                interrupted::report(host, &args.store, &listed.row.id, status, words_of(None));
            }
        }
    }
    Ok(Exit::Done)
}
