//! Pause, resume and prune.

use anyhow::{Context as _, Result, bail};
use obelus_kernel::Time;
use obelus_kernel::session::{Input, Question};
use obelus_runtime::{Store, StoreError, system_clock};
use serde_json::json;

use super::super::holder::tell_holder;
use super::super::host::{Job, runtime, store_folder};
use super::super::run::{Begin, Place, play};
use super::look;
use crate::cli::StoreAt;
use crate::output::{self, Exit};

/// The name of a person at the command line, in journals.
pub(super) const BY: &str = "a person at the command line";

pub(super) fn pause(id: &str, at: &StoreAt) -> Result<Exit> {
    let input = Input::Pause { by: BY.to_owned() };
    let Some(store) = open_or_tell(id, at, &input, false)? else { return Ok(Exit::Done) };
    let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
    let (mut taken, _) = Job::restore(&store, id, genesis, None)?;
    runtime()?.block_on(taken.driver.accept(input))?;
    output::note(&format!("`{id}` is paused: nothing starts until `obelus sessions resume {id}`"));
    Ok(Exit::Done)
}

pub(super) fn resume(id: &str, at: &StoreAt, as_json: bool) -> Result<Exit> {
    let input = Input::Resume { by: BY.to_owned() };
    let Some(store) = open_or_tell(id, at, &input, as_json)? else { return Ok(Exit::Done) };
    let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
    let (taken, mcp) = Job::restore(&store, id, genesis, None)?;
    let driver = taken.driver;
    if driver.session().paused().is_none() {
        bail!("`{id}` is not paused");
    }
    play(driver, Place::with(mcp)?, Begin::Resumed(input), Some((store, id)), as_json, false)
}

/// Opens the store; where another process holds it, that one is told instead, and there is nothing more to do.
pub(super) fn open_or_tell(id: &str, at: &StoreAt, input: &Input, as_json: bool) -> Result<Option<Store>> {
    let folder = store_folder(at)?;
    match Store::open(&folder) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Held { holder, .. }) => {
            let process = tell_holder(&folder, id, input).with_context(|| format!("the store is held by {holder}"))?;
            match as_json {
                true => output::json(&json!({"taken": true, "holder": process})),
                false => output::note(&format!("taken; process {process} goes on with it")),
            }
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes sessions that have been done for `days` days. Sessions that wait, work or are paused stay.
pub(super) fn prune(at: &StoreAt, days: u64, dry: bool, shrink: bool) -> Result<Exit> {
    let store = Store::open(&store_folder(at)?)?;
    let limit =
        Time(system_clock().0.saturating_sub(i64::try_from(days.saturating_mul(86_400_000)).unwrap_or(i64::MAX)));
    let mut removed = 0;
    for row in store.list()? {
        if store.last_at(&row.id)?.unwrap_or(row.created) > limit {
            continue;
        }
        let session = match look::read(&store, &row.id, None) {
            Ok(session) => session,
            // Its content is unknown, so it is not removed.
            Err(error) => {
                output::warning(&format!("{} stays: {error:#}", row.id));
                continue;
            }
        };
        let waits = session.questions().iter().any(Question::is_open);
        if waits || !session.is_at_rest() || session.paused().is_some() {
            continue;
        }
        output::answer(&row.id);
        removed += 1;
        if !dry {
            store.remove(&row.id)?;
        }
    }
    let what = if dry { "would be removed" } else { "removed" };
    output::note(&format!("{removed} session{} {what}", if removed == 1 { "" } else { "s" }));
    if shrink {
        let freed = store.shrink().context("the sessions are removed, and the store's file is as large as before")?;
        output::note(&format!("the store's file is {freed} bytes smaller"));
    }
    Ok(Exit::Done)
}
