//! Pages longer than the window, and pages that replace their elements while they are observed.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Harness, id};

/// Width and height of a PNG.
fn size_of(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[tokio::test(flavor = "multi_thread")]
async fn opr_4_the_picture_shows_the_page_and_not_the_window() {
    let Some(mut harness) = Harness::new("tall", json!({})).await else { return };
    for (path, least, most, is_cut) in [("/tall", 3000, 3200, false), ("/big", 8000, 8000, true)] {
        harness.open(path).await;
        let image = std::fs::read(harness.seen["image"].as_str().expect("a picture")).unwrap();
        let (_, height) = size_of(&image);
        assert!((least..=most).contains(&height), "{path}: {height}");
        assert_eq!(harness.text().contains("does not show the end of the page"), is_cut, "{path}");
    }
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_found_by_a_search_can_be_used() {
    let Some(mut harness) = Harness::new("found", json!({})).await else { return };
    harness.open("/wrapped").await;
    let (class, params) = harness.aim("browser_find", json!({"text": "pot"})).await.unwrap();
    harness.run(&class, params).await.unwrap();
    harness.observe().await;
    let text = harness.text();
    let line = text.lines().skip_while(|line| !line.starts_with("Lines with `pot`")).nth(1).expect("a line");
    let id = line.split("[ref=").nth(1).and_then(|rest| rest.split(']').next()).expect("an id");
    harness.aim("browser_hover", json!({"target": id})).await.unwrap_or_else(|error| panic!("{line}: {error:?}"));
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hovering_works_after_wrappers_change() {
    let Some(mut harness) = Harness::new("hover", json!({})).await else { return };
    let page = harness.open("/wrapped").await;
    let (class, params) = harness.aim("browser_hover", json!({"target": id(&page, "button", "More")})).await.unwrap();
    assert_eq!(class, "look");
    // By now the page has wrapped its rows in new elements.
    tokio::time::sleep(Duration::from_secs(4)).await;
    harness.run(&class, params).await.unwrap();
    harness.observe().await;
    assert!(harness.text().contains("hovered kettle"), "{}", harness.text());
    harness.close().await;
}
