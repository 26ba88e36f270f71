//! Lists: pages, filters, order, fields.

use serde_json::{Value, json};

use crate::support::TestPortal;

fn ids(rows: &Value) -> Vec<i64> {
    let id = |row: &Value| row["ID"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    rows.as_array().expect("rows").iter().map(id).collect()
}

#[test]
fn a_list_has_pages_of_fifty() {
    let portal = TestPortal::new();
    let page = |start: Value| {
        let answer = portal.answer("crm.deal.list", &json!({"select": ["ID"], "start": start}));
        (ids(&answer["result"]), answer["total"].clone(), answer.get("next").cloned())
    };
    assert_eq!(page(json!(0)), ((1..=50).collect(), json!(150), Some(json!(50))));
    assert_eq!(page(json!("50")), ((51..=100).collect(), json!(150), Some(json!(100))));
    assert_eq!(page(json!(100)), ((101..=150).collect(), json!(150), None));
    // A start between two pages is rounded down.
    assert_eq!(page(json!(73)), page(json!(50)));
    assert_eq!(page(json!(1000)), (vec![], json!(150), None));
    assert_eq!(page(json!(i64::MAX)), (vec![], json!(150), None));
    // With `start=-1` nothing is counted.
    assert_eq!(page(json!(-1)), ((1..=50).collect(), json!(0), None));
}

#[test]
fn a_large_list_is_paged_by_id_without_counting() {
    let portal = TestPortal::new();
    let mut seen = Vec::new();
    loop {
        let last = seen.last().copied().unwrap_or(0);
        let params = json!({"select": ["ID"], "filter": {">ID": last}, "order": {"ID": "ASC"}, "start": -1});
        let rows = ids(&portal.call("crm.deal.list", &params));
        seen.extend(&rows);
        if rows.len() < 50 {
            break;
        }
    }
    assert_eq!(seen, (1..=150).collect::<Vec<_>>());
}

#[test]
fn every_filter_prefix_works_as_documented() {
    let portal = TestPortal::new();
    for (title, amount, origin) in [
        ("Окна Север", 100.0, Some("a")),
        ("окна Юг", 200.0, Some("b")),
        ("Двери 50% Ёлка", 300.0, None),
        ("Двери", 400.0, None),
    ] {
        let fields = json!({"TITLE": title, "OPPORTUNITY": amount, "ORIGINATOR_ID": "test", "ORIGIN_ID": origin, "BEGINDATE": "2026-01-10"});
        portal.call("crm.deal.add", &json!({"fields": fields}));
    }
    for (filter, expected) in [
        (json!({"ID": 152}), vec![152]),
        (json!({"=ID": "152"}), vec![152]),
        (json!({"ID": [151, "152"]}), vec![151, 152]),
        (json!({"!ID": 152}), vec![151, 153, 154]),
        (json!({"!=ID": 152}), vec![151, 153, 154]),
        (json!({"@ID": [151, 153]}), vec![151, 153]),
        (json!({"!@ID": [151, 153]}), vec![152, 154]),
        (json!({">OPPORTUNITY": 200}), vec![153, 154]),
        (json!({">=OPPORTUNITY": "200.00"}), vec![152, 153, 154]),
        (json!({"<OPPORTUNITY": 200}), vec![151]),
        (json!({"<=OPPORTUNITY": 200}), vec![151, 152]),
        (json!({">=OPPORTUNITY": 200, "<OPPORTUNITY": 400}), vec![152, 153]),
        (json!({"><OPPORTUNITY": [150, 350]}), vec![152, 153]),
        (json!({"!><OPPORTUNITY": [150, 350]}), vec![151, 154]),
        // A substring needs no `%`, ignores case, and has no special characters.
        (json!({"%TITLE": "ОКНА"}), vec![151, 152]),
        (json!({"%TITLE": "50%"}), vec![153]),
        (json!({"%TITLE": "елка"}), vec![153]),
        (json!({"!%TITLE": "окна"}), vec![153, 154]),
        (json!({"=%TITLE": "окна%"}), vec![151, 152]),
        (json!({"%=TITLE": "%юг"}), vec![152]),
        (json!({"=%TITLE": "двери"}), vec![154]),
        // Fields that are not set.
        (json!({"ORIGIN_ID": ""}), vec![153, 154]),
        (json!({"ORIGIN_ID": null}), vec![153, 154]),
        (json!({"!ORIGIN_ID": ""}), vec![151, 152]),
        (json!({"ORIGIN_ID": "b"}), vec![152]),
        (json!({"!ORIGIN_ID": "b"}), vec![151, 153, 154]),
        (
            json!({"CLOSED": "N", "STAGE_ID": "NEW", "BEGINDATE": "2026-01-10", "<BEGINDATE": "11.01.2026"}),
            vec![151, 152, 153, 154],
        ),
        (json!({">DATE_CREATE": "2100-01-01"}), vec![]),
        // Unknown fields are ignored.
        (json!({"NO_SUCH_FIELD": 1}), vec![151, 152, 153, 154]),
    ] {
        let mut whole = filter.clone();
        whole["ORIGINATOR_ID"] = json!("test");
        let rows = portal.call("crm.deal.list", &json!({"filter": whole, "select": ["ID"]}));
        assert_eq!(ids(&rows), expected, "{filter}");
    }
}

#[test]
fn select_has_masks_and_omits_multi_value_fields() {
    let portal = TestPortal::new();
    let first = |method: &str, select: Value| {
        let rows = portal.call(method, &json!({"select": select, "filter": {"ID": 1}}));
        rows[0].as_object().expect("a row").keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(first("crm.deal.list", json!(["ID", "TITLE", "NOPE"])), ["ID", "TITLE"]);
    assert_eq!(first("crm.deal.list", json!(["UF_*"])), ["ID", "UF_CRM_CITY", "UF_CRM_WARRANTY"]);
    let all = first("crm.deal.list", json!(["*"]));
    assert!(all.contains(&"ORIGIN_ID".to_owned()) && !all.iter().any(|name| name.starts_with("UF_")), "{all:?}");
    let by_default = first("crm.deal.list", json!([]));
    assert_eq!(by_default, first("crm.deal.list", json!(["*", "UF_*"])));
    assert_eq!(by_default, first("crm.deal.list", json!([""])));
    assert!(!first("crm.contact.list", json!(["*", "UF_*"])).contains(&"PHONE".to_owned()));
    assert_eq!(first("crm.contact.list", json!(["NAME", "PHONE", "EMAIL"])), ["ID", "NAME", "PHONE", "EMAIL"]);
}

#[test]
fn order_is_by_several_fields_then_by_id() {
    let portal = TestPortal::new();
    for (title, amount) in [("Б", 1), ("а", 2), ("А", 1)] {
        portal.call("crm.deal.add", &json!({"fields": {"TITLE": title, "OPPORTUNITY": amount, "ORIGINATOR_ID": "o"}}));
    }
    let sorted =
        |order: Value| ids(&portal.call("crm.deal.list", &json!({"filter": {"ORIGINATOR_ID": "o"}, "order": order})));
    assert_eq!(sorted(json!({"TITLE": "ASC"})), [152, 153, 151]);
    assert_eq!(sorted(json!({"OPPORTUNITY": "DESC", "TITLE": "asc"})), [152, 153, 151]);
    assert_eq!(sorted(json!({"ID": "desc"})), [153, 152, 151]);
    assert_eq!(sorted(json!({"NOPE": "desc"})), [151, 152, 153]);
}

#[test]
fn people_are_found_by_phone_and_e_mail() {
    let portal = TestPortal::new();
    let contact = portal.call("crm.contact.get", &json!({"id": 5}));
    let found = |filter: Value| ids(&portal.call("crm.contact.list", &json!({"filter": filter, "select": ["ID"]})));
    assert_eq!(found(json!({"PHONE": contact["PHONE"][0]["VALUE"]})), [5]);
    assert_eq!(found(json!({"EMAIL": contact["EMAIL"][0]["VALUE"]})), [5]);
    assert_eq!(found(json!({"EMAIL": "nobody@example.test"})), Vec::<i64>::new());
}

#[test]
fn funnels_and_stages_have_names() {
    let portal = TestPortal::new();
    for name in ["crm.dealcategory.list", "crm.deal.category.list"] {
        assert_eq!(portal.call(name, &json!({}))[0]["ID"], "1", "{name}");
    }
    let stages = |id: i64| {
        let rows = portal.call("crm.deal.category.stage.list", &json!({"id": id}));
        let of =
            |row: &Value| (row["STATUS_ID"].as_str().unwrap_or_default().to_owned(), row["NAME"].as_str().is_some());
        rows.as_array().expect("stages").iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(stages(0)[0], ("NEW".to_owned(), true));
    assert_eq!(stages(1)[0], ("C1:NEW".to_owned(), true));
    let directory = portal.call("crm.status.list", &json!({"filter": {"ENTITY_ID": "DEAL_STAGE_1"}}));
    assert_eq!(directory.as_array().map(Vec::len), Some(stages(1).len()));
    let categories = portal.call("crm.category.list", &json!({"entityTypeId": 2}));
    assert_eq!(categories["categories"].as_array().map(Vec::len), Some(2));
    for (name, expected) in [("sonet.group.get", 4), ("sonet_group.get", 4)] {
        assert_eq!(portal.call(name, &json!({})).as_array().map(Vec::len), Some(expected));
    }
    assert_eq!(portal.call("sonet.group.user.get", &json!({"ID": 2}))[0], json!({"USER_ID": "5", "ROLE": "A"}));
}

#[test]
fn user_filters_may_be_plain_parameters() {
    let portal = TestPortal::new();
    assert_eq!(portal.answer("user.get", &json!({}))["total"], 8);
    assert_eq!(portal.call("user.get", &json!({"ID": 3}))[0]["LAST_NAME"], "Лугова");
    assert_eq!(portal.answer("user.get", &json!({"FILTER": {"ACTIVE": false}}))["total"], 1);
    assert_eq!(portal.answer("user.get", &json!({"filter": {"!%WORK_POSITION": "менеджер"}}))["total"], 6);
    assert_eq!(portal.call("user.search", &json!({"FIND": "кедров"}))[0]["ID"], "4");
}
