//! Faulty activities in `obelus plan run`: the call fails with a clear message, the other calls run, and no process is
//! left behind.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::{Folder, Ran, command, end, find, obelus, program, run, start, wait_for};

/// A faulty call, and two others that do not depend on it.
const PLAN: &str = "
context:
  - type: tool
    tool:
      go: {type: object, properties: {x: {}}, x-effect: read, x-trust: trusted}
      other: {type: object, properties: {}, x-effect: read, x-trust: trusted}
      after: {type: object, properties: {x: {}}, x-effect: read, x-trust: trusted}
  - type: plan
    plan:
      - {_tool: go, _outputPath: †state.go}
      - {_tool: other, _outputPath: †state.other}
      - {_tool: after, x: †state.other, _outputPath: †state.after}
activities:
  other: {jq: '1'}
  after: {jq: '.call.x + 1'}
";

/// The plan with this binding of `go`.
struct Trial {
    folder: Folder,
    plan: String,
    activities: String,
}

impl Trial {
    fn new(name: &str, binding: &str) -> Self {
        let folder = Folder::new(name);
        let binding = binding.replace("FOLDER", &folder.path(""));
        let (plan, activities) =
            (folder.file("plan.yaml", PLAN), folder.file("activities.yaml", format!("go: {binding}")));
        Self { folder, plan, activities }
    }

    fn args(&self) -> [&str; 5] {
        ["plan", "run", &self.plan, "--activities", &self.activities]
    }

    /// The plan in which `go` starts after the others.
    fn go_last(name: &str, binding: &str) -> Self {
        let trial = Self::new(name, binding);
        trial.folder.file("plan.yaml", PLAN.replace("_tool: go,", "_tool: go, x: †state.after,"));
        trial
    }

    /// Asserts that only `go` fails, with this code and message.
    #[track_caller]
    fn fails(&self, code: &str, words: &str) -> Ran {
        let ran = obelus(&self.args()).exits(1).prints("✓ other: 1").prints("✓ after: 2");
        ran.prints("✗ go: failed: ").prints(words).prints(&format!("({code})")).says("✗")
    }
}

/// Whether a process with this id runs. A zombie does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

/// A program that waits for ever, with a child that does too; their process ids are in the file `pids`.
const HANGS: &str = r#"{exec: [sh, -c, 'sleep 1000 & echo "$$ $!" > "FOLDER/new"; mv "FOLDER/new" "FOLDER/pids"; wait'], timeout: SECONDS}"#;

#[track_caller]
fn nothing_is_left(folder: &Folder) {
    let pids = fs::read_to_string(folder.path("pids")).expect("it was started");
    assert_eq!(pids.split_whitespace().count(), 2);
    for pid in pids.split_whitespace() {
        wait_for("its processes are gone", || !runs(pid));
    }
}

#[test]
fn a_hanging_program_is_killed_with_its_children() {
    let trial = Trial::new("hangs", &HANGS.replace("SECONDS", "1"));
    let ran = obelus(&trial.args()).exits(1).prints("✓ after: 2");
    ran.prints("✗ go: failed: no answer in time");
    nothing_is_left(&trial.folder);
}

#[test]
fn ctrl_c_kills_a_program_with_its_children() {
    for signal in ["INT", "TERM"] {
        let trial = Trial::go_last(&format!("interrupted-{signal}"), &HANGS.replace("SECONDS", "1000"));
        let child = start(&mut command(&trial.args()));
        wait_for("the program is at work", || fs::exists(trial.folder.path("pids")).expect("readable"));
        let kill = format!("kill -{signal} {}", child.id());
        run(&mut program("sh", &["-c", &kill]), b"").exits(0);
        let ran = end(child).exits(130).says("Stopped.");
        // The stopped call is reported, and earlier results are kept.
        ran.prints("✗ go: stopped by you").prints("✓ other: 1");
        nothing_is_left(&trial.folder);
    }
}

#[test]
fn the_json_document_is_printed_after_ctrl_c() {
    let trial = Trial::go_last("interrupted-json", &HANGS.replace("SECONDS", "1000"));
    let child = start(&mut command(&[&trial.args()[..], &["--json"]].concat()));
    wait_for("the program is at work", || fs::exists(trial.folder.path("pids")).expect("readable"));
    run(&mut program("sh", &["-c", &format!("kill -INT {}", child.id())]), b"").exits(0);
    let document = end(child).exits(130).json();
    assert_eq!(document["ends"], "stopped");
    assert_eq!(find(&document["context"], "†state.other"), 1);
}

#[test]
fn invalid_output_on_stdout_is_reported_with_its_position() {
    Trial::new("garbage", "{exec: [sh, -c, 'echo starting; echo 5']}")
        .fails("bad_output", "stdout is not JSON: expected value at line 1 column 1, near `starting`");
    let ran =
        Trial::new("bytes-out", r"{exec: [sh, -c, 'printf \\033[31m\\377\\000']}").fails("bad_output", "not JSON");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));
}

/// The memory limit is far below what the program writes, and far above what the command needs.
#[test]
fn a_gigabyte_on_stdout_is_cut_off() {
    let trial = Trial::new("flood", "{exec: [sh, -c, 'head -c 1000000000 /dev/zero | tr \"\\\\0\" 9']}");
    let line = format!(
        "ulimit -v 524288; exec '{}' plan run '{}' --activities '{}'",
        env!("CARGO_BIN_EXE_obelus"),
        trial.plan,
        trial.activities
    );
    let ran = run(&mut program("sh", &["-c", &line]), b"").exits(1).prints("✓ after: 2");
    ran.prints("✗ go: failed: more than 8 MiB on stdout").prints("(output_too_large)");
}

#[test]
fn death_by_a_signal_and_an_exit_code_are_distinguished() {
    Trial::new("signal", "{exec: [sh, -c, 'kill -9 $$']}").fails("signal_9", "sh was killed by signal 9");
    Trial::new("exit", "{exec: [sh, -c, 'echo no such deal >&2; exit 4']}").fails("exit_4", "no such deal");
    Trial::new("no-program", "{exec: [no-such-program]}").fails("not_found", "install it, or write its path with a /");
}

#[test]
fn call_5_a_filter_chooses_where_its_result_goes() {
    let folder = Folder::new("chooses");
    let filter =
        r#"if .call.n > 5 then {_messages: [{type: "data", kind: "state", data: {late: .call.n}}]} else .call.n end"#;
    let request = |n: u32| {
        serde_json::json!({
            "context": [
                {"type": "tool", "tool": {"sort": {"type": "object", "x-effect": "read", "properties": {"n": {"type": "integer"}}}}},
                {"type": "plan", "plan": [{"_tool": "sort", "n": n, "_outputPath": "†state.early || †state.late"}]},
            ],
            "activities": {"sort": {"jq": filter}},
        })
    };
    for (n, place) in [(3, "†state.early"), (7, "†state.late")] {
        let file = folder.file(&format!("{n}.json"), request(n).to_string());
        let ran = obelus(&["plan", "run", &file, "--json"]).exits(0).json();
        let written = ran["context"].as_array().and_then(|context| context.last()).cloned().unwrap_or_default();
        assert_eq!(written["_outputPath"], place, "{ran}");
    }
}

#[test]
fn a_redirect_loop_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let count = Arc::new(AtomicUsize::new(0));
    let served = Arc::clone(&count);
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 4096]);
            let n = served.fetch_add(1, Ordering::SeqCst);
            let _ = write!(
                stream,
                "HTTP/1.1 302 Found\r\nLocation: /{n}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
    });
    let trial = Trial::new("circle", &format!("{{http: {{url: 'http://127.0.0.1:{port}/'}}}}"));
    trial.fails("too_many_redirects", "more than 5 redirects, most likely in a circle");
    assert_eq!(count.load(Ordering::SeqCst), 6);
}

#[test]
fn a_delegate_that_calls_itself_ends_at_the_limit_of_depth() {
    let folder = Folder::new("itself");
    let tool = "{type: object, properties: {_delegate: {const: request.yaml}, _output: {}}, x-effect: read}";
    let context = format!("context:\n  - {{type: tool, tool: {{again: {tool}}}}}\n");
    folder.file("request.yaml", &context);
    let playbook = "
- when: .errors != []
  output: 'at the bottom: {{ (errors|last).error.code }}: {{ (errors|last).error.message }}'
- when: .results != []
  output: '{{ kinds.state.again }}'
- answer: {calls: [{_tool: again, _outputPath: †state.again}]}
";
    let model = format!("playbook:{}", folder.file("playbook.yaml", playbook));
    let plan = format!("{context}  - {{type: plan, plan: [{{_tool: again, _outputPath: †state.again}}]}}\n");
    let plan = folder.file("plan.yaml", plan);
    let document = obelus(&["plan", "run", &plan, "--model", &model, "--json"]).exits(0).json();
    let told = find(&document["context"], "†state.again");
    assert_eq!(told, "at the bottom: too_deep: delegates are nested deeper than 8 levels");
}

#[test]
fn an_incomplete_answer_of_a_model_is_discarded() {
    let folder = Folder::new("half");
    let model = format!("playbook:{}", folder.file("half.yaml", "- raw: '{\"calls\": ['"));
    let words = "the answer is not JSON: EOF while parsing a list at line 1 column 11";

    let request = folder.file("request.yaml", "context: [{role: user, text: Hello}]");
    let ran = obelus(&["run", &request, "--model", &model]).exits(1).prints_nothing();
    ran.says(&format!("The model's answer cannot be read: {words}")).says("Try again");
    let document = obelus(&["run", &request, "--model", &model, "--json"]).exits(1).json();
    assert_eq!((&document["ends"], &document["reason"]["code"]), (&"degraded".into(), &"out_of_format".into()));
    assert_eq!(document["context"][0]["text"], "Hello", "the user's words are kept");

    // In a plan the call that needed the model fails.
    let trial = Trial::new("half-plan", "{jq: '1'}");
    let plan = trial.folder.file("plan.yaml", PLAN.replace("  other: {jq: '1'}\n", ""));
    let ran = obelus(&["plan", "run", &plan, "--activities", &trial.activities, "--model", &model]).exits(1);
    ran.prints("✗ other: failed").prints(words).prints("✓ go: 1").prints("– after: skipped");
}

#[test]
fn a_secret_that_is_too_short_to_be_masked_in_results_is_warned_of() {
    let folder = Folder::new("short-secrets");
    let agent = "name: desk\nmodel: playbook:p.yaml\nmode: full\n\
        tools: {go: {type: object, properties: {}, x-effect: read}}\n\
        activities: {go: {exec: [echo, '1'], env: [SHOP_KEY]}}\n";
    folder.file("desk/p.yaml", "- output: done\n");
    let agent = folder.file("desk/agent.yaml", agent);
    let with_key = |args: &[&str], lang: &str, key: &str| {
        run(command(&[args, &["--lang", lang]].concat()).env("SHOP_KEY", key), b"").exits(0)
    };
    let said = [("en", "the secret SHOP_KEY has fewer than 8 characters"), ("ru", "секрет SHOP_KEY короче 8 знаков")];
    for (lang, words) in said {
        with_key(&["agents", "check", &agent], lang, "abc-123").prints(words);
        let ran = with_key(&["run", &agent, "--say", "hi"], lang, "abc-123").says(words);
        assert!(!ran.stderr.contains("abc-123"), "{}", ran.stderr);
    }
    for args in [&["agents", "check", &agent][..], &["run", &agent, "--say", "hi"]] {
        let ran = with_key(args, "en", "abc-1234");
        assert!(!ran.stdout.contains("SHOP_KEY") && !ran.stderr.contains("SHOP_KEY"), "{ran:?}");
    }
}
