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
    obelus(&["plan", "run", &plan, "--session", "deal", "--store", &store]).exits(3).says(line);
    obelus(&["inbox", "--store", &store]).exits(0).prints(line);
    let inbox = obelus(&["inbox", "--json", "--store", &store]).exits(0).json();
    assert_eq!(inbox[0]["changes"][0]["before"], "NEW");
    obelus(&["approve", "deal:q1", "--store", &store]).exits(0);
    let shown = obelus(&["sessions", "show", "deal", "--json", "--store", &store]).exits(0).json();
    let calls: Vec<&str> =
        shown["calls"].as_array().expect("calls").iter().filter_map(|c| c["call"]["_tool"].as_str()).collect();
    assert_eq!(calls, ["update"]);
}
