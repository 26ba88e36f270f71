//! DUR-9: a full disk. A process that may write no byte to any file stands for it.

use std::process::Command;

use crate::support::{Folder, Ran, obelus, obelus_reading, run};

/// Runs the binary where no file can grow.
fn on_full_disk(args: &[&str], stdin: &str) -> Ran {
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    run(Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_obelus")]).args(args), stdin.as_bytes())
}

#[test]
fn dur_9_what_is_kept_can_be_read_and_a_message_is_refused_with_what_to_do() {
    let folder = Folder::new("full-disk");
    let store = folder.path("store");
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/../../agents/notes");
    let chat = ["chat", "--agent", agent, "--session", "s", "--store", &store];
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
