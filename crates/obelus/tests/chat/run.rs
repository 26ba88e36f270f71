//! `obelus run` with a person at the terminal: the steps are shown and the questions asked as in a conversation.

use crate::person::{CTRL_C, ENTER, ESC, Harness, Person};

fn says<'a>(words: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "agents/harness", "--say", words], more].concat()
}

#[test]
fn the_answer_is_printed_once_and_steps_are_shown_while_they_run() {
    let harness = Harness::new("run-once", "en");
    let person = Person::runs(&harness, &says("look around", &[]), &[]);
    person.sees("Looking, this takes a moment.").sees("Look at the deals: planned");
    harness.open_the_gate();
    let (code, screen) = person.exit();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("1 ✓ Look at the deals: 3 found"), "{screen}");
    assert_eq!(screen.matches("There are three deals.").count(), 1, "{screen}");
    assert_eq!(screen.matches("Looking, this").count(), 1, "{screen}");
}

#[test]
fn a_question_is_asked_in_the_agents_words_and_answered_by_a_key() {
    let harness = Harness::new("run-asks", "ru");
    let person = Person::runs(&harness, &says("amount 500", &[]), &[]);
    person.sees("? Нужно ваше решение").sees("Изменить сделку").sees("Сумма: 500").sees("Esc позже");
    person.types(ENTER).sees("Enter ничего не подтверждает.").types("y").sees("Вы разрешили.");
    let (code, screen) = person.exit();
    assert_eq!((code, harness.changed().as_str()), (Some(0), "\"sum\":500\n"), "{screen}");
    assert!(!screen.contains("sum"), "no name of a parameter:\n{screen}");
    assert_eq!(screen.matches("The deal is settled.").count(), 1, "{screen}");
}

#[test]
fn a_postponed_question_says_how_to_answer_it() {
    let harness = Harness::new("run-later", "en");
    let person = Person::runs(&harness, &says("amount 500", &["--session", "s"]), &[]);
    person.sees("Esc later").types(ESC).sees("Postponed: s:q1. `obelus inbox` shows the question");
    let (code, screen) = person.exit();
    assert_eq!((code, harness.changed().as_str()), (Some(3), ""), "{screen}");
    assert_eq!(screen.matches("Amount: 500").count(), 1, "{screen}");
}

#[test]
fn ctrl_c_stops_the_run() {
    let harness = Harness::new("run-stop", "en");
    let person = Person::runs(&harness, &says("look", &[]), &[]);
    person.sees("planned").types(CTRL_C).sees("stopped by you");
    let (code, screen) = person.exit();
    assert_eq!(code, Some(130), "{screen}");
    assert_eq!(screen.matches("Stopped.").count(), 1, "{screen}");
}
