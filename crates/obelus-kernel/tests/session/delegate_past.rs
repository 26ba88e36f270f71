//! DUR-4, ASK-3: a session and its delegates share what happened, and what people denied.

use obelus_kernel::policy::Reason;
use obelus_kernel::session::{Decision, Input, Outcome, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn child(name: &str) -> Value {
    call("child", name, json!({"q": name}))
}

fn count(path: &str) -> Value {
    call("count", path, json!({"q": 1}))
}

/// Two delegates at work, the request of the first before that of the second.
fn two_delegates() -> Harness {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a"), child("b")]), json!(null));
    harness
}

fn lost() -> Outcome {
    Outcome::Lost { message: "the line went dead".into() }
}

#[test]
fn an_effect_without_a_kept_result_in_one_delegate_asks_in_the_other() {
    let mut harness = two_delegates();
    harness.solve(json!([count("n")]), json!(null));
    harness.returns("count", json!("many"));
    // The second delegate made its plan before.
    harness.solve(json!([count("other")]), json!(null));
    assert_eq!((harness.waiting(), harness.handed_out("count").len()), (vec!["0.1/q1".to_owned()], 1));
    assert!(matches!(&harness.question("0.1/q1").reasons[..], [Reason::Happened(_)]));
    harness.approve("0.1/q1");
    assert_eq!(harness.handed_out("count").len(), 2, "a person may repeat it");
    harness.returns("count", json!(7));
    harness.solve(json!([count("n")]), json!("over"));
    assert_eq!(harness.handed_out("count").len(), 3, "a kept result ends the questions, in the first one too");
}

#[test]
fn what_happened_in_a_delegate_asks_at_the_top_and_below_whichever_way_it_ended() {
    let output = |harness: &mut Harness| harness.solve(json!([]), json!("over"));
    let error = |harness: &mut Harness| harness.model_fails();
    let stop = |harness: &mut Harness| {
        harness.stop();
        harness.solve(json!([]), json!("over"));
        harness.user("go on");
    };
    for end in [&output as &dyn Fn(&mut Harness), &error, &stop] {
        for depth in 0..=2 {
            let mut harness = Harness::at_work(json!({}));
            harness.solve(json!([child("a")]), json!(null));
            harness.solve(json!([count("n")]), json!(null));
            harness.returns("count", json!("many"));
            end(&mut harness);
            for level in 0..depth {
                harness.solve(json!([child(&level.to_string())]), json!(null));
            }
            harness.solve(json!([count("n")]), json!(null));
            assert_eq!((harness.asked.len(), harness.handed_out("count").len()), (1, 1), "depth {depth}");
        }
    }
}

#[test]
fn what_happened_at_the_top_or_in_an_inner_delegate_asks_in_the_next_delegate() {
    for depth in [0, 2] {
        let mut harness = Harness::at_work(json!({}));
        for level in 0..depth {
            harness.solve(json!([child(&level.to_string())]), json!(null));
        }
        harness.solve(json!([count("n")]), json!(null));
        harness.returns("count", json!("many"));
        for _ in 0..depth {
            harness.solve(json!([]), json!("over"));
        }
        harness.solve(json!([child("next")]), json!(null));
        harness.solve(json!([count("m")]), json!(null));
        assert_eq!((harness.asked.len(), harness.handed_out("count").len()), (1, 1), "depth {depth}");
    }
}

#[test]
fn an_effect_in_doubt_in_one_delegate_asks_in_the_other() {
    for (answer, repeats) in [(None, false), (Some(Decision::Happened { result: json!(7) }), true)] {
        let mut harness = two_delegates();
        harness.solve(json!([count("n")]), json!("over"));
        harness.ends("count", lost());
        if let Some(answer) = answer {
            harness.decide("0.0/q1", answer).unwrap();
        }
        harness.solve(json!([count("n")]), json!(null));
        assert_eq!(harness.handed_out("count").len(), if repeats { 2 } else { 1 });
        if !repeats {
            assert_eq!(harness.question("0.1/q1").reasons, [Reason::MayHaveHappened]);
        }
    }
}

#[test]
fn a_question_of_a_delegate_says_that_the_doubt_in_another_one_is_settled() {
    for answer in [Decision::Happened { result: json!(7) }, Decision::DidNot] {
        let mut harness = Harness::at_work(json!({}));
        harness.solve(json!([child("a"), child("b")]), json!(null));
        harness.solve(json!([count("n")]), json!("over"));
        harness.ends("count", lost());
        harness.solve(json!([count("n")]), json!(null));
        assert_eq!(harness.question("0.1/q1").reasons, [Reason::MayHaveHappened]);
        harness.decide("0.0/q1", answer).unwrap();
        assert_eq!(harness.question("0.1/q1").reasons, [Reason::WasInDoubt]);
    }
}

#[test]
fn an_open_question_says_that_the_same_effect_has_come_to_be_in_doubt() {
    let mut asked = count("n");
    asked["requires_confirmation"] = true.into();
    for (outcome, is_doubt) in [(lost(), true), (Outcome::Value(json!("many")), false)] {
        let mut harness = two_delegates();
        harness.solve(json!([count("n")]), json!("over"));
        harness.solve(json!([asked.clone()]), json!("over"));
        let before = harness.question("0.1/q1").digest();
        harness.ends("count", outcome);
        let reasons = harness.question("0.1/q1").reasons;
        let says =
            |why: &Reason| matches!((why, is_doubt), (Reason::MayHaveHappened, true) | (Reason::Happened(_), false));
        assert_eq!(reasons.iter().filter(|why| says(why)).count(), 1, "{reasons:?}");
        let (question, decision) = ("0.1/q1".parse().unwrap(), Decision::Approve { only: None });
        let answer = Input::Decide { question, decision, by: "ann".into(), digest: Some(before) };
        assert_eq!(harness.tell(answer).unwrap_err().code.name(), "question_changed");
        harness.approve("0.1/q1");
        assert_eq!(harness.handed_out("count").len(), 2, "a person may repeat it");
    }
}

#[test]
fn an_approved_call_that_waits_for_a_place_asks_again_once_its_effect_is_in_doubt() {
    let mut asked = count("n");
    asked["requires_confirmation"] = true.into();
    for is_approved_again in [true, false] {
        let mut harness = Harness::at_work(json!({"max_parallel": 1}));
        let calls = [count("m"), asked.clone()];
        harness.solve(json!(calls), json!("over"));
        harness.approve("q1");
        assert_eq!(harness.handed_out("count").len(), 1, "it waits for the place");
        harness.ends("count", lost());
        assert_eq!(harness.handed_out("count").len(), 1);
        let (doubt, again) = ("q2", "q3");
        assert!(harness.question(again).reasons.contains(&Reason::MayHaveHappened));
        if is_approved_again {
            harness.approve(again);
        } else {
            harness.deny(again);
        }
        assert_eq!(harness.handed_out("count").len(), if is_approved_again { 2 } else { 1 });
        if is_approved_again {
            harness.returns("count", json!(7));
        }
        harness.decide(doubt, Decision::Happened { result: json!(7) }).unwrap();
        assert_eq!((harness.waiting().len(), harness.rested()), (0, TurnEnd::Output));
    }
}

#[test]
fn a_doubt_that_is_settled_leaves_no_question_behind() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([count("n")]), json!(null));
    harness.ends("count", lost());
    harness.decide("q1", Decision::DidNot).unwrap();
    harness.fails("count");
    harness.solve(json!([count("n")]), json!(null));
    assert_eq!((harness.asked.len(), harness.handed_out("count").len()), (1, 3), "it has failed for certain");
}

#[test]
fn a_doubt_stays_one_while_the_same_effect_is_repeated_with_a_kept_result() {
    let mut harness = two_delegates();
    harness.solve(json!([count("n")]), json!("over"));
    harness.ends("count", lost());
    harness.solve(json!([count("n")]), json!(null));
    harness.approve("0.1/q1");
    harness.returns("count", json!(7));
    harness.solve(json!([count("n")]), json!(null));
    assert_eq!((harness.waiting(), harness.handed_out("count").len()), (vec!["0.0/q1".into(), "0.1/q2".into()], 2));
}

#[test]
fn a_kept_result_of_an_edited_call_leaves_the_effect_that_was_proposed_in_question() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([count("n")]), json!(null));
    harness.returns("count", json!("many"));
    harness.solve(json!([count("n")]), json!(null));
    harness.edit("q1", json!({"q": 2})).unwrap();
    harness.returns("count", json!(7));
    harness.solve(json!([count("n")]), json!(null));
    assert_eq!((harness.waiting(), harness.handed_out("count").len()), (vec!["q2".to_owned()], 2));
}

#[test]
fn a_doubt_that_nobody_settled_in_a_delegate_asks_in_the_next() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!(null));
    harness.solve(json!([count("n")]), json!("over"));
    harness.ends("count", lost());
    harness.wait(25);
    harness.user("again");
    while !harness.requests.is_empty() && harness.requests[0].to_string().contains('/') {
        harness.solve(json!([]), json!("over"));
    }
    harness.solve(json!([child("b")]), json!(null));
    harness.solve(json!([count("n")]), json!(null));
    assert_eq!(harness.handed_out("count").len(), 1);
    assert!(harness.session.questions().iter().any(|question| question.reasons == [Reason::MayHaveHappened]));
}

#[test]
fn an_effect_that_a_delegate_left_at_work_asks_in_the_next() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([child("a")]), json!(null));
    harness.solve(json!([{"_tool": "make", "q": 1}]), json!("left something running"));
    harness.solve(json!([child("b")]), json!(null));
    harness.solve(json!([call("make", "m", json!({"q": 1})), call("make", "n", json!({"q": 2}))]), json!(null));
    assert_eq!(harness.handed_out("make").len(), 2, "only the other one runs");
    assert_eq!(harness.question("1.0/q1").reasons, [Reason::MayHaveHappened]);
}

#[test]
fn a_call_that_was_denied_in_one_delegate_is_ignored_in_others_and_at_the_top() {
    let drop = |path: &str| call("drop", path, json!({"id": 1}));
    let mut harness = two_delegates();
    harness.solve(json!([drop("x")]), json!("over"));
    harness.deny("0.0/q1");
    harness.solve(json!([drop("y")]), json!("over"));
    harness.solve(json!([drop("z")]), json!(null));
    assert_eq!((harness.asked.len(), harness.states("drop")), (1, vec!["denied"]));
    // The user may ask for it again.
    let mut again = drop("z");
    again["requires_confirmation"] = true.into();
    harness.solve(json!([child("c")]), json!(null));
    harness.solve(json!([again.clone()]), json!("over"));
    assert_eq!(harness.asked.len(), 1, "the user has written nothing since");
    harness.solve(json!([]), json!("over"));
    harness.user("delete it after all");
    harness.solve(json!([child("d")]), json!(null));
    harness.solve(json!([drop("z")]), json!(null));
    harness.solve(json!([again]), json!("over"));
    assert_eq!(harness.asked.len(), 2);
}

#[test]
fn an_approval_ends_an_earlier_denial_in_another_delegate() {
    let drop = || json!([call("drop", "x", json!({"id": 1}))]);
    let mut harness = two_delegates();
    harness.solve(drop(), json!("over"));
    harness.solve(drop(), json!("over"));
    harness.deny("0.0/q1");
    harness.approve("0.1/q1");
    harness.returns("drop", json!(1));
    harness.solve(json!([child("c")]), json!(null));
    harness.solve(drop(), json!("over"));
    assert_eq!(harness.asked.len(), 3);
}

#[test]
fn the_model_of_a_delegate_cannot_deny_for_others() {
    let mut claimed = call("drop", "x", json!({"id": 1}));
    claimed["confirmation_decision"] = "deny".into();
    let mut harness = two_delegates();
    harness.solve(json!([claimed]), json!("over"));
    harness.solve(json!([call("drop", "x", json!({"id": 1}))]), json!("over"));
    assert_eq!(harness.waiting(), ["0.1/q1"]);
}

#[test]
fn the_past_of_delegates_is_known_after_a_restart() {
    let mut harness = two_delegates();
    harness.solve(json!([count("n"), call("drop", "x", json!({"id": 1}))]), json!("over"));
    harness.returns("count", json!("many"));
    harness.deny("0.0/q1");
    while !harness.requests.is_empty() {
        harness.solve(json!([]), json!("over"));
    }
    let kept = harness.session.checkpoint().expect("a checkpoint");
    let other = Harness::at_work(json!({})).session.restore(&kept, std::sync::Arc::new(|| Ok(Vec::new())));
    harness.session = other.expect("the same session");
    harness.user("again");
    harness.solve(json!([child("c")]), json!(null));
    harness.solve(json!([count("n"), call("drop", "x", json!({"id": 1}))]), json!("over"));
    let [asked] = &harness.waiting()[..] else { panic!("{:?}", harness.waiting()) };
    assert!(matches!(&harness.question(asked).reasons[..], [Reason::Happened(_)]));
    assert_eq!(harness.handed_out("count").len(), 1);
}

#[test]
fn an_edit_of_a_delegates_call_is_shown_with_what_happened_elsewhere() {
    let mut harness = two_delegates();
    let confirmed = |q: u64| {
        let mut proposed = call("count", "n", json!({"q": q}));
        proposed["requires_confirmation"] = true.into();
        json!([proposed])
    };
    harness.solve(json!([count("n")]), json!(null));
    harness.solve(confirmed(2), json!("over"));
    harness.returns("count", json!("many"));
    let params = json!({"q": 1}).as_object().unwrap().clone();
    let id = "0.1/q1".parse().unwrap();
    let shown = harness.session.edited_question(&id, &params).unwrap();
    assert!(shown.reasons.iter().any(|reason| matches!(reason, Reason::Happened(_))), "{:?}", shown.reasons);
    let decision = Decision::Edit { params };
    let digest = Some(shown.digest());
    harness.tell(Input::Decide { question: id, decision, by: "ann".into(), digest }).unwrap();
}

#[test]
fn a_question_knows_what_another_delegate_or_the_top_has_done() {
    let pay = || call("change", "n", json!({"id": 1, "sum": 100}));
    let mut harness = two_delegates();
    harness.solve(json!([pay()]), json!(null));
    harness.approve("0.0/q1");
    harness.returns("change", json!(true));
    harness.solve(json!([pay()]), json!(null));
    let done_before = |harness: &Harness, id: &str| harness.session.done_before(&harness.question(id));
    assert_eq!(done_before(&harness, "0.1/q1"), [Some(harness.now)]);
    harness.approve("0.1/q1");
    harness.returns("change", json!(true));
    harness.solve(json!([]), json!("over"));
    harness.solve(json!([]), json!("over"));
    harness.solve(json!([pay()]), json!(null));
    assert_eq!(done_before(&harness, "q1"), [Some(harness.now)]);
}
