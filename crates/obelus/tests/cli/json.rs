//! With `--json`, stdout is exactly one JSON document with the documented fields.

use serde_json::{Value, json};

use crate::support::{Folder, Ran, command, obelus, run};

/// The document, which is on one line.
#[track_caller]
fn document(ran: &Ran) -> Value {
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    ran.json()
}

#[track_caller]
fn fields(document: &Value) -> Vec<&str> {
    document.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn resolve_has_a_value_an_absence_or_an_error() {
    let folder = Folder::new("json-resolve");
    let context = folder.file("context.json", r#"[{"type": "state", "data": {"a": null, "b": [1, "†"]}}]"#);
    let resolve = |expr: &str| obelus(&["resolve", &context, expr, "--json"]);
    assert_eq!(document(&resolve("†state.b").exits(0)), json!({"value": [1, "†"]}));
    assert_eq!(document(&resolve("†state.nothing").exits(1)), json!({"absent": true}));
    for (ran, part) in [
        (resolve("†state."), "CTX-12: column 8"),
        (obelus(&["resolve", &folder.path("nowhere.json"), "†state", "--json"]), "there is no such file"),
        (obelus(&["resolve", &folder.file("bad.json", "[5]"), "†state", "--json"]), "CTX-3: message 0"),
    ] {
        let answer = document(&ran.exits(2));
        assert_eq!(fields(&answer), ["error"]);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(part)), "{answer}");
    }
}

#[test]
fn every_character_of_a_value_is_printed() {
    let folder = Folder::new("json-characters");
    let text = "a\u{1b}[31m\u{7f}\u{9b}2J\u{202e}\u{e0001}\u{0}\n†ж😀";
    let context = folder.file("context.json", json!([{"type": "state", "data": {"a": text}}]).to_string());
    for color in ["--color=always", "--color=never"] {
        let ran = obelus(&["resolve", &context, "†state.a", "--json", color]).exits(0);
        assert_eq!(document(&ran), json!({"value": text}));
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stdout.contains(steers), "{:?}", ran.stdout);
    }
}

#[test]
fn plan_check_has_waves_edges_errors_and_warnings() {
    let answer = document(&obelus(&["plan", "check", "examples/branches/plan.yaml", "--json"]).exits(0));
    assert_eq!(fields(&answer), ["valid", "waves", "edges", "errors", "warnings", "calls"]);
    assert_eq!((&answer["valid"], &answer["waves"]), (&json!(true), &json!([[0], [1, 2], [3]])));
    let edges = json!([
        [0, 1, "†state.price"],
        [0, 2, "†state.trouble.message"],
        [1, 3, "†state.ordered"],
        [2, 3, "†state.sorry"],
    ]);
    assert_eq!(answer["edges"], edges);

    let folder = Folder::new("json-check");
    let file = folder.file("plan.json", r#"[{"type": "plan", "plan": [{"_tool": "nobody"}]}]"#);
    let answer = document(&obelus(&["plan", "check", &file, "--json"]).exits(1));
    assert_eq!((&answer["valid"], &answer["errors"][0]["rule"]), (&json!(false), &json!("CALL-3")));
    assert_eq!(answer["errors"][0]["call"], json!(0));
    assert!(answer["errors"][0]["message"].as_str().is_some_and(|text| text.contains("unknown tool `nobody`")));
}

#[test]
fn plan_graph_has_nodes_and_edges() {
    let answer = document(&obelus(&["plan", "graph", "examples/exec/plan.yaml", "--format", "json"]).exits(0));
    assert_eq!(answer["nodes"].as_array().map(Vec::len), Some(3));
    assert_eq!(answer["edges"][0], json!({"from": 1, "to": 0, "path": "†state.average"}));
}

#[test]
fn simulate_has_the_check_the_calls_and_the_branches() {
    let answer = document(&obelus(&["plan", "simulate", "examples/branches/plan.yaml", "--json"]).exits(0));
    assert_eq!(fields(&answer), ["valid", "waves", "edges", "errors", "warnings", "calls", "branches"]);
    assert_eq!((&answer["calls"][0]["tool"], &answer["calls"][0]["verdict"]), (&json!("ask_price"), &json!("allow")));
    let shadow = obelus(&["plan", "simulate", "examples/branches/plan.yaml", "--mode", "shadow", "--json"]);
    assert_ne!(document(&shadow.exits(0))["calls"][1]["verdict"], "allow");
}

#[test]
fn run_has_schema_context_and_solution() {
    let answer = document(&obelus(&["run", "examples/delegate/request.yaml", "--json"]).exits(0));
    assert_eq!(answer["schema"], json!({"type": "string"}));
    let output = "Scratched window, two letters unanswered, a discount is wanted.";
    assert_eq!((&answer["solution"]["output"], &answer["ends"]), (&json!(output), &json!("output")));
    assert_eq!(answer["solution"]["calls"][0]["_tool"], "sum_up");
    assert!(answer["context"].as_array().is_some_and(|messages| messages.len() > 3));
    assert_eq!(answer["calls"][0]["status"], "done");
}

/// The output of `run` is a valid request.
#[test]
fn the_output_of_run_can_be_used_as_input() {
    let folder = Folder::new("json-again");
    let ran = obelus(&["plan", "run", "examples/batch/plan.yaml", "--json"]).exits(0);
    let file = folder.file("again.json", &ran.stdout);
    let ran = obelus(&["resolve", &file, "†state.invoice.total", "--instance", "anna", "--json"]);
    assert_eq!(document(&ran.exits(0)), json!({"value": 1800.0}));
}

#[test]
fn run_reports_why_its_model_cannot_be_asked() {
    let folder = Folder::new("json-degraded");
    let request = folder.file("request.json", r#"[{"role": "user", "text": "hi"}]"#);
    let ran = obelus(&["run", &request, "--json"]).exits(1);
    let answer = document(&ran);
    assert_eq!((&answer["ends"], &answer["reason"]["code"]), (&json!("degraded"), &json!("no_model")));
    assert_eq!(answer["solution"]["output"], Value::Null);
}

#[test]
fn plan_run_has_a_status_for_each_call() {
    let answer = document(&obelus(&["plan", "run", "examples/branches/plan.yaml", "--json"]).exits(0));
    let calls = answer["calls"].as_array().expect("calls");
    let seen: Vec<_> = calls.iter().map(|call| (call["call"]["_tool"].as_str(), call["status"].as_str())).collect();
    let expected = [("ask_price", "done"), ("order", "skipped"), ("apologise", "done"), ("tell", "done")];
    assert_eq!(seen, expected.map(|(tool, status)| (Some(tool), Some(status))));

    let folder = Folder::new("json-plan-run");
    let file = folder.file("activities.yaml", "read_numbers: {exec: [sh, -c, 'exit 7']}");
    let ran = obelus(&["plan", "run", "examples/exec/plan.yaml", "--activities", &file, "--json"]).exits(1);
    let answer = document(&ran);
    assert_eq!(answer["calls"][2]["status"], "failed");
    let error = &answer["calls"][2]["error"];
    assert!(error.to_string().contains("exit_7"), "{error}");
}

#[test]
fn vectors_count_and_list() {
    let folder = Folder::new("json-vectors");
    let good = r#"{"kind": "resolve", "name": "good", "context": [{"type": "state", "data": {"a": 1}}],
        "checks": [{"expr": "†state.a", "value": 1}]}"#;
    let bad = good.replace("good", "bad").replace("\"value\": 1", "\"value\": 2");
    let file = folder.file("cases.json", format!("[{good}, {bad}]"));
    let answer = document(&obelus(&["vectors", &file, "--json"]).exits(1));
    assert_eq!((&answer["passed"], &answer["failed"]), (&json!(1), &json!(1)));
    let cases = json!([
        {"file": file, "name": "good", "ok": true, "why": []},
        {"file": file, "name": "bad", "ok": false, "why": ["†state.a: 1"]},
    ]);
    assert_eq!(answer["cases"], cases);
    document(&obelus(&["vectors", "vectors", "--json"]).exits(0));
}

#[test]
fn agents_are_listed_shown_and_checked() {
    let folder = Folder::new("json-agents");
    folder.file("agents/good/agent.yaml", "name: good\ndescription: Does good");
    folder.file("agents/faulty/agent.yaml", "name: faulty\ncolour: red");
    let agents =
        |args: &[&str]| run(command(&[&["agents"], args].concat()).env("OBELUS_AGENTS", folder.path("agents")), b"");

    let listed = document(&agents(&["list", "--json"]).exits(0));
    assert_eq!((&listed[0]["ok"], &listed[0]["problems"]), (&json!(false), &json!(1)));
    assert_eq!((&listed[1]["name"], &listed[1]["description"]), (&json!("good"), &json!("Does good")));

    let shown = document(&agents(&["show", "examples/steps", "--json"]).exits(0));
    assert_eq!((&shown["name"], &shown["mode"]), (&json!("steps"), &json!("full")));
    assert_eq!(shown["tools"][0], json!({"name": "book", "effect": "create", "trusted": true}));
    assert_eq!(shown["graph"].as_array().map(Vec::len), Some(5));

    assert_eq!(
        document(&agents(&["check", "good", "--json"]).exits(0)),
        json!({"ok": true, "problems": [], "notes": []})
    );
    let checked = document(&agents(&["check", "--json"]).exits(1));
    let (problem, file) = (&checked["problems"][0], folder.path("agents/faulty/agent.yaml"));
    assert_eq!((&checked["ok"], &problem["file"]), (&json!(false), &json!(file)));
    assert_eq!((&problem["line"], &problem["column"]), (&json!(2), &json!(1)));

    let prompt = document(&agents(&["prompt", "examples/steps", "--say", "hi", "--json"]).exits(0));
    assert!(prompt["messages"].as_array().is_some_and(|messages| !messages.is_empty()));
}

#[test]
fn prompt_figures_include_the_prefix_shared_with_the_previous_request() {
    let figures = ["agents", "prompt", "examples/steps", "--say", "hi", "--say", "and now?", "--stats"];
    let counted = document(&obelus(&[&figures[..], &["--json"]].concat()).exits(0));
    let [first, second] = &counted["requests"].as_array().expect("a list")[..] else { panic!("not two: {counted}") };
    let number = |request: &Value, name: &str| request[name].as_u64().expect("a number");
    assert_eq!((number(first, "prefix"), number(first, "percent")), (0, 0), "there is no request before");
    assert!(number(second, "chars") > number(first, "chars"), "the words are added: {counted}");
    let (chars, prefix) = (number(second, "chars"), number(second, "prefix"));
    assert!(prefix * 2 > chars && prefix < chars, "instructions and tools stay as they were: {counted}");
    let sum: u64 = [first, second].map(|request| number(request, "chars")).iter().sum();
    assert_eq!(number(&counted["sum"], "chars"), sum);
    let line = format!("request 2: {chars} characters, {prefix} of them ({} %)", number(second, "percent"));
    obelus(&figures).exits(0).prints(&line);
}

/// A plan with a call that fails after its approval.
const FAILING: &str = "
context:
  - type: tool
    tool:
      wipe: {type: object, properties: {}, x-effect: delete, x-trust: trusted}
  - type: plan
    plan: [{_tool: wipe, _outputPath: †state.wiped}]
activities:
  wipe: {exec: [sh, -c, 'echo no such place >&2; exit 4']}
";

#[test]
fn an_error_is_a_document_with_a_code_and_a_refused_answer_ends_with_1() {
    let folder = Folder::new("json-errors");
    let (store, plan) = (folder.path("store"), folder.file("plan.yaml", FAILING));
    let nowhere = folder.path("nowhere.json");
    let fails = |args: &[&str], exit: i32, code: &str| {
        let ran = obelus(args).exits(exit);
        let error = document(&ran)["error"].clone();
        assert_eq!((fields(&error), error["code"].as_str()), (vec!["code", "message"], Some(code)), "{args:?}");
        assert!(ran.stderr.contains(error["message"].as_str().expect("words")), "{args:?}: {}", ran.stderr);
    };
    let waits = obelus(&["plan", "run", &plan, "--mode", "full", "--session", "s", "--store", &store, "--json"]);
    assert_eq!(document(&waits.exits(3))["waiting"][0]["id"], "q1");
    let answer =
        |id: &str, verb: &str| -> [String; 6] { ["answer", id, verb, "--json", "--store", &store].map(str::to_owned) };
    let answer = |id: &str, verb: &str, exit: i32, code: &str| {
        let args = answer(id, verb);
        fails(&args.each_ref().map(String::as_str), exit, code);
    };
    fails(&["sessions", "show", "nosuch", "--json", "--store", &store], 2, "unknown_session");
    fails(&["plan", "check", &nowhere, "--json"], 2, "unreadable");
    fails(&["policy", "explain", "agents/notes", &nowhere, "--json"], 2, "unreadable");
    answer("nosuch:q1", "approve", 2, "unknown_session");
    answer("s:q9", "approve", 2, "unknown_question");
    answer("s:q1", "happened", 1, "unfit_answer");
    let failed = obelus(&["approve", "s:q1", "--json", "--store", &store]).exits(1);
    assert_eq!(document(&failed)["calls"][0]["status"], "failed");
    answer("s:q1", "approve", 1, "already_decided");
}

#[test]
fn doctor_lists_its_checks() {
    let ran = run(command(&["doctor", "--json"]).env("OPENAI_API_KEY", "sk-hush"), b"").exits(0);
    let answer = document(&ran);
    let checks: Vec<_> = answer.as_array().into_iter().flatten().filter_map(|row| row["check"].as_str()).collect();
    assert_eq!(checks, ["obelus", "terminal", "agents", "OPENAI_API_KEY", "node", "Playwright MCP", "Chromium"]);
    for row in answer.as_array().into_iter().flatten() {
        assert!(row["message"].is_string() && row["ok"] == (row["state"] == "ok"), "{row}");
    }
    assert_eq!(
        (&answer[0]["ok"], &answer[1]["ok"], &answer[1]["state"]),
        (&true.into(), &false.into(), &"missing".into())
    );
    assert!(!ran.stdout.contains("sk-hush"));
}

#[test]
fn doctor_says_how_to_install_what_the_operator_needs() {
    let bare = || command(&["doctor"]);
    let ran = run(bare().env("PATH", "/nowhere").env("HOME", "/home/ada").env_remove("XDG_DATA_HOME"), b"").exits(0);
    for words in [
        "missing node",
        "npm install --prefix /home/ada/.local/share/obelus/browser @playwright/mcp@",
        "apt-get install -y --no-install-recommends chromium fonts-liberation",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
}

#[test]
fn doctor_speaks_russian_to_a_russian_user() {
    let mut doctor = command(&["doctor"]);
    let ran = run(doctor.env("LANG", "ru_RU.UTF-8").env("PATH", "/nowhere").env("OBELUS_CHROMIUM", "/no/such"), b"");
    let ran = ran.exits(0);
    for words in [
        "ок     obelus: версия ",
        "нет    терминал: терминала нет: вопросы печатаются, и команда заканчивается с кодом 3",
        "нет    node: в `PATH` нет `node`; нужно агенту `operator`. Установить: apt-get install",
        "OBELUS_CHROMIUM указывает на /no/such, а это не программа",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    // Programs read the same names in every language.
    let rows = document(&run(command(&["doctor", "--json", "--lang", "ru"]).env("PATH", "/nowhere"), b"").exits(0));
    assert_eq!((&rows[1]["check"], &rows[1]["state"]), (&"terminal".into(), &"missing".into()));
}
