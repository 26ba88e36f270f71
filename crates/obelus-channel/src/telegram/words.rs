//! Who answered, and the language of a user.

use obelus_kernel::session::sent_by::SentBy;
use obelus_runtime::Language;
use obelus_words::fill;

use super::CHANNEL;

/// Who answered a question, and from where. `name_of` returns the names of this bot's users.
pub(super) fn who(language: Language, by: &str, name_of: impl FnOnce(i64) -> Option<String>) -> String {
    match SentBy::of(by) {
        SentBy::InChannel { channel: CHANNEL, name: id } => {
            id.parse().ok().and_then(name_of).unwrap_or_else(|| id.to_owned())
        }
        SentBy::InChannel { channel, name } => {
            fill(language.words().bot.name_in, &[&obelus_kernel::visible(name), channel])
        }
        _ => crate::who::who(by, language),
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
        let english = Language::English;
        let anna = |id| (id == 42).then(|| "Anna".to_owned());
        assert_eq!(who(english, "telegram:42", anna), "Anna");
        assert_eq!(who(english, "telegram:43", anna), "43");
        assert_eq!(who(english, "api:boris", anna), "boris in api");
        assert_eq!(who(english, "a person at the terminal", anna), "a person at the terminal");
        assert_eq!(who(Language::Russian, "a person at the terminal", anna), "человек за терминалом");
        assert_eq!(who(Language::Russian, "nobody", anna), "никто");
    }

    #[test]
    fn the_language_is_set_by_the_config_or_else_by_the_user() {
        assert_eq!(language_of(None, Some("ru-RU")), Language::Russian);
        assert_eq!(language_of(None, Some("rum")), Language::English);
        assert_eq!(language_of(None, None), Language::English);
        assert_eq!(language_of(Some(Language::Russian), Some("en")), Language::Russian);
    }
}
