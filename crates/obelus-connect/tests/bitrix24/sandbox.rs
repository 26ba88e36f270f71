//! The client against the sandbox portal: long lists, rate limits, and lost answers.
//!
//! Figures are printed but not asserted: `cargo test -p obelus-connect --test bitrix24 sandbox -- --nocapture`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use obelus_connect::bitrix24::{Bitrix24, Options, Webhook};
use obelus_kernel::session::Outcome;
use obelus_runtime::{Activity, Reconciled, Work};
use obelus_sandbox::Portal;
use serde_json::{Value, json};

use super::{run, value, work};

fn client(portal: &Portal, options: Options) -> Bitrix24 {
    Bitrix24::new(Webhook::parse(portal.base_url()).unwrap(), options)
}

fn deals(call: Value) -> Work {
    work("crm.deal.list", "read", json!({"list": true}), call)
}

fn ids(rows: &Value) -> Vec<u64> {
    rows.as_array().unwrap().iter().map(|row| row["ID"].as_str().unwrap().parse().unwrap()).collect()
}

/// A portal with its own threads, so that the client's CPU time can be measured.
fn portal_apart(options: obelus_sandbox::SandboxOptions) -> (tokio::runtime::Runtime, Portal) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let portal = runtime.block_on(Portal::start(options)).unwrap();
    (runtime, portal)
}

#[test]
fn ten_thousand_deals_are_listed_in_few_requests_without_duplicates() {
    let options =
        obelus_sandbox::SandboxOptions { deals: 10_000, rate: false, ..obelus_sandbox::SandboxOptions::default() };
    let (_there, portal) = portal_apart(options);
    // Everything of the client runs on this thread.
    let here = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = client(&portal, Options::default());
    for (what, call) in
        [("ID and title", json!({"select": ["ID", "TITLE"], "limit": "all"})), ("all fields", json!({"limit": "all"}))]
    {
        let (before, began, work) = (portal.requests(), Instant::now(), ThreadTime::now());
        let rows = value(here.block_on(run(&client, deals(call))));
        let (took, own, requests) = (began.elapsed(), work.elapsed(), portal.requests() - before);
        eprintln!("10,000 deals, {what}: {requests} requests, {took:.1?}, of which the client worked {own:.1?}");
        let mut found = ids(&rows);
        assert!(found.is_sorted());
        found.dedup();
        assert_eq!((found.len(), rows.as_array().unwrap().len()), (10_000, 10_000), "{what}");
        // 200 pages, 25 per request, plus the first request and the one that finds the end.
        assert!(requests <= 11, "{requests}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_beyond_the_burst_wait_and_are_not_refused() {
    const CALLS: u32 = 60;
    let portal =
        Portal::start(obelus_sandbox::SandboxOptions { rate: true, ..obelus_sandbox::SandboxOptions::default() })
            .await
            .unwrap();
    let client = client(&portal, Options::default());
    let began = Instant::now();
    let calls = (0..CALLS).map(|number| {
        let client = client.clone();
        let call = work("crm.deal.add", "create", json!({}), json!({"fields": {"TITLE": format!("Сделка {number}")}}));
        tokio::spawn(async move { run(&client, call).await })
    });
    for call in calls.collect::<Vec<_>>() {
        assert!(value(call.await.unwrap()).is_u64());
    }
    let (took, least) = (began.elapsed().as_secs_f64(), f64::from(CALLS - 50) / 2.0);
    let refused = portal.requests() - u64::from(CALLS);
    eprintln!(
        "{CALLS} creations against 50 at once and 2 a second: {refused} refused, {took:.1} s; the least is {least:.1} s"
    );
}

/// For the client, two names of one host are two portals, as for two programs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_programs_on_one_portal_complete_all_requests_despite_refusals() {
    const CALLS: u32 = 30;
    let portal =
        Portal::start(obelus_sandbox::SandboxOptions { rate: true, ..obelus_sandbox::SandboxOptions::default() })
            .await
            .unwrap();
    let other = portal.base_url().replace("127.0.0.1", "localhost");
    let programs =
        [portal.base_url(), &other].map(|url| Bitrix24::new(Webhook::parse(url).unwrap(), Options::default()));
    let began = Instant::now();
    let calls: Vec<_> = (0..CALLS * 2)
        .map(|number| {
            let client = programs[number as usize % 2].clone();
            let fields = json!({"fields": {"TITLE": format!("Общая {number}")}});
            tokio::spawn(async move { run(&client, work("crm.deal.add", "create", json!({}), fields)).await })
        })
        .collect();
    for call in calls {
        assert!(value(call.await.unwrap()).is_u64());
    }
    let refused = portal.requests() - u64::from(CALLS * 2);
    eprintln!(
        "2 programs, {CALLS} creations each: {refused} refused and sent again, {:.1} s",
        began.elapsed().as_secs_f64()
    );
    let call = json!({"filter": {"%TITLE": "Общая"}, "select": ["ID"], "limit": "all"});
    let rows = value(run(&programs[0], deals(call)).await);
    assert_eq!(ids(&rows).len(), CALLS as usize * 2, "each once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_many_sessions_share_batches() {
    const READS: i32 = 400;
    let portal =
        Portal::start(obelus_sandbox::SandboxOptions { rate: true, ..obelus_sandbox::SandboxOptions::default() })
            .await
            .unwrap();
    let client = client(&portal, Options::default());
    let began = Instant::now();
    let calls = (0..READS).map(|number| {
        let client = client.clone();
        let call = work("crm.deal.get", "read", json!({}), json!({"id": number % 150 + 1}));
        tokio::spawn(async move { run(&client, call).await })
    });
    for (number, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(value(call.await.unwrap())["ID"], json!((number % 150 + 1).to_string()));
    }
    let requests = portal.requests();
    eprintln!("{READS} reads at once: {requests} requests, {:.2} s", began.elapsed().as_secs_f64());
    assert!(requests < 100, "{requests}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_are_created_exactly_once_although_answers_are_lost() {
    const DEALS: u32 = 40;
    let options =
        obelus_sandbox::SandboxOptions { rate: false, drop_answers: 0.3, ..obelus_sandbox::SandboxOptions::default() };
    let portal = Portal::start(options).await.unwrap();
    let quick = Options { rate: None, settle: Duration::ZERO, ..Options::default() };
    let client = client(&portal, quick);
    let planted = json!({
        "plant": {"fields.ORIGINATOR_ID": "obelus", "fields.ORIGIN_ID": "{key}"},
        "find": {"method": "crm.deal.list", "params": {
            "filter": {"ORIGINATOR_ID": "obelus", "ORIGIN_ID": "{key}"}, "select": ["ID"],
        }},
    });
    let mut ids_told = BTreeMap::new();
    let mut lost = 0;
    for number in 0..DEALS {
        let title = format!("Потерянная {number}");
        let call = Work {
            key: format!("s:{number}.0"),
            ..work("crm.deal.add", "create", planted.clone(), json!({"fields": {"TITLE": title}}))
        };
        // As a driver does: reconciles a lost answer and repeats only what did not happen.
        let id = loop {
            let outcome = match run(&client, call.clone()).await {
                Outcome::Lost { .. } => {
                    lost += 1;
                    match client.reconcile(call.clone()).unwrap().await {
                        Reconciled::Happened(outcome) => outcome,
                        Reconciled::DidNot => continue,
                        Reconciled::Unknown(words) => panic!("{words}"),
                    }
                }
                outcome => outcome,
            };
            break value(outcome).as_u64().unwrap();
        };
        ids_told.insert(title, id);
    }
    assert!(lost > 0, "no answer was lost");
    let call = json!({"filter": {"%TITLE": "Потерянная"}, "select": ["ID", "TITLE"], "limit": "all"});
    let rows = value(run(&client, deals(call)).await);
    let there =
        rows.as_array().unwrap().iter().map(|row| {
            (row["TITLE"].as_str().unwrap().to_owned(), row["ID"].as_str().unwrap().parse::<u64>().unwrap())
        });
    let there: Vec<(String, u64)> = there.collect();
    eprintln!("{DEALS} creations, {lost} answers lost: {} deals", there.len());
    assert_eq!(there.len(), DEALS as usize);
    assert_eq!(there.into_iter().collect::<BTreeMap<_, _>>(), ids_told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_keep_their_format_and_are_listed_completely() {
    let portal =
        Portal::start(obelus_sandbox::SandboxOptions { rate: false, ..obelus_sandbox::SandboxOptions::default() })
            .await
            .unwrap();
    let client = client(&portal, Options { rate: None, ..Options::default() });
    for number in 0..70 {
        let fields = json!({"fields": {"TITLE": format!("Задача {number}"), "RESPONSIBLE_ID": 1}});
        let made = value(run(&client, work("tasks.task.add", "create", json!({}), fields)).await);
        assert!(made["task"]["id"].is_string() || made["task"]["id"].is_number(), "{made}");
    }
    let listed = json!({"list": {"rows": "tasks", "id": "id"}});
    let call = json!({"filter": {"RESPONSIBLE_ID": 1}, "select": ["ID", "TITLE"], "limit": "all"});
    let all = value(run(&client, work("tasks.task.list", "read", listed.clone(), call)).await);
    let rows = all["tasks"].as_array().unwrap();
    assert!(rows.len() >= 70 && all.get("_more").is_none(), "{} tasks", rows.len());
    let page =
        value(run(&client, work("tasks.task.list", "read", listed, json!({"filter": {"RESPONSIBLE_ID": 1}}))).await);
    assert_eq!((page["tasks"].as_array().unwrap().len(), &page["_more"]["total"]), (50, &json!(rows.len())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_method_over_its_time_limit_is_reported_with_the_reset_time() {
    let options =
        obelus_sandbox::SandboxOptions { operating_cost: Some(300.0), ..obelus_sandbox::SandboxOptions::default() };
    let portal = Portal::start(options).await.unwrap();
    let client = client(&portal, Options::default());
    let list = || run(&client, deals(json!({"select": ["ID"]})));
    value(list().await);
    value(list().await);
    let late = super::error(list().await);
    assert_eq!(late.code, "OPERATION_TIME_LIMIT");
    assert!(
        late.message.contains("it takes them again at 2") && late.message.contains("(in 10 min)"),
        "{}",
        late.message
    );
    let requests = portal.requests();
    assert_eq!(super::error(list().await).code, "OPERATION_TIME_LIMIT");
    assert_eq!(portal.requests(), requests, "what is known is not asked");
    value(run(&client, work("user.current", "read", json!({}), json!({}))).await);
}

/// Runs this test binary again with the certificate in the environment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_self_signed_portal_is_trusted_if_the_environment_allows_it() {
    let portal =
        Portal::start(obelus_sandbox::SandboxOptions { tls: true, ..obelus_sandbox::SandboxOptions::default() })
            .await
            .unwrap();
    let folder = std::env::temp_dir().join(format!("obelus-bitrix24-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let certificate = portal.write_certificate(&folder).unwrap().unwrap();
    let mut says = Vec::new();
    for trusted in [true, false] {
        let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
        command.args(["sandbox::calls_the_portal_in_the_environment", "--exact", "--ignored", "--nocapture"]);
        command.env("OBELUS_TEST_PORTAL", portal.base_url()).env_remove("SSL_CERT_DIR");
        if trusted {
            command.env("SSL_CERT_FILE", &certificate);
        }
        let ran = command.output().await.unwrap();
        says.push(String::from_utf8_lossy(&ran.stderr).into_owned());
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(says[0].contains("answered: Value"), "{}", says[0]);
    assert!(says[1].contains("code: Unreachable") && !says[1].contains(obelus_sandbox::DEFAULT_TOKEN), "{}", says[1]);
}

#[tokio::test]
#[ignore = "the test above runs it"]
async fn calls_the_portal_in_the_environment() {
    let binding = json!({"b": {"bitrix24": {"webhook": "$OBELUS_TEST_PORTAL"}}});
    let activities = obelus_connect::activity::bind(binding.as_object().unwrap(), std::path::Path::new(".")).unwrap();
    let call = work("user.current", "read", json!({}), json!({}));
    eprintln!("answered: {:?}", activities.get("b").unwrap().run(call).await);
}
