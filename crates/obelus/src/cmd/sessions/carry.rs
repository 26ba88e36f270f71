//! Export, import and fork of sessions.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::Time;
use obelus_kernel::session::Input;
use obelus_runtime::{Store, StoreError, fork, system_clock};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::host::remake;
use crate::input;
use crate::output::{self, Exit};

/// The form of what is exported.
const FORM: u32 = 1;

/// The first line of an export.
#[derive(Serialize, Deserialize)]
struct Head {
    obelus_session: u32,
    id: String,
    created: Time,
    records: u64,
    genesis: Value,
}

/// Each line after it.
#[derive(Serialize, Deserialize)]
struct Line {
    seq: u64,
    at: Time,
    input: Input,
}

pub(super) fn export(store: &Store, id: &str, to: Option<&Path>) -> Result<Exit> {
    let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
    let journal = store.journal(id)?;
    let created = store.list()?.into_iter().find(|row| row.id == id).map(|row| row.created).unwrap_or_default();
    let head = Head { obelus_session: FORM, id: id.to_owned(), created, records: journal.len() as u64, genesis };
    let mut text = serde_json::to_string(&head)? + "\n";
    for (index, (at, input)) in journal.into_iter().enumerate() {
        text += &serde_json::to_string(&Line { seq: index as u64 + 1, at, input })?;
        text.push('\n');
    }
    match to {
        None => std::io::stdout().write_all(text.as_bytes())?,
        Some(file) => File::create_new(file)
            .and_then(|mut open| open.write_all(text.as_bytes()).and_then(|()| open.sync_all()))
            .with_context(|| input::name(file))?,
    }
    Ok(Exit::Done)
}

pub(super) fn import(store: &Store, from: &Path, name: Option<&str>) -> Result<Exit> {
    let open: Box<dyn Read> = match from.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(File::open(from).with_context(|| input::name(from))?),
    };
    let mut lines = BufReader::new(open).lines();
    let place = |line: u64| format!("{}, line {line}", input::name(from));
    let first = lines.next().transpose().with_context(|| place(1))?.unwrap_or_default();
    let head: Head = serde_json::from_str(&first)
        .map_err(|error| anyhow!("{}: it does not begin as an exported session does: {error}", place(1)))?;
    if head.obelus_session != FORM {
        bail!("{}: the export is of form {}, and this version knows form {FORM}", place(1), head.obelus_session);
    }
    let mut journal = Vec::new();
    for (index, line) in lines.enumerate() {
        let at = place(index as u64 + 2);
        let line: Line = serde_json::from_str(&line.with_context(|| at.clone())?).with_context(|| at.clone())?;
        if line.seq != index as u64 + 1 {
            bail!("{at}: record {} stands where record {} is expected", line.seq, index + 1);
        }
        journal.push((line.at, line.input));
    }
    if journal.len() as u64 != head.records {
        bail!("{}: it has {} records, and its first line says {}", input::name(from), journal.len(), head.records);
    }
    let id = name.unwrap_or(&head.id);
    // Import only what can be restored as a session.
    let session = remake(head.genesis.clone(), id)().map_err(|why| anyhow!("{}: {why}", input::name(from)))?;
    if id != head.id {
        // Under another name it is a copy, and must not do once more what the first one had begun.
        journal = fork(session, journal, &[], &format!("the import of `{}`", head.id));
    }
    store.adopt(id, head.created, &head.genesis, &journal)?;
    output::note(&format!("`{id}`: {} records", journal.len()));
    Ok(Exit::Done)
}

pub(super) fn fork_at(store: &Store, id: &str, new: &str, at: Option<u64>) -> Result<Exit> {
    let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
    let mut before = store.journal(id)?;
    let at = at.unwrap_or(before.len() as u64);
    if at > before.len() as u64 {
        bail!("the journal of `{id}` has {} records, not {at}", before.len());
    }
    let after = before.split_off(usize::try_from(at)?);
    let session = remake(genesis.clone(), new)().map_err(|why| anyhow!("`{id}` cannot be made again: {why}"))?;
    let journal = fork(session, before, &after, &format!("the fork of `{id}` at {at}"));
    let is_paused = journal.len() as u64 > at;
    store.adopt(new, system_clock(), &genesis, &journal)?;
    match is_paused {
        true => output::note(&format!(
            "`{new}` begins where `{id}` was after record {at}, at work, and is paused: look at it with \
             `obelus sessions show {new}`, let it go on with `obelus sessions resume {new}`"
        )),
        false => output::note(&format!("`{new}` begins where `{id}` was after record {at}")),
    }
    Ok(Exit::Done)
}
