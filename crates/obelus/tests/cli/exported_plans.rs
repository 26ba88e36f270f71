//! `sessions export --plan` of sessions whose later turns replace what earlier calls read (PLAN-12).

use serde_json::{Value, json};

use crate::support::{Folder, obelus};

const PLAYBOOK: &str = "
- {when: 'any(.results[]; .tool == \"send\")', output: Sent.}
- user: remind (?<n>\\d+)
  answer: {calls: [{_tool: find, number: '{{ m.n }}'}, {_tool: send, phone: †state.inv.phone, text: please pay}]}
- output: what?
";

fn agent(folder: &Folder, policy: &str, more: &str) -> String {
    folder.file("p.yaml", PLAYBOOK);
    folder.file(
        "agent.yaml",
        format!(
            "name: x\nmodel: playbook:p.yaml\nmode: full\n{policy}
tools:
  find: {{type: object, properties: {{number: {{type: string}}, _outputPath: {{const: †state.inv}}}}, x-effect: read, x-trust: trusted}}
  send:
    type: object
    properties: {{phone: {{type: string}}, text: {{type: string}}, _outputPath: {{const: †state.sent}}, _outputMethod: {{const: push}}}}
    x-effect: create
    x-trust: trusted
activities:
  find: {{jq: '{{\"17\": {{phone: \"+7-OLGA\"}}, \"18\": {{phone: \"+7-BORIS\"}}}}[.call.number]'}}
  send: {more}
"
        ),
    )
}

/// The calls of an exported plan.
fn exported(folder: &Folder, store: &str) -> Value {
    let out = folder.path("plan.json");
    obelus(&["sessions", "export", "s", "--plan", "--out", &out, "--store", store]).exits(0);
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    written["context"].as_array().unwrap().last().unwrap()["plan"].clone()
}

const SENDS: &str = "{jq: '\"sent to \" + .call.phone'}";

/// A plan has no order but its references, so the later result has a path of its own.
#[test]
fn a_later_turn_that_writes_the_same_path_has_another_path_in_the_exported_plan() {
    let folder = Folder::new("export-turns");
    let (agent, store) = (agent(&folder, "", SENDS), folder.path("store"));
    for words in ["remind 17", "remind 18"] {
        obelus(&["run", &agent, "--say", words, "--session", "s", "--store", &store]).exits(0);
    }
    let find = |number: &str, path: &str| json!({"_tool": "find", "number": number, "_outputPath": path});
    let send = |phone: &str| json!({"_tool": "send", "phone": phone, "text": "please pay"});
    let calls = json!([
        find("†input.number", "†state.inv"),
        send("†state.inv.phone"),
        find("†input.number2", "†state.inv_2"),
        send("†state.inv_2.phone"),
    ]);
    assert_eq!(exported(&folder, &store), calls);
    let plan = folder.path("plan.json");
    obelus(&["plan", "check", &plan]).exits(0).prints("sound: 4 calls in 2 waves, 2 edges");
    obelus(&["plan", "run", &plan]).exits(0).prints("sent to +7-OLGA").prints("sent to +7-BORIS");
}

/// A call that waited for a person while a later turn went on reads what it was shown with.
#[test]
fn an_exported_call_reads_the_value_that_it_was_approved_with() {
    let folder = Folder::new("export-late");
    let (agent, store) = (agent(&folder, "policy: {confirm: [send]}", SENDS), folder.path("store"));
    for words in ["remind 17", "remind 18"] {
        obelus(&["run", &agent, "--say", words, "--session", "s", "--store", &store]).exits(3);
    }
    obelus(&["approve", "s:q1", "--store", &store]);
    // A reference that the person did not change stays a reference.
    obelus(&["answer", "s:q2", "edit", "--params", r#"{"text": "x"}"#, "--store", &store]).exits(0);
    let calls = exported(&folder, &store);
    assert_eq!((&calls[2]["phone"], &calls[2]["text"]), (&json!("†state.inv.phone"), &json!("please pay")));
    assert_eq!((&calls[3]["phone"], &calls[3]["text"]), (&json!("†state.inv_2.phone"), &json!("x")));
    let why = obelus(&["sessions", "show", "s", "--why", "state.sent", "--store", &store]).exits(0).stdout;
    assert!(why.contains("text: x  changed by a person"), "{why}");
    let edited = why.split("changed by a person").next().unwrap();
    assert!(edited.contains("phone: †state.inv.phone"), "{why}");
    assert!(edited.contains("← the step «find»"), "{why}");
}

/// A person said that an effect in doubt happened, and not with what result.
#[test]
fn an_effect_that_happened_without_a_known_result_is_exported() {
    let folder = Folder::new("export-happened");
    let more = "{exec: [sh, -c, 'kill -9 $PPID; sleep 1']}";
    let (agent, store) = (agent(&folder, "", more), folder.path("store"));
    obelus(&["run", &agent, "--say", "remind 17", "--session", "s", "--store", &store]);
    obelus(&["answer", "s:q1", "happened", "--store", &store]);
    let calls = json!([
        {"_tool": "find", "number": "†input.number"},
        {"_tool": "send", "phone": "†state.inv.phone", "text": "please pay"},
    ]);
    assert_eq!(exported(&folder, &store), calls);
}

/// A server's strict mode makes a model write every field: null means that it is absent.
#[test]
fn a_call_with_a_null_path_keeps_its_references_in_the_exported_plan() {
    let folder = Folder::new("export-null");
    let (agent, store) = (agent(&folder, "", SENDS), folder.path("store"));
    for (name, from, to) in [
        (
            "agent.yaml",
            "text: {type: string}, _outputPath: {const: †state.sent}, _outputMethod: {const: push}",
            "text: {type: string}, _outputPath: {type: string}",
        ),
        ("p.yaml", "text: please pay}", "text: please pay, _outputPath: null}"),
        ("p.yaml", "when: 'any(.results[]; .tool == \"send\")'", "when: 'any(.results[]; .tool == \"find\")'"),
    ] {
        let text = std::fs::read_to_string(folder.path(name)).unwrap();
        assert!(text.contains(from), "{text}");
        folder.file(name, text.replace(from, to));
    }
    obelus(&["run", &agent, "--say", "remind 17", "--session", "s", "--store", &store]).exits(0);
    let calls = json!([
        {"_tool": "find", "number": "†input.number"},
        {"_tool": "send", "phone": "†state.inv.phone", "text": "please pay"},
    ]);
    assert_eq!(exported(&folder, &store), calls);
}
