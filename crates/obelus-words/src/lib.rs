//! The one table of words for people who use agents.
//!
//! Each sentence is here once, in Russian and in English side by side, so that neither can be missing. The crate does
//! no I/O and has no dependencies, so that the kernel, the connectors, the runtime and the binary can all use it.
//! `xtask/tests/words.rs` checks that there are no such sentences elsewhere.
//!
//! | file | subject |
//! |---|---|
//! | `language`, `phrases` | the languages, and the form of the tables |
//! | `turn` | results of turns and steps, why an input was refused |
//! | `degraded` | why a model did not answer, and what to do |
//! | `failures` | why a step failed, by the code of its error |
//! | `questions` | questions, forms of edits, reasons, invalid values, results |
//! | `consents` | standing consent |
//! | `ask` | how to answer a question, and the origins of values |
//! | `chat` | the conversation in the terminal |
//! | `store` | why a store or a session cannot be used |
//! | `portal` | errors and events of the portal |
//! | `serve`, `channel` | the server at its terminal; why a request of a channel failed |
//! | `sessions` | sessions, the inbox, answers and runs at the command line |
//! | `messenger` | a bot's own texts; answers by a code |
//! | `policy` | why a call may run or not |
//! | `doctor` | what this machine lacks |
//! | `tour` | the scripted conversation of the demo |
//!
//! ```
//! use obelus_words::{Language, fill};
//!
//! let words = Language::English.words();
//! assert_eq!(fill(words.turn.limit_steps, &["4"]), "4 steps in one turn");
//! ```

#![expect(unnameable_types, reason = "callers reach the subjects as fields of `Words`")]

#[macro_use]
mod phrases;

mod ask;
mod channel;
mod chat;
mod consents;
mod degraded;
mod doctor;
mod failures;
mod language;
mod messenger;
mod policy;
mod portal;
mod questions;
mod serve;
mod sessions;
mod store;
mod tour;
mod turn;

pub use ask::Asking;
pub use channel::ChannelWords;
pub use degraded::degraded;
pub use failures::failure;
pub use language::Language;
pub use messenger::{BotWords, CodeWords};
pub use phrases::{PhraseTable, fill};
pub use policy::PolicyWords;
pub use portal::{PortalWords, event_in_words};
pub use questions::MisfitWords;
pub use sessions::CarriedWords;
pub use tour::TourWords;

/// Declares `Words` with a field for each subject, and its Russian and English tables.
macro_rules! table {
    ($($field:ident: $subject:path, $doc:literal;)*) => {
        /// The table in one language, by subject.
        pub struct Words {
            /// The language.
            pub language: Language,
            /// Its code, as in the keys of an agent's texts.
            pub code: &'static str,
            $(#[doc = $doc] pub $field: $subject,)*
        }

        static RUSSIAN: Words = Words { language: Language::Russian, code: "ru", $($field: <$subject>::RU,)* };
        static ENGLISH: Words = Words { language: Language::English, code: "en", $($field: <$subject>::EN,)* };

        impl Words {
            /// Every phrase, in the same order for both languages.
            #[cfg(test)]
            fn all(&self) -> Vec<&'static str> {
                [$(self.$field.all()),*].concat()
            }
        }
    };
}

table! {
    turn: turn::TurnWords, "What a turn came to.";
    steps: turn::StepWords, "What became of a step.";
    refusals: turn::RefusalWords, "Why an input was refused.";
    session: turn::SessionWords, "What the session itself says as a reason.";
    days: turn::Days, "The days of the week, from Monday on.";
    short_days: turn::ShortDays, "The same in short.";
    questions: questions::QuestionWords, "The words of a question.";
    forms: questions::FormWords, "What a field of a form takes.";
    elicitations: questions::ElicitationWords, "What a service asks for while a call is at work.";
    results: questions::ResultWords, "What a call brought.";
    reasons: questions::ReasonWords, "Why a person is asked, or a call is refused.";
    misfits: questions::MisfitWords, "What is wrong with a value or a name.";
    consents: consents::ConsentWords, "What a standing consent covers.";
    ask: ask::Asking, "How a question is answered.";
    because: ask::Because, "Where a value comes from.";
    chat: chat::Chat, "The conversation.";
    modes: chat::Modes, "What a mode permits.";
    counts: chat::Counts, "Numbers with their nouns.";
    help: chat::Help, "The commands of the chat.";
    files: chat::Files, "Messages about the session's files.";
    errors: chat::Errors, "Errors in typed lines.";
    sessions: sessions::SessionListWords, "Stored sessions and their status.";
    carried: sessions::CarriedWords, "Sessions that are copied, moved and removed.";
    story: sessions::StoryWords, "What happened in a session.";
    answering: sessions::Answering, "Answers from the command line.";
    running: sessions::Running, "A run at the command line.";
    starting: sessions::Starting, "What keeps a session from starting.";
    store: store::StoreWords, "Why a store or a session cannot be used.";
    file_errors: store::FileErrors, "Why a file or a picture cannot be read.";
    holder: store::HolderWords, "The process that holds a store.";
    portal: portal::PortalWords, "Errors of the portal.";
    serving: serve::ServingWords, "The server at its terminal.";
    channel: channel::ChannelWords, "Why a request of a channel failed.";
    bot: messenger::BotWords, "What the bot of a messenger says of its own.";
    codes: messenger::CodeWords, "How a question is answered by a code.";
    policy: policy::PolicyWords, "Why a call may run or not.";
    doctor: doctor::DoctorWords, "What this machine lacks.";
    tour: tour::TourWords, "The scripted conversation of the demo.";
}

impl Language {
    /// The table in this language.
    pub fn words(self) -> &'static Words {
        match self {
            Language::Russian => &RUSSIAN,
            Language::English => &ENGLISH,
        }
    }
}

impl Words {
    /// A number with its noun. The forms are separated by `|`: for one, for few (in Russian), for many.
    pub fn count(&self, forms: &str, n: u64) -> String {
        self.language.count(forms, n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_phrase_contains_words_of_the_other_language() {
        let (russian, english) = (RUSSIAN.all(), ENGLISH.all());
        assert!(russian.len() > 400, "only {} phrases were found", russian.len());
        let faults: Vec<String> =
            russian.iter().zip(english).filter_map(|(ru, en)| phrases::fault_of(ru, en)).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn both_languages_have_the_same_commands() {
        let names = |of: &Words| of.help.all().iter().map(|row| row.split([' ', '|']).next()).collect::<Vec<_>>();
        assert_eq!(names(&RUSSIAN), names(&ENGLISH));
    }
}
