//! Messages from people while a node waits for them.

use obelus_kernel::session::{Decision, Input, Outcome, QuestionId, QuestionStatus, TurnEnd};
use serde_json::{Value, json};

use crate::story::{Story, decided};
use crate::walking::table;

/// A graph whose call needs approval.
fn wiping() -> Value {
    json!({
        "start": "decide", "max_steps": 20,
        "nodes": {
            "decide": {"request": {}, "_outputPath": "†state.what", "next": [{"to": "wipe"}]},
            "wipe": {
                "call": {"_tool": "page.wipe", "params": {"target": "†state.what"}, "_outputPath": "†state.did"},
                "next": [{"when": ".last.status == \"done\"", "to": "done"}, {"when": ".last.status == \"denied\"", "to": "denied"}, {"to": "blocked"}],
            },
            "done": {"end": {"name": "done"}},
            "denied": {"end": {"name": "denied", "reply": {"jq": "\"Not done: \\(.last.error.message)\""}}},
            "blocked": {"end": {"name": "blocked"}},
        },
    })
}

fn waiting() -> Story {
    let mut story = Story::new(wiping());
    story.user_says("wipe it").model_answers(json!({"output": "the board"}));
    assert_eq!((story.ends().0, story.session.node()), (TurnEnd::Waiting, Some("wipe")));
    story
}

fn no(question: &str) -> Input {
    let decision = Decision::Deny { reason: "keep it".to_owned() };
    Input::Decide { question: question.parse().unwrap(), decision, by: "a person".to_owned(), digest: None }
}

#[test]
fn a_denied_call_leads_where_the_graph_says() {
    let mut story = waiting();
    story.tell(no("q1"));
    assert_eq!(story.ends(), (TurnEnd::Output, Some("denied"), &json!("Not done: keep it")));
}

#[test]
fn a_denied_call_is_asked_again_after_the_users_next_message() {
    let mut story = waiting();
    story.tell(no("q1")).user_says("wipe it after all").model_answers(json!({"output": "the board"}));
    assert_eq!(story.ends().0, TurnEnd::Waiting);
    story.tell(Input::Decide {
        question: "q2".parse().unwrap(),
        decision: Decision::Approve { only: None },
        by: "a person".to_owned(),
        digest: None,
    });
    story.call_ends(Outcome::Value(json!(true)));
    assert_eq!(story.ends().1, Some("done"));
}

#[test]
fn a_message_that_consents_approves_the_waiting_call() {
    let mut story = waiting();
    story.user_says("да, пожалуйста").call_ends(Outcome::Value(json!(true)));
    assert_eq!(story.ends().1, Some("done"));
    let question = story.session.questions().remove(0);
    assert_eq!(
        (question.status, question.by.as_deref()),
        (QuestionStatus::Approved, Some("the user, in conversation"))
    );
}

#[test]
fn another_message_closes_the_question_and_starts_over() {
    let mut story = waiting();
    story.user_says("да, но не доску, а только полку");
    assert!(story.call.is_none(), "nothing was approved");
    assert_eq!(story.session.node(), Some("decide"));
    let question = story.session.questions().remove(0);
    assert_eq!(question.status, QuestionStatus::Denied);
    assert_eq!(story.ended_calls()[0], "denied", "the model is told what was not done");
    story.model_answers(json!({"output": "the shelf"}));
    assert_eq!(story.session.questions().iter().filter(|question| question.is_open()).count(), 1);
}

#[test]
fn a_message_that_does_not_match_the_schema_closes_the_question_and_starts_over() {
    let mut story = Story::new(table());
    story.user_says("Book").model_answers(json!({"output": {"when": "friday"}})).user_says("On Monday rather");
    assert_eq!(story.session.node(), Some("understand"));
    let late = story.session.handle(obelus_kernel::Time(0), decided("q1", json!(2))).unwrap_err();
    assert_eq!(late.code.name(), "already_decided");
    story.model_answers(json!({"output": {"when": "monday"}}));
    story.tell(decided("q2", json!(2))).call_ends(Outcome::Value(json!(1)));
    assert_eq!(story.ends().1, Some("done"));
    assert_eq!(story.read("†state.wish.when"), Some(json!("monday")));
}

#[test]
fn a_call_in_doubt_stays_a_question_when_the_user_continues() {
    let mut story = waiting();
    story.user_says("yes");
    let id = story.call.clone().expect("the call runs");
    story.tell(Input::InDoubt { id });
    assert_eq!(story.ends().0, TurnEnd::Waiting);
    story.user_says("how is it going?");
    let open: Vec<QuestionId> =
        story.session.questions().into_iter().filter(obelus_kernel::session::Question::is_open).map(|q| q.id).collect();
    assert_eq!(open.len(), 1, "whether it happened is not known yet");
    let happened = Decision::Happened { result: json!(true) };
    story.model_answers(json!({"output": "the board"}));
    story.tell(Input::Decide {
        question: open[0].clone(),
        decision: happened,
        by: "a person".to_owned(),
        digest: None,
    });
    assert_eq!(story.read("†state.did"), Some(json!(true)));
    assert_eq!(story.session.node(), Some("wipe"), "the new turn went on from where it had parked");
}

#[test]
fn elicitations_are_declined_when_the_user_continues() {
    let mut story = waiting();
    story.user_says("yes");
    let id = story.call.clone().expect("the call runs");
    let schema = json!({"type": "object", "properties": {"pin": {"type": "string"}}});
    story.tell(Input::Elicit { id: id.clone(), key: "k".to_owned(), words: "PIN?".to_owned(), schema });
    assert_eq!(story.ends().0, TurnEnd::Waiting);
    story.user_says("something else");
    assert!(story.session.questions().iter().all(|question| !question.is_open()));
    assert_eq!(story.session.node(), Some("decide"));
    story.tell(Input::Ended { id, outcome: Outcome::Value(json!("late")) });
    assert_eq!(story.read("†state.did"), Some(json!("late")), "what was under way still comes to its end");
    assert_eq!(story.session.node(), Some("decide"));
}
