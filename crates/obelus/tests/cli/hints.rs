//! Messages that say what to do next.

use crate::support::{Folder, Ran, command, obelus, run, start, wait_for};

/// Runs a command in both languages.
fn in_both(args: &[&str], code: i32) -> [Ran; 2] {
    ["en", "ru"].map(|lang| obelus(&[args, &["--lang", lang]].concat()).exits(code))
}

#[test]
fn a_name_that_is_neither_a_file_nor_an_agent_is_answered_with_the_agents() {
    let [english, russian] = in_both(&["run", "qqqqqq"], 2);
    english.prints_nothing().says("there is no agent of this name either; there are: crm, notes, operator");
    russian.prints_nothing().says("агента с таким именем тоже нет; есть: crm, notes, operator");
    let path = obelus(&["run", "nowhere/request.yaml"]).exits(2);
    assert!(!path.stderr.contains("there are:"), "{}", path.stderr);
}

#[test]
fn agents_with_misleading_names_are_noted() {
    let folder = Folder::new("hint-names");
    folder.file("agents/desk/agent.yaml", "name: helper\n");
    folder.file("agents/notes/agent.yaml", "name: notes\n");
    let list = |args: &[&str]| run(command(args).current_dir(folder.path("")), b"").exits(0);
    let said = list(&["agents", "list"]).says("as `desk`").says("it hides the bundled agent `notes`");
    assert!(!said.stderr.contains("crm"), "{}", said.stderr);
    let rows = list(&["agents", "list", "--json"]).json();
    let row = |name: &str| rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert!(row("helper")["notes"][0].as_str().unwrap().contains("`desk`"));
    assert_eq!(row("crm")["notes"], serde_json::Value::Null);
    list(&["agents", "check"]).prints("as `desk`").prints("it hides the bundled agent `notes`");
}

#[test]
fn a_check_notes_misspelt_keys_unknown_reads_and_unknown_tools_of_a_playbook() {
    let folder = Folder::new("hint-check");
    let agent = "name: desk\nmodel: playbook:answers.yaml\ntools:\n  \
        find: {type: object, properties: {id: {type: string, minLenght: 1}}, requierd: [id], x-effect: read}\n";
    let agent = &format!(
        "{agent}  kept: {{type: object, properties: {{number: {{}}, _outputPath: {{const: †stat.order}}}}, required: [nmber], x-effect: create}}\n"
    );
    folder.file("desk/answers.yaml", "- answer: {calls: [{_tool: fnd, id: a}], say: ok}\n- output: ok\n");
    let agent = folder.file("desk/agent.yaml", agent);
    let ran = obelus(&["agents", "check", &agent]).exits(0);
    ran.prints("did you mean `required`?")
        .prints("did you mean `minLength`?")
        .prints("`required`: `properties` has no `nmber`; did you mean `number`?")
        .prints("`kept`: `_outputPath`: †stat.order: there is no kind `stat` yet; did you mean `state`?")
        .prints("the tool `find` reads")
        .prints("calls the tool `fnd`, which the agent does not have; did you mean `find`?");
    for bundled in ["crm", "notes", "operator"] {
        let notes = obelus(&["agents", "check", bundled, "--json"]).exits(0).json()["notes"].to_string();
        for word in ["JSON Schema", "`required`", "there is no kind", "reads, and no activity", "calls the tool"] {
            assert!(!notes.contains(word), "{bundled}: {notes}");
        }
    }
}

#[test]
fn a_check_refuses_misspelt_meta_properties_in_playbooks_saved_requests_and_tools() {
    let folder = Folder::new("hint-metas");
    let agent = "name: desk\nmodel: playbook:answers.yaml\ntools:\n  \
        go: {type: object, properties: {id: {}, _outputPath: {type: string}}, x-effect: read}\n  \
        ask: {type: object, properties: {_delegate: {const: ask.json}}, x-effect: read}\n\
        activities: {go: {jq: '1'}}\n";
    let call = "{_tool: go, _outputPath: †state.a, _outputMethod: push, _reasoningForCall: why, _note: x}";
    let playbook = format!("rules:\n- answer:\n    calls:\n    - {call}\notherwise: {{answer: {{calls: [{call}]}}}}\n");
    let request = r#"{"context": [{"type": "plan", "plan": [{"_tool": "go", "_outputPath": "†state.a"}]}]}"#;
    let check = |agent: &str, playbook: &str, request: &str, code| {
        folder.file("desk/answers.yaml", playbook);
        folder.file("desk/ask.json", request);
        obelus(&["agents", "check", &folder.file("desk/agent.yaml", agent)]).exits(code)
    };
    check(agent, &playbook, request, 0).prints("ok ");
    let wrong = playbook.replace("_outputPath", "_outputpath").replace("_outputMethod", "_outputMetod");
    let ran = check(agent, &wrong, request, 1);
    for (place, wrong, right) in [
        ("4:32: CALL-3: rules[0].answer.calls[0]", "_outputpath", "_outputPath"),
        ("4:56: CALL-3: rules[0].answer.calls[0]", "_outputMetod", "_outputMethod"),
        ("5:55: CALL-3: otherwise.answer.calls[0]", "_outputpath", "_outputPath"),
    ] {
        let told = format!("answers.yaml:{place}: `{wrong}`: there is no such meta-property; did you mean `{right}`?");
        assert!(ran.stdout.contains(&told), "no {told} in {}", ran.stdout);
    }
    check(agent, &playbook, &request.replace("_outputPath", "_outputPth"), 1)
        .prints("ask.json:1:70: CALL-3: context[0].plan[0]: `_outputPth`");
    check(&agent.replace("_outputPath", "_outputpath"), &playbook, request, 1)
        .prints("agent.yaml:4:56: `go`: `_outputpath`: there is no such meta-property; did you mean `_outputPath`?");
}

#[test]
fn a_check_notes_paths_templates_and_scripts_that_lead_nowhere() {
    let folder = Folder::new("hint-names-nowhere");
    let agent = "name: desk\nmodel: playbook:answers.yaml\n\
        state: {schema: {type: object, properties: {order: {type: object}}}}\ntools:\n  \
        find: {type: object, properties: {number: {type: integer}, _outputPath: {const: †state.ordr}}, x-effect: read}\n  \
        sky: {type: object, properties: {city: {type: string}, _outputPath: {const: †state.order}}, x-effect: read}\n\
        activities:\n  find: {exec: [sh, orders.sh]}\n  sky: {http: {url: 'http://example.test/{{ call.cty }}'}}\n";
    let playbook = "- {user: 'order (?<number>\\d+)', answer: {calls: [{_tool: find, number: '{{ m.nmber }}'}]}}\n\
        - {user: sky, answer: {calls: [{_tool: sky, city: †state.ordr.city}], say: 'In {{ kinds.state.oder.city }}'}}\n\
        - {output: '{{ m.other | default(1) }} {{ kinds.state.order.city }}'}\n";
    folder.file("desk/answers.yaml", playbook);
    let file = folder.file("desk/agent.yaml", agent);
    let ran = obelus(&["agents", "check", &file]).exits(0);
    ran.prints("agent.yaml:5:75: `find`: `_outputPath`: †state.ordr: the schema of `state` has no `ordr`; did you mean `order`?")
        .prints("`sky`: `call.cty`: the tool has no `cty`; did you mean `city`?")
        .prints("`exec`: there is no script `orders.sh` in ")
        .prints("answers.yaml:1:73: rule 1: `m.nmber`: `user` has no group `nmber`; did you mean `number`?")
        .prints("answers.yaml:2:51: rule 2: †state.ordr.city: the schema of `state` has no `ordr`; did you mean `order`?")
        .prints("rule 2: †state.oder: the schema of `state` has no `oder`; did you mean `order`?");
    let script = folder.file("desk/orders.sh", "echo 1");
    let direct = folder.file("desk/direct.yaml", agent.replace("[sh, orders.sh]", "[./orders.sh]"));
    let note = "direct.yaml:8:9: `find`: `./orders.sh` may not be executed: run `chmod +x ./orders.sh`";
    obelus(&["agents", "check", &direct]).exits(0).prints(note);
    std::fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("its mode");
    assert!(!obelus(&["agents", "check", &direct]).exits(0).stdout.contains("executed"));
    folder.file(
        "desk/answers.yaml",
        playbook.replace("nmber", "number").replace("ordr", "order").replace("oder", "order"),
    );
    let right = folder.file("desk/agent.yaml", agent.replace("ordr", "order").replace("cty", "city"));
    assert_eq!(obelus(&["agents", "check", &right, "--json"]).exits(0).json()["notes"], serde_json::json!([]));
    for example in ["crm", "notes", "operator", "examples/steps", "examples/plan-before-reading"] {
        let notes = obelus(&["agents", "check", example, "--json"]).exits(0).json()["notes"].to_string();
        for words in ["the schema of", "has no group", "the tool has no", "no script"] {
            assert!(!notes.contains(words), "{example}: {notes}");
        }
    }
}

#[test]
fn a_check_notes_unknown_tools_parameters_and_wrong_literals_in_the_calls_of_a_playbook() {
    let folder = Folder::new("hint-playbook-calls");
    let agent = "name: desk\nmodel: playbook:answers.yaml\ntools:\n  \
        lend: {type: object, properties: {book: {type: integer}, reader: {type: string}, tags: {type: array}}, \
        required: [book, reader], x-effect: create}\nactivities: {lend: {jq: '1'}}\n";
    let playbook = "rules:\n- name: lending\n  user: lend (?<n>\\d+)\n  answer:\n    calls:\n    \
        - {_tool: lend, book: '{{ m.n }}', raeder: Ann, requires_confirmation: true}\n    \
        - {_tool: lend, book: seven, reader: Ann}\n    \
        - {_tool: lnd, book: 7}\notherwise: {answer: {calls: [{_tool: gone}]}}\n";
    folder.file("desk/answers.yaml", playbook);
    let file = folder.file("desk/agent.yaml", agent);
    let ran = obelus(&["agents", "check", &file]).exits(0);
    for says in [
        "answers.yaml:6:48: rule 1 (lending): `lend` has no parameter `raeder`; did you mean `reader`?",
        "answers.yaml:7:27: rule 1 (lending): `lend`: `book`: \"seven\" is not of type \"integer\"",
        "answers.yaml:8:15: rule 1 (lending): it calls the tool `lnd`, which the agent does not have; did you mean `lend`?",
        "answers.yaml:9:38: otherwise: it calls the tool `gone`, which the agent does not have",
    ] {
        assert!(ran.stdout.contains(says), "no {says} in {}", ran.stdout);
    }
    assert_eq!(ran.stdout.matches("note").count(), 4, "{}", ran.stdout);
    // Notes about a playbook that cannot be used would mislead.
    for (text, says) in [
        ("- {usr: 'x (?<n>.)', output: '{{ m.n }}'}\n", "answers.yaml:1:4: unknown field `usr`; did you mean `user`?"),
        ("- {answer: {cals: [], say: x}}\n", "unknown field `cals`; did you mean `calls`?"),
        ("# nothing\n", "it is empty; a list of rules, or an object with `rules`, is expected"),
        ("- output: {{ x }}\n  user: {{ x }}\n", "put a text that begins with a template in quotes"),
        ("- user: x\n\toutput: y\n", "indent with spaces"),
        ("- output: Trouble: x\n", "put a text with `: ` in quotes"),
    ] {
        folder.file("desk/answers.yaml", text);
        let ran = obelus(&["agents", "check", &file]).exits(1).prints(says);
        assert!(!ran.stdout.contains("note"), "{}", ran.stdout);
    }
}

#[test]
fn a_check_notes_fields_in_the_filters_of_a_playbook_that_never_exist() {
    let folder = Folder::new("hint-playbook-filters");
    let agent = "name: desk\nmodel: playbook:answers.yaml\n\
        state: {schema: {type: object, properties: {order: {type: object}}}}\n";
    let playbook = "find: {open: '.qestions[0]'}\nrules:\n\
        - {user: 'pay (?<sum>\\d+)', when: '.m.smu != null and .found.opne == null', output: 1}\n\
        - {when: '.state.order != null and .usr == \"x\"', output: 2}\n\
        - {when: 'any(.plan[]; .tool == \"t\") or .kinds.state.ordr == 1', output: 3}\n\
        - {when: '.m == null and (.texts | map(.text) | length > 1) and .kinds.input != null', output: 4}\n";
    folder.file("desk/answers.yaml", playbook);
    let file = folder.file("desk/agent.yaml", agent);
    let ran = obelus(&["agents", "check", &file]).exits(0);
    for says in [
        "answers.yaml:1:14: the playbook: `find.open`: there is no field `.qestions`; did you mean `.questions`?",
        "answers.yaml:3:35: rule 1: `when`: `.m.smu`: `user` has no group `smu`; did you mean `sum`?",
        "answers.yaml:3:35: rule 1: `when`: `.found.opne`: there is no `opne` in `find`; did you mean `open`?",
        "answers.yaml:4:10: rule 2: `when`: there is no field `.state`; did you mean `.kinds.state`?",
        "answers.yaml:4:10: rule 2: `when`: there is no field `.usr`; did you mean `.user`?",
        "answers.yaml:5:10: rule 3: `when`: †state.ordr: the schema of `state` has no `ordr`; did you mean `order`?",
    ] {
        assert!(ran.stdout.contains(says), "no {says} in {}", ran.stdout);
    }
    assert_eq!(ran.stdout.matches("note").count(), 6, "{}", ran.stdout);
}

#[test]
fn a_check_notes_tools_without_an_effect_and_scopes_that_name_nothing() {
    let folder = Folder::new("hint-effects");
    let tools = |indent: &str| {
        let all = [
            "pay: {type: object, properties: {sum: {type: integer}, _outputPath: {const: †state.receipt}}}",
            "muse: {type: object, _output: {type: string}}",
            "mail: {type: object, x-effect: create, _scopes: [receipt, txt, state, †state.receipt]}",
        ];
        all.map(|tool| format!("{indent}{tool}\n")).concat()
    };
    let bound = "activities: {pay: {jq: '1'}, mail: {jq: '1'}}\n";
    let agent = format!("name: desk\nmodel: playbook:answers.yaml\ntools:\n{}{bound}", tools("  "));
    let rule = "- {answer: {calls: [{_tool: mail, _scopes: [stat]}], say: x}}\n";
    folder.file("desk/answers.yaml", rule);
    let file = folder.file("desk/agent.yaml", agent);
    let unsaid = "TOOL-4: `pay` has no `x-effect`, so it counts as `update`: it runs only in the mode full, asks a person after \
        untrusted data was read, and is not repeated after a crash; if it only reads, write `x-effect: read`, else one of \
        create, update, delete, configure";
    let ran = obelus(&["agents", "check", &file]).exits(0);
    for says in [
        &format!("agent.yaml:4:8: {unsaid}") as &str,
        "agent.yaml:6:52: CALL-4: `mail`: `_scopes`: nothing here writes the kind `receipt`; did you mean †state.receipt?",
        "agent.yaml:6:61: CALL-4: `mail`: `_scopes`: nothing here writes the kind `txt`; did you mean `text`?",
        "answers.yaml:1:45: rule 1: `_scopes`: nothing here writes the kind `stat`; did you mean `state`?",
    ] {
        assert!(ran.stdout.contains(says), "no {says} in {}", ran.stdout);
    }
    assert_eq!(ran.stdout.matches("note").count(), 4, "{}", ran.stdout);
    let plan =
        "- type: plan\n  plan:\n  - {_tool: pay, sum: 1}\n  - {_tool: look, _scopes: [†state.reciept, †input.x]}\n";
    let look = "    look: {type: object, x-effect: read, _scopes: {type: array}}\n";
    let plan = folder.file("plan.yaml", format!("context:\n- type: tool\n  tool:\n{}{look}{plan}", tools("    ")));
    let ran = obelus(&["plan", "check", &plan]).exits(0);
    let stray = "nothing here writes †state.reciept; did you mean †state.receipt?";
    ran.prints(&format!("warning {plan}:4:10: {unsaid}"))
        .prints(&format!("plan.yaml:11:29: CALL-4: call 1: `_scopes`: {stray}"));
    let warnings = obelus(&["plan", "check", &plan, "--json"]).exits(0).json()["warnings"].clone();
    let row = warnings.as_array().and_then(|all| all.iter().find(|row| row["rule"] == "TOOL-4")).expect("a warning");
    assert_eq!((&row["line"], &row["column"]), (&4.into(), &10.into()), "{warnings}");
}

#[test]
fn a_forgotten_activity_is_answered_with_what_to_bind() {
    let folder = Folder::new("hint-no-activity");
    let agent = "name: desk\nmodel: playbook:answers.yaml\ntools:\n  lend: {type: object, x-effect: create}\n";
    folder.file("desk/answers.yaml", "- {answer: {calls: [{_tool: lend, _outputPath: †state.a}]}}\n");
    let agent = folder.file("desk/agent.yaml", agent);
    let [english, russian] = in_both(&["run", &agent, "--say", "lend"], 1);
    let told = |ran: &Ran| format!("{}{}", ran.stdout, ran.stderr);
    assert!(told(&english).contains("no activity carries it out: bind `lend` in `activities`"), "{}", told(&english));
    assert!(told(&russian).contains("свяжите `lend` с действием в `activities`"), "{}", told(&russian));
}

#[test]
fn an_unknown_session_or_field_is_answered_with_the_nearest_name() {
    let folder = Folder::new("hint-nearest");
    let store = folder.path("store");
    obelus(&["run", "notes", "--say", "the customer called", "--session", "monday", "--store", &store]).exits(0);
    let at = |args: &[&str]| in_both(&[args, &["--store", &store]].concat(), 2);
    for args in [&["sessions", "show", "mondy"] as &[&str], &["sessions", "rm", "mondy"], &["approve", "mondy:q1"]] {
        let [english, russian] = at(args);
        english.says("there is no session `mondy`; did you mean `monday`?");
        russian.says("сессии «mondy» нет").says("возможно, `monday`?");
    }
    let [english, russian] = at(&["sessions", "log", "quite-different"]);
    assert!(!english.stderr.contains("did you mean"), "{}", english.stderr);
    english
        .says(&format!("there is no session `quite-different`; all sessions: `obelus sessions list --store {store}`"));
    russian.says(&format!("сессии «quite-different» нет; все сессии: obelus sessions list --store {store}"));
    let short = obelus(&["run", "notes", "--say", " ", "--session", "L", "--store", &store, "--lang", "en"]);
    short.exits(2).says("the message in --say is empty");
    obelus(&["run", "notes", "--say", "note: call", "--session", "L", "--store", &store]);
    assert!(!at(&["sessions", "rm", "W"])[0].stderr.contains("did you mean"), "names of one letter are not similar");
    let why = |path| obelus(&["sessions", "show", "monday", "--why", path, "--store", &store, "--lang", "en"]);
    why("state.nots").exits(1).prints("†state.nots: nothing has written it").says("Did you mean †state.notes?");
    why("stat.notes").says("Did you mean †state.notes?");
    why("state.notes[0].txt").says("Did you mean †state.notes[0].text?");
    let chat = ["chat", "--session", "monday", "--store", &store, "--lang", "ru"];
    crate::support::obelus_reading("/why state.nots\n", &chat).exits(0).prints("Возможно, †state.notes?");
}

#[test]
fn running_a_plan_without_a_model_points_to_the_command_for_plans() {
    let plan = "examples/branches/plan.yaml";
    let [english, russian] = in_both(&["run", plan], 2);
    english
        .prints_nothing()
        .says(&format!("there is no model; name one with --model, or run the plan itself: obelus plan run {plan}"));
    russian.says(&format!("выполните сам план: obelus plan run {plan}"));
}

#[test]
fn a_store_in_use_points_to_the_server() {
    let folder = Folder::new("hint-held");
    let store = folder.path("store");
    let mut holder = start(&mut command(&["chat", "--agent", "notes", "--session", "h", "--store", &store]));
    wait_for("the store is held", || std::path::Path::new(&folder.path("store/obelus.sock")).exists());
    for said in in_both(&["run", "notes", "--say", "hello", "--session", "z", "--store", &store], 2) {
        said.says("obelus serve").says("obelus chat --server URL").says("--store");
    }
    drop(holder.stdin.take());
    holder.wait().expect("it ends with its stdin");
}

#[test]
fn a_run_in_the_mode_shadow_names_the_mode_that_acts() {
    for said in in_both(&["run", "notes", "--say", "the customer called", "--mode", "shadow"], 0) {
        said.says("shadow").says("--mode full");
    }
    let acted = obelus(&["run", "notes", "--say", "the customer called", "--lang", "en"]).exits(0);
    assert!(!acted.stderr.contains("--mode"), "{}", acted.stderr);
}

#[test]
fn a_session_with_an_open_question_is_removed_only_with_the_yes_option() {
    let folder = Folder::new("hint-rm");
    let store = folder.path("store");
    let say = ["run", "notes", "--say", "ask Anna to call Bob", "--session", "s", "--store", &store, "--lang", "en"];
    obelus(&say).exits(3);
    let rm = ["sessions", "rm", "s", "--store", &store];
    let [english, russian] = in_both(&rm, 2);
    english.says("s:q1").says("--yes");
    russian.says("s:q1").says("--yes");
    obelus(&["sessions", "show", "s", "--store", &store]).exits(0);
    run(&mut command(&[&rm[..], &["--yes"]].concat()), b"").exits(0);
    obelus(&["sessions", "show", "s", "--store", &store]).exits(2);
}

#[test]
fn a_tool_without_a_title_has_one_name_wherever_people_read_it() {
    let folder = Folder::new("hint-title");
    let store = folder.path("store");
    let agent = "name: desk\nmode: full\nmodel: playbook:answers.yaml\ntools:\n  \
        lend_out: {type: object, description: 'Lends a book. For a week', properties: {who: {type: string}}, x-effect: create}\n\
        policy: {confirm: [lend_out]}\nactivities: {lend_out: {jq: '1'}}\n";
    folder.file("desk/answers.yaml", "- {once: true, answer: {calls: [{_tool: lend_out, who: Ann}]}}\n- output: Bye\n");
    let agent = folder.file("desk/agent.yaml", agent);
    let at = |args: &[&str]| obelus(&[args, &["--store", &store, "--lang", "en"]].concat());
    let mut said = vec![obelus(&["run", &agent, "--say", "go", "--mode", "shadow", "--lang", "en"])];
    said.push(at(&["run", &agent, "--say", "go", "--session", "s"]).exits(3));
    said.push(at(&["answer", "s:q1", "approve", "--also", "tool"]));
    said.push(at(&["deny", "s:q1"]));
    said.push(at(&["sessions", "show", "s"]));
    for ran in said {
        let text = ran.stdout + &ran.stderr;
        assert!(text.contains("Lends a book") && !text.contains("lend_out"), "{text}");
    }
}
