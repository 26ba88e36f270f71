//! B24-9: a limit in a tool's schema holds for every spelling of a name that the service accepts.

use serde_json::{Value, json};

use crate::harness::{Harness, call};

/// A session with a tool whose schema permits only `COMPLETED: N`.
fn session() -> Harness {
    let fields = json!({"type": "object", "properties": {"COMPLETED": {"enum": ["N"]}}});
    let tool = json!({"x-effect": "read", "x-trust": "trusted", "properties": {"fields": fields}});
    let mut harness = Harness::on(
        json!([{"type": "tool", "tool": {"look": tool}}, {"type": "state", "data": {"fields": {"completed": "Y"}}}]),
        json!({}),
    );
    harness.start();
    harness
}

fn look(fields: Value) -> Value {
    json!([call("look", "seen", json!({"fields": fields}))])
}

#[test]
fn a_parameter_gets_the_spelling_that_the_tool_declares() {
    let mut harness = session();
    harness.solve(look(json!({"completed": "N", "Other": 1})), json!("over"));
    assert_eq!(harness.handed_out("look")[0]["fields"], json!({"COMPLETED": "N", "Other": 1}));
}

#[test]
fn a_limit_of_the_schema_holds_in_every_spelling() {
    for fields in [
        json!({"completed": "Y"}),
        json!({"Completed": "Y"}),
        json!({"COMPLETED": "N", "completed": "Y"}),
        json!("†state.fields"),
    ] {
        let mut harness = session();
        harness.solve(look(fields.clone()), json!("over"));
        assert!(harness.handed_out("look").is_empty(), "{fields}");
    }
}
