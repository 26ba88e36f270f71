//! Completion of a command line by a shell, and the manual.

use std::fs;
use std::path::Path;

use crate::support::{Folder, Ran, command, obelus, program, run, start, wait_for};

/// The names that bash offers for a line, sorted, without options. The words are given as bash splits the line.
fn offered(line: &str, words: &[&str], folder: &Folder) -> Vec<String> {
    let script = "\
        source <(obelus completions bash) && complete -p obelus > /dev/null || exit 9\n\
        COMP_LINE=$1 COMP_POINT=${#1} COMP_CWORD=$(($# - 2)) COMP_WORDS=(\"${@:2}\")\n\
        _obelus obelus \"${!#}\" && printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = program("bash", &["--norc", "-c", script, "bash", line]);
    let ran = run(in_folder(bash.args(words), folder), b"").exits(0);
    assert_eq!(ran.stderr, "", "{line}");
    let is_name = |line: &&str| !line.is_empty() && !line.starts_with('-');
    let mut names: Vec<String> = ran.stdout.lines().filter(is_name).map(str::to_owned).collect();
    names.sort();
    names
}

/// The same for a line without `:` and `=`.
fn offered_for(line: &str, folder: &Folder) -> Vec<String> {
    offered(line, &line.split(' ').collect::<Vec<_>>(), folder)
}

fn in_folder<'a>(command: &'a mut std::process::Command, folder: &Folder) -> &'a mut std::process::Command {
    let bin = Path::new(env!("CARGO_BIN_EXE_obelus")).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let home = folder.path("home");
    command.current_dir(folder.path("")).env("PATH", path).env("OBELUS_HOME", folder.path("store")).env("HOME", home)
}

/// A session with an open question.
fn asked(session: &str, store: &str) -> Ran {
    let say = "ask Anna to call Bob";
    obelus(&["run", "notes", "--say", say, "--session", session, "--store", store, "--lang", "en"]).exits(3)
}

#[test]
fn completions_are_valid_shell_scripts() {
    for (shell, part) in [("bash", "complete -o"), ("zsh", "#compdef obelus"), ("fish", "complete --keep-order")] {
        obelus(&["completions", shell]).exits(0).prints(part).prints("OBELUS_COMPLETE");
    }
    obelus(&["completions", "tcl"]).exits(2).prints_nothing().says("bash");
}

#[test]
fn bash_completes_commands_options_and_agents() {
    let folder = Folder::new("complete-agents");
    folder.file("agents/desk/agent.yaml", "name: desk\n");
    assert_eq!(offered_for("obelus pl", &folder), ["plan"]);
    assert_eq!(offered_for("obelus plan simulate x --mode ca", &folder), ["canary"]);
    let agents = offered_for("obelus run ", &folder);
    for name in ["crm", "desk", "notes", "operator", "agents/"] {
        assert!(agents.iter().any(|offered| offered == name), "{name}: {agents:?}");
    }
    assert_eq!(offered_for("obelus chat --agent de", &folder), ["desk"]);
    assert_eq!(offered_for("obelus agents check no", &folder), ["notes"]);
    assert_eq!(
        offered("obelus plan simulate x --mode=sh", &["obelus", "plan", "simulate", "x", "--mode", "=", "sh"], &folder),
        ["shadow"]
    );
}

#[test]
fn bash_completes_sessions_and_questions_of_the_given_store() {
    let folder = Folder::new("complete-sessions");
    asked("monday", &folder.path("store"));
    asked("moving", &folder.path("store"));
    asked("tuesday", &folder.path("home/other store"));
    assert_eq!(offered_for("obelus sessions show mo", &folder), ["monday", "moving"]);
    assert_eq!(offered_for("obelus run notes --session mon", &folder), ["monday"]);
    let other = "obelus sessions show --store ~/'other store' ";
    let words = ["obelus", "sessions", "show", "--store", "~/'other store'", ""];
    assert_eq!(offered(other, &words, &folder), ["tuesday"]);
    assert_eq!(offered_for("obelus answer m", &folder), ["monday:q1", "moving:q1"]);
    assert_eq!(offered_for("obelus approve t", &folder), [""; 0]);
    // Bash splits the line at `:`, and replaces only what stands behind it.
    assert_eq!(offered("obelus answer monday:", &["obelus", "answer", "monday", ":"], &folder), ["q1"]);
    assert_eq!(offered("obelus deny monday:q", &["obelus", "deny", "monday", ":", "q"], &folder), ["q1"]);
    let verbs = offered("obelus answer monday:q1 ap", &["obelus", "answer", "monday", ":", "q1", "ap"], &folder);
    assert_eq!(verbs, ["approve"]);
    assert_eq!(offered_for("obelus sessions show --server https mo", &folder), [""; 0]);
}

#[test]
fn completion_is_silent_for_a_locked_damaged_or_missing_store() {
    let folder = Folder::new("complete-held");
    assert_eq!(offered_for("obelus sessions show ", &folder), [""; 0]);
    assert!(!Path::new(&folder.path("store")).exists(), "nothing is made");
    asked("monday", &folder.path("store"));
    let mut holder = start(&mut command(&["chat", "--session", "monday", "--store", &folder.path("store")]));
    wait_for("the store is held", || Path::new(&folder.path("store/obelus.sock")).exists());
    assert_eq!(offered_for("obelus sessions show ", &folder), ["monday"]);
    assert_eq!(offered_for("obelus answer m", &folder), ["monday:q1"]);
    drop(holder.stdin.take());
    holder.wait().expect("it ends with its stdin");
    for file in fs::read_dir(folder.path("store")).expect("a store").map(|entry| entry.expect("readable").path()) {
        if file.extension().is_some_and(|ending| ending == "db") {
            fs::write(file, "damaged ".repeat(1000)).expect("writable");
        }
    }
    assert_eq!(offered_for("obelus sessions show ", &folder), [""; 0]);
    assert_eq!(offered_for("obelus answer m", &folder), [""; 0]);
}

#[test]
fn zsh_and_fish_get_the_same_names() {
    let folder = Folder::new("complete-others");
    asked("monday", &folder.path("store"));
    for (shell, name) in [("zsh", "monday\\:q1"), ("fish", "monday:q1")] {
        let mut called = command(&["--", "obelus", "answer", ""]);
        let called = in_folder(&mut called, &folder).env("OBELUS_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "2");
        assert_eq!(run(called, b"").exits(0).prints(name).stderr, "", "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    obelus(&["--help"]).exits(0).prints("  man ");
    let page = obelus(&["man"]).exits(0).stdout;
    for part in [".TH obelus 1", ".SH NAME", "obelus\\-sessions(1)", "Exit codes"] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
    let folder = Folder::new("man");
    obelus(&["man", "--out", &folder.path("man1")]).exits(0).prints_nothing();
    let page = fs::read_to_string(folder.path("man1/obelus-plan-check.1")).expect("a page");
    assert!(page.contains(".TH obelus-plan-check 1") && page.contains("obelus plan check plan.json"), "{page}");
    obelus(&["man", "--out", &folder.file("file", "")]).exits(2).prints_nothing().says("file");
}
