//! Editing a call on its card, and approvals that cover more than one question.

use serde_json::{Value, json};

use crate::Office;
use crate::fake::ANNA;

impl Office {
    fn shown(&self) -> Value {
        let shown = self.obelus(&["sessions", "show", "telegram-42", "--json"]);
        serde_json::from_str(&shown).unwrap()
    }
}

#[test]
fn a_field_is_chosen_by_a_button_and_the_next_message_is_its_value() {
    let office = Office::open("edit");
    let (card, _) = office.card();
    office.press(card, "Edit");
    let fields = office.press(card, "sum: 5");
    assert!(fields.contains("Which field is to be changed?"), "{fields}");
    let (asks, _) = office.button(card, "Back");
    assert!(asks.contains("Change a deal"), "{asks}");
    office.api.shows(ANNA, "Write the new value of “sum”. It is now: 5");
    office.api.say(ANNA, "seven");
    office.api.shows(ANNA, "Not taken: ");
    office.api.say(ANNA, "7");
    let (edited, yes) = office.button(card, "Yes, with the change");
    assert!(edited.contains('7') && edited.contains("Is it to be done with this change?"), "{edited}");
    // Nothing is decided yet, and neither value was sent to the agent as a message.
    let before = office.shown();
    assert_eq!(before["waiting"].as_array().unwrap().len(), 1, "{before}");
    assert!(!before.to_string().contains("seven"), "{before}");
    office.api.press(ANNA, card, &yes);
    office.api.shows(ANNA, "Approved with changes by Anna");
    let text = office.api.wait(|telegram| telegram.messages[&card]["text"].as_str().map(str::to_owned));
    assert!(text.contains("sum: 7   ✎ instead of 5") && !text.contains("decision is needed"), "{text}");
    let log = office.obelus(&["sessions", "log", "telegram-42"]);
    assert!(log.contains("✓ Change a deal: Windows"), "{log}");
}

#[test]
fn buttons_of_the_original_call_do_not_answer_the_edited_one() {
    let office = Office::open("stale");
    let (card, buttons) = office.card();
    office.press(card, "Edit");
    office.press(card, "sum: 5");
    office.api.shows(ANNA, "Write the new value");
    office.api.say(ANNA, "7");
    office.button(card, "Yes, with the change");
    office.api.press(ANNA, card, &buttons[0]);
    office.api.wait(|telegram| telegram.answers().contains(&"This question was answered already.").then_some(()));
    assert_eq!(office.shown()["waiting"].as_array().unwrap().len(), 1);
    // Without the change the original question returns.
    office.press(card, "No, without the change");
    let (text, yes) = office.button(card, "Yes, do it");
    assert!(!text.contains('7'), "{text}");
    office.api.press(ANNA, card, &yes);
    office.api.shows(ANNA, "The amount is set.");
    assert_eq!(office.shown()["calls"][0]["call"]["sum"], 5);
}

#[test]
fn an_edit_survives_a_restart_and_messages_are_normal_again_after_back() {
    let mut office = Office::open("edit-again");
    let (card, _) = office.card();
    office.press(card, "Edit");
    office.press(card, "sum: 5");
    office.api.shows(ANNA, "Write the new value");
    office.wait_until_written();
    office.kill();
    office.start();
    office.api.say(ANNA, "8");
    office.button(card, "Yes, with the change");
    office.press(card, "Edit again");
    office.press(card, "sum: 5");
    office.api.shows(ANNA, "Write the new value");
    office.press(card, "Back");
    office.api.shows(ANNA, "Which field is to be changed?");
    office.api.say(ANNA, "hello");
    office.api.shows(ANNA, "You said: hello");
}

#[test]
fn a_standing_consent_is_described_before_it_counts() {
    let office = Office::open("consent");
    let (card, _) = office.card();
    office.press(card, "Yes, and also…");
    let (text, agree) = office.button(card, "Yes, with consent 1");
    assert!(text.contains("Yes, and in this session also:"), "{text}");
    assert!(text.contains("1. “Change a deal” without asking"), "{text}");
    let none = office.obelus(&["sessions", "consents", "telegram-42", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&none).unwrap(), json!([]));
    office.api.press(ANNA, card, &agree);
    office.api.shows(ANNA, "The amount is set.");
    let given = office.obelus(&["sessions", "consents", "telegram-42", "--json"]);
    let given: Value = serde_json::from_str(&given).unwrap();
    assert!(given[0].to_string().contains("telegram:42"), "{given}");
}
