//! The process that carries out an answer ends before the outcome is known.

use std::fs;

use crate::{Harness, words};

#[test]
fn an_answer_whose_process_is_killed_says_that_its_end_is_not_known() {
    let harness = Harness::new("holder-killed");
    assert_eq!(harness.run().status.code(), Some(3));
    let first = harness.hold("a");
    let mut holder = harness.obelus(&["plan", "run", "plan.yaml", "--session", "t", "--json"]).spawn().unwrap();
    crate::eventually("the second run holds at its first call", || harness.marks().len() == 3);
    let gate = harness.hold("b");
    let approve = harness.obelus(&["approve", "s:q1", "--lang", "en"]).spawn().unwrap();
    harness.wait_for("began-b");
    holder.kill().unwrap();
    holder.wait().unwrap();
    let answered = approve.wait_with_output().unwrap();
    fs::remove_file(gate).unwrap();
    fs::remove_file(first).unwrap();
    assert_eq!(answered.status.code(), Some(1), "{}", words(&answered));
    let store = harness.folder.join("store").display().to_string();
    let said = words(&answered);
    assert!(said.contains("it was taken, but it is not known how it ended: the process that holds"), "{said}");
    assert!(said.contains(&format!("obelus inbox --store {store}")), "{said}");
    let inbox = harness.json(&["inbox", "--json"]);
    assert!(inbox.as_array().unwrap().iter().any(|row| row["about"] == "in_doubt"), "{inbox}");
}
