//! Recognises variables of the environment that hold secrets by their names.

/// Words that mark a name as a secret's, anywhere in the name.
const TELLING: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "WEBHOOK", "CREDENTIAL"];

/// Whether a variable of this name is likely to hold a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // KEY must end a word, so that `KEYBOARD_LAYOUT` is not a secret.
    TELLING.iter().any(|word| name.contains(word)) || name.split('_').any(|word| word.ends_with("KEY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised() {
        for name in [
            "OPENAI_API_KEY",
            "APIKEY",
            "GITHUB_TOKEN",
            "token",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASSWORD",
            "BITRIX_WEBHOOK_URL",
            "KEY_2",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["PATH", "HOME", "KEYBOARD_LAYOUT", "LANG", "SSH_AUTH_SOCK", ""] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
