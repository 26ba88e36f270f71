//! The operator's graph from end to end, on a toy site, with a playbook as model.

mod harness;

use obelus_kernel::session::{Decision, Input, TurnEnd};
use serde_json::{Value, json};

use harness::{CANARY, Office};

fn decided(question: &str, decision: Decision) -> Input {
    Input::Decide { question: question.parse().unwrap(), decision, by: "a person".to_owned(), digest: None }
}

#[tokio::test]
async fn the_operator_collects_and_compares_facts_without_going_back() {
    let mut office = Office::new().await;
    let reply = office.says("Сравни чайники").await;
    assert_eq!((reply.ends, reply.end.as_deref()), (TurnEnd::Output, Some("done")), "{:?}", reply.reason);
    assert_eq!(reply.output, json!("Дешевле всех Red kettle: 1490 ₽."));
    assert_eq!(office.facts().await, ["Blue kettle: 1990 ₽", "Red kettle: 1490 ₽", "Grey kettle: 2590 ₽"]);
    let acts: Vec<String> = office.log().into_iter().filter(|line| line != "observe").collect();
    assert_eq!(acts, ["look Next", "look Next"]);
    let state = office.kind("state").await;
    assert_eq!(state["current_goal"], "Сравни чайники");
    assert_eq!(state["plan"].as_array().map(Vec::len), Some(3));
    assert_eq!(state["progress"]["done"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn only_the_digest_of_a_page_is_stored() {
    let mut office = Office::new().await;
    office.says("Сравни чайники").await;
    let context = office.look(|session| session.context().to_json().to_string()).await;
    assert!(!context.contains(CANARY));
    assert!(office.kind("seen").await["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    assert_eq!(office.kind("action").await, Value::Null, "a planned action is of its step alone");
    for kind in ["state", "aim", "draft", "did", "seen", "page"] {
        assert!(!office.kind(kind).await.to_string().contains("\"e1"), "{kind}");
    }
}

#[tokio::test]
async fn a_deletion_waits_for_approval_and_is_bound_to_its_element() {
    let mut office = Office::new().await;
    let reply = office.says("Удали чайник").await;
    assert_eq!(reply.ends, TurnEnd::Waiting);
    let question = office.questions().await.remove(0);
    let call = question.calls[0].call.clone();
    assert_eq!((&call["_tool"], &call["name"], &call["role"]), (&json!("delete"), &json!("Remove"), &json!("button")));
    assert!(!call.to_string().contains("\"e1"), "no id of an element: {call}");
    let headline = office.look(move |session| session.call_headline_in(&call, Some("en"))).await;
    assert!(headline.starts_with("Delete Remove (page: https://harness.example.test/1, kind: button"), "{headline}");
    assert!(headline.contains("sent to: https://harness.example.test/remove"), "{headline}");
    assert_eq!(office.log(), ["observe"]);
    let reply = office.says("да").await;
    assert_eq!((reply.end.as_deref(), reply.output), (Some("done"), json!("Удалено.")));
    assert_eq!(office.log(), ["observe", "delete Remove", "observe"]);
}

#[tokio::test]
async fn a_denied_action_ends_the_turn_and_the_next_message_continues() {
    let mut office = Office::new().await;
    office.says("Удали чайник").await;
    let reply = office.told(decided("q1", Decision::Deny { reason: "он ещё нужен".to_owned() })).await;
    assert_eq!((reply.ends, reply.end.as_deref()), (TurnEnd::Output, Some("denied")));
    let words = reply.output.as_str().unwrap();
    assert!(words.contains("Remove") && words.contains("он ещё нужен") && words.contains("продолжай"), "{words}");
    assert_eq!(office.log(), ["observe"]);

    let reply = office.says("Продолжай!").await;
    assert_eq!(reply.ends, TurnEnd::Waiting, "it is asked anew");
    let reply = office.told(decided("q2", Decision::Approve { only: None })).await;
    assert_eq!(reply.end.as_deref(), Some("done"));
}

#[tokio::test]
async fn a_person_can_cancel_while_the_operator_waits() {
    let mut office = Office::new().await;
    office.says("Удали чайник").await;
    let reply = office.told(Input::Stop).await;
    assert_eq!((reply.ends, reply.end.as_deref()), (TurnEnd::Stopped, Some("cancelled")));
    assert!(reply.output.as_str().unwrap().starts_with("Остановлено."), "{}", reply.output);
    assert_eq!(office.log(), ["observe"]);

    let mut office = Office::new().await;
    office.says("Спроси меня").await;
    let reply = office.told(decided("q1", Decision::Deny { reason: String::new() })).await;
    assert_eq!(reply.end.as_deref(), Some("cancelled"));
}

#[tokio::test]
async fn three_invalid_actions_in_a_row_block_the_operator() {
    let mut office = Office::new().await;
    let reply = office.says("Нажми на невидимое").await;
    assert_eq!((reply.ends, reply.end.as_deref()), (TurnEnd::Output, Some("blocked")));
    let words = reply.output.as_str().unwrap();
    assert!(words.contains("не получается") && words.contains("такого элемента на странице нет"), "{words}");
    assert_eq!(office.log(), ["observe", "observe", "observe"]);
}

#[tokio::test]
async fn at_the_limit_the_operator_sums_up_and_continues_with_its_facts() {
    let mut office = Office::with(12, true).await;
    let reply = office.says("Сравни чайники").await;
    assert_eq!((reply.ends, reply.end.as_deref()), (TurnEnd::Limit, Some("limit")));
    let words = reply.output.as_str().unwrap();
    for part in
        ["шагов: 12", "Сделано: Просмотрено: Blue kettle", "Осталось: Пройти по страницам; Ответить", "продолжай"]
    {
        assert!(words.contains(part), "{part} in {words}");
    }
}

#[tokio::test]
async fn no_fact_is_lost_or_action_repeated_at_any_limit() {
    for most in 9..=16 {
        let mut office = Office::with(most, true).await;
        let mut reply = office.says("Сравни чайники").await;
        let mut turns = 1;
        while reply.ends == TurnEnd::Limit && turns < 10 {
            let kept = office.facts().await;
            reply = office.says(if turns % 2 == 0 { "продолжай" } else { "Да, дальше!" }).await;
            assert!(office.facts().await.starts_with(&kept), "{most}");
            turns += 1;
        }
        let answer = (reply.end.as_deref(), reply.output.as_str());
        assert_eq!(answer, (Some("done"), Some("Дешевле всех Red kettle: 1490 ₽.")), "{most} steps");
        assert_eq!(office.facts().await.len(), 3, "{most}");
        let acts = office.log().into_iter().filter(|line| line != "observe").count();
        assert_eq!(acts, 2, "{most}");
    }
}

#[tokio::test]
async fn a_fact_with_an_id_is_refused_and_the_model_is_told() {
    let mut office = Office::new().await;
    let reply = office.says("Запомни кнопку").await;
    assert_eq!(reply.end.as_deref(), Some("done"));
    assert!(reply.output.as_str().unwrap().contains("facts[0]: it carries the id of an element"), "{}", reply.output);
    assert_eq!(office.facts().await, ["Кнопка ведёт дальше"]);
}

#[tokio::test]
async fn after_an_answer_the_operator_observes_before_it_decides() {
    let mut office = Office::new().await;
    let reply = office.says("Спроси меня").await;
    assert_eq!(reply.ends, TurnEnd::Waiting);
    assert_eq!(office.questions().await[0].description, "Какой цвет?");
    assert_eq!(office.log(), ["observe"]);
    let reply = office.says("синий").await;
    assert_eq!((reply.end.as_deref(), reply.output), (Some("done"), json!("Значит, синий.")));
    assert_eq!(office.log(), ["observe", "observe"]);
}

#[tokio::test]
async fn after_a_restart_the_goal_is_kept_and_the_operator_observes_first() {
    let mut office = Office::with(12, true).await;
    office.says("Сравни чайники").await;
    let before = office.log().len();
    office.restarts().await;
    office.says("continue").await;
    assert_eq!(office.log()[before], "observe");
    assert_eq!(office.kind("state").await["current_goal"], "Сравни чайники");
}

#[tokio::test]
async fn thanks_are_answered_without_a_plan_and_a_new_goal_archives_the_facts() {
    let mut office = Office::new().await;
    office.says("Сравни чайники").await;
    let looks = office.log().len();
    let reply = office.says("спасибо").await;
    assert_eq!((reply.end.as_deref(), reply.output), (Some("done"), json!("Пожалуйста!")));
    assert_eq!(office.log().len(), looks);
    office.says("Спроси меня").await;
    assert_eq!(office.kind("state").await["current_goal"], "Спроси меня");
    assert_eq!(office.kind("state").await["progress"]["done"], json!([]));
    let state = office.kind("state").await;
    assert_eq!((office.facts().await.len(), state["earlier"].as_array().map(Vec::len)), (0, Some(3)), "set aside");
}

#[tokio::test]
async fn without_a_browser_the_operator_uses_tools_of_other_servers() {
    let mut office = Office::with(120, false).await;
    let reply = office.says("Сделай заметку").await;
    assert_eq!(reply.ends, TurnEnd::Waiting, "what a server's tool does is not known, so a person is asked");
    assert_eq!(office.questions().await[0].calls[0].call["_tool"], "notes.add");
    let reply = office.told(decided("q1", Decision::Approve { only: None })).await;
    assert_eq!((reply.end.as_deref(), reply.output), (Some("done"), json!("Записано под номером 7.")));
}
