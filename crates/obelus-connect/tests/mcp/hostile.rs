//! Servers that die, hang, flood, send garbage and change their tools.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_connect::StandardConnector;
use obelus_connect::mcp::{AskedFuture, Elicit, McpErrorKind, Servers};
use obelus_kernel::session::Outcome;
use obelus_runtime::specs::{BoundActivities, ChosenModel, McpSection};
use obelus_runtime::{Connector as _, Elicited, Secret, SessionSpec};
use serde_json::{Value, json};

use crate::peers::{arguments, marked, run, servers, until, zombies};

/// A server that misbehaves by `mode` and writes what happens to a file.
struct Peer {
    servers: Servers,
    file: PathBuf,
    mark: String,
}

impl Peer {
    fn new(mode: &str, test: &str, more: Value) -> Self {
        let mark = format!("mcp-{test}-{}", std::process::id());
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&mark);
        let _ = std::fs::remove_file(&file);
        let mut spec = json!({"command": ["python3", "-u", "peer.py", mode, &file], "env": {"OBELUS_TEST_MARK": mark}, "protocol": "2025-11-25"});
        spec.as_object_mut().unwrap().extend(arguments(more));
        Self { servers: servers(json!({ "peer": spec })), file, mark }
    }

    async fn call(&self, tool: &str) -> Result<String, McpErrorKind> {
        let server = self.servers.get("peer").unwrap();
        let brought = server.call(tool, arguments(json!({})), None).await;
        brought.map(|brought| brought.texts.join(" ")).map_err(|error| error.trouble)
    }

    fn notes(&self) -> Vec<String> {
        std::fs::read_to_string(&self.file).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn count(&self, note: &str) -> usize {
        self.notes().iter().filter(|line| *line == note).count()
    }

    /// Closes the server and waits until its processes are gone.
    async fn is_gone(&self) {
        self.servers.close().await;
        // A killed process may exist for a moment longer.
        until("nothing runs any more", || marked(&self.mark).is_empty()).await;
        until("everything is reaped", || zombies().is_empty()).await;
    }
}

#[tokio::test]
async fn the_error_of_a_server_that_dies_at_start_contains_no_secrets() {
    Secret::provide("MCP_HOSTILE_TOKEN", Secret::new("tok-0815-4711"));
    let mark = json!({"env": {"PEER_TOKEN": "$MCP_HOSTILE_TOKEN", "OBELUS_TEST_MARK": "mcp-dies"}, "protocol": "auto"});
    let peer = Peer::new("dies", "dies", mark);
    let error = peer.servers.tools().await.unwrap_err();
    let words = error.to_string();
    assert_eq!(error.trouble, McpErrorKind::NoStart);
    assert!(words.contains("exit code 3") && words.contains("cannot open the database\\u{1b}[2J with ***"), "{words}");
    assert!(!words.contains("tok-0815"), "{words}");
    assert_eq!(marked("mcp-dies"), [""; 0]);
    peer.is_gone().await;
}

#[tokio::test]
async fn a_missing_secret_and_a_missing_program_are_named() {
    let peer = Peer::new("fine", "no-secret", json!({"env": {"A": "$MCP_HOSTILE_ABSENT"}}));
    let error = peer.servers.tools().await.unwrap_err();
    assert_eq!(
        (error.trouble, error.to_string().contains("`MCP_HOSTILE_ABSENT`; set it")),
        (McpErrorKind::NoSecret, true)
    );
    assert_eq!(peer.notes(), [""; 0], "it is not even started");
    let absent = servers(json!({"peer": {"command": ["no-such-program-here"]}}));
    let error = absent.tools().await.unwrap_err().to_string();
    assert!(error.contains("there is no program `no-such-program-here` in PATH"), "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_or_floods_its_output_is_ended() {
    for mode in ["hangs", "babbles"] {
        let peer = Peer::new(mode, mode, json!({"start": 1}));
        let error = peer.servers.tools().await.unwrap_err();
        assert_eq!(error.trouble, McpErrorKind::NoStart, "{error}");
        assert!(error.to_string().contains("see `start`"), "{error}");
        assert_eq!(marked(&peer.mark), [""; 0]);
        peer.is_gone().await;
    }
}

#[tokio::test]
async fn a_server_that_ignores_its_end_is_killed_with_its_children() {
    let peer = Peer::new("stubborn", "stubborn", json!({}));
    assert_eq!(peer.call("echo").await.unwrap(), "echo None");
    assert!(marked(&peer.mark).len() >= 2);
    peer.is_gone().await;
}

#[tokio::test]
async fn garbage_between_answers_is_skipped() {
    let peer = Peer::new("fine", "garbage", json!({}));
    assert_eq!(peer.call("garbage").await.unwrap(), "after garbage");
    assert_eq!(peer.call("chatty").await.unwrap(), "done");
    assert_eq!(peer.count("start"), 1);
    peer.is_gone().await;
}

#[tokio::test]
async fn an_oversized_answer_fails_only_its_call() {
    let peer = Peer::new("fine", "large", json!({}));
    assert_eq!(peer.call("large").await, Err(McpErrorKind::TooLarge));
    assert_eq!(peer.call("echo").await.unwrap(), "echo None");
    assert_eq!(peer.count("start"), 1, "the line is the same");
    peer.is_gone().await;
}

#[tokio::test]
async fn an_endless_line_ends_the_server_connection() {
    let peer = Peer::new("fine", "endless", json!({}));
    assert_eq!(peer.call("endless").await, Err(McpErrorKind::TooLarge));
    until("it is cut off", || peer.count("start") == 2 || marked(&peer.mark).is_empty()).await;
    assert_eq!(peer.call("echo").await.unwrap(), "echo None");
    assert_eq!(peer.count("start"), 2);
    peer.is_gone().await;
}

#[tokio::test]
async fn a_dead_server_is_restarted_and_the_lost_call_is_not_repeated() {
    let peer = Peer::new("fine", "crash", json!({"tools": {"crash": {"x-effect": "create"}}}));
    let tools = peer.servers.tools().await.unwrap();
    let lost = run(&peer.servers, &tools, "peer.crash", json!({})).await;
    let Outcome::Lost { message } = lost else { panic!("{lost:?}") };
    assert!(message.contains("exit code 7") && message.contains("it all went wrong"), "{message}");
    assert_eq!(peer.count("call crash"), 1);
    let said = run(&peer.servers, &tools, "peer.echo", json!({"a": "again"})).await;
    assert_eq!(said, Outcome::Value(json!("echo again")));
    assert_eq!(peer.count("start"), 2);
    peer.is_gone().await;

    let peer = Peer::new("fine", "crash-read", json!({"tools": {"crash": {"x-effect": "read"}}}));
    let tools = peer.servers.tools().await.unwrap();
    let lost = run(&peer.servers, &tools, "peer.crash", json!({})).await;
    assert!(matches!(&lost, Outcome::Error(error) if error.code == "lost_answer"), "{lost:?}");
    assert_eq!(peer.count("call crash"), 2, "what does no harm is tried once more");
    peer.is_gone().await;
}

#[tokio::test]
async fn a_server_killed_during_a_call_serves_the_next_call() {
    let peer = Peer::new("fine", "killed", json!({}));
    let tools = peer.servers.tools().await.unwrap();
    let kill = async {
        until("the call is at work", || peer.count("call wait") == 1).await;
        let id = marked(&peer.mark)[0].split(' ').next().unwrap().to_owned();
        assert!(std::process::Command::new("kill").args(["-9", &id]).status().unwrap().success());
    };
    let (lost, ()) = tokio::join!(run(&peer.servers, &tools, "peer.wait", json!({})), kill);
    assert!(matches!(&lost, Outcome::Lost { message } if message.contains("signal 9")), "{lost:?}");
    assert_eq!(peer.call("echo").await.unwrap(), "echo None");
    peer.is_gone().await;
}

#[tokio::test]
async fn an_abandoned_call_is_cancelled_and_others_continue() {
    let peer = Peer::new("fine", "cancel", json!({}));
    peer.servers.tools().await.unwrap();
    let waiting = tokio::spawn({
        let server = peer.servers.get("peer").unwrap();
        async move { server.call("wait", arguments(json!({})), None).await }
    });
    until("the call is at work", || peer.count("call wait") == 1).await;
    waiting.abort();
    until("the server knows", || peer.count("cancelled") == 1).await;
    assert_eq!(peer.call("echo").await.unwrap(), "echo None");
    peer.is_gone().await;
}

#[tokio::test]
async fn a_call_over_its_time_limit_is_cancelled_and_in_doubt() {
    let peer = Peer::new("fine", "late", json!({"timeout": 3}));
    let tools = peer.servers.tools().await.unwrap();
    let late = run(&peer.servers, &tools, "peer.wait", json!({})).await;
    assert!(matches!(&late, Outcome::Lost { message } if message.contains("no answer in time")), "{late:?}");
    until("the server knows", || peer.count("cancelled") == 1).await;
    assert_eq!(peer.call("echo").await.unwrap(), "echo None");
    assert_eq!(peer.count("start"), 1, "it is slow, and not dead");
    peer.is_gone().await;
}

#[tokio::test]
async fn a_server_that_hangs_in_a_call_is_restarted_for_the_next() {
    let peer = Peer::new("fine", "sleeps", json!({"timeout": 3}));
    assert_eq!(peer.call("sleep").await, Err(McpErrorKind::Late));
    assert_eq!(peer.call("echo").await.unwrap(), "echo None");
    assert_eq!(peer.count("start"), 2);
    peer.is_gone().await;
}

#[tokio::test]
async fn a_changed_tool_is_not_called_and_reported_once() {
    let peer = Peer::new("fine", "changed", json!({}));
    let tools = peer.servers.tools().await.unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let news = Arc::clone(&told);
    peer.servers.on_change(move |told| news.lock().unwrap().push(told.to_string()));
    let echo = async || run(&peer.servers, &tools, "peer.echo", json!({"a": "x"})).await;
    assert_eq!(echo().await, Outcome::Value(json!("echo x")));

    peer.call("change").await.unwrap();
    for _ in 0..2 {
        let outcome = echo().await;
        let Outcome::Error(error) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.code, "tool_changed");
        assert!(error.message.contains("new: `b`"), "{}", error.message);
    }
    assert_eq!(peer.count("call echo"), 1);
    assert_eq!(told.lock().unwrap().len(), 1, "{told:?}");
    assert!(matches!(run(&peer.servers, &tools, "peer.env", json!({})).await, Outcome::Value(_)), "others are called");

    peer.call("back").await.unwrap();
    assert_eq!(echo().await, Outcome::Value(json!("echo x")));
    peer.call("change").await.unwrap();
    echo().await;
    assert_eq!(told.lock().unwrap().len(), 2, "another change is another piece of news");
    peer.is_gone().await;
}

#[tokio::test]
async fn a_removed_tool_is_reported_as_removed() {
    let peer = Peer::new("fine", "gone", json!({}));
    let pinned = [("peer.gone".to_owned(), json!({"type": "object"}))];
    let gone = run(&peer.servers, &pinned, "peer.gone", json!({})).await;
    assert!(
        matches!(&gone, Outcome::Error(error) if error.code == "tool_changed" && error.message.contains("it is gone"))
    );
    peer.is_gone().await;
}

#[tokio::test]
async fn broken_tools_are_omitted_and_reported_and_the_server_stays() {
    let peer = Peer::new("broken-tools", "broken-tools", json!({}));
    let told = Arc::new(Mutex::new(Vec::new()));
    let tools = peer.servers.tools().await.unwrap();
    assert_eq!(tools.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["peer.good"]);
    let news = Arc::clone(&told);
    peer.servers.on_change(move |told| news.lock().unwrap().push(told.to_string()));
    peer.servers.tools().await.unwrap();
    assert_eq!(told.lock().unwrap().len(), 4, "each once, though nobody listened at first: {told:?}");
    peer.is_gone().await;
}

#[tokio::test]
async fn refused_tools_are_not_called_and_tools_that_are_not_offered_can_be_called() {
    let peer = Peer::new("fine", "refused", json!({"refuse": ["cra*"], "offer": ["e*"]}));
    let tools = peer.servers.tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["peer.echo", "peer.endless", "peer.env"]);
    assert_eq!(peer.call("crash").await, Err(McpErrorKind::Refused));
    assert_eq!(peer.call("chatty").await.unwrap(), "done");
    assert!(!peer.servers.get("peer").unwrap().has_tool("crash").await.unwrap());
    peer.is_gone().await;
}

#[tokio::test]
async fn environment_secrets_are_not_passed_on_and_configured_ones_are_masked() {
    // A test cannot set variables of its own process, so it runs itself in another one.
    if std::env::var_os("MCP_HOSTILE_INHERITED_TOKEN").is_none() {
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["hostile::environment_secrets_are_not_passed_on_and_configured_ones_are_masked", "--exact"])
            .env("MCP_HOSTILE_INHERITED_TOKEN", "inherited-secret-1")
            .env("MCP_HOSTILE_PASSED_TOKEN", "passed-secret-2")
            .env("MCP_HOSTILE_PLAIN", "plain-value-3")
            .output()
            .unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
        return;
    }
    Secret::provide("MCP_HOSTILE_GIVEN", Secret::new("given-secret-99"));
    let env = json!({"GIVEN": "$MCP_HOSTILE_GIVEN", "MCP_HOSTILE_PASSED_TOKEN": true});
    let peer = Peer::new("fine", "env", json!({ "env": env }));
    let tools = peer.servers.tools().await.unwrap();
    let Outcome::Value(Value::String(seen)) = run(&peer.servers, &tools, "peer.env", json!({})).await else {
        panic!("no text")
    };
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["GIVEN"], "***");
    assert_eq!(seen["MCP_HOSTILE_PASSED_TOKEN"], "***");
    assert_eq!(seen["MCP_HOSTILE_PLAIN"], "plain-value-3");
    assert_eq!(seen.get("MCP_HOSTILE_INHERITED_TOKEN"), None);
    peer.servers.close().await;
}

#[tokio::test]
async fn a_server_of_a_new_session_gets_no_secret_of_other_bindings_or_of_the_model() {
    if std::env::var_os("MCP_HOSTILE_PLAIN").is_none() {
        let name = "hostile::a_server_of_a_new_session_gets_no_secret_of_other_bindings_or_of_the_model";
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .envs(["PLAIN", "PROGRAM", "REQUEST", "MODEL"].map(|name| (format!("MCP_HOSTILE_{name}"), "value-1")))
            .output()
            .unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-begin-{}", std::process::id()));
    let script = "env | grep MCP_HOSTILE_ > \"$0\"; exec python3 -u peer.py fine \"$0.log\"";
    let server = json!({"command": ["sh", "-c", script, file], "protocol": "2025-11-25"});
    let bound = arguments(json!({
        "look": {"exec": ["true"], "env": ["MCP_HOSTILE_PROGRAM"]},
        "ask": {"http": {"url": "https://example.test"}, "secrets": ["MCP_HOSTILE_REQUEST"]},
    }));
    let model = json!({"openai": "m", "headers": {"X-Team": "${MCP_HOSTILE_MODEL}"}});
    let mut spec = SessionSpec {
        activities: vec![BoundActivities { folder: folder.clone(), bound }],
        mcp: Some(McpSection {
            servers: arguments(json!({ "peer": server })),
            folder: folder.clone(),
            ..McpSection::default()
        }),
        model: Some(ChosenModel { model, folder }),
        ..SessionSpec::default()
    };
    let connections = StandardConnector::new().begin(&mut spec, None).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "MCP_HOSTILE_PLAIN=value-1\n");
    connections.services.unwrap().close().await;
}

#[tokio::test]
async fn a_long_result_is_cut_with_a_note() {
    let peer = Peer::new("fine", "most", json!({"most": 7}));
    let tools = peer.servers.tools().await.unwrap();
    let said = run(&peer.servers, &tools, "peer.echo", json!({"a": "жжжж"})).await;
    assert_eq!(said, Outcome::Value(json!("echo жж\n[cut here: 2 of 9 characters left out]")));
    peer.is_gone().await;
}

/// Records questions and gives the same answer to each; questions with "Never mind" get none.
#[derive(Default)]
struct Person(Mutex<Vec<String>>);

impl Elicit for Person {
    fn ask(&self, words: String, schema: Value) -> AskedFuture<'_> {
        assert_eq!(schema["required"], json!(["name"]));
        self.0.lock().unwrap().push(words.clone());
        Box::pin(async move {
            if words.contains("Never mind") {
                std::future::pending::<()>().await;
            }
            // Longer than the time limit of the call, which does not count this time.
            tokio::time::sleep(Duration::from_secs(5)).await;
            Elicited::Value(json!({"name": "Ann"}))
        })
    }
}

async fn asks(mode: &str, protocol: &str, tool: &str) {
    let peer = Peer::new(mode, &format!("{tool}-{protocol}-{mode}"), json!({"protocol": protocol, "timeout": 4}));
    let server = peer.servers.get("peer").unwrap();
    let person = Person::default();
    let brought = server.call(tool, arguments(json!({})), Some(&person)).await.unwrap();
    let accepted = json!({"action": "accept", "content": {"name": "Ann"}});
    let said: Value = serde_json::from_str(&brought.texts[0]).unwrap();
    if mode == "modern" {
        assert_eq!(said, json!({"answers": {"who": accepted}, "state": "state-1"}));
        assert_eq!(peer.count("call ask"), 2, "the call is made again with the answer");
    } else {
        assert_eq!(said, accepted);
    }
    assert_eq!(person.0.lock().unwrap().last().unwrap(), "peer: Who are you?");

    let brought = server.call("ask", arguments(json!({})), None).await.unwrap();
    assert!(brought.texts[0].contains("\"action\": \"decline\""), "nobody to ask: {brought:?}");
    let greeted = if mode == "modern" { "discover" } else { "initialize 2025-11-25" };
    assert_eq!(peer.count(greeted), 1, "{:?}", peer.notes());
    peer.is_gone().await;
}

#[tokio::test]
async fn questions_of_both_protocol_versions_reach_a_person_and_stop_the_time_limit() {
    tokio::join!(
        asks("fine", "2025-11-25", "ask"),
        asks("fine", "auto", "asks_twice"),
        asks("modern", "2026-07-28", "ask"),
        asks("modern", "auto", "ask"),
    );
}

#[tokio::test]
async fn a_changed_tool_of_a_stateless_server_is_detected() {
    let peer = Peer::new("modern", "modern-changed", json!({"protocol": "auto"}));
    let tools = peer.servers.tools().await.unwrap();
    peer.call("change").await.unwrap();
    let outcome = run(&peer.servers, &tools, "peer.echo", json!({"a": "x"})).await;
    assert!(matches!(&outcome, Outcome::Error(error) if error.code == "tool_changed"), "{outcome:?}");
    peer.is_gone().await;
}

#[tokio::test]
async fn slow_servers_of_both_protocol_versions_and_a_mute_one_are_detected() {
    let peers = ["slow", "modern-slow", "mute"].map(|mode| Peer::new(mode, mode, json!({"protocol": "auto"})));
    let (slow, modern, mute) = tokio::join!(peers[0].call("echo"), peers[1].call("echo"), peers[2].call("echo"));
    for said in [slow, modern, mute] {
        assert_eq!(said.unwrap(), "echo None");
    }
    for peer in &peers {
        peer.is_gone().await;
    }
}
