//! A real browser on sites that the tests serve.
#![cfg(feature = "mcp")]

mod changes;
mod clickable;
mod forms;
mod harness;
mod installed;
mod kept;
mod pages;
mod questions;
mod secrets;
#[path = "../common/server.rs"]
#[expect(dead_code, reason = "some of its answers are for other tests")]
mod server;
mod shown;

use std::os::unix::fs::PermissionsExt;

use obelus_runtime::Secret;
use serde_json::{Value, json};

use harness::{Harness, classes, id};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_observed_as_text_and_picture_and_its_content_is_not_published() {
    let Some(mut harness) = Harness::new("observe", json!({})).await else { return };
    harness.observe().await;
    assert_eq!(harness.seen["about"]["address"], "about:blank");
    let page = harness.open("/?q=canary-query").await;
    assert!(harness.text().contains("canary-text") && harness.text().contains("canary-query"), "{}", harness.text());
    assert_eq!(page.elements().len() as u64, harness.seen["about"]["elements"].as_u64().unwrap());
    let about = harness.seen["about"].to_string();
    assert!(!about.contains("canary") && !about.contains("Shop"), "{about}");
    let image = std::path::PathBuf::from(harness.seen["image"].as_str().unwrap());
    assert!(image.starts_with(&harness.shots));
    assert_eq!(image.file_name().unwrap().to_str(), harness.seen["about"]["shot"].as_str());
    assert_eq!(std::fs::metadata(&image).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read(&image).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(harness.seen["about"]["unchanged"], 0);
    harness.observe().await;
    harness.observe().await;
    assert_eq!(harness.seen["about"]["unchanged"], 2, "the same page twice more");
    let pictures = std::fs::read_dir(&harness.outputs).unwrap().flatten();
    let pictures = pictures.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "png")).count();
    assert_eq!(pictures, 0, "there is one copy of a picture");

    harness.open("/big").await;
    assert!(harness.seen["about"]["elements"].as_u64().unwrap() > 1000);
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_page_is_cut_and_can_be_searched() {
    let Some(mut harness) = Harness::new("long", json!({"most": 3000})).await else { return };
    let page = harness.open("/big").await;
    assert!(harness.text().contains("more lines with") && !harness.text().contains("Last of all"));
    assert!(page.elements().len() < 100);
    let (class, params) = harness.aim("browser_find", json!({"text": "last of all"})).await.unwrap();
    assert_eq!(class, "look");
    assert_eq!(harness.run(&class, params).await.unwrap()["found"], 1);
    harness.observe().await;
    let line = harness.text().lines().find(|line| line.contains("Last of all")).expect("it is shown").to_owned();
    let last = obelus_connect::browser::PageSnapshot::parse(&line);
    let (class, params) = harness.aim("browser_click", json!({"target": last.elements()[0].id})).await.unwrap();
    assert_eq!(class, "press");
    harness.run(&class, params).await.unwrap();
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_are_judged_by_role_form_and_address() {
    let Some(mut harness) = Harness::new("judge", json!({})).await else { return };
    let page = harness.open("/").await;
    for (role, name, class) in [
        ("link", "Next", "look"),
        ("link", "Border", "look"),
        ("link", "Away", "leave"),
        ("link", "Drop it", "look"),
        ("link", "Write to us", "send"),
        ("link", "Script", "press"),
        ("button", "Sign in", "submit"),
        ("button", "Order", "submit"),
        ("button", "Order outside", "submit"),
        ("button", "Cancel order", "delete"),
        ("button", "Go on", "pay"),
        ("button", "Tell", "send"),
        ("button", "Away with it", "delete"),
        ("button", "Find", "search"),
        ("button", "Filter", "submit"),
        ("button", "Quick delete", "press"),
        ("checkbox", "Agree", "fill"),
        ("textbox", "Plain", "look"),
    ] {
        let (found, params) = harness.aim("browser_click", json!({"target": id(&page, role, name)})).await.unwrap();
        assert_eq!((found.as_str(), params["name"].as_str()), (class, Some(name)));
        assert!(classes().contains(&class));
        let quoted = json!(id(&page, role, name)).to_string();
        assert!(!params.to_string().contains(&quoted), "{params}");
    }
    let form =
        harness.aim("browser_click", json!({"target": id(&page, "button", "Order")})).await.unwrap().1["form"].clone();
    assert_eq!((form["method"].as_str(), &form["fields"]), (Some("POST"), &json!({"Amount": "x"})), "{form}");
    assert_eq!(form["address"], format!("{}/orders", harness.site.url), "a field named `action` is not the address");

    let field = |name: &str| id(&page, "textbox", name);
    for (tool, params, class) in [
        ("browser_type", json!({"target": field("Mail"), "text": "x"}), "fill"),
        ("browser_type", json!({"target": field("Mail"), "text": "x", "submit": true}), "submit"),
        ("browser_type", json!({"target": field("Query"), "text": "x", "submit": true}), "search"),
        ("browser_type", json!({"target": field("Card"), "text": "x", "submit": true}), "pay"),
        ("browser_type", json!({"target": field("Plain"), "text": "x", "submit": true}), "press"),
        ("browser_select_option", json!({"target": id(&page, "combobox", "Colour"), "values": ["Blue"]}), "fill"),
        ("browser_hover", json!({"target": field("Mail")}), "look"),
        ("browser_navigate", json!({"url": harness.other.url}), "leave"),
        ("browser_navigate", json!({"url": format!("{}/items/3/delete", harness.site.url)}), "look"),
        ("browser_wait_for", json!({"time": 1}), "wait"),
        ("browser_tabs", json!({"action": "list"}), "look"),
        ("browser_tabs", json!({"action": "new", "url": harness.other.url}), "leave"),
    ] {
        assert_eq!(harness.aim(tool, params.clone()).await.unwrap().0, class, "{tool} {params}");
    }
    for (tool, params, code) in [
        ("browser_click", json!({"target": "e9999"}), "unknown_element"),
        ("browser_click", json!({"target": "button"}), "not_an_element"),
        ("browser_click", json!({"target": id(&page, "button", "Not now")}), "disabled"),
        ("browser_type", json!({"target": field("Read only"), "text": "x"}), "not_editable"),
        ("browser_type", json!({"target": id(&page, "button", "Order"), "text": "x"}), "not_editable"),
        ("browser_evaluate", json!({"function": "() => 1"}), "refused"),
        ("browser_run_code_unsafe", json!({"code": "async (page) => 1"}), "refused"),
        ("browser_file_upload", json!({"paths": ["/etc/passwd"]}), "no_dialog"),
        ("browser_navigate", json!({"url": "file:///etc/passwd"}), "refused"),
        ("browser_handle_dialog", json!({"accept": true}), "no_dialog"),
    ] {
        assert_eq!(harness.aim(tool, params.clone()).await.unwrap_err().code, code, "{tool} {params}");
    }
    let passed = harness.run("aim", json!({"tool": "notes.add", "params": {"text": "x"}})).await.unwrap();
    assert_eq!(passed, json!({"tool": "notes.add", "params": {"text": "x"}}));
    assert_eq!(harness.sent(), [""; 0], "looking sends nothing");
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_page_are_held_back_until_they_are_approved() {
    let Some(mut harness) = Harness::new("guard", json!({})).await else { return };
    harness.open("/").await;
    let error = harness.do_press("button", "Quick delete").await.unwrap_err();
    assert!(error.code == "held" && error.message.contains("DELETE"), "{error:?}");
    assert_eq!(harness.sent(), [""; 0]);
    harness.observe().await;
    assert!(harness.text().contains("not gone"));

    let (class, params) = harness.press("button", "Quick delete").await.unwrap();
    assert_eq!((class.as_str(), params["sends"]["method"].as_str()), ("delete", Some("DELETE")));
    assert_eq!(params["sends"]["address"], format!("{}/api/items/3", harness.site.url));
    let done = harness.run("delete", params.clone()).await.unwrap();
    assert_eq!(done["sent"], json!([format!("DELETE {}/api/items/3", harness.site.url)]));
    assert_eq!(harness.sent(), ["DELETE /api/items/3"]);
    // Without approval: as another class of action, and a second time.
    let mut plain = params.clone();
    plain["sends"] = Value::Null;
    assert_eq!(harness.run("press", plain).await.unwrap_err().code, "held");
    assert_eq!(harness.run("look", params).await.unwrap_err().code, "changed");
    assert_eq!(harness.sent(), ["DELETE /api/items/3"], "agreed to once, sent once");

    // Beacons are blocked and cause no question.
    assert!(harness.do_press("button", "Beacon").await.is_ok());
    assert!(harness.do_press("button", "Only here").await.is_ok());

    let (class, params) = harness.press("button", "Order").await.unwrap();
    assert_eq!(class, "submit");
    let done = harness.run("submit", params).await.unwrap();
    assert_eq!(
        (done["did"].as_str(), done["address"].as_str()),
        (Some("click"), Some(&*format!("{}/orders", harness.site.url)))
    );
    assert_eq!(harness.sent(), ["DELETE /api/items/3", "POST /orders"]);
    let sockets = harness.site.asked().iter().filter(|asked| asked.target == "/socket").count();
    assert_eq!(sockets, 0, "web sockets are not opened");
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_does_not_apply_to_another_element_or_form() {
    let Some(mut harness) = Harness::new("changed", json!({})).await else { return };
    for alter in ["Alter value", "Alter action", "Remove order"] {
        harness.open("/").await;
        let (_, order) = harness.press("button", "Order").await.unwrap();
        harness.do_press("button", alter).await.unwrap();
        assert_eq!(harness.run("submit", order).await.unwrap_err().code, "changed", "{alter}");
    }
    // The button of the first row; after that row is removed, the first button belongs to another one.
    harness.open("/").await;
    let (class, keep) = harness.press("button", "Keep").await.unwrap();
    harness.run(&class, keep.clone()).await.unwrap();
    harness.observe().await;
    assert!(harness.text().contains("paragraph") && harness.text().contains(": kettle"), "{}", harness.text());
    harness.do_press("button", "Drop row").await.unwrap();
    assert_eq!(harness.run(&class, keep).await.unwrap_err().code, "changed");

    let page = harness.open("/").await;
    let (_, order) = harness.press("button", "Order").await.unwrap();
    harness.do_press("link", "Next").await.unwrap();
    assert_eq!(harness.run("submit", order.clone()).await.unwrap_err().code, "changed", "another page");
    let stale = harness.aim("browser_click", json!({"target": id(&page, "link", "Next")})).await.unwrap_err();
    assert_eq!(stale.code, "not_observed");
    harness.open("/").await;
    assert_eq!(harness.run("press", order.clone()).await.unwrap_err().code, "changed", "another kind of action");
    let mut other = order;
    other["do"]["tool"] = json!("browser_evaluate");
    assert_eq!(harness.run("submit", other).await.unwrap_err().code, "refused");
    assert_eq!(harness.sent(), [""; 0]);
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_sites_are_not_contacted_until_they_are_approved() {
    let Some(mut harness) = Harness::new("leave", json!({})).await else { return };
    let home = format!("{}/", harness.site.url);
    harness.open("/").await;
    for name in ["Jump", "Open away"] {
        let error = harness.do_press("button", name).await.unwrap_err();
        assert!(error.code == "held" && error.message.contains("/away"), "{name}: {error:?}");
    }
    assert!(harness.other.asked().is_empty(), "no request went there");
    let error = harness.do_press("link", "Moved").await.unwrap_err();
    assert_eq!(error.code, "left_site");
    harness.observe().await;
    assert_eq!(harness.seen["about"]["address"], json!(home), "it went back");

    assert_eq!(harness.press("button", "Jump").await.unwrap().0, "leave");
    let (class, params) = harness.press("link", "Away").await.unwrap();
    assert_eq!(class, "leave");
    let done = harness.run("leave", params).await.unwrap();
    assert_eq!(done["address"], format!("{}/away", harness.other.url));
    harness.observe().await;
    assert!(harness.text().contains("Elsewhere"));
    harness.open("/").await;
    assert_eq!(harness.press("link", "Away").await.unwrap().0, "look", "agreed to for this session");

    let done = harness.do_press("link", "Other tab").await.unwrap();
    assert_eq!(done["address"], json!(home));
    harness.observe().await;
    assert!(harness.text().contains("Tabs:"), "{}", harness.text());
    let (class, params) = harness.aim("browser_tabs", json!({"action": "select", "index": 1})).await.unwrap();
    let done = harness.run(&class, params).await.unwrap();
    assert_eq!(done["address"], format!("{}/next", harness.site.url));
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialog_is_answered_and_the_requests_after_it_are_guarded() {
    let Some(mut harness) = Harness::new("dialog", json!({})).await else { return };
    harness.open("/").await;
    assert_eq!(harness.do_press("button", "Warn").await.unwrap()["dialog"], "alert");
    harness.observe().await;
    assert!(harness.text().contains("canary-alert") && !harness.seen["about"].to_string().contains("canary"));
    assert_eq!(
        harness.aim("browser_navigate", json!({"url": harness.site.url})).await.unwrap_err().code,
        "dialog_open"
    );
    let (class, params) = harness.aim("browser_handle_dialog", json!({"accept": true})).await.unwrap();
    assert_eq!(class, "look");
    harness.run(&class, params).await.unwrap();

    // Without approval, what the page sends after the answer to its dialog is held back and belongs to the button.
    assert_eq!(harness.do_press("button", "Sure").await.unwrap()["dialog"], "confirm");
    harness.observe().await;
    let (class, params) = harness.aim("browser_handle_dialog", json!({"accept": true})).await.unwrap();
    assert_eq!(class, "press");
    assert_eq!(harness.run(&class, params).await.unwrap_err().code, "held");
    assert_eq!(harness.sent(), [""; 0]);

    let (class, params) = harness.press("button", "Sure").await.unwrap();
    assert_eq!(class, "submit");
    assert_eq!(harness.run(&class, params).await.unwrap()["dialog"], "confirm");
    harness.observe().await;
    let (class, params) = harness.aim("browser_handle_dialog", json!({"accept": true})).await.unwrap();
    harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /api/confirmed"]);
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_typed_by_name_and_never_shown() {
    Secret::provide("TEST_SHOP_PASSWORD", Secret::new("correct-horse-4711"));
    let seen = json!({"from": "$TEST_SHOP_PASSWORD", "visible": true});
    let secrets = json!({"secrets": {"SHOP_PASSWORD": "$TEST_SHOP_PASSWORD", "SEEN": seen}});
    let Some(mut harness) = Harness::new("secrets", secrets).await else { return };
    let page = harness.open("/").await;
    assert!(harness.text().contains("$SHOP_PASSWORD"), "its name is told");
    let fields = json!({"fields": [
        {"target": id(&page, "textbox", "Mail"), "name": "Mail", "type": "textbox", "value": "a@example.test"},
        {"target": id(&page, "textbox", "Password"), "name": "Password", "type": "textbox", "value": "$SHOP_PASSWORD"},
    ]});
    let (class, params) = harness.aim("browser_fill_form", fields).await.unwrap();
    assert_eq!(class, "fill");
    let done = harness.run(&class, params.clone()).await.unwrap();
    assert!(!format!("{params}{done}").contains("4711"));
    harness.observe().await;
    assert!(harness.text().contains("<secret>") && !harness.text().contains("4711"));
    assert!(harness.seen.get("image").is_some(), "the field hides it");
    assert!(harness.do_press("button", "Sign in").await.is_ok());
    let asked = harness.site.asked();
    let login = asked.iter().find(|asked| asked.method == "POST").unwrap();
    assert!(login.body.contains("password=correct-horse-4711"), "the page got it");

    let page = harness.open("/").await;
    let plain = |secret: &str| json!({"target": id(&page, "textbox", "Plain"), "text": secret});
    let refused = harness.aim("browser_type", plain("$SHOP_PASSWORD")).await.unwrap_err();
    assert_eq!(refused.code, "secret_visible", "the field shows what is typed");
    let (class, params) = harness.aim("browser_type", plain("$SEEN")).await.unwrap();
    harness.run(&class, params).await.unwrap();
    harness.observe().await;
    assert!(!harness.text().contains("4711"));
    assert!(harness.seen.get("image").is_none(), "no picture where it would be read");
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_browser_opens_the_page_again() {
    let Some(mut harness) = Harness::new("anew", json!({})).await else { return };
    let at = format!("{}/next?~0123456789", harness.site.url);
    harness.seen = harness.run("observe", json!({"at": at})).await.unwrap();
    assert_eq!(harness.seen["about"]["address"], format!("{}/next", harness.site.url));
    assert!(harness.text().contains("started anew"), "{}", harness.text());
    // After a crash the browser opens the page where it was.
    harness.end_browser();
    let stale = harness.aim("browser_hover", json!({"target": "e1"})).await.unwrap_err();
    assert!(["not_observed", "unknown_element", "browser"].contains(&stale.code.to_string().as_str()), "{stale:?}");
    harness.observe().await;
    assert_eq!(harness.seen["about"]["address"], format!("{}/next", harness.site.url));
    harness.close().await;

    let Some(mut harness) = Harness::new("anew-elsewhere", json!({})).await else { return };
    let at = format!("{}/away", harness.other.url);
    harness.seen = harness.run("observe", json!({"at": at})).await.unwrap();
    assert_eq!(harness.seen["about"]["address"], "about:blank");
    assert!(harness.other.asked().is_empty());
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_presses_are_judged_by_the_focused_element() {
    let Some(mut harness) = Harness::new("keys", json!({})).await else { return };
    let page = harness.open("/").await;
    for (name, key, class) in [
        ("Query", "Enter", "search"),
        ("Mail", "Enter", "submit"),
        ("Mail", "a", "fill"),
        ("Mail", "Tab", "look"),
        ("Words", "Control+Enter", "press"),
    ] {
        let (press, params) =
            harness.aim("browser_click", json!({"target": id(&page, "textbox", name)})).await.unwrap();
        harness.run(&press, params).await.unwrap();
        harness.observe().await;
        let (found, params) = harness.aim("browser_press_key", json!({"key": key})).await.unwrap();
        assert_eq!((found.as_str(), params["name"].as_str()), (class, Some(name)), "{key}");
    }
    let (press, params) = harness.aim("browser_click", json!({"target": id(&page, "textbox", "Query")})).await.unwrap();
    harness.run(&press, params).await.unwrap();
    harness.observe().await;
    let (class, params) = harness.aim("browser_press_key", json!({"key": "Enter"})).await.unwrap();
    let done = harness.run(&class, params).await.unwrap();
    assert!(done["address"].as_str().unwrap().starts_with(&format!("{}/find", harness.site.url)), "{done}");
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_scripts_file_uploads_and_other_request_sources_are_guarded() {
    let Some(mut harness) = Harness::new("corners", json!({"uploads": "files"})).await else { return };
    let files = harness.outputs.with_file_name("files");
    std::fs::create_dir_all(&files).unwrap();
    std::fs::write(files.join("a.txt"), "a").unwrap();
    let page = harness.open("/").await;

    // Elements of frames are found and judged like those of the page.
    let inside = json!({"target": id(&page, "textbox", "Inside"), "text": "hello"});
    let (class, params) = harness.aim("browser_type", inside).await.unwrap();
    harness.run(&class, params).await.unwrap();
    let (class, params) = harness.press("button", "Send it").await.unwrap();
    assert_eq!((class.as_str(), params["form"]["fields"]["Inside"].as_str()), ("send", Some("hello")));
    harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /frame/send"]);

    // A script that sends something else than its form.
    harness.open("/").await;
    let (class, params) = harness.press("button", "Subscribe").await.unwrap();
    assert_eq!((class.as_str(), params["form"]["method"].as_str()), ("submit", Some("GET")));
    let error = harness.run(&class, params).await.unwrap_err();
    assert!(error.code == "held" && error.message.contains("(subscribeMe)"), "{error:?}");
    let (class, params) = harness.press("button", "Subscribe").await.unwrap();
    assert_eq!(params["sends"]["operation"], "subscribeMe");
    harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /frame/send", "POST /api/subscribe"]);

    // A delayed request is held back.
    harness.do_press("button", "Later").await.unwrap();
    let (class, params) = harness.aim("browser_wait_for", json!({"time": 3})).await.unwrap();
    assert_eq!(class, "wait");
    let waited = harness.run(&class, params).await;
    assert!(waited.is_ok() || waited.unwrap_err().code == "held");
    harness.observe().await;
    assert_eq!(harness.sent().len(), 2);

    // Workers: their requests are held back, or they are not available.
    harness.open("/").await;
    assert!(harness.do_press("button", "Shared").await.is_ok());
    harness.observe().await;
    assert!(harness.text().contains("no shared worker"));
    assert!(harness.do_press("button", "Framed worker").await.is_ok());
    harness.observe().await;
    assert!(harness.text().contains("none in frames"));
    assert_eq!(harness.do_press("button", "Worker").await.unwrap_err().code, "held");
    assert_eq!(harness.sent().len(), 2);

    // Fields whose names hide properties of the form and the document.
    let (class, params) = harness.press("button", "Clobbered").await.unwrap();
    assert_eq!(
        (class.as_str(), params["form"]["address"].as_str()),
        ("submit", Some(&*format!("{}/", harness.site.url)))
    );

    // Texts that react to a click are listed as buttons.
    harness.open("/").await;
    harness.do_press("button", "Pressable words").await.unwrap();
    harness.observe().await;
    assert!(harness.text().contains("div pressed"));

    // Files can be chosen only from the configured folder.
    assert_eq!(harness.do_press("button", "File").await.unwrap()["dialog"], "file");
    harness.observe().await;
    for path in ["/etc/passwd", "../../etc/passwd", "missing"] {
        let refused = harness.aim("browser_file_upload", json!({"paths": [path]})).await.unwrap_err();
        assert_eq!(refused.code, "refused", "{path}");
    }
    let (class, params) = harness.aim("browser_file_upload", json!({})).await.unwrap();
    assert_eq!(class, "look");
    harness.run(&class, params).await.unwrap();
    harness.do_press("button", "File").await.unwrap();
    harness.observe().await;
    let (class, params) = harness.aim("browser_file_upload", json!({"paths": ["a.txt"]})).await.unwrap();
    assert_eq!(class, "fill");
    assert_eq!(harness.run(&class, params).await.unwrap()["did"], "file_upload");

    // Downloads stay in a temporary folder.
    let done = harness.do_press("link", "Load down").await.unwrap();
    assert_eq!(done["downloads"], 1, "{done}");
    assert!(!done.to_string().contains("file.bin"));

    // A page cannot navigate to another site by itself.
    let result = harness.do_press("link", "Refreshing").await;
    assert!(harness.other.asked().is_empty(), "{result:?}");
    harness.observe().await;
    assert_eq!(harness.seen["about"]["address"], format!("{}/meta", harness.site.url));

    let page = harness.open("/").await;
    for (name, text) in [("Note", "words"), ("Day", "2026-11-15")] {
        let typing = json!({"target": id(&page, "textbox", name), "text": text});
        let (class, params) = harness.aim("browser_type", typing).await.unwrap();
        assert_eq!(harness.run(&class, params).await.unwrap()["did"], "type", "{name}");
        harness.observe().await;
        assert!(harness.text().contains(text), "{name}");
    }
    assert_eq!(harness.sent().len(), 2);
    harness.close().await;
}
