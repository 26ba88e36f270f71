//! Schemathesis calls every operation of the API with valid and invalid values: no answer is a server error, and all
//! answers fit the description.

use std::process::Command;

use serde_json::{Value, json};

use super::{Server, environment, run, scripts};

/// Existing sessions: some have a question, some will be removed.
const SESSIONS: usize = 10;
/// Generated examples per operation.
const EXAMPLES: &str = "6";

/// Sends a JSON request and returns the JSON answer.
fn call(server: &Server, token: &str, path: &str, body: Option<&Value>) -> Value {
    let mut script = Command::new("python3");
    let text = "import json,sys,urllib.request as u
a,t,b=sys.argv[1:]
h={'authorization':'Bearer '+t,'content-type':'application/json'}
print(u.urlopen(u.Request(a,data=b.encode() or None,headers=h)).read().decode())";
    script.args(["-c", text, &format!("{}{path}", server.address), token]);
    script.arg(body.map(Value::to_string).unwrap_or_default());
    let output = script.output().expect("python3");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{path}: {error}"))
}

/// Creates sessions with and without questions; returns their ids.
fn seed(server: &Server, token: &str) -> Value {
    let names = |letter: &str| (0..SESSIONS).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
    let (sessions, spare) = (names("s"), names("g"));
    for id in sessions.iter().chain(&spare) {
        call(server, token, "/api/v1/sessions", Some(&json!({"agent": "notes", "id": id})));
    }
    for id in &sessions {
        let words = json!({"text": "ask Anna to call the customer", "wait": true});
        call(server, token, &format!("/api/v1/sessions/{id}/messages"), Some(&words));
    }
    let questions = call(server, token, "/api/v1/questions", None);
    let questions: Vec<&Value> = questions.as_array().unwrap().iter().map(|question| &question["id"]).collect();
    json!({"sessions": sessions, "spare": spare, "questions": questions})
}

/// The operations of the API, and those left out because their answers do not end.
fn operations(api: &Value) -> (Vec<String>, Vec<String>) {
    let (mut calls, mut endless) = (Vec::new(), Vec::new());
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, call) in methods.as_object().unwrap() {
            let responses = &call["responses"];
            let is_stream =
                responses["200"]["content"].get("text/event-stream").is_some() || responses.get("101").is_some();
            if is_stream { endless.push(path.clone()) } else { calls.push(format!("{} {path}", method.to_uppercase())) }
        }
    }
    (calls, endless)
}

#[test]
fn every_operation_answers_as_the_description_says() {
    let server = Server::start("schemathesis");
    let (token, store) = (server.token("admin"), server.store.clone());
    let seeded = seed(&server, &token);
    let api = call(&server, &token, "/api/openapi.json", None);
    let (calls, endless) = operations(&api);
    let python = environment("schemathesis", "schemathesis-requirements.txt");
    let answered = store.join("answered.json");
    let mut program = Command::new(python);
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    program.args(["-m", "schemathesis.cli", "run", &format!("{}/api/openapi.json", server.address)]);
    program.args(["-H", &format!("Authorization: Bearer {token}"), "--phases", "coverage,fuzzing", "-c", checks]);
    program.args(["-n", EXAMPLES, "--seed", "1", "--no-shrink", "--suppress-health-check", "all", "--warnings", "off"]);
    program.args(["--request-timeout", "30"]);
    for path in &endless {
        program.args(["--exclude-path", path]);
    }
    program.env("SCHEMATHESIS_HOOKS", "schemathesis_hooks").env("PYTHONPATH", scripts()).current_dir(&store);
    program.env("PYTHONDONTWRITEBYTECODE", "1").env("ANSWERED", &answered).env("SEEDED", seeded.to_string());
    run("schemathesis", &mut program);

    let answered: Value = serde_json::from_str(&std::fs::read_to_string(answered).unwrap()).unwrap();
    // The agent of this test has neither a record to read again nor a page with a picture.
    let is_elsewhere = |call: &str| call.ends_with("/look") || call.ends_with("/picture");
    for call in calls.into_iter().filter(|call| !is_elsewhere(call)) {
        let statuses = answered[&call].as_object().unwrap_or_else(|| panic!("{call} was not called"));
        let reached = statuses.keys().any(|status| !["400", "401", "404", "405", "415"].contains(&status.as_str()));
        assert!(reached, "{call} was never reached: {statuses:?}");
    }
}
