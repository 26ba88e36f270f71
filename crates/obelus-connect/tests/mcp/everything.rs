//! `@modelcontextprotocol/server-everything`, which has all features of servers of the older era.

use std::path::PathBuf;

use obelus_connect::mcp::{AskedFuture, Elicit, Servers};
use obelus_kernel::session::Outcome;
use obelus_runtime::Elicited;
use serde_json::{Value, json};

use crate::peers::{arguments, marked, npm, run, servers, until, zombies};

const PACKAGE: &str = "@modelcontextprotocol/server-everything@2026.8.31";

fn program() -> Option<PathBuf> {
    npm(&[PACKAGE], "@modelcontextprotocol/server-everything/dist/index.js")
}

/// The server over stdio. `mark` identifies its processes.
fn stdio(mark: &str, more: Value) -> Option<Servers> {
    let mut spec = json!({"command": ["node", program()?, "stdio"], "env": {"OBELUS_TEST_MARK": mark}});
    spec.as_object_mut().unwrap().extend(arguments(more));
    Some(servers(json!({ "all": spec })))
}

/// Gives the same answer to every question.
struct Says(Elicited);

impl Elicit for Says {
    fn ask(&self, words: String, schema: Value) -> AskedFuture<'_> {
        assert!(words.starts_with("all: "), "{words}");
        assert_eq!(schema["type"], "object");
        Box::pin(std::future::ready(self.0.clone()))
    }
}

/// Checks the features that both transports have.
async fn does_everything(servers: &Servers) {
    let tools = servers.tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"all.echo") && names.contains(&"all.get-sum"), "{names:?}");

    let said = run(servers, &tools, "all.echo", json!({"message": "привет"})).await;
    assert_eq!(said, Outcome::Value(json!("Echo: привет")));
    let Outcome::Value(Value::String(sum)) = run(servers, &tools, "all.get-sum", json!({"a": 2, "b": 40})).await else {
        panic!("no sum")
    };
    assert!(sum.contains("42"), "{sum}");
    let place = json!({"location": "Chicago"});
    let Outcome::Value(weather) = run(servers, &tools, "all.get-structured-content", place).await else {
        panic!("no weather")
    };
    assert!(weather["temperature"].is_number(), "{weather}");

    let Outcome::Value(image) = run(servers, &tools, "all.get-tiny-image", json!({})).await else { panic!("no image") };
    let path = image["images"][0]["image"].as_str().unwrap();
    assert!(std::fs::read(path).unwrap().starts_with(b"\x89PNG"), "{image}");
    assert!(image["result"]["texts"].is_array(), "{image}");

    let bad = run(servers, &tools, "all.get-sum", json!({"a": "x", "b": 1})).await;
    assert!(matches!(&bad, Outcome::Error(error) if error.code == "tool"), "{bad:?}");

    let server = servers.get("all").unwrap();
    assert!(server.has_tool("echo").await.unwrap() && !server.has_tool("nothing").await.unwrap());
    let long = server.call("trigger-long-running-operation", arguments(json!({"duration": 1, "steps": 2})), None);
    assert!(long.await.unwrap().texts[0].contains("completed"));
}

/// Questions of the server reach the elicitor of the call.
async fn asks(servers: &Servers) {
    servers.tools().await.unwrap();
    let server = servers.get("all").unwrap();
    let ask = async |told: Option<Elicited>| {
        let elicitor = told.map(Says);
        let elicitor = elicitor.as_ref().map(|elicitor| elicitor as &dyn Elicit);
        server.call("trigger-elicitation-request", arguments(json!({})), elicitor).await.unwrap().texts.join(" ")
    };
    let said = ask(Some(Elicited::Value(json!({"name": "Ann", "check": true})))).await;
    assert!(said.contains("Ann"), "{said}");
    let said = ask(Some(Elicited::Declined("no".to_owned()))).await;
    assert!(said.contains("declined"), "{said}");
    let said = ask(Some(Elicited::Gone)).await;
    assert!(said.contains("cancelled"), "{said}");
    let said = ask(None).await;
    assert!(said.contains("declined"), "{said}");
}

#[tokio::test]
async fn everything_works_over_stdio_and_leaves_no_processes() {
    let Some(servers) = stdio("everything-stdio", json!({})) else { return };
    does_everything(&servers).await;
    asks(&servers).await;
    assert!(!marked("everything-stdio").is_empty());
    servers.close().await;
    assert_eq!(marked("everything-stdio"), [""; 0]);
    let error = servers.get("all").unwrap().call("echo", arguments(json!({})), None).await.unwrap_err();
    assert_eq!(error.trouble.code(), "mcp_closed");
}

#[tokio::test]
async fn a_dropped_server_ends() {
    let Some(servers) = stdio("everything-dropped", json!({})) else { return };
    servers.tools().await.unwrap();
    drop(servers);
    until("the server ends", || marked("everything-dropped").is_empty()).await;
    until("it is reaped", || zombies().is_empty()).await;
}

/// The server over HTTP; it is killed on drop.
struct Web(std::process::Child);

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn web(program: &PathBuf, port: u16) -> Web {
    let mut command = std::process::Command::new("node");
    command.arg(program).arg("streamableHttp").env("PORT", port.to_string());
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let web = Web(command.spawn().unwrap());
    until("the server listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    web
}

#[tokio::test]
async fn everything_works_over_http_and_after_a_restart_of_the_server() {
    let Some(program) = program() else { return };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = web(&program, port).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    for protocol in ["auto", "2025-11-25"] {
        let servers = servers(json!({"all": {"url": url, "protocol": protocol}}));
        does_everything(&servers).await;
        asks(&servers).await;
        servers.close().await;
    }

    let servers = servers(json!({"all": {"url": url}}));
    let tools = servers.tools().await.unwrap();
    drop(server);
    let _again = web(&program, port).await;
    let said = run(&servers, &tools, "all.echo", json!({"message": "1"})).await;
    assert_eq!(said, Outcome::Value(json!("Echo: 1")), "the new server knows nothing of the session");
}
