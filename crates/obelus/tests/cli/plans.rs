//! `plan run`: its output and its end.

use serde_json::{Value, json};

use crate::support::{Folder, find, obelus};

/// Tools in jq: `find` returns its parameter, `tell` returns a text, `fail` fails.
const TOOLS: &str = r#"
activities:
  find: {jq: .call.what}
  tell: {jq: '"told \(.call.of)"'}
  fail: {jq: 'error("no luck")'}
context:
  - type: tool
    tool:
      find: {type: object, properties: {what: {}}, x-effect: read, x-trust: trusted}
      tell: {type: object, properties: {of: {}}, x-effect: read, x-trust: trusted}
      fail: {type: object, properties: {}, x-effect: read, x-trust: trusted}
"#;

fn plan(folder: &Folder, calls: &str) -> String {
    folder.file("plan.yaml", format!("{TOOLS}  - type: plan\n    plan:\n{calls}"))
}

#[test]
fn each_call_is_printed_with_its_result() {
    let folder = Folder::new("plan-results");
    let file = plan(
        &folder,
        "      - {_tool: find, what: {title: Окна}, _outputPath: †state.deal}
      - {_tool: tell, of: †state.deal.title, _outputPath: †state.words}
      - {_tool: tell, of: 1, _outputPath: †state.list, _outputMethod: push}
      - {_tool: tell, of: 2, _outputPath: †state.list, _outputMethod: push}\n",
    );
    let ran = obelus(&["plan", "run", &file]).exits(0);
    ran.prints("✓ find: {\"title\":\"Окна\"}").prints("✓ tell: told Окна");
    let store = folder.path("store");
    // A saved session has the same results.
    for _ in 0..2 {
        let ran = obelus(&["plan", "run", &file, "--session", "s", "--store", &store, "--json"]).exits(0).json();
        let results: Vec<&Value> = ran["calls"].as_array().unwrap().iter().map(|row| &row["result"]).collect();
        assert_eq!(results, [&json!({"title": "Окна"}), &json!("told Окна"), &json!("told 1"), &json!("told 2")]);
    }
}

#[test]
fn a_call_skipped_for_a_missing_value_is_a_failure_with_the_reference() {
    let folder = Folder::new("plan-skipped");
    for (first, reason) in [
        ("find, what: {title: Окна}", "†state.deal.owner has no value: call 0 `find` did not bring it"),
        ("fail", "†state.deal.owner has no value: call 0 `fail` failed"),
    ] {
        let calls = format!(
            "      - {{_tool: {first}, _outputPath: †state.deal}}
      - {{_tool: tell, of: †state.deal.owner, _outputPath: †state.words}}
      - {{_tool: tell, of: †state.words, _outputPath: †state.more}}\n"
        );
        let file = plan(&folder, &calls);
        let skipped = "– tell: skipped: earlier steps gave no value for it";
        obelus(&["plan", "run", &file]).exits(1).prints(&format!("{skipped} (PLAN-4: {reason})"));
        let skipped = "– tell: пропущено: нет данных от предыдущих шагов (PLAN-4: †state.deal.owner)";
        obelus(&["plan", "run", &file, "--lang", "ru"]).exits(1).prints(skipped);
        let rows = obelus(&["plan", "run", &file, "--json"]).exits(1).json()["calls"].clone();
        assert_eq!((&rows[1]["status"], &rows[1]["reason"]), (&json!("skipped"), &json!(reason)));
        assert_eq!(rows[2]["reason"], "†state.words has no value: call 1 `tell` was skipped");
    }
}

#[test]
fn a_call_on_an_unchosen_branch_is_not_a_failure() {
    let folder = Folder::new("plan-branch");
    let file = plan(
        &folder,
        "      - {_tool: find, what: 1, _outputPath: †state.found || †state.missing}
      - {_tool: tell, of: †state.found, _outputPath: †state.a}
      - {_tool: tell, of: †state.missing, _outputPath: †state.b}
      - {_tool: tell, of: †state.b, _outputPath: †state.c}\n",
    );
    let rows = obelus(&["plan", "run", &file, "--json"]).exits(0).json()["calls"].clone();
    let states: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["status"]).collect();
    assert_eq!(states, ["done", "done", "skipped", "skipped"]);
    assert_eq!(rows[2]["reason"], "†state.missing has no value: call 0 `find` chose another path");
}

/// LOOP-2: the limits are for calls that a model proposes.
#[test]
fn a_plan_of_more_than_a_thousand_calls_runs_completely() {
    let folder = Folder::new("plan-long");
    let calls: String =
        (0..1_100).map(|n| format!("      - {{_tool: find, what: {n}, _outputPath: †state.v{n}}}\n")).collect();
    let rows = obelus(&["plan", "run", &plan(&folder, &calls), "--json"]).exits(0).json()["calls"].clone();
    let rows = rows.as_array().unwrap();
    assert_eq!((rows.len(), rows.iter().filter(|row| row["status"] == "done").count()), (1_100, 1_100));
}

/// PLAN-12: `--input` must fit the schema of the plan's `input`.
#[test]
fn an_input_is_validated_against_its_schema() {
    let folder = Folder::new("plan-input");
    let schema = "{type: object, properties: {town: {type: string}}, required: [town]}";
    let calls = "      - {_tool: tell, of: †input.town, _outputPath: †state.words}\n";
    let text = format!("{TOOLS}  - {{type: input, data: {{}}, schema: {schema}}}\n  - type: plan\n    plan:\n{calls}");
    let file = folder.file("plan.yaml", text);
    let file = file.as_str();
    for command in ["check", "simulate", "graph", "run"] {
        obelus(&["plan", command, file, "--input", "{\"town\": \"Riga\"}"]).exits(0);
        for (input, says) in [
            ("{\"town\": 5}", "--input: CTX-7: `town`: 5 is not of type \"string\""),
            ("{\"twon\": \"Riga\"}", "the input has no `twon`; did you mean `town`?"),
            ("{", "--input is JSON, or @FILE"),
        ] {
            obelus(&["plan", command, file, "--input", input]).exits(2).prints_nothing().says(says);
        }
    }
    let from_file = format!("@{}", folder.file("input.json", "{\"town\": \"Oslo\"}"));
    obelus(&["plan", "run", file, "--input", &from_file]).exits(0).prints("tell: told Oslo");
    obelus(&["plan", "run", file]).exits(2).says("plan.yaml:15:27: PLAN-4").says("†input.town has no value");
    obelus(&["run", file, "--input", "{\"town\": 5}"]).exits(2).prints_nothing().says("is not of type \"string\"");
    // A session refuses another input.
    let store = folder.path("store");
    let run = |input: &str| obelus(&["plan", "run", file, "--input", input, "--session", "s", "--store", &store]);
    run("{\"town\": \"Riga\"}").exits(0);
    run("{\"town\": \"Riga\"}").exits(0).prints("told Riga");
    run("{\"town\": \"Oslo\"}").exits(2).prints_nothing().says("it was made with another input");
}

/// PLAN-11: values that depend on another call are shown as written, and each call says who carries it out.
#[test]
fn a_dry_run_shows_known_values_and_the_executor_of_each_call() {
    let folder = Folder::new("plan-dry");
    let text = "context:
  - {type: input, data: {k: bob}}
  - type: tool
    tool:
      find: {type: object, properties: {q: {}}, x-effect: read, x-trust: trusted}
      send: {type: object, properties: {to: {}, by: {}}, x-effect: delete, x-trust: trusted, _activity: post}
      sum: {type: object, properties: {of: {}}, x-effect: read, _output: {type: string}}
      hand: {type: object, properties: {}, x-effect: read, _delegate: anonymous}
  - type: plan
    plan:
      - {_tool: find, q: †input.k, _outputPath: †state.f}
      - {_tool: send, to: †state.f || †input.k, by: '{†input.k}, {†state.f}', _outputPath: †state.s}
      - {_tool: sum, of: †input.none || †input.k, _outputPath: †state.t}
      - {_tool: hand, _outputPath: †state.h}
activities: {find: {jq: '1'}, post: {jq: '2'}}
";
    let file = folder.file("plan.yaml", text);
    let calls = obelus(&["plan", "simulate", &file, "--json"]).exits(0).json()["calls"].clone();
    assert_eq!(calls[1]["params"], json!({"to": "†state.f || †input.k", "by": "bob, {†state.f}"}));
    assert_eq!((&calls[0]["params"], &calls[2]["params"]), (&json!({"q": "bob"}), &json!({"of": "bob"})));
    let by: Vec<&Value> = calls.as_array().unwrap().iter().map(|row| &row["by"]).collect();
    assert_eq!(by, ["the activity `find`", "the activity `post`", "the model itself", "the delegate `anonymous`"]);
    obelus(&["plan", "simulate", &file]).exits(0).prints("by the activity `post`").prints("by the model itself");
    // `plan check` prints the verdict of the policy, as text and as JSON.
    obelus(&["plan", "check", &file]).exits(0).prints("find → †state.f   allow").prints("after 0   confirm because ");
    let checked = obelus(&["plan", "check", &file, "--json"]).exits(0).json()["calls"].clone();
    let verdicts: Vec<&Value> = checked.as_array().unwrap().iter().map(|row| &row["verdict"]).collect();
    assert_eq!(verdicts, ["allow", "confirm", "allow", "allow"]);
    assert!(!checked[1]["reasons"].as_array().unwrap().is_empty(), "{checked}");
}

/// PLAN-5: a call that replaces a value conflicts with one that writes into it.
#[test]
fn unordered_writes_to_one_path_cause_a_warning() {
    let folder = Folder::new("plan-rivals");
    for (second, third, is_warned) in [
        ("{_tool: find, what: 1, _outputPath: †state.y.k}", "{_tool: find, what: 1, _outputPath: †state.y}", true),
        ("{_tool: find, what: 1, _outputPath: †state.y.k}", "{_tool: find, what: 1, _outputPath: †state.x}", false),
        (
            "{_tool: find, what: 1, _outputPath: †state.y.k}",
            "{_tool: find, what: †state.y.k, _outputPath: †state.y}",
            false,
        ),
        (
            "{_tool: find, what: 1, _outputPath: †state.y.k}",
            "{_tool: find, what: 1, _outputPath: †state.y, _outputMethod: merge}",
            false,
        ),
    ] {
        let file = plan(&folder, &format!("      - {second}\n      - {third}\n"));
        let warnings = obelus(&["plan", "check", &file, "--json"]).exits(0).json()["warnings"].to_string();
        let words = "call 1 writes †state.y, and call 0 †state.y.k in it, in no order";
        assert_eq!(warnings.contains(words), is_warned, "{third}: {warnings}");
    }
}

/// PLAN-12: a session can be exported as a plan; values that the user named become its input.
#[test]
fn the_calls_of_a_session_are_exported_as_a_plan_with_inputs() {
    let folder = Folder::new("plan-export");
    folder.file(
        "p.yaml",
        "rules:
  - user: Olga
    when: .requests == 1
    answer:
      say: at it
      calls:
        - {_tool: find, name: Olga, _outputPath: †state.person}
        - {_tool: send, to: †state.person.email, text: Good morning, _outputPath: †state.sent}
        - {_tool: send, to: me@example.test, text: 'to {†state.person.email}'}
        - {_tool: sum, of: short, _output: frozen, _outputPath: †state.sum}
        - {_tool: fail, _outputPath: †state.failed}
otherwise: {answer: {say: done}}
",
    );
    let agent = folder.file(
        "agent.yaml",
        "name: x
model: playbook:p.yaml
mode: full
tools:
  find: {type: object, properties: {name: {type: string}}, x-effect: read, x-trust: trusted}
  send: {type: object, properties: {to: {}, text: {type: string}}, x-effect: create, x-trust: trusted, x-target: []}
  sum: {type: object, properties: {of: {}}, x-effect: read, x-trust: trusted, _output: {type: string}}
  fail: {type: object, properties: {}, x-effect: read, x-trust: trusted}
activities:
  find: {jq: '{email: (.call.name + \"@example.test\")}'}
  send: {jq: '\"sent \" + .call.text + \" to \" + .call.to'}
  fail: {jq: 'error(\"no luck\")'}
",
    );
    let (store, out) = (folder.path("store"), folder.path("routine.json"));
    let export = ["sessions", "export", "s", "--plan", "--out", &out, "--store", &store];
    obelus(&["run", &agent, "--say", "Wish Olga a good morning", "--session", "s", "--store", &store]).exits(0);
    let said = obelus(&export).exits(0);
    assert!(!said.stderr.contains("relative paths"), "{}", said.stderr);
    let elsewhere = folder.path("elsewhere/routine.json");
    std::fs::create_dir_all(folder.path("elsewhere")).unwrap();
    obelus(&["sessions", "export", "s", "--plan", "--out", &elsewhere, "--store", &store])
        .exits(0)
        .says("save the plan there (--out ")
        .says("/routine.json)");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let find = |kind: &str| {
        let messages = written["context"].as_array().unwrap();
        messages.iter().find(|message| message["type"] == kind).unwrap().clone()
    };
    let calls = json!([
        {"_tool": "sum", "of": "short", "_outputPath": "†state.sum"},
        {"_tool": "find", "name": "†input.name", "_outputPath": "†state.person"},
        {"_tool": "send", "to": "†state.person.email", "text": "†input.text", "_outputPath": "†state.sent"},
        {"_tool": "send", "to": "me@example.test", "text": "to {†state.person.email}"},
    ]);
    assert_eq!(find("plan")["plan"], calls);
    let input = find("input");
    assert_eq!(input["data"], json!({"name": "Olga", "text": "Good morning"}));
    assert_eq!(input["schema"]["required"], json!(["name", "text"]));
    // The plan runs with another input, which must fit the schema.
    let run = |input: &str| obelus(&["plan", "run", &out, "--input", input]);
    run(r#"{"name": "Anna", "text": "Hello"}"#).prints("send: sent Hello to Anna@example.test");
    run(r#"{"name": 5}"#).exits(2).says("is not of type \"string\"");
    obelus(&export).exits(2).says("routine.json: the file exists already, and was not changed; name another one");
    obelus(&["sessions", "export", "none", "--plan", "--store", &store]).exits(2).says("none");
}

/// PLAN-12: a call goes into the plan with its own method, and the plan leaves the state that the session left.
#[test]
fn an_exported_call_writes_its_result_as_it_did_in_the_session() {
    let folder = Folder::new("plan-export-methods");
    let call = |tool: &str| format!("{{_tool: {tool}, x: 1}}");
    let calls = ["a", "b", "c"].map(call).join(", ");
    folder.file(
        "p.yaml",
        format!(
            "rules:\n  - when: .requests == 1\n    answer: {{calls: [{calls}]}}\notherwise: {{answer: {{say: done}}}}\n"
        ),
    );
    let tool = |metas: &str| {
        format!("{{type: object, properties: {{x: {{type: integer}}{metas}}}, x-effect: read, x-trust: trusted}}")
    };
    let file = folder.file(
        "agent.yaml",
        format!(
            "name: x\nmodel: playbook:p.yaml\nmode: full\ntools:\n  a: {}\n  b: {}\n  c: {}\n\
             activities: {{a: {{jq: '{{v: 1}}'}}, b: {{jq: '2'}}, c: {{jq: '3'}}}}\n",
            tool(", _outputPath: {const: †state.a}"),
            tool(", _outputPath: {const: †state.b}, _outputMethod: {const: push}"),
            tool(""),
        ),
    );
    let (store, out) = (folder.path("store"), folder.path("plan.json"));
    let ran = obelus(&["run", &file, "--say", "go", "--session", "s", "--store", &store, "--json"]).exits(0).json();
    obelus(&["sessions", "export", "s", "--plan", "--out", &out, "--store", &store]).exits(0);
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let planned = &written["context"].as_array().unwrap().last().unwrap()["plan"];
    let call = |tool: &str| json!({"_tool": tool, "x": 1});
    assert_eq!(planned, &json!([call("a"), call("b"), call("c")]));
    let again = obelus(&["plan", "run", &out, "--json"]).exits(0).json();
    let state = json!({"a": {"v": 1}, "b": [2]});
    assert_eq!((find(&ran["context"], "†state"), find(&again["context"], "†state")), (state.clone(), state));
}
