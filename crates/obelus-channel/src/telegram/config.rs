//! The configuration file: bot, allowed users, agent.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use obelus_runtime::files::{read_document, read_text};
use obelus_runtime::{Language, Secret};
use serde::Deserialize;

use crate::address::is_safe;

/// The variable with the token, if the configuration names no file.
const TOKEN_VARIABLE: &str = "TELEGRAM_BOT_TOKEN";
/// The address of the Bot API.
const PUBLIC_API: &str = "https://api.telegram.org";

/// An invalid configuration.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", .file.display())]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// The error, with what would be right.
    pub why: String,
}

/// The configuration of a bot.
#[derive(Clone)]
pub struct TelegramConfig {
    /// The bot's token.
    pub token: Secret,
    /// The ids of allowed users. Nobody else is answered.
    pub allow: BTreeSet<i64>,
    /// The name of the agent.
    pub agent: String,
    /// The language; by default that of each user's Telegram.
    pub lang: Option<Language>,
    /// The address of the Bot API.
    pub api: String,
}

/// The fields of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    token_file: Option<PathBuf>,
    #[serde(default)]
    allow: Vec<i64>,
    agent: String,
    lang: Option<String>,
    api: Option<String>,
}

impl TelegramConfig {
    /// Reads `{token_file?, allow, agent, lang?, api?}` as YAML or JSON. The token's file is relative to it; without
    /// one, the token is in the environment.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let wrong = |why: String| ConfigError { file: file.to_owned(), why };
        let text = read_text(file).map_err(|error| wrong(error.to_string()))?;
        let document = read_document(file, &text).map_err(|error| wrong(error.to_string()))?;
        let fields: Fields = serde_json::from_value(document).map_err(|error| wrong(error.to_string()))?;
        let lang = match fields.lang.as_deref() {
            None => None,
            Some("ru") => Some(Language::Russian),
            Some("en") => Some(Language::English),
            Some(other) => return Err(wrong(format!("lang: `{other}` is neither `ru` nor `en`"))),
        };
        let token = match &fields.token_file {
            Some(name) => token_in(&file.parent().unwrap_or(Path::new("")).join(name))?,
            None => Secret::from_env(TOKEN_VARIABLE).ok_or_else(|| {
                wrong(format!("no token: name its file as `token_file`, or set the variable {TOKEN_VARIABLE}"))
            })?,
        };
        if !is_token(token.expose()) {
            return Err(wrong("this is not a bot's token: such a token looks like 123456:AAbb…".to_owned()));
        }
        let api = fields.api.unwrap_or_else(|| PUBLIC_API.to_owned());
        if !is_safe(&api) {
            return Err(wrong(format!("api: `{api}` must begin with https:// (http:// for this machine only)")));
        }
        Ok(Self { token, allow: fields.allow.into_iter().collect(), agent: fields.agent, lang, api })
    }
}

/// The token in a file that only its owner can read.
fn token_in(file: &Path) -> Result<Secret, ConfigError> {
    let wrong = |why: String| ConfigError { file: file.to_owned(), why };
    let about = fs::metadata(file).map_err(|error| wrong(error.to_string()))?;
    if about.mode() & 0o077 != 0 {
        return Err(wrong(
            "others can read this file: run `chmod 600` on it, and have BotFather revoke the token".to_owned(),
        ));
    }
    let text = read_text(file).map_err(|error| wrong(error.to_string()))?;
    Ok(Secret::new(text.trim()))
}

/// Whether a text has the form of a token. It becomes part of a URL.
fn is_token(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let parts = text.split_once(':');
    parts.is_some_and(|(number, rest)| {
        !number.is_empty()
            && number.bytes().all(|c| c.is_ascii_digit())
            && !rest.is_empty()
            && rest.chars().all(is_plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn read(name: &str, text: &str, mode: u32) -> Result<TelegramConfig, String> {
        let folder = std::env::temp_dir().join(format!("obelus-telegram-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, token) = (folder.join("telegram.yaml"), folder.join("token"));
        fs::write(&file, text).unwrap();
        fs::write(&token, "123456:AAbb_cc-dd\n").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
        TelegramConfig::read(&file).map_err(|error| error.to_string())
    }

    #[test]
    fn a_config_is_read_and_allows_no_users_by_default() {
        let config = read("plain", "token_file: token\nagent: crm\nallow: [42, 43]\nlang: ru\n", 0o600).unwrap();
        assert_eq!((config.token.expose(), config.api.as_str()), ("123456:AAbb_cc-dd", PUBLIC_API));
        assert_eq!((config.allow.len(), config.lang), (2, Some(Language::Russian)));
        assert!(read("empty", "token_file: token\nagent: crm\n", 0o600).unwrap().allow.is_empty());
    }

    #[test]
    fn an_invalid_config_is_refused_with_the_reason() {
        let plain = "token_file: token\nagent: crm\n";
        let cases = [
            ("open", plain.to_owned(), 0o644, "chmod 600"),
            ("field", format!("{plain}alow: [1]\n"), 0o600, "unknown field `alow`"),
            ("name", format!("{plain}allow: [anna]\n"), 0o600, "invalid type"),
            ("lang", format!("{plain}lang: de\n"), 0o600, "neither `ru` nor `en`"),
            ("api", format!("{plain}api: http://example.test\n"), 0o600, "must begin with https://"),
            ("gone", "token_file: nothing\nagent: crm\n".to_owned(), 0o600, "nothing"),
            ("agent", "token_file: token\n".to_owned(), 0o600, "missing field `agent`"),
        ];
        for (name, text, mode, expected) in cases {
            let error = read(name, &text, mode).err().unwrap();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    #[test]
    fn bot_tokens_are_distinguished_from_other_texts() {
        for wrong in ["", "abc", "12:", ":x", "12:a/b", "12:a b", "x1:abc"] {
            assert!(!is_token(wrong), "{wrong}");
        }
    }
}
