//! Invalid files: the error names file, place and rule, nothing else is printed, and nothing panics.

use std::fs::File;

use crate::support::{Folder, Ran, command, obelus, obelus_reading, program, run};

/// Every command that reads a request.
const READERS: [&[&str]; 6] =
    [&["resolve"], &["plan", "check"], &["plan", "graph"], &["plan", "simulate"], &["plan", "run"], &["run"]];

/// Runs a command on a file; `resolve` needs an expression beside it.
fn on(command: &[&str], file: &str) -> Ran {
    let mut args = command.to_vec();
    args.push(file);
    args.extend((command == ["resolve"]).then_some("†state"));
    obelus(&args)
}

/// Asserts that every command that reads a request refuses the file with these messages.
#[track_caller]
fn refused_by_all(file: &str, parts: &[&str]) {
    for command in READERS {
        let mut ran = on(command, file).exits(2).prints_nothing().says(file);
        for part in parts {
            ran = ran.says(part);
        }
    }
}

const GOOD: &str = r#"{"context": [
    {"type": "tool", "tool": {"go": {"type": "object", "properties": {}, "x-effect": "read"}}},
    {"type": "plan", "plan": [{"_tool": "go", "_outputPath": "†state.go"}]}
]}"#;

#[test]
fn an_agent_whose_file_is_binary_does_not_keep_the_others_from_being_checked() {
    let folder = Folder::new("binary-agent");
    let wrong = folder.file("agents/a/agent.yaml", b"\x89PNG\xff");
    folder.file("agents/b/agent.yaml", "name: b\nmodel: openai:any\n");
    let mut check = command(&["agents", "check"]);
    let ran = run(check.env("OBELUS_AGENTS", folder.path("agents")), b"").exits(1).prints("ok ");
    ran.prints(&format!("error {wrong}: it is not UTF-8"));
}

/// A control for the tests below: the commands accept a valid file.
#[test]
fn a_valid_file_is_accepted_by_every_command() {
    let folder = Folder::new("good");
    let file = folder.file("good.json", GOOD);
    let activities = folder.file("activities.yaml", "go: {jq: '1'}");
    let playbook = format!("playbook:{}", folder.file("playbook.yaml", "- output: 1"));
    obelus(&["resolve", &file, "†plan"]).exits(1).prints_nothing();
    for command in ["check", "graph", "simulate"] {
        obelus(&["plan", command, &file]).exits(0);
    }
    obelus(&["plan", "run", &file, "--activities", &activities]).exits(0).prints("✓ go");
    obelus(&["run", &file, "--model", &playbook, "--input", "{}"]).exits(0).prints("1");
    let agent = folder.file("agent.yaml", "name: good");
    obelus(&["agents", "check", &agent]).exits(0).prints("ok");
}

#[test]
fn a_missing_file_is_refused() {
    let file = Folder::new("not-there").path("nowhere.json");
    refused_by_all(&file, &["there is no such file"]);
    obelus(&["vectors", &file]).exits(2).prints_nothing().says(&file);
    obelus(&["agents", "check", &file]).exits(2).prints_nothing().says(&file);
}

#[test]
fn a_folder_in_place_of_a_file_is_refused() {
    let folder = Folder::new("folder");
    let path = folder.path("");
    for command in READERS.iter().filter(|command| **command != ["run"]) {
        on(command, &path).exits(2).prints_nothing().says(&path).says("it is a folder");
    }
    // For these commands a folder is an agent.
    for command in [&["run"][..], &["agents", "check"]] {
        on(command, &path).exits(2).prints_nothing().says("agent.yaml: there is no such file");
    }
    obelus(&["vectors", &path]).exits(2).prints_nothing().says(&path).says("no *.json file");
}

#[test]
fn an_empty_file_is_refused() {
    let folder = Folder::new("empty");
    for name in ["empty.json", "empty.yaml", "empty"] {
        refused_by_all(&folder.file(name, ""), &["it is empty"]);
        refused_by_all(&folder.file(name, " \n"), &["it is empty"]);
    }
    obelus(&["vectors", &folder.file("empty.json", "")]).exits(2).prints_nothing().says("not an array of cases");
}

#[test]
fn invalid_utf8_is_refused() {
    let folder = Folder::new("bytes");
    for name in ["bytes.json", "bytes.yaml"] {
        let file = folder.file(name, b"[\n\"\xff\xfe\"]");
        refused_by_all(&file, &["not UTF-8", "line 2", "save it as UTF-8"]);
        for command in [&["agents", "check"][..], &["vectors"]] {
            on(command, &file).exits(2).prints_nothing().says(&file).says("not UTF-8");
        }
    }
}

#[test]
fn arrays_nested_too_deep_are_refused() {
    let folder = Folder::new("deep");
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    refused_by_all(&folder.file("deep.json", &deep), &["CTX-3", "message 0", "nested deeper than 64 levels"]);
    refused_by_all(&folder.file("deep.yaml", &deep), &["deep.yaml:1:", "nested too deep"]);
    obelus(&["vectors", &folder.file("deep.json", &deep)]).exits(2).prints_nothing().says("deep.json");
    obelus(&["agents", "check", &folder.file("deep.yaml", &deep)]).exits(1).prints("deep.yaml:1:");
    let model = format!("playbook:{}", folder.path("deep.yaml"));
    let good = folder.file("good.json", GOOD);
    obelus(&["run", &good, "--model", &model]).exits(2).prints_nothing().says("deep.yaml:1:");
}

#[test]
fn a_message_nested_too_deep_is_named() {
    let folder = Folder::new("deep-message");
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let messages = format!(r#"[{{"role": "user", "text": "hi"}}, {{"type": "state", "data": {deep}}}]"#);
    let parts = ["CTX-3", "message 1", "nested deeper than 64 levels"];
    refused_by_all(&folder.file("bare.json", &messages), &parts);
    refused_by_all(&folder.file("request.json", format!(r#"{{"context": {messages}}}"#)), &parts);
    let schema = folder.file("schema.json", format!(r#"{{"context": [], "schema": {deep}}}"#));
    refused_by_all(&schema, &["`schema` is nested too deep"]);
}

/// The memory limit is too low to read the file; the good file shows that it is enough for everything else.
#[test]
fn a_gibibyte_is_refused_before_it_is_read() {
    let folder = Folder::new("large");
    let large = folder.path("large.json");
    File::create(&large).and_then(|file| file.set_len(1 << 30)).expect("a sparse file");
    let good = folder.file("good.json", GOOD);
    let bounded = |args: &str| {
        let line = format!("ulimit -v 524288; exec '{}' {args}", env!("CARGO_BIN_EXE_obelus"));
        run(&mut program("sh", &["-c", &line]), b"")
    };
    bounded(&format!("plan check '{good}'")).exits(0);
    for args in [
        format!("resolve '{large}' †state"),
        format!("plan check '{large}'"),
        format!("plan graph '{large}'"),
        format!("plan simulate '{large}'"),
        format!("plan run '{large}'"),
        format!("run '{large}'"),
        format!("agents check '{large}'"),
        format!("vectors '{large}'"),
        format!("plan run '{good}' --activities '{large}'"),
        format!("run '{good}' --model 'playbook:{large}'"),
        format!("run '{good}' --model 'replay:{large}'"),
        format!("run '{good}' --input '@{large}'"),
    ] {
        bounded(&args).exits(2).prints_nothing().says(&large).says("larger than 64 MiB");
    }
}

#[test]
fn stdin_has_the_same_limits() {
    let check = |text: &[u8]| obelus_reading(text, &["plan", "check", "-"]);
    check(b"").exits(2).prints_nothing().says("stdin: it is empty");
    check(b"{\"context\": ").exits(2).prints_nothing().says("stdin:1:12: not JSON");
    check(b"\xff").exits(2).prints_nothing().says("stdin: it is not UTF-8");
    check(&vec![b' '; (64 << 20) + 1]).exits(2).prints_nothing().says("stdin: it is larger than 64 MiB");
    check(GOOD.as_bytes()).exits(0).prints("stdin: sound");
}

#[test]
fn text_that_is_neither_json_nor_yaml_is_refused() {
    let folder = Folder::new("syntax");
    refused_by_all(&folder.file("cut.json", "{\"context\": [\n"), &["cut.json:2:1: not JSON"]);
    refused_by_all(&folder.file("cut.yaml", "context: [\n"), &["cut.yaml:1:10: not YAML: unclosed bracket"]);
    refused_by_all(&folder.file("tabs.yaml", "a:\n\t- b"), &["tabs.yaml:2:", "not YAML"]);
    // The parser's own message would name the file differently.
    let ran = obelus(&["plan", "check", &folder.path("cut.yaml")]).exits(2);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    obelus(&["vectors", &folder.path("cut.json")]).exits(2).prints_nothing().says("cut.json: not an array of cases");
}

#[test]
fn a_document_that_is_not_a_request_is_refused() {
    let folder = Folder::new("shape");
    for (content, part) in [
        ("42", "a request is an object with a `context`, not a number"),
        ("\"words\"", "a request is an object with a `context`, not a string"),
        ("null", "a request is an object with a `context`, not null"),
        ("{}", "the request has no `context`, an array of messages"),
        (r#"{"context": 5}"#, "CTX-3: a context is an array of messages, not a number"),
        (r#"{"context": [], "schema": 5}"#, "`schema` is a JSON Schema, not a number"),
        (r#"{"context": [], "activities": 5}"#, "`activities` maps names to what they do; here it is a number"),
        (r#"{"context": [], "model": 5}"#, "`model` is a string, or an object such as {openai: NAME}, not a number"),
        (r#"{"context": [], "settings": 5}"#, "`settings` is an object, not a number"),
    ] {
        // JSON is also YAML.
        for name in ["shape.json", "shape.yaml"] {
            refused_by_all(&folder.file(name, content), &[part]);
        }
    }
}

#[test]
fn a_faulty_message_is_named_by_its_index_and_its_rule() {
    let folder = Folder::new("messages");
    for (message, parts) in [
        (r#"{"type": "nonsense"}"#, ["CTX-3", "unknown type `nonsense`: use text, data,"]),
        (r#"{"text": "hi"}"#, ["CTX-3", "`type` is missing"]),
        (r#"{"type": 7}"#, ["CTX-3", "`type` is a string, not a number"]),
        (r#"{"type": "text", "role": "user", "text": 5}"#, ["CTX-3", "`text` is a string, not a number"]),
        (r#"{"type": "text", "role": "boss", "text": ""}"#, ["CTX-3", "use system, user or assistant"]),
        (r#"{"type": "tool", "tool": 5}"#, ["CTX-3", "`tool` maps names to schemas"]),
        (r#"{"type": "tool", "tool": {"t": {"x-effect": "boom"}}}"#, ["TOOL-1", "`x-effect` is one of read, create,"]),
        (r#"{"type": "plan", "plan": {}}"#, ["CTX-3", "`plan` is an array of calls, not an object"]),
        (r#"{"type": "plan", "plan": [{"_tool": "t"}, 5]}"#, ["CTX-3", "call 1: a call is an object"]),
        ("5", ["CTX-3", "a message is an object, not a number"]),
    ] {
        let context = format!(r#"{{"context": [{{"role": "user", "text": "hi"}}, {message}]}}"#);
        for name in ["messages.json", "messages.yaml"] {
            refused_by_all(&folder.file(name, &context), &[&["message 1"][..], &parts].concat());
        }
    }
}

#[test]
fn an_unknown_field_is_a_warning_with_index_and_name() {
    let folder = Folder::new("fields");
    let content =
        GOOD.replacen('{', r#"{"taste": 2, "#, 1).replace(r#""type": "plan","#, r#""type": "plan", "colour": 1,"#);
    let file = folder.file("fields.json", content);
    for command in ["check", "graph", "simulate"] {
        let ran = obelus(&["plan", command, &file]).exits(0).says("warning: ");
        ran.says("message 1: the field `colour` is not used").says("the field `taste` is not used");
    }
    // With `--json` the warning does not change stdout.
    let ran = obelus(&["plan", "check", &file, "--json"]).exits(0).says("message 1: the field `colour` is not used");
    assert_eq!(ran.json()["valid"], true);
}

#[test]
fn a_missing_plan_is_refused() {
    let folder = Folder::new("no-plan");
    let file = folder.file("no-plan.json", r#"[{"role": "user", "text": "hi"}]"#);
    for command in ["check", "graph", "simulate", "run"] {
        let ran = obelus(&["plan", command, &file]).exits(2).prints_nothing();
        ran.says(&file).says("the context has no plan: add a message");
    }
}

#[test]
fn an_invalid_plan_is_not_started() {
    let folder = Folder::new("faulty-plan");
    let calls = r#"[{"_tool": "gp"}, {"_tool": "go", "_outputPath": "†state.b", "x": "†state..a"}]"#;
    let file = folder.file("plan.json", GOOD.replace(r#"[{"_tool": "go", "_outputPath": "†state.go"}]"#, calls));
    // `check` prints errors as its answer.
    let ran = obelus(&["plan", "check", &file]).exits(1).prints("plan.json:3:31: CALL-3: call 0: unknown tool `gp`");
    ran.prints("did you mean `go`?").prints("plan.json:3:96: CTX-12: call 1, `x`: column 8");
    obelus(&["plan", "simulate", &file]).exits(1).prints("plan.json:3:31: CALL-3: call 0");
    obelus(&["plan", "graph", &file]).exits(0).says("CALL-3: call 0");
    let ran = obelus(&["plan", "run", &file]).exits(2).prints_nothing().says(&file);
    ran.says("CALL-3: call 0: unknown tool `gp`").says("obelus plan check");
}

#[test]
fn invalid_settings_schemas_and_models_are_refused() {
    let folder = Folder::new("settings");
    let request = |field: &str| folder.file("request.json", GOOD.replacen('{', &format!("{{{field},"), 1));
    for (field, part) in [
        (r#""settings": {"mood": 1}"#, "settings: unknown field `mood`, expected one of `mode`"),
        (r#""settings": {"mode": "wild"}"#, "unknown variant `wild`, expected one of"),
        (r#""schema": {"type": 5}"#, "LOOP-1: `schema`: not a valid JSON Schema"),
        (r#""activities": {"go": {"exec": 5}}"#, "activity `go`, field `exec`: it must be a list of texts"),
        (r#""model": "gpt""#, "`gpt` does not say what kind of model it is; write openai:NAME"),
    ] {
        let file = request(field);
        for args in [["plan", "run", &file], ["run", &file, "--mode=full"]] {
            obelus(&args).exits(2).prints_nothing().says(&file).says(part);
        }
    }
}

#[test]
fn an_invalid_activities_file_is_refused() {
    let folder = Folder::new("activities");
    let good = folder.file("good.json", GOOD);
    for (content, part) in [
        ("- go", "it maps names to what they do; here it is an array"),
        ("go: [", "activities.yaml:1:5: not YAML"),
        ("", "it is empty"),
        ("go: sh", "activity `go`: a binding is an object such as {\"exec\": [\"program\"]}, not a string"),
        ("go: {exce: [sh]}", "activity `go`: it needs one of exec, http, jq"),
        ("go: {exec: []}", "activity `go`, field `exec`: it must be a list that begins with a program"),
        ("go: {exec: [sh], timeout: -1}", "activity `go`, field `timeout`: it must be a number of seconds above 0"),
        ("go: {exec: [sh], shell: true}", "activity `go`, field `shell`: unknown"),
        ("go: {jq: '.('}", "activity `go`, field `jq`: column 3"),
        ("go: {http: {url: 'ftp://x'}}", "activity `go`, field `http.url`"),
    ] {
        let file = folder.file("activities.yaml", content);
        for args in
            [["plan", "run", &good, "--activities", &file], ["run", &good, "--mode=full", "--activities", &file]]
        {
            obelus(&args).exits(2).prints_nothing().says(&file).says(part);
        }
    }
}

#[test]
fn models_that_cannot_be_opened_are_refused() {
    let folder = Folder::new("models");
    let good = folder.file("good.json", GOOD);
    let faulty = folder.file("faulty.yaml", "- user: '('\n  output: 1\n");
    for (model, part) in [
        (
            "gpt".to_owned(),
            "--model: `gpt` does not say what kind of model it is; write openai:NAME, playbook:FILE or replay:FILE",
        ),
        ("playbok:x".to_owned(), "--model: there is no kind of model `playbok`"),
        ("playbook:".to_owned(), "--model: `playbook:` is not followed by a file"),
        (format!("playbook:{}", folder.path("nowhere.yaml")), "nowhere.yaml: there is no such file"),
        (format!("playbook:{}", folder.path("")), "it is a folder"),
        (format!("playbook:{faulty}"), "faulty.yaml:1:9: rule 1, `user`: "),
        (format!("replay:{good}"), "good.json:1: not an exchange of a recording"),
    ] {
        obelus(&["run", &good, "--model", &model]).exits(2).prints_nothing().says(part);
    }
    // A model that cannot be reached is an error at run time, not of usage.
    let mut without_key = command(&["run", &good, "--model", "openai:gpt"]);
    let ran = run(without_key.env_remove("OPENAI_API_KEY").env_remove("OPENAI_API_BASE"), b"").exits(1);
    ran.prints_nothing().says("Set OPENAI_API_KEY");
    obelus(&["run", &good]).exits(2).prints_nothing().says("name one with --model");
}

#[test]
fn an_input_that_is_not_json_is_refused() {
    let folder = Folder::new("input");
    let good = folder.file("good.json", GOOD);
    for input in ["{", "", "words"] {
        obelus(&["run", &good, "--input", input]).exits(2).prints_nothing().says("--input is JSON, or @FILE: ");
    }
    let file = folder.file("input.json", "{\"a\": ");
    let ran = obelus(&["run", &good, "--input", &format!("@{file}")]).exits(2).prints_nothing();
    ran.says(&format!("--input: {file} is not JSON: "));
    let nowhere = folder.path("nowhere.json");
    let ran = obelus(&["run", &good, "--input", &format!("@{nowhere}")]).exits(2).prints_nothing();
    ran.says(&format!("{nowhere}: there is no such file"));
}

#[test]
fn a_malformed_expression_is_shown_with_the_place() {
    let folder = Folder::new("expression");
    let good = folder.file("good.json", GOOD);
    let ran = obelus(&["resolve", &good, "†state.a ||"]).exits(2).prints_nothing().says("CTX-12: column 12: ");
    assert!(ran.stderr.ends_with("\n  †state.a ||\n             ^\n"), "{}", ran.stderr);
    let noted = folder.file("noted.json", r#"[{"type": "state", "data": {"a": 7}}]"#);
    for short in ["state.a", "state.nothing || †state.a"] {
        let found = obelus(&["resolve", &noted, short]).exits(0).stdout;
        assert_eq!(found.trim(), "7", "{short}: the leading † may be left out");
    }
    obelus(&["resolve", &good, "state.a ||"]).exits(2).prints_nothing().says("\n  †state.a ||\n");
    obelus(&["resolve", &good, ""]).exits(2).prints_nothing().says("CTX-12");
    let long = "(".repeat(100_000);
    obelus(&["resolve", &good, &long]).exits(2).prints_nothing().says("CTX-12");
}

#[test]
fn errors_of_an_agent_are_reported_by_line() {
    let folder = Folder::new("agent");
    for (content, part) in [
        ("", "agent.yaml: an agent's file is an object with a `name`"),
        ("[]", "agent.yaml: an agent's file is an object with a `name`"),
        ("description: x", "agent.yaml:1:1: missing field `name`"),
        ("name: x\ncolour: red", "agent.yaml:2:1: unknown field `colour`, expected one of name,"),
        ("name: x\nmode: wild", "agent.yaml:2:7: "),
        ("name: x\ntools:\n  t: {x-effect: boom}", "agent.yaml:3:17: TOOL-1: `x-effect` is one of read,"),
        (
            "name: x\ntools:\n  t:\n    properties: {a: {}}\n    x-names: {a: [list]}",
            "agent.yaml:5:14: TOOL-1: `x-names`, `a`: it is written as {in: [TOOL, …], id: FIELD, name: [FIELD, …], as: [WORD, …]}, not as an array",
        ),
        ("name: x\ntools: [nowhere.yaml]", "nowhere.yaml: there is no such file"),
        ("name: x\ncontext:\n  - {type: nonsense}", "agent.yaml:3:5: CTX-3: message 0: unknown type `nonsense`"),
        ("name: x\nactivities: {go: {exec: 5}}", "activity `go`, field `exec`: "),
        ("name: x\ngraph: {start: a, nodes: {}}", "agent.yaml:2:"),
    ] {
        let file = folder.file("agent.yaml", content);
        obelus(&["agents", "check", &file]).exits(1).prints(&format!("error {}", folder.path(""))).prints(part);
        let ran = obelus(&["run", &file, "--say", "hi", "--model", "playbook:examples/playbooks/greeting.yaml"]);
        ran.exits(2).prints_nothing().says(part.strip_prefix("agent.yaml").unwrap_or(part));
    }
    let own = "name: x\ntools:\n  t:\n    properties: {a: {properties: {_entries: {}}}, b: {}}\n    x-names: {b: {in: [l], id: A, name: [B]}}";
    let file = folder.file("agent.yaml", own);
    let ran =
        obelus(&["agents", "check", &file]).exits(0).prints("note ").prints("t.a has a property `_entries` of its own");
    ran.prints("`t`: `x-names`, `b`: there is no tool `l`").prints("ok ");
    obelus(&["agents", "check", "nobody"]).exits(2).prints_nothing().says("there is no agent `nobody`");
    obelus(&["run", "examples/steps"]).exits(2).prints_nothing().says("add --say");
}

#[test]
fn cases_that_cannot_run_are_named_failures() {
    let folder = Folder::new("vectors");
    let file =
        folder.file("cases.json", r#"[{"name": "odd", "kind": "sing"}, {}, {"kind": "resolve", "name": "bare"}]"#);
    let ran = obelus(&["vectors", &file])
        .exits(1)
        .prints(": odd: unknown kind `sing`: use resolve, plan, run or conversation");
    let ran = ran.prints(": case 1: it has no `kind`").prints(": bare: the case has no `context`");
    assert!(ran.stdout.ends_with("0 passed, 3 failed\n"), "{}", ran.stdout);
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let case = format!(r#"[{{"kind": "resolve", "name": "deep", "context": [{deep}], "checks": []}}]"#);
    obelus(&["vectors", &folder.file("deep.json", case)]).exits(1).prints("deep: the context was refused: CTX-3");
    obelus(&["vectors", &folder.file("map.json", "{}")]).exits(2).prints_nothing().says("map.json: not an array");
    obelus(&["vectors"]).exits(2).prints_nothing().says("<DIR>");
}

/// A file with twenty million empty objects has a permitted size but would need too much memory.
#[test]
fn twenty_million_values_are_refused_by_every_command() {
    let folder = Folder::new("many");
    let many = folder.file("many.json", format!("[{}{{}}]", "{},".repeat(20_000_000)));
    for command in READERS {
        on(command, &many).exits(2).prints_nothing().says("it has more than 4000000 values");
    }
    let good = folder.file("good.json", GOOD);
    let input = format!("@{many}");
    obelus(&["plan", "run", &good, "--input", &input]).exits(2).prints_nothing().says("more than 4000000 values");
    let store = folder.path("store");
    let import = obelus(&["sessions", "import", &many, "--store", &store]);
    import.exits(2).prints_nothing().says("more than 4000000 values");
}
