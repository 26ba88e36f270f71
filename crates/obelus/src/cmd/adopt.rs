//! `obelus sessions adopt`: imports the state of another program as a session (B24-7).

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use obelus_kernel::session::{Input, Question};
use obelus_runtime::{SessionJournal, Store, StoreError, system_clock};
use serde_json::{Value, json};

use super::agents;
use super::host::{Job, runtime, with_files};
use super::people;
use super::run::load_agent;
use crate::input;
use crate::output::{self, Exit, visible};

pub(crate) fn adopt(store: &Store, file: &Path, agent: &str, session: Option<&str>, as_json: bool) -> Result<Exit> {
    let name = input::name(file);
    let id = match session {
        Some(id) => id.to_owned(),
        None => file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
    };
    let state: Value = serde_json::from_str(&input::text(file)?).map_err(|error| {
        let words = error.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        anyhow!("{name}:{}:{}: {words}", error.line(), error.column())
    })?;
    let mut job = Job::from_agent(load_agent(&agents::locate(agent)?)?);
    let runtime = runtime()?;
    job.meet_servers(&runtime)?;
    let mcp = job.mcp.clone();
    let (genesis, agent) = (job.genesis()?, job.agent.clone());
    // Refuse an invalid state before anything is written.
    let driver = job.pictured(store, &id).drive(&id, None)?;
    driver.session().would_take(&state).map_err(|refused| anyhow!("{name}: {refused}"))?;
    if store.genesis(&id)?.is_some() {
        bail!("{}: name another one with --session", StoreError::Exists(id));
    }
    store.create(&id, system_clock(), &genesis)?;
    let driver = driver.journaled_by(SessionJournal::new(store.clone(), id.as_str()));
    let mut driver = with_files(driver, store, &id, &agent)?;
    let by = format!("the import of {name}");
    let told = runtime.block_on(driver.tell(Input::State { state, by }));
    told.map_err(|refused| anyhow!("{name}: {refused}"))?;
    runtime.block_on(mcp.close());
    let session = driver.session();
    if as_json {
        output::json(&json!({"session": id, "state": session.state()}));
        return Ok(Exit::Done);
    }
    for question in session.questions().iter().filter(|question| Question::is_open(question)) {
        output::answer(&people::shown(question));
    }
    output::note(&format!("continue `{}` with `obelus chat --session {id}`", visible(&id)));
    Ok(Exit::Done)
}
