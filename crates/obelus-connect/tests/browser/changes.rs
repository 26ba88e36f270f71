//! A page is shown whole once, then only its changes (OPR-10).

use serde_json::json;

use crate::harness::{Harness, id};

#[tokio::test(flavor = "multi_thread")]
async fn opr_10_ids_stay_valid_across_a_reload_and_end_with_the_page() {
    let Some(mut harness) = Harness::new("ids", json!({})).await else { return };
    let page = harness.open("/form").await;
    assert_eq!(harness.changes(), None, "it was not shown before");
    let again = harness.open("/form").await;
    let ids = |page: &obelus_connect::browser::PageSnapshot| -> Vec<String> {
        page.elements().iter().map(|element| element.id.clone()).collect()
    };
    assert_eq!(ids(&page), ids(&again));
    assert!(harness.changes().is_some_and(|changes| changes.contains("Nothing that is shown has changed")));
    // The ids still belong to the current page.
    let save = id(&page, "button", "Save");
    assert!(harness.aim("browser_click", json!({"target": save})).await.is_ok());

    let other = harness.open("/rows").await;
    assert_eq!(harness.changes(), None, "another address: the whole page");
    let error = harness.aim("browser_click", json!({"target": save})).await.unwrap_err();
    assert_eq!(error.code, "unknown_element", "{error:?}");
    assert!(ids(&other).iter().all(|id| !ids(&page).contains(id)), "no id is given twice");
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opr_10_the_full_page_is_shown_on_request_and_if_it_was_not_seen_before() {
    let Some(mut harness) = Harness::new("whole", json!({})).await else { return };
    harness.open("/").await;
    harness.do_press("button", "Only here").await.unwrap();
    harness.observe().await;
    let changes = harness.changes().expect("little has changed").to_owned();
    assert!(changes.len() * 2 < harness.text().len(), "{changes}");
    let seen = harness.run("observe", json!({"whole": true})).await.unwrap();
    assert!(seen["changes"].is_null() && seen["text"].as_str().is_some_and(|text| text.contains("pressed")));
    harness.forget();
    harness.observe().await;
    assert_eq!(harness.changes(), None, "nothing lies before the model any more");
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_dialogs_are_not_listed() {
    let Some(mut harness) = Harness::new("closed", json!({})).await else { return };
    harness.open("/closed").await;
    assert!(!harness.text().contains("Discard") && harness.text().contains("\"Keep editing\""), "{}", harness.text());
    assert!(harness.text().contains("(icon bars)"), "an icon is named by its class: {}", harness.text());
    harness.close().await;
}
