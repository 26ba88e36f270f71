//! Data that outlives the browser (OPR-12), and requests of pages to their own site (OPR-13).

use obelus_runtime::Secret;
use serde_json::json;

use crate::harness::Harness;

#[tokio::test(flavor = "multi_thread")]
async fn opr_12_a_restarted_browser_is_still_logged_in() {
    let Some(mut harness) = Harness::new("kept", json!({})).await else { return };
    harness.open("/cabinet").await;
    assert!(harness.text().contains("not logged in"), "{}", harness.text());
    harness.do_press("button", "Log in").await.unwrap();
    harness.observe().await;
    assert!(harness.text().contains("logged in as anna, theme dark"), "{}", harness.text());
    harness.end_browser();
    harness.observe().await;
    assert!(harness.text().contains("logged in as anna, theme dark"), "{}", harness.text());
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opr_13_an_opened_page_may_post_only_to_its_own_site() {
    Secret::provide("TEST_KEPT_PASSWORD", Secret::new("hush 4711"));
    let secrets = json!({"secrets": {"SHOP_PASSWORD": "$TEST_KEPT_PASSWORD"}});
    let Some(mut harness) = Harness::new("own-site", secrets).await else { return };
    harness.open("/loads").await;
    assert_eq!(harness.sent(), ["POST /api/list"], "what it shows, and no mutation or deletion");
    assert!(harness.other.asked().is_empty());
    assert!(harness.text().contains("list loaded"), "{}", harness.text());
    // After an action, requests of the page need approval, and the question shows their content.
    let held = harness.do_press("button", "Book").await.unwrap_err();
    assert_eq!(held.code, "held", "{held:?}");
    let (class, params) = harness.press("button", "Book").await.unwrap();
    assert_eq!((class.as_str(), &params["sends"]["fields"]["seat"]), ("submit", &json!("12A")));
    assert_eq!(params["sends"]["fields"]["password"], "••••");
    assert_eq!(params["sends"]["fields"]["note"], "it is <secret>SHOP_PASSWORD</secret>");
    harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /api/list", "POST /api/book"]);
    harness.close().await;
}
