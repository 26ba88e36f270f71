//! A scripted conversation: messages and answers are predefined and shown.

use anyhow::{Result, bail};
use obelus_kernel::session::Decision;

use super::lines::show_questions;
use super::screen::OutputKind;
use super::talk::Talk;
use super::text::{PLAIN, StyledLine};
use super::work::{ChatWork, ChatWorkResult};
use crate::language::fill;
use crate::output::{BOLD, DIM};

/// One step of the tour.
pub(crate) enum TourStep {
    /// A heading.
    Explain(&'static str),
    /// A message of the user.
    Say(&'static str),
    /// Approve all open questions.
    Yes,
    /// Deny all open questions for a reason.
    No(&'static str),
}

/// Plays the moves in order.
pub(super) async fn play(talk: &mut Talk, moves: &[TourStep]) -> Result<()> {
    let mut shown = Vec::new();
    for step in moves {
        let worked = match step {
            TourStep::Explain(words) => {
                talk.screen.lock().write(OutputKind::Note, &[StyledLine::of(DIM, *words)]);
                continue;
            }
            TourStep::Say(words) => {
                talk.screen.lock().write(OutputKind::Note, &[you(talk).own(PLAIN, *words)]);
                let worked = talk.work(ChatWork::Say((*words).to_owned())).await?;
                show_questions(talk, &mut shown).await?;
                worked
            }
            TourStep::Yes => decide(talk, talk.phrases.running.yes, &Decision::Approve { only: None }).await?,
            TourStep::No(reason) => {
                let shown = fill(talk.phrases.running.no_because, &[reason]);
                decide(talk, &shown, &Decision::Deny { reason: (*reason).to_owned() }).await?
            }
        };
        match worked {
            ChatWorkResult::Rested => {}
            ChatWorkResult::Refused(words) => bail!("{}", fill(talk.phrases.tour.stuck, &[&words])),
            ChatWorkResult::Left => bail!("{}", talk.phrases.tour.broken_off),
        }
    }
    talk.handle.finished().await?;
    talk.catch_up();
    Ok(())
}

fn you(talk: &Talk) -> StyledLine {
    StyledLine::of(BOLD, format!("{}: ", talk.phrases.story.you))
}

/// Answers all open questions.
async fn decide(talk: &mut Talk, shown: &str, decision: &Decision) -> Result<ChatWorkResult> {
    let line = you(talk).own(PLAIN, shown.to_owned()).own(DIM, talk.phrases.running.by_the_tour);
    talk.screen.lock().write(OutputKind::Note, &[line]);
    let open = talk.open().await?;
    if open.is_empty() {
        bail!("{}", fill(talk.phrases.tour.stuck, &[talk.phrases.tour.nothing_waits]));
    }
    for question in open {
        let (digest, decision) = (question.digest(), decision.clone());
        if let other @ (ChatWorkResult::Refused(_) | ChatWorkResult::Left) =
            talk.work(ChatWork::Decide { question: question.id, decision, digest }).await?
        {
            return Ok(other);
        }
    }
    Ok(ChatWorkResult::Rested)
}
