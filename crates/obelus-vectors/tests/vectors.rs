//! Runs the project's vectors, and those of the folder in `OBELUS_VECTORS`.

use std::path::PathBuf;

fn report(folder: PathBuf) -> obelus_vectors::Report {
    obelus_vectors::run_paths(&[folder]).expect("the folder is readable")
}

#[test]
fn vectors_of_the_project_pass() {
    let report = report(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors"));
    assert!(report.passed() > 0);
    assert_eq!(report.failed(), 0, "{}", report.to_text());
}

#[test]
fn other_vectors_pass_where_they_exist() {
    if let Some(folder) = std::env::var_os("OBELUS_VECTORS") {
        let report = report(PathBuf::from(folder));
        assert_eq!(report.failed(), 0, "{}", report.to_text());
    }
}

#[test]
fn a_case_with_a_wrong_expectation_fails() {
    let text = r#"[
        {"name": "a", "kind": "resolve", "context": [{"type": "state", "x": 1}], "checks": [{"expr": "†state.x", "value": 2}]},
        {"name": "b", "kind": "resolve", "context": [], "rejected": true},
        {"name": "c", "kind": "plan", "context": [{"type": "plan", "plan": []}], "expect": {"valid": false, "rules": ["PLAN-2"]}},
        {"name": "d", "kind": "riddle"}
    ]"#;
    let outcomes = obelus_vectors::run_file("x.json".as_ref(), text).unwrap();
    assert!(outcomes.iter().all(|outcome| !outcome.ok()));
}
