//! Texts of an agent's file in which `$NAME` is a secret of the environment.

use obelus_runtime::Secret;

use crate::activity::secret_name::register;

/// A text with placeholders for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextWithSecrets(Vec<SecretPart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum SecretPart {
    Text(String),
    /// The name of a variable.
    Secret(String),
}

impl TextWithSecrets {
    /// `$NAME` is a secret; `$$` is a dollar.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            plain.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                plain.push('$');
                rest = after;
                continue;
            }
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = after.find(|letter| !is_name(letter)).unwrap_or(after.len());
            let name = &after[..end];
            if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
                return Err("after a `$` stands the name of a variable of the environment; `$$` is a dollar".to_owned());
            }
            if !plain.is_empty() {
                parts.push(SecretPart::Text(std::mem::take(&mut plain)));
            }
            drop(register(name));
            parts.push(SecretPart::Secret(name.to_owned()));
            rest = &after[end..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(SecretPart::Text(plain));
        }
        Ok(Self(parts))
    }

    /// The text with secrets inserted. The error is the name of a missing one.
    pub(super) fn filled(&self) -> Result<FilledText, String> {
        let mut text = String::new();
        let mut has_secret = false;
        for part in &self.0 {
            match part {
                SecretPart::Text(plain) => text.push_str(plain),
                SecretPart::Secret(name) => {
                    let secret = Secret::from_env(name).ok_or_else(|| name.clone())?;
                    text.push_str(secret.expose());
                    has_secret = true;
                }
            }
        }
        Ok(if has_secret { FilledText::Secret(Secret::new(text)) } else { FilledText::Plain(text) })
    }
}

/// A text that may contain a secret.
pub(super) enum FilledText {
    Plain(String),
    Secret(Secret),
}

impl FilledText {
    /// The text itself, for sending.
    pub(super) fn expose(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Secret(secret) => secret.expose(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dollar_names_a_secret() {
        Secret::provide("MCP_WORDS_TOKEN", Secret::new("tok-123456"));
        let filled =
            |text: &str| TextWithSecrets::parse(text).unwrap().filled().map(|filled| filled.expose().to_owned());
        assert_eq!(filled("Bearer $MCP_WORDS_TOKEN"), Ok("Bearer tok-123456".to_owned()));
        assert_eq!(filled("$MCP_WORDS_TOKEN/$$5"), Ok("tok-123456/$5".to_owned()));
        assert_eq!(filled("plain"), Ok("plain".to_owned()));
        assert_eq!(filled(""), Ok(String::new()));
        assert_eq!(filled("$MCP_WORDS_ABSENT"), Err("MCP_WORDS_ABSENT".to_owned()));
        assert!(TextWithSecrets::parse("5 $ each").unwrap_err().contains("`$$`"));
        assert!(TextWithSecrets::parse("$1").is_err());
    }
}
