//! Adding, changing and deleting records, and the fields that the portal sets.

use serde_json::json;

use crate::support::TestPortal;

#[test]
fn a_new_deal_gets_defaults() {
    let portal = TestPortal::new();
    let id = portal.call("crm.deal.add", &json!({"fields": {}}));
    let deal = portal.call("crm.deal.get", &json!({"ID": id}));
    assert_eq!(deal["TITLE"], json!(format!("Сделка #{id}")));
    for (name, value) in [
        ("STAGE_ID", "NEW"),
        ("CATEGORY_ID", "0"),
        ("ASSIGNED_BY_ID", "1"),
        ("CURRENCY_ID", "RUB"),
        ("CLOSED", "N"),
        ("IS_NEW", "Y"),
    ] {
        assert_eq!(deal[name], value, "{name}");
    }
    let id = portal.call("crm.deal.add", &json!({"fields": {"CATEGORY_ID": 1, "CONTACT_IDS": [7, 8]}}));
    let deal = portal.call("crm.deal.get", &json!({"id": id}));
    assert_eq!((&deal["STAGE_ID"], &deal["CONTACT_ID"]), (&json!("C1:NEW"), &json!("7")));
}

#[test]
fn a_stage_closes_a_deal_and_opens_it_again() {
    let portal = TestPortal::new();
    let stage = |stage: &str| {
        portal.call("crm.deal.update", &json!({"id": 1, "fields": {"STAGE_ID": stage}}));
        let deal = portal.call("crm.deal.get", &json!({"id": 1}));
        (deal["CLOSED"].clone(), deal["STAGE_SEMANTIC_ID"].clone(), deal["MOVED_BY_ID"].clone())
    };
    assert_eq!(stage("WON"), (json!("Y"), json!("S"), json!("1")));
    assert_eq!(stage("LOSE"), (json!("Y"), json!("F"), json!("1")));
    assert_eq!(stage("EXECUTING"), (json!("N"), json!("P"), json!("1")));
    let wrong = portal.fault("crm.deal.update", &json!({"id": 1, "fields": {"STAGE_ID": "C1:NEW"}}));
    assert_eq!((wrong.0, wrong.1.as_str()), (400, ""));
    // The funnel of a deal cannot be changed.
    portal.call("crm.deal.update", &json!({"id": 1, "fields": {"CATEGORY_ID": 1}}));
    assert_eq!(portal.call("crm.deal.get", &json!({"id": 1}))["CATEGORY_ID"], "0");
}

#[test]
fn invalid_values_change_nothing() {
    let portal = TestPortal::new();
    let before = portal.call("crm.deal.get", &json!({"id": 1}));
    for fields in
        [json!({"OPPORTUNITY": "сто тысяч", "TITLE": "Не то"}), json!({"TITLE": "Не то", "CLOSEDATE": "в пятницу"})]
    {
        let fault = portal.fault("crm.deal.update", &json!({"id": 1, "fields": fields}));
        assert!(fault.0 == 400 && fault.2.contains("not defined or invalid"), "{fault:?}");
    }
    assert_eq!(portal.call("crm.deal.get", &json!({"id": 1})), before);
}

#[test]
fn a_contact_keeps_its_phones_by_their_ids() {
    let portal = TestPortal::new();
    let phones = json!([{"VALUE": "+7 000 555-00-01", "VALUE_TYPE": "MOBILE"}, {"VALUE": "+7 000 555-00-02"}]);
    let id = portal.call("crm.contact.add", &json!({"fields": {"NAME": "Пётр", "PHONE": phones}}));
    let contact = portal.call("crm.contact.get", &json!({"id": id}));
    assert_eq!(contact["HAS_PHONE"], "Y");
    let first = contact["PHONE"][0]["ID"].clone();
    assert_eq!(contact["PHONE"][1]["VALUE_TYPE"], "WORK");
    let change = json!([{"ID": first, "VALUE": "+7 000 555-00-03"}, {"ID": contact["PHONE"][1]["ID"], "DELETE": "Y"}]);
    portal.call("crm.contact.update", &json!({"id": id, "fields": {"PHONE": change}}));
    let contact = portal.call("crm.contact.get", &json!({"id": id}));
    let expected = json!([{"ID": first, "VALUE_TYPE": "MOBILE", "VALUE": "+7 000 555-00-03", "TYPE_ID": "PHONE"}]);
    assert_eq!(contact["PHONE"], expected);
    // The phone of another contact cannot be changed by its id.
    portal.call("crm.contact.update", &json!({"id": 1, "fields": {"PHONE": [{"ID": first, "VALUE": "чужой"}]}}));
    assert_eq!(portal.call("crm.contact.get", &json!({"id": id}))["PHONE"], expected);
}

#[test]
fn origin_id_finds_a_record_whose_answer_was_lost() {
    let portal = TestPortal::new();
    for (kind, fields) in [
        ("crm.deal", json!({"TITLE": "x"})),
        ("crm.contact", json!({"NAME": "x"})),
        ("crm.company", json!({"TITLE": "x"})),
        (
            "crm.activity",
            json!({"SUBJECT": "x", "TYPE_ID": 2, "OWNER_TYPE_ID": 2, "OWNER_ID": 1, "RESPONSIBLE_ID": 1, "COMMUNICATIONS": [{"VALUE": "+7"}]}),
        ),
    ] {
        let mut fields = fields;
        fields["ORIGINATOR_ID"] = json!("obelus");
        fields["ORIGIN_ID"] = json!("call-17");
        let id = portal.call(&format!("{kind}.add"), &json!({"fields": fields}));
        let filter = json!({"ORIGINATOR_ID": "obelus", "ORIGIN_ID": "call-17"});
        let found = portal.call(&format!("{kind}.list"), &json!({"filter": filter, "select": ["ID"]}));
        assert_eq!(found, json!([{"ID": id.to_string()}]), "{kind}");
    }
    let item = portal.call(
        "crm.item.add",
        &json!({"entityTypeId": 2, "fields": {"title": "y", "originatorId": "obelus", "originId": "call-18"}}),
    );
    let found =
        portal.call("crm.item.list", &json!({"entityTypeId": 2, "filter": {"originId": "call-18"}, "select": ["id"]}));
    assert_eq!(found["items"][0]["id"], item["item"]["id"]);
}

#[test]
fn invoices_and_quotes_are_stored_by_the_methods_for_all_types() {
    let portal = TestPortal::new();
    for (type_id, first_stage, next_stage) in [(31, "DT31_1:N", "DT31_1:P"), (7, "DRAFT", "SENT")] {
        let fields = json!({"title": "Окна", "opportunity": 5000, "companyId": 1});
        let made = portal.call("crm.item.add", &json!({"entityTypeId": type_id, "fields": fields}))["item"].clone();
        let named = [&made["title"], &made["stageId"], &made["currencyId"], &made["entityTypeId"]];
        assert_eq!(named, [&json!("Окна"), &json!(first_stage), &json!("RUB"), &json!(type_id)]);
        let of = json!({"entityTypeId": type_id, "id": made["id"]});
        let mut change = of.clone();
        change["fields"] = json!({"stageId": next_stage});
        portal.call("crm.item.update", &change);
        let listed = portal.call("crm.item.list", &json!({"entityTypeId": type_id, "filter": {"stageId": next_stage}}));
        assert_eq!(listed["items"][0]["id"], made["id"]);
        portal.call("crm.item.delete", &of);
        assert_eq!(portal.fault("crm.item.get", &of).1, "NOT_FOUND");
    }
}

#[test]
fn a_universal_activity_needs_no_communications() {
    let portal = TestPortal::new();
    let todo = json!({
        "ownerTypeId": 2, "ownerId": 1, "deadline": "2026-11-20T12:00:00+03:00", "title": "Позвонить", "responsibleId": 3,
    });
    let id = portal.call("crm.activity.todo.add", &todo)["id"].clone();
    let activity = portal.call("crm.activity.get", &json!({"id": id}));
    for (name, value) in [
        ("SUBJECT", "Позвонить"),
        ("PROVIDER_ID", "CRM_TODO"),
        ("RESPONSIBLE_ID", "3"),
        ("OWNER_ID", "1"),
        ("DEADLINE", "2026-11-20T12:00:00+03:00"),
    ] {
        assert_eq!(activity[name], value, "{name}");
    }
    let fault = portal.fault("crm.activity.todo.add", &json!({"ownerTypeId": 2, "ownerId": 1, "title": "x"}));
    assert!(fault.1 == "100" && fault.2.contains("{deadline}"), "{fault:?}");
    let nobody = json!({"ownerTypeId": 2, "ownerId": 999_999, "deadline": "2026-11-20T12:00:00+03:00"});
    assert_eq!(portal.fault("crm.activity.todo.add", &nobody).0, 400);
}

#[test]
fn an_activity_takes_its_deadline_from_its_times() {
    let portal = TestPortal::new();
    let fields = json!({
        "SUBJECT": "Звонок", "TYPE_ID": 2, "OWNER_TYPE_ID": 2, "OWNER_ID": 1, "RESPONSIBLE_ID": 3,
        "COMMUNICATIONS": [{"VALUE": "+7 000 555-00-00", "ENTITY_ID": 1, "ENTITY_TYPE_ID": 3}],
        "START_TIME": "2026-11-20T12:00:00+03:00", "END_TIME": "2026-11-20T12:30:00+03:00", "DEADLINE": "2030-01-01"
    });
    let id = portal.call("crm.activity.add", &json!({"fields": fields}));
    let activity = portal.call("crm.activity.get", &json!({"id": id}));
    assert_eq!(activity["DEADLINE"], "2026-11-20T12:00:00+03:00");
    portal.call(
        "crm.activity.update",
        &json!({"id": id, "fields": {"START_TIME": "2026-11-21T09:00:00+03:00", "COMPLETED": "Y"}}),
    );
    let activity = portal.call("crm.activity.get", &json!({"id": id}));
    assert_eq!((&activity["DEADLINE"], &activity["STATUS"]), (&json!("2026-11-21T09:00:00+03:00"), &json!("2")));
    for missing in ["SUBJECT", "RESPONSIBLE_ID", "TYPE_ID", "COMMUNICATIONS", "OWNER_ID"] {
        let mut fields = fields.clone();
        fields.as_object_mut().expect("fields").remove(missing);
        let fault = portal.fault("crm.activity.add", &json!({"fields": fields}));
        assert!(fault.0 == 400 && fault.2.contains(missing), "{missing}: {fault:?}");
    }
}

#[test]
fn a_comment_takes_its_fields_in_lower_case_only() {
    let portal = TestPortal::new();
    let fields = json!({"ENTITY_ID": 1, "ENTITY_TYPE": "deal", "COMMENT": "Перезвонить"});
    let id = portal.call("crm.timeline.comment.add", &json!({"fields": fields}));
    assert_eq!(portal.call("crm.timeline.comment.get", &json!({"id": id}))["COMMENT"], "Перезвонить");
    assert_eq!(portal.fault("crm.timeline.comment.add", &json!({"FIELDS": fields})).0, 400);
    let all = portal.call(
        "crm.timeline.comment.list",
        &json!({"filter": {"ENTITY_TYPE": "deal", "ENTITY_ID": 1}, "order": {"ID": "DESC"}}),
    );
    assert_eq!(all[0]["ID"], json!(id.to_string()));
}

#[test]
fn custom_fields_are_added_stored_and_filtered() {
    let portal = TestPortal::new();
    let fields = json!({"FIELD_NAME": "FLOOR", "USER_TYPE_ID": "integer", "EDIT_FORM_LABEL": {"ru": "Этаж"}});
    portal.call("crm.deal.userfield.add", &json!({"fields": fields}));
    portal.call("crm.deal.update", &json!({"id": 2, "fields": {"UF_CRM_FLOOR": "17"}}));
    let found = portal.call("crm.deal.list", &json!({"filter": {">=UF_CRM_FLOOR": 17}, "select": ["UF_CRM_FLOOR"]}));
    assert_eq!(found, json!([{"ID": "2", "UF_CRM_FLOOR": "17"}]));
    assert_eq!(portal.call("crm.deal.fields", &json!({}))["UF_CRM_FLOOR"]["formLabel"], "Этаж");
    for name in ["A') --", "ЭТАЖ", ""] {
        let fault = portal.fault("crm.deal.userfield.add", &json!({"fields": {"FIELD_NAME": name}}));
        assert_eq!(fault.1, "ERROR_CORE", "{name}");
    }
}
