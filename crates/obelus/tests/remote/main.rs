//! Commands on the sessions of a server, a store that a server holds, and events from a portal to a server.

mod alike;
mod ended;
mod words;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// An agent whose tool `change` needs a person.
const AGENT: &str = concat!(
    include_str!("../fixtures/desk.yaml"),
    "    properties: {id: {type: integer}, sum: {type: integer}}
activities:
  change: {jq: '{title: \"Windows\"}'}
"
);

const PLAYBOOK: &str = "- user: '^set (?<id>\\d+)'
  answer:
    say: May I?
    calls: [{_tool: change, id: '{{ m.id | int }}', sum: 5, _outputPath: †state.changed}]
    output: The amount is set.
- user: '.*'
  output: 'You said: {{ user }}'
";

/// A server with an agent and a store.
struct Office {
    folder: PathBuf,
    server: Child,
    url: String,
}

impl Office {
    fn open(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-remote-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("agents/desk")).unwrap();
        fs::write(folder.join("agents/desk/agent.yaml"), AGENT).unwrap();
        fs::write(folder.join("agents/desk/p.yaml"), PLAYBOOK).unwrap();
        let (server, url) = Self::serve(&folder);
        Self { folder, server, url }
    }

    /// Starts a server over the store, at any free port.
    fn serve(folder: &Path) -> (Child, String) {
        let text = |name: &str| folder.join(name).display().to_string();
        let mut server = Command::new(env!("CARGO_BIN_EXE_obelus"))
            .args(["serve", "--listen", "127.0.0.1:0", "--agents", &text("agents"), "--store", &text("store")])
            .env("LANG", "C")
            .env("BITRIX_APPLICATION_TOKEN", "agreed-with-the-portal")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://"), "{url}");
        (server, url.trim().to_owned())
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Runs a command, with lines for its stdin.
    fn run(&self, args: &[&str], lines: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_obelus"));
        command.args(args).env("LANG", "C").env_remove("OBELUS_TOKEN").env_remove("OBELUS_HOME");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// The same with `--server`; asserts the exit code and returns the output.
    #[track_caller]
    fn remote(&self, args: &[&str], lines: &str, code: i32) -> String {
        let token = self.path("store/token");
        self.expect(&[args, &["--server", &self.url, "--token-file", &token]].concat(), lines, code)
    }

    #[track_caller]
    fn expect(&self, args: &[&str], lines: &str, code: i32) -> String {
        let ran = self.run(args, lines);
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert_eq!(ran.status.code(), Some(code), "{args:?}\n{out}\n{err}");
        format!("{out}{err}")
    }

    /// Sends a raw request; returns the status and the body.
    fn http(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn the_token_for_a_server_of_this_machine_goes_to_no_proxy() {
    let office = Office::open("proxy");
    let mut command = Command::new(env!("CARGO_BIN_EXE_obelus"));
    command.args(["sessions", "list", "--server", &office.url, "--token-file", &office.path("store/token")]);
    // Nothing listens at this proxy.
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    let ran = command.env("LANG", "C").env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_conversation_on_a_server_waits_for_a_question_that_is_answered_once_elsewhere() {
    let office = Office::open("talk");
    let said = office.remote(&["chat", "--agent", "desk", "--session", "s"], "good morning\nset 1\n", 3);
    assert!(said.contains("You said: good morning") && said.contains("Change a deal"), "{said}");
    assert_eq!(said.matches("May I?").count(), 1, "{said}");
    let inbox = office.remote(&["inbox", "--json"], "", 0);
    let rows: Value = serde_json::from_str(&inbox).unwrap();
    assert_eq!(rows[0]["id"], "s:q1");
    for field in ["about", "session", "call", "description", "reasons", "requested_at", "expires_at"] {
        assert!(!rows[0][field].is_null(), "{field}: {rows}");
    }
    assert!(office.remote(&["answer", "s:q1", "approve"], "", 0).contains("The amount is set."));
    office.remote(&["deny", "s:q1"], "", 1);
    assert!(office.remote(&["sessions", "list"], "", 0).contains("desk"));
    let shown: Value = serde_json::from_str(&office.remote(&["sessions", "show", "s", "--json"], "", 0)).unwrap();
    assert_eq!(shown["state"]["changed"]["title"], "Windows");
    let log = office.remote(&["sessions", "log", "s", "--json"], "", 0);
    assert!(log.contains("api:local"), "the journal says who answered, and from where: {log}");
}

#[test]
fn the_hint_of_a_paused_session_names_its_server() {
    let office = Office::open("hint");
    office.remote(&["chat", "--agent", "desk", "--session", "s"], "good morning\n", 0);
    let paused = office.remote(&["sessions", "pause", "s"], "", 0);
    assert!(paused.contains(&format!("obelus sessions resume s --server {}", office.url)), "{paused}");
}

#[test]
fn a_missing_or_wrong_token_is_reported() {
    let office = Office::open("token");
    let none = office.expect(&["inbox", "--server", &office.url], "", 2);
    assert!(none.contains("OBELUS_TOKEN"), "{none}");
    let file = office.path("wrong");
    fs::write(&file, "obelus_wrong").unwrap();
    office.expect(&["inbox", "--server", &office.url, "--token-file", &file], "", 1);
    let clear = office.expect(&["inbox", "--server", "http://example.test", "--token-file", &file], "", 2);
    assert!(clear.contains("https://"), "{clear}");
}

#[test]
fn a_store_held_by_a_server_is_reached_automatically() {
    let office = Office::open("held");
    let store = office.path("store");
    let said = office.expect(&["chat", "--agent", "desk", "--session", "s", "--store", &store], "hello\n", 0);
    assert!(said.contains("You said: hello"), "{said}");
    office.expect(&["sessions", "fork", "s", "t", "--store", &store], "", 0);
    assert!(office.expect(&["sessions", "list", "--store", &store], "", 0).contains("t "));
    office.expect(&["sessions", "rm", "t", "--store", &store], "", 0);
    office.expect(&["sessions", "show", "t", "--store", &store], "", 2);
}

#[test]
fn a_portal_event_reaches_its_bound_session_once() {
    let office = Office::open("hooks");
    office.remote(&["chat", "--agent", "desk", "--session", "s"], "hello\n", 0);
    office.remote(&["chat", "--agent", "desk", "--session", "other"], "hello\n", 0);
    let token = fs::read_to_string(office.path("store/token")).unwrap();
    let secret = fs::read_to_string(office.path("store/hook-secret")).unwrap();
    let path = format!("/hooks/bitrix24/{}", secret.trim());
    let state = format!(
        "{{\"state\": {{\"event_bindings\": [{{\"event\": \"onCrmDealUpdate\", \"handler\": \"{}{path}\"}}]}}}}",
        office.url
    );
    let headers = format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", token.trim());
    let (status, answer) = office.http("PUT", "/api/v1/sessions/s/state", &headers, &state);
    assert_eq!(status, 200, "{answer}");
    let form = "event=ONCRMDEALUPDATE&event_handler_id=5&data%5BFIELDS%5D%5BID%5D=12&ts=1714557600\
                &auth%5Bapplication_token%5D=agreed-with-the-portal";
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    assert_eq!(office.http("POST", &path, kind, form).0, 200);
    assert_eq!(office.http("POST", &path, kind, form).0, 200, "the portal may send it again");
    let log = |id: &str| office.remote(&["sessions", "log", id, "--json"], "", 0);
    assert_eq!(log("s").matches("ONCRMDEALUPDATE").count(), 1, "{}", log("s"));
    assert!(!log("other").contains("ONCRMDEALUPDATE"));
    assert!(!log("s").contains("agreed-with-the-portal"));
    let stranger = form.replace("agreed", "guessed");
    assert_eq!(office.http("POST", &path, kind, &stranger).0, 403);
    assert_eq!(office.http("POST", "/hooks/bitrix24/obelus_guessed", kind, form).0, 404);
    assert_eq!(office.http("POST", &path, kind, &format!("a={}", "x".repeat(70_000))).0, 413);
    assert_eq!(office.http("POST", &path, kind, "no event").0, 403, "the token is looked at first");
}
