//! Errors of calls, with a stable code, an HTTP status and texts in both languages.

use obelus_kernel::session::Refused;
use obelus_kernel::session::refusals::RefusalCode as Code;
use obelus_runtime::people::refused_in_words;
use obelus_runtime::{HostError, Language, StoreError};
use obelus_words::fill;

/// Why a call failed. Nothing has happened, unless the code is `outcome_unknown`.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The session refused the input.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// The session cannot be opened, created or read.
    #[error("{0}")]
    Host(#[from] HostError),
    /// There is no agent of this name; the most similar name.
    #[error("there is no agent `{0}`")]
    UnknownAgent(String, Option<String>),
    /// The agent's file has errors.
    #[error("the agent `{agent}` has errors:\n{problems}")]
    BadAgent {
        /// The agent.
        agent: String,
        /// The errors, one per line.
        problems: String,
    },
    /// There is no question of this id.
    #[error("there is no question `{0}`")]
    UnknownQuestion(String),
    /// There is no such path or record.
    #[error("there is no such thing: {0}")]
    NotFound(String),
    /// The place in memory has no value.
    #[error("nothing has written there")]
    NotWritten,
    /// The path has no such method.
    #[error("this path has no such method")]
    WrongMethod,
    /// The question has changed since it was shown.
    #[error("the question `{0}` has changed since it was shown: look at it again")]
    Changed(String),
    /// The request is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// The request is valid but not supported; the text names an alternative.
    #[error("{0}")]
    Unsupported(String),
    /// The messages of a request do not identify a conversation of this server.
    #[error("this conversation did not take place here")]
    UnknownChat,
    /// The request is too large; the text names the limit.
    #[error("too large: {0}")]
    TooLarge(String),
    /// The content type is not JSON.
    #[error("the body must be JSON, with the header `Content-Type: application/json`")]
    NotJson,
    /// The token is missing or unknown.
    #[error("a token is needed: send the header `Authorization: Bearer TOKEN`")]
    Unauthorized,
    /// The token is unknown.
    #[error("this token is not known")]
    UnknownToken,
    /// A one-time link that was used, or is too old.
    #[error("this link was used already, or is too old")]
    UsedLink,
    /// The token does not permit this; the required role.
    #[error("this needs a token with the role {0}")]
    Forbidden(&'static str),
    /// Only an admin ends the pause of an import; the session.
    #[error("the session `{0}` was imported: only an admin may resume it, after reading what it could start")]
    Imported(String),
    /// The origin or host of the request is not allowed.
    #[error("the {0} of the request is not allowed here")]
    NotAllowed(&'static str),
    /// The token has too many requests or streams.
    #[error("too many {0}: try again later")]
    TooMany(&'static str),
    /// A time limit has passed.
    #[error("the request took too long to arrive")]
    TimedOut,
    /// The server is shutting down.
    #[error("the server is ending: try again")]
    Closing,
}

impl ChannelError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refused) => refused.code.name(),
            Self::Host(error) => host_code(error),
            Self::UnknownAgent(..) => "unknown_agent",
            Self::BadAgent { .. } => "bad_agent",
            Self::UnknownQuestion(_) => "unknown_question",
            Self::NotFound(_) | Self::NotWritten | Self::UnknownChat => "not_found",
            Self::WrongMethod => "wrong_method",
            Self::Changed(_) => "changed",
            Self::BadRequest(_) | Self::Unsupported(_) => "bad_request",
            Self::TooLarge(_) => "too_large",
            Self::NotJson => "not_json",
            Self::Unauthorized | Self::UnknownToken | Self::UsedLink => "unauthorized",
            Self::Forbidden(_) | Self::Imported(_) => "forbidden",
            Self::NotAllowed(_) => "not_allowed",
            Self::TooMany(_) => "too_many",
            Self::TimedOut => "timed_out",
            Self::Closing => "closing",
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::Refused(refused) => refused_status(refused.code),
            Self::Host(error) => host_status(error),
            Self::UnknownAgent(..)
            | Self::UnknownQuestion(_)
            | Self::NotFound(_)
            | Self::NotWritten
            | Self::UnknownChat => 404,
            Self::BadAgent { .. } => 422,
            Self::WrongMethod => 405,
            Self::Changed(_) => 409,
            Self::BadRequest(_) | Self::Unsupported(_) => 400,
            Self::TooLarge(_) => 413,
            Self::NotJson => 415,
            Self::Unauthorized | Self::UnknownToken | Self::UsedLink => 401,
            Self::Forbidden(_) | Self::Imported(_) | Self::NotAllowed(_) => 403,
            Self::TooMany(_) => 429,
            Self::TimedOut => 408,
            Self::Closing => 503,
        }
    }

    /// Whether there is no such session.
    pub fn is_unknown_session(&self) -> bool {
        matches!(self, Self::Host(HostError::Store(StoreError::Unknown(_))))
    }

    /// The error and the remedy, as text for people. Untrusted text in it is escaped.
    pub fn words(&self, language: Language) -> String {
        let words = &language.words().channel;
        let phrase = match self {
            Self::Refused(refused) => return refused_in_words(refused, None, language),
            Self::UnknownAgent(name, Some(near)) => fill(words.unknown_agent_near, &[name, near]),
            Self::UnknownAgent(name, None) => fill(words.unknown_agent, &[name]),
            Self::BadAgent { agent, problems } => fill(words.bad_agent, &[agent, problems]),
            Self::UnknownQuestion(id) => fill(words.unknown_question, &[id]),
            Self::NotFound(what) => fill(words.not_found, &[what]),
            Self::NotWritten => words.not_written.to_owned(),
            Self::WrongMethod => words.wrong_method.to_owned(),
            Self::Changed(id) => fill(words.changed, &[id]),
            Self::BadRequest(why) => fill(words.bad_request, &[why]),
            Self::Unsupported(what) => what.clone(),
            Self::UnknownChat => fill(words.unknown_chat, &["`user`", "`X-Session-Id`"]),
            Self::TooLarge(limit) => fill(words.too_large, &[limit]),
            Self::NotJson => fill(words.not_json, &["`Content-Type: application/json`"]),
            Self::Unauthorized => fill(words.unauthorized, &["`Authorization: Bearer TOKEN`"]),
            Self::UnknownToken => fill(words.unknown_token, &["`obelus tokens list`"]),
            Self::UsedLink => fill(words.used_link, &["`STORE/token`"]),
            Self::Forbidden(role) => fill(words.forbidden, &[role]),
            Self::Imported(id) => fill(words.imported, &[id]),
            Self::NotAllowed("Origin") => fill(words.not_allowed, &["Origin", "`obelus serve --origin`"]),
            Self::NotAllowed(what) => fill(words.not_allowed, &[what, "`obelus serve --host`"]),
            Self::TooMany(_) => words.too_many.to_owned(),
            Self::TimedOut => words.timed_out.to_owned(),
            Self::Closing => words.closing.to_owned(),
            Self::Host(HostError::Refused(refused)) => return refused_in_words(refused, None, language),
            Self::Host(HostError::Store(StoreError::Unknown(id))) => fill(words.unknown_session, &[id]),
            Self::Host(HostError::Store(StoreError::Exists(id))) => fill(words.exists, &[id]),
            Self::Host(HostError::Store(StoreError::BadName(id))) => fill(words.bad_id, &[id]),
            Self::Host(HostError::NoRecord { records, at, .. }) => {
                fill(words.no_record, &[&records.to_string(), &at.to_string()])
            }
            Self::Host(HostError::Store(error @ StoreError::Unreachable(_))) => error.in_words(language),
            Self::Host(error) => fill(words.host, &[&error.to_string()]),
        };
        phrase.split('\n').map(obelus_kernel::visible).collect::<Vec<_>>().join("\n")
    }
}

impl From<StoreError> for ChannelError {
    fn from(error: StoreError) -> Self {
        Self::Host(error.into())
    }
}

fn refused_status(code: Code) -> u16 {
    match code {
        Code::UnknownQuestion | Code::UnknownCall => 404,
        Code::AlreadyDecided | Code::Expired | Code::Ending | Code::AtWork | Code::Paused => 409,
        Code::NotDurable | Code::OutcomeUnknown | Code::Unreachable | Code::Gone => 503,
        Code::Damaged | Code::Unreadable => 500,
        _ => 422,
    }
}

fn host_code(error: &HostError) -> &'static str {
    match error {
        HostError::Store(error) => store_code(error),
        HostError::Refused(refused) => refused.code.name(),
        HostError::NoRecord { .. } => "no_record",
        HostError::NoStore => "no_store",
        HostError::Restore(_) => Code::Damaged.name(),
        HostError::Connect(_) => "not_connected",
        HostError::Spec(_) | HostError::Agent(_) => "bad_agent",
    }
}

fn store_code(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unknown(_) => "unknown_session",
        StoreError::Exists(_) | StoreError::NameUsed(_) => "exists",
        StoreError::BadName(_) => "bad_id",
        StoreError::BadInputId(_) => "bad_input_id",
        StoreError::Held { .. } | StoreError::Locked(_) | StoreError::MovedOn { .. } => "held",
        StoreError::Damaged { .. } | StoreError::DamagedIndex => Code::Damaged.name(),
        StoreError::OutcomeUnknown(_) => Code::OutcomeUnknown.name(),
        StoreError::Unreachable(_) => Code::Unreachable.name(),
        _ => "store",
    }
}

fn host_status(error: &HostError) -> u16 {
    match error {
        HostError::Refused(refused) => refused_status(refused.code),
        HostError::NoRecord { .. } | HostError::Store(StoreError::Unknown(_)) => 404,
        HostError::Store(StoreError::BadName(_) | StoreError::BadInputId(_)) => 400,
        HostError::Store(StoreError::Exists(_) | StoreError::NameUsed(_)) => 409,
        HostError::Store(
            StoreError::Held { .. } | StoreError::Locked(_) | StoreError::MovedOn { .. } | StoreError::Unreachable(_),
        ) => 503,
        HostError::Connect(_) => 502,
        HostError::Spec(_) | HostError::Agent(_) => 422,
        HostError::Store(_) | HostError::Restore(_) | HostError::NoStore => 500,
    }
}
