//! The process is killed between two actions and within one: the same command continues, observes the page before it
//! acts, and repeats nothing.

use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::canaries::nothing_is_kept_of_pages;
use crate::harness::Harness;
use crate::site::Asked;
use crate::support::wait_for;
use crate::tasks::{all_goods, id};

/// Starts a command without reading its output.
fn start(harness: &Harness, args: &[String]) -> Child {
    let mut command = harness.obelus(&args.iter().map(String::as_str).collect::<Vec<_>>());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

fn kill(mut child: Child) {
    child.kill().expect("our child");
    child.wait().expect("our child");
}

/// Signals the first request of this kind to the site.
fn when_asked(harness: &Harness, method: &'static str, path: &'static str) -> mpsc::Receiver<()> {
    let (tell, told) = mpsc::channel();
    let mut tell = Some(tell);
    harness.site.watch(move |asked: &Asked| {
        if asked.method == method
            && asked.path == path
            && let Some(tell) = tell.take()
        {
            // The answer is delayed, so that the test can kill the process first.
            let _ = tell.send(());
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    told
}

#[test]
fn an_operator_killed_between_actions_observes_first_and_completes_the_task() {
    let Some(harness) = Harness::open("kill", include_str!("playbooks/collect.yaml")) else { return };
    let words = format!("Собери чайники со всех страниц {}", harness.site.url("/goods"));
    // First within an action: the second page has been requested.
    let told = when_asked(&harness, "GET", "/goods?page=2");
    let child = start(&harness, &harness.saying(&words));
    told.recv_timeout(Duration::from_secs(100)).expect("it comes to the second page");
    kill(child);
    // Then between two actions: the goods of the first page are in the state, so the action is over.
    let child = start(&harness, &harness.saying(&words));
    wait_for("the first page is known", || {
        let state = harness.folder.path("store/states/s.json");
        std::fs::read_to_string(state).is_ok_and(|text| text.contains("Гамма стоит"))
    });
    kill(child);
    let before = harness.site.shelf().asked.len();
    let calls_before = calls(&harness).len();
    let ran = harness.says(&words).exits(0);
    assert_eq!(ran.json()["end"], "done");
    assert_eq!(harness.facts(), all_goods());
    assert_eq!(harness.site.changes(), Vec::<String>::new());
    // The open page is opened again and observed before anything is pressed.
    let after: Vec<String> = harness.site.shelf().asked[before..].iter().map(|asked| asked.path.clone()).collect();
    let first = after.iter().find(|path| path.starts_with("/goods")).expect("a page is opened");
    assert!(["/goods", "/goods?page=2"].contains(&first.as_str()), "{after:?}");
    let since = calls(&harness).split_off(calls_before);
    let acted = since.iter().position(|tool| ["look", "press"].contains(&tool.as_str()));
    let looked = since.iter().position(|tool| tool == "observe").expect("it observes");
    assert!(acted.is_none_or(|acted| looked < acted), "{since:?}");
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn an_operator_killed_during_a_deletion_asks_whether_it_happened() {
    let Some(harness) = Harness::open("kill-delete", include_str!("playbooks/basket.yaml")) else { return };
    let words = format!("Удалить Кресло из корзины {}", harness.site.url("/items"));
    harness.says(&words).exits(3);
    let told = when_asked(&harness, "POST", "/items/4/delete");
    let approve = ["answer", &format!("s:{}", id(&harness.question())), "approve"].map(str::to_owned);
    let child = start(&harness, &approve);
    told.recv_timeout(Duration::from_secs(100)).expect("it deletes");
    kill(child);
    harness.says(&words).exits(3);
    let question = harness.question();
    assert_eq!(question["about"], "in_doubt", "{question}");
    let ran = harness.answers(&id(&question), &["happened", "--json"]).exits(0);
    assert_eq!(ran.json()["end"], "done", "{}", ran.stdout);
    assert_eq!(harness.site.changes(), ["POST /items/4/delete"]);
    nothing_is_kept_of_pages(&harness);
}

/// The called tools, from the log of iterations.
fn calls(harness: &Harness) -> Vec<String> {
    let log = std::fs::read_to_string(harness.folder.path("store/logs/s.jsonl")).expect("the log");
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let methods = lines.flat_map(|line| line["requests"].as_array().cloned().unwrap_or_default());
    methods.filter_map(|request| request["method"].as_str().map(str::to_owned)).collect()
}
