//! Lists of several pages: every row once, in order, in few requests.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::portal::{Deals, called, result};
use super::server::Server;
use super::{client, error, run, value, work};

async fn portal(deals: Deals) -> Server {
    Server::start(move |asked, _| deals.reply(asked)).await
}

async fn list(server: &Server, annotation: Value, call: Value) -> Value {
    value(run(&client(server), work("crm.deal.list", "read", annotation, call)).await)
}

fn ids(rows: &Value) -> Vec<i64> {
    let rows = rows.as_array().expect("rows").iter();
    rows.filter_map(|row| row.get("ID")).map(|id| id.as_str().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn without_a_limit_one_page_is_returned_with_a_note_of_the_rest() {
    let server = portal(Deals::up_to(150)).await;
    let rows = list(&server, json!({"list": true}), json!({"filter": {}})).await;
    assert_eq!(ids(&rows), (1..=50).collect::<Vec<_>>());
    let more = &rows[50]["_more"];
    assert_eq!((&more["shown"], &more["total"]), (&json!(50), &json!(150)));
    assert!(more["note"].as_str().unwrap().contains("50 rows of 150"), "{more}");
    assert_eq!(called(&server.asked()[0]).params, json!({"filter": {}}), "nothing is added");
}

#[tokio::test]
async fn a_complete_list_is_returned_unchanged() {
    let server = portal(Deals::up_to(50)).await;
    for call in [json!({}), json!({"limit": 50}), json!({"limit": "all"}), json!({"limit": 1000})] {
        let rows = list(&server, json!({"list": true}), call).await;
        assert_eq!((rows.as_array().unwrap().len(), ids(&rows).len()), (50, 50));
    }
    assert_eq!(server.asked().len(), 4);
}

#[tokio::test]
async fn a_list_declared_whole_is_fetched_completely() {
    let server = portal(Deals::up_to(97)).await;
    let short = json!({"list": {"by": "start", "whole": true}});
    let rows = list(&server, short.clone(), json!({"filter": {"ENTITY_ID": "SOURCE"}})).await;
    assert_eq!((rows.as_array().unwrap().len(), ids(&rows).len()), (97, 97), "no mark of more");
    assert_eq!(ids(&list(&server, short, json!({"limit": 5})).await).len(), 5);
}

#[tokio::test]
async fn all_rows_are_fetched_by_id_with_many_pages_in_a_request() {
    for count in [51, 99, 100, 101, 1250, 3123] {
        let server = portal(Deals::up_to(count)).await;
        let call = json!({"filter": {"%TITLE": "x"}, "select": ["TITLE"], "limit": "all"});
        let rows = list(&server, json!({"list": true}), call).await;
        assert_eq!(ids(&rows), (1..=count).collect::<Vec<_>>());
        let pages = usize::try_from(count / 50 + 1).unwrap();
        assert!(server.asked().len() <= 2 + pages / 25, "{} requests for {count} rows", server.asked().len());
        let first = called(&server.asked()[0]).params;
        assert_eq!(first, json!({"filter": {"%TITLE": "x"}, "select": ["TITLE", "ID"], "order": {"ID": "ASC"}}));
    }
}

#[tokio::test]
async fn gaps_between_ids_do_not_affect_paging() {
    let ids_there: Vec<i64> = (1..=4000).filter(|id| id % 7 != 0 && id % 11 != 3).collect();
    let server = portal(Deals { ids: ids_there.clone(), rows: None, refers: true }).await;
    assert_eq!(ids(&list(&server, json!({"list": true}), json!({"limit": "all"})).await), ids_there);
    let down: Vec<i64> = ids_there.iter().rev().copied().take(333).collect();
    let rows = list(&server, json!({"list": true}), json!({"limit": 333, "order": {"ID": "DESC"}})).await;
    assert_eq!(ids(&rows), down);
}

#[tokio::test]
async fn rows_added_or_deleted_meanwhile_do_not_affect_paging() {
    for seed in 1..=12_i64 {
        let deals = Mutex::new(Deals::up_to(1000 + 50 * seed));
        let server = Server::start(move |asked, before| {
            let mut deals = deals.lock().unwrap();
            let reply = deals.reply(asked);
            // After every request some rows are deleted, before and after the page, and some are added.
            let asked_before = i64::try_from(before).unwrap() + 1;
            deals.ids.retain(|id| (id * seed) % 13 != asked_before || id % 2 == 0);
            let next = deals.ids.last().copied().unwrap_or_default();
            deals.ids.extend((1..=7 * seed % 45).map(|more| next + more));
            reply
        })
        .await;
        let rows = list(&server, json!({"list": true}), json!({"limit": "all"})).await;
        let found = ids(&rows);
        assert_eq!(found.len(), rows.as_array().unwrap().len(), "a whole list has no mark");
        assert!(found.is_sorted_by(|a, b| a < b), "one comes twice");
        // Even numbers are never deleted.
        let stayed = (1..=1000 + 50 * seed).filter(|id| id % 2 == 0);
        assert!(stayed.clone().all(|id| found.binary_search(&id).is_ok()), "one is missing");
    }
}

#[tokio::test]
async fn the_limit_sets_the_number_of_rows() {
    let server = portal(Deals::up_to(500)).await;
    for limit in [1, 49, 50, 51, 120, 500] {
        let rows = list(&server, json!({"list": true}), json!({ "limit": limit })).await;
        assert_eq!(ids(&rows), (1..=limit).collect::<Vec<_>>());
        let more = rows.as_array().unwrap().iter().find_map(|row| row.get("_more"));
        assert_eq!(more.map(|more| &more["total"]), (limit < 500).then_some(&json!(500)), "{limit}");
    }
}

#[tokio::test]
async fn a_custom_order_is_paged_by_offset() {
    let server = portal(Deals::up_to(230)).await;
    let call = json!({"limit": "all", "order": {"DATE_CREATE": "ASC"}});
    assert_eq!(ids(&list(&server, json!({"list": true}), call).await), (1..=230).collect::<Vec<_>>());
    assert_eq!(server.asked().len(), 2, "the first page, and the others as one batch");
    let counted = json!({"list": {"by": "start"}});
    assert_eq!(ids(&list(&server, counted, json!({"limit": 120})).await), (1..=120).collect::<Vec<_>>());
}

#[tokio::test]
async fn nested_rows_stay_at_their_place_in_the_result() {
    let server = portal(Deals { rows: Some("tasks"), ..Deals::up_to(180) }).await;
    let annotation = json!({"list": {"rows": "tasks"}});
    let all = list(&server, annotation.clone(), json!({"limit": "all"})).await;
    assert_eq!(ids(&all["tasks"]), (1..=180).collect::<Vec<_>>());
    assert_eq!(all.get("_more"), None);
    let page = list(&server, annotation, json!({})).await;
    assert_eq!((ids(&page["tasks"]).len(), &page["_more"]["total"]), (50, &json!(180)));
}

#[tokio::test]
async fn a_call_with_its_own_paging_is_not_changed() {
    let server = portal(Deals::up_to(180)).await;
    let rows = list(&server, json!({"list": true}), json!({"start": 150})).await;
    assert_eq!(ids(&rows), (151..=180).collect::<Vec<_>>());
    let rows =
        list(&server, json!({"list": true}), json!({"start": -1, "filter": {">ID": 170}, "order": {"ID": "ASC"}}))
            .await;
    assert_eq!(ids(&rows), (171..=180).collect::<Vec<_>>());
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn more_rows_than_the_maximum_is_an_error_with_their_number() {
    let server = portal(Deals::up_to(700)).await;
    let few = json!({"list": {"most": 600}});
    let refused =
        error(run(&client(&server), work("crm.deal.list", "read", few.clone(), json!({"limit": "all"}))).await);
    assert_eq!((refused.code.to_string().as_str(), server.asked().len()), ("too_many_rows", 1));
    assert!(refused.message.contains("700") && refused.message.contains("600"), "{}", refused.message);
    let rows = list(&server, few, json!({"limit": 5000})).await;
    assert_eq!((ids(&rows).len(), &rows[600]["_more"]["total"]), (600, &json!(700)));
}

#[tokio::test]
async fn a_wrong_page_is_an_error() {
    let server = portal(Deals { refers: false, ..Deals::up_to(400) }).await;
    let call = work("crm.deal.list", "read", json!({"list": true}), json!({"limit": "all"}));
    assert_eq!(error(run(&client(&server), call).await).code, "bad_page");
}

#[tokio::test]
async fn parameters_that_a_query_cannot_express_are_paged_without_batches() {
    let server = portal(Deals::up_to(260)).await;
    let call = json!({"filter": {"CLOSEDATE": null}, "limit": "all"});
    assert_eq!(ids(&list(&server, json!({"list": true}), call).await), (1..=260).collect::<Vec<_>>());
    assert!(server.asked().iter().all(|asked| called(asked).method == "crm.deal.list"));
    assert_eq!(server.asked().len(), 6);
}

#[tokio::test]
async fn a_limit_on_a_tool_that_is_not_a_list_is_refused() {
    let server = Server::start(|_, _| result(&json!({"ID": 1}))).await;
    let call = work("crm.deal.get", "read", json!({"list": true}), json!({"limit": "all"}));
    assert_eq!(error(run(&client(&server), call).await).code, "not_a_list");
    let bad = work("crm.deal.list", "read", json!({"list": true}), json!({"limit": "some"}));
    assert_eq!(error(run(&client(&server), bad).await).code, "bad_limit");
}
