//! The client against an independent implementation of OpenAI's API: `@copilotkit/aimock`.
//!
//! npm installs it below the target folder, in the version named here. Without npm the test is skipped with a message.
#![cfg(feature = "openai")]

#[expect(dead_code, reason = "the playbooks of the examples are for other tests")]
mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use obelus_connect::model::openai::{OpenAi, OpenAiOptions, ServerAccess, Timeouts};
use obelus_kernel::session::TurnEnd;
use obelus_runtime::Secret;
use serde_json::{Value, json};

use common::say;

const VERSION: &str = "1.43.0";
const KEY: &str = "test-key-of-the-mock";

/// The server; it is killed on drop.
struct Mock {
    child: Child,
    base: String,
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder of the package, if it can be installed.
fn installed() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("aimock-{VERSION}"));
    let program = folder.join("node_modules/@copilotkit/aimock/dist/cli.js");
    if program.exists() {
        return Some(program);
    }
    std::fs::create_dir_all(&folder).ok()?;
    let package = format!("@copilotkit/aimock@{VERSION}");
    let npm = Command::new("npm")
        .args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(&folder)
        .arg(package)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    (npm.is_ok_and(|status| status.success()) && program.exists()).then_some(program)
}

fn start(fixtures: &Value) -> Option<Mock> {
    let Some(program) = installed() else {
        assert!(std::env::var_os("CI").is_none(), "npm cannot install aimock {VERSION}");
        eprintln!("skipped: npm cannot install aimock {VERSION} here");
        return None;
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("aimock-{}.json", std::process::id()));
    std::fs::write(&file, fixtures.to_string()).unwrap();
    let mut child = Command::new("node")
        .arg(program)
        .args(["--port", "0", "--fixtures"])
        .arg(&file)
        .env("AIMOCK_API_KEYS", KEY)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said =
        lines.by_ref().map_while(Result::ok).find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()));
    let base = format!("{}/v1", said.expect("it says where it listens"));
    // The rest of its output is read, so that it never blocks on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    Some(Mock { child, base })
}

fn fixtures() -> Value {
    let says = |words: &str| json!({"say": words, "calls": [], "output": words}).to_string();
    let error = |status: u16, code: &str| json!({"error": {"message": "said by the mock", "type": "some", "code": code}, "status": status});
    let calls = json!({"say": "Смотрю сделку", "calls": [
        {"_tool": "deal_get", "id": 1, "_outputPath": "†state.deal"},
        {"_tool": "deal_update", "id": 1, "sum": "†state.deal.sum", "_outputPath": "†state.sum"},
    ], "output": "Сумма прежняя"});
    let fixture = |words: &str, response: Value| json!({"match": {"userMessage": words}, "response": response});
    json!({"fixtures": [
        fixture("привет", json!({"content": says("Здравствуйте!")})),
        fixture("сделка", json!({"content": calls.to_string()})),
        fixture("болтай", json!({"content": "Просто слова."})),
        // The request for a repair repeats these words.
        fixture("Просто слова.", json!({"content": "И снова."})),
        fixture("пусто", json!({"content": " "})),
        fixture("запрет", error(403, "no")),
        fixture("квота", error(429, "insufficient_quota")),
        fixture("поломка", error(500, "broken")),
    ]})
}

fn model(mock: &Mock, key: &str, chaos: Option<&str>) -> Arc<OpenAi> {
    let headers = chaos.map(|kind| (format!("x-aimock-chaos-{kind}"), "1".to_owned()));
    let options = OpenAiOptions {
        headers: BTreeMap::from_iter(headers),
        timeouts: Timeouts { first_byte: 20.0, idle: 20.0, total: 30.0 },
        retries: 0,
        ..OpenAiOptions::named("gpt-5-thinking")
    };
    Arc::new(OpenAi::new(options, ServerAccess::new(Some(&mock.base), Some(Secret::new(key)))))
}

#[tokio::test]
async fn an_independent_mock_server_is_understood_and_its_failures_are_handled() {
    let Some(mock) = start(&fixtures()) else { return };
    // The server answers by the last message, so memory must come before the user's message.
    let memory = json!({"type": "data", "kind": "office", "data": {"people": common::people()}});
    let mut live = common::live_with(model(&mock, KEY, None), false, memory).await;

    let reply = say(&live, "привет").await;
    assert_eq!((reply.ends, reply.output), (TurnEnd::Output, json!("Здравствуйте!")));
    assert_eq!(live.written().concat(), "Здравствуйте!", "its stream is read as it comes");
    assert!(live.look(obelus_kernel::session::Session::spent).await.1.tokens > 0, "it says what it took");

    let reply = say(&live, "сделка").await;
    assert_eq!((reply.ends, reply.output), (TurnEnd::Output, json!("Сумма прежняя")));
    assert_eq!(live.state().await["sum"], 5);

    for (words, code) in [
        ("болтай", "out_of_format"),
        ("пусто", "empty"),
        ("запрет", "forbidden"),
        ("квота", "quota"),
        ("поломка", "server_error"),
        ("чего нет", "unknown_model"),
    ] {
        let before = live.state().await;
        let reply = say(&live, words).await;
        assert_eq!((reply.ends, reply.reason.unwrap().code.to_string().as_str()), (TurnEnd::Degraded, code), "{words}");
        assert_eq!(live.state().await, before, "{words}");
        assert_eq!(say(&live, "привет").await.ends, TurnEnd::Output, "the turn after «{words}»");
    }

    let stranger = common::live(model(&mock, "another", None), false).await;
    assert_eq!(say(&stranger, "привет").await.reason.unwrap().code, "unauthorised");
    for (chaos, codes) in [
        ("drop", &["server_error"][..]),
        ("malformed", &["bad_answer", "cut_off"]),
        ("disconnect", &["unreachable", "cut_off"]),
        ("ratelimit", &["rate_limited"]),
    ] {
        let live = common::live(model(&mock, KEY, Some(chaos)), false).await;
        let reply = say(&live, "привет").await;
        let reason = reply.reason.unwrap();
        assert!(
            reply.ends == TurnEnd::Degraded && codes.contains(&reason.code.to_string().as_str()),
            "{chaos}: {reason:?}"
        );
    }
}
