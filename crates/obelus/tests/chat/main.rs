//! Tests of `obelus chat` at a real terminal.

mod person;
mod run;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use person::{CTRL_C, CTRL_D, CTRL_U, ENTER, ESC, Harness, Person, TAB};

/// A person who asked for a change and sees the question.
fn asked(harness: &Harness, sum: u32) -> Person {
    let person = Person::at(harness, &[]);
    person.prompted(1).types(&format!("amount {sum}")).types(ENTER).sees("Esc later");
    person
}

#[test]
fn text_and_steps_appear_as_they_arrive() {
    let harness = Harness::new("stream", "en");
    let person = Person::at(&harness, &[]);
    person.prompted(1).sees("harness full ›").types("look around").types(ENTER);
    person.sees("Looking, this takes a moment.").sees("Look at the deals: planned");
    assert!(!person.screen().contains("There are three"), "{}", person.screen());
    harness.open_the_gate();
    person.prompted(2).sees("1 ✓ Look at the deals: 3 found").sees("2 ✓ Look at the deals: 3 found");
    person.sees("There are three deals.\\u{1b}[2J");
    assert!(!person.screen().contains("planned"), "what was under way is drawn anew:\n{}", person.screen());
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn y_approves_once_exactly_the_shown_call() {
    let harness = Harness::new("yes", "ru");
    let person = Person::at(&harness, &[]);
    person.prompted(1).types("amount 500").types(ENTER).sees("Esc позже");
    for line in
        ["? Нужно ваше решение", "Изменить сделку", "Сделка: 7", "Сумма: 500", "почему спрашиваю: меняется «Сумма»"]
    {
        person.sees(line);
    }
    person.sees("as you said\\u{1b}[2J");
    assert_eq!(harness.changed(), "");
    person.types("y").sees("Вы разрешили.").sees("1 ✓ Изменить сделку").sees("The deal is settled.").prompted(2);
    assert_eq!(harness.changed(), "\"sum\":500\n");
    person.types("/quit").types(ENTER);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn enter_and_other_keys_approve_nothing() {
    let harness = Harness::new("enter", "en");
    let person = asked(&harness, 500);
    person.types(ENTER).sees("Enter approves nothing.");
    person.types("x").sees_times("Enter approves nothing.", 2);
    person.types("yes please").sees("Several keys came at once");
    assert_eq!(harness.changed(), "");
    person.types(CTRL_D);
    let (code, screen) = person.exit();
    assert_eq!((code, harness.changed()), (Some(3), String::new()), "{screen}");
}

#[test]
fn keys_typed_before_the_question_do_not_answer_it() {
    let harness = Harness::new("ahead", "en");
    let person = Person::at(&harness, &[]);
    person.prompted(1).types("look").types(ENTER).sees("planned");
    // Typed during a turn: it waits for the next line and is not shown meanwhile.
    person.types("amount 900\ry\ry\r");
    harness.open_the_gate();
    person.sees("Esc later");
    person.types("x").sees("Enter approves nothing.");
    assert_eq!(harness.changed(), "");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(3));
}

#[test]
fn every_line_typed_during_a_turn_is_processed() {
    let harness = Harness::new("lines", "en");
    let person = Person::at(&harness, &[]);
    person.prompted(1).types("look").types(ENTER).sees("planned");
    person.types("/mode canary\r/mode shadow\r/nonsense\r");
    harness.open_the_gate();
    person.prompted(5).sees("harness canary ›").sees("harness shadow ›").sees("/nonsense");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn n_denies_with_a_reason() {
    let harness = Harness::new("no", "en");
    let person = asked(&harness, 500);
    person.types("n").sees("Reason ›").types("not before Friday").types(ENTER);
    person
        .sees("You denied it: not before Friday")
        .sees("1 ⊘ Change a deal")
        .sees("denied: not before Friday")
        .prompted(2);
    assert_eq!(harness.changed(), "");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn esc_leads_from_an_inner_prompt_back_to_the_question() {
    let harness = Harness::new("esc", "en");
    let person = asked(&harness, 500);
    person.types("n").sees("Reason ›").types("not").types(ESC).sees_times("Esc later", 2);
    person.types("e").sees("Which fields to change").types(ESC).sees("Nothing was changed").sees_times("Esc later", 3);
    person.types("e").sees_times("Which fields to change", 2).types("2").types(ENTER).sees("Amount › 500");
    person.types(ESC).sees_times("Nothing was changed", 2).sees_times("Esc later", 4);
    assert_eq!(harness.changed(), "");
    person.types("y").sees("The deal is settled.").prompted(2);
    assert_eq!(harness.changed(), "\"sum\":500\n");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn e_edits_and_an_edit_is_checked() {
    let harness = Harness::new("edit", "en");
    let person = asked(&harness, 500);
    person.types("e").sees("1 Deal: 7").sees("2 Amount: 500").sees("Which fields to change");
    person.types("5").types(ENTER).sees("`5` is not in the list").types(CTRL_U);
    // Numbers stay numbers; what was typed is offered again.
    person.types("2").types(ENTER).sees("Amount › 500").types(CTRL_U).types("many").types(ENTER);
    person.sees("This takes a whole number").sees_times("Amount › many", 2);
    // The tool's schema refuses the edit; the question stays, and so does what was typed.
    person.types(CTRL_U).types("-4").types(ENTER).sees("! `sum`").sees_times("Amount › -4", 2);
    assert!(!person.screen().contains("said yes") && harness.changed().is_empty(), "{}", person.screen());
    person.types(CTRL_U).types("444").types(ENTER).sees("With your changes, this will run");
    person.sees("Amount: 444   ✎ instead of 500").sees("Esc back");
    // Enter approves nothing; Esc leads back to the question as it was.
    person
        .types(ENTER)
        .sees("Enter approves nothing")
        .types(ESC)
        .sees("Nothing was changed")
        .sees_times("Esc later", 2);
    assert!(harness.changed().is_empty());
    person
        .types("e")
        .sees_times("Which fields to change", 3)
        .types("{\"sum\": 4")
        .types(ENTER)
        .sees("This is not JSON: EOF");
    person.types(CTRL_U).types("{\"sum\": 444}").types(ENTER).sees_times("Amount: 444   ✎ instead of 500", 2);
    person.types("y").sees("You edited and approved it.").sees("The deal is settled.");
    assert_eq!(harness.changed(), "\"sum\":444\n");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn question_mark_unfolds_the_details() {
    let harness = Harness::new("details", "ru");
    let person = Person::at(&harness, &[]);
    person
        .prompted(1)
        .types("amount 500")
        .types(ENTER)
        .sees("Esc позже")
        .sees("ещё 4 подробности")
        .sees("подробности   Esc позже");
    assert!(!person.screen().contains("†state.one"), "{}", person.screen());
    person.types("?").sees("слова агента: \"as you said\\u{1b}[2J\"").sees("результат запишется в †state.one");
    person.sees_times("Esc позже", 2).types("y").sees("Вы разрешили.").prompted(2);
    assert_eq!(harness.changed(), "\"sum\":500\n");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn several_questions_are_asked_in_turn_and_can_be_postponed() {
    let harness = Harness::new("several", "en");
    let person = Person::at(&harness, &[]);
    person.prompted(1).types("several").types(ENTER).sees("Amount: 11").sees("Esc later");
    assert!(!person.screen().contains("Amount: 12"), "one after the other");
    person
        .types(ESC)
        .sees("Postponed.")
        .sees("Amount: 12")
        .sees_times("Esc later", 2)
        .types("y")
        .sees("You approved it.");
    person.prompted(2).sees("1 question waits: /inbox");
    assert_eq!(harness.changed(), "\"sum\":12\n");
    person.types("/inbox").types(ENTER).sees_times("Amount: 11", 2).sees_times("Esc later", 3).types(ESC);
    person.sees_times("Postponed.", 2).prompted(3);
    person.types("/deny q1 too much").types(ENTER).sees("You denied it: too much").sees("Both decided.");
    person.types("/approve q1").types(ENTER).sees("There is no open question q1");
    assert_eq!(harness.changed(), "\"sum\":12\n");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn ctrl_c_stops_the_turn_and_twice_leaves() {
    let harness = Harness::new("stop", "en");
    let person = Person::at(&harness, &[]);
    person.prompted(1).types("look").types(ENTER).sees("planned").types(CTRL_C);
    person.sees("1 ✗ Look at the deals: stopped by you").sees("! Stopped.").prompted(2);
    person.types("hello").types(ENTER).sees("There are three deals.").prompted(3);
    person.types("half a thought").sees("half a thought").types(CTRL_C).sees("Ctrl-C again exits.").prompted(4);
    person.types(CTRL_C);
    assert_eq!(person.exit().0, Some(130));
}

#[test]
fn two_ctrl_c_far_apart_do_not_end_an_unsaved_conversation() {
    let harness = Harness::new("apart", "en");
    let person = Person::at(&harness, &[]);
    person.prompted(1).types(CTRL_C).sees("Ctrl-C again exits.").prompted(2);
    std::thread::sleep(std::time::Duration::from_millis(5500));
    person.types(CTRL_C).sees_times("Ctrl-C again exits.", 2).prompted(3);
    person.types("hello").types(ENTER).sees("There are three deals.").prompted(4).types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn text_stays_on_the_screen_when_an_answer_is_interrupted() {
    let harness = Harness::new("written", "en");
    let base = Harness::silent_model("There were once three deals");
    let env = [("OPENAI_API_BASE", base.as_str()), ("OPENAI_API_KEY", "none")];
    let person = Person::with(&harness, &["--model", "openai:test"], &env);
    person.prompted(1).types("tell me").types(ENTER).sees("There were once three deals").types(CTRL_C);
    person.sees("! Stopped.").prompted(2).sees("There were once three deals").sees("broken off here");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn a_closed_terminal_ends_the_conversation_and_frees_the_store() {
    let harness = Harness::new("closed", "en");
    for (words, until) in [("hello", "There are three deals."), ("amount 5", "Esc later")] {
        let closed = person::closes_the_terminal(&harness, words, until);
        assert_eq!(closed, Some(130), "after `{words}`");
        harness.obelus(&["sessions", "rm", "s", "--yes"]);
    }
}

#[test]
fn the_mode_is_always_visible_and_enforced() {
    let harness = Harness::new("mode", "en");
    let person = Person::at(&harness, &["--session", "s"]);
    person
        .prompted(1)
        .types("/mode shadow")
        .types(ENTER)
        .sees("Mode shadow: nothing is executed")
        .sees("harness shadow ›");
    person.types("amount 5").types(ENTER).sees("stays in the plan, the mode").prompted(3);
    person.types("/mode canary").types(ENTER).sees("harness canary ›");
    person.types("amount 6").types(ENTER).sees("the mode canary does not").prompted(5);
    person.types(CTRL_D).sees("To continue: obelus chat --session s");
    assert_eq!((person.exit().0, harness.changed()), (Some(0), String::new()));
    // The mode is in the journal, so the session continues in it.
    let again = Person::at(&harness, &["--session", "s"]);
    again.sees("Continuing the saved conversation.").sees("harness canary ›").types(CTRL_D);
    assert_eq!(again.exit().0, Some(0));
}

#[test]
fn after_a_crash_the_open_question_comes_first() {
    let harness = Harness::new("crash", "en");
    let person = Person::at(&harness, &["--session", "s"]);
    person.prompted(1).types("amount 500").types(ENTER).sees("Esc later");
    person.kill();
    let again = Person::at(&harness, &["--session", "s"]);
    again.sees("Continuing the saved conversation.").sees("› amount 500").sees("Amount: 500").sees("Esc later");
    assert!(!again.screen().contains("full ›"), "first the question, then the prompt:\n{}", again.screen());
    again.types("y").sees("The deal is settled.").prompted(1);
    assert_eq!(harness.changed(), "\"sum\":500\n");
    again.types(CTRL_D);
    assert_eq!(again.exit().0, Some(0));
}

#[test]
fn a_question_can_be_answered_from_another_process_meanwhile() {
    let harness = Harness::new("elsewhere", "en");
    let person = Person::at(&harness, &["--session", "s"]);
    person.prompted(1).types("several").types(ENTER).sees("Amount: 11").sees("Esc later");
    // The answering process prints the result too. Another question is open.
    let told = harness.obelus_ends(3, &["approve", "s:q1"]);
    assert!(told.contains("✓ Change a deal: Окна"), "{told}");
    person
        .sees("An input came from another process.")
        .sees("1 ✓ Change a deal")
        .sees("Amount: 12")
        .sees_times("Esc later", 2);
    person.types(ESC).prompted(2).types("half a thought").sees("half a thought");
    let told = harness.obelus(&["deny", "s:q2", "--reason", "no"]);
    assert!(told.contains("Both decided."), "{told}");
    person.sees_times("An input came from another process.", 2).sees("denied: no").sees("Both decided.");
    assert_eq!(harness.changed(), "\"sum\":11\n");
    // The text being typed is still there.
    person.sees_times("half a thought", 2).types(CTRL_U).types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn a_portal_event_is_shown_as_an_event_and_not_as_an_answer() {
    let harness = Harness::new("event", "ru");
    let bound = r#"{"event_bindings": [{"event": "onCrmDealAdd", "handler": "https://example.test/hook"}]}"#;
    fs::write(harness.0.join("s.json"), bound).expect("a state");
    harness.obelus(&["sessions", "adopt", "s.json", "--agent", "crm"]);
    let person = Person::runs(
        &harness,
        &["chat", "--session", "s", "--events", "127.0.0.1:0"],
        &[("BITRIX_APPLICATION_TOKEN", "agreed")],
    );
    person.sees("Жду событий портала по адресу http://").prompted(1);
    let screen = person.screen();
    let address = screen.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    let form = "event=ONCRMDEALADD&event_handler_id=5&ts=1714557600&data[FIELDS][ID]=7&auth[application_token]=agreed";
    person::posts(address, "/hook", form);
    person.sees("Событие портала: сделка 7 создана").prompted(2);
    assert!(!person.screen().contains("Пришёл ответ"), "{}", person.screen());
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn commands_are_completed_and_unknown_ones_are_answered() {
    let harness = Harness::new("commands", "en");
    let person = Person::at(&harness, &[]);
    person.prompted(1).types("/hel").types(TAB).sees("› /help").types(ENTER).sees("/mode shadow|canary|full");
    for (line, said) in [
        ("/frobnicate", "There is no command /frobnicate."),
        ("/pln", "Did you mean /plan?"),
        ("/mode yolo", "The modes are shadow, canary and full."),
        ("/approve", "Which question? /approve ID"),
        ("/approve q9", "There is no open question q9"),
        ("/why †", "/why †: "),
        ("/plan", "There is no plan."),
        ("/inbox", "There are no open questions."),
        ("/state", "There is no state yet."),
        ("/cost", "the conversation: 0 requests, 0 tokens"),
    ] {
        let before = person.screen().matches(" › ").count();
        person.types(line).types(ENTER).waits_for("the next prompt", |screen| screen.matches(" › ").count() > before);
        if line != "/why †" {
            person.sees(said);
        }
    }
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn the_history_is_private_and_without_answers() {
    let harness = Harness::new("history", "en");
    let person = asked(&harness, 500);
    person.types("n").sees("Reason ›").types("a secret reason").types(ENTER).prompted(3);
    person.types(" spaced out").types(ENTER).prompted(4).types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
    let file = harness.0.join("home/chat_history");
    let kept = fs::read_to_string(&file).expect("a history");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    assert!(kept.contains("amount 500") && !kept.contains("secret") && !kept.contains("spaced"), "{kept}");
}

#[test]
fn no_colours_are_printed_when_disabled() {
    let harness = Harness::new("colours", "en");
    for (env, has) in [([("NO_COLOR", "1")].as_slice(), false), (&[], true)] {
        let person = Person::with(&harness, &[], env);
        person.prompted(1).types("hello").types(ENTER).sees("There are three deals.").prompted(2);
        let coloured = person.colours().contains("\x1b[35m");
        assert_eq!(coloured, has, "{:?}", person.colours());
        person.types(CTRL_D);
        person.exit();
    }
}

#[test]
fn an_elicitation_is_shown_to_the_person_and_the_answer_reaches_the_call() {
    let Some(harness) = Harness::with_notes("notes", "en") else { return };
    let person = Person::with(&harness, &[], &[("NOTES_FILE", "notes.json")]);
    person.prompted(1).types("sign note 1").types(ENTER).sees("Your answer is needed").sees("Esc later");
    person.sees("«Have a note signed» asks, in its own words:").sees("│ notes: Who signs note 1");
    // The question can wait while the conversation goes on.
    person.types(ESC).sees("Postponed.").prompted(2).types("show the notes").types(ENTER);
    // The answer is not held back for the question of the turn before.
    person.sees("Look at the notes: 1 found").sees("1. buy milk");
    person.prompted(3).types("/inbox").types(ENTER).sees_times("Esc later", 2);
    person.types("a").sees("Answer ›").types("Ada").types(ENTER);
    person.sees("✓ Have a note signed: buy milk").prompted(5);
    let notes = fs::read_to_string(harness.0.join("agents/harness/notes.json")).expect("the notes");
    assert!(notes.contains("\"signed\": \"Ada\""), "{notes}");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn a_step_that_was_edited_elsewhere_says_by_whom() {
    let harness = Harness::new("edited-elsewhere", "en");
    let person = Person::at(&harness, &["--session", "s"]);
    person.prompted(1).types("amount 500").types(ENTER).sees("Esc later");
    let told = harness.obelus(&["answer", "s:q1", "edit", "--params", r#"{"sum": 7}"#]);
    assert!(told.contains("edited by a person at the command line"), "{told}");
    person.sees("1 ✓ Change a deal").sees("edited by a person at the").sees("command line").prompted(2);
    assert_eq!(harness.changed(), "\"sum\":7\n");
    person.types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}

#[test]
fn a_session_continues_when_an_elicitation_is_answered_elsewhere() {
    let Some(harness) = Harness::with_notes("notes-elsewhere", "ru") else { return };
    let person = Person::with(&harness, &["--session", "s"], &[("NOTES_FILE", "notes.json")]);
    person.prompted(1).types("sign note 1").types(ENTER).sees("Esc позже");
    person.sees("«Подписать заметку» спрашивает по ходу работы, своими словами:");
    harness.obelus(&["answer", "s:q1", "value", "Ada"]);
    person.sees("Note 1 is signed by Ada.").prompted(2).types(CTRL_D);
    assert_eq!(person.exit().0, Some(0));
}
