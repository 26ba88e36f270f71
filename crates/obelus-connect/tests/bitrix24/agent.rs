//! The tools of the CRM agent, its client, a session and the sandbox portal together: lost answers cause no questions,
//! and every record exists exactly once.

use std::sync::Arc;
use std::time::Duration;

use obelus_connect::bitrix24::{Bitrix24, Options, Webhook};
use obelus_kernel::session::{CallStatus, Mode, Outcome, Settings, TurnEnd};
use obelus_kernel::{Context, Tool};
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::{Activities, Agent, Connections, Elicitor, Host, Reconciled, SessionSpec, Work};
use obelus_sandbox::Portal;
use serde_json::{Map, Value, json};

use super::{activity, run, value, work};

fn tools() -> Map<String, Value> {
    let agent = Agent::load(&AgentCatalogue::default().find("crm").unwrap()).unwrap();
    agent.context.tools().map(|tool| (tool.name.clone(), tool.schema.clone())).collect()
}

/// A call of one of the agent's tools.
fn call(tool: &str, call: Value) -> Work {
    let tool = Tool::parse(tool, &tools()[tool]).unwrap();
    let (key, elicitor, slot) = ("s:1.0".to_owned(), Elicitor::nobody(), Arc::default());
    Work { call: call.into(), tool: Arc::new(tool), scope: Vec::new(), key, attempt: 1, elicitor, slot }
}

async fn office(drop_answers: f64) -> (Portal, Bitrix24) {
    let options =
        obelus_sandbox::SandboxOptions { rate: false, drop_answers, ..obelus_sandbox::SandboxOptions::default() };
    let portal = Portal::start(options).await.unwrap();
    let quick = Options { rate: None, settle: Duration::ZERO, ..Options::default() };
    let client = Bitrix24::new(Webhook::parse(portal.base_url()).unwrap(), quick);
    (portal, client)
}

/// A planned phone call, as an activity of deal 1.
fn phone_call(more: &Value) -> Work {
    let mut fields = json!({
        "SUBJECT": "Позвонить директору", "TYPE_ID": 2, "OWNER_TYPE_ID": 2, "OWNER_ID": 1,
        "START_TIME": "2026-11-20T12:00:00+03:00", "RESPONSIBLE_ID": 3,
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        fields[name] = value.clone();
    }
    call("crm.activity.add", json!({ "fields": fields }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_call_is_planned_with_and_without_a_number() {
    let (_portal, client) = office(0.0).await;
    let number = json!({"COMMUNICATIONS": [{"VALUE": "+7 000 555-00-01", "ENTITY_ID": 1, "ENTITY_TYPE_ID": 3}]});
    for (more, provider) in
        [(json!({}), "CRM_TODO"), (json!({"DESCRIPTION": "О договоре"}), "CRM_TODO"), (number, "CRM_CALL")]
    {
        let id = value(run(&client, phone_call(&more)).await);
        assert!(id.is_u64(), "{more}: {id}");
        let made = value(run(&client, work("crm.activity.get", "read", json!({}), json!({"id": id}))).await);
        for (name, expected) in [
            ("SUBJECT", "Позвонить директору"),
            ("PROVIDER_ID", provider),
            ("OWNER_ID", "1"),
            ("RESPONSIBLE_ID", "3"),
            ("DEADLINE", "2026-11-20T12:00:00+03:00"),
        ] {
            assert_eq!(made[name], expected, "{name} of {more}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planned_phone_call_is_found_by_its_key() {
    let (_portal, client) = office(0.0).await;
    let id = value(run(&client, phone_call(&json!({}))).await);
    let found = activity(&client).reconcile(phone_call(&json!({}))).expect("it can tell").await;
    assert_eq!(found, Reconciled::Happened(Outcome::Value(id)));
    let other = Work { key: "s:2.0".to_owned(), ..phone_call(&json!({})) };
    let found = activity(&client).reconcile(other).expect("it can tell").await;
    assert_eq!(found, Reconciled::DidNot);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_of_funnels_includes_the_main_one() {
    let (_portal, client) = office(0.0).await;
    let funnels = value(run(&client, call("crm.deal.category.list", json!({}))).await);
    let names: Vec<&str> =
        funnels["categories"].as_array().unwrap().iter().map(|funnel| funnel["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Продажи", "Сервис и монтаж"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creations_happen_once_although_answers_are_lost() {
    let (portal, client) = office(0.4).await;
    let deals = (0..8).map(|n| json!({"_tool": "crm.deal.add", "fields": {"TITLE": format!("Сделка-{n}")}}));
    let tasks = (0..8).map(|n| {
        let fields = json!({"TITLE": format!("Задача-{n}"), "RESPONSIBLE_ID": 1, "DESCRIPTION": "Позвонить"});
        json!({"_tool": "tasks.task.add", "fields": fields})
    });
    let updates =
        (1..=4).map(|id| json!({"_tool": "crm.deal.update", "id": id, "fields": {"TITLE": format!("Новое имя {id}")}}));
    let calls = deals.chain(tasks).chain(updates).enumerate().map(|(index, mut call)| {
        call["_outputPath"] = format!("†state.made.n{index}").into();
        call
    });
    let context = json!([{"type": "tool", "tool": tools()}, {"type": "plan", "plan": calls.collect::<Vec<_>>()}]);
    let settings = Settings { mode: Mode::Full, ..Settings::default() };
    let spec = SessionSpec { context: Context::from_value(context).unwrap(), settings, ..SessionSpec::default() };
    let mut activities = Activities::new();
    activities.add("bitrix24", client.clone());
    let host = Host::new(Connections::new(activities));
    let handle = host.create_temporary("s", spec).await.unwrap();
    handle.run_plan().await.unwrap();
    let reply = handle.rested().await.unwrap().unwrap();

    let questions = handle.inspect(obelus_kernel::session::Session::questions).await.unwrap();
    let reasons: Vec<_> = questions.into_iter().map(|question| question.reasons).collect();
    assert_eq!((reply.ends, reasons), (TurnEnd::Output, Vec::new()));
    assert!(reply.calls.iter().all(|call| call.status == CallStatus::Done), "{:?}", reply.calls);
    // More than twenty requests for twenty calls: some answers were lost.
    assert!(portal.requests() > 20, "{}", portal.requests());

    let named = json!({"filter": {"%TITLE": "Сделка-"}, "limit": "all"});
    let rows = value(run(&client, work("crm.deal.list", "read", json!({"list": true}), named)).await);
    let mut titles: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["TITLE"].as_str().unwrap()).collect();
    titles.sort_unstable();
    assert_eq!(titles, (0..8).map(|n| format!("Сделка-{n}")).collect::<Vec<_>>());

    let whole = json!({"select": ["ID", "TITLE", "DESCRIPTION"], "limit": "all"});
    let all = value(run(&client, work("tasks.task.list", "read", json!({"list": "tasks"}), whole)).await);
    let made =
        all["tasks"].as_array().unwrap().iter().filter(|task| task["title"].as_str().unwrap().starts_with("Задача-"));
    let made: Vec<&Value> = made.collect();
    assert_eq!(made.len(), 8);
    assert!(made.iter().all(|task| task["description"] == "Позвонить"), "the key stands where people do not see it");
}
