//! Inspecting sessions: graphs, values, forms, forks, instances, and changes in the lists.

use serde_json::{Value, json};

use super::client::Server;

const AGENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/agents");

/// A server whose session `s` asks about the change of an order; the question's id.
fn waiting(name: &str) -> (Server, String) {
    let server = Server::start(name, &["--agents", AGENTS]);
    let made = server.post("/api/v1/sessions", &json!({"agent": "desk", "id": "s"}));
    assert_eq!(made.status, 201, "{made:?}");
    let said = server.say("s", "change the order");
    assert_eq!(said["turn"]["ends"], "waiting", "{said}");
    let question = said["turn"]["waiting"][0].as_str().unwrap().to_owned();
    (server, question)
}

fn approve(server: &Server, question: &str) {
    let path = format!("/api/v1/questions/{question}/answer");
    let answer = server.post(&path, &json!({"decision": "approve"}));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(server.get("/api/v1/sessions/s/turn").status, 200);
}

fn edge<'a>(graph: &'a Value, path: &str) -> &'a Value {
    let edges = graph["edges"].as_array().unwrap();
    edges.iter().find(|edge| edge["path"] == path).unwrap_or_else(|| panic!("{path}: {graph}"))
}

#[test]
fn the_plan_is_a_graph_with_the_values_that_flow() {
    let (server, question) = waiting("graph");
    let graph = server.get("/api/v1/sessions/s/graph").json();
    let (found, change) = (&graph["nodes"][0], &graph["nodes"][1]);
    assert_eq!((&found["status"], &found["effect"]), (&json!("done"), &json!("read")), "{graph}");
    assert_eq!((&change["status"], &change["question"]), (&json!("waiting"), &json!(question)), "{graph}");
    assert_eq!((&change["params"]["number"], &change["proposed"]["number"]), (&json!(7), &json!("†state.order.id")));
    assert_eq!(change["title"], "Change an order");
    let flow = edge(&graph, "†state.order.id");
    assert_eq!((&flow["from"], &flow["to"], &flow["value"]), (&found["id"], &change["id"], &json!(7)));
    assert_eq!((&flow["writer"]["kind"], &flow["writer"]["trusted"]), (&json!("tool"), &json!(true)));
    let before = edge(&graph, "†state.number");
    assert_eq!((&before["from"], &before["writer"]["kind"]), (&json!(null), &json!("author")), "{graph}");
    approve(&server, &question);
    let ended = server.get("/api/v1/sessions/s/graph").json();
    assert_eq!(edge(&ended, "†state.order.id")["value"], 7, "{ended}");
    // The same from the store, after the session left memory.
    let server = Server::over(server.kill(), &["--agents", AGENTS]);
    let restored = server.get("/api/v1/sessions/s/graph").json();
    assert_eq!(edge(&restored, "†state.order.id")["from"], ended["nodes"][0]["id"], "{restored}");
    let operator = server.get("/api/v1/agents/operator/graph").json();
    assert!(operator["nodes"].as_array().unwrap().iter().any(|node| node["is_start"] == true), "{operator}");
    assert_eq!(server.get("/api/v1/agents/desk/graph").code(), "not_found");
}

#[test]
fn an_edit_in_a_form_is_previewed_before_it_counts() {
    let (server, question) = waiting("form");
    let path = format!("/api/v1/questions/{question}");
    let form = server.get(&format!("{path}/form")).json();
    let sum = form["fields"].as_array().unwrap().iter().find(|field| field["place"] == "sum").unwrap();
    assert_eq!((&sum["label"], &sum["kind"], &sum["typed"]), (&json!("Sum"), &json!("number"), &json!("120")));
    let preview = |edit: Value| server.post(&format!("{path}/preview"), &edit).json();
    let wrong = preview(json!({"typed": {"sum": "much", "pays": "gold"}}));
    assert_eq!((wrong["problems"].as_array().unwrap().len(), &wrong["view"]), (2, &json!(null)), "{wrong}");
    let seen = preview(json!({"typed": {"sum": "1 500,5", "pays": "card"}}));
    assert_eq!(seen["params"], json!({"sum": 1500.5, "pays": "card"}), "{seen}");
    let rows = seen["view"]["calls"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["place"] == "sum").unwrap();
    assert_eq!((&row["value"], &row["instead_of"]), (&json!("1500.5"), &json!("120")), "{seen}");
    assert_eq!(server.get(&path).json()["status"], "requested", "nothing is decided");
    let edit = json!({"decision": "edit", "params": seen["params"], "digest": seen["digest"]});
    assert_eq!(server.post(&format!("{path}/answer"), &edit).status, 200);
    server.get("/api/v1/sessions/s/turn");
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["changed"]["sum"], 1500.5);
    assert_eq!(server.get(&format!("{path}/form")).status, 404, "it is decided");
    assert_eq!(server.get(&format!("{path}/picture")).code(), "not_found");
}

#[test]
fn the_inbox_can_be_filtered_and_shows_who_decided() {
    let (server, question) = waiting("inbox");
    let count = |query: &str| server.get(&format!("/api/v1/questions{query}")).json().as_array().unwrap().len();
    assert_eq!((count("?about=call&text=ORDER"), count("?about=plan"), count("?text=nowhere")), (1, 0, 0));
    assert_eq!((count("?agent=desk"), count("?agent=crm"), count("/recent")), (1, 0, 0));
    let row = &server.get("/api/v1/questions").json()[0];
    assert_eq!((&row["agent"], &row["has_picture"]), (&json!("desk"), &json!(false)), "{row}");
    approve(&server, &question);
    let recent = server.get("/api/v1/questions/recent?limit=5").json();
    assert_eq!((&recent[0]["id"], &recent[0]["by_words"]), (&json!(question), &json!("local in API")), "{recent}");
    assert!(recent[0]["decided_at"].is_string());
}

#[test]
fn changes_of_the_lists_are_streamed() {
    let server = Server::start("changes", &["--agents", AGENTS]);
    let mut changes = server.stream_of("/api/v1/changes");
    server.post("/api/v1/sessions", &json!({"agent": "desk", "id": "s"}));
    let made = changes.next().unwrap().data;
    assert_eq!((&made["event"], &made["agent"], &made["status"]), (&json!("session"), &json!("desk"), &json!("new")));
    server.say("s", "change the order");
    let asked = changes.until("question_asked").pop().unwrap().data;
    approve(&server, asked["question"].as_str().unwrap());
    let decided = changes.until("question_decided").pop().unwrap().data;
    assert_eq!((&decided["by"], &decided["decision"]), (&json!("api:local"), &json!("approve")), "{decided}");
    let statuses = changes.until_where(|event| event.data["status"] == "done");
    assert!(statuses.iter().all(|event| event.name != "missed"), "{statuses:?}");
    server.call("DELETE", "/api/v1/sessions/s", None);
    changes.until("removed");
}

#[test]
fn each_value_of_the_state_shows_its_writer_and_approver() {
    let (server, question) = waiting("values");
    let before = server.get("/api/v1/sessions/s").json();
    assert_eq!(before["status"], "waiting");
    approve(&server, &question);
    let values = server.get("/api/v1/sessions/s/state/values").json();
    let of = |path: &str| {
        let all = values["values"].as_array().unwrap();
        all.iter().find(|value| value["path"] == path).unwrap_or_else(|| panic!("{path}: {values}")).clone()
    };
    let sum = of("†state.changed.sum");
    assert_eq!((&sum["value"], &sum["writer"]["name"]), (&json!(120), &json!("change_order")), "{sum}");
    assert_eq!((&sum["approved_by"], &sum["question"]), (&json!("api:local"), &json!(question)), "{sum}");
    assert!(sum["written_at"].is_string() && sum["headline"].as_str().unwrap().contains("order"), "{sum}");
    let number = of("†state.number");
    assert_eq!((&number["writer"]["kind"], &number["approved_by"]), (&json!("author"), &json!(null)));
    assert_eq!(of("†state.order.name")["approved_by"], json!(null), "a read needs nobody");
    let part = server.get("/api/v1/sessions/s/state/values?path=state.changed").json();
    assert_eq!(part["values"].as_array().unwrap().len(), 2, "{part}");
    assert_eq!(server.get("/api/v1/sessions/s/state/values?path=a%20%7C%7C").status, 400);
    let changes = server.get("/api/v1/sessions/s/state/changes?at=0").json();
    let added = changes["changes"].as_array().unwrap();
    assert!(added.iter().any(|one| one["path"] == "†state.changed" && one["kind"] == "added"), "{changes}");
    assert_eq!(server.get("/api/v1/sessions/s/state/changes?at=999").code(), "no_record");
}

#[test]
fn a_fork_preview_lists_the_effects_it_would_repeat() {
    let (server, question) = waiting("forecast");
    let records = server.get("/api/v1/sessions/s/fork").json()["records"].as_u64().unwrap();
    approve(&server, &question);
    let now = server.get("/api/v1/sessions/s/fork").json();
    assert_eq!((&now["kept"][0]["tool"], &now["paused"]), (&json!("change_order"), &json!(false)), "{now}");
    let earlier = server.get(&format!("/api/v1/sessions/s/fork?at={records}")).json();
    assert_eq!((&earlier["kept"], &earlier["later"][0]["tool"]), (&json!([]), &json!("change_order")), "{earlier}");
    assert_eq!(server.get("/api/v1/sessions/s/fork?at=999").code(), "no_record");
    let usage = server.get("/api/v1/sessions/s/usage").json();
    assert!(usage["sum"]["requests"].is_u64(), "{usage}");
}

#[test]
fn instances_are_counted_and_their_errors_grouped() {
    let server = Server::start("instances", &["--agents", AGENTS]);
    server.post("/api/v1/sessions", &json!({"agent": "team", "id": "s"}));
    server.say("s", "write to everybody");
    let list = |query: &str| server.get(&format!("/api/v1/sessions/s/instances{query}")).json();
    let all = list("");
    assert_eq!((&all["total"], &all["counts"]), (&json!(3), &json!({"done": 2, "failed": 1})), "{all}");
    assert_eq!(all["errors"][0]["count"], 1, "{all}");
    let failed = list("?status=failed");
    assert_eq!((&failed["matching"], &failed["rows"][0]["instance"]), (&json!(1), &json!("boris")), "{failed}");
    assert!(failed["rows"][0]["error"].as_str().unwrap().contains("nothing to pay"), "{failed}");
    let code = all["errors"][0]["code"].as_str().unwrap();
    assert_eq!(list(&format!("?error={code}"))["matching"], 1);
    let first = list("?limit=2");
    assert_eq!(first["next"], first["rows"][1]["instance"], "{first}");
    let rest = list(&format!("?limit=2&after={}", first["next"].as_str().unwrap()));
    assert_eq!((rest["rows"].as_array().unwrap().len(), &rest["next"]), (1, &json!(null)), "{rest}");
    assert_eq!(list("?text=VER")["rows"][0]["instance"], "vera");
    server.say("s", "hello");
    assert_eq!(list("")["counts"], all["counts"], "a turn without calls changes nothing");
}

#[test]
fn an_agent_shows_its_files_policy_and_prompt() {
    let server = Server::start("parts", &["--agents", AGENTS]);
    let files = server.get("/api/v1/agents/desk/files").json();
    let names: Vec<&str> = files.as_array().unwrap().iter().filter_map(|file| file["name"].as_str()).collect();
    assert_eq!(names, ["agent.yaml", "playbook.yaml"], "{files}");
    assert!(files[0]["text"].as_str().unwrap().contains("change_order"));
    let bundled = server.get("/api/v1/agents/crm/files").json();
    assert!(bundled.as_array().unwrap().iter().any(|file| file["name"] == "tools/deals.yaml"), "{bundled}");
    assert_eq!(server.get("/api/v1/agents/..%2Fdesk/files").code(), "unknown_agent");
    let policy = server.get("/api/v1/agents/notes/policy").json();
    let rule = &policy["rules"][0];
    assert_eq!((&rule["verdict"], &rule["matching"]["tool"]), (&json!("confirm"), &json!("add_task")), "{policy}");
    let verdicts: Vec<&Value> = rule["examples"].as_array().unwrap().iter().map(|one| &one["verdict"]).collect();
    assert_eq!(verdicts, [&json!("confirm"), &json!("allow")], "{policy}");
    let prompt = server.post("/api/v1/agents/desk/prompt", &json!({"say": ["hello", "and now"]})).json();
    assert!(prompt["messages"][0]["content"].as_str().unwrap().contains("You keep the orders of a shop."), "{prompt}");
    let (first, second) = (&prompt["requests"][0], &prompt["requests"][1]);
    assert!(first["prefix"] == 0 && second["percent"].as_u64().unwrap() > 50, "{prompt}");
    assert_eq!(server.post("/api/v1/agents/desk/prompt", &json!({"say": []})).code(), "bad_request");
    let agent = server.get("/api/v1/agents/desk").json();
    assert_eq!(agent["model"], "playbook:playbook.yaml", "{agent}");
}

#[test]
fn the_log_is_searched() {
    let (server, question) = waiting("log");
    approve(&server, &question);
    let log = |query: &str| server.get(&format!("/api/v1/sessions/s/log{query}")).json();
    let kinds = |log: &Value| -> Vec<String> {
        let rows = log["records"].as_array().unwrap().iter();
        rows.map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&log("?kind=decide")), ["decide"]);
    assert_eq!(kinds(&log("?text=CHANGE%20the")), ["user"]);
    let first = log("?kind=ended&limit=1");
    let next = log(&format!("?kind=ended&limit=1&after={}", first["next"]));
    assert_eq!(kinds(&next), ["ended"], "{next}");
    assert!(next["records"][0]["record"].as_u64() > first["records"][0]["record"].as_u64(), "{first} {next}");
    assert_eq!(log("?kind=ended&limit=1000")["next"], json!(null));
}

#[test]
fn a_late_decision_shows_the_changes_since_the_question() {
    let record = super::client::folder("look-record").join("record.json");
    std::fs::write(&record, r#"{"sum": 100, "pays": "card"}"#).unwrap();
    let server = Server::with_env("look", &["--agents", AGENTS], &[("DESK_RECORD", record.to_str().unwrap())]);
    server.post("/api/v1/sessions", &json!({"agent": "desk", "id": "s"}));
    let said = server.say("s", "change the order");
    let path = format!("/api/v1/questions/{}", said["turn"]["waiting"][0].as_str().unwrap());
    super::client::wait_for("the question shows what is there", || {
        server.get(&path).json()["view"]["calls"][0]["rows"].to_string().contains("\"before\"")
    });
    let same = server.post(&format!("{path}/look"), &json!({})).json();
    assert_eq!((&same["changed"], &same["rows"]), (&json!(false), &json!([])), "{same}");
    std::fs::write(&record, r#"{"sum": 90, "pays": "card"}"#).unwrap();
    let look = server.post(&format!("{path}/look"), &json!({})).json();
    let row = &look["rows"][0];
    assert_eq!((&look["changed"], &row["label"]), (&json!(true), &json!("Sum")), "{look}");
    assert_eq!((&row["shown"], &row["now"]), (&json!("100"), &json!("90")), "{look}");
    assert_eq!(server.get(&path).json()["status"], "requested", "nothing is decided");
}
