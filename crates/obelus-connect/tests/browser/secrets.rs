//! Fields into which secrets may be typed, and others.

use obelus_runtime::Secret;
use serde_json::json;

use crate::harness::{Harness, id};

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_not_typed_into_a_frame_of_another_site() {
    Secret::provide("TEST_FRAMED_PASSWORD", Secret::new("hush-4711"));
    let seen = json!({"from": "$TEST_FRAMED_PASSWORD", "visible": true});
    let secrets = json!({"secrets": {"SHOP_PASSWORD": "$TEST_FRAMED_PASSWORD", "SEEN": seen}});
    let Some(mut harness) = Harness::new("framed", secrets).await else { return };
    let page = harness.open("/framed").await;
    let typing = |name: &str, text: &str| json!({"target": id(&page, "textbox", name), "text": text});
    for (name, text, code) in
        [("Their password", "$SHOP_PASSWORD", "secret_elsewhere"), ("Word", "$SEEN", "secret_visible")]
    {
        assert_eq!(harness.aim("browser_type", typing(name, text)).await.unwrap_err().code, code, "{name}");
    }
    // The action itself checks again: here the text was replaced after aiming.
    let (class, mut params) = harness.aim("browser_type", typing("Their password", "x")).await.unwrap();
    params["do"]["text"] = json!("$SHOP_PASSWORD");
    assert_eq!(harness.run(&class, params).await.unwrap_err().code, "secret_elsewhere");

    let page = harness.observe().await;
    let own = json!({"target": id(&page, "textbox", "Own password"), "text": "$SHOP_PASSWORD"});
    let (class, params) = harness.aim("browser_type", own).await.unwrap();
    harness.run(&class, params).await.unwrap();
    harness.observe().await;
    assert!(harness.text().contains("<secret>"), "a frame without an address is the page's own: {}", harness.text());
    harness.close().await;
}
