//! `batch`: many commands in one request.

use serde_json::{Value, json};

use crate::support::TestPortal;

#[test]
fn commands_of_a_batch_can_use_earlier_results() {
    let portal = TestPortal::new();
    let result = portal.call("batch", &json!({"halt": 0, "cmd": {
        "deals": "crm.deal.list?select[]=ID&filter[CONTACT_ID]=&order[ID]=ASC",
        "new": "crm.deal.add?fields[TITLE]=%D0%9E%D0%BA%D0%BD%D0%B0&fields[CONTACT_ID]=3",
        "read": "crm.deal.get?id=$result[new]",
        "contact": "crm.contact.get?id=$result[read][CONTACT_ID]",
        "comment": "crm.timeline.comment.add?fields[ENTITY_TYPE]=deal&fields[ENTITY_ID]=$result[new]&fields[COMMENT]=Для $result[contact][NAME]!"
    }}));
    assert_eq!(result["result"]["read"]["TITLE"], "Окна");
    assert_eq!(result["result"]["contact"]["ID"], "3");
    assert_eq!((&result["result_error"], &result["result_next"]), (&json!([]), &json!([])));
    assert_eq!(result["result_total"], json!({"deals": 0}));
    assert!(result["result_time"]["comment"]["operating"].is_number());
    let comment = portal.call("crm.timeline.comment.get", &json!({"id": result["result"]["comment"]}));
    let name = result["result"]["contact"]["NAME"].as_str().expect("a name");
    assert_eq!(comment["COMMENT"], json!(format!("Для {name}!")));
}

#[test]
fn a_broken_reference_becomes_the_deepest_value_reached() {
    let portal = TestPortal::new();
    let result = portal.call(
        "batch",
        &json!({"cmd": {
            "deals": "crm.deal.list?filter[ID]=7&select[]=ID",
            "beyond": "crm.deal.list?filter[>ID]=$result[deals][49][ID]&select[]=ID&order[ID]=ASC",
            "lost": "crm.deal.get?id=$result[nobody][ID]"
        }}),
    );
    // A list in place of an id counts as 1.
    assert_eq!(result["result"]["beyond"][0]["ID"], "2");
    assert_eq!(result["result_error"]["lost"]["error_description"], "ID is not defined or invalid.");
}

#[test]
fn numbered_commands_make_lists_and_named_ones_maps() {
    let portal = TestPortal::new();
    let two = json!(["crm.deal.get?id=1", "crm.deal.list?select[]=ID"]);
    for cmd in [two, json!({"0": "crm.deal.get?id=1", "1": "crm.deal.list?select[]=ID"})] {
        let result = portal.call("batch", &json!({"cmd": cmd}));
        assert_eq!(result["result"].as_array().map(Vec::len), Some(2));
        assert_eq!((&result["result_total"], &result["result_next"]), (&json!({"1": 150}), &json!({"1": 50})));
    }
    let result = portal.call("batch", &json!({"cmd": {"1": "crm.deal.get?id=1"}}));
    assert_eq!(result["result"]["1"]["ID"], "1");
    let form = "halt=0&cmd[a]=crm.deal.get%3Fid%3D1&cmd[b]=crm.deal.list%3Ffilter%255B%253EID%255D%3D149%26select%255B%255D%3DID";
    let reply =
        portal.send("POST", &portal.path("batch.json"), "application/x-www-form-urlencoded", form).expect("an answer");
    assert_eq!(reply.json()["result"]["result"]["b"], json!([{"ID": "150"}]));
}

#[test]
fn an_error_stops_a_batch_only_with_halt() {
    let portal = TestPortal::new();
    let cmd = json!({"a": "crm.deal.get?id=1", "b": "crm.deal.get?id=99999", "c": "crm.deal.get?id=2"});
    for (halt, goes_on) in [
        (json!(0), true),
        (json!(false), true),
        (json!("0"), true),
        (json!(1), false),
        (json!(true), false),
        (json!("1"), false),
    ] {
        let reply = portal.post("batch", &json!({"halt": halt, "cmd": cmd}));
        let result = &reply.json()["result"];
        assert_eq!(reply.status, 200);
        assert_eq!(result["result"].get("c").is_some(), goes_on, "{halt}");
        assert_eq!(result["result_error"]["b"], json!({"error": "", "error_description": "Not found"}));
    }
}

#[test]
fn commands_beyond_fifty_and_nested_batches_are_refused_individually() {
    let portal = TestPortal::new();
    let cmd: Vec<String> = (0..52).map(|_| "server.time".to_owned()).collect();
    let result = portal.call("batch", &json!({"cmd": cmd}));
    assert_eq!(result["result"].as_array().map(Vec::len), Some(50));
    let codes: Vec<&Value> =
        result["result_error"].as_object().expect("faults").values().map(|fault| &fault["error"]).collect();
    assert_eq!(codes, ["ERROR_BATCH_LENGTH_EXCEEDED"; 2]);
    let result = portal.call("batch", &json!({"cmd": {"x": "batch?cmd[a]=server.time", "y": "no.such.method"}}));
    assert_eq!(result["result_error"]["x"]["error"], "ERROR_BATCH_METHOD_NOT_ALLOWED");
    assert_eq!(result["result_error"]["y"]["error"], "ERROR_METHOD_NOT_FOUND");
    assert_eq!(result["result"], json!([]));
}
