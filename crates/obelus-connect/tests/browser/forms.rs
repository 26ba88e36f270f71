//! Forms: one call fills in and sends a form, and shows the values that it will send (OPR-10, OPR-11).

use obelus_runtime::Secret;
use serde_json::json;

use crate::harness::{Harness, id};

#[tokio::test(flavor = "multi_thread")]
async fn opr_10_one_call_fills_and_submits_a_form_and_is_judged_by_its_effect() {
    Secret::provide("TEST_FORMS_PASSWORD", Secret::new("hush 4711"));
    let secrets = json!({"secrets": {"SHOP_PASSWORD": "$TEST_FORMS_PASSWORD"}});
    let Some(mut harness) = Harness::new("forms", secrets).await else { return };
    let page = harness.open("/form").await;
    let field = |role: &str, name: &str, value: &str| json!({"target": id(&page, role, name), "value": value});
    let fields = json!([
        field("textbox", "E-mail:", "anna@example.test"),
        field("textbox", "Password", "$SHOP_PASSWORD"),
        field("checkbox", "News", "true"),
        field("combobox", "Colour", "Blue"),
    ]);
    let call = json!({"fields": fields, "submit": id(&page, "button", "Sign up")});
    let (class, params) = harness.aim("browser_fill_form", call).await.unwrap();
    assert_eq!((class.as_str(), params["name"].as_str()), ("submit", Some("Sign up")), "{params}");
    let sent = json!({
        "E-mail": "anna@example.test", "Password": "$SHOP_PASSWORD", "News": "yes", "Colour": "Blue", "Note": "as before",
    });
    assert_eq!(params["form"]["fields"], sent, "opr_11: the values that will be sent are shown");
    assert!(!params.to_string().contains("4711"));
    assert_eq!(harness.sent(), Vec::<String>::new());

    // The button was disabled until the form was complete.
    let done = harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /signup"], "{done}");
    let body = harness.site.asked().iter().find(|asked| asked.method == "POST").unwrap().body.clone();
    let body = String::from_utf8_lossy(body.as_ref()).into_owned();
    for part in ["mail=anna%40example.test", "password=hush+4711", "news=on", "colour=b", "note=as+before"] {
        assert!(body.contains(part), "{part} in {body}");
    }
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_changes_its_request_while_it_is_filled_is_not_submitted() {
    let Some(mut harness) = Harness::new("forms-changed", json!({})).await else { return };
    let page = harness.open("/form").await;
    let fields = json!([{"target": id(&page, "textbox", "Trap"), "value": "x"}]);
    let call = json!({"fields": fields, "submit": id(&page, "button", "Save")});
    let (class, params) = harness.aim("browser_fill_form", call).await.unwrap();
    assert_eq!(class, "submit");
    let error = harness.run(&class, params).await.unwrap_err();
    assert!(error.code == "changed" && error.message.contains("filled in"), "{error:?}");
    assert_eq!(harness.sent(), Vec::<String>::new());
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opr_15_the_result_of_an_action_says_what_changed_or_that_nothing_changed() {
    let Some(mut harness) = Harness::new("changes", json!({})).await else { return };
    harness.open("/").await;
    let done = harness.do_press("button", "Only here").await.unwrap();
    assert_eq!(
        (&done["changed"], &done["change"]),
        (&json!(true), &json!("what is shown has changed: lines that are new: 1, gone: 1")),
        "{done}"
    );
    harness.observe().await;
    let changes = harness.changes().expect("little has changed");
    assert!(changes.lines().any(|line| line.starts_with(['+', '~']) && line.contains("pressed")), "{changes}");
    let done = harness.do_press("button", "Only here").await.unwrap();
    assert_eq!((&done["changed"], &done["change"]), (&json!(false), &json!("nothing that is shown has changed")));
    let done = harness.do_press("link", "Next").await.unwrap();
    assert_eq!(done["change"], "another page is shown");
    harness.close().await;
}
