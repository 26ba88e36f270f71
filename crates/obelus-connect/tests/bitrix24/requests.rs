//! Requests made from calls, and secrets that must not leave them.

use std::path::Path;

use obelus_connect::activity::bind;
use obelus_connect::bitrix24::{Bitrix24, Options, Webhook};
use obelus_kernel::Tool;
use obelus_kernel::session::Outcome;
use serde_json::{Value, json};

use super::portal::{called, refusal, result};
use super::server::{Reply, Server, redirect};
use super::{TOKEN, client, client_with, error, read, run, value, work};

#[tokio::test]
async fn b24_11_a_method_needs_no_code_and_its_parameters_are_sent_unchanged() {
    let server = Server::start(|_, _| result(&json!({"anything": [1]}))).await;
    let call = json!({
        "_tool": "crm.deal.category.stage.list", "id": 5, "flag": true, "none": null, "deep": {"a": [1.5, "б"]},
        "comment": "зачем", "confirmed": true, "_outputPath": "†state.x", "_instance": "ada",
    });
    let wired = json!({"method": "crm.dealcategory.stage.list"});
    let outcome = run(&client(&server), work("crm.deal.category.stage.list", "read", wired, call)).await;
    assert_eq!(value(outcome), json!({"anything": [1]}));
    let asked = &server.asked()[0];
    assert_eq!((asked.method.as_str(), asked.header("content-type")), ("POST", Some("application/json")));
    let called = called(asked);
    assert_eq!(called.method, "crm.dealcategory.stage.list");
    assert_eq!(called.params, json!({"id": 5, "flag": true, "none": null, "deep": {"a": [1.5, "б"]}}));
}

#[tokio::test]
async fn a_reserved_name_is_a_parameter_if_the_tool_declares_it() {
    let server = Server::start(|_, _| result(&json!(1))).await;
    let mut work = read("portal.note", json!({"comment": "hello"}));
    work.tool = Tool::parse("portal.note", &json!({"x-effect": "read", "properties": {"comment": {}}})).unwrap().into();
    run(&client(&server), work).await;
    assert_eq!(called(&server.asked()[0]).params, json!({"comment": "hello"}));
}

#[tokio::test]
async fn http_method_is_honoured() {
    let server = Server::start(|_, _| result(&json!(1))).await;
    let call = json!({"filter": {"%TITLE": "Окна & двери"}, "select": ["ID"], "http_method": "get"});
    assert_eq!(value(run(&client(&server), read("crm.deal.list", call)).await), json!(1));
    let asked = &server.asked()[0];
    assert_eq!((asked.method.as_str(), asked.body.as_str()), ("GET", ""));
    assert_eq!(called(asked).params, json!({"filter": {"%TITLE": "Окна & двери"}, "select": {"0": "ID"}}));
    let refused = error(run(&client(&server), read("crm.deal.list", json!({"http_method": "DELETE"}))).await);
    assert_eq!((refused.code.to_string().as_str(), server.asked().len()), ("bad_http_method", 1));
}

#[tokio::test]
async fn b24_10_errors_of_the_portal_are_passed_on() {
    let server = Server::start(|_, before| match before {
        0 => refusal("400 Bad Request", "", "Not found"),
        1 => refusal("403 Forbidden", "insufficient_scope", "The request requires higher privileges"),
        _ => refusal("403 Forbidden", "WRONG_AUTH_TYPE", "Current authorization type is denied for this method"),
    })
    .await;
    let client = client(&server);
    let missing = error(run(&client, read("crm.deal.get", json!({"id": 5}))).await);
    assert_eq!(missing.code, "not_found");
    assert!(missing.message.starts_with("Not found."), "{}", missing.message);
    let scope = error(run(&client, read("tasks.task.list", json!({}))).await);
    assert_eq!(scope.code, "insufficient_scope");
    assert!(
        scope.message.contains("higher privileges") && scope.message.contains("lacks the right"),
        "{}",
        scope.message
    );
    let events =
        error(run(&client, work("event.bind", "configure", json!({}), json!({"event": "onCrmDealAdd"}))).await);
    assert!(events.message.contains("need an application"), "{}", events.message);
    assert_eq!(server.asked().len(), 3, "a no is not tried again");
}

#[tokio::test]
async fn errors_and_results_do_not_contain_the_webhook_address() {
    // A portal that repeats the address in its answer.
    let echo = |asked: &super::server::Asked, _: usize| result(&json!({"you": format!("asked {}", asked.target)}));
    let server = Server::start(echo).await;
    let told = value(run(&client(&server), read("profile", json!({}))).await);
    assert_eq!(told, json!({"you": "asked /rest/1/***/profile.json"}));

    let target = format!("{}/rest/1/{TOKEN}/elsewhere", server.url);
    let away = Server::start(move |_, _| redirect(&target)).await;
    assert_eq!(error(run(&client(&away), read("profile", json!({}))).await).code, "moved");

    let closed =
        Bitrix24::new(Webhook::parse(&format!("http://127.0.0.1:1/rest/1/{TOKEN}/")).unwrap(), Options::default());
    let unreachable = error(run(&closed, work("crm.deal.add", "create", json!({}), json!({}))).await);
    assert_eq!(unreachable.code, "unreachable", "nothing was sent, so nothing is in doubt");
    assert!(!format!("{closed:?}").contains(TOKEN));

    let broken = Server::start(|_, _| Reply::Raw(String::new())).await;
    let lost = run(&client(&broken), work("crm.deal.add", "create", json!({}), json!({}))).await;
    let Outcome::Lost { message } = lost else { panic!("{lost:?}") };
    assert!(!message.contains(TOKEN), "{message}");
}

#[tokio::test]
async fn b24_4_without_a_portal_the_error_names_the_variable_to_set() {
    let bindings = json!({
        "none": {"bitrix24": {"webhook": "$OBELUS_TEST_UNSET", "language": "ru"}},
        "bad": {"bitrix24": {"webhook": "$PATH", "rate": "off"}, "timeout": 5},
    });
    let activities = bind(bindings.as_object().unwrap(), Path::new(".")).unwrap();
    let unset = error(activities.get("none").unwrap().run(read("user.current", json!({}))).await);
    assert_eq!(unset.code, "no_webhook");
    assert!(unset.message.contains("OBELUS_TEST_UNSET") && unset.message.contains("obelus demo"), "{}", unset.message);
    let bad = error(activities.get("bad").unwrap().run(read("user.current", json!({}))).await);
    assert_eq!(bad.code, "bad_webhook");
    assert!(bad.message.contains("PATH:") && !bad.message.contains("/bin"), "{}", bad.message);
}

#[test]
fn an_invalid_binding_is_reported_with_its_field() {
    for (binding, words) in [
        (json!({"webhook": "https://crm.example.test/rest/1/s3cr3t/"}), "`bitrix24.webhook`: the address is a secret"),
        (json!({}), "`bitrix24.webhook`: it must be the name of a variable"),
        (json!({"webhook": "$X", "rate": {"burst": 0}}), "`bitrix24.rate`: it must be `off`"),
        (json!({"webhook": "$X", "application_token": "a b"}), "`bitrix24.application_token`: the token is a secret"),
        (json!({"webhook": "$X", "language": "de"}), "`bitrix24.language`: it must be en or ru"),
        (json!({"webhook": "$X", "patience": "long"}), "`bitrix24.patience`: it must be a number of seconds"),
        (json!({"webhok": "$X"}), "did you mean `webhook`?"),
    ] {
        let bindings = json!({"bitrix24": {"bitrix24": binding}});
        let error = bind(bindings.as_object().unwrap(), Path::new(".")).err().expect("it is refused").to_string();
        assert!(error.contains(words) && !error.contains("s3cr3t"), "{error}");
    }
}

#[tokio::test]
async fn b24_8_concurrent_reads_are_sent_as_one_batch() {
    let server = Server::start(|asked, _| {
        let called = called(asked);
        let Some(commands) = called.params["cmd"].as_object() else { return result(&json!("alone")) };
        let mut results = json!({});
        let mut errors = json!([]);
        for (name, command) in commands {
            match command.as_str().unwrap() {
                "crm.deal.get?id=2" => errors = json!({name: {"error": "", "error_description": "Not found"}}),
                other => results[name] = json!(other),
            }
        }
        result(&json!({"result": results, "result_error": errors, "result_total": [], "result_next": []}))
    })
    .await;
    let client = client(&server);
    let one = |id: i32| run(&client, read("crm.deal.get", json!({"id": id})));
    let (first, second, third) = tokio::join!(one(1), one(2), one(3));
    assert_eq!((value(first), value(third)), (json!("crm.deal.get?id=1"), json!("crm.deal.get?id=3")));
    assert_eq!(error(second).code, "not_found", "the error of one part is its own");
    assert_eq!(server.asked().len(), 1);
    assert_eq!(called(&server.asked()[0]).method, "batch");
    assert_eq!(value(one(4).await), json!("alone"));
    assert_eq!(called(&server.asked()[1]).method, "crm.deal.get", "one read alone is no batch");
}

#[tokio::test]
async fn more_reads_than_a_batch_holds_are_sent_as_several_batches() {
    let server = Server::start(|asked, _| {
        let commands = called(asked).params["cmd"].as_object().cloned().unwrap_or_default();
        let results: Value = commands.into_iter().collect();
        result(&json!({"result": results, "result_error": []}))
    })
    .await;
    let client = client(&server);
    let calls = (0..70).map(|id| {
        let (client, work) = (client.clone(), read("crm.deal.get", json!({"id": id})));
        tokio::spawn(async move { value(run(&client, work).await) })
    });
    for (id, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), json!(format!("crm.deal.get?id={id}")));
    }
    let sizes: Vec<usize> =
        server.asked().iter().map(|asked| called(asked).params["cmd"].as_object().unwrap().len()).collect();
    assert!(sizes.iter().all(|size| *size <= 50) && sizes.iter().sum::<usize>() == 70, "{sizes:?}");
}

#[tokio::test]
async fn writes_go_one_by_one() {
    let server = Server::start(|_, _| result(&json!(true))).await;
    let client = client(&server);
    let write = |id: i32| run(&client, work("crm.deal.update", "update", json!({}), json!({"id": id})));
    let _ = tokio::join!(write(1), write(2), write(3));
    let methods: Vec<String> = server.asked().iter().map(|asked| called(asked).method).collect();
    assert_eq!(methods, ["crm.deal.update"; 3]);
}

#[tokio::test]
async fn batch_result_references_are_refused_in_writes_and_not_batched_in_reads() {
    let server = Server::start(|_, _| result(&json!(1))).await;
    let client = client(&server);
    let call = json!({"fields": {"CONTACT_ID": "$result[contact][0][ID]"}});
    let refused = error(run(&client, work("crm.deal.add", "create", json!({}), call)).await);
    assert_eq!((refused.code.to_string().as_str(), server.asked().len()), ("unresolved_reference", 0));
    let look = |title: &'static str| run(&client, read("crm.deal.list", json!({"filter": {"TITLE": title}})));
    let _ = tokio::join!(look("$result[r0][0][TITLE]"), look("$result[r1]"));
    let methods: Vec<String> = server.asked().iter().map(|asked| called(asked).method).collect();
    assert_eq!(methods, ["crm.deal.list"; 2]);
}

#[tokio::test]
async fn an_ambiguous_parameter_name_is_refused() {
    let server = Server::start(|_, _| result(&json!(true))).await;
    for (fields, name) in [
        (json!({"id": 1, "fields": {"TITLE": "x", "OPPORTUNITY]": 7}}), "OPPORTUNITY]"),
        (json!({"id": 1, "fields[OPPORTUNITY]": 7}), "fields[OPPORTUNITY]"),
        (json!({"id": 1, " fields": {"OPPORTUNITY": 7}}), " fields"),
        (json!({"id": 1, "fields": {"PHONE": [{"VA\u{0}LUE": 7}]}}), "VA\u{0}LUE"),
    ] {
        for verb in ["GET", "POST"] {
            let mut call = fields.clone();
            call["http_method"] = verb.into();
            let refused = error(run(&client(&server), work("crm.deal.update", "update", json!({}), call)).await);
            assert_eq!((refused.code.to_string().as_str(), server.asked().len()), ("bad_name", 0));
            assert!(refused.message.contains(&format!("`{name}`")), "{}", refused.message);
        }
    }
}

#[tokio::test]
async fn an_invalid_tool_is_reported_and_nothing_is_sent() {
    let server = Server::start(|_, _| result(&json!(1))).await;
    let client = client_with(&server, Options { rate: None, ..Options::default() });
    let unknown = error(run(&client, work("t", "read", json!({"lst": true}), json!({}))).await);
    assert_eq!(unknown.code, "bad_tool");
    let name = error(run(&client, work("t", "read", json!({"method": "../admin"}), json!({}))).await);
    assert_eq!((name.code.to_string().as_str(), server.asked().len()), ("bad_method", 0));
}
