//! How to continue a session whose process ended in the middle of a turn.

use obelus_kernel::session::Input;
use obelus_runtime::SqliteStore;
use obelus_runtime::sessions::SessionStatus;

use super::super::host::viewer;
use super::super::people::quoted;
use super::inspect;
use crate::cli::StoreArgs;
use crate::language::{Words, fill};
use crate::output::{self, visible};

/// Says how to continue a session if nobody works on it.
pub(super) fn tell(store: &SqliteStore, at: &StoreArgs, id: &str, status: SessionStatus, phrases: &Words) {
    if status != SessionStatus::UnderWay || store.is_held() {
        return;
    }
    let named = at.store.as_ref().map(|folder| format!(" --store {}", quoted(&folder.display().to_string())));
    let command = format!("{} --session {}{}", command(store, id), quoted(id), named.unwrap_or_default());
    output::note(&visible(&fill(phrases.kept.interrupted, &[id, &command])));
}

/// The same for a session that was shown.
pub(super) fn tell_shown(store: &SqliteStore, at: &StoreArgs, id: &str) {
    if let Ok(session) = inspect::read(store, id, None) {
        tell(store, at, id, SessionStatus::of(&session), crate::language::words_of_session(&session));
    }
}

/// The command that goes on where the session was: for a file the one that started it, else the conversation.
fn command(store: &SqliteStore, id: &str) -> String {
    let file = viewer(store).spec(id).ok().flatten().filter(|spec| spec.agent.is_empty()).map(|spec| spec.name);
    match (file, store.last_turn_input(id)) {
        (Some(file), Ok(Some(Input::RunPlan))) => format!("obelus plan run {}", quoted(&file)),
        (Some(file), Ok(Some(Input::Start))) => format!("obelus run {}", quoted(&file)),
        _ => "obelus chat".to_owned(),
    }
}
