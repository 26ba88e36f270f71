//! What a question about a page shows to a person, and how a model sees tables.

use serde_json::json;

use crate::harness::{Harness, id};

#[tokio::test(flavor = "multi_thread")]
async fn opr_11_a_question_shows_the_text_of_a_rich_text_editor() {
    let Some(mut harness) = Harness::new("questions", json!({})).await else { return };
    let page = harness.open("/editor").await;
    let (_, params) = harness.aim("browser_click", json!({"target": id(&page, "button", "Save")})).await.unwrap();
    assert_eq!(params["form"]["fields"], json!({"Title": "Tea", "Words": "Hello there"}));
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_shown_by_rows_and_icons_get_guessed_names() {
    let Some(mut harness) = Harness::new("table", json!({})).await else { return };
    harness.open("/table").await;
    let text = harness.text();
    let rows: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("- row")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0].starts_with("- row: Name | Mail"), "{text}");
    assert!(rows[1].starts_with("- row: Anna | a@example.test | link \"(icon trash)\" [ref="), "{text}");
    assert!(rows[1].contains(", button \"(Archive)\" [ref=") && rows[1].contains("/people/1/delete"), "{text}");
    let id = rows[1].split("[ref=").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let (_, params) = harness.aim("browser_click", json!({"target": id})).await.unwrap();
    assert_eq!(params["name"], "(icon trash)");
    harness.close().await;
}
