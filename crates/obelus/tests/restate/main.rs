//! `obelus worker` and `obelus serve --engine restate` with real processes and a real Restate server.

#[path = "../serve/client.rs"]
#[expect(dead_code, reason = "not every test needs everything")]
mod client;
#[path = "../../../obelus-restate/tests/common/server.rs"]
mod server;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use client::{Server, folder, obelus};
use serde_json::json;

/// A worker, killed on drop.
struct Worker(Child);

impl Worker {
    fn start(engine: &[&str]) -> Self {
        Self::at("127.0.0.1:0", engine)
    }

    fn at(listen: &str, engine: &[&str]) -> Self {
        let mut command = obelus(&["worker", "--listen", listen]);
        let child = command.args(engine).arg("--store").arg(folder("restate-worker"));
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("the worker starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("its address");
        assert!(line.starts_with("http://127.0.0.1:"), "it said `{line}`");
        Self(child)
    }

    /// Sends SIGTERM and waits; returns whether the exit code was 0.
    fn terminate(&mut self) -> bool {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
        self.0.wait().expect("it has ended").success()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_conversation_on_a_cluster_is_the_same_as_on_one_machine() {
    let restate = server::Server::start("binary");
    let engine = ["--engine", "restate", "--restate", &restate.ingress, "--restate-admin", &restate.admin];
    let mut worker = Worker::start(&engine);
    let front = Server::start("restate-front", &engine);
    let session = front.session("monday");
    assert_eq!(front.say(&session, "The customer called")["turn"]["text"], "Written down.");

    let said = front.say(&session, "ask Anna to call the customer");
    assert_eq!(said["turn"]["ends"], "waiting", "{said}");
    let question = front.get("/api/v1/questions").json()[0].clone();
    let path = format!("/api/v1/questions/{}/answer", question["id"].as_str().expect("an id"));
    let answer = json!({"decision": "approve", "digest": question["digest"]});
    assert_eq!(front.post(&path, &answer).status, 200);
    let again = front.post(&path, &answer);
    assert_eq!((again.status, again.code().as_str()), (409, "already_decided"));
    assert_eq!(front.get("/api/v1/sessions/monday/turn").json()["ends"], "output");
    let events = front.stream(&session, "0-0").until("question_decided");
    assert!(events.iter().any(|event| event.name == "question_asked"));
    assert_eq!(front.get("/api/v1/sessions").json()["sessions"][0]["id"], "monday");

    // Exports the session to one machine and imports it again under another name.
    let file = folder("restate-carry").join("monday.jsonl");
    let run = |args: &[&str]| {
        let output = obelus(args).output().expect("the command runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (file, store) = (file.to_str().expect("a path"), folder("restate-embedded"));
    let store = store.to_str().expect("a path");
    run(&[&["sessions", "export", "monday", "--out", file], engine.as_slice()].concat());
    run(&["sessions", "import", file, "--trusted", "--store", store]);
    assert!(run(&["sessions", "list", "--store", store]).contains("monday"));
    fs::remove_file(file).expect("the file");
    run(&["sessions", "export", "monday", "--out", file, "--store", store]);
    run(&[&["sessions", "import", file, "--as", "tuesday", "--trusted"], engine.as_slice()].concat());
    assert_eq!(front.say("tuesday", "The customer called again")["turn"]["text"], "Written down.");

    assert!(worker.terminate(), "it ends in good order");
}

#[test]
fn an_agent_with_a_browser_is_refused_with_the_reason() {
    let restate = server::Server::start("browser");
    let engine = ["--engine", "restate", "--restate", &restate.ingress, "--restate-admin", &restate.admin];
    let agents = folder("restate-agents");
    fs::create_dir_all(agents.join("looker")).expect("a folder");
    let agent = "name: looker\ntools:\n  look: {x-effect: read, x-keep: digest}\nactivities:\n  look: {jq: '{}'}\n";
    fs::write(agents.join("looker/agent.yaml"), agent).expect("an agent");
    let args = [engine.as_slice(), &["--agents", agents.to_str().expect("a path")]].concat();
    let front = Server::start("restate-browser", &args);
    let refused = front.post("/api/v1/sessions", &json!({"agent": "looker", "id": "s"}));
    assert!(refused.body.contains("embedded engine"), "{refused:?}");
    assert_eq!((refused.status, refused.code().as_str()), (422, "not_supported"));
    // The same if no browser is installed.
    let agent = "name: clicker\nbrowser: {sites: [example.test]}\n";
    fs::create_dir_all(agents.join("clicker")).expect("a folder");
    fs::write(agents.join("clicker/agent.yaml"), agent).expect("an agent");
    let refused = front.post("/api/v1/sessions", &json!({"agent": "clicker", "id": "s"}));
    assert_eq!((refused.status, refused.code().as_str()), (422, "not_supported"), "{refused:?}");
}

/// The address to which the cluster sends new work of sessions.
fn newest(restate: &server::Server) -> String {
    let get = |path: &str| -> serde_json::Value {
        let url = format!("{}{path}", restate.admin);
        let output = Command::new("curl").args(["-sf", "-H", "accept: application/json", &url]).output().expect("curl");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let service = get("/services/Session");
    let deployment = get(&format!("/deployments/{}", service["deployment_id"].as_str().expect("an id")));
    deployment["uri"].as_str().expect("an address").trim_end_matches('/').to_owned()
}

#[test]
fn a_restarted_worker_of_an_earlier_address_leaves_the_new_work_to_the_newest() {
    let restate = server::Server::start("newest");
    let engine = ["--engine", "restate", "--restate", &restate.ingress, "--restate-admin", &restate.admin];
    let [first, second] = server::free_ports().map(|port: u16| format!("127.0.0.1:{port}"));
    let mut old = Worker::at(&first, &engine);
    let _new = Worker::at(&second, &engine);
    assert_eq!(newest(&restate), format!("http://{second}"));
    assert!(old.terminate());
    let mut old = Worker::at(&first, &engine);
    assert_eq!(newest(&restate), format!("http://{second}"));
    assert!(old.terminate());
    let _old = Worker::at(&first, &[engine.as_slice(), &["--newest"]].concat());
    assert_eq!(newest(&restate), format!("http://{first}"), "it was told to");
}

/// The exit code and stderr of a failing command.
fn failure(args: &[&str]) -> (Option<i32>, String) {
    let store = folder("restate-refused");
    let output = obelus(args).args(["--store"]).arg(store).stdin(Stdio::null()).output().expect("the command runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn unusable_addresses_are_refused_with_the_reason() {
    let restate = server::Server::start("refused");
    let (ingress, admin) = (restate.ingress.as_str(), restate.admin.as_str());
    let without = "--engine restate";
    for (args, said) in [
        (vec!["serve", "--restate", ingress], without),
        (vec!["worker", "--restate", ingress], without),
        (vec!["sessions", "export", "s", "--restate", ingress], without),
        (vec!["worker", "--engine", "restate", "--restate", ingress, "--listen", "0.0.0.0:0"], "--advertise"),
        (vec!["worker", "--engine", "restate", "--restate", admin, "--listen", "127.0.0.1:0"], "no ingress"),
    ] {
        let (code, words) = failure(&args);
        assert!(code == Some(2) && words.contains(said), "{args:?}: {code:?} {words}");
    }
}

/// The worker's stderr up to this text, at most a few lines.
fn says(args: &[&str], wanted: &str) -> String {
    let mut command = obelus(&["worker", "--engine", "restate", "--listen", "127.0.0.1:0"]);
    let child = command.args(args).arg("--store").arg(folder("restate-waits")).stderr(Stdio::piped()).spawn();
    let mut worker = Worker(child.expect("the worker starts"));
    let mut lines = BufReader::new(worker.0.stderr.take().expect("its words")).lines().map_while(Result::ok);
    let mut said = String::new();
    while !said.contains(wanted) && said.lines().count() < 5 {
        said += &lines.next().expect("it goes on");
        said.push('\n');
    }
    said
}

#[test]
fn a_worker_says_what_it_waits_for() {
    let [nobody] = server::free_ports().map(|port: u16| format!("http://127.0.0.1:{port}"));
    let wanted = "no Restate server answers";
    let said = says(&["--restate", &nobody, "--restate-admin", &nobody], wanted);
    assert!(said.contains(wanted) && said.contains(&nobody), "{said}");

    let restate = server::Server::start("waits");
    let wanted = "cannot reach the worker";
    let said =
        says(&["--restate", &restate.ingress, "--restate-admin", &restate.admin, "--advertise", &nobody], wanted);
    assert!(said.contains(wanted) && said.contains(&nobody), "{said}");
}

#[test]
fn without_a_cluster_a_server_is_not_ready_and_says_why() {
    let [nobody] = server::free_ports().map(|port: u16| format!("http://127.0.0.1:{port}"));
    let front =
        Server::start("restate-alone", &["--engine", "restate", "--restate", &nobody, "--restate-admin", &nobody]);
    let ready = front.send("GET", "/readyz", &[], None);
    assert!(ready.status == 503 && ready.body.contains("cannot be read"), "{ready:?}");
    let made = front.post("/api/v1/sessions", &json!({"agent": "notes", "id": "monday"}));
    for refused in [made, front.get("/api/v1/sessions"), front.get("/api/v1/questions")] {
        assert_eq!((refused.status, refused.code().as_str()), (503, "unreachable"), "{refused:?}");
        assert!(refused.body.contains(&nobody), "{refused:?}");
    }
}
