//! Export, import and fork of sessions.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Take, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::Time;
use obelus_kernel::session::Input;
use obelus_runtime::SqliteStore;
use obelus_runtime::engine::{Digest, Record};
use obelus_runtime::files::must_be_small;
use obelus_runtime::sessions::{Export, Forked, InputId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::host::viewer;
use super::super::run::on;
use crate::input;
use crate::output::{self, Exit, visible};

/// The form of what is exported.
const FORM: u32 = 1;

/// A longer export is refused.
const MOST_BYTES: u64 = 1 << 30;

/// A longer line of it is refused.
const LONGEST: u64 = 64 << 20;

/// The lines of an export, none of which takes more room than is allowed.
struct Lines<R> {
    from: BufReader<Take<R>>,
    read: u64,
}

impl<R: Read> Lines<R> {
    /// The next line; none at the end.
    fn next(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        (&mut self.from).take(LONGEST + 1).read_until(b'\n', &mut line)?;
        self.read += line.len() as u64;
        if line.len() as u64 > LONGEST {
            bail!("the line is longer than {} MiB", LONGEST >> 20);
        }
        if self.read > MOST_BYTES {
            bail!("the export is larger than {} MiB", MOST_BYTES >> 20);
        }
        must_be_small(&line)?;
        match line.is_empty() {
            true => Ok(None),
            false => Ok(Some(String::from_utf8(line)?)),
        }
    }
}

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
    input: Arc<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<InputId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
}

pub(super) fn export(store: &SqliteStore, id: &str, to: Option<&Path>) -> Result<Exit> {
    let Export { id, created, genesis, records } = viewer(store).export(id)?;
    let head = Head { obelus_session: FORM, id, created, records: records.len() as u64, genesis };
    let mut text = serde_json::to_string(&head)? + "\n";
    for (index, record) in records.into_iter().enumerate() {
        let Record { at, input, id, digest } = record;
        text += &serde_json::to_string(&Line { seq: index as u64 + 1, at, input, id, digest })?;
        text.push('\n');
    }
    write_new(to, &text)?;
    Ok(Exit::Done)
}

/// Writes to a file that must not exist yet, or to stdout.
pub(super) fn write_new(to: Option<&Path>, text: &str) -> Result<()> {
    match to {
        None => std::io::stdout().write_all(text.as_bytes())?,
        // What was said in a session is for its owner.
        Some(file) => OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file)
            .and_then(|mut open| open.write_all(text.as_bytes()).and_then(|()| open.sync_all()))
            .with_context(|| input::name(file))?,
    }
    Ok(())
}

/// Goes back to the last rest of a session that cannot be restored; its journal is saved first.
pub(super) fn back(store: &SqliteStore, id: &str, save: &Path) -> Result<Exit> {
    if viewer(store).look(id, None).is_ok() {
        bail!("`{id}` can be continued as it is: there is nothing to go back from");
    }
    export(store, id, Some(save))?;
    let host = viewer(store);
    match on(async { Ok(host.back_to_rest(id).await?) })? {
        Some(rest) => {
            let (name, save) = (visible(id), visible(&save.display().to_string()));
            output::note(&format!("{name} is back at record {rest}; the whole journal is in {save}"));
            Ok(Exit::Done)
        }
        None => bail!("`{id}` can be continued as it is: there is nothing to go back from"),
    }
}

pub(super) fn import(store: &SqliteStore, from: &Path, name: Option<&str>) -> Result<Exit> {
    let open: Box<dyn Read> = match from.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(File::open(from).with_context(|| input::name(from))?),
    };
    let mut lines = Lines { from: BufReader::new(open.take(MOST_BYTES + 1)), read: 0 };
    let place = |line: u64| format!("{}, line {line}", input::name(from));
    let first = lines.next().with_context(|| place(1))?.unwrap_or_default();
    let head: Head = serde_json::from_str(&first)
        .map_err(|error| anyhow!("{}: it does not begin as an exported session does: {error}", place(1)))?;
    if head.obelus_session != FORM {
        bail!("{}: the export is of form {}, and this version knows form {FORM}", place(1), head.obelus_session);
    }
    let mut journal: Vec<Record> = Vec::new();
    loop {
        let (seq, at) = (journal.len() as u64 + 1, place(journal.len() as u64 + 2));
        let Some(line) = lines.next().with_context(|| at.clone())? else { break };
        let line: Line = serde_json::from_str(&line).with_context(|| at.clone())?;
        if line.seq != seq {
            bail!("{at}: record {} stands where record {seq} is expected", line.seq);
        }
        journal.push(Record { at: line.at, input: line.input, id: line.id, digest: line.digest });
    }
    if journal.len() as u64 != head.records {
        bail!("{}: it has {} records, and its first line says {}", input::name(from), journal.len(), head.records);
    }
    let id = name.unwrap_or(&head.id).to_owned();
    let Head { id: from_id, created, genesis, .. } = head;
    let export = Export { id: from_id, created, genesis, records: journal };
    let records = viewer(store).import(&id, export).with_context(|| input::name(from))?;
    output::note(&format!("`{id}`: {records} records"));
    Ok(Exit::Done)
}

pub(super) fn fork_at(store: &SqliteStore, id: &str, new: &str, at: Option<u64>) -> Result<Exit> {
    let Forked { at, is_paused } = viewer(store).fork(id, new, at)?;
    match is_paused {
        true => output::note(&format!(
            "`{new}` begins where `{id}` was after record {at}, at work, and is paused: look at it with \
             `obelus sessions show {new}`, let it go on with `obelus sessions resume {new}`"
        )),
        false => output::note(&format!("`{new}` begins where `{id}` was after record {at}")),
    }
    Ok(Exit::Done)
}
