//! Programs as activities, with real processes.
#![cfg(feature = "exec")]

mod hands;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use hands::{activity, error, eventually, reading, run, work};
use obelus_connect::activity::bind;
use obelus_kernel::session::Outcome;
use serde_json::{Value, json};

fn sh(script: &str) -> Value {
    json!({"exec": ["sh", "-c", script], "timeout": 20})
}

fn python(script: &str) -> Value {
    json!({"exec": ["python3", "-c", script], "timeout": 20})
}

/// A file of this test, in which processes leave traces.
fn trace(name: &str) -> String {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    let _ = fs::remove_file(&path);
    path
}

/// Whether a process runs. A zombie does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

#[tokio::test]
async fn the_call_is_passed_on_stdin_and_the_result_is_read_from_stdout() {
    let call = json!({"_tool": "try", "b": [1, {"c": "é\n"}], "a": null});
    let mut expected = call.clone();
    expected["_schema"] = json!({"type": "object", "x-effect": "read"});
    assert_eq!(run(sh("cat"), reading(call)).await, Outcome::Value(expected));
    let script = "import json,sys; c=json.load(sys.stdin); print(json.dumps({'sum': c['a']+c['b']}))";
    assert_eq!(run(python(script), reading(json!({"a": 1, "b": 2}))).await, Outcome::Value(json!({"sum": 3})));
}

#[tokio::test]
async fn empty_output_is_null() {
    assert_eq!(run(sh("true"), reading(json!({}))).await, Outcome::Value(Value::Null));
    assert_eq!(run(sh("echo"), reading(json!({}))).await, Outcome::Value(Value::Null));
}

#[tokio::test]
async fn the_scope_is_passed_only_if_the_call_has_one() {
    let mut work = reading(json!({"a": 1}));
    work.scope = vec![json!({"state": {"x": 1}})];
    let scope = python("import json,sys; print(json.dumps(json.load(sys.stdin).get('_scope', 'none')))");
    assert_eq!(run(scope.clone(), work).await, Outcome::Value(json!([{"state": {"x": 1}}])));
    assert_eq!(run(scope, reading(json!({"a": 1}))).await, Outcome::Value(json!("none")));
}

#[tokio::test]
async fn the_key_and_the_attempt_are_in_the_environment() {
    let mut work = reading(json!({}));
    work.attempt = 3;
    let script = r#"printf '["%s", %s]' "$OBELUS_IDEMPOTENCY_KEY" "$OBELUS_ATTEMPT""#;
    assert_eq!(run(sh(script), work).await, Outcome::Value(json!(["key-1", 3])));
}

#[tokio::test]
async fn messages_and_values_are_distinguished() {
    let script = r#"echo '{"_messages": [{"state": {"a": 1}}]}'"#;
    assert_eq!(run(sh(script), reading(json!({}))).await, Outcome::Messages(vec![json!({"state": {"a": 1}})]));
    let script = r#"echo '{"_messages": [], "more": 1}'"#;
    assert_eq!(run(sh(script), reading(json!({}))).await, Outcome::Value(json!({"_messages": [], "more": 1})));
    assert_eq!(error(sh(r#"echo '{"_messages": 1}'"#), reading(json!({}))).await.code, "bad_output");
}

#[tokio::test]
async fn an_exit_code_is_an_error_with_the_last_lines() {
    let failed = error(sh("seq 1 5000 >&2; echo no such deal >&2; exit 3"), reading(json!({}))).await;
    assert_eq!(failed.code, "exit_3");
    assert_eq!(failed.message.lines().count(), 10);
    assert!(failed.message.ends_with("4999\n5000\nno such deal"), "{}", failed.message);
    assert_eq!(error(sh("exit 7"), reading(json!({}))).await.message, "sh ended with exit code 7");
}

#[tokio::test]
async fn death_by_a_signal_has_its_own_error() {
    let failed = error(sh("echo going >&2; kill -9 $$"), reading(json!({}))).await;
    assert_eq!((failed.code.to_string().as_str(), failed.message.as_str()), ("signal_9", "going"));
    let failed = error(sh("kill -TERM $$"), reading(json!({}))).await;
    assert_eq!(
        (failed.code.to_string().as_str(), failed.message.as_str()),
        ("signal_15", "sh was killed by signal 15")
    );
}

#[tokio::test]
async fn invalid_output_is_reported_with_its_position() {
    let failed = error(sh("echo '{\"a\": 1'; echo 'oops, a log line'"), reading(json!({}))).await;
    assert_eq!(failed.code, "bad_output");
    assert!(failed.message.contains("line 2 column 1"), "{}", failed.message);
    assert!(failed.message.contains("oops, a log line"), "{}", failed.message);
    let failed = error(sh("head -c 100000 /dev/urandom"), reading(json!({}))).await;
    assert_eq!(failed.code, "bad_output");
    assert!(failed.message.len() < 500);
}

#[tokio::test]
async fn an_effect_with_unreadable_output_is_known_to_have_happened() {
    for script in ["echo done", r#"echo '{"_messages": 1}'"#] {
        let failed = error(sh(script), work(json!({}), "create")).await;
        assert!(failed.code == "bad_output" && failed.happened, "{script}: {failed:?}");
    }
    assert!(!error(sh("echo done; exit 1"), work(json!({}), "create")).await.happened);
    // It was killed, and may have had its effect before.
    let outcome = run(sh("cat /dev/zero"), work(json!({}), "create")).await;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let failed = error(json!({"exec": ["no-such-program-here"]}), reading(json!({}))).await;
    assert_eq!(failed.code, "not_found");
    assert!(failed.message.contains("`no-such-program-here` in PATH"), "{}", failed.message);
    let failed = error(json!({"exec": ["./nowhere/x"]}), reading(json!({}))).await;
    assert!(failed.code == "not_found" && failed.message.contains("nowhere/x"), "{}", failed.message);
    let failed = error(json!({"exec": ["sh"], "cwd": "nowhere"}), reading(json!({}))).await;
    assert!(failed.code == "not_found" && failed.message.contains("see `cwd`"), "{}", failed.message);
    let failed = error(json!({"exec": ["./Cargo.toml"]}), reading(json!({}))).await;
    assert_eq!(failed.code, "not_executable");
}

#[tokio::test]
async fn relative_paths_begin_at_the_folder_of_the_file() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let program = format!("{}/hello", env!("CARGO_TARGET_TMPDIR"));
    // A link, because a file that was just written may still be open for writing in a forked child.
    let _ = fs::remove_file(&program);
    std::os::unix::fs::symlink("/bin/cat", &program).unwrap();
    let up = "../".repeat(folder.matches('/').count());
    let binding = json!({"exec": [format!("./{up}{}", &program[1..])]});
    let Outcome::Value(echoed) = run(binding, reading(json!({"a": 1}))).await else { panic!("no value") };
    assert_eq!(echoed["a"], 1);

    let pwd = r#"printf '"%s"' "$(pwd)""#;
    assert_eq!(run(sh(pwd), reading(json!({}))).await, Outcome::Value(json!(folder)));
    let binding = json!({"exec": ["sh", "-c", pwd], "cwd": "src"});
    assert_eq!(run(binding, reading(json!({}))).await, Outcome::Value(json!(format!("{folder}/src"))));
}

#[tokio::test]
async fn too_much_output_ends_the_program_early() {
    let written = trace("written");
    // Writes 100 MB and counts the megabytes; the pipe breaks long before the end.
    let script = format!(
        "import sys\nfor i in range(100):\n  sys.stdout.write('\"' + 'x' * 999999); sys.stdout.flush()\n  open({written:?}, 'a').write('x')"
    );
    let failed = error(python(&script), reading(json!({}))).await;
    assert_eq!(failed.code, "output_too_large");
    let megabytes = fs::read_to_string(&written).unwrap().len();
    assert!(megabytes < 12, "{megabytes} MB were taken");
}

#[tokio::test]
async fn too_much_output_before_any_input_was_read_does_not_hang() {
    let call = json!({"text": "x".repeat(3_000_000)});
    assert_eq!(error(sh("cat /dev/zero"), reading(call)).await.code, "output_too_large");
}

#[tokio::test]
async fn output_on_stderr_of_a_successful_program_is_discarded() {
    let script = "head -c 100000000 /dev/zero >&2; echo 1";
    assert_eq!(run(sh(script), reading(json!({}))).await, Outcome::Value(json!(1)));
}

#[tokio::test]
async fn a_large_call_reaches_a_program_that_writes_while_it_reads() {
    let call = json!({"text": "x".repeat(3_000_000)});
    let Outcome::Value(echoed) = run(sh("cat"), reading(call.clone())).await else { panic!("no value") };
    assert!(echoed["text"] == call["text"], "the text came back otherwise");
    assert_eq!(run(sh("echo 1"), reading(call)).await, Outcome::Value(json!(1)));
}

#[tokio::test]
async fn an_abandoned_program_is_killed_with_its_children() {
    let pids = trace("pids");
    let script = format!("sleep 1000 & echo $$ $! > {pids}; sleep 1000");
    let binding = json!({"exec": ["sh", "-c", script], "timeout": 0.5});
    assert_eq!(error(binding, reading(json!({}))).await.code, "timeout");
    let pids = fs::read_to_string(&pids).unwrap();
    let (shell, child) = pids.trim().split_once(' ').unwrap();
    eventually("the child of the child is killed", || !runs(child)).await;
    // The program itself is reaped too.
    eventually("the program is reaped", || !fs::exists(format!("/proc/{shell}")).unwrap()).await;
}

#[tokio::test]
async fn background_processes_of_a_program_are_killed_when_it_ends() {
    let pid = trace("left");
    // The child keeps stdout open; the result must not wait for it.
    let begun = Instant::now();
    let script = format!("sleep 1000 & echo $! > {pid}; echo 1");
    assert_eq!(run(sh(&script), reading(json!({}))).await, Outcome::Value(json!(1)));
    let pid = fs::read_to_string(&pid).unwrap();
    eventually("what was left is killed", || !runs(&pid)).await;

    // A process outside of the group cannot be killed and is not waited for.
    let script = "setsid sleep 5 & echo 2";
    assert_eq!(run(sh(script), reading(json!({}))).await, Outcome::Value(json!(2)));
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn only_reads_are_retried() {
    let binding = |tries: &str| {
        let script = format!("echo x >> {tries}; [ $(wc -l < {tries}) -ge 3 ] && echo 1");
        json!({"exec": ["sh", "-c", script], "retry": 2})
    };
    let tries = trace("tries-read");
    assert_eq!(run(binding(&tries), reading(json!({}))).await, Outcome::Value(json!(1)));
    let tries = trace("tries-update");
    assert_eq!(error(binding(&tries), work(json!({}), "update")).await.code, "exit_1");
    assert_eq!(fs::read_to_string(&tries).unwrap(), "x\n");
}

#[tokio::test]
async fn calls_do_not_wait_for_each_other() {
    let activity = activity(sh("sleep 0.3; echo 1"));
    let begun = Instant::now();
    let all: Vec<_> = (0..10).map(|_| tokio::spawn(activity.run(reading(json!({}))))).collect();
    for one in all {
        assert_eq!(one.await.unwrap(), Outcome::Value(json!(1)));
    }
    assert!(begun.elapsed() < Duration::from_secs(2));
}

/// A test cannot change its environment safely, so it runs itself in another process.
#[tokio::test]
async fn environment_secrets_are_passed_on_only_if_named() {
    if std::env::var_os("OBELUS_TEST_INSIDE").is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "environment_secrets_are_passed_on_only_if_named"]);
        again.envs([("OBELUS_TEST_INSIDE", "1"), ("MY_TOKEN", "hush-hush"), ("MY_NAME", "Ann")]);
        let done = again.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return;
    }
    let script = r#"printf '["%s", "%s"]' "$MY_NAME" "${MY_TOKEN:-none}""#;
    assert_eq!(run(sh(script), reading(json!({}))).await, Outcome::Value(json!(["Ann", "none"])));
    // The program has the secret, but its output is masked.
    let script = r#"[ "$MY_TOKEN" = hush-hush ] || exit 9; printf '["%s", "%s"]' "$MY_TOKEN" "$MY_NAME""#;
    for env in [json!(["MY_TOKEN"]), json!({"MY_TOKEN": true}), json!({"MY_TOKEN": "hush-hush"})] {
        let binding = json!({"exec": ["sh", "-c", script], "env": env});
        assert_eq!(run(binding, reading(json!({}))).await, Outcome::Value(json!(["***", "Ann"])));
    }
    let script = "echo \"bad token $MY_TOKEN\" >&2; exit 1";
    let binding = json!({"exec": ["sh", "-c", script], "env": ["MY_TOKEN"]});
    assert_eq!(error(binding, reading(json!({}))).await.message, "bad token ***");
    let binding = json!({"exec": ["sh", "-c", "printf '\"%s\"' \"$MY_NAME\""], "env": {"MY_NAME": "Bob"}});
    assert_eq!(run(binding, reading(json!({}))).await, Outcome::Value(json!("Bob")));
}

/// A test cannot change its environment safely, so it runs itself in another process.
#[tokio::test]
async fn a_program_does_not_get_the_secrets_of_other_bindings() {
    if std::env::var_os("OBELUS_TEST_INSIDE").is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "a_program_does_not_get_the_secrets_of_other_bindings"]);
        again.envs([("OBELUS_TEST_INSIDE", "1"), ("CRM_URL", "postgres://crm-1"), ("MAIL_URL", "smtp://mail-2")]);
        again.envs([("SITE_URL", "https://site-3"), ("REGION", "north"), ("OBELUS_TOKEN", "token-4")]);
        let done = again.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return;
    }
    let script = r#"for name in CRM_URL MAIL_URL SITE_URL OBELUS_TOKEN REGION PATH; do
        eval "value=\$$name"; [ -n "$value" ] && printf '%s ' "$name" >> "$0"
    done; true"#;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("secrets-of-others");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let program =
        |name: &str, env: Value| json!({"exec": ["sh", "-c", script, folder.join(name).to_str().unwrap()], "env": env});
    let bindings = json!({
        "plain": program("plain", json!([])),
        "crm": program("crm", json!(["CRM_URL"])),
        "mail": program("mail", json!({"MAIL_URL": true, "REGION": "south"})),
        "site": {"http": {"url": "https://site.example.test", "headers": {"X": "{{ env.SITE_URL }}"}}, "secrets": ["SITE_URL"]},
        "both": program("both", json!(["SITE_URL", "CRM_URL", "PATH"])),
    });
    let activities = bind(bindings.as_object().unwrap(), Path::new("")).unwrap();
    for (name, has) in [
        ("plain", "REGION PATH "),
        ("crm", "CRM_URL REGION PATH "),
        ("mail", "MAIL_URL REGION PATH "),
        ("both", "CRM_URL SITE_URL REGION PATH "),
    ] {
        let outcome = activities.get(name).unwrap().run(reading(json!({}))).await;
        assert_eq!(outcome, Outcome::Value(Value::Null));
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), has, "{name}");
    }
}

/// A test cannot change its environment safely, so it runs itself in another process.
#[tokio::test]
async fn the_variables_that_one_agent_names_stay_with_the_programs_of_another() {
    if std::env::var_os("REGION").is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "the_variables_that_one_agent_names_stay_with_the_programs_of_another"]);
        let done = again.env("REGION", "north").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return;
    }
    let other = json!({"other": {"exec": ["true"], "env": ["REGION"]}, "web": {"http": {"url": "https://x.test"}, "secrets": ["REGION"]}});
    bind(other.as_object().unwrap(), Path::new("")).unwrap();
    let script = r#"printf '"%s"' "$REGION""#;
    assert_eq!(run(sh(script), reading(json!({}))).await, Outcome::Value(json!("north")));
}
