//! How to continue a session whose process ended in the middle of a turn.

use anyhow::Result;
use obelus_kernel::session::Input;
use obelus_runtime::Host;
use obelus_runtime::sessions::SessionStatus;

use super::super::people::quoted;
use super::{inspect, phrases_for};
use crate::cli::StoreArgs;
use crate::command_error::wrong;
use crate::language::{Words, fill, words_of_session};
use crate::output::{self, visible};

/// Says how to continue a session if nobody works on it.
pub(super) fn report(host: &Host, at: &StoreArgs, id: &str, status: SessionStatus, phrases: &Words) {
    if let Some(words) = way_on(host, at, id, status, phrases) {
        output::note(&visible(&words));
    }
}

/// How to continue a session if nobody works on it, as text.
fn way_on(host: &Host, at: &StoreArgs, id: &str, status: SessionStatus, phrases: &Words) -> Option<String> {
    if status != SessionStatus::UnderWay || host.is_run_elsewhere() {
        return None;
    }
    let named = at.store.as_ref().map(|folder| format!(" --store {}", quoted(&folder.display().to_string())));
    let command = format!("{} --session {}{}", command(host, id), quoted(id), named.unwrap_or_default());
    Some(fill(phrases.sessions.interrupted, &[id, &command]))
}

/// Refuses a command that does not continue an interrupted session; the error names the one that does.
pub(in crate::cmd) fn must_not_be(at: &StoreArgs, id: &str) -> Result<()> {
    match way_on_by_name(at, id) {
        Some(words) => Err(wrong(words, phrases_for(at, id))),
        None => Ok(()),
    }
}

/// How to continue a session if nobody works on it, as text; none also if it cannot be read.
pub(super) fn way_on_by_name(at: &StoreArgs, id: &str) -> Option<String> {
    let host = inspect::open(at).ok().flatten()?;
    let session = inspect::read(&host, id, None).ok()?;
    way_on(&host, at, id, SessionStatus::of(&session), words_of_session(&session))
}

/// The same for a session that was shown.
pub(super) fn report_by_name(host: &Host, at: &StoreArgs, id: &str) {
    if let Ok(session) = inspect::read(host, id, None) {
        report(host, at, id, SessionStatus::of(&session), words_of_session(&session));
    }
}

/// The command that goes on where the session was: for a file the one that started it, else the conversation.
fn command(host: &Host, id: &str) -> String {
    let file = host.spec(id).ok().flatten().filter(|spec| spec.agent.is_empty()).map(|spec| spec.name);
    match (file, host.last_turn_input(id)) {
        (Some(file), Ok(Some(Input::RunPlan))) => format!("obelus plan run {}", quoted(&file)),
        (Some(file), Ok(Some(Input::Start))) => format!("obelus run {}", quoted(&file)),
        _ => "obelus chat".to_owned(),
    }
}
