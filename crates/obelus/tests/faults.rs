//! Faults of disks, processes and peers, and where each is tested.
//!
//! | fault | tested by |
//! |---|---|
//! | kill -9 at any write boundary | here, at every write and sync; `kill.rs` at random moments; `obelus-runtime/tests/simulation` |
//! | torn or damaged tail, damage in the middle | here; `obelus-runtime/src/store/sqlite/tests.rs` |
//! | disk full, read-only | here; `obelus-runtime/tests/faults.rs`, `durable.rs` |
//! | failed sync | here; `obelus-runtime/tests/faults.rs`, also on a disk that is full afterwards |
//! | two processes | `kill.rs` |
//! | clock jumps | `obelus-kernel/tests/session/clock.rs`; the simulation |
//! | doubled events, clicks | `sessions.rs`; `obelus-kernel/tests/session`; the simulation |
//! | completions in another order | the simulation; `obelus-kernel/tests/session/simulation` |
//! | malformed, oversized, half answers | `obelus-connect/tests/exec.rs`, `http.rs` |
//! | storm of 429 and 5xx | `obelus-connect/tests/http.rs` |
//! | time-out after the effect may have happened | `obelus-runtime/tests/reconcile.rs`; the simulation |

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

const PLAN: &str = r#"
context:
  - type: tool
    tool:
      mark: {type: object, properties: {id: {}, after: {}}, x-effect: create, x-trust: trusted, x-target: []}
  - type: plan
    plan:
      - {_tool: mark, id: a, _outputPath: †state.a}
      - {_tool: mark, id: b, after: †state.a, _outputPath: †state.b}
      - {_tool: mark, id: c, after: †state.b, _outputPath: †state.c}
activities:
  mark: {exec: [./mark.sh]}
"#;

/// Writes a mark. A file `break-MARK` makes the disk fail in the way that it names; a file `kill-MARK` kills the parent
/// process.
const MARK: &str = "#!/bin/sh\nread -r line\nid=${line#*\\\"id\\\":\\\"}\nid=${id%%\\\"*}\nhere=${0%/*}\n\
    echo \"$id\" >> \"$here/marks\"\n\
    if [ -e \"$here/break-$id\" ]; then mv \"$here/break-$id\" \"$here/$(cat \"$here/break-$id\")\"; fi\n\
    if [ -e \"$here/kill-$id\" ]; then rm \"$here/kill-$id\"; kill -9 $PPID; fi\n\
    echo \"\\\"$id\\\"\"\n";

struct Harness {
    folder: PathBuf,
}

/// The library that makes the disk fail, compiled once.
fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/shim.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shim-{}.so", std::process::id()));
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl").output();
        let compiled = compiled.expect("a C compiler, which building needs too");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        library
    })
}

impl Harness {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-faults-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("plan.yaml"), PLAN).unwrap();
        fs::write(folder.join("mark.sh"), MARK).unwrap();
        fs::set_permissions(folder.join("mark.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn obelus(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_obelus"));
        command.args(args).arg("--store").arg(self.folder.join("store")).current_dir(&self.folder);
        command.stdin(Stdio::null()).env("OBELUS_FAULTS", &self.folder);
        command
    }

    fn does(&self, args: &[&str]) -> Output {
        self.obelus(args).output().unwrap()
    }

    fn run(&self) -> Output {
        self.does(&["plan", "run", "plan.yaml", "--session", "s", "--json"])
    }

    /// Runs on a disk that can fail.
    fn run_on_bad_disk(&self) -> Output {
        let mut command = self.obelus(&["plan", "run", "plan.yaml", "--session", "s", "--json"]);
        command.env("LD_PRELOAD", shim()).output().unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.does(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", words(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn marks(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("marks")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn set(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }

    /// Continues to the end; questions are answered correctly.
    fn finish(&self) -> Value {
        for _ in 0..10 {
            let output = self.run();
            if output.status.code() == Some(0) {
                return serde_json::from_slice(&output.stdout).unwrap();
            }
            assert_eq!(output.status.code(), Some(3), "{}", words(&output));
            for question in self.json(&["inbox", "--json"]).as_array().unwrap() {
                let (id, name) = (question["id"].as_str().unwrap(), question["call"]["id"].as_str().unwrap());
                if self.marks().iter().any(|mark| mark == name) {
                    self.does(&["answer", id, "happened", "--result", &json!(name).to_string()])
                } else {
                    self.does(&["answer", id, "did-not"])
                };
            }
        }
        panic!("it never ends");
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn state(document: &Value) -> Value {
    let messages = document["context"].as_array().unwrap();
    messages.iter().filter(|message| message["type"] == "state").map(|message| message["data"].clone()).collect()
}

#[test]
fn a_process_killed_at_any_write_or_sync_continues_without_repeated_effects() {
    let mut died = 0;
    for boundary in 1.. {
        let harness = Harness::new(&format!("die-{boundary}"));
        harness.set("die", &boundary.to_string());
        let output = harness.run_on_bad_disk();
        if output.status.code() == Some(0) {
            break;
        }
        died += 1;
        assert_eq!(output.status.code(), None, "killed: {}", words(&output));
        let ended = harness.finish();
        assert_eq!(state(&ended), json!([{"a": "a"}, {"b": "b"}, {"c": "c"}]), "boundary {boundary}");
        assert_eq!(harness.marks(), ["a", "b", "c"], "boundary {boundary}");
    }
    assert!(died > 8, "only {died} boundaries");
}

#[test]
fn on_a_full_disk_nothing_starts_and_work_continues_when_there_is_room() {
    for fault in ["full", "readonly"] {
        let harness = Harness::new(fault);
        harness.set("break-a", fault);
        let output = harness.run_on_bad_disk();
        assert_eq!(output.status.code(), Some(2), "{fault}: {}", words(&output));
        assert!(words(&output).contains("nothing was written"), "{}", words(&output));
        assert_eq!(harness.marks(), ["a"], "nothing starts whose intent cannot be kept");
        assert_eq!(harness.json(&["sessions", "list", "--json"])[0]["records"], 1, "the last durable point");
        assert_eq!(state(&harness.json(&["sessions", "show", "s", "--json"])), json!([]));
        fs::remove_file(harness.folder.join(fault)).unwrap();
        harness.finish();
        assert_eq!(harness.marks(), ["a", "b", "c"]);
    }
}

#[test]
fn a_session_that_fails_to_start_leaves_no_files() {
    let harness = Harness::new("begin");
    assert_eq!(harness.does(&["sessions", "list"]).status.code(), Some(0));
    harness.set("full", "");
    let output = harness.run_on_bad_disk();
    assert_eq!(output.status.code(), Some(2));
    assert!(harness.marks().is_empty(), "{}", words(&output));
    fs::remove_file(harness.folder.join("full")).unwrap();
    harness.finish();
    assert_eq!(harness.marks(), ["a", "b", "c"]);
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_until_the_store_is_reopened() {
    let harness = Harness::new("sync");
    harness.set("break-a", "sync");
    let output = harness.run_on_bad_disk();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("whether it was written is not known"), "{}", words(&output));
    assert_eq!(harness.marks(), ["a"], "nothing starts before its intent is durable");
    fs::remove_file(harness.folder.join("sync")).unwrap();
    let found = harness.json(&["sessions", "list", "--json"])[0]["records"].as_u64();
    assert!(matches!(found, Some(1 | 2)), "{found:?}");
    harness.finish();
    assert_eq!(harness.marks(), ["a", "b", "c"]);
}

#[test]
fn a_torn_file_is_cut_to_the_last_complete_commit() {
    let harness = Harness::new("torn");
    harness.set("kill-b", "");
    assert_eq!(harness.run().status.code(), None);
    let log = harness.folder.join("store/obelus.db-wal");
    let (whole, file) = (fs::read(&log).unwrap(), fs::read(harness.folder.join("store/obelus.db")).unwrap());
    let tear = |cut: usize| {
        fs::write(harness.folder.join("store/obelus.db"), &file).unwrap();
        fs::write(&log, &whole[..whole.len() - cut]).unwrap();
        let _ = fs::remove_file(harness.folder.join("store/obelus.db-shm"));
    };
    let records = || harness.json(&["sessions", "list", "--json"])[0]["records"].as_u64();
    assert_eq!(records(), Some(2));
    let mut before = Some(2);
    for cut in (1..whole.len()).step_by(1999) {
        tear(cut);
        let now = records();
        assert!(now <= before, "{cut} bytes less, and {now:?} records after {before:?}");
        before = now;
    }
    assert!(before < Some(2), "nothing was cut off");
    // A crash can damage only records that were not acknowledged.
    tear(0);
    harness.finish();
    assert_eq!(harness.marks(), ["a", "b", "c"]);
}

/// Changes bytes in the store's file, as a bad sector does.
fn spoil(harness: &Harness, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let path = harness.folder.join("store/obelus.db");
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, part)| *part == from.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "{from} is not there");
    for at in places {
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
    }
    fs::write(path, bytes).unwrap();
}

/// Leaves the store as if every process had died before its checkpoints were written.
fn lose_checkpoints(harness: &Harness) {
    let store = rusqlite::Connection::open(harness.folder.join("store/obelus.db")).unwrap();
    store.execute("DELETE FROM snapshot", []).unwrap();
}

#[test]
fn damage_stops_only_its_session_and_one_with_a_damaged_end_goes_back_to_its_last_rest() {
    let harness = Harness::new("damage");
    assert_eq!(harness.run().status.code(), Some(0));
    harness.does(&["plan", "run", "plan.yaml", "--session", "t"]);
    lose_checkpoints(&harness);
    // The last record of both sessions.
    spoil(&harness, "{\"value\":\"c\"}", "{\"value\":\"x\"}");
    let output = harness.run();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("record 4: the end of its journal is damaged"), "{}", words(&output));
    assert_eq!(harness.marks().len(), 6, "nothing is done on a guess");
    let back = harness.does(&["sessions", "back", "t", "--save", "t.jsonl"]);
    assert_eq!(back.status.code(), Some(0), "{}", words(&back));
    assert_eq!(fs::read_to_string(harness.folder.join("t.jsonl")).unwrap().lines().count(), 4, "what can be read");
    // Nobody knows whether the lost end had a pause.
    assert!(words(&back).contains("`t` is paused"), "{}", words(&back));
    assert_eq!(harness.json(&["sessions", "show", "t", "--json"])["paused"], "a person at the command line");
    lose_checkpoints(&harness);
    spoil(&harness, "{\"value\":\"a\"}", "{\"value\":\"x\"}");
    let output = harness.run();
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("session `s`, record 2"), "{}", words(&output));
    // Another session and the store itself still work.
    let other = harness.does(&["plan", "run", "plan.yaml", "--session", "u", "--json"]);
    assert_eq!(other.status.code(), Some(0), "{}", words(&other));
    assert_eq!(harness.json(&["sessions", "list", "--json"]).as_array().unwrap().len(), 3);
    let inbox = harness.does(&["inbox", "--json"]);
    assert!(words(&inbox).contains("record 2") && inbox.status.code() == Some(0), "{}", words(&inbox));
}

#[test]
fn a_session_with_a_damaged_end_stays_in_the_lists_with_the_way_back() {
    let harness = Harness::new("damaged-end");
    harness.does(&["run", "notes", "--say", "the customer called", "--session", "s"]);
    harness.does(&["run", "notes", "--say", "ask Anna to call Bob", "--session", "s"]);
    assert_eq!(harness.json(&["inbox", "--json"]).as_array().unwrap().len(), 1);
    // The record with the question.
    spoil(&harness, "Anna should call Bob", "Anna should kiss Bob");
    let way_back = format!("obelus sessions back s --store {}/store", harness.folder.display());
    for command in [&["inbox"][..], &["sessions", "list"], &["sessions", "show", "s"]] {
        let output = harness.does(command);
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        assert!(words(&output).contains("damaged from record 6 on"), "{command:?}: {}", words(&output));
        assert!(words(&output).contains(&way_back), "{command:?}: {}", words(&output));
    }
    assert!(words(&harness.does(&["inbox"])).contains("Sessions that cannot be read: 1"));
    assert_eq!(harness.json(&["sessions", "list", "--json"])[0]["status"], "unreadable");
    let pruned = harness.does(&["sessions", "prune", "--days", "0"]);
    assert!(words(&pruned).contains("s stays"), "{}", words(&pruned));
    let answered = harness.does(&["approve", "s:q1"]);
    assert!(answered.status.code() == Some(2) && words(&answered).contains("record 6"), "{}", words(&answered));
    assert_eq!(harness.does(&["sessions", "back", "s", "--save", "s.jsonl"]).status.code(), Some(0));
    assert_eq!(harness.json(&["sessions", "list", "--json"])[0]["status"], "paused");
}
