//! Chooses the language for people. The texts are in `obelus-words`.

use std::sync::OnceLock;

use obelus_kernel::session::{Mode, Session};
use obelus_kernel::{Message, Role};
pub(crate) use obelus_words::{Language, Words, fill};

/// The language from `--lang`.
static CHOSEN: OnceLock<Language> = OnceLock::new();

/// Sets the language, whatever agents' files name.
pub(crate) fn choose(language: Language) {
    let _ = CHOSEN.set(language);
}

/// The language from `--lang`, if given.
pub(crate) fn chosen() -> Option<Language> {
    CHOSEN.get().copied()
}

/// The texts for an agent with this language: `--lang` comes first, and without either the environment decides.
pub(crate) fn words_of(agent: Option<&str>) -> &'static Words {
    let named = || agent.map(|name| Language::named(Some(name)));
    let language = chosen().or_else(named);
    language.unwrap_or_else(|| of_environment(|name| std::env::var(name).ok())).words()
}

/// The texts for a session: in its agent's language, else Russian if the user writes Russian.
pub(crate) fn words_of_session(session: &Session) -> &'static Words {
    words_for_message(session, None)
}

/// The same for a session that is about to get a message.
pub(crate) fn words_for_message(session: &Session, said: Option<&str>) -> &'static Words {
    let heard = session.context().messages().iter().rev().find_map(|message| match message {
        Message::Text(text) if text.role == Role::User => Some(text.text.as_str()),
        _ => None,
    });
    let said = said.or(heard).map(Language::of);
    let russian = said.filter(|language| *language == Language::Russian).map(Language::code);
    words_of(session.settings().language.as_deref().or(russian))
}

/// What a mode permits.
pub(crate) fn mode_means(mode: Mode, words: &Words) -> &'static str {
    match mode {
        Mode::Shadow => words.modes.shadow,
        Mode::Canary => words.modes.canary,
        Mode::Full => words.modes.full,
    }
}

/// The language for an agent with several: `--lang`, else that of the first message, else of the environment; none if
/// unknown.
pub(crate) fn wanted(message: Option<&str>) -> Option<&'static str> {
    let said = || message.filter(|words| words.chars().any(char::is_alphabetic)).map(Language::of);
    let environment = || {
        let set = locale(|name| std::env::var(name).ok())?;
        ["ru", "en"].into_iter().find(|code| set.to_lowercase().starts_with(code))
    };
    chosen().or_else(said).map(Language::code).or_else(environment)
}

/// The language of the environment, as other programs choose it.
fn of_environment(read: impl Fn(&str) -> Option<String>) -> Language {
    Language::named(locale(read).as_deref())
}

fn locale(read: impl Fn(&str) -> Option<String>) -> Option<String> {
    ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(read).find(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_the_agents_or_that_of_the_environment() {
        for (said, code) in [(Some("ru"), "ru"), (Some("ru-RU"), "ru"), (Some("Russian"), "ru"), (Some("fi"), "en")] {
            assert_eq!(words_of(said).code, code);
        }
        let of = |set: &[(&str, &str)]| {
            of_environment(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&[("LANG", "ru_RU.UTF-8")]), Language::Russian);
        assert_eq!(of(&[("LC_ALL", "C"), ("LANG", "ru_RU.UTF-8")]), Language::English);
        assert_eq!(of(&[("LC_ALL", ""), ("LANG", "ru_RU.UTF-8")]), Language::Russian);
        assert_eq!(of(&[]), Language::English);
    }
}
