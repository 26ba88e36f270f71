//! A session that is paused while a person at a terminal waits for it.

use std::path::Path;
use std::thread;

use crate::support::{Folder, at_a_terminal, obelus, wait_for};

const PLAN: &str = "
context:
  - type: tool
    tool:
      wipe: {type: object, properties: {id: {}, after: {}}, x-effect: delete, x-trust: trusted}
      mark: {type: object, properties: {id: {}, after: {}}, x-effect: create, x-trust: trusted, x-target: []}
  - type: plan
    plan:
      - {_tool: wipe, id: b, _outputPath: †state.b}
      - {_tool: NEXT, id: c, after: †state.b, _outputPath: †state.c}
activities:
  wipe: {exec: [sh, -c, 'touch began; while [ ! -e gate ]; do sleep 0.02; done; echo 1']}
  mark: {jq: '2'}
";

#[test]
fn a_command_at_a_terminal_ends_when_its_session_is_paused() {
    // The next step would run at once, or ask the person.
    for next in ["mark", "wipe"] {
        let folder = Folder::new(&format!("paused-at-terminal-{next}"));
        let plan = folder.file("plan.yaml", PLAN.replace("NEXT", next));
        let store = folder.path("store");
        obelus(&["plan", "run", &plan, "--session", "m", "--store", &store]).exits(3);
        let (began, gate, at) = (folder.path("began"), folder.path("gate"), store.clone());
        let other = thread::spawn(move || {
            wait_for("the call begins", || Path::new(&began).exists());
            obelus(&["sessions", "pause", "m", "--store", &at]).exits(0).says("`m` is paused");
            std::fs::write(gate, "").expect("a file");
        });
        let Some(ran) = at_a_terminal(&["approve", "m:q1", "--store", &store], &[]) else {
            // Without a terminal the call is let go.
            obelus(&["approve", "m:q1", "--store", &store]);
            return other.join().expect("it only pauses");
        };
        other.join().expect("it only pauses");
        ran.exits(3).prints("`m` was paused by a person at the command line: obelus sessions resume m --store ");
    }
}

#[test]
fn a_postponed_question_is_found_with_the_store_that_was_named() {
    let folder = Folder::new("postponed-store");
    let plan = folder.file("plan.yaml", PLAN.replace("NEXT", "mark"));
    for (lang, words) in [("en", "`obelus inbox --store "), ("ru", "obelus inbox --store ")] {
        let run = ["plan", "run", &plan, "--session", lang, "--store", &folder.path("store"), "--lang", lang];
        let Some(ran) = at_a_terminal(&run, &[("Esc", "\u{1b}")]) else { return };
        ran.exits(3).prints(&format!("{lang}:q1. {words}"));
        obelus(&run).exits(3).says("obelus inbox --store ");
    }
}
