//! Records a conversation with a model in a file, and replays it.
//!
//! The file has one JSON object per line, an [`Exchange`]. Prompts are not stored, only their digests, so that a
//! recording does not show the agent's state.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use obelus_kernel::session::{Answer, Prompt, Purpose};
use obelus_runtime::text::hex;
use obelus_runtime::{AnswerFuture, Model, Parts};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::last_words;

/// One request and its answer, as a line of a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Exchange {
    #[serde(flatten)]
    request: RequestKey,
    answer: Answer,
}

/// The identity of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RequestKey {
    /// The digest of the prompt, without times.
    prompt_digest: String,
    /// `solve` or `think`.
    purpose: String,
    /// The tool of the call to be carried out, if the purpose is `think`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The user's last message.
    user: Option<String>,
}

impl RequestKey {
    fn of(prompt: &Prompt) -> Self {
        let (purpose, tool) = match &prompt.purpose {
            Purpose::Solve => ("solve", None),
            Purpose::ModelCall { call, .. } => ("think", call.tool().map(str::to_owned)),
        };
        let user = last_words(prompt).map(str::to_owned);
        Self { prompt_digest: digest(prompt), purpose: purpose.to_owned(), tool, user }
    }

    /// Whether two requests are the same except for the digest.
    fn resembles(&self, other: &Self) -> bool {
        (&self.purpose, &self.tool, &self.user) == (&other.purpose, &other.tool, &other.user)
    }
}

/// SHA-256 of the prompt's JSON, without the times of questions, because a recording is replayed at another time.
fn digest(prompt: &Prompt) -> String {
    let mut prompt = prompt.clone();
    // They repeat the other fields in another form.
    (prompt.transcript, prompt.state, prompt.open) = (Vec::new(), Vec::new(), Vec::new());
    for question in prompt.questions.iter_mut().filter_map(|question| question.as_object_mut()) {
        question.retain(|name, _| !name.ends_with("_at"));
    }
    let text = serde_json::to_vec(&prompt).unwrap_or_default();
    hex(&Sha256::digest(text))
}

/// A model whose answers are recorded in a file.
pub struct Recorder {
    inner: Arc<dyn Model>,
    /// Shared with running requests.
    file: Arc<Mutex<File>>,
}

impl Recorder {
    /// Records answers at the end of a file, which is created if it does not exist.
    pub fn open(inner: Arc<dyn Model>, path: &Path) -> io::Result<Self> {
        Ok(Self::new(inner, OpenOptions::new().create(true).append(true).mode(0o600).open(path)?))
    }

    /// Records answers in an open file.
    pub fn new(inner: Arc<dyn Model>, file: File) -> Self {
        Self { inner, file: Arc::new(Mutex::new(file)) }
    }
}

impl Model for Recorder {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        self.ask_streaming(prompt, Parts::without_listener())
    }

    fn ask_streaming(&self, prompt: Prompt, parts: Parts) -> AnswerFuture {
        let request = RequestKey::of(&prompt);
        let answer = self.inner.ask_streaming(prompt, parts);
        let file = self.file.clone();
        Box::pin(async move {
            let exchange = Exchange { request, answer: answer.await };
            match append(&file, &exchange) {
                Ok(()) => exchange.answer,
                // A recording with a gap would replay another conversation.
                Err(error) => failed("record", format!("the answer could not be recorded: {error}")),
            }
        })
    }
}

/// Appends one line; concurrent writers do not mix their lines.
fn append(file: &Mutex<File>, exchange: &Exchange) -> io::Result<()> {
    let mut line = serde_json::to_vec(exchange)?;
    line.push(b'\n');
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.write_all(&line)?;
    file.flush()
}

/// A model that replays a recording.
///
/// A recorded request gets its recorded answer; each answer is used once, in order. A request with another prompt, for
/// example after a change of the agent, gets the next unused answer to the same message of the user.
pub struct Replay {
    path: PathBuf,
    /// All digests of the file.
    known: BTreeSet<String>,
    unused: Mutex<Vec<Exchange>>,
}

/// Why a file is not a recording.
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
    /// Reads a recording. The path is used in messages only.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ReplayError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(index, line)| {
            serde_json::from_str(line).map_err(|error| ReplayError {
                path: path.to_owned(),
                line: index + 1,
                message: format!("not an exchange of a recording: {error}"),
            })
        };
        let unused = lines.map(read).collect::<Result<Vec<Exchange>, _>>()?;
        let known = unused.iter().map(|exchange| exchange.request.prompt_digest.clone()).collect();
        Ok(Self { path: path.to_owned(), known, unused: Mutex::new(unused) })
    }

    fn answer(&self, prompt: &Prompt) -> Answer {
        let asked = RequestKey::of(prompt);
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let place = if self.known.contains(&asked.prompt_digest) {
            unused.iter().position(|exchange| exchange.request.prompt_digest == asked.prompt_digest)
        } else {
            unused.iter().position(|exchange| exchange.request.resembles(&asked))
        };
        match place {
            Some(index) => unused.remove(index).answer,
            None => failed("replay", format!("{} has no recording left for {}", self.path.display(), asked.describe())),
        }
    }
}

impl Model for Replay {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        Box::pin(std::future::ready(self.answer(&prompt)))
    }
}

impl RequestKey {
    fn describe(&self) -> String {
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
    Answer::Failed { code: code.into(), message }
}

#[cfg(test)]
mod tests;
