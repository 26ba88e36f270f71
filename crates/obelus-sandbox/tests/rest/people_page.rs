//! The page for people.

use serde_json::json;

use crate::support::TestPortal;

#[test]
fn the_page_shows_records_and_changes_by_requests() {
    let portal = TestPortal::new();
    assert!(portal.get("/").body.contains("Запросов ещё не было"));
    portal.call("crm.deal.update", &json!({"id": 1, "fields": {"OPPORTUNITY": 100_000, "STAGE_ID": "EXECUTING"}}));
    portal.call("tasks.task.add", &json!({"fields": {"TITLE": "Позвонить Пахомову", "RESPONSIBLE_ID": 3}}));
    portal.fault("no.such.method", &json!({}));
    let page = portal.get("/");
    assert_eq!(page.status, 200);
    for part in [
        "Сделка 1",
        "В работе",
        "100\u{a0}000\u{a0}₽",
        "Позвонить Пахомову",
        "ERROR_METHOD_NOT_FOUND",
        "Новая</s> → В работе",
    ] {
        assert!(page.body.contains(part), "no {part}");
    }
    assert_eq!(portal.get("/version").body, "3");
    for tab in ["deals", "contacts", "companies", "leads", "tasks", "activities", "comments", "nonsense"] {
        let page = portal.get(&format!("/?show={tab}&page=1"));
        assert!(page.status == 200 && page.body.contains("<td class=id>"), "{tab}");
    }
    assert!(portal.get("/?show=tasks").body.contains("<tr class=touched><td class=id>37</td>"));
    assert_eq!(portal.get("/?page=-7").status, 200);
}

#[test]
fn nothing_in_a_record_becomes_markup_and_no_secret_is_shown() {
    let portal = TestPortal::new();
    let evil = "<script>alert(1)</script>\u{202e}";
    portal.call("crm.deal.add", &json!({"fields": {"TITLE": evil, "CURRENCY_ID": "<i>"}}));
    portal.call("tasks.task.add", &json!({"fields": {"TITLE": evil, "DESCRIPTION": evil, "RESPONSIBLE_ID": 1}}));
    portal
        .call("crm.timeline.comment.add", &json!({"fields": {"ENTITY_ID": 1, "ENTITY_TYPE": "deal", "COMMENT": evil}}));
    portal.call("crm.deal.update", &json!({"id": 2, "fields": {"TITLE": evil}}));
    portal.call(
        "crm.contact.update",
        &json!({"id": 2, "fields": {"NAME": evil, "POST": evil, "PHONE": [{"VALUE": evil}]}}),
    );
    portal.fault("%3Cb%3Emethod%3C%2Fb%3E", &json!({}));
    for tab in ["deals", "contacts", "tasks", "activities", "comments"] {
        let page = portal.get(&format!("/?show={tab}")).body;
        assert!(!page.contains("<script>alert") && !page.contains('\u{202e}') && !page.contains("<b>method"), "{tab}");
        assert!(!page.contains("sandbox0token"), "{tab}");
    }
    let head = portal.get("/").head.to_lowercase();
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
}
