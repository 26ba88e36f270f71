//! Servers over HTTP, and their failures.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use obelus_connect::mcp::{McpErrorKind, Servers};
use obelus_kernel::session::Outcome;
use obelus_runtime::Secret;
use serde_json::json;

use crate::peers::{arguments, run, servers, until};

/// A server; it is killed on drop.
struct Web {
    child: Child,
    port: String,
    file: PathBuf,
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Web {
    async fn start(test: &str, port: &str) -> Self {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("web-{test}-{}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/web.py");
        let child = Command::new("python3").arg(script).arg(&file).arg(port).stdin(Stdio::null()).spawn().unwrap();
        until("the server is there", || file.exists()).await;
        let port = std::fs::read_to_string(&file).unwrap();
        Self { child, port, file }
    }

    fn servers(&self) -> Servers {
        Secret::provide("MCP_WEB_TOKEN", Secret::new("web-token-5150"));
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        servers(json!({"web": {"url": url, "headers": {"Authorization": "Bearer $MCP_WEB_TOKEN"}, "timeout": 20}}))
    }
}

async fn call(servers: &Servers, tool: &str) -> Result<String, (McpErrorKind, String)> {
    let brought = servers.get("web").unwrap().call(tool, arguments(json!({})), None).await;
    brought.map(|brought| brought.texts.join(" ")).map_err(|error| (error.trouble, error.to_string()))
}

#[tokio::test]
async fn oversized_or_malformed_answers_fail_only_their_call() {
    let web = Web::start("large", "0").await;
    let servers = web.servers();
    for tool in ["large", "large_event", "endless"] {
        let (trouble, words) = call(&servers, tool).await.unwrap_err();
        assert_eq!(trouble, McpErrorKind::TooLarge, "{tool}: {words}");
        assert_eq!(call(&servers, "echo").await.unwrap(), "echo", "after {tool}");
    }
    for tool in ["html", "moved"] {
        let (trouble, words) = call(&servers, tool).await.unwrap_err();
        assert!(trouble.leaves_doubt(), "{tool}: {words}");
        assert_eq!(call(&servers, "echo").await.unwrap(), "echo", "after {tool}");
    }
    servers.close().await;
}

#[tokio::test]
async fn a_token_is_sent_and_never_shown() {
    let web = Web::start("token", "0").await;
    let servers = web.servers();
    let tools = servers.tools().await.unwrap();
    let said = run(&servers, &tools, "web.header", json!({})).await;
    assert_eq!(said, Outcome::Value(json!("***")), "it was right, or the server would have refused");
    assert!(!format!("{servers:?} {:?}", servers.get("web")).contains("5150"));

    let url = format!("http://127.0.0.1:{}/mcp", web.port);
    for protocol in ["auto", "2025-11-25", "2026-07-28"] {
        let wrong = json!({"url": url, "headers": {"Authorization": "Bearer nope"}, "protocol": protocol});
        let error = crate::peers::servers(json!({ "web": wrong })).tools().await.unwrap_err();
        assert!(error.to_string().contains("see `headers`"), "{protocol}: {error}");
    }
}

#[tokio::test]
async fn an_unreachable_server_did_nothing_and_a_broken_connection_is_in_doubt() {
    let mut web = Web::start("gone", "0").await;
    let servers = web.servers();
    assert_eq!(call(&servers, "echo").await.unwrap(), "echo");
    let (trouble, words) = call(&servers, "gone").await.unwrap_err();
    assert_eq!(trouble, McpErrorKind::Lost, "{words}");
    // Its port accepts connections until the process has ended.
    until("it has ended", || web.child.try_wait().is_ok_and(|ended| ended.is_some())).await;
    let (trouble, words) = call(&servers, "echo").await.unwrap_err();
    assert_eq!(trouble, McpErrorKind::NoStart, "{words}");
    assert!(words.contains("cannot be reached") && words.contains("refused"), "{words}");

    let port = web.port.clone();
    drop(web);
    let _again = Web::start("again", &port).await;
    assert_eq!(call(&servers, "echo").await.unwrap(), "echo", "it is there again");
}
