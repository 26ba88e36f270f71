//! Everything that this program says to people who use agents, in Russian and in English side by side.
//!
//! One table: a phrase stands here, or in `obelus_runtime` where every channel says it. Errors about files, arguments and
//! plans are for engineers and are in English.
//!
//! | file | subject |
//! |---|---|
//! | `chat` | the conversation in the terminal |
//! | `ask` | questions, their reasons, where values come from |
//! | `kept` | sessions, the inbox, answers and runs at the command line |
//! | `serve` | the server |
//! | `store` | why a store or a session cannot be used |

mod ask;
mod chat;
mod kept;
mod serve;
mod store;

use std::sync::OnceLock;

use obelus_kernel::session::{Mode, Session};
use obelus_kernel::{Message, Role};
use obelus_runtime::Language;
pub(crate) use obelus_runtime::people::fill;

pub(crate) use ask::{Asking, Because};
pub(crate) use chat::{Chat, Counts, Errors, Files, Help, Modes};
pub(crate) use kept::{Answering, KeptWords, Running, StoryWords};
pub(crate) use serve::ServingWords;
pub(crate) use store::StoreWords;

/// The phrases of a language, by subject.
pub(crate) struct Phrases {
    pub(crate) language: Language,
    /// The key of this language in a tool's `x-title`.
    pub(crate) code: &'static str,
    pub(crate) chat: Chat,
    pub(crate) modes: Modes,
    pub(crate) counts: Counts,
    pub(crate) help: Help,
    pub(crate) files: Files,
    pub(crate) errors: Errors,
    pub(crate) ask: Asking,
    pub(crate) because: Because,
    pub(crate) kept: KeptWords,
    pub(crate) story: StoryWords,
    pub(crate) answering: Answering,
    pub(crate) running: Running,
    pub(crate) serving: ServingWords,
    pub(crate) store: StoreWords,
}

/// The subjects in one of the two languages.
macro_rules! in_language {
    ($language:ident, $code:literal, $which:ident) => {
        Phrases {
            language: Language::$language,
            code: $code,
            chat: Chat::$which,
            modes: Modes::$which,
            counts: Counts::$which,
            help: Help::$which,
            files: Files::$which,
            errors: Errors::$which,
            ask: Asking::$which,
            because: Because::$which,
            kept: KeptWords::$which,
            story: StoryWords::$which,
            answering: Answering::$which,
            running: Running::$which,
            serving: ServingWords::$which,
            store: StoreWords::$which,
        }
    };
}

static RUSSIAN: Phrases = in_language!(Russian, "ru", RU);
static ENGLISH: Phrases = in_language!(English, "en", EN);

/// The language that `--lang` names.
static CHOSEN: OnceLock<Language> = OnceLock::new();

/// Has everything said in a language, whatever agents' files name.
pub(crate) fn choose(language: Language) {
    let _ = CHOSEN.set(language);
}

impl Phrases {
    /// The phrases for an agent with this language: `--lang` comes first, and where neither says anything, the
    /// environment does.
    pub(crate) fn of(agent: Option<&str>) -> &'static Phrases {
        let named = || agent.map(|name| Language::named(Some(name)));
        let language = CHOSEN.get().copied().or_else(named);
        Self::in_language(language.unwrap_or_else(|| of_environment(|name| std::env::var(name).ok())))
    }

    /// The phrases for a session: its agent's language, else that of the user's words if they are Russian.
    pub(crate) fn of_session(session: &Session) -> &'static Phrases {
        Self::about_to_hear(session, None)
    }

    /// The same for a session that is about to hear these words.
    pub(crate) fn about_to_hear(session: &Session, words: Option<&str>) -> &'static Phrases {
        let heard = session.context().messages().iter().rev().find_map(|message| match message {
            Message::Text(text) if text.role == Role::User => Some(text.text.as_str()),
            _ => None,
        });
        let said = words.or(heard).map(Language::of);
        let russian = said.filter(|language| *language == Language::Russian).map(Language::code);
        Self::of(session.settings().language.as_deref().or(russian))
    }

    /// The phrases of a language.
    pub(crate) fn in_language(language: Language) -> &'static Phrases {
        match language {
            Language::Russian => &RUSSIAN,
            Language::English => &ENGLISH,
        }
    }

    /// The description of a mode.
    pub(crate) fn mode_means(&self, mode: Mode) -> &'static str {
        match mode {
            Mode::Shadow => self.modes.shadow,
            Mode::Canary => self.modes.canary,
            Mode::Full => self.modes.full,
        }
    }

    /// A number with its noun. The forms are separated by `|`: for one, for few (in Russian), for many.
    pub(crate) fn count(&self, forms: &str, n: u64) -> String {
        self.language.count(forms, n)
    }
}

/// The language in which an agent that speaks several is to speak: that of `--lang`, else of the first message, else of
/// the environment; none if nothing tells.
pub(crate) fn wanted(message: Option<&str>) -> Option<&'static str> {
    let said = || message.filter(|words| words.chars().any(char::is_alphabetic)).map(Language::of);
    let environment = || {
        let set = locale(|name| std::env::var(name).ok())?;
        ["ru", "en"].into_iter().find(|code| set.to_lowercase().starts_with(code))
    };
    CHOSEN.get().copied().or_else(said).map(Language::code).or_else(environment)
}

/// The language of the environment, as other programs choose it.
fn of_environment(read: impl Fn(&str) -> Option<String>) -> Language {
    Language::named(locale(read).as_deref())
}

fn locale(read: impl Fn(&str) -> Option<String>) -> Option<String> {
    ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(read).find(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
