//! Models, which answer a session's requests, and the prompts that they get.
//!
//! # Layout
//!
//! | item | subject |
//! |---|---|
//! | [`Playbook`] | rules that answer by pattern: demos, tests, fixed procedures |
//! | [`Recorder`], [`Replay`] | recording a conversation with a model, and replaying it |
//! | [`openai`] | models on any server with OpenAI's protocol |
//! | [`render`] | a request as chat messages |
//! | [`asked_prompts`] | the prompts that a model would get after each message of a user |
//! | [`PromptMeter`] | how much of the requests a provider can serve from its cache |
//! | [`ModelSpec`], [`open`] | a model by its name, such as `playbook:FILE` |
//! | `jinja` | the template engine's settings |

mod asked;
pub use asked::{AskedPrompts, NoPrompt, RequestSize, asked_prompts};

mod calendar;
mod jinja;

mod meter;
pub use meter::{PromptMeter, SentChars};

pub mod openai;

mod playbook;
pub use playbook::{Playbook, PlaybookError};

mod prompt;
pub use prompt::{ChatMessage, ChatRole, PromptOptions, RenderError, render};

mod replay;
pub use replay::{Recorder, Replay, ReplayError};

mod spec;
pub use spec::{ModelSpec, ModelSpecError, OpenError, open};

use obelus_kernel::session::{TranscriptEntry, TranscriptEvent};

/// The user's last message, if a request shows one.
fn last_words(prompt: &obelus_kernel::session::Prompt) -> Option<&str> {
    prompt.texts.iter().rev().find(|(role, _)| role == "user").map(|(_, text)| text.as_str())
}

/// The agent's messages since the user's last one.
fn said_since(prompt: &obelus_kernel::session::Prompt) -> impl Iterator<Item = &str> {
    let start = prompt.texts.iter().rposition(|(role, _)| role == "user").map_or(0, |last| last + 1);
    prompt.texts[start..].iter().map(|(_, text)| text.as_str())
}

/// The transcript before and since the user's last message.
fn around_last_words(prompt: &obelus_kernel::session::Prompt) -> (&[TranscriptEntry], &[TranscriptEntry]) {
    let is_user = |entry: &TranscriptEntry| matches!(entry.what, TranscriptEvent::User { .. });
    prompt.transcript.split_at(prompt.transcript.iter().rposition(is_user).unwrap_or(0))
}

#[cfg(test)]
mod testing;
