use super::*;

#[test]
fn the_same_failure_three_times_in_a_row_ends_the_turn() {
    let mut turn = Turn::new(&Settings::default());
    turn.note_failure("a", "no");
    turn.note_failure("a", "no");
    turn.note_success(|| "a".to_owned());
    turn.note_failure("a", "no");
    turn.note_failure("a", "other");
    turn.note_failure("a", "no");
    turn.note_failure("b", "no");
    assert!(!turn.is_ending());
    turn.note_failure("a", "no");
    turn.note_failure("a", "no");
    assert_eq!(turn.take_stop().unwrap().0, TurnEnd::Limit);
    assert!(turn.over.is_some() && !turn.is_ending());
}

#[test]
fn a_decision_reopens_a_resting_turn_and_resets_its_limit_of_calls() {
    let mut turn = Turn::new(&Settings::default());
    turn.reopen();
    assert_eq!(turn.phase(), Phase::New, "there is nothing to reopen");
    turn.calls = 7;
    turn.enter(Phase::Working);
    turn.enter(Phase::Rested(TurnEnd::Limit));
    turn.reopen();
    assert_eq!((turn.phase(), turn.calls), (Phase::Working, 0));
}

#[test]
fn a_turn_begins_anew_but_keeps_what_was_asked_if_no_model_is_asked() {
    let mut turn = Turn::new(&Settings::default());
    turn.begin(&Settings::default(), (3, 5), Vec::new());
    turn.ask_model(1);
    turn.enter(Phase::Working);
    turn.set_output("which one?".into(), true);
    turn.enter(Phase::Rested(TurnEnd::Output));
    turn.note_last_message(Time(7));
    turn.begin_without_model(&Settings::default());
    assert_eq!((turn.phase(), turn.requests(), turn.began()), (Phase::Working, 0, (0, 0)));
    assert!(turn.output().is_null() && !turn.came_with_calls() && !turn.asks_model());
    assert_eq!(turn.asked_for(), Some(&("which one?".to_owned(), Time(7))));
    turn.enter(Phase::Rested(TurnEnd::Output));
    turn.begin(&Settings::default(), (4, 9), Vec::new());
    assert_eq!((turn.phase(), turn.began(), turn.asked_for()), (Phase::New, (4, 9), None));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a turn begins in Asking")]
fn a_turn_does_not_begin_while_the_model_is_asked() {
    let mut turn = Turn::new(&Settings::default());
    turn.ask_model(1);
    turn.begin(&Settings::default(), (0, 0), Vec::new());
}

#[test]
fn unreadable_answers_end_the_turn_when_no_repair_is_left() {
    let mut turn = Turn::new(&Settings { repairs: 1, ..Settings::default() });
    assert!(turn.note_out_of_format("{".to_owned(), "no end".to_owned(), 2));
    assert_eq!(turn.out_of_format().map(|(text, _)| text.as_str()), Some("{"));
    assert!(!turn.note_out_of_format("[".to_owned(), "no end".to_owned(), 2));
    assert_eq!(turn.take_stop().map(|(ends, _)| ends), Some(TurnEnd::Degraded));
}
