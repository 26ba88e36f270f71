//! Saved requests of delegates: what they take from their caller.

use crate::support::{Folder, obelus};

const AGENT: &str = "name: desk\nmode: full\nmodel: playbook:answers.yaml\ntools:\n  \
    sum_up: {type: object, properties: {text: {type: string}, _delegate: {const: summary.yaml}}, x-effect: read}\n\
    activities: {count: {jq: '.call.text | length'}}\n";
const SUMMARY: &str = "schema: {type: integer}\ncontext:\n- type: tool\n  tool:\n    \
    count: {type: object, properties: {text: {type: string}}, x-effect: read}\n";
const ANSWERS: &str = "- {when: '.kinds.input != null', answer: {calls: [{_tool: count, text: abc, _outputPath: †state.n}]}}\n\
    - answer: {calls: [{_tool: sum_up, text: abc, _outputPath: †state.n}]}\n";

#[test]
fn a_check_knows_the_tools_of_delegates_that_a_playbook_calls() {
    let folder = Folder::new("saved-tools");
    let agent = folder.file("desk/agent.yaml", AGENT);
    folder.file("desk/summary.yaml", SUMMARY);
    folder.file("desk/answers.yaml", ANSWERS);
    let ran = obelus(&["agents", "check", &agent]).exits(0);
    assert!(!ran.stdout.contains("note"), "{}", ran.stdout);
    folder.file("desk/answers.yaml", ANSWERS.replace("_tool: count", "_tool: cuont"));
    obelus(&["agents", "check", &agent]).exits(0).prints("calls the tool `cuont`").prints("did you mean `count`?");
}

#[test]
fn a_model_and_activities_in_a_saved_request_are_noted() {
    let folder = Folder::new("saved-model");
    let agent = folder.file("desk/agent.yaml", AGENT);
    folder.file("desk/answers.yaml", ANSWERS);
    folder.file(
        "desk/summary.yaml",
        format!("{SUMMARY}model: playbook:other.yaml\nactivities: {{count: {{jq: '1'}}}}\n"),
    );
    let words = "DEL-1: `sum_up`: the saved request summary.yaml: nothing reads `model`, `activities` in it";
    obelus(&["agents", "check", &agent]).exits(0).prints(words);
    let plan = "context:\n- type: tool\n  tool:\n    sum_up: {type: object, properties: {_delegate: {const: summary.yaml}}, \
        x-effect: read}\n- {type: plan, plan: [{_tool: sum_up, _outputPath: †state.n}]}\n";
    let plan = folder.file("desk/plan.yaml", plan);
    obelus(&["plan", "check", &plan]).exits(0).prints(words);
}

#[test]
fn a_question_of_a_delegate_names_the_step_that_it_belongs_to() {
    let folder = Folder::new("saved-question");
    let store = folder.path("store");
    folder.file("desk/answers.yaml", ANSWERS);
    folder.file(
        "desk/summary.yaml",
        SUMMARY.replace(
            "{type: object,",
            "{type: object, x-title: {en: Counts letters, ru: Считает буквы}, x-risky: [text],",
        ),
    );
    let agent = AGENT.replace("{type: object,", "{type: object, description: Sums a text up. At length,");
    let agent = folder.file("desk/agent.yaml", &agent);
    let ran = obelus(&["run", &agent, "--say", "go", "--session", "s", "--store", &store]).exits(3);
    ran.says("Counts letters").says("this is a part of the step «Sums a text up»");
    let at = |args: &[&str]| obelus(&[args, &["--store", &store]].concat()).exits(0);
    at(&["inbox", "--lang", "ru"]).prints("Считает буквы").prints("это часть шага «Sums a text up»");
    assert_eq!(at(&["inbox", "--json"]).json()[0]["view"]["for_step"], "Sums a text up");
    at(&["sessions", "show", "s"]).prints("? Counts letters");
    at(&["sessions", "log", "s"]).prints("? Counts letters");
}
