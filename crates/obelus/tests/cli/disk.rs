//! DUR-9: a full disk, simulated by a process that may not write to any file.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::support::{Folder, Ran, command, obelus, obelus_reading, run, start};

const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../agents/notes");

/// Runs the binary with a file size limit of 0.
fn on_full_disk(args: &[&str], stdin: &str) -> Ran {
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    run(Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_obelus")]).args(args), stdin.as_bytes())
}

#[test]
fn dur_9_on_a_full_disk_sessions_can_be_read_and_messages_are_refused_with_advice() {
    let folder = Folder::new("full-disk");
    let store = folder.path("store");
    let chat = ["chat", "--agent", AGENT, "--session", "s", "--store", &store];
    obelus_reading("the customer called\n", &chat).exits(0);
    for args in [
        &["sessions", "list", "--store", &store][..],
        &["sessions", "show", "s", "--store", &store],
        &["sessions", "log", "s", "--store", &store],
        &["inbox", "--store", &store],
    ] {
        assert_eq!(on_full_disk(args, "").exits(0).stdout, obelus(args).exits(0).stdout, "{args:?}");
    }
    let refused = on_full_disk(&chat, "once more\n");
    let words = format!("{}{}", refused.stdout, refused.stderr);
    assert!(words.contains("the disk is full; free some space") && !words.contains("Error code"), "{words}");
    obelus(&["sessions", "log", "s", "--store", &store]).exits(0).prints("the customer called");
}

#[test]
fn dur_9_the_log_of_a_killed_process_can_be_read() {
    let folder = Folder::new("full-disk-killed");
    let (store, left) = (folder.path("store"), folder.path("left"));
    let mut child = start(&mut command(&["chat", "--agent", AGENT, "--session", "s", "--store", &store]));
    child.stdin.as_mut().expect("a pipe").write_all(b"the customer called\n").unwrap();
    let log = |store: &str| ["sessions", "log", "s", "--store", store].map(str::to_owned);
    let is_kept = || obelus(&log(&store).each_ref().map(String::as_str)).stdout.contains("the customer called");
    for _ in 0..200 {
        if is_kept() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    fs::create_dir(&left).unwrap();
    for name in ["obelus.db", "obelus.db-wal"] {
        fs::copy(format!("{store}/{name}"), format!("{left}/{name}")).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(fs::metadata(format!("{left}/obelus.db-wal")).unwrap().len() > 0, "the log is not carried over yet");
    on_full_disk(&log(&left).each_ref().map(String::as_str), "").exits(0).prints("the customer called");
}
