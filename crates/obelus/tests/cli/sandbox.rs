//! The sandbox portal as a command.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

use serde_json::{Value, json};

use crate::support::{Folder, command, end, obelus, start};

/// A portal process, killed on drop.
struct Running {
    child: Option<Child>,
    base: String,
}

impl Running {
    fn start(args: &[&str]) -> Running {
        let all = [&["sandbox", "bitrix24", "--listen", "127.0.0.1:0"], args].concat();
        let mut child = start(&mut command(&all));
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut first).expect("the first line");
        Running { child: Some(child), base: first.trim_end().to_owned() }
    }

    /// Calls a method and returns the answer.
    fn call(&self, method: &str, params: &Value) -> Value {
        let (authority, path) = self.base.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
        let body = params.to_string();
        let mut stream = TcpStream::connect(authority).expect("it listens");
        let length = body.len();
        write!(
            stream,
            "POST /{path}{method} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no body in {answer}"));
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {body}"))
    }

    /// Stops it like Ctrl-C, and returns its output.
    #[cfg(unix)]
    fn interrupt(mut self) -> crate::support::Ran {
        let child = self.child.take().expect("it runs");
        let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
        end(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_portal_prints_its_address_and_keeps_its_file() {
    let folder = Folder::new("sandbox-kept");
    let file = folder.path("portal.sqlite");
    let portal = Running::start(&["--db", &file, "--token", "abc", "--user", "2"]);
    assert!(portal.base.starts_with("http://127.0.0.1:") && portal.base.ends_with("/rest/2/abc/"), "{}", portal.base);
    assert_eq!(portal.call("user.current", &json!({}))["result"]["ID"], "2");
    assert_eq!(portal.call("crm.deal.list", &json!({}))["total"], 150);
    let added = portal.call("crm.deal.add", &json!({"fields": {"TITLE": "Поставка окон"}}));
    assert_eq!(added["result"], 151);
    #[cfg(unix)]
    portal.interrupt().exits(0).says("Page").says("application_token");
    #[cfg(not(unix))]
    drop(portal);
    let again = Running::start(&["--db", &file]);
    assert_eq!(again.call("crm.deal.get", &json!({"id": 151}))["result"]["TITLE"], "Поставка окон");
}

#[test]
fn wrong_options_are_reported_with_the_correct_ones() {
    obelus(&["sandbox", "bitrix24", "--listen", "127.0.0.1:0", "--user", "99"])
        .exits(2)
        .says("users 1 to 8")
        .prints_nothing();
    obelus(&["sandbox", "bitrix24", "--listen", "127.0.0.1:0", "--drop-answers", "7"]).exits(2).says("from 0 to 1");
    obelus(&["sandbox", "bitrix24", "--listen", "127.0.0.1:0", "--token", "a/b"]).exits(2).says("letters");
    let folder = Folder::new("sandbox-foreign");
    let other =
        folder.file("notes.txt", "no database at all, but long enough to be taken for one if one does not look");
    obelus(&["sandbox", "bitrix24", "--listen", "127.0.0.1:0", "--db", &other]).exits(2).says("notes.txt");
}
