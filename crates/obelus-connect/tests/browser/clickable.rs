//! Elements that react to a click or a key are listed and can be pressed, whatever their markup (OPR-14).

use serde_json::{Value, json};

use crate::harness::{Harness, id};

/// Aims at a point of the page, in coordinates of the picture.
async fn press_at(harness: &mut Harness, x: u32, y: u32) -> Result<(String, Value), obelus_kernel::session::CallError> {
    harness.observe().await;
    harness.aim("browser_mouse_click_xy", json!({"x": x, "y": y})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn opr_14_clickable_texts_and_icons_are_elements_with_a_name_or_a_hint() {
    let Some(mut harness) = Harness::new("clickable", json!({})).await else { return };
    let page = harness.open("/clickable").await;
    for (name, said) in [
        ("second", "word"),
        ("this", "em"),
        ("that", "that"),
        ("(icon minus)", "minus"),
        ("(icon plus)", "plus"),
        ("+", "+"),
        ("-", "-"),
        ("words inside", "inline"),
        ("(slice)", "slice"),
        ("(trash)", "trash"),
        ("Save it", "saved"),
    ] {
        assert_eq!(page.elements().iter().filter(|element| element.name == name).count(), 1, "{name}");
        let done = harness.do_press("button", name).await;
        assert!(done.is_ok(), "{name}: {done:?}");
        harness.observe().await;
        assert!(harness.text().contains(&format!("said {said}")), "{name}: {}", harness.text());
    }
    assert!(harness.text().contains("textbox \"(amount_of_it)\""), "a field without a name: {}", harness.text());
    assert!(harness.text().contains("button \"(div at "), "a hint is the place where there is nothing else");
    // The marks that an observation adds to the page are removed, and aiming still finds the element by role and name.
    let page = harness.observe().await;
    let (class, params) = harness.aim("browser_click", json!({"target": id(&page, "button", "second")})).await.unwrap();
    assert_eq!(
        (class.as_str(), params["role"].as_str(), params["name"].as_str()),
        ("press", Some("button"), Some("second"))
    );
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opr_14_requests_of_a_clickable_element_need_approval() {
    let Some(mut harness) = Harness::new("clickable-held", json!({})).await else { return };
    harness.open("/clickable").await;
    assert_eq!(harness.do_press("button", "take it").await.unwrap_err().code, "held");
    assert_eq!(harness.sent(), Vec::<String>::new());
    let (class, params) = harness.press("button", "take it").await.unwrap();
    assert_eq!((class.as_str(), params["sends"]["method"].as_str()), ("submit", Some("POST")));
    harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /api/bought"]);
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opr_14_a_click_on_the_picture_is_judged_by_the_element_at_that_point() {
    let Some(mut harness) = Harness::new("point", json!({})).await else { return };
    let page = harness.open("/clickable").await;
    assert!(page.elements().iter().all(|element| element.name != "(quiet)"), "only the picture shows it");
    // The board is directly above 2000 empty pixels, the form below them.
    let found =
        harness.run("aim", json!({"tool": "browser.browser_mouse_click_xy", "params": {"x": -1, "y": 2}})).await;
    assert_eq!(found.unwrap_err().code, "bad_params");
    let mut quiet = None;
    for y in (150..600).step_by(15) {
        let (class, params) = press_at(&mut harness, 128, y).await.unwrap();
        if params["name"] == "(quiet)" {
            quiet = Some((class, params));
            break;
        }
    }
    let (class, params) = quiet.expect("it is found by its place");
    assert_eq!((class.as_str(), params["role"].as_str()), ("press", Some("point")));
    harness.run(&class, params).await.unwrap();
    harness.observe().await;
    assert!(harness.text().contains("said quiet"), "{}", harness.text());

    // Far below the window: pressing the button of a form counts as sending the form.
    let mut order = None;
    for y in (2100..2700).step_by(10) {
        let (class, params) = press_at(&mut harness, 200, y).await.unwrap();
        if params["name"] == "Order now" {
            order = Some((class, params));
            break;
        }
    }
    let (class, params) = order.expect("it is found by its place");
    assert_eq!((class.as_str(), params["form"]["method"].as_str()), ("submit", Some("POST")));
    let mut other = params.clone();
    other["name"] = json!("Something else");
    assert_eq!(harness.run(&class, other).await.unwrap_err().code, "changed");
    assert_eq!(harness.sent(), Vec::<String>::new());
    harness.run(&class, params).await.unwrap();
    assert_eq!(harness.sent(), ["POST /orders"]);
    harness.close().await;
}
