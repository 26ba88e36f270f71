//! Reads saved sessions. It needs no lock on the store, so it works while another process holds it.

use anyhow::{Context as _, Result, bail};
use obelus_kernel::session::{Question, Session};
use obelus_runtime::{SessionRow, SqliteStore, Store as _, StoreError, one_line, system_clock};
use serde_json::json;

use super::super::host::{store_folder, viewer};
use super::super::people;
use super::super::spent::in_words;
use crate::cli::{Inbox, StoreAt};
use crate::output::{self, BOLD, DIM, Exit, YELLOW, visible};

/// Opens a store to look at it; none where there is no store yet. One of an older form is brought to today's.
pub(super) fn open(at: &StoreAt) -> Result<Option<SqliteStore>> {
    let folder = store_folder(at)?;
    match SqliteStore::look(&folder) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Folder(_, error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(StoreError::Older { .. }) => Ok(Some(SqliteStore::open(&folder)?)),
        Err(error) => Err(error.into()),
    }
}

/// The same, where there must be one.
pub(super) fn open_for(at: &StoreAt, id: &str) -> Result<SqliteStore> {
    Ok(open(at)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?)
}

/// A session read from the store, to look at.
pub(super) fn read(store: &SqliteStore, id: &str, at: Option<u64>) -> Result<Session> {
    if let Some(at) = at {
        let records = store.records(id)?;
        if at > records {
            bail!("the journal of `{id}` has {records} records, not {at}");
        }
    }
    Ok(viewer(store).look(id, at)?)
}

pub(super) fn list(at: &StoreAt, as_json: bool) -> Result<Exit> {
    let rows = open(at)?.map(|store| store.list()).transpose()?.unwrap_or_default();
    if as_json {
        let row = |row: &SessionRow| json!({"id": row.id, "created": row.created.to_string(), "records": row.records});
        output::json(&rows.iter().map(row).collect());
        return Ok(Exit::Done);
    }
    for row in &rows {
        output::answer(&format!("{BOLD}{:<24}{BOLD:#} {}  {DIM}{} records{DIM:#}", row.id, row.created, row.records));
    }
    if rows.is_empty() {
        output::note("There are no saved sessions: run something with --session NAME.");
    }
    Ok(Exit::Done)
}

pub(super) fn show(store: &SqliteStore, id: &str, at: Option<u64>, as_json: bool) -> Result<Exit> {
    let session = read(store, id, at)?;
    let open: Vec<Question> = session.questions().into_iter().filter(Question::is_open).collect();
    let (turn, whole) = session.spent();
    if as_json {
        let mut shown = json!({
            "id": id,
            "context": session.context().to_json(),
            "calls": session.calls(),
            "waiting": open.iter().map(Question::to_json).collect::<Vec<_>>(),
            "node": session.node(),
            "spent": {"turn": turn, "session": whole},
        });
        if let Some(by) = session.paused() {
            shown["paused"] = by.into();
        }
        output::json(&shown);
    } else {
        for (kind, view) in session.context().views() {
            if let Some(value) = view.read(&[], None) {
                output::answer(&format!("{BOLD}†{kind}{BOLD:#} {}", visible(&format!("{value:#}"))));
            }
        }
        for report in session.calls() {
            output::answer(&format!("{:<8} {}", report.status.name(), visible(&one_line(&report))));
        }
        for question in &open {
            output::answer(&people::shown(question));
        }
        if whole.requests > 0 {
            output::answer(&format!("{BOLD}model{BOLD:#} {}; the latest turn: {}", in_words(&whole), in_words(&turn)));
        }
        if let Some(by) = session.paused() {
            output::answer(&format!("{YELLOW}paused{YELLOW:#} by {}", visible(by)));
        }
    }
    match session.context().unreadable() {
        Some(why) => bail!("part of `{id}` cannot be read: {why}"),
        None => Ok(Exit::Done),
    }
}

/// The chain behind a value.
pub(super) fn why(session: &Session, expr: &str, instance: Option<&str>, as_json: bool) -> Result<Exit> {
    let why = session.why(expr, instance).with_context(|| format!("--why '{expr}'"))?;
    if as_json {
        output::json(&why.to_json());
    } else {
        why.lines().iter().for_each(|line| output::answer(&visible(line)));
    }
    Ok(if why.is_absent() { Exit::Failed } else { Exit::Done })
}

pub(super) fn log(store: &SqliteStore, id: &str) -> Result<Exit> {
    let read = store.load(id, 0, None)?;
    for (index, record) in read.records.iter().enumerate() {
        output::json(&json!({"seq": index + 1, "at": record.at.to_string(), "input": record.input}));
    }
    if let Some(cut) = read.cut {
        output::warning(&format!("from record {} on it is damaged: {}", cut.seq, cut.problem));
    }
    Ok(Exit::Done)
}

pub(super) fn inbox(args: &Inbox) -> Result<Exit> {
    let mut waiting = Vec::new();
    if let Some(store) = open(&args.store)? {
        for row in store.list()? {
            // An unreadable session does not hide the others.
            match read(&store, &row.id, None) {
                Ok(session) => {
                    // Expired questions cannot be answered; the session closes them when it is opened.
                    let now = system_clock();
                    let open = session.questions().into_iter().filter(|one| one.is_open() && one.expires_at > now);
                    waiting.extend(open.map(|question| (row.id.clone(), question)));
                }
                Err(error) => output::warning(&format!("{}: {error:#}", row.id)),
            }
        }
    }
    if args.json {
        let row = |(session, question): &(String, Question)| {
            let mut row = question.to_json();
            row["id"] = format!("{session}:{}", question.id).into();
            row["session"] = session.as_str().into();
            row
        };
        output::json(&waiting.iter().map(row).collect());
        return Ok(Exit::Done);
    }
    for (session, question) in &waiting {
        output::answer(&people::shown_as(question, &format!("{session}:{}", question.id)));
    }
    if waiting.is_empty() {
        output::note("There are no open questions.");
    }
    Ok(Exit::Done)
}
