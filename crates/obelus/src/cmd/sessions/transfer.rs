//! Export, import and fork of sessions.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Take, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::Time;
use obelus_kernel::session::Input;
use obelus_runtime::engine::{Digest, Record, RestoreError};
use obelus_runtime::files::must_be_small;
use obelus_runtime::sessions::{Export, Forked, InputId};
use obelus_runtime::{EventBody, Host, HostError};
use obelus_words::CarriedWords;
use serde::Deserialize;
use serde_json::Value;

use super::super::host::open_editor;
use super::super::people::with_store;
use super::super::run::on;
use super::import_uses;
use crate::cli::StoreArgs;
use crate::input;
use crate::language::{fill, words_of};
use crate::output::{self, Exit, visible};

/// A longer export is refused.
const MOST_BYTES: u64 = 1 << 30;

/// Longer lines are refused.
const LONGEST: u64 = 64 << 20;

/// The texts for exports and imports.
fn words() -> &'static CarriedWords {
    &words_of(None).carried
}

/// The lines of an export, limited in length.
struct ExportLines<R> {
    from: BufReader<Take<R>>,
    read: u64,
}

impl<R: Read> ExportLines<R> {
    /// The next line; none at the end.
    fn next(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        (&mut self.from).take(LONGEST + 1).read_until(b'\n', &mut line)?;
        self.read += line.len() as u64;
        if line.len() as u64 > LONGEST {
            bail!("{}", fill(words().long_line, &[&(LONGEST >> 20).to_string()]));
        }
        if self.read > MOST_BYTES {
            bail!("{}", fill(words().large_export, &[&(MOST_BYTES >> 20).to_string()]));
        }
        must_be_small(&line)?;
        if line.is_empty() { Ok(None) } else { Ok(Some(String::from_utf8(line)?)) }
    }
}

/// The first line of an export.
#[derive(Deserialize)]
struct Head {
    obelus_session: u32,
    id: String,
    created: Time,
    records: u64,
    genesis: Value,
}

/// Each line after it.
#[derive(Deserialize)]
struct Line {
    seq: u64,
    at: Time,
    input: Arc<Input>,
    #[serde(default)]
    id: Option<InputId>,
    #[serde(default)]
    digest: Option<Digest>,
}

pub(super) fn export(host: &Host, id: &str, to: Option<&Path>) -> Result<Exit> {
    write_new(to, &output::escaped(&host.export(id)?.to_lines()?))?;
    Ok(Exit::Done)
}

/// Writes to a file that must not exist yet, or to stdout.
pub(in crate::cmd) fn write_new(to: Option<&Path>, text: &str) -> Result<()> {
    match to {
        None => {
            let mut stdout = std::io::stdout();
            output::watch(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
        }
        Some(file) => {
            // Only the owner may read a session's content.
            let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
            if opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
                bail!("{}", fill(words().file_exists, &[&input::name(file)]));
            }
            opened
                .and_then(|mut open| open.write_all(text.as_bytes()).and_then(|()| open.sync_all()))
                .with_context(|| input::name(file))?;
        }
    }
    Ok(())
}

/// Goes back to the last rest of a session that cannot be restored; its journal is saved first.
pub(super) fn back(at: &StoreArgs, id: &str, save: &Path) -> Result<Exit> {
    let host = open_editor(at)?;
    if host.rest_before_fault(id)?.is_none() {
        bail!("{}", fill(words().nothing_to_go_back, &[id]));
    }
    write_new(Some(save), &host.export_readable(id)?.to_lines()?)?;
    match on(async { Ok(host.rewind_to_rest(id).await?) })? {
        Some(rest) => {
            let (name, save) = (visible(id), visible(&save.display().to_string()));
            output::note(&fill(words().went_back, &[&name, &rest.to_string(), &save]));
            if host.view(id, None)?.paused().is_some() {
                output::note(&fill(words_of(None).sessions.paused_now, &[&name, &with_store(id, at)]));
            }
            Ok(Exit::Done)
        }
        None => bail!("{}", fill(words().nothing_to_go_back, &[id])),
    }
}

/// Imports a session. Untrusted imports are paused, and what they could use here is listed for the person who resumes
/// them. `named` is how a command names it.
pub(super) fn import(
    host: &Host,
    from: &Path,
    name: Option<&str>,
    is_trusted: bool,
    named: impl Fn(&str) -> String,
) -> Result<Exit> {
    let open: Box<dyn Read> = if from.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(from).with_context(|| input::name(from))?)
    };
    let export = read_export(open, &input::name(from))?;
    let id = name.unwrap_or(&export.id).to_owned();
    let uses = if is_trusted {
        None
    } else {
        Some(import_uses::uses_of(&export.genesis, &export.records).with_context(|| input::name(from))?)
    };
    let records = host.import(&id, export, !is_trusted).map_err(|error| match error {
        HostError::Restore(RestoreError::Differs { seq, what, .. }) => {
            // The first line is the head.
            let place = fill(words().at_line, &[&input::name(from), &(seq + 1).to_string()]);
            anyhow!("{}", fill(words().export_differs, &[&place, &visible(&what)]))
        }
        other => anyhow::Error::from(other).context(input::name(from)),
    })?;
    output::note(&fill(words().imported, &[&id, &records.to_string()]));
    if let Some(uses) = uses {
        import_uses::print(&uses);
        let named = visible(&named(&id));
        output::note(&fill(words().imported_paused, &[&visible(&id), &named, &named]));
    }
    Ok(Exit::Done)
}

/// Reads an export; `from` is how its source is called in errors.
pub(in crate::cmd) fn read_export(open: impl Read, from: &str) -> Result<Export> {
    let mut lines = ExportLines { from: BufReader::new(open.take(MOST_BYTES + 1)), read: 0 };
    let place = |line: u64| fill(words().at_line, &[from, &line.to_string()]);
    let first = lines.next().with_context(|| place(1))?.unwrap_or_default();
    let head: Head = serde_json::from_str(&first).map_err(|_| anyhow!("{}", fill(words().no_export, &[&place(1)])))?;
    if head.obelus_session != Export::FORM {
        let (form, known) = (head.obelus_session.to_string(), Export::FORM.to_string());
        bail!("{}", fill(words().other_form, &[&place(1), &form, &known]));
    }
    let mut journal: Vec<Record> = Vec::new();
    loop {
        let (seq, at) = (journal.len() as u64 + 1, place(journal.len() as u64 + 2));
        let Some(line) = lines.next().with_context(|| at.clone())? else { break };
        let line: Line = serde_json::from_str(&line).with_context(|| at.clone())?;
        if line.seq != seq {
            bail!("{}", fill(words().out_of_order, &[&at, &line.seq.to_string(), &seq.to_string()]));
        }
        journal.push(Record { at: line.at, input: line.input, id: line.id, digest: line.digest });
    }
    if journal.len() as u64 != head.records {
        let (found, said) = (journal.len().to_string(), head.records.to_string());
        bail!("{}", fill(words().other_count, &[from, &found, &said]));
    }
    let Head { id, created, genesis, .. } = head;
    Ok(Export { id, created, genesis, records: journal })
}

/// The effects that a session has begun after a record: the names of their tools, each with its count.
fn effects_after(host: &Host, id: &str, at: u64) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (Ok(session), Ok(history)) = (host.view(id, None), host.history(id)) else { return counts };
    for event in history.iter().filter(|event| event.number.record > at) {
        let EventBody::CallBegan { call, attempt: 1, .. } = &event.body else { continue };
        let Some(name) = call.tool() else { continue };
        if session.context().tool(name).is_none_or(|tool| tool.effect.acts()) {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    counts
}

pub(super) fn fork_at(at_store: &StoreArgs, id: &str, new: &str, at: Option<u64>) -> Result<Exit> {
    let host = open_editor(at_store)?;
    let forked = host.fork(id, new, at)?;
    print_fork(id, new, &with_store(new, at_store), &forked, &effects_after(&host, id, forked.at));
    Ok(Exit::Done)
}

/// Prints where a fork begins, and what the original has done after that. `named` is the fork as commands name it.
pub(crate) fn print_fork(id: &str, new: &str, named: &str, forked: &Forked, later: &BTreeMap<String, usize>) {
    let at = forked.at.to_string();
    output::note(&visible(&if forked.is_paused {
        fill(words().forked_paused, &[new, id, &at, named, named])
    } else {
        fill(words().forked, &[new, id, &at])
    }));
    if !later.is_empty() {
        let later: Vec<String> = later.iter().map(|(name, count)| format!("{name} × {count}")).collect();
        output::note(&visible(&fill(words().done_after_fork, &[id, &at, &later.join(", "), new])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_an_export_is_refused_with_its_line_or_read() {
        crate::fuzz::fuzz("export", |input| read_export(input, "export.jsonl").is_ok());
    }
}
