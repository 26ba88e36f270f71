//! The texts of the chat program, one file for each language.

mod en;
mod ru;

use obelus_kernel::session::Mode;
use obelus_runtime::Language;

/// The phrases of a language. `{}` is replaced by a value.
pub(crate) struct Phrases {
    pub(crate) language: Language,
    /// The key of this language in a tool's `x-title`.
    pub(crate) code: &'static str,
    pub(crate) hello: &'static str,
    pub(crate) kept: &'static str,
    pub(crate) not_kept: &'static str,
    pub(crate) going_on: &'static str,
    pub(crate) bye: &'static str,
    pub(crate) bye_kept: &'static str,
    pub(crate) mode_is: &'static str,
    pub(crate) modes: [&'static str; 3],
    pub(crate) thinking: &'static str,
    pub(crate) stopping: &'static str,
    pub(crate) told_elsewhere: &'static str,
    pub(crate) again_to_quit: &'static str,
    pub(crate) status: Statuses,
    pub(crate) of_so_many: &'static str,
    pub(crate) nothing_found: &'static str,
    pub(crate) records_of: &'static str,
    pub(crate) no: &'static str,
    pub(crate) ask: Asking,
    pub(crate) why: Why,
    pub(crate) because: Because,
    pub(crate) waits: &'static str,
    pub(crate) nothing_waits: &'static str,
    pub(crate) no_plan: &'static str,
    pub(crate) no_state: &'static str,
    pub(crate) cost: &'static str,
    pub(crate) cost_turn: &'static str,
    pub(crate) cost_session: &'static str,
    pub(crate) costs: &'static str,
    pub(crate) help: &'static [(&'static str, &'static str)],
    pub(crate) help_keys: &'static str,
    pub(crate) picture_taken: &'static str,
    pub(crate) files: Files,
    pub(crate) listens: &'static str,
    pub(crate) happened: &'static str,
    pub(crate) errors: Errors,
    pub(crate) tokens: fn(u64) -> String,
    pub(crate) requests: fn(u64) -> String,
    pub(crate) records: fn(u64) -> String,
    pub(crate) steps: fn(u64) -> String,
    pub(crate) questions: fn(u64) -> String,
}

/// Messages about the session's files.
pub(crate) struct Files {
    pub(crate) taken: &'static str,
    pub(crate) refused: &'static str,
    pub(crate) trouble: &'static str,
}

/// The status of a step.
pub(crate) struct Statuses {
    pub(crate) planned: &'static str,
    pub(crate) done: &'static str,
    pub(crate) waiting: &'static str,
    pub(crate) failed: &'static str,
    pub(crate) stopped: &'static str,
    pub(crate) too_late: &'static str,
    pub(crate) skipped: &'static str,
    pub(crate) denied: &'static str,
    pub(crate) refused: &'static str,
    pub(crate) outside_mode: &'static str,
    pub(crate) only_planned: &'static str,
}

/// The texts of a question.
pub(crate) struct Asking {
    pub(crate) call: &'static str,
    pub(crate) calls: &'static str,
    pub(crate) plan: &'static str,
    pub(crate) input: &'static str,
    pub(crate) in_doubt: &'static str,
    pub(crate) because: &'static str,
    pub(crate) key_yes: &'static str,
    pub(crate) key_all: &'static str,
    pub(crate) key_part: &'static str,
    pub(crate) key_edit: &'static str,
    pub(crate) key_no: &'static str,
    pub(crate) key_answer: &'static str,
    pub(crate) key_decline: &'static str,
    pub(crate) key_happened: &'static str,
    pub(crate) key_did_not: &'static str,
    pub(crate) key_give_up: &'static str,
    pub(crate) key_later: &'static str,
    pub(crate) press_a_key: &'static str,
    pub(crate) one_key: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) no_reason: &'static str,
    pub(crate) numbers: &'static str,
    pub(crate) bad_numbers: &'static str,
    pub(crate) params: &'static str,
    pub(crate) bad_params: &'static str,
    pub(crate) not_an_object: &'static str,
    pub(crate) no_edit: &'static str,
    pub(crate) nothing_edited: &'static str,
    pub(crate) answer: &'static str,
    pub(crate) put_off: &'static str,
    pub(crate) approved: &'static str,
    pub(crate) approved_some: &'static str,
    pub(crate) edited: &'static str,
    pub(crate) denied: &'static str,
    pub(crate) answered: &'static str,
    pub(crate) happened: &'static str,
    pub(crate) did_not: &'static str,
    pub(crate) in_agents_words: &'static str,
    pub(crate) not_trusted: &'static str,
    pub(crate) result_to: &'static str,
    pub(crate) number: &'static str,
    pub(crate) now: &'static str,
    pub(crate) now_unknown: &'static str,
    pub(crate) no_change: &'static str,
    pub(crate) will_lapse: &'static str,
    pub(crate) elsewhere: &'static str,
    pub(crate) answer_elsewhere: &'static str,
    pub(crate) asked_by: &'static str,
    pub(crate) not_kept: &'static str,
}

/// The reasons of a question.
pub(crate) struct Why {
    pub(crate) sets: &'static str,
    pub(crate) after_reading: &'static str,
    pub(crate) is_shown: &'static str,
    pub(crate) comes_from: &'static str,
    pub(crate) come_from: &'static str,
    pub(crate) deletes: &'static str,
    pub(crate) configures: &'static str,
    pub(crate) agent_asks: &'static str,
    pub(crate) policy_asks: &'static str,
    pub(crate) plan: &'static str,
    pub(crate) interrupted: &'static str,
    pub(crate) lost: &'static str,
}

/// The origin of a value.
pub(crate) struct Because {
    pub(crate) nothing: &'static str,
    pub(crate) author: &'static str,
    pub(crate) person: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) untrusted_tool: &'static str,
    pub(crate) model: &'static str,
    pub(crate) delegate: &'static str,
    pub(crate) elsewhere: &'static str,
    pub(crate) runtime: &'static str,
    pub(crate) as_proposed: &'static str,
    /// How a value was found: in the user's words, in a result, by the name of its record, among what was created.
    pub(crate) in_words: &'static str,
    pub(crate) in_result: &'static str,
    pub(crate) by_name: &'static str,
    pub(crate) created: &'static str,
    pub(crate) was_shown: &'static str,
    pub(crate) earlier: &'static str,
    pub(crate) told_already: &'static str,
}

/// Errors in typed lines.
pub(crate) struct Errors {
    pub(crate) unknown: &'static str,
    pub(crate) did_you_mean: &'static str,
    pub(crate) see_help: &'static str,
    pub(crate) no_arguments: &'static str,
    pub(crate) which_question: &'static str,
    pub(crate) which_mode: &'static str,
    pub(crate) which_path: &'static str,
    pub(crate) which_picture: &'static str,
    pub(crate) no_question: &'static str,
    pub(crate) needs_terminal: &'static str,
    pub(crate) bad_path: &'static str,
}

impl Phrases {
    /// The phrases for the language in an agent's file; English if it is missing or unknown.
    pub(crate) fn of(language: Option<&str>) -> &'static Phrases {
        match language {
            Some(name) if name.to_lowercase().starts_with("ru") => &ru::PHRASES,
            _ => &en::PHRASES,
        }
    }

    /// The description of a mode.
    pub(crate) fn mode_means(&self, mode: Mode) -> &'static str {
        self.modes[match mode {
            Mode::Shadow => 0,
            Mode::Canary => 1,
            Mode::Full => 2,
        }]
    }
}

/// Replaces each `{}` of a phrase by the next value.
pub(crate) fn fill(phrase: &str, with: &[&str]) -> String {
    let mut filled = String::new();
    let mut with = with.iter();
    let mut parts = phrase.split("{}");
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        filled.push_str(with.next().unwrap_or(&""));
        filled.push_str(part);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_the_agents_and_english_if_it_is_not_known() {
        for (said, code) in [(Some("ru"), "ru"), (Some("ru-RU"), "ru"), (Some("Russian"), "ru"), (Some("en"), "en")] {
            assert_eq!(Phrases::of(said).code, code);
        }
        assert_eq!((Phrases::of(None).code, Phrases::of(Some("fi")).code), ("en", "en"));
    }

    #[test]
    fn numbers_take_the_form_that_russian_demands() {
        let phrases = Phrases::of(Some("ru"));
        let of = |n| (phrases.requests)(n);
        assert_eq!(
            [of(1), of(2), of(5), of(11), of(21), of(112)],
            ["1 запрос", "2 запроса", "5 запросов", "11 запросов", "21 запрос", "112 запросов"]
        );
    }

    #[test]
    fn both_languages_know_the_same_commands() {
        let names = |language| Phrases::of(Some(language)).help.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let first = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
        assert_eq!(
            names("ru").into_iter().map(first).collect::<Vec<_>>(),
            names("en").into_iter().map(first).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_phrase_is_filled_in_order() {
        assert_eq!(fill("a {} b {}.", &["1", "2"]), "a 1 b 2.");
        assert_eq!(fill("{} of {}", &["{}"]), "{} of ");
    }
}
