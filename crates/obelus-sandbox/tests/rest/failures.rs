//! Faults, limits, dropped answers and restarts.

use std::time::{Duration, SystemTime};

use obelus_sandbox::{Portal, SandboxOptions, StartError};
use serde_json::{Value, json};

use crate::support::TestPortal;

#[test]
fn each_error_has_its_status_and_code() {
    let portal =
        TestPortal::with(SandboxOptions { rate: false, scopes: vec!["crm".to_owned()], ..SandboxOptions::default() });
    for (method, params, expected) in [
        ("no.such.method", json!({}), (404, "ERROR_METHOD_NOT_FOUND")),
        ("crm.deal.get", json!({}), (400, "")),
        ("crm.deal.get", json!({"id": "x"}), (400, "")),
        ("crm.deal.get", json!({"id": 99999}), (400, "")),
        ("crm.deal.list", json!({"filter": "x"}), (400, "")),
        ("crm.deal.list", json!({"select": "ID"}), (400, "")),
        ("crm.deal.add", json!({}), (400, "")),
        ("crm.company.add", json!({"fields": {}}), (400, "")),
        ("crm.item.get", json!({"entityTypeId": 2, "id": 99999}), (400, "NOT_FOUND")),
        ("crm.item.list", json!({"entityTypeId": 2, "filter": {"nope": 1}}), (400, "INVALID_ARG_VALUE")),
        (
            "event.bind",
            json!({"event": "onNothing", "handler": "http://example.test/"}),
            (400, "ERROR_EVENT_NOT_FOUND"),
        ),
        ("event.bind", json!({"event": "onCrmDealAdd"}), (400, "ERROR_ARGUMENT")),
        ("event.bind", json!({"event": "onCrmDealAdd", "handler": "ftp://example.test/"}), (400, "ERROR_ARGUMENT")),
        ("tasks.task.list", json!({}), (403, "insufficient_scope")),
    ] {
        let fault = portal.fault(method, &params);
        assert_eq!((fault.0, fault.1.as_str()), expected, "{method} {params}: {fault:?}");
    }
    assert_eq!(portal.post("event.bind", &json!({"event": "onCrmDealAdd"})).json()["argument"], "HANDLER");
    assert_eq!(portal.fault("crm.deal.list", &json!({"filter": "x"})).2, "Parameter 'filter' must be array.");
    for (path, status, code) in [
        ("/rest/1/wrong/profile", 403, "INVALID_CREDENTIALS"),
        ("/rest/2/sandbox0token/profile", 403, "INVALID_CREDENTIALS"),
        ("/rest/profile", 401, "NO_AUTH_FOUND"),
        ("/rest/profile?auth=abc", 401, "expired_token"),
    ] {
        let reply = portal.get(path);
        assert_eq!((reply.status, &reply.json()["error"]), (status, &json!(code)), "{path}");
    }
}

#[test]
fn the_webhook_of_an_inactive_user_is_refused() {
    let portal = TestPortal::with(SandboxOptions { user: 8, ..SandboxOptions::default() });
    let fault = portal.fault("profile", &json!({}));
    assert_eq!((fault.0, fault.1.as_str()), (403, "user_access_error"));
}

#[test]
fn scopes_and_methods_are_reported() {
    let portal =
        TestPortal::with(SandboxOptions { rate: false, scopes: vec!["crm".to_owned()], ..SandboxOptions::default() });
    assert_eq!(portal.call("scope", &json!({})), json!(["crm"]));
    let names = portal.call("methods", &json!({}));
    let has = |name: &str| names.as_array().is_some_and(|names| names.contains(&json!(name)));
    assert!(has("crm.deal.list") && has("batch") && !has("tasks.task.list"), "{names}");
    let about = |name: &str| portal.call("method.get", &json!({"name": name}));
    assert_eq!(about("crm.deal.list"), json!({"isExisting": true, "isAvailable": true}));
    assert_eq!(about("tasks.task.list"), json!({"isExisting": true, "isAvailable": false}));
    assert_eq!(about("nope"), json!({"isExisting": false, "isAvailable": false}));
    assert_eq!(portal.call("profile", &json!({}))["ADMIN"], json!(true));
}

#[test]
fn requests_beyond_the_burst_are_refused_before_they_have_effects() {
    let portal = TestPortal::with(SandboxOptions::default());
    // Send until the bucket is full, so that the test does not depend on the machine's speed.
    let mut refused = 0;
    let mut done = 0;
    while refused == 0 && done < 5000 {
        let reply = portal.post("crm.deal.add", &json!({"fields": {"TITLE": "x"}}));
        match reply.status {
            200 => done += 1,
            503 => {
                assert_eq!(reply.json()["error"], "QUERY_LIMIT_EXCEEDED");
                refused += 1;
            }
            status => panic!("{status}: {}", reply.body),
        }
    }
    assert!(done >= 50 && refused == 1, "{done} done, {refused} refused");
    // After an hour there is room again, and exactly the accepted requests were carried out.
    portal.portal.set_now(SystemTime::now() + Duration::from_secs(3600));
    assert_eq!(portal.answer("crm.deal.list", &json!({"filter": {"TITLE": "x"}}))["total"], json!(done));
}

#[test]
fn a_method_over_its_time_limit_is_blocked_until_the_limit_resets() {
    let portal = TestPortal::with(SandboxOptions { operating_cost: Some(200.0), ..SandboxOptions::default() });
    let mut last = json!(null);
    for _ in 0..3 {
        last = portal.answer("crm.deal.list", &json!({}))["time"].take();
    }
    assert_eq!(last["operating"], json!(600.0));
    let blocked = portal.fault("crm.deal.list", &json!({}));
    assert_eq!((blocked.0, blocked.1.as_str()), (429, "OPERATION_TIME_LIMIT"));
    assert_eq!(portal.post("crm.deal.get", &json!({"id": 1})).status, 200);
    let inner = portal.call("batch", &json!({"cmd": {"x": "crm.deal.list"}}));
    assert_eq!(inner["result_error"]["x"]["error"], "OPERATION_TIME_LIMIT");
    let reset = last["operating_reset_at"].as_u64().expect("a moment");
    portal.portal.set_now(SystemTime::UNIX_EPOCH + Duration::from_secs(reset + 61));
    assert_eq!(portal.post("crm.deal.list", &json!({})).status, 200);
}

#[test]
fn requests_with_dropped_answers_are_executed_and_the_same_in_every_run() {
    let run = || {
        let portal = TestPortal::with(SandboxOptions { rate: false, drop_answers: 0.3, ..SandboxOptions::default() });
        let add = |n: usize| {
            let body = json!({"fields": {"TITLE": "x", "ORIGINATOR_ID": "t", "ORIGIN_ID": n.to_string()}}).to_string();
            portal.send("POST", &portal.path("crm.deal.add"), "application/json", &body).is_none()
        };
        let dropped: Vec<bool> = (0..40).map(add).collect();
        // A read can be repeated until an answer arrives.
        let list = json!({"filter": {"ORIGINATOR_ID": "t"}, "select": ["ID"]}).to_string();
        let read = (0..50).find_map(|_| portal.send("POST", &portal.path("crm.deal.list"), "application/json", &list));
        (dropped, read.expect("an answer").json()["total"].clone())
    };
    let (dropped, made) = run();
    assert_eq!(made, json!(40), "every one was done, answered or not");
    let count = dropped.iter().filter(|dropped| **dropped).count();
    assert!((4..=24).contains(&count), "{count} of 40");
    assert_eq!(run().0, dropped);
}

#[test]
fn a_portal_in_a_file_survives_a_restart_and_one_in_memory_does_not() {
    let path =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("survives-{}.sqlite", std::process::id()));
    let options = SandboxOptions { db: Some(path.clone()), rate: false, ..SandboxOptions::default() };
    let id = {
        let portal = TestPortal::with(options.clone());
        portal.call("crm.deal.add", &json!({"fields": {"TITLE": "Остаётся"}}))
    };
    let portal = TestPortal::with(options);
    assert_eq!(portal.call("crm.deal.get", &json!({"id": id}))["TITLE"], "Остаётся");
    drop(portal);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    assert_eq!(TestPortal::new().fault("crm.deal.get", &json!({"id": id})).0, 400);
}

#[test]
fn the_clock_can_be_set_and_seed_dates_are_around_it() {
    let new_year = SystemTime::UNIX_EPOCH + Duration::from_secs(1_893_448_800); // 2030-01-01 01:00 in Moscow
    let portal = TestPortal::with(SandboxOptions { now: Some(new_year), rate: false, ..SandboxOptions::default() });
    let now = portal.call("server.time", &json!({}));
    assert!(now.as_str().is_some_and(|now| now.starts_with("2030-01-01T01:")), "{now}");
    let newest = portal.call("crm.deal.list", &json!({"order": {"DATE_CREATE": "DESC"}, "select": ["DATE_CREATE"]}));
    let newest: &Value = &newest[0]["DATE_CREATE"];
    assert!(newest.as_str().is_some_and(|at| at.starts_with("2029-12-")), "{newest}");
    let ahead =
        portal.answer("tasks.task.list", &json!({"filter": {">DEADLINE": "2030-01-01", "<DEADLINE": "2030-01-16"}}));
    assert!(ahead["total"].as_i64() > Some(15), "{}", ahead["total"]);
}

#[test]
fn a_portal_that_cannot_start_says_why() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let start = |options: SandboxOptions| runtime.block_on(Portal::start(options)).err().map(|error| error.to_string());
    let taken = TestPortal::new();
    let said =
        start(SandboxOptions { listen: taken.portal.address(), ..SandboxOptions::default() }).unwrap_or_default();
    assert!(said.contains("cannot listen at") && said.contains("port 0"), "{said}");
    assert_eq!(
        start(SandboxOptions { user: 9, ..SandboxOptions::default() }),
        Some(StartError::User(9, 8).to_string())
    );
    assert_eq!(
        start(SandboxOptions { token: "a/b".to_owned(), ..SandboxOptions::default() }),
        Some(StartError::Token.to_string())
    );
    assert_eq!(
        start(SandboxOptions { drop_answers: 1.5, ..SandboxOptions::default() }),
        Some(StartError::Chance(1.5).to_string())
    );
}
