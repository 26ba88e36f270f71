//! Pause, resume and prune.

use anyhow::{Context as _, Result, bail};
use obelus_kernel::Time;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Input, Question, Session, TurnEnd};
use obelus_runtime::{Host, StoreError, system_clock};
use serde_json::Value;

use super::super::holder::send_to_holder;
use super::super::host::{Notices, connector, open_editor, open_host};
use super::super::people::with_store;
use super::super::run::{Begin, SessionRun, ShowOptions, on, play};
use super::inspect::open_for;
use super::{import_uses, interrupted, opened};
use crate::cli::StoreArgs;
use crate::language::{fill, words_of};
use crate::output::{self, Exit, visible};

pub(super) fn pause(id: &str, at: &StoreArgs) -> Result<Exit> {
    let input = Input::Pause { by: SentBy::COMMAND_LINE.to_owned() };
    let host = match open_or_tell(id, at, &input, false)? {
        Ok(host) => host,
        Err(exit) => return Ok(exit),
    };
    on(async {
        let handle = opened(&host, id).await?;
        handle.tell(input).await?;
        host.close().await;
        Ok(())
    })?;
    let named = with_store(id, at);
    output::note(&fill(super::phrases_for(at, id).sessions.paused_now, &[&visible(id), &named]));
    Ok(Exit::Done)
}

pub(super) fn resume(id: &str, at: &StoreArgs, as_json: bool) -> Result<Exit> {
    let input = Input::Resume { by: SentBy::COMMAND_LINE.to_owned() };
    interrupted::must_not_be(at, id)?;
    let beside = open_for(at, id)?;
    // With questions about effects that the last process left in doubt.
    let paused = beside.view_interrupted(id)?;
    import_uses::print_if_imported(&beside, id, &paused)?;
    drop(beside);
    let host = match open_or_tell(id, at, &input, as_json)? {
        Ok(host) => host,
        Err(exit) => return Ok(exit),
    };
    on(async {
        let handle = opened(&host, id).await?;
        if handle.inspect(|session| session.paused().is_none()).await? {
            bail!("{}", fill(super::phrases_for(at, id).sessions.not_paused, &[id]));
        }
        if !as_json && has_nothing_to_do(paused, &input) {
            handle.tell(input).await?;
            handle.finished().await?;
            host.close().await;
            output::note(&fill(super::phrases_for(at, id).sessions.nothing_to_do, &[&visible(id)]));
            return Ok(Exit::Done);
        }
        let stage = SessionRun { host, handle };
        play(stage, Begin::Resumed(input), ShowOptions { as_json, is_plan: false, store: at.clone() }).await
    })
}

/// Whether a session rests after an input with its result, and asks nothing.
fn has_nothing_to_do(mut session: Session, input: &Input) -> bool {
    let now = session.now();
    let is_taken = session.handle(now, input.clone()).is_ok();
    let has_ended_well = session.reply().is_none_or(|reply| reply.ends == TurnEnd::Output);
    is_taken && session.is_at_rest() && has_ended_well && !session.questions().iter().any(Question::is_open)
}

/// A host of the store; if another process holds it, that one gets the input, and the exit code of the command is returned.
pub(super) fn open_or_tell(id: &str, at: &StoreArgs, input: &Input, as_json: bool) -> Result<Result<Host, Exit>> {
    match open_host(at, connector(at, &Notices::default())?).map_err(anyhow::Error::downcast) {
        Ok(host) => Ok(Ok(host)),
        Err(Ok(StoreError::Held { folder, holder })) => {
            let phrases = super::phrases_for(at, id);
            let held = || fill(phrases.answering.held_by, &[&holder.to_string()]);
            // Programs get one document: that it was taken.
            let show = |answer: &Value, words: &str| match (as_json, answer["taken"].is_boolean()) {
                (true, true) => output::json(answer),
                (true, false) => {}
                (false, _) => output::note(words),
            };
            let ended = send_to_holder(&folder, id, input, &with_store(id, at), phrases, &show).with_context(held)?;
            Ok(Err(ended.unwrap_or_else(|| {
                let words = &phrases.answering;
                output::warning(&fill(words.end_unknown, &[words.by_holder, &with_store("", at)]));
                Exit::Failed
            })))
        }
        Err(Ok(error)) => Err(error.into()),
        Err(Err(error)) => Err(error),
    }
}

/// Removes sessions that have been done for `days` days. Waiting, running and paused sessions stay.
pub(super) fn prune(at: &StoreArgs, days: u64, dry: bool, shrink: bool) -> Result<Exit> {
    let host = open_editor(at)?;
    let limit =
        Time(system_clock().0.saturating_sub(i64::try_from(days.saturating_mul(86_400_000)).unwrap_or(i64::MAX)));
    let words = words_of(None);
    let mut removed = 0;
    for row in host.list()? {
        if row.last_at.unwrap_or(row.created) > limit {
            continue;
        }
        let session = match host.view_interrupted(&row.id) {
            Ok(session) => session,
            // Its content is unknown, so it is not removed.
            Err(error) => {
                output::warning(&fill(words.carried.stays, &[&row.id, &format!("{error:#}")]));
                continue;
            }
        };
        let waits = session.questions().iter().any(Question::is_open);
        if waits || !session.is_at_rest() || session.paused().is_some() {
            continue;
        }
        if !dry {
            let stays = || fill(words.carried.stays_after, &[&row.id, &removed.to_string()]);
            on(async { host.remove(&row.id).await.with_context(stays) })?;
        }
        output::answer(&row.id);
        removed += 1;
    }
    let phrase = if dry { words.carried.would_remove } else { words.carried.removed };
    output::note(&words.count(phrase, removed));
    if shrink {
        let freed = host.shrink_store().context(words.carried.not_shrunk)?;
        output::note(&words.count(words.carried.shrunk, freed));
    }
    Ok(Exit::Done)
}
