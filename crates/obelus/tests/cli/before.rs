//! Questions show present and new values.

use crate::support::{Folder, obelus};

const PLAN: &str = "
context:
  - type: tool
    tool:
      get: {type: object, properties: {id: {}}, x-effect: read}
      update:
        type: object
        properties: {id: {type: integer}, fields: {type: object}}
        x-effect: update
        x-risky: [fields.STAGE]
        x-before: {tool: get, params: {id: id}, fields: fields}
  - type: plan
    plan:
      - {_tool: update, id: 7, fields: {STAGE: WON}, _outputPath: †state.done}
activities:
  get: {exec: [sh, -c, 'echo \"{\\\"stage\\\": \\\"NEW\\\", \\\"id\\\": 7}\"']}
  update: {jq: '\"ok\"'}
";

#[test]
fn a_question_shows_current_values_beside_new_ones() {
    let folder = Folder::new("before");
    let (plan, store) = (folder.file("plan.yaml", PLAN), folder.path("store"));
    let line = "fields.STAGE: now \"NEW\" → \"WON\"";
    let asked = obelus(&["plan", "run", &plan, "--session", "deal", "--store", &store]).exits(3).says(line);
    assert!(!asked.stderr.contains("▸"), "a read for a question is no step: {}", asked.stderr);
    obelus(&["inbox", "--store", &store]).exits(0).prints(line);
    let inbox = obelus(&["inbox", "--json", "--store", &store]).exits(0).json();
    assert_eq!(inbox[0]["changes"][0]["before"], "NEW");
    obelus(&["approve", "deal:q1", "--store", &store]).exits(0);
    let shown = obelus(&["sessions", "show", "deal", "--json", "--store", &store]).exits(0).json();
    let calls: Vec<&str> =
        shown["calls"].as_array().expect("calls").iter().filter_map(|c| c["call"]["_tool"].as_str()).collect();
    assert_eq!(calls, ["update"]);
}

#[test]
fn an_approval_of_a_record_that_has_changed_is_refused_and_shows_the_current_values() {
    let folder = Folder::new("changed");
    let file = folder.file("deal.json", "{\"stage\": \"NEW\", \"id\": 7}");
    let plan = PLAN.replace("'echo \"{\\\"stage\\\": \\\"NEW\\\", \\\"id\\\": 7}\"'", &format!("'cat {file}'"));
    assert!(plan.contains("cat"), "{plan}");
    let (plan, store) = (folder.file("plan.yaml", &plan), folder.path("store"));
    obelus(&["plan", "run", &plan, "--session", "deal", "--store", &store]).exits(3).says("now \"NEW\" → \"WON\"");
    folder.file("deal.json", "{\"stage\": \"LOST\", \"id\": 7}");
    let refused = obelus(&["approve", "deal:q1", "--store", &store]).exits(1);
    refused
        .says("has changed since it was shown (STAGE)")
        .says("now \"LOST\" → \"WON\"")
        .says("obelus approve deal:q1");
    obelus(&["inbox", "--store", &store]).exits(0).prints("now \"LOST\" → \"WON\"");
    obelus(&["approve", "deal:q1", "--store", &store]).exits(0);
}

#[test]
fn an_approval_counts_if_the_record_cannot_be_read_again() {
    let folder = Folder::new("unread");
    let file = folder.file("deal.json", "{\"stage\": \"NEW\", \"id\": 7}");
    let plan = PLAN.replace("'echo \"{\\\"stage\\\": \\\"NEW\\\", \\\"id\\\": 7}\"'", &format!("'cat {file}'"));
    let (plan, store) = (folder.file("plan.yaml", &plan), folder.path("store"));
    obelus(&["plan", "run", &plan, "--session", "deal", "--store", &store]).exits(3);
    std::fs::remove_file(&file).unwrap();
    obelus(&["approve", "deal:q1", "--store", &store]).exits(0);
}

#[test]
fn the_rest_of_a_question_can_be_approved_after_a_part_of_it_has_changed_its_record() {
    let folder = Folder::new("partly");
    let (file, other) = ("{\"stage\": \"NEW\", \"id\": 7}", "{\"stage\": \"NEW\", \"id\": 8}");
    let (file, other) = (folder.file("7.json", file), folder.file("8.json", other));
    let get = format!("'if grep -q 8; then cat {other}; else cat {file}; fi'");
    let plan = PLAN
        .replace("'echo \"{\\\"stage\\\": \\\"NEW\\\", \\\"id\\\": 7}\"'", &get)
        .replace("{jq: '\"ok\"'}", &format!("{{exec: [sh, -c, 'sed -i s/NEW/WON/ {file}; echo 1']}}"))
        .replace("id: 7, fields", "id: †state.id, fields");
    let instances = "  - {type: state, _instance: a, data: {id: 7}}\n  - {type: state, _instance: b, data: {id: 8}}\n";
    let plan = plan.replace("  - type: plan\n", &format!("{instances}  - type: plan\n"));
    let (plan, store) = (folder.file("plan.yaml", &plan), folder.path("store"));
    obelus(&["plan", "run", &plan, "--session", "deal", "--store", &store]).exits(3).says("now \"NEW\" → \"WON\"");
    obelus(&["answer", "deal:q1", "approve", "--only", "1", "--store", &store]).exits(3);
    assert!(std::fs::read_to_string(file).unwrap().contains("WON"));
    obelus(&["approve", "deal:q1", "--store", &store]).exits(0);
}
