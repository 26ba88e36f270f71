//! A conversation with a model, kept in a file and played again.
//!
//! The file has one JSON object per line, an [`Exchange`]. Prompts themselves are not kept, only what tells
//! them apart: a recording can be shown without showing what the agent knew.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use obelus_kernel::session::{Answer, Prompt, Purpose};
use obelus_runtime::{AnswerFuture, Model, Parts};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::last_words;

/// One request and its answer, as a line of a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Exchange {
    #[serde(flatten)]
    request: Request,
    answer: Answer,
}

/// What tells requests apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Request {
    /// The same for the same prompt, today and tomorrow.
    prompt_digest: String,
    /// `solve` or `think`.
    purpose: String,
    /// The tool of the call to be carried out, where the purpose is `think`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The user's last message.
    user: Option<String>,
}

impl Request {
    fn of(prompt: &Prompt) -> Self {
        let (purpose, tool) = match &prompt.purpose {
            Purpose::Solve => ("solve", None),
            Purpose::Think { call, .. } => ("think", call["_tool"].as_str().map(str::to_owned)),
        };
        let user = last_words(prompt).map(str::to_owned);
        Self { prompt_digest: digest(prompt), purpose: purpose.to_owned(), tool, user }
    }

    /// Whether it asks for the same thing, though perhaps of another state.
    fn resembles(&self, other: &Self) -> bool {
        (&self.purpose, &self.tool, &self.user) == (&other.purpose, &other.tool, &other.user)
    }
}

/// SHA-256 of the prompt's JSON. The times of questions are left out: a recording is played at another hour.
fn digest(prompt: &Prompt) -> String {
    let mut prompt = prompt.clone();
    for question in prompt.questions.iter_mut().filter_map(|question| question.as_object_mut()) {
        question.retain(|name, _| !name.ends_with("_at"));
    }
    let text = serde_json::to_vec(&prompt).unwrap_or_default();
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A model whose answers are written to a file as they come.
pub struct Recorder {
    inner: Arc<dyn Model>,
    /// Shared with the answers under way.
    file: Arc<Mutex<File>>,
}

impl Recorder {
    /// Records what a model answers at the end of a file, which is created if it is not there.
    pub fn open(inner: Arc<dyn Model>, path: &Path) -> io::Result<Self> {
        Ok(Self::new(inner, OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// Records what a model answers into an open file.
    pub fn new(inner: Arc<dyn Model>, file: File) -> Self {
        Self { inner, file: Arc::new(Mutex::new(file)) }
    }
}

impl Model for Recorder {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        self.ask_aloud(prompt, Parts::to_nobody())
    }

    fn ask_aloud(&self, prompt: Prompt, parts: Parts) -> AnswerFuture {
        let request = Request::of(&prompt);
        let answer = self.inner.ask_aloud(prompt, parts);
        let file = self.file.clone();
        Box::pin(async move {
            let exchange = Exchange { request, answer: answer.await };
            match append(&file, &exchange) {
                Ok(()) => exchange.answer,
                // A recording with a hole would play another conversation, and nobody would know why.
                Err(error) => failed("record", format!("the answer could not be recorded: {error}")),
            }
        })
    }
}

/// One line, whole or not at all as far as other writers are concerned.
fn append(file: &Mutex<File>, exchange: &Exchange) -> io::Result<()> {
    let mut line = serde_json::to_vec(exchange)?;
    line.push(b'\n');
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.write_all(&line)?;
    file.flush()
}

/// A model that answers as it was recorded.
///
/// A request that was recorded gets its answer, each recording once, in order. One that was not, because
/// something in the prompt has changed since, gets the next unused answer to the same words of the user.
pub struct Replay {
    path: PathBuf,
    /// Every digest of the file.
    known: BTreeSet<String>,
    left: Mutex<Vec<Exchange>>,
}

/// Why a file is no recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", path.display())]
pub struct ReplayError {
    /// The file.
    pub path: PathBuf,
    /// The line at fault, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl Replay {
    /// Reads a recording. The path only serves messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ReplayError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(index, line)| {
            serde_json::from_str(line).map_err(|error| ReplayError {
                path: path.to_owned(),
                line: index + 1,
                message: format!("not an exchange of a recording: {error}"),
            })
        };
        let left = lines.map(read).collect::<Result<Vec<Exchange>, _>>()?;
        let known = left.iter().map(|exchange| exchange.request.prompt_digest.clone()).collect();
        Ok(Self { path: path.to_owned(), known, left: Mutex::new(left) })
    }

    fn answer(&self, prompt: &Prompt) -> Answer {
        let asked = Request::of(prompt);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let place = if self.known.contains(&asked.prompt_digest) {
            left.iter().position(|exchange| exchange.request.prompt_digest == asked.prompt_digest)
        } else {
            left.iter().position(|exchange| exchange.request.resembles(&asked))
        };
        match place {
            Some(index) => left.remove(index).answer,
            None => failed("replay", format!("{} has no recording left for {}", self.path.display(), asked.in_words())),
        }
    }
}

impl Model for Replay {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        Box::pin(std::future::ready(self.answer(&prompt)))
    }
}

impl Request {
    fn in_words(&self) -> String {
        let what = match (&self.tool, &self.user) {
            (Some(tool), _) => format!("a call of `{tool}`"),
            (None, Some(words)) => format!("«{words}»"),
            (None, None) => "a request without words of the user".to_owned(),
        };
        let short = self.prompt_digest.get(..12).unwrap_or_default();
        format!("{what} ({}, prompt {short}…)", self.purpose)
    }
}

fn failed(code: &str, message: String) -> Answer {
    Answer::Failed { code: code.to_owned(), message }
}

#[cfg(test)]
mod tests;
