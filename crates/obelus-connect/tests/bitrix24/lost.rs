//! DUR-4: writes whose answer was lost, and how the client finds out whether they happened.

use std::sync::{Arc, Mutex};

use obelus_kernel::session::Outcome;
use obelus_runtime::{Activity, Reconciled, Work};
use serde_json::{Value, json};

use super::portal::{called, refusal, result};
use super::server::{Reply, Server, answer};
use super::{TOKEN, activity, client, run, work};

fn deal() -> Value {
    json!({
        "plant": {"fields.ORIGINATOR_ID": "obelus", "fields.ORIGIN_ID": "{key}"},
        "find": {"method": "crm.deal.list", "params": {
            "filter": {"ORIGINATOR_ID": "obelus", "ORIGIN_ID": "{key}"}, "select": ["ID"],
        }},
    })
}

fn creation() -> Work {
    work("crm.deal.add", "create", deal(), json!({"fields": {"TITLE": "Окна"}}))
}

/// A portal that loses the answers of writes; it carries them out if `does`.
async fn losing(does: bool) -> Server {
    let made = Arc::new(Mutex::new(Vec::new()));
    Server::start(move |asked, _| {
        let called = called(asked);
        let mut made = made.lock().unwrap();
        match called.method.as_str() {
            "crm.deal.add" => {
                if does {
                    made.push(called.params["fields"].clone());
                }
                Reply::Raw(String::new())
            }
            _ => {
                let same = |fields: &&Value| {
                    ["ORIGINATOR_ID", "ORIGIN_ID"].iter().all(|name| fields[name] == called.params["filter"][name])
                };
                result(&made.iter().filter(same).map(|_| json!({"ID": "77"})).collect())
            }
        }
    })
    .await
}

async fn reconciled(server: &Server, work: Work) -> Reconciled {
    activity(&client(server)).reconcile(work).expect("it can tell").await
}

#[tokio::test]
async fn a_write_with_a_lost_answer_is_sent_once_and_is_in_doubt() {
    for broken in [
        (|_: &_, _| Reply::Raw(String::new())) as fn(&super::server::Asked, usize) -> Reply,
        |_, _| answer("504 Gateway Timeout", "text/html", "<html>"),
        |_, _| refusal("500 Internal Server Error", "INTERNAL_SERVER_ERROR", "x"),
        |_, _| Reply::Raw("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"result\": 1".to_owned()),
    ] {
        let server = Server::start(broken).await;
        let outcome = run(&client(&server), creation()).await;
        assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_record_with_the_embedded_key_is_returned_as_the_result_of_the_creation() {
    let server = losing(true).await;
    assert!(matches!(run(&client(&server), creation()).await, Outcome::Lost { .. }));
    assert_eq!(reconciled(&server, creation()).await, Reconciled::Happened(Outcome::Value(json!(77))));
    let other = Work { key: "s:2.0".to_owned(), ..creation() };
    assert_eq!(reconciled(&server, other).await, Reconciled::DidNot, "another call is another key");
}

#[tokio::test]
async fn a_missing_record_means_that_the_creation_did_not_happen() {
    let server = losing(false).await;
    assert!(matches!(run(&client(&server), creation()).await, Outcome::Lost { .. }));
    assert_eq!(reconciled(&server, creation()).await, Reconciled::DidNot);
}

#[tokio::test]
async fn a_failed_reconciliation_leaves_the_decision_to_a_person() {
    let server = Server::start(|_, _| refusal("403 Forbidden", "ACCESS_DENIED", "")).await;
    let found = reconciled(&server, creation()).await;
    assert!(matches!(&found, Reconciled::Unknown(words) if words.contains("ACCESS_DENIED")), "{found:?}");
}

#[tokio::test]
async fn dur_8_errors_of_a_reconciliation_do_not_contain_the_token() {
    let server = Server::start(|asked, _| {
        let words = format!("no rights at http://portal.example.test{}", asked.target);
        refusal("403 Forbidden", &format!("DENIED_{TOKEN}"), &words)
    })
    .await;
    let found = reconciled(&server, creation()).await;
    let Reconciled::Unknown(words) = &found else { panic!("{found:?}") };
    assert!(words.contains("no rights") && words.contains("***") && !words.contains(TOKEN), "{words}");

    let same = json!({"same": {"method": "crm.deal.get", "params": {"id": "{id}"}, "fields": "fields"}});
    let server = Server::start(|_, _| refusal("400 Bad Request", "", &format!("Not found: /rest/1/{TOKEN}/"))).await;
    let update = work("crm.deal.update", "update", same, json!({"id": 5, "fields": {"OPPORTUNITY": 5}}));
    let found = reconciled(&server, update).await;
    assert!(matches!(&found, Reconciled::Unknown(words) if !words.contains(TOKEN)), "{found:?}");
}

#[tokio::test]
async fn dur_8_the_token_is_masked_in_answers_that_repeat_it() {
    let server = Server::start(|asked, before| match before {
        0 => result(&json!({"link": asked.target, "deep": [{format!("by {TOKEN}"): 1}]})),
        1 => refusal("400 Bad Request", &format!("E_{TOKEN}"), "x"),
        _ => answer("502 Bad Gateway", "text/html", &format!("<a href='{}'>", asked.target)),
    })
    .await;
    for _ in 0..3 {
        let outcome = run(&client(&server), creation()).await;
        assert!(!format!("{outcome:?}").contains(TOKEN), "{outcome:?}");
    }
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn a_call_without_an_embedded_key_cannot_be_reconciled() {
    let server = losing(true).await;
    assert!(client(&server).reconcile(work("crm.deal.add", "create", json!({}), json!({}))).is_none());
    let own = work("crm.deal.add", "create", deal(), json!({"fields": {"ORIGIN_ID": "1C-5"}}));
    assert!(client(&server).reconcile(own).is_none(), "the call's own key is not ours");
}

#[tokio::test]
async fn a_task_is_found_by_the_marker_in_its_description() {
    let task = json!({
        "plant": {"fields.DESCRIPTION": {"append": "\n\n[obelus {key}]"}},
        "find": {
            "method": "tasks.task.list", "rows": "tasks", "id": "id", "mark": "description",
            "params": {"filter": {"TITLE": "{fields.TITLE}"}, "select": ["ID", "DESCRIPTION"]},
            "result": {"task": {"id": "{id}"}},
        },
    });
    let made: Arc<Mutex<Vec<Value>>> = Arc::default();
    let server = Server::start(move |asked, _| {
        let called = called(asked);
        let mut made = made.lock().unwrap();
        if called.method == "tasks.task.add" {
            made.push(called.params["fields"]["DESCRIPTION"].clone());
            return Reply::Raw(String::new());
        }
        assert_eq!(called.params["filter"], json!({"TITLE": "Позвонить"}));
        let rows: Vec<Value> = made.iter().map(|text| json!({"id": "9", "description": text})).collect();
        result(&json!({"tasks": std::iter::once(json!({"id": "3", "description": "Позвонить завтра"})).chain(rows).collect::<Vec<_>>()}))
    })
    .await;
    let call = || {
        let fields = json!({"fields": {"TITLE": "Позвонить", "DESCRIPTION": "Позвонить завтра"}});
        work("tasks.task.add", "create", task.clone(), fields)
    };
    assert_eq!(reconciled(&server, call()).await, Reconciled::DidNot);
    assert!(matches!(run(&client(&server), call()).await, Outcome::Lost { .. }));
    assert_eq!(reconciled(&server, call()).await, Reconciled::Happened(Outcome::Value(json!({"task": {"id": 9}}))));
}

#[tokio::test]
async fn an_update_has_happened_if_the_record_has_its_values_or_else_a_person_decides() {
    let same = json!({"same": {"method": "crm.deal.get", "params": {"id": "{id}"}, "fields": "fields"}});
    let server = Server::start(|_, _| result(&json!({"ID": "5", "OPPORTUNITY": "100000.00"}))).await;
    let update = |sum: i32| {
        let call = json!({"id": 5, "fields": {"OPPORTUNITY": sum}});
        work("crm.deal.update", "update", same.clone(), call)
    };
    assert_eq!(reconciled(&server, update(100_000)).await, Reconciled::Happened(Outcome::Value(json!(true))));
    assert!(matches!(reconciled(&server, update(5)).await, Reconciled::Unknown(_)));
}
