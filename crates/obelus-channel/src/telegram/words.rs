//! Who answered, and the language of a user.

use obelus_runtime::Language;
use obelus_words::{BotWords, fill};

/// Who answered a question, and from where. `name_of` returns the names of this bot's users.
pub(super) fn who(words: &BotWords, by: &str, name_of: impl FnOnce(i64) -> Option<String>) -> String {
    match (by, by.split_once(':')) {
        ("a person at the terminal", _) => words.at_terminal.to_owned(),
        ("a person at the command line", _) => words.at_command_line.to_owned(),
        ("the user, in conversation", _) => words.in_conversation.to_owned(),
        (_, Some(("telegram", id))) => id.parse().ok().and_then(name_of).unwrap_or_else(|| id.to_owned()),
        (_, Some((channel, name))) => fill(words.name_in, &[&obelus_kernel::visible(name), channel]),
        (other, None) => obelus_kernel::visible(other),
    }
}

/// The language of a user: the configured one, else that of their Telegram.
pub(super) fn language_of(wanted: Option<Language>, code: Option<&str>) -> Language {
    let is_russian = |code: &str| code == "ru" || code.starts_with("ru-");
    wanted.unwrap_or(if code.is_some_and(is_russian) { Language::Russian } else { Language::English })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_who_answered_is_named() {
        let words = &Language::English.words().bot;
        let anna = |id| (id == 42).then(|| "Anna".to_owned());
        assert_eq!(who(words, "telegram:42", anna), "Anna");
        assert_eq!(who(words, "telegram:43", anna), "43");
        assert_eq!(who(words, "api:boris", anna), "boris in api");
        assert_eq!(who(words, "a person at the terminal", anna), "a person at the terminal");
        assert_eq!(who(&Language::Russian.words().bot, "a person at the terminal", anna), "человек за терминалом");
    }

    #[test]
    fn the_language_is_set_by_the_config_or_else_by_the_user() {
        assert_eq!(language_of(None, Some("ru-RU")), Language::Russian);
        assert_eq!(language_of(None, Some("rum")), Language::English);
        assert_eq!(language_of(None, None), Language::English);
        assert_eq!(language_of(Some(Language::Russian), Some("en")), Language::Russian);
    }
}
