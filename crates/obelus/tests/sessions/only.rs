//! Plans that are approved in part: `--only` has the numbers that the question shows.

use std::fs;

use crate::{Harness, PLAN, words};

#[test]
fn only_reads_numbers_and_ranges_of_the_question() {
    let harness = Harness::new("only");
    let calls = ["a", "b", "c", "d"].map(|id| format!("{{_tool: mark, id: {id}, _outputPath: †state.{id}}}"));
    let planner = format!("- when: .results == []\n  answer: {{calls: [{}]}}\n- output: done\n", calls.join(", "));
    fs::write(harness.folder.join("planner.yaml"), planner).unwrap();
    let (tools, _) = PLAN.split_once("  - type: plan").unwrap();
    let (_, activities) = PLAN.split_once("activities:").unwrap();
    let plan =
        format!("model: playbook:planner.yaml{tools}  - {{type: plan, mode: lazy, plan: []}}\nactivities:{activities}");
    fs::write(harness.folder.join("lazy.yaml"), plan).unwrap();
    let asked = harness.does(&["run", "lazy.yaml", "--session", "s"]);
    assert_eq!(asked.status.code(), Some(3), "{}", words(&asked));
    let only = |numbers: &str| harness.does(&["answer", "s:q1", "approve", "--only", numbers, "--lang", "en"]);
    for (numbers, part) in [("5", "5"), ("2-1", "2-1"), ("0", "0"), ("1,x", "x"), ("3-9", "3-9")] {
        let refused = only(numbers);
        assert_eq!(refused.status.code(), Some(2), "{numbers}: {}", words(&refused));
        let said = format!("--only: `{part}` is not in the list. The list has: 1-4.");
        assert!(words(&refused).contains(&said), "{numbers}: {}", words(&refused));
    }
    assert!(harness.done().is_empty());
    only("2-3,4");
    let mut done = harness.done();
    done.sort();
    assert_eq!(done, ["b", "c", "d"]);
}
