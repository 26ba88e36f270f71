//! Actions do exactly what was shown, whatever the page changes in between.

use serde_json::{Value, json};

use crate::harness::{Harness, id};

async fn point(harness: &mut Harness) -> (String, Value) {
    harness.observe().await;
    harness.aim("browser_mouse_click_xy", json!({"x": 60, "y": 60})).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_at_a_point_is_refused_if_the_row_there_has_changed() {
    let Some(mut harness) = Harness::new("rows-point", json!({})).await else { return };
    harness.open("/rows").await;
    let (class, params) = point(&mut harness).await;
    assert_eq!(harness.run(&class, params).await.unwrap_err().code, "held");
    let (class, params) = point(&mut harness).await;
    assert_eq!((class.as_str(), &params["sends"]["fields"]["item"]), ("submit", &json!("1")), "{params}");
    harness.do_press("button", "Swap rows").await.unwrap();
    let error = harness.run(&class, params).await.unwrap_err();
    assert_eq!(error.code, "changed", "{error:?}");
    assert_eq!(harness.sent(), [""; 0]);
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_differs_from_the_shown_one_needs_a_new_approval() {
    let Some(mut harness) = Harness::new("rows-fields", json!({})).await else { return };
    harness.open("/rows").await;
    assert_eq!(harness.do_press("button", "Order all").await.unwrap_err().code, "held");
    let (class, params) = harness.press("button", "Order all").await.unwrap();
    assert_eq!(params["sends"]["fields"], json!({"item": "1", "at": "(now)", "?shop": "7"}), "{params}");
    harness.do_press("button", "Other item").await.unwrap();
    let error = harness.run(&class, params).await.unwrap_err();
    assert!(error.code == "held" && error.message.contains("something else than was agreed to"), "{error:?}");
    assert_eq!(harness.sent(), [""; 0]);
    let (class, params) = harness.press("button", "Order all").await.unwrap();
    assert_eq!(params["sends"]["fields"]["item"], "2", "{params}");
    assert_eq!(params["sends"].get("also"), None);
    harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /api/order?shop=7"], "the time that it carries is another, and is no difference");
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_whose_values_or_row_change_while_it_is_filled_is_not_submitted() {
    let Some(mut harness) = Harness::new("filled-otherwise", json!({})).await else { return };
    for (field, button, expected) in
        [("Count of pots", "Buy pots", "sends something else"), ("Count of cups", "Buy", "stands around")]
    {
        let page = harness.open("/otherwise").await;
        let fields = json!([{"target": id(&page, "textbox", field), "value": "3"}]);
        let call = json!({"fields": fields, "submit": id(&page, "button", button)});
        let (class, params) = harness.aim("browser_fill_form", call).await.unwrap();
        let error = harness.run(&class, params).await.unwrap_err();
        assert!(error.code == "changed" && error.message.contains(expected), "{field}: {error:?}");
        assert_eq!(harness.sent(), [""; 0]);
    }
    // The same form, now shown with its real content.
    let (class, params) = harness.press("button", "Buy").await.unwrap();
    assert_eq!(params["form"]["fields"]["Count of cups"], "3", "{params}");
    harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /cups"]);
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_2_a_form_is_shown_with_all_its_fields_and_its_target_site() {
    let Some(mut harness) = Harness::new("all-fields", json!({})).await else { return };
    let page = harness.open("/guests").await;
    let second = page.elements().iter().filter(|element| element.name == "Guest").nth(1).unwrap().id.clone();
    let call = json!({"fields": [{"target": second, "value": "Vera"}], "submit": id(&page, "button", "Book")});
    let (class, params) = harness.aim("browser_fill_form", call).await.unwrap();
    let fields = params["form"]["fields"].as_object().unwrap();
    assert_eq!((&fields["Guest"], &fields["Guest (2)"]), (&json!("Anna"), &json!("Vera")), "{params}");
    assert_eq!(fields.len(), 122);
    assert_eq!(params["form"]["allows"], json!(harness.other.url), "{params}");
    harness.run(&class, params).await.unwrap();
    let asked = harness.other.asked();
    let body = String::from_utf8_lossy(asked[0].body.as_ref()).into_owned();
    assert!(body.starts_with("guest=Anna&guest=Vera"), "{body}");
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_browser_does_not_follow_a_deleting_link_again() {
    let deletions = |harness: &Harness| {
        let asked = harness.site.asked();
        asked.iter().filter(|asked| asked.target.starts_with("/items/delete")).count()
    };
    let Some(mut harness) = Harness::new("deletes-observe", json!({})).await else { return };
    harness.open("/items/delete?id=1").await;
    assert_eq!(deletions(&harness), 1);
    harness.end_browser();
    harness.observe().await;
    assert_eq!(deletions(&harness), 1, "{}", harness.text());
    assert!(harness.text().contains("was not opened again"), "{}", harness.text());
    assert_eq!(harness.seen["about"]["address"], format!("{}/", harness.site.url));
    harness.close().await;

    // The action runs in a new browser, because the approval came in another process.
    let Some(harness) = Harness::new("deletes-act", json!({})).await else { return };
    let address = format!("{}/items/delete?id=1", harness.site.url);
    let call = json!({"address": address, "role": "link", "name": "Home", "nth": 0, "do": {"tool": "browser_click"}});
    let error = harness.run("look", call).await.unwrap_err();
    assert!(error.code == "changed" && error.message.contains("was not opened again"), "{error:?}");
    assert_eq!(deletions(&harness), 0);
    harness.close().await;
}
