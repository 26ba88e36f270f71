//! Decided questions, stopped calls, and refused answers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::client::{Server, folder, obelus, wait_for};

const AGENT: &str = "name: desk
model: playbook:p.yaml
mode: full
language: [en, ru]
tools:
  change:
    type: object
    x-title: {en: Change a deal, ru: Изменить сделку}
    x-effect: update
    x-trust: trusted
    x-risky: [sum]
    properties: {id: {type: integer}, sum: {type: integer}}
  slow: {type: object, x-effect: update, x-trust: trusted, x-risky: [id], properties: {id: {type: integer}}}
activities:
  change: {jq: '{title: \"Windows\"}'}
  slow: {exec: [sleep, '600']}
";

const PLAYBOOK: &str = "- user: '^set'
  answer: {say: May I?, calls: [{_tool: change, id: 1, sum: 5, _outputPath: †state.changed}], output: The amount is set.}
- user: '^wait'
  answer: {say: May I?, calls: [{_tool: slow, id: 1, _outputPath: †state.slept}], output: It is done.}
";

fn desk(name: &str) -> Server {
    let agents = folder(&format!("{name}-agents"));
    fs::create_dir(agents.join("desk")).unwrap();
    fs::write(agents.join("desk/agent.yaml"), AGENT).unwrap();
    fs::write(agents.join("desk/p.yaml"), PLAYBOOK).unwrap();
    let server = Server::start(name, &["--agents", agents.to_str().unwrap()]);
    let made = server.post("/api/v1/sessions", &json!({"agent": "desk", "id": "s"}));
    assert_eq!(made.status, 201, "{made:?}");
    server
}

fn answer(server: &Server, question: &str, body: &Value) -> u16 {
    server.post(&format!("/api/v1/questions/{question}/answer"), body).status
}

#[test]
fn a_decided_question_shows_decision_person_and_time() {
    let server = desk("decided");
    server.say("s", "set");
    let preview = server.post("/api/v1/questions/s:q1/preview", &json!({"typed": {"sum": "7"}})).json();
    let edit = json!({"decision": "edit", "params": preview["params"], "digest": preview["digest"]});
    assert_eq!(answer(&server, "s:q1", &edit), 200);
    let row = server.get("/api/v1/questions/s:q1").json();
    let (head, text) = (row["view"]["head"].as_str().unwrap(), row["text"].as_str().unwrap());
    let at = row["decided_at"].as_str().unwrap();
    assert_eq!(
        (head, &row["decision"]),
        (format!("Approved with changes (local in API, {at})").as_str(), &json!("edit"))
    );
    assert!(text.starts_with("· Approved with changes") && text.contains("sum: 7   ✎ instead of 5"), "{text}");
    assert_eq!((&row["answers"], &row["view"]["answers"]), (&json!([]), &json!([])));
    let russian = server.get("/api/v1/questions/s:q1?lang=ru").json();
    assert!(russian["text"].as_str().unwrap().contains("Разрешено с изменениями"), "{russian}");
    // The edited call has ended, and the playbook asks again.
    wait_for("the next question", || server.get("/api/v1/questions/s:q2").status == 200);
    assert_eq!(answer(&server, "s:q2", &json!({"decision": "deny", "reason": "not today"})), 200);
    let denied = server.get("/api/v1/questions/s:q2").json();
    assert!(denied["view"]["head"].as_str().unwrap().starts_with("Denied (local in API, "), "{denied}");
    assert_eq!((&denied["decision"], &denied["reason"]), (&json!("deny"), &json!("not today")));
}

#[test]
fn a_refused_answer_does_not_change_when_the_turn_ended() {
    let server = desk("refused-at");
    server.say("s", "set");
    assert_eq!(answer(&server, "s:q1", &json!({"decision": "approve"})), 200);
    let turn = || server.get("/api/v1/sessions/s/turn").json();
    let before = turn();
    assert_eq!(before["ends"], "output", "{before}");
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(answer(&server, "s:q1", &json!({"decision": "approve"})), 409);
    assert_eq!(turn()["at"], before["at"]);
}

#[test]
fn a_call_that_was_stopped_waits_for_a_person_and_does_not_run() {
    let server = desk("stopped");
    server.say("s", "wait");
    assert_eq!(answer(&server, "s:q1", &json!({"decision": "approve"})), 200);
    let status = || server.get("/api/v1/sessions/s/plan").json()["calls"][0]["status"].clone();
    wait_for("the call", || status() == "running");
    assert!(server.post("/api/v1/sessions/s/stop", &json!({})).status < 300);
    let turn = server.get("/api/v1/sessions/s/turn").json();
    assert_eq!((&turn["ends"], &turn["calls"][0]["status"]), (&json!("stopped"), &json!("waiting")), "{turn}");
    let asked = server.get("/api/v1/questions?session=s").json();
    assert_eq!(asked[0]["about"], "in_doubt", "{asked}");
    assert!(!asked[0]["text"].as_str().unwrap().contains("still be at work"), "{asked}");
}

#[test]
fn a_mistyped_code_is_answered_with_the_right_one_and_not_sent_to_the_agent() {
    let server = desk("mistyped");
    let mut messages = vec![json!({"role": "user", "content": "set"})];
    let mut say = |words: Option<&str>| {
        messages.extend(words.map(|words| json!({"role": "user", "content": words})));
        let body = json!({"model": "desk", "messages": messages});
        let reply = server.post("/v1/chat/completions", &body);
        let said = reply.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned();
        messages.push(json!({"role": "assistant", "content": said}));
        (reply.header("x-session-id").unwrap().to_owned(), said)
    };
    let (session, asked) = say(None);
    let code = asked.split("`approve ").nth(1).unwrap()[..8].to_owned();
    let records = |server: &Server| {
        server.get(&format!("/api/v1/sessions/{session}/log?limit=1000")).json()["records"].as_array().unwrap().len()
    };
    let before = records(&server);
    for wrong in ["approve zzz", "deny ABCD123 no", "approve 00000000"] {
        let (_, told) = say(Some(wrong));
        assert!(told.contains("ode ") && told.contains(&format!("`approve {code}`")), "{wrong}: {told}");
    }
    assert_eq!(records(&server), before, "the agent was told nothing");
    assert!(say(Some(&format!("approve {code}"))).1.contains("The amount is set."));
}

#[test]
fn errors_of_other_protocols_are_reported_once() {
    let server = desk("said-once");
    let hello = json!({"role": "user", "content": "hello"});
    let chat = |more: Value| {
        let mut body = json!({"model": "desk", "messages": [hello]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let reply = server.post("/v1/chat/completions", &body);
        (reply.status, reply.json()["error"]["message"].as_str().unwrap().to_owned())
    };
    assert_eq!(chat(json!({"n": 2})), (400, "an agent gives one answer: `n` must be 1".to_owned()));
    let strange = json!({"messages": [hello, {"role": "assistant", "content": "x"}, hello]});
    let (status, words) = chat(strange);
    assert!(status == 404 && words.starts_with("this conversation did not take place here"), "{words}");
    let thread = server.send("GET", "/threads/s", &[], None);
    assert!(thread.status == 401 && thread.body.contains("x-api-key"), "{thread:?}");
}

#[test]
fn a_store_writable_by_others_is_not_used_unless_permitted() {
    let store = folder("open-store");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = obelus(&["serve", "--listen", "127.0.0.1:0", "--store"]);
    let refused = command.arg(&store).output().unwrap();
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && words.contains("chmod go-w") && words.contains("--insecure-store"), "{words}");
    assert!(fs::read_dir(&store).unwrap().next().is_none(), "nothing was written");
    for command in [
        &["sessions", "list"][..],
        &["inbox"],
        &["sessions", "rm", "s"],
        &["tokens", "add", "eve"],
        // They read and write logins there, also without a saved session.
        &["run", "notes", "--say", "hello"],
        &["chat", "--agent", "notes"],
    ] {
        let refused = obelus(command).arg("--store").arg(&store).env("LANG", "ru_RU.UTF-8").output().unwrap();
        let words = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && words.contains("chmod go-w"), "{command:?}: {words}");
        assert!(fs::read_dir(&store).unwrap().next().is_none(), "{command:?}: nothing was written");
    }
    let server = Server::over(store.clone(), &["--insecure-store"]);
    assert_eq!(server.get("/api/v1/me").status, 200);
    let missing = store.join("missing");
    let added = obelus(&["tokens", "add", "eve", "--insecure-store", "--store"]).arg(&missing).output().unwrap();
    assert!(added.status.success(), "{added:?}");
    assert_eq!(fs::metadata(&missing).unwrap().permissions().mode() & 0o777, 0o700, "it is for its owner only");
}

/// An agent whose approved call fails.
const FAILING: &str = r#"
name: failing
language: en
mode: full
model: playbook:playbook.yaml
tools: {pay: {type: object, properties: {to: {type: string}}, x-effect: create, x-risky: [to], x-trust: trusted}}
activities: {pay: {exec: [sh, -c, 'echo "no money" >&2; exit 3']}}
"#;

const FAILING_PLAYBOOK: &str = "
- {when: '.errors != []', output: 'That did not work.'}
- answer: {calls: [{_tool: pay, to: Anna, _outputPath: †state.p}]}
";

#[test]
fn an_approval_whose_call_fails_exits_with_1_through_the_holder_and_the_server_too() {
    let agents = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("failing-{}", std::process::id()));
    let agent = agents.join("failing");
    fs::create_dir_all(&agent).unwrap();
    fs::write(agent.join("agent.yaml"), FAILING).unwrap();
    fs::write(agent.join("playbook.yaml"), FAILING_PLAYBOOK).unwrap();
    let server = Server::start("failing", &["--agents", &agents.display().to_string()]);
    for id in ["a", "b", "c"] {
        assert_eq!(server.post("/api/v1/sessions", &json!({"agent": "failing", "id": id})).status, 201);
        server.say(id, "go");
    }
    let store = server.store.display().to_string();
    let address = format!("http://{}", server.address);
    for args in [
        &["approve", "a:q1", "--store", &store][..],
        &["approve", "b:q1", "--json", "--store", &store],
        &["approve", "c:q1", "--server", &address],
    ] {
        let output = obelus(args).env("OBELUS_TOKEN", &server.token).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
    }
    fs::remove_dir_all(&agents).unwrap();
}
