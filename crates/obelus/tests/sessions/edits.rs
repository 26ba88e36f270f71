//! Edits of a waiting call as JSON.

use std::fs;

use super::{Harness, words};

const PLAN: &str = r#"
context:
  - type: tool
    tool:
      book:
        type: object
        properties:
          day: {type: string, format: date}
          mail: {type: string, format: email}
          fields: {type: object}
          rows: {type: array, items: {type: object}}
        x-effect: create
        x-risky: [day]
        x-target: []
  - type: plan
    plan:
      - {_tool: book, day: "2026-11-20", mail: anna at home, fields: {A: 1}, rows: [{x: 1}], _outputPath: †state.r}
activities:
  book: {jq: '.call'}
"#;

#[test]
fn an_edit_that_cannot_be_meant_is_refused_and_the_question_stays() {
    let harness = Harness::new("edits");
    fs::write(harness.folder.join("book.yaml"), PLAN).unwrap();
    assert_eq!(harness.does(&["plan", "run", "book.yaml", "--session", "s"]).status.code(), Some(3));
    for (params, why) in [
        ("{}", "changes nothing; to let the call run as it is, approve it (obelus approve)"),
        (r#"{"fields": {"A": 1}}"#, "changes nothing"),
        (r#"{"day": "2026-02-31"}"#, "`day`: \"2026-02-31\" is not a \"date\""),
        (r#"{"mail": "Anna"}"#, "`mail`: \"Anna\" is not a \"email\""),
        (r#"{"fields": {"a": 5}}"#, "`fields.a` is not a parameter; did you mean `A`?"),
        (r#"{"fields": {"a": 5, "A": 6}}"#, "`fields.a` is not a parameter; did you mean `A`?"),
    ] {
        let edited = harness.does(&["answer", "s:q1", "edit", "--params", params]);
        assert_eq!(edited.status.code(), Some(1), "{params}: {}", words(&edited));
        assert!(words(&edited).contains(why), "{params}: {}", words(&edited));
    }
    // The address was wrong before, and is not edited. The exact name wins, and another spelling can be asked for.
    let params =
        r#"{"day": "2026-12-31", "fields": {"_exactly": {"A": 6, "a": 5}}, "rows": [{"x": {"_exactly": null}}]}"#;
    let done = harness.json(&["answer", "s:q1", "edit", "--params", params, "--json"]);
    let ran =
        &done["context"].as_array().unwrap().iter().rfind(|message| message["type"] == "state").unwrap()["data"]["r"];
    assert_eq!(ran["day"], "2026-12-31");
    assert_eq!((&ran["fields"]["A"], &ran["fields"]["a"]), (&6.into(), &5.into()));
    assert_eq!(ran["rows"][0], serde_json::json!({"x": null}));
}
