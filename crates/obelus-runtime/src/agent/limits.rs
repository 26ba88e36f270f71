//! The limits of an agent's turn.

use obelus_kernel::session::Settings;
use serde::Deserialize;

/// The limits of a turn; missing ones have defaults.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Limits {
    requests: Option<u32>,
    calls: Option<u32>,
    tokens: Option<u64>,
    parallel: Option<u32>,
    result_bytes: Option<u64>,
    transcript_chars: Option<u64>,
    depth: Option<u32>,
    call_seconds: Option<u64>,
    question_seconds: Option<u64>,
    reminder_seconds: Option<u64>,
}

impl Limits {
    /// The default settings with these limits.
    pub(super) fn settings(&self) -> Settings {
        let default = Settings::default();
        Settings {
            max_requests: self.requests.unwrap_or(default.max_requests),
            max_calls: self.calls.unwrap_or(default.max_calls),
            max_tokens: self.tokens.or(default.max_tokens),
            max_parallel: self.parallel.unwrap_or(default.max_parallel),
            max_result_bytes: self.result_bytes.unwrap_or(default.max_result_bytes),
            transcript_chars: self.transcript_chars.unwrap_or(default.transcript_chars),
            max_depth: self.depth.unwrap_or(default.max_depth),
            call_seconds: self.call_seconds.unwrap_or(default.call_seconds),
            question_seconds: self.question_seconds.unwrap_or(default.question_seconds),
            reminder_seconds: self.reminder_seconds.unwrap_or(default.reminder_seconds),
            ..default
        }
    }
}
