//! Encodings of requests and answers.

use serde_json::json;

use crate::support::TestPortal;

#[test]
fn the_same_call_works_in_every_encoding() {
    let portal = TestPortal::new();
    let expected = json!([{"ID": "2", "TITLE": portal.call("crm.deal.get", &json!({"id": 2}))["TITLE"]}]);
    let query = "select[]=TITLE&filter[%40ID][]=2&order[ID]=ASC";
    let path = portal.path("crm.deal.list");
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"select[]\"\r\n\r\nTITLE\r\n\
                     --b\r\nContent-Disposition: form-data; name=\"filter[=ID]\"\r\n\r\n2\r\n--b--\r\n";
    for (method, path, kind, body) in [
        ("GET", format!("{path}?{query}"), "", ""),
        ("GET", format!("{path}.json?{query}"), "", ""),
        // Unescaped, as people type it.
        ("GET", format!("{path}?select[]=TITLE&filter[>ID]=1&filter[<ID]=3"), "", ""),
        ("POST", path.clone(), "application/x-www-form-urlencoded", query),
        ("POST", path.clone(), "application/json", "{\"select\": [\"TITLE\"], \"filter\": {\"ID\": 2}}"),
        ("POST", path.clone(), "application/json", "{\"SELECT\": [\"TITLE\"], \"FILTER\": {\"ID\": [2]}}"),
        ("POST", path.clone(), "multipart/form-data; boundary=b", multipart),
        // The body overrides the query.
        ("POST", format!("{path}?filter[ID]=7&{query}"), "application/json", "{\"filter\": {\"ID\": \"2\"}}"),
        // The case of method names and unknown parameters are ignored.
        ("GET", format!("{}?{query}&bx24_request_id=1", portal.path("CRM.Deal.List")), "", ""),
    ] {
        let reply = portal.send(method, &path, kind, body).expect("an answer");
        assert_eq!((reply.status, &reply.json()["result"]), (200, &expected), "{method} {path} {body}");
        assert!(reply.head.to_lowercase().contains("content-type: application/json"), "{}", reply.head);
    }
}

#[test]
fn json_that_cannot_be_read_counts_as_no_parameters() {
    let portal = TestPortal::new();
    let reply =
        portal.send("POST", &portal.path("crm.deal.list"), "application/json", "{\"filter\": ").expect("an answer");
    assert_eq!((reply.status, &reply.json()["total"]), (200, &json!(150)));
}

#[test]
fn an_answer_may_be_xml() {
    let portal = TestPortal::new();
    let reply = portal.get(&format!("{}?id=1", portal.path("crm.deal.get.xml")));
    assert!(reply.body.starts_with("<?xml") && reply.body.contains("<result><ID>1</ID>"), "{}", reply.body);
}

#[test]
fn scalars_of_the_crm_are_text_and_flags_are_letters() {
    let portal = TestPortal::new();
    let id = portal.call("crm.deal.add", &json!({"fields": {"TITLE": "Окна", "OPPORTUNITY": 1000, "OPENED": false}}));
    assert!(id.is_u64(), "{id}");
    let deal = portal.call("crm.deal.get", &json!({"id": id}));
    assert_eq!(deal["ID"], json!(id.to_string()));
    assert_eq!((&deal["OPPORTUNITY"], &deal["OPENED"]), (&json!("1000.00"), &json!("N")));
    assert_eq!((&deal["CONTACT_ID"], &deal["COMMENTS"]), (&json!(null), &json!(null)));
    let created = deal["DATE_CREATE"].as_str().expect("text");
    assert!(created.len() == 25 && created.ends_with("+03:00") && created.contains('T'), "{created}");
    assert_eq!(portal.call("crm.deal.update", &json!({"id": id, "fields": {"OPPORTUNITY": "7.5|RUB"}})), json!(true));
    let item = portal.call("crm.item.get", &json!({"entityTypeId": 2, "id": id}));
    assert_eq!((&item["item"]["id"], &item["item"]["opportunity"]), (&id, &json!(7.5)));
    assert_eq!(portal.call("user.current", &json!({}))["ACTIVE"], json!(true));
}

#[test]
fn every_answer_contains_its_time() {
    let portal = TestPortal::new();
    let time = portal.answer("server.time", &json!({}))["time"].take();
    for name in ["start", "finish", "duration", "processing", "operating", "operating_reset_at"] {
        assert!(time[name].is_number(), "{name} in {time}");
    }
    assert!(time["date_start"].is_string() && time["date_finish"].is_string());
    assert!(time["operating_reset_at"].as_f64() > time["finish"].as_f64());
}
