//! Variables of the environment, judged by their names: likely secrets, and those that every program gets.

/// Words that mark a name as a secret's, anywhere in the name.
const TELLING: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "WEBHOOK", "CREDENTIAL"];

/// Whether a variable of this name is likely to hold a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // KEY must end a word, so that `KEYBOARD_LAYOUT` is not a secret.
    TELLING.iter().any(|word| name.contains(word)) || name.split('_').any(|word| word.ends_with("KEY"))
}

/// Registers the secret in a variable that a file names, so that it is masked before its first use too. The values of
/// ordinary variables are words that any text may contain.
#[cfg(any(feature = "bitrix24", feature = "http", feature = "mcp"))]
pub(crate) fn register(name: &str) -> Option<obelus_runtime::Secret> {
    if is_ordinary(name) { None } else { obelus_runtime::Secret::from_env(name) }
}

/// Variables of the ordinary environment, which every program gets.
const ORDINARY: [&str; 18] = [
    "ALL_PROXY",
    "DISPLAY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NO_PROXY",
    "PWD",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
];

/// Whether a variable belongs to the ordinary environment, so that naming it does not take it from others.
pub(crate) fn is_ordinary(name: &str) -> bool {
    let is_proxy = || name.ends_with("_proxy") && ORDINARY.contains(&name.to_ascii_uppercase().as_str());
    let has_form = || name.starts_with("LC_") || name.starts_with("XDG_") || name.ends_with("PATH");
    ORDINARY.contains(&name) || has_form() || is_proxy()
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

    #[cfg(any(feature = "bitrix24", feature = "http", feature = "mcp"))]
    #[test]
    fn values_of_ordinary_variables_are_not_masked() {
        for name in ["HOME", "PATH"] {
            let value = std::env::var(name).unwrap();
            assert!(register(name).is_none(), "{name}");
            assert_eq!(obelus_runtime::masking::without_secrets(&value), value);
        }
    }
}
