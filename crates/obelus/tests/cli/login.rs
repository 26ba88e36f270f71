//! Logging in to an MCP server, with an authorization server that gives a token to every caller.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::support::{Folder, Ran, command, end, program, root, run, start, wait_for};

/// A server, an agent that uses it, and a store.
struct Door {
    folder: Folder,
    server: Child,
    agent: String,
    section: String,
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Door {
    /// `None` without Python for the server.
    fn new(name: &str) -> Option<Self> {
        if program("python3", &["--version"]).output().is_err() {
            eprintln!("skipped: there is no `python3` to run the server");
            return None;
        }
        let folder = Folder::new(name);
        let script = root().join("crates/obelus-connect/tests/mcp/doors.py");
        let server = Command::new("python3").arg(script).arg(folder.path("port")).spawn().expect("python3");
        wait_for("the server is there", || fs::exists(folder.path("port")).expect("a folder"));
        let port = fs::read_to_string(folder.path("port")).expect("a port");
        let section = format!("mcp: {{door: {{url: 'http://127.0.0.1:{port}/mcp'}}}}\n");
        folder.file("agent/playbook.yaml", "- {name: done, output: Done.}\n");
        folder.file("agent/agent.yaml", format!("name: guest\nmode: full\nmodel: playbook:playbook.yaml\n{section}"));
        let agent = folder.path("agent");
        Some(Self { folder, server, agent, section })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env("OBELUS_HOME", self.folder.path("store"));
        command
    }

    fn does(&self, args: &[&str]) -> Ran {
        run(&mut self.command(args), b"")
    }

    /// Logs in like a person: opens the printed address.
    fn logs_in(&self, args: &[&str]) -> Ran {
        let mut child = start(&mut self.command(&[&["agents", "login"], args].concat()));
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut address = String::new();
        stdout.read_line(&mut address).expect("a pipe can be read");
        child.stdout = Some(stdout.into_inner());
        let open = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())";
        let opened = run(&mut program("python3", &["-c", open, address.trim()]), b"");
        opened.exits(0).prints("You can close this page");
        end(child)
    }

    fn tokens(&self) -> Vec<String> {
        let folder = fs::read_dir(self.folder.path("store/tokens")).into_iter().flatten();
        folder.map(|entry| entry.expect("a file").path().to_str().expect("UTF-8").to_owned()).collect()
    }
}

#[test]
fn a_server_that_needs_a_login_names_the_command_and_accepts_the_agent_after_it() {
    let Some(door) = Door::new("login-agent") else { return };
    let named = format!("log in with: obelus agents login {} door", door.agent);
    door.does(&["run", &door.agent, "--say", "hi"]).exits(2).says("MCP server `door`").says(&named);

    let ran = door.logs_in(&[&door.agent, "door"]).exits(0).says("logged in: the server has 5 tools");
    let [file] = &door.tokens()[..] else { panic!("{:?}", door.tokens()) };
    assert_eq!(fs::metadata(file).expect("it is there").permissions().mode() & 0o777, 0o600);
    let kept: Value = serde_json::from_slice(&fs::read(file).expect("it is there")).expect("JSON");
    let token = kept["access"].as_str().expect("a token");
    assert!(!ran.stdout.contains(token) && !ran.stderr.contains(token), "{} {}", ran.stdout, ran.stderr);

    door.does(&["agents", "prompt", &door.agent]).exits(0).prints("door.echo");
    door.does(&["run", &door.agent, "--session", "s", "--say", "hi"]).exits(0).prints("Done.");
    let journal = door.does(&["sessions", "export", "s"]).exits(0);
    assert!(!journal.stdout.contains(token), "it is in no journal");
}

#[test]
fn a_login_to_an_unknown_server_is_refused() {
    let Some(door) = Door::new("login-named") else { return };
    door.does(&["agents", "login", &door.agent, "dor"]).exits(2).says("did you mean `door`?");
    let plain = json!({"mcp": {"plain": {"command": ["python3"]}}});
    let plain = door.folder.file("plain.json", plain.to_string());
    let ran = door.does(&["agents", "login", &door.agent, "plain", "--mcp", &plain]);
    ran.exits(2).says("there is nothing to log in to");

    let file = door.folder.file("servers.yaml", &door.section);
    let named = format!("obelus agents login --mcp {file} {} door", door.agent);
    door.does(&["run", &door.agent, "--mcp", &file, "--say", "hi"]).exits(2).says(&named);
    door.logs_in(&["--mcp", &file, &door.agent, "door"]).exits(0);
    door.does(&["run", &door.agent, "--mcp", &file, "--say", "hi"]).exits(0).prints("Done.");
}
