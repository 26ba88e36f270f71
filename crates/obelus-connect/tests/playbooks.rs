//! The example playbooks in a session.

mod common;

use common::{example, live, say};
use obelus_kernel::session::TurnEnd;
use serde_json::json;

#[tokio::test]
async fn a_greeting_is_answered_at_once() {
    let live = live(example("greeting"), false).await;
    assert_eq!(say(&live, "Привет!").await.output, json!("Здравствуйте! Чем помочь?"));
    assert_eq!(say(&live, "Ну спасибо").await.output, json!("Пожалуйста!"));
    let otherwise = say(&live, "Приветливый вы").await.output;
    assert_eq!(otherwise, json!("Я понимаю только приветствия, а вы сказали: «Приветливый вы»"));
}

#[tokio::test]
async fn a_procedure_continues_from_its_results() {
    let live = live(example("deal-sum"), false).await;
    let reply = say(&live, "Измени сумму сделки 1 на 100 000").await;
    assert_eq!((reply.ends, reply.output), (TurnEnd::Output, json!("Сумма сделки «Окна» теперь 100 000.")));
    assert_eq!(reply.said, ["Смотрю сделку 1."]);
    let calls: Vec<_> =
        reply.calls.iter().map(|report| (report.call["_tool"].as_str(), report.status.name())).collect();
    assert_eq!(calls, [(Some("deal_get"), "done"), (Some("deal_update"), "done")]);
    assert_eq!(reply.calls[1].call["sum"], json!(100_000));
    assert_eq!(reply.calls[1].call["id"], json!(1), "the reference was resolved");
}

#[tokio::test]
async fn a_failed_procedure_is_reported() {
    let live = live(example("deal-sum"), false).await;
    let reply = say(&live, "измени сумму сделки 2 на 5").await;
    assert_eq!((reply.ends, reply.output), (TurnEnd::Output, json!("Не получилось: нет такой сделки")));
    // The failure does not affect the next turn.
    let reply = say(&live, "измени сумму сделки 1 на 5").await;
    assert_eq!(reply.output, json!("Сумма сделки «Окна» теперь 5."));
}

#[tokio::test]
async fn calls_and_model_calls_are_generated_from_data() {
    let live = live(example("reminders"), true).await;
    let reply = say(&live, "Напомни всем").await;
    assert_eq!((reply.ends, reply.output), (TurnEnd::Output, json!({"reminded": ["anna", "boris"]})));
    let sent = live.look(|session| session.context().view("sent").unwrap().read(&[], None).unwrap().into_owned()).await;
    assert_eq!(sent, json!({"anna": "Анна, завтра в 9:00 встреча.", "boris": "Борис, завтра в 10:30 встреча."}));
}

#[tokio::test]
async fn a_rule_with_once_answers_once_a_turn() {
    let live = live(example("reminders"), false).await;
    for turn in 1..=2 {
        let reply = say(&live, "Кого напомнить?").await;
        assert_eq!(reply.output, json!("Анна, Борис"), "turn {turn}");
        assert_eq!(reply.said, ["Сейчас посмотрю."], "turn {turn}");
        assert_eq!(reply.calls.len(), 1, "turn {turn}");
    }
}
