//! Servers that need a login: logins, expiring tokens, and manipulated redirects.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use obelus_connect::mcp::{LogIn, LoginCallback, McpError, McpErrorKind, Servers, VisitFuture};
use obelus_kernel::session::Outcome;
use obelus_runtime::Secret;
use obelus_runtime::masking::without_secrets;
use serde_json::{Value, json};

use crate::peers::{arguments, run, servers, until};

/// The servers and a folder for logins, removed on drop.
struct Doors {
    child: Child,
    here: String,
    folder: PathBuf,
}

impl Drop for Doors {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Doors {
    async fn start(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("doors-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("port");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/doors.py");
        let child = Command::new("python3").arg(script).arg(&file).stdin(Stdio::null()).spawn().unwrap();
        until("the server is there", || file.exists()).await;
        let here = format!("http://127.0.0.1:{}", std::fs::read_to_string(&file).unwrap());
        Self { child, here, folder }
    }

    /// The servers as another process of the same user sees them.
    fn servers(&self, path: &str, auth: Value) -> Servers {
        let section = json!({"door": {"url": format!("{}/{path}", self.here), "auth": auth, "timeout": 20}});
        let servers = servers(section);
        servers.keep_logins(&self.folder, "agent", "agents/agent");
        servers
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.join("tokens")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    async fn seen(&self, path: &str) -> Vec<Value> {
        let text = reqwest::get(format!("{}/seen", self.here)).await.unwrap().bytes().await.unwrap();
        let all: Vec<Value> = serde_json::from_slice(&text).unwrap();
        all.into_iter().filter(|one| one["path"] == path).collect()
    }
}

/// A person who opens the address at once. With `astray`, the redirect has a wrong state.
struct Visitor {
    callback: LoginCallback,
    astray: bool,
}

async fn visitor() -> Visitor {
    Visitor { callback: LoginCallback::open(0, Duration::from_secs(30), |_| {}).await.unwrap(), astray: false }
}

impl LogIn for Visitor {
    fn back(&self) -> String {
        self.callback.back()
    }

    fn visit<'a>(&'a self, address: &'a str, state: &'a str) -> VisitFuture<'a> {
        Box::pin(async move {
            let (landed, visited) = tokio::join!(self.callback.visit(address, state), async {
                // Foreign requests come first and are refused.
                for path in ["/callback?code=mine&state=guess", "/favicon.ico?state=", "/callback"] {
                    let back = self.back().replace("/callback", path);
                    assert_eq!(reqwest::get(back).await.unwrap().status(), 404, "{path}");
                }
                reqwest::get(address).await.unwrap().status()
            });
            assert_eq!(visited, 200, "the person is thanked");
            landed.map(|landed| if self.astray { landed.replace("state=", "state=x") } else { landed })
        })
    }
}

async fn call(servers: &Servers, tool: &str) -> Result<String, McpError> {
    let brought = servers.get("door").unwrap().call(tool, arguments(json!({})), None).await;
    brought.map(|brought| brought.texts.join(" "))
}

async fn log_in(servers: &Servers) -> Result<usize, McpError> {
    servers.get("door").unwrap().log_in(&visitor().await).await
}

#[tokio::test]
async fn the_login_command_is_named_and_its_login_is_valid_in_the_next_process() {
    let doors = Doors::start("login").await;
    for protocol in ["auto", "2025-11-25", "2026-07-28"] {
        let section = json!({"door": {"url": format!("{}/mcp", doors.here), "protocol": protocol}});
        let servers = servers(section);
        servers.keep_logins(&doors.folder, "agent", "agents/agent");
        let error = servers.tools().await.unwrap_err();
        assert_eq!(error.trouble, McpErrorKind::NoAccess);
        assert!(error.words.ends_with("log in with: obelus agents login agents/agent door"), "{error}");
    }
    let waiting = doors.servers("mcp", json!({}));
    assert!(waiting.tools().await.is_err());

    assert_eq!(log_in(&doors.servers("mcp", json!({}))).await.unwrap(), 5);
    let [file] = &doors.files()[..] else { panic!("{:?}", doors.files()) };
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(doors.folder.join("tokens")).unwrap().permissions().mode() & 0o777, 0o700);
    let authorize = &doors.seen("/as/authorize").await[0]["query"];
    assert_eq!(authorize["resource"], format!("{}/mcp", doors.here));
    assert_eq!((&authorize["scope"], &authorize["code_challenge_method"]), (&json!("read"), &json!("S256")));

    assert_eq!(call(&waiting, "echo").await.unwrap(), "echo", "a process that was there before is known too");
    let next = doors.servers("mcp", json!({}));
    let tools = next.tools().await.unwrap();
    let said = run(&next, &tools, "door.header", json!({})).await;
    assert_eq!(said, Outcome::Value(json!("Bearer ***")), "the token is sent, and never shown");
    let kept: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let token = kept["access"].as_str().unwrap();
    assert_eq!(without_secrets(token), "***");
    assert!(!format!("{next:?} {:?}", next.get("door")).contains(token));

    let other = doors.servers("brief", json!({}));
    assert_eq!(other.tools().await.unwrap_err().trouble, McpErrorKind::NoAccess, "a token is for one address");
    let stranger = servers(json!({"door": {"url": format!("{}/mcp", doors.here)}}));
    stranger.keep_logins(&doors.folder, "stranger", "agents/stranger");
    assert_eq!(stranger.tools().await.unwrap_err().trouble, McpErrorKind::NoAccess, "and for one agent");
}

#[tokio::test]
async fn expired_or_refused_tokens_are_renewed_and_a_failed_renewal_needs_a_new_login() {
    let doors = Doors::start("renew").await;
    let brief = doors.servers("brief", json!({}));
    log_in(&brief).await.unwrap();
    assert_eq!(call(&brief, "echo").await.unwrap(), "echo");
    assert!(doors.seen("/as/token").await.iter().any(|asked| asked["form"]["grant_type"] == "refresh_token"));
    assert_eq!(call(&doors.servers("brief", json!({})), "echo").await.unwrap(), "echo", "the new ones are kept");

    let servers = doors.servers("mcp", json!({}));
    log_in(&servers).await.unwrap();
    assert_eq!(call(&servers, "revoke").await.unwrap(), "revoke");
    assert_eq!(call(&servers, "echo").await.unwrap(), "echo", "refused, renewed and done");
    assert_eq!(call(&servers, "forget").await.unwrap(), "forget");
    let error = call(&servers, "echo").await.unwrap_err();
    assert!(error.words.contains("not good any more (127.0.0.1 gave no token: invalid_grant)"), "{error}");
    assert!(!error.trouble.leaves_doubt());
    log_in(&servers).await.unwrap();
    assert_eq!(call(&servers, "echo").await.unwrap(), "echo");
}

#[tokio::test]
async fn missing_rights_are_requested_at_the_next_login() {
    let doors = Doors::start("rights").await;
    let servers = doors.servers("mcp", json!({}));
    log_in(&servers).await.unwrap();
    let error = call(&servers, "write").await.unwrap_err();
    assert_eq!(error.trouble, McpErrorKind::NoAccess);
    assert!(error.words.starts_with("it wants more rights (write); log in with: "), "{error}");
    // In another process, as a person would do it.
    log_in(&doors.servers("mcp", json!({}))).await.unwrap();
    let asked = doors.seen("/as/authorize").await;
    assert_eq!(asked.last().unwrap()["query"]["scope"], "read write");
    assert_eq!(call(&servers, "write").await.unwrap(), "write");
}

#[tokio::test]
async fn an_agent_with_its_own_account_needs_no_login() {
    let doors = Doors::start("robot").await;
    let auth = |secret: &str| json!({"grant": "client_credentials", "client_id": "robot", "client_secret": secret, "scopes": ["read"]});
    Secret::provide("DOORS_ROBOT_SECRET", Secret::new("robot-secret-77"));
    Secret::provide("DOORS_WRONG_SECRET", Secret::new("robot-secret-78"));
    let servers = doors.servers("mcp", auth("$DOORS_ROBOT_SECRET"));
    assert_eq!(call(&servers, "echo").await.unwrap(), "echo");
    assert_eq!(call(&servers, "forget").await.unwrap(), "forget");
    assert_eq!(call(&servers, "write").await.unwrap(), "write", "it takes the rights that are wanted");
    assert!(doors.seen("/as/authorize").await.is_empty() && doors.seen("/as/register").await.is_empty());

    let [file] = &doors.files()[..] else { panic!("{:?}", doors.files()) };
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(kept.contains("access-") && !kept.contains("robot-secret"), "its secret stays where it was");

    let wrong = doors.servers("brief", auth("$DOORS_WRONG_SECRET")).tools().await.unwrap_err();
    assert!(wrong.words.contains("invalid_client (who?\\u{1b}[2J)"), "{wrong}");
    let absent = doors.servers("brief", auth("$DOORS_ABSENT_SECRET")).tools().await.unwrap_err();
    assert!(absent.words.contains("the environment has no `DOORS_ABSENT_SECRET`; set it"), "{absent}");
}

#[tokio::test]
async fn untrusted_metadata_during_a_login_is_refused() {
    let doors = Doors::start("strangers").await;
    for (path, words) in [
        ("plain", "is not an https address: http://as.example.test"),
        ("large", "is too large"),
        ("moved", "there are no metadata at"),
        ("other", "it says that it is another server: https://other.example.test/mcp"),
        ("false", "says that it is"),
        ("open", "does not take a proof"),
    ] {
        let error = log_in(&doors.servers(path, json!({}))).await.unwrap_err();
        assert!(error.words.contains(words), "{path}: {error}");
    }
    assert!(doors.seen("/as/authorize").await.is_empty(), "nobody was sent anywhere");

    let servers = doors.servers("mcp", json!({}));
    let astray = Visitor { astray: true, ..visitor().await };
    let error = servers.get("door").unwrap().log_in(&astray).await.unwrap_err();
    assert!(error.words.contains("not the one that was begun"), "{error}");
    let elsewhere = doors.servers("mcp", json!({"issuer": "https://as.example.test"}));
    let error = log_in(&elsewhere).await.unwrap_err();
    assert!(error.words.contains("not from https://as.example.test"), "{error}");
    assert!(doors.seen("/as/token").await.is_empty() && doors.files().is_empty(), "no code was shown to anybody");

    log_in(&servers).await.unwrap();
    let astray = Visitor { astray: true, ..visitor().await };
    servers.get("door").unwrap().log_in(&astray).await.unwrap_err();
    assert_eq!(call(&servers, "echo").await.unwrap(), "echo", "a login that came to nothing takes nothing away");
}
