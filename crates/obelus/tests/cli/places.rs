//! Errors of plans and agents have a place and a suggestion.

use crate::support::{Folder, obelus};

/// A valid call.
const GOOD: &str = "{_tool: find, town: Riga, n: 5, no: no, _outputPath: †state.a}";

/// A request with one call, and more beside its context.
fn request(call: &str, more: &str) -> String {
    format!(
        "context:
  - type: tool
    tool:
      find: {{type: object, properties: {{town: {{type: string}}, n: {{type: integer}}, no: {{}}}}, x-effect: read}}
  - {{type: input, data: {{city: Riga}}}}
  - type: plan
    plan:
      - {call}
{more}"
    )
}

/// Every error of a plan has a place and a suggestion.
#[test]
fn errors_of_a_plan_have_a_place_and_a_hint() {
    let folder = Folder::new("plan-places");
    obelus(&["plan", "check", &folder.file("good.yaml", request(GOOD, ""))]).exits(0);
    for (call, more, says) in [
        (
            "{_tool: find, _outputPaht: †state.a}",
            "",
            ":8:36: CALL-3: call 0, `_outputPaht`: there is no such meta-property; did you mean `_outputPath`?",
        ),
        (
            "{_tool: find, town: †input.ctiy}",
            "",
            ":8:29: PLAN-4: call 0, `town`: †input.ctiy has no value, and no call writes it; did you mean †input.city?",
        ),
        (
            "{_tool: find, town: †inptu.city}",
            "",
            ":8:29: PLAN-4: call 0, `town`: †inptu.city has no value, and no call writes it; did you mean †input.city?",
        ),
        ("{_tool: fnid}", "", ":8:9: CALL-3: call 0: unknown tool `fnid`; did you mean `find`?"),
        (
            "{_tol: find}",
            "",
            ":8:9: CALL-3: call 0: `_tool` is missing: it names the tool to call; did you mean `_tool` by `_tol`?",
        ),
        ("{_tool: find, n: five}", "", ":8:26: CALL-3: call 0, `n`: \"five\" is not of type \"integer\""),
        (GOOD, "activities: {find: {exce: [x]}}", ":9:20: TOOL-7: activity `find`: it needs one of exec"),
        (GOOD, "model: playbook:nowhere.yaml", ":9:8: the model: "),
        (
            GOOD,
            "settings: {policy: {refuse: [fnid]}}",
            ":9:30: POL-3: policy: `refuse[0]`: there is no tool `fnid`; did you mean `find`?",
        ),
    ] {
        let file = folder.file("bad.yaml", request(call, more));
        obelus(&["plan", "check", &file]).exits(1).prints(&format!("bad.yaml{says}"));
        obelus(&["plan", "run", &file]).exits(2).prints_nothing().says(&format!("bad.yaml{says}"));
        let document = obelus(&["plan", "check", &file, "--json"]).exits(1).json();
        let error = &document["errors"][0];
        let place = format!(":{}:{}:", error["line"], error["column"]);
        assert!(says.starts_with(&place) && document["valid"] == false, "{document}");
    }
}

#[test]
fn fields_beside_the_plan_are_checked() {
    let folder = Folder::new("plan-beside");
    let odd = request(GOOD, "").replace("x-effect: read", "x-efect: read, _activity: fnid");
    let odd = folder.file("odd.yaml", odd + "activities: {find: {jq: .}}\n");
    obelus(&["plan", "check", &odd])
        .exits(1)
        .prints("odd.yaml:4:101: TOOL-4: `find`: there is no annotation `x-efect`; did you mean `x-effect`?")
        .prints("TOOL-3: the tool `find` names the activity `fnid`, which is not bound; did you mean `find`?");
    let state =
        request(GOOD, "").replace("{type: input,", "{type: state, schema: {properties: {city: {type: number}}},");
    let state = folder.file("state.yaml", state);
    obelus(&["plan", "check", &state])
        .exits(1)
        .prints("state.yaml:5:")
        .prints("CTX-7: the kind `state`: `city`: \"Riga\" is not");
    let frozen = folder.file("frozen.yaml", request("{_tool: find, _output: 3, _outputPath: †state.a}", ""));
    obelus(&["plan", "check", &frozen]).exits(0).prints("PLAN-12: call 0: its `_output` is frozen");
    obelus(&["plan", "run", &frozen]).says("frozen.yaml: PLAN-12: call 0: its `_output` is frozen");
    let near = folder.file("near.yaml", request("{_tool: find, twon: Riga, _outputPath: †state.a}", ""));
    obelus(&["plan", "check", &near]).exits(0).prints("`find` has no parameter `twon`; did you mean `town`?");
    let message = folder.file("message.yaml", "context:\n  - {role: user, content: hi}\n  - {type: sttae, data: 1}\n");
    obelus(&["plan", "check", &message]).exits(2).says("message.yaml:3:5: CTX-3: message 1");
}

/// Without this error, a misspelt field would silently lose bindings or settings.
#[test]
fn misspelt_fields_are_errors_with_a_place_and_a_suggestion() {
    let folder = Folder::new("misspelt-fields");
    for (text, says) in [
        (
            "contex: []\n",
            "a.yaml:1:1: the request has no `context`, an array of messages; did you mean `context` by `contex`?",
        ),
        ("context: []\nactivites: {}\n", "a.yaml:2:1: a request has no field `activites`; did you mean `activities`?"),
        ("context: []\ncolour: red\n", "a.yaml:2:1: the field `colour` is not used"),
        ("context: []\ncontext: []\n", "a.yaml:2:1: not YAML: the key `context` stands there twice\n"),
        ("context: []\nsettings: {mod: full}\n", "a.yaml:2:12: settings: unknown field `mod`; did you mean `mode`?"),
    ] {
        obelus(&["plan", "check", &folder.file("a.yaml", text)]).exits(2).prints_nothing().says(says);
    }
    for (text, says) in [
        ("name: x\nmod: full\n", "a.yaml:2:1: unknown field `mod`; did you mean `mode`?\n"),
        ("name: x\npolicy: {confrm: [x]}\n", "unknown field `confrm`; did you mean `confirm`?\n"),
        ("name: x\nname: y\n", "a.yaml:2:1: the key `name` stands there twice\n"),
        (
            "name: x\ntools:\n  order:\n    type: object\n    x-effect: creat\n",
            "a.yaml:5:15: TOOL-1: `x-effect` is one of read, create, update, delete, configure, not \"creat\"; did you mean `create`?",
        ),
        (
            "name: x\ntools:\n  order:\n    type: object\n    properties:\n      n: {type: strng}\n",
            "a.yaml:6:17: TOOL-1: not a valid JSON Schema: there is no type `strng`; did you mean `string`?",
        ),
        (
            "name: x\ntools:\n  order:\n    properties: {_output: {type: objct}}\n",
            "a.yaml:4:34: TOOL-1: not a valid JSON Schema: there is no type `objct`; did you mean `object`?",
        ),
    ] {
        obelus(&["agents", "check", &folder.file("a.yaml", text)]).exits(1).prints(says);
    }
    // The use of a faulty tool is not a second error. A missing program is a warning.
    let faulty = "name: x\ntools:\n  order: {type: object, x-effect: creat}\npolicy: {confirm: [order]}\n";
    let ran = obelus(&["agents", "check", &folder.file("a.yaml", faulty)]).exits(1);
    assert!(!ran.stdout.contains("POL-3"), "{}", ran.stdout);
    let missing =
        "name: x\ntools:\n  order: {type: object, x-effect: create}\nactivities:\n  order: {exec: [pyhton3]}\n";
    obelus(&["agents", "check", &folder.file("a.yaml", missing)])
        .exits(0)
        .prints("note")
        .prints("a.yaml:5:10: `order`: there is no program `pyhton3` on this machine");
    let typed = request(GOOD, "").replace("n: {type: integer}", "n: {type: intger}");
    obelus(&["plan", "check", &folder.file("typed.yaml", typed)])
        .exits(1)
        .prints("typed.yaml:4:73: TOOL-1: ")
        .prints("there is no type `intger`; did you mean `integer`?");
}

#[test]
fn errors_in_a_tool_name_the_field_and_its_value_at_their_own_line() {
    let folder = Folder::new("tool-fields");
    let find = "name: x\ntools:\n  find:\n    type: object\n    properties:\n      book: {}\n";
    for (text, says) in [
        (
            "      _outputPath: {const: state.book}\n",
            "a.yaml:7:20: CTX-12: `_outputPath`: `state.book`: column 1: expected a reference",
        ),
        ("      _outputPath: {const: state.book}\n", "; did you mean †state.book?"),
        ("      _outputPath: {const: †input.book}\n", "a.yaml:7:20: CTX-11: `_outputPath`: `†input.book`: "),
        ("    x-effect: read\n    x-risky: book\n", "a.yaml:8:14: TOOL-1: `x-risky` is an array"),
    ] {
        obelus(&["agents", "check", &folder.file("a.yaml", format!("{find}{text}"))]).exits(1).prints(says);
    }
    let nameless = find.replace("name: x\n", "");
    obelus(&["agents", "check", &folder.file("a.yaml", nameless)]).exits(1).prints("a.yaml:1:1: missing field `name`");
}

#[test]
fn a_missing_dagger_and_a_misspelt_result_field_cause_warnings() {
    let folder = Folder::new("near-references");
    let text = "context:
  - type: tool
    tool:
      find: {type: object, properties: {name: {}, _output: {type: object, properties: {email: {type: string}}}}, x-effect: read}
      send: {type: object, properties: {to: {}, text: {}}, x-effect: read}
  - type: plan
    plan:
      - {_tool: find, name: Olga, _outputPath: †state.person}
      - {_tool: send, to: TO, text: [state.gov is a site], _outputPath: †state.sent}
";
    for (to, says) in [
        (
            "state.person.email",
            Some("warning CTX-9: call 1: `to` is the text `state.person.email`; did you mean †state.person.email?"),
        ),
        (
            "†state.person.emial",
            Some(
                "warning PLAN-4: call 1: †state.person.emial, written by call 0 (find): there is no `emial`; did you mean `email`?",
            ),
        ),
        ("†state.person.email", None),
        ("olga.person.email", None),
    ] {
        let ran = obelus(&["plan", "check", &folder.file("plan.yaml", text.replace("TO", to))]).exits(0);
        match says {
            Some(says) => drop(ran.prints(says)),
            None => assert!(!ran.stdout.contains("warning"), "{}", ran.stdout),
        }
    }
}

/// TOOL-3: without this error, a misspelt binding would leave its tool to the model, and no person would be asked.
#[test]
fn an_unused_binding_is_an_error_and_an_acting_tool_without_one_a_warning() {
    let folder = Folder::new("binding-names");
    let tool = "order: {type: object, properties: {x: {}}, x-effect: create}";
    let says = "TOOL-7: no tool uses the activity `ordr`; did you mean `order`?";
    let acts = "the tool `order` acts (`x-effect: create`), and no activity carries it out";
    let plan =
        format!("context:\n  - type: tool\n    tool: {{{tool}}}\n  - {{type: plan, plan: [{{_tool: order, x: 1}}]}}\n");
    let request = folder.file("typo.yaml", format!("{plan}activities: {{ordr: {{jq: '1'}}}}\n"));
    obelus(&["plan", "check", &request]).exits(1).prints(&format!("typo.yaml:5:20: {says}")).prints(acts);
    for command in [&["plan", "run"][..], &["run"]] {
        obelus(&[command, &[&request]].concat()).exits(2).prints_nothing().says(says);
    }
    let agent = format!("name: x\nmodel: playbook:p.yaml\ntools: {{{tool}}}\nactivities: {{ordr: {{jq: '1'}}}}\n");
    folder.file("p.yaml", "rules: []\notherwise: {answer: {say: hello}}\n");
    let agent = folder.file("agent.yaml", agent);
    obelus(&["agents", "check", &agent]).exits(1).prints(&format!("agent.yaml:4:20: {says}")).prints(acts);
    obelus(&["run", &agent, "--say", "hi"]).exits(2).says(says);
    // A file of activities may serve several requests, so only names close to a tool's name are errors.
    let request = folder.file("bare.yaml", plan);
    let shared = folder.file("shared.yaml", "order: {jq: '1'}\nother: {jq: '2'}\n");
    obelus(&["plan", "run", &request, "--activities", &shared]).exits(0);
    let typo = folder.file("typo-beside.yaml", "ordr: {jq: '1'}\n");
    obelus(&["plan", "run", &request, "--activities", &typo]).exits(2).says(says);
}

/// The connections of an agent are checked as well as its file.
#[test]
fn errors_of_an_agent_have_a_place_and_a_hint() {
    let folder = Folder::new("agent-places");
    folder.file("broken.yaml", "- {output: [\n");
    let agent = "name: x\ntools:\n  find: {type: object, properties: {n: {type: integer}, no: {}, yes: {}}}\n";
    obelus(&["agents", "check", &folder.file("agent.yaml", agent)]).exits(0);
    for (more, says) in [
        ("model: playbook:broken.yaml\n", "agent.yaml:4:8: the model: "),
        ("model: playbok:x\n", "agent.yaml:4:8: the model: there is no kind of model `playbok`"),
        ("activities: {find: {exec: x}}\n", "agent.yaml:4:27: TOOL-7: activity `find`, field `exec`"),
        ("activities: {find: {jq: '.[['}, x: {jq: '.'}}\n", "agent.yaml:4:25: TOOL-7: activity `find`, field `jq`"),
        (
            "state: {schema: {properties: {n: {type: integer}}}, data: {n: one}}\n",
            "agent.yaml:4:63: CTX-7: `n`: \"one\" is not of type",
        ),
    ] {
        let file = folder.file("agent.yaml", format!("{agent}{more}"));
        obelus(&["agents", "check", &file]).exits(1).prints(says);
    }
    for (from, to, says) in [
        (
            "{type: object,",
            "{type: object, x-efect: read,",
            "agent.yaml:3:33: TOOL-4: there is no annotation `x-efect`; did you mean `x-effect`?",
        ),
        (
            "{type: object,",
            "{type: object, _activity: fnid,",
            "agent.yaml:3:35: TOOL-3: the tool `find` names the activity `fnid`",
        ),
    ] {
        let file = folder.file("agent.yaml", agent.replace(from, to));
        obelus(&["agents", "check", &file]).exits(1).prints(says);
    }
}

/// DEL-1: without this check a missing file fails when it runs, and a misspelt field is lost silently.
#[test]
fn errors_in_saved_requests_of_delegates_are_found_before_they_run() {
    let folder = Folder::new("delegate-files");
    folder.file("x.yaml", "context: []\n");
    folder.file("desk/bare.yaml", "schema: {type: string}\n");
    let tool =
        "sum_up: {type: object, properties: {_delegate: {const: FILE}, _output: {type: string}}, x-effect: read}";
    let agent = format!("name: desk\nmodel: playbook:p.yaml\ntools:\n  {tool}\n");
    let plan = "context:\n  - type: tool\n    tool:\n      TOOL\n  - {type: plan, plan: [{_tool: sum_up, _outputPath: †state.a}]}\n";
    folder.file("desk/p.yaml", "- output: ok\n");
    for (file, text, code, says) in [
        ("summary.yaml", Some("schema: {type: string}\ncontext: []\n"), 0, ""),
        ("bare.yaml", None, 0, ""),
        ("anonymous", None, 0, ""),
        ("lost.yaml", None, 1, "there is no file `lost.yaml` in "),
        ("../x.yaml", None, 1, "`../x.yaml` leads out of the agent's folder"),
        (
            "summary.yaml",
            Some("context: []\nschemma: {}\n"),
            1,
            "summary.yaml:2:1: a request has no field `schemma`; did you mean `schema`?",
        ),
        ("summary.yaml", Some("contxt: []\n"), 1, "did you mean `context` by `contxt`?"),
        (
            "summary.yaml",
            Some("- {role: user, content: hi}\n"),
            1,
            "summary.yaml: a saved request is an object with a `context`, not a list",
        ),
        ("summary.yaml", Some("context: []\ncolour: red\n"), 0, "summary.yaml:2:1: the field `colour` is not used"),
        (
            "summary.yaml",
            Some("context:\n  - type: tool\n    tool: {deep: {type: object, _delegate: gone.yaml}}\n"),
            1,
            "there is no file `gone.yaml` in ",
        ),
    ] {
        if let Some(text) = text {
            folder.file("desk/summary.yaml", text);
        }
        let checked = folder.file("desk/agent.yaml", agent.replace("FILE", file));
        let ran = obelus(&["agents", "check", &checked]).exits(code).prints(says);
        let place = "agent.yaml:4:58: DEL-1: the delegate of `sum_up`: ";
        assert!(says.is_empty() || ran.stdout.contains(place), "{}", ran.stdout);
        let planned = folder.file("desk/plan.yaml", plan.replace("TOOL", &tool.replace("FILE", file)));
        obelus(&["plan", "check", &planned]).exits(code).prints(says);
        if code == 1 {
            obelus(&["plan", "run", &planned, "--model", "playbook:p.yaml"]).exits(2).prints_nothing().says(says);
        }
    }
}
