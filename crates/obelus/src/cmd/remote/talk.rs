//! A conversation with a session of a server, line by line.
//!
//! At a terminal questions are asked there: `y` approves exactly what is shown, `n` or `n REASON` denies it, an empty
//! line leaves it open, and other input is asked for again. Without a terminal nothing is approved.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::{Result, anyhow};
use obelus_channel::client::{Client, ClientError, EventReader, encoded};
use obelus_kernel::session::QuestionId;
use obelus_runtime::people::QuestionView;
use obelus_runtime::sessions::InboxId;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::copy::SessionCopy;
use super::{exit_of_output, followed, language, print_step, rested, steps_that_read_it, text};
use crate::cli::{ChatArgs, ModeArg};
use crate::cmd::people::{by_in_words, value_said};
use crate::cmd::sessions::inspect;
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
    match client.get(&format!("/api/v1/sessions/{}", encoded(id))).await {
        Err(ClientError::Refused { status: 404, .. }) => Ok(None),
        known => known.map(|_| Some(id.clone())).map_err(Into::into),
    }
}

/// Creates a session, in the language of the first message unless another is named.
async fn create(client: &Client, args: &ChatArgs, first: Option<&str>) -> Result<String> {
    let message = first.filter(|line| !line.starts_with('/'));
    let language = wanted(message).unwrap_or_else(|| language().code());
    let mut new = json!({"agent": args.agent.as_deref().unwrap_or("crm"), "lang": language});
    if let Some(id) = &args.how.session {
        new["id"] = id.as_str().into();
    }
    if let Some(mode) = args.how.mode {
        new["mode"] = match mode {
            ModeArg::Shadow => "shadow",
            ModeArg::Canary => "canary",
            ModeArg::Full => "full",
        }
        .into();
    }
    let made = client.post("/api/v1/sessions", &new).await?;
    made["id"].as_str().map(str::to_owned).ok_or_else(|| anyhow!(words_of(None).serving.no_session_id))
}

impl Remote<'_> {
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/api/v1/sessions/{}{rest}", encoded(&self.session))
    }

    pub(super) fn question_path(&self, id: &str) -> String {
        format!("/api/v1/questions/{}", encoded(id))
    }

    /// Asks the open questions.
    pub(super) async fn ask_open(&mut self) -> Result<Exit> {
        let known = self.client.get(&self.path("")).await?;
        let asked = self.ask(ids(&known["questions"], "id")).await?;
        Ok(if known["paused_by"].is_string() { Exit::Waiting } else { asked })
    }

    /// Sends a message, shows the consequences, and asks questions. Says why a message that may be meant as an answer has
    /// not answered a question.
    async fn say(&mut self, words: &str) -> Result<Exit> {
        let known = self.client.get(&self.path("")).await?;
        let open = ids(&known["questions"], "id");
        let accepted = self.client.post(&self.path("/messages"), &json!({"text": words})).await?;
        let turn = self.follow(text(&accepted, "event")).await?;
        if !open.is_empty() && !turn.is_null() {
            self.report_left_open(words, &open).await?;
        }
        self.came_to(&turn).await
    }

    /// Says why a message left these questions open, if it may be meant as an answer.
    async fn report_left_open(&self, words: &str, open: &[String]) -> Result<()> {
        let open: Vec<QuestionId> = open.iter().filter_map(|id| InboxId::parse(id)).map(|id| id.question).collect();
        let copy = SessionCopy::of(self.client, &self.session).await?;
        let session = inspect::read(&copy.store, &self.session, None)?;
        if let Some(left) = QuestionView::left_open(&session, words, &open, self.phrases.language) {
            output::note(&left);
        }
        Ok(())
    }

    /// Says that a paused session has taken an input, or that it was paused within a turn; returns whether it is paused.
    async fn report_paused(&self, is_taken: bool) -> Result<bool> {
        let known = self.client.get(&self.path("")).await?;
        let Some(by) = known["paused_by"].as_str() else { return Ok(false) };
        let (id, by, words) = (visible(&self.session), by_in_words(by, self.phrases), &self.phrases.sessions);
        let named = format!("{id} --server {}", visible(self.client.address()));
        let note =
            if is_taken { fill(words.noted, &[&by, &named]) } else { fill(words.paused_by, &[&id, &by, &named]) };
        output::note(&note);
        Ok(true)
    }

    /// Shows events until the turn rests, and returns its result; none if the session is paused. Ctrl-C stops it.
    pub(super) async fn follow(&mut self, after: &str) -> Result<Value> {
        // A paused session takes the input, but starts nothing, so there is no wait (DUR-11).
        if self.report_paused(true).await? {
            return Ok(Value::Null);
        }
        let mut after = after.to_owned();
        let mut shown: Vec<String> = Vec::new();
        'again: loop {
            let mut events = self.client.events(&self.session, &after).await?;
            loop {
                let Some(event) = self.next(&mut events).await? else { continue 'again };
                match text(&event, "event") {
                    "agent_said" => {
                        output::answer(&visible(text(&event, "text")));
                        shown.push(text(&event, "text").to_owned());
                    }
                    "call_began" | "call_ended" => print_step(&event),
                    "rested" => break 'again,
                    "paused" => {
                        // Running calls continue to their end.
                        let turn = followed(self.client, &self.session, &after).await?;
                        if turn.is_null() {
                            self.report_paused(false).await?;
                        }
                        print_rest(&turn, &shown);
                        return Ok(turn);
                    }
                    "missed" => continue 'again,
                    _ => {}
                }
                if !["writing", "moved", "files", "failed", "missed"].contains(&text(&event, "event")) {
                    text(&event, "number").clone_into(&mut after);
                }
            }
        }
        let turn = rested(self.client, &self.session).await?;
        print_rest(&turn, &shown);
        Ok(turn)
    }

    async fn next(&self, events: &mut EventReader) -> Result<Option<Value>> {
        loop {
            tokio::select! {
                event = events.next() => return Ok(event),
                _ = tokio::signal::ctrl_c() => {
                    self.client.post(&self.path("/stop"), &json!({})).await?;
                }
            }
        }
    }

    pub(super) async fn came_to(&mut self, turn: &Value) -> Result<Exit> {
        match text(turn, "ends") {
            _ if turn.is_null() => Ok(Exit::Waiting),
            "waiting" => {
                let waiting = turn["waiting"].as_array().into_iter().flatten();
                let waiting = waiting.filter_map(|id| id.as_str().map(str::to_owned)).collect();
                self.ask(waiting).await
            }
            "output" => Ok(exit_of_output(turn)),
            _ => Ok(Exit::Failed),
        }
    }

    /// Asks questions, one after the other, until one stays open or none is left.
    pub(super) async fn ask(&mut self, mut waiting: Vec<String>) -> Result<Exit> {
        while let Some(id) = waiting.first().cloned() {
            let path = self.question_path(&id);
            let row = self.client.get(&path).await?;
            super::inspect::print_question(self.client, &row);
            if !self.is_terminal {
                return Ok(Exit::Waiting);
            }
            let words = &self.phrases.serving;
            let is_doubt = allows(&row, "happened");
            let prompt = format!("{} ", if is_doubt { words.remote_doubt } else { words.remote_ask });
            let Some(typed) = self.line(&prompt).await?.filter(|typed| !typed.trim().is_empty()) else {
                return Ok(Exit::Waiting);
            };
            if typed.trim().starts_with('/') {
                return Ok(self.command(typed.trim()).await?.unwrap_or(Exit::Waiting));
            }
            // Other input is requested again, so that a decision is never an accident.
            let Some(mut body) = decision(typed.trim(), &row) else {
                output::warning(words.remote_unclear);
                continue;
            };
            if let (true, None, Some(steps)) =
                (body["decision"] == "happened", body.get("result"), steps_that_read_it(&row))
            {
                output::warning(&fill(words.remote_result, &[&steps]));
                continue;
            }
            body["digest"] = row["digest"].clone();
            let accepted = match self.client.post(&format!("{path}/answer"), &body).await {
                Ok(accepted) => accepted,
                // It was answered elsewhere, or the answer is invalid: show it again.
                Err(ClientError::Refused { message, .. }) => {
                    output::warning(&message);
                    let known = self.client.get(&self.path("")).await?;
                    waiting = ids(&known["questions"], "id");
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let turn = self.follow(text(&accepted, "event")).await?;
            if turn.is_null() {
                return Ok(Exit::Waiting);
            }
            waiting =
                turn["waiting"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
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
fn decision(typed: &str, row: &Value) -> Option<Value> {
    let said = typed.to_lowercase();
    if allows(row, "value") {
        return Some(json!({"decision": "value", "value": value_said(typed, row.get("schema"))}));
    }
    if allows(row, "happened") {
        return match said.split_once(char::is_whitespace) {
            Some(("happened", _)) => {
                let result: Value = serde_json::from_str(typed["happened".len()..].trim()).ok()?;
                Some(json!({"decision": "happened", "result": result}))
            }
            None if said == "happened" => Some(json!({"decision": "happened"})),
            None if said == "did-not" || said == "did_not" => Some(json!({"decision": "did_not"})),
            _ => None,
        };
    }
    let (first, reason) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    match first.to_lowercase().trim_end_matches([',', '.', ':']) {
        "y" | "yes" | "д" | "да" if reason.is_empty() => Some(json!({"decision": "approve"})),
        "n" | "no" | "н" | "нет" => Some(json!({"decision": "deny", "reason": reason.trim()})),
        _ => None,
    }
}

/// Whether a question allows this answer.
fn allows(row: &Value, answer: &str) -> bool {
    row["answers"].as_array().is_some_and(|all| all.iter().any(|known| known == answer))
}

/// The ids in a list of rows.
fn ids(rows: &Value, name: &str) -> Vec<String> {
    rows.as_array().into_iter().flatten().filter_map(|row| row[name].as_str().map(str::to_owned)).collect()
}

/// The result of a turn, without the text that was already streamed.
fn print_rest(turn: &Value, said: &[String]) {
    let mut rest = text(turn, "text");
    for words in turn["said"].as_array().into_iter().flatten().filter_map(Value::as_str) {
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
        let call = json!({"answers": ["approve", "deny", "edit"]});
        assert_eq!(decision("Да", &call), Some(json!({"decision": "approve"})));
        assert_eq!(decision("n", &call), Some(json!({"decision": "deny", "reason": ""})));
        assert_eq!(decision("n not today", &call), Some(json!({"decision": "deny", "reason": "not today"})));
        assert_eq!(decision("Нет, позже", &call), Some(json!({"decision": "deny", "reason": "позже"})));
        for other in ["yes please", "e", "not today", "wait", "y but later"] {
            assert_eq!(decision(other, &call), None, "`{other}` decides nothing");
        }
        let value = json!({"answers": ["value", "deny"], "schema": {"type": "integer"}});
        assert_eq!(decision("4", &value), Some(json!({"decision": "value", "value": 4})));
        let doubt = json!({"answers": ["happened", "did_not"]});
        assert_eq!(decision("happened", &doubt), Some(json!({"decision": "happened"})));
        assert_eq!(decision("did-not", &doubt), Some(json!({"decision": "did_not"})));
        let with_result = json!({"decision": "happened", "result": {"A": 1}});
        assert_eq!(decision("happened {\"A\": 1}", &doubt), Some(with_result));
        assert_eq!(decision("happened today", &doubt), None, "a result is JSON");
        for word in ["y", "yes", "no", "perhaps"] {
            assert_eq!(decision(word, &doubt), None, "`{word}` does not say whether it happened");
        }
    }
}
