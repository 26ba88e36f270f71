//! Variables of the environment that hold secrets: recognised by their names, or declared by somebody.

use obelus_runtime::Secret;

/// Words that mark a name as a secret's, anywhere in the name.
const TELLING: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "WEBHOOK", "CREDENTIAL"];

/// Whether a variable of this name is likely to hold a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // KEY must end a word, so that `KEYBOARD_LAYOUT` is not a secret.
    TELLING.iter().any(|word| name.contains(word)) || name.split('_').any(|word| word.ends_with("KEY"))
}

/// Variables of the ordinary environment, which every program gets.
const ORDINARY: [&str; 10] = ["HOME", "LANG", "LANGUAGE", "LOGNAME", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// Whether a program does not get a variable of the environment of Obelus: it looks like a secret, or somebody else
/// declares it as one, and the program's own binding does not name it (`passed`).
pub(crate) fn is_withheld(name: &str, passed: &[String]) -> bool {
    let is_ordinary = || ORDINARY.contains(&name) || name.starts_with("LC_") || name.ends_with("PATH");
    let is_secret = || looks_secret(name) || Secret::is_name(name) && !is_ordinary();
    !passed.iter().any(|passed| passed == name) && is_secret()
}

/// Notes the variables that a binding passes to its own program: the programs of others do not get them.
pub(crate) fn note_passed(passed: &[String]) {
    passed.iter().for_each(|name| Secret::note_name(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_declared_variables_of_its_own_binding_only() {
        let passed = ["WITHHELD_OWN".to_owned()];
        note_passed(&passed);
        drop(Secret::from_env("WITHHELD_URL"));
        for (name, by_its_own, by_others) in [
            ("WITHHELD_OWN", false, true),
            ("WITHHELD_URL", true, true),
            ("WITHHELD_PLAIN", false, false),
            ("OPENAI_API_KEY", true, true),
            ("BITRIX_WEBHOOK_URL", true, true),
            ("BITRIX_APPLICATION_TOKEN", true, true),
            ("TELEGRAM_BOT_TOKEN", true, true),
            ("OBELUS_TOKEN", true, true),
        ] {
            assert_eq!((is_withheld(name, &passed), is_withheld(name, &[])), (by_its_own, by_others), "{name}");
        }
    }

    #[test]
    fn the_ordinary_environment_is_for_every_program_whoever_names_it() {
        let named = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "PYTHONPATH"].map(str::to_owned);
        note_passed(&named);
        assert_eq!(named.iter().find(|name| is_withheld(name, &[])), None);
    }

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
