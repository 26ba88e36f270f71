use obelus_runtime::people::PhraseTable as _;

use super::*;

const RU: &Phrases = &RUSSIAN;
const EN: &Phrases = &ENGLISH;

/// Every phrase of a language, in the same order for both.
fn all(of: &Phrases) -> Vec<&'static str> {
    let Phrases {
        chat, modes, counts, help, files, errors, ask, because, kept, story, answering, running, store, ..
    } = of;
    [
        chat.all(),
        modes.all(),
        counts.all(),
        help.all(),
        files.all(),
        errors.all(),
        ask.all(),
        because.all(),
        kept.all(),
        story.all(),
        answering.all(),
        running.all(),
        store.all(),
    ]
    .concat()
}

#[test]
fn no_phrase_has_words_of_the_other_language() {
    for (ru, en) in all(RU).into_iter().zip(all(EN)) {
        assert_eq!(obelus_runtime::people::fault_of(ru, en), None);
    }
}

#[test]
fn the_language_is_the_agents_else_that_of_the_environment() {
    for (said, code) in [(Some("ru"), "ru"), (Some("ru-RU"), "ru"), (Some("Russian"), "ru"), (Some("fi"), "en")] {
        assert_eq!(Phrases::of(said).code, code);
    }
    let of = |set: &[(&str, &str)]| {
        of_environment(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    };
    assert_eq!(of(&[("LANG", "ru_RU.UTF-8")]), Language::Russian);
    assert_eq!(of(&[("LC_ALL", "C"), ("LANG", "ru_RU.UTF-8")]), Language::English);
    assert_eq!(of(&[("LC_ALL", ""), ("LANG", "ru_RU.UTF-8")]), Language::Russian);
    assert_eq!(of(&[]), Language::English);
}

#[test]
fn numbers_take_the_form_that_the_language_demands() {
    let of = |n| RU.count(RU.counts.requests, n);
    assert_eq!(
        [of(1), of(2), of(5), of(11), of(21), of(112)],
        ["1 запрос", "2 запроса", "5 запросов", "11 запросов", "21 запрос", "112 запросов"]
    );
    assert_eq!([0, 1, 2].map(|n| EN.count(EN.counts.requests, n)), ["0 requests", "1 request", "2 requests"]);
}

#[test]
fn both_languages_know_the_same_commands() {
    let names = |of: &Phrases| of.help.all().iter().map(|row| row.split([' ', '|']).next()).collect::<Vec<_>>();
    assert_eq!(names(RU), names(EN));
}
