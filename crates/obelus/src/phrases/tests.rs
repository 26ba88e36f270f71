use super::*;

const RU: &Phrases = &RUSSIAN;
const EN: &Phrases = &ENGLISH;

/// Every phrase of a language, in the same order for both.
fn all(of: &Phrases) -> Vec<&'static str> {
    let Phrases {
        chat,
        modes,
        status,
        counts,
        help,
        files,
        errors,
        ask,
        why,
        because,
        kept,
        story,
        answering,
        running,
        ..
    } = of;
    [
        chat.all(),
        modes.all(),
        status.all(),
        counts.all(),
        help.all(),
        files.all(),
        errors.all(),
        ask.all(),
        why.all(),
        because.all(),
        kept.all(),
        story.all(),
        answering.all(),
        running.all(),
    ]
    .concat()
}

fn is_cyrillic(c: char) -> bool {
    ('\u{400}'..='\u{4ff}').contains(&c)
}

/// Names of keys, modes and verbs, which are the same in every language.
const NAMES: [&str; 10] = ["JSON", "Esc", "Enter", "Tab", "shadow", "canary", "full", "inbox", "happened", "value"];

/// The text without commands, names and placeholders.
fn prose(text: &str) -> String {
    let mut in_command = false;
    let is_prose = |word: &&str| {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
        in_command |= plain == "obelus";
        if in_command && !plain.chars().any(is_cyrillic) {
            // A command ends with its clause.
            in_command = !word.ends_with(['.', ':', ';', ',', ')']);
            return false;
        }
        in_command = false;
        let is_letter = plain.chars().count() == 1;
        !(is_letter || NAMES.contains(&plain) || plain.contains('.') || word.contains(['/', '-', '†', '{']))
    };
    text.split([' ', '|']).filter(is_prose).collect::<Vec<_>>().join(" ")
}

#[test]
fn no_phrase_has_words_of_the_other_language() {
    for (ru, en) in all(RU).into_iter().zip(all(EN)) {
        assert!(!en.chars().any(is_cyrillic), "Russian in English: {en}");
        let prose = prose(ru);
        assert!(!prose.chars().any(|c| c.is_ascii_alphabetic()), "English in Russian: {ru} ({prose})");
        assert!(ru == en || ru.chars().any(is_cyrillic), "not translated: {ru}");
    }
}

#[test]
fn both_languages_are_filled_with_the_same_values() {
    for (ru, en) in all(RU).into_iter().zip(all(EN)) {
        let holes = |text: &str| text.split('|').next().unwrap_or_default().matches("{}").count();
        assert_eq!(holes(ru), holes(en), "{ru} / {en}");
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

#[test]
fn a_phrase_is_filled_in_order() {
    assert_eq!(fill("a {} b {}.", &["1", "2"]), "a 1 b 2.");
    assert_eq!(fill("{} of {}", &["{}"]), "{} of ");
}
