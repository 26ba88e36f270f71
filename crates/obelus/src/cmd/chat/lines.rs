//! The conversation without a terminal: each line of stdin is a message. Nothing can be approved here.

use anyhow::Result;
use obelus_kernel::session::{About, Question, QuestionId};
use obelus_runtime::sessions::InboxId;
use tokio::sync::mpsc;

use super::commands::{ChatCommand, parse};
use super::question;
use super::screen::OutputKind;
use super::talk::{News, Talk};
use super::text::{PLAIN, StyledLine};
use super::work::{ChatWork, ChatWorkResult};
use crate::cli::StoreArgs;
use crate::cmd::people::with_store;
use crate::language::{fill, words_of};
use crate::output::{DIM, Exit};

/// Reads lines until the end of stdin, and answers them.
pub(crate) async fn converse(
    mut talk: Talk,
    mut lines: mpsc::Receiver<Result<String>>,
    mut first: Option<String>,
) -> Result<Exit> {
    if let ChatWorkResult::Left = talk.work(ChatWork::Resume).await? {
        return Ok(Exit::Interrupted);
    }
    let mut shown = Vec::new();
    show_questions(&mut talk, &mut shown).await?;
    loop {
        let (mut listener, interrupted, terminated) = talk.apart();
        let line = tokio::select! {
            biased;
            Some(line) = async { first.take() } => Some(Ok(line)),
            line = lines.recv() => line,
            news = listener.news() => {
                if let ChatWorkResult::Left = take_in(&mut talk, news, &mut shown).await? {
                    return Ok(Exit::Interrupted);
                }
                continue;
            }
            _ = interrupted.recv() => return Ok(Exit::Interrupted),
            _ = terminated.recv() => return Ok(Exit::Interrupted),
        };
        let Some(line) = line.transpose()? else { break };
        if line.trim().is_empty() {
            continue;
        }
        let worked = match parse(&line, talk.phrases) {
            None => talk.work(ChatWork::Say(line)).await?,
            Some(Err(words)) => ChatWorkResult::Refused(words),
            Some(Ok(ChatCommand::Quit)) => break,
            Some(Ok(ChatCommand::Approve(_))) => ChatWorkResult::Refused(needs_terminal(&talk, "/approve")),
            Some(Ok(ChatCommand::Deny(id, reason))) => deny(&mut talk, id, reason).await?,
            Some(Ok(ChatCommand::Mode(Some(mode)))) => talk.change_mode(mode).await?,
            Some(Ok(ChatCommand::Image(path))) => {
                talk.attach(&path).await;
                continue;
            }
            Some(Ok(command)) => {
                let shown = talk.shown(&command).await?;
                talk.screen.lock().write(OutputKind::Note, &shown);
                continue;
            }
        };
        match worked {
            ChatWorkResult::Rested => show_questions(&mut talk, &mut shown).await?,
            ChatWorkResult::Refused(words) => talk.screen.lock().complain(&words),
            ChatWorkResult::Left => return Ok(Exit::Interrupted),
        }
    }
    finish(&mut talk, &mut shown).await?;
    talk.exit().await
}

/// Waits for detached work, and shows the questions of its calls.
async fn finish(talk: &mut Talk, shown: &mut Vec<QuestionId>) -> Result<()> {
    let handle = talk.handle.clone();
    if handle.inspect(|session| session.paused().is_some()).await? {
        return Ok(());
    }
    let mut finished = std::pin::pin!(handle.finished());
    loop {
        let (mut listener, ..) = talk.apart();
        tokio::select! {
            _ = &mut finished => break,
            news = listener.news() => drop(take_in(talk, news, shown).await?),
        }
    }
    if let Some(reply) = talk.catch_up() {
        talk.rested(&reply);
        show_questions(talk, shown).await?;
    }
    Ok(())
}

/// Shows what happened while no line was typed.
async fn take_in(talk: &mut Talk, news: News, shown: &mut Vec<QuestionId>) -> Result<ChatWorkResult> {
    let worked = match news {
        News::Rested(reply) => {
            talk.rested(&reply);
            ChatWorkResult::Rested
        }
        News::Event(event) => talk.work(ChatWork::Watch(event)).await?,
    };
    show_questions(talk, shown).await?;
    Ok(worked)
}

/// Denies a question. This needs no terminal, because it lets nothing run.
async fn deny(talk: &mut Talk, id: String, reason: Option<String>) -> Result<ChatWorkResult> {
    let Some(question) = talk.open().await?.into_iter().find(|question| question.id.to_string() == id) else {
        return Ok(ChatWorkResult::Refused(fill(talk.phrases.errors.no_question, &[&id])));
    };
    let reason = reason.unwrap_or_else(|| talk.phrases.ask.no_reason.to_owned());
    let digest = question.digest();
    let decision = obelus_kernel::session::Decision::Deny { reason };
    talk.work(ChatWork::Decide { question: question.id, decision, digest }).await
}

fn needs_terminal(talk: &Talk, command: &str) -> String {
    fill(talk.phrases.errors.needs_terminal, &[command])
}

/// Shows each open question once, and where it can be answered.
pub(super) async fn show_questions(talk: &mut Talk, shown: &mut Vec<QuestionId>) -> Result<()> {
    if !talk.open().await?.is_empty() {
        talk.settle().await?;
    }
    let ask = &talk.phrases.ask;
    let open = talk.open().await?;
    if !open.is_empty() && open.iter().all(|asked| shown.contains(&asked.id)) {
        let count = talk.phrases.count(talk.phrases.counts.questions, open.len() as u64);
        talk.screen.lock().note(&fill(talk.phrases.chat.waits, &[&count]));
    }
    for asked in open {
        if shown.contains(&asked.id) {
            continue;
        }
        let mut lines = question::lines(&talk.view(&asked).await?, false);
        if !talk.plays_itself {
            lines.push(
                StyledLine::of(PLAIN, "  ")
                    .own(DIM, where_to_answer(&asked, talk.session.as_deref(), &talk.store, ask)),
            );
        }
        talk.screen.lock().write(OutputKind::Question, &lines);
        shown.push(asked.id);
    }
    Ok(())
}

/// Where and how to answer a question that cannot be answered here.
fn where_to_answer(
    question: &Question,
    session: Option<&str>,
    store: &StoreArgs,
    ask: &obelus_words::Asking,
) -> String {
    let is_in_doubt = question.about == About::InDoubt;
    let Some(session) = session else {
        return if is_in_doubt { ask.doubt_not_kept } else { ask.not_kept }.to_owned();
    };
    let id = with_store(&InboxId::new(session, &question.id).to_string(), store);
    if is_in_doubt {
        fill(ask.doubt_elsewhere, &[&id, &id])
    } else if question.about == About::Input || question.asked_by().is_some() {
        fill(ask.answer_elsewhere, &[&id])
    } else {
        fill(ask.elsewhere, &[&with_store(session, store), &id])
    }
}

/// The lines of stdin, read in a separate thread, because reading blocks.
pub(super) fn stdin_lines() -> mpsc::Receiver<Result<String>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let line = read_line(&mut stdin);
            let is_last = !matches!(line, Some(Ok(_)));
            if let Some(line) = line
                && sender.blocking_send(line).is_err()
            {
                return;
            }
            if is_last {
                return;
            }
        }
    });
    receiver
}

/// The longest line.
const LONGEST: u64 = 1024 * 1024;

fn read_line(from: &mut impl std::io::BufRead) -> Option<Result<String>> {
    use std::io::{BufRead, Read};
    let mut bytes = Vec::new();
    match from.take(LONGEST).read_until(b'\n', &mut bytes) {
        Ok(0) => None,
        Ok(_) if bytes.len() as u64 == LONGEST => Some(Err(anyhow::anyhow!("{}", words_of(None).errors.long_line))),
        Ok(_) => {
            let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{}", words_of(None).errors.not_utf8));
            Some(text.map(|text| text.trim_end_matches(['\n', '\r']).to_owned()))
        }
        Err(error) => Some(Err(anyhow::anyhow!("stdin: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_in_doubt_is_not_offered_for_approval() {
        let (_, mut question) = question::sample::about_one();
        for language in [obelus_words::Language::Russian, obelus_words::Language::English] {
            let (ask, at) = (&language.words().ask, StoreArgs::default());
            question.about = About::Call;
            assert!(where_to_answer(&question, Some("s"), &at, ask).contains("obelus answer s:q1 approve"));
            let named = StoreArgs { store: Some("my store".into()), ..StoreArgs::default() };
            let hint = where_to_answer(&question, Some("s"), &named, ask);
            assert!(hint.contains("obelus chat --session s --store 'my store'"), "{hint}");
            assert!(hint.contains("obelus answer s:q1 --store 'my store' approve"), "{hint}");
            question.about = About::InDoubt;
            let hint = where_to_answer(&question, Some("s"), &at, ask);
            assert!(
                hint.contains("obelus answer s:q1 happened") && hint.contains("obelus answer s:q1 did-not"),
                "{hint}"
            );
            for hint in [hint, where_to_answer(&question, None, &at, ask)] {
                assert!(!hint.contains("approve") && !hint.contains("подтвер"), "{hint}");
            }
        }
    }

    #[test]
    fn lines_are_read_and_invalid_utf8_is_an_error() {
        let mut from = std::io::Cursor::new(b"one\r\n\xff\nthree".to_vec());
        assert_eq!(read_line(&mut from).unwrap().unwrap(), "one");
        assert!(read_line(&mut from).unwrap().unwrap_err().to_string().contains("UTF-8"));
        assert_eq!(read_line(&mut from).unwrap().unwrap(), "three");
        assert!(read_line(&mut from).is_none());
        let mut endless = std::io::Cursor::new(vec![b'x'; 2 * 1024 * 1024]);
        assert!(read_line(&mut endless).unwrap().unwrap_err().to_string().contains("longer"));
    }
}
