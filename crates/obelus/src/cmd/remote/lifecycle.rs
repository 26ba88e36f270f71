//! Exports and prunes sessions of a server, and revokes consents.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use obelus_channel::client::{Client, encoded};
use obelus_channel::types::{MaybeKnown, SessionListRow, Taken};
use obelus_kernel::Time;
use obelus_runtime::sessions::SessionStatus;
use obelus_runtime::system_clock;

use super::copy::copied;
use super::inspect::rows;
use crate::cmd::sessions::consents;
use crate::cmd::sessions::transfer::write_new;
use crate::language::{fill, words_of};
use crate::output::{self, Exit, visible};

/// Commands that must run on the machine with the store.
const AS_PLAN: &str = "sessions export --plan";
const SHRINK: &str = "sessions prune --shrink";

/// Writes a session with its journal to a file. A plan cannot be written, because it contains the agent's tools, which
/// a copy lacks.
pub(super) async fn carry(client: &Client, id: &str, is_plan: bool, to: Option<&Path>) -> Result<Exit> {
    if is_plan {
        bail!("{}", fill(words_of(None).serving.at_its_machine, &[AS_PLAN]));
    }
    let lines = client.get_text(&format!("/api/v1/sessions/{}/export", encoded(id))).await?;
    let lines = String::from_utf8(lines).context("--server")?;
    write_new(to, &lines)?;
    Ok(Exit::Done)
}

/// Lists the consents of a session, or revokes one.
pub(super) async fn consents_of(client: &Client, id: &str, revoke: Option<&str>, as_json: bool) -> Result<Exit> {
    let Some(consent) = revoke else {
        return consents::list(&copied(client, id).await?, id, as_json);
    };
    let _: Taken = client.delete(&format!("/api/v1/sessions/{}/consents/{}", encoded(id), encoded(consent))).await?;
    output::note(&fill(words_of(None).chat.revoked, &[&visible(consent)]));
    Ok(Exit::Done)
}

/// Removes sessions that ended this many days ago. Sessions that wait, work, are paused or cannot be read stay.
pub(super) async fn prune(client: &Client, days: u64, is_dry: bool, shrink: bool) -> Result<Exit> {
    let words = words_of(None);
    if shrink {
        bail!("{}", fill(words.serving.at_the_store, &[SHRINK]));
    }
    let limit = system_clock().0.saturating_sub(i64::try_from(days.saturating_mul(86_400_000)).unwrap_or(i64::MAX));
    let mut removed = 0;
    for row in rows(client).await?.iter().filter(|row| is_over(row, Time(limit))) {
        if !is_dry {
            client.delete::<()>(&format!("/api/v1/sessions/{}", encoded(&row.id))).await?;
        }
        output::answer(&visible(&row.id));
        removed += 1;
    }
    let phrase = if is_dry { words.carried.would_remove } else { words.carried.removed };
    output::note(&words.count(phrase, removed));
    Ok(Exit::Done)
}

/// Whether a session had ended at a time.
fn is_over(row: &SessionListRow, limit: Time) -> bool {
    let last = row.last.as_ref().unwrap_or(&row.created);
    let is_old = Time::parse(last).is_some_and(|last| last <= limit);
    let is_done = match &row.status {
        MaybeKnown::Known(status) => match status {
            SessionStatus::New
            | SessionStatus::Done
            | SessionStatus::Degraded
            | SessionStatus::Limit
            | SessionStatus::Stopped => true,
            SessionStatus::UnderWay | SessionStatus::Waiting | SessionStatus::Paused | SessionStatus::Unreadable => {
                false
            }
        },
        MaybeKnown::Other(_) => false,
    };
    is_old && is_done && row.questions == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_old_ended_sessions_are_pruned() {
        let limit = Time::parse("2026-06-01T00:00:00Z").unwrap();
        let row = |status: &str, last: &str, questions: u64| -> SessionListRow {
            let (created, agent) = ("2026-01-01T00:00:00Z", "a");
            let row = json!({"id": "s", "agent": agent, "status": status, "created": created, "last": last, "records": 1, "questions": questions});
            serde_json::from_value(row).unwrap()
        };
        assert!(is_over(&row("done", "2026-05-01T00:00:00Z", 0), limit));
        assert!(is_over(&row("stopped", "2026-05-01T00:00:00Z", 0), limit));
        assert!(!is_over(&row("done", "2026-06-02T00:00:00Z", 0), limit));
        assert!(!is_over(&row("done", "2026-05-01T00:00:00Z", 1), limit));
        for status in ["waiting", "paused", "under_way", "unreadable", "of a later version"] {
            assert!(!is_over(&row(status, "2026-05-01T00:00:00Z", 0), limit), "{status}");
        }
        assert!(!is_over(&row("done", "", 0), limit), "a row without a time");
    }
}
