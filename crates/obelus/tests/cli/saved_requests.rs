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

#[test]
fn steps_of_a_delegate_are_shown_indented_below_its_call() {
    let folder = Folder::new("saved-steps");
    let store = folder.path("store");
    let agent = "name: desk\nmode: full\nmodel: playbook:answers.yaml\ntools:\n  \
        sum_up: {type: object, description: Sums a text up. At length, _delegate: summary.yaml, x-effect: create}\n\
        activities: {count: {jq: '3'}, weigh: {exec: [sh, -c, 'exit 3']}}\n";
    let summary = "schema: {type: integer}\ncontext:\n- type: tool\n  tool:\n    \
        count: {type: object, x-title: {en: Counts letters, ru: Считает буквы}, x-effect: create}\n    \
        weigh: {type: object, x-title: {en: Weighs it, ru: Взвешивает}, x-effect: read}\n";
    let answers = "- {when: '.kinds.input != null and .kinds.state.n != null', output: '{{ kinds.state.n }}'}\n\
        - {when: '.kinds.input != null', answer: {calls: [{_tool: count, _outputPath: †state.n}, \
          {_tool: weigh, _outputPath: †state.m}]}}\n\
        - {when: '.kinds.state.n != null', output: Done.}\n\
        - answer: {calls: [{_tool: sum_up, _outputPath: †state.n}]}\n";
    let agent = folder.file("desk/agent.yaml", agent);
    folder.file("desk/summary.yaml", summary);
    folder.file("desk/answers.yaml", answers);
    let ran = obelus(&["run", &agent, "--say", "go", "--session", "s", "--store", &store]).exits(0);
    // The calls of the delegate run at once, so that they end in any order.
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| !line.starts_with("asking")).collect();
    assert_eq!(lines[0], "▸ Sums a text up", "{lines:?}");
    for line in ["  ▸ Counts letters", "  ▸ Weighs it", "    ✓ Counts letters: done"] {
        assert!(lines.contains(&line), "{line} in {lines:?}");
    }
    assert!(lines.iter().any(|line| line.starts_with("    ✗ Weighs it: failed")), "{lines:?}");
    assert_eq!(lines.last(), Some(&"  ✓ Sums a text up: done"), "{lines:?}");
    for command in ["log", "show"] {
        let told = obelus(&["sessions", command, "s", "--store", &store, "--lang", "ru"]).exits(0).stdout;
        let places =
            ["  ▸ Sums a text up\n", "    ✓ Считает буквы: готово\n", "  ✓ Sums a text up: готово\n", "desk: Done."];
        let places: Vec<usize> = places.iter().map(|part| told.find(part).expect(part)).collect();
        assert!(places.is_sorted() && told.contains("    ✗ Взвешивает: не вышло"), "{told}");
    }
    let plan = "context:\n- type: tool\n  tool:\n    sum_up: {type: object, _delegate: summary.yaml, x-effect: read}\n\
        - {type: plan, plan: [{_tool: sum_up, _outputPath: †state.n}]}\nmodel: playbook:answers.yaml\n\
        activities: {count: {jq: '3'}, weigh: {jq: '1'}}\n";
    let plan = folder.file("desk/plan.yaml", plan);
    obelus(&["plan", "run", &plan]).exits(0).says("▸ sum up\n").says("\n  ▸ Counts letters\n").prints("✓ sum up: 3");
}
