//! A conversation with a session of a server, line by line.
//!
//! At a terminal questions are asked there: `y` approves exactly what is shown, `n` or `n REASON` denies it, an empty
//! line leaves it open, and other input is asked for again. Without a terminal nothing is approved.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::Result;
use obelus_channel::client::{Client, ClientError, EventReader, ServerEvent, ServerEventBody, encoded};
use obelus_channel::types::{AnswerBody, AnswerRequest, NewSession, QuestionRow, SessionView, Taken, TurnView};
use obelus_kernel::session::{Mode, TurnEnd};
use obelus_runtime::people::{AnswerKind, typed_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{exit_of_output, followed, language, print_step, rested, steps_that_read_it};
use crate::cli::ChatArgs;
use crate::cmd::people::by_in_words;
use crate::language::{chosen, fill, wanted, words_of};
use crate::output::{self, BOLD, DIM, Exit, visible};

/// A conversation.
pub(super) struct Remote<'a> {
    pub(super) client: &'a Client,
    pub(super) session: String,
    lines: mpsc::Receiver<std::io::Result<String>>,
    pub(super) is_terminal: bool,
    /// Whether the person has left.
    pub(super) is_over: bool,
    pub(super) phrases: &'static crate::language::Words,
}

pub(super) async fn converse(client: &Client, args: &ChatArgs) -> Result<Exit> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let phrases = words_of(None);
    let mut remote =
        Remote { client, session: String::new(), lines: stdin_lines(), is_terminal, is_over: false, phrases };
    let prompt = format!("{BOLD}›{BOLD:#} ");
    let known = known(client, args).await?;
    // A new session has the language of the first message, so that is read first.
    let mut first = match (&known, chosen()) {
        (None, None) => remote.line(&prompt).await?,
        _ => None,
    };
    remote.session = match known {
        Some(id) => id,
        None => create(client, args, first.as_deref()).await?,
    };
    let words = fill(phrases.serving.talks, &[&remote.session, client.address()]);
    output::note(&format!("{DIM}{}{DIM:#}", visible(&words)));
    // Open questions are asked first.
    let mut ended = remote.ask_open().await?;
    while !remote.is_over {
        let Some(line) = remote.next_line(&mut first, &prompt).await? else { break };
        match line.trim() {
            "" => {}
            words if words.starts_with('/') => ended = remote.command(words).await?.unwrap_or(ended),
            words => ended = remote.say(words).await?,
        }
    }
    Ok(ended)
}

/// The named session, if it exists.
async fn known(client: &Client, args: &ChatArgs) -> Result<Option<String>> {
    let Some(id) = &args.how.session else { return Ok(None) };
    match client.get::<SessionView>(&format!("/api/v1/sessions/{}", encoded(id))).await {
        Err(ClientError::Refused { status: 404, .. }) => Ok(None),
        known => Ok(Some(known?.id)),
    }
}

/// Creates a session, in the language of the first message unless another is named.
async fn create(client: &Client, args: &ChatArgs, first: Option<&str>) -> Result<String> {
    let message = first.filter(|line| !line.starts_with('/'));
    let language = wanted(message).unwrap_or_else(|| language().code());
    let new = NewSession {
        agent: args.agent.as_deref().unwrap_or("crm").to_owned(),
        id: args.how.session.clone(),
        lang: Some(language.to_owned()),
        mode: args.how.mode.map(Mode::from),
        ..NewSession::default()
    };
    Ok(client.post::<SessionView>("/api/v1/sessions", &new).await?.id)
}

impl Remote<'_> {
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/api/v1/sessions/{}{rest}", encoded(&self.session))
    }

    pub(super) fn question_path(&self, id: &str) -> String {
        format!("/api/v1/questions/{}", encoded(id))
    }

    /// The session as it is now.
    async fn session_view(&self) -> Result<SessionView> {
        Ok(self.client.get(&self.path("")).await?)
    }

    /// Stops the turn.
    pub(super) async fn stop(&self) -> Result<Taken> {
        Ok(self.client.post(&self.path("/stop"), &json!({})).await?)
    }

    /// Asks the open questions.
    pub(super) async fn ask_open(&mut self) -> Result<Exit> {
        let known = self.session_view().await?;
        let asked = self.ask(ids(known.questions)).await?;
        Ok(if known.paused_by.is_some() { Exit::Waiting } else { asked })
    }

    /// Sends a message, shows the consequences, and asks questions. Says why a message that may be meant as an answer has
    /// not answered a question.
    async fn say(&mut self, words: &str) -> Result<Exit> {
        let is_asked = !self.session_view().await?.questions.is_empty();
        let taken: Taken = self.client.post(&self.path("/messages"), &json!({"text": words})).await?;
        let turn = self.follow(&taken.event).await?;
        if is_asked && turn.is_some() {
            let path = self.path(&format!("/turn?message={}&timeout=1", taken.record));
            let turn: Option<TurnView> = self.client.get(&path).await?;
            if let Some(why) = turn.and_then(|turn| turn.left_open) {
                output::note(&visible(&why));
            }
        }
        self.came_to(turn).await
    }

    /// Says that a paused session has taken an input, or that it was paused within a turn; returns whether it is paused.
    async fn report_paused(&self, is_taken: bool) -> Result<bool> {
        let Some(by) = self.session_view().await?.paused_by else { return Ok(false) };
        let (id, by, words) = (visible(&self.session), by_in_words(&by, self.phrases), &self.phrases.sessions);
        let named = format!("{id} --server {}", visible(self.client.address()));
        let note =
            if is_taken { fill(words.noted, &[&by, &named]) } else { fill(words.paused_by, &[&id, &by, &named]) };
        output::note(&note);
        Ok(true)
    }

    /// Shows events until the turn rests, and returns its result; none if the session is paused. Ctrl-C stops it.
    pub(super) async fn follow(&mut self, after: &str) -> Result<Option<TurnView>> {
        // A paused session takes the input, but starts nothing, so there is no wait (DUR-11).
        if self.report_paused(true).await? {
            return Ok(None);
        }
        let mut after = after.to_owned();
        let mut shown: Vec<String> = Vec::new();
        'again: loop {
            let mut events = self.client.events(&self.session, &after).await?;
            loop {
                let Some(event) = self.next(&mut events).await? else { continue 'again };
                if !event.body.is_transient() {
                    after = event.number;
                }
                match event.body {
                    ServerEventBody::AgentSaid { text } => {
                        output::answer(&visible(&text));
                        shown.push(text);
                    }
                    ServerEventBody::Rested => break 'again,
                    ServerEventBody::Paused => {
                        // Running calls continue to their end.
                        let turn = followed(self.client, &self.session, &after).await?;
                        match &turn {
                            Some(turn) => print_rest(turn, &shown),
                            None => drop(self.report_paused(false).await?),
                        }
                        return Ok(turn);
                    }
                    ServerEventBody::Missed => continue 'again,
                    body => print_step(body),
                }
            }
        }
        let turn = rested(self.client, &self.session).await?;
        if let Some(turn) = &turn {
            print_rest(turn, &shown);
        }
        Ok(turn)
    }

    async fn next(&self, events: &mut EventReader) -> Result<Option<ServerEvent>> {
        loop {
            tokio::select! {
                event = events.next() => return Ok(event),
                _ = tokio::signal::ctrl_c() => drop(self.stop().await?),
            }
        }
    }

    pub(super) async fn came_to(&mut self, turn: Option<TurnView>) -> Result<Exit> {
        let Some(turn) = turn else { return Ok(Exit::Waiting) };
        match turn.ends {
            TurnEnd::Waiting => self.ask(turn.waiting).await,
            TurnEnd::Output => Ok(exit_of_output(&turn)),
            TurnEnd::Degraded | TurnEnd::Limit | TurnEnd::Stopped => Ok(Exit::Failed),
        }
    }

    /// Asks questions, one after the other, until one stays open or none is left.
    pub(super) async fn ask(&mut self, mut waiting: Vec<String>) -> Result<Exit> {
        while let Some(id) = waiting.first().cloned() {
            let path = self.question_path(&id);
            let row: QuestionRow = self.client.get(&path).await?;
            super::inspect::print_question(self.client, &row);
            if !self.is_terminal {
                return Ok(Exit::Waiting);
            }
            let words = &self.phrases.serving;
            let is_doubt = row.answers.contains(&AnswerKind::Happened);
            let prompt = format!("{} ", if is_doubt { words.remote_doubt } else { words.remote_ask });
            let Some(typed) = self.line(&prompt).await?.filter(|typed| !typed.trim().is_empty()) else {
                return Ok(Exit::Waiting);
            };
            if typed.trim().starts_with('/') {
                return Ok(self.command(typed.trim()).await?.unwrap_or(Exit::Waiting));
            }
            // Other input is requested again, so that a decision is never an accident.
            let Some(answer) = decision(typed.trim(), &row.answers, row.schema.as_ref()) else {
                output::warning(words.remote_unclear);
                continue;
            };
            let has_no_result = is_doubt && typed.trim().eq_ignore_ascii_case(AnswerKind::Happened.name());
            if let Some(steps) = steps_that_read_it(&row).filter(|_| has_no_result) {
                output::warning(&fill(words.remote_result, &[&steps]));
                continue;
            }
            let request = AnswerRequest { answer, digest: Some(row.digest) };
            let taken: Taken = match self.client.post(&format!("{path}/answer"), &request).await {
                Ok(taken) => taken,
                // It was answered elsewhere, or the answer is invalid: show it again.
                Err(ClientError::Refused { message, .. }) => {
                    output::warning(&message);
                    waiting = ids(self.session_view().await?.questions);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(turn) = self.follow(&taken.event).await? else { return Ok(Exit::Waiting) };
            waiting = turn.waiting;
        }
        Ok(Exit::Done)
    }

    /// The line that was already read, else the next one.
    async fn next_line(&mut self, first: &mut Option<String>, prompt: &str) -> Result<Option<String>> {
        match first.take() {
            Some(line) => Ok(Some(line)),
            None => self.line(prompt).await,
        }
    }

    /// The next typed line; none at the end.
    async fn line(&mut self, prompt: &str) -> Result<Option<String>> {
        if self.is_terminal {
            let _ = write!(anstream::stderr(), "{prompt}");
            let _ = anstream::stderr().flush();
        }
        Ok(self.lines.recv().await.transpose()?)
    }
}

/// The typed answer; none if it does not answer the question.
fn decision(typed: &str, answers: &[AnswerKind], schema: Option<&Value>) -> Option<AnswerBody> {
    let said = typed.to_lowercase();
    if answers.contains(&AnswerKind::Value) {
        return Some(AnswerBody::Value { value: typed_value(typed, schema) });
    }
    if answers.contains(&AnswerKind::Happened) {
        return match said.split_once(char::is_whitespace) {
            Some(("happened", _)) => {
                let result: Value = serde_json::from_str(typed["happened".len()..].trim()).ok()?;
                Some(AnswerBody::Happened { result })
            }
            None if said == "happened" => Some(AnswerBody::Happened { result: Value::Null }),
            None if said == "did-not" || said == "did_not" => Some(AnswerBody::DidNot),
            _ => None,
        };
    }
    let (first, reason) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    match first.to_lowercase().trim_end_matches([',', '.', ':']) {
        "y" | "yes" | "д" | "да" if reason.is_empty() => Some(AnswerBody::Approve { only: None }),
        "n" | "no" | "н" | "нет" => Some(AnswerBody::Deny { reason: reason.trim().to_owned(), only: None }),
        _ => None,
    }
}

/// The ids of questions.
fn ids(questions: Vec<QuestionRow>) -> Vec<String> {
    questions.into_iter().map(|question| question.id).collect()
}

/// The result of a turn, without the text that was already streamed.
fn print_rest(turn: &TurnView, said: &[String]) {
    let mut rest = turn.text.as_str();
    for words in &turn.said {
        let is_shown = said.iter().any(|shown| shown == words);
        rest = rest.strip_prefix(visible(words).as_str()).filter(|_| is_shown).unwrap_or(rest).trim_start_matches('\n');
    }
    if !rest.is_empty() && !said.iter().any(|shown| shown == rest) {
        output::answer(&visible(rest));
    }
}

/// The lines of stdin.
fn stdin_lines() -> mpsc::Receiver<std::io::Result<String>> {
    let (sender, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_approves_and_only_a_no_denies() {
        let call = |typed| decision(typed, &[AnswerKind::Approve, AnswerKind::Deny, AnswerKind::Edit], None);
        let deny = |reason: &str| Some(AnswerBody::Deny { reason: reason.to_owned(), only: None });
        assert_eq!(call("Да"), Some(AnswerBody::Approve { only: None }));
        assert_eq!(call("n"), deny(""));
        assert_eq!(call("n not today"), deny("not today"));
        assert_eq!(call("Нет, позже"), deny("позже"));
        for other in ["yes please", "e", "not today", "wait", "y but later"] {
            assert_eq!(call(other), None, "`{other}` decides nothing");
        }
        let schema = json!({"type": "integer"});
        let value = decision("4", &[AnswerKind::Value, AnswerKind::Deny], Some(&schema));
        assert_eq!(value, Some(AnswerBody::Value { value: json!(4) }));
        let doubt = |typed| decision(typed, &[AnswerKind::Happened, AnswerKind::DidNot], None);
        assert_eq!(doubt("happened"), Some(AnswerBody::Happened { result: Value::Null }));
        assert_eq!(doubt("did-not"), Some(AnswerBody::DidNot));
        assert_eq!(doubt("happened {\"A\": 1}"), Some(AnswerBody::Happened { result: json!({"A": 1}) }));
        assert_eq!(doubt("happened today"), None, "a result is JSON");
        for word in ["y", "yes", "no", "perhaps"] {
            assert_eq!(doubt(word), None, "`{word}` does not say whether it happened");
        }
    }
}
