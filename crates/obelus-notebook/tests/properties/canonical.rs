//! CTX-2: the canonical form has the same meaning as its source, and is its own canonical form.

use obelus_notebook::context::Context;
use obelus_notebook::message::Message;
use obelus_notebook::path::Path;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::cases;
use crate::generate::write;
use crate::naive;

/// Short forms, and all fields that a message may have beside its data.
fn unusual() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"role": "user", "content": "hello"}),
        json!({"type": "text", "role": "system", "text": "†not.a.reference"}),
        json!({"type": "state", "a": 1, "_instance": "ada"}),
        json!({"type": "state", "state": {"b": null}, "schema": {"type": "object"}}),
        json!({"type": "input", "input": {"a": [1]}, "description": "parameters"}),
        json!({"type": "input", "data": {"input": 1}, "kind": "input"}),
        json!({"type": "error", "data": {"call": 1, "error": "no"}, "_call": null, "_labels": ["x"]}),
        json!({"type": "data", "data": 1, "_outputPath": "†state.a", "_date": "2026-01-01T00:00:00Z"}),
        json!({"type": "data", "kind": "сделка: №1", "data": {"a": 1}, "_call": {"_tool": "t"}}),
        json!({"type": "data", "kind": "state", "data": {"x.y": 1}, "_call": {}, "_outputPath": "†state[\"x.y\"]"}),
        json!({"type": "data", "kind": "tool", "data": {"a": 1}, "schema": true}),
        json!({"type": "tool", "tool": {"t": {"x-effect": "read"}}}),
        json!({"type": "plan", "plan": [{"_tool": "t"}], "mode": "lazy"}),
        json!({"type": "plan", "plan": []}),
    ])
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn the_canonical_form_reads_back_as_the_same_context(
        messages in vec(prop_oneof![4 => write().prop_map(|write| write.to_json()), 1 => unusual()], 1..30),
    ) {
        let mut context = Context::new();
        for json in messages {
            let _ = context.append(vec![Message::from_value(json).expect("well formed").message]);
        }
        let canonical = context.to_json();
        let again = Context::from_value(canonical.clone());
        prop_assert!(again.is_ok(), "{:?} in {}", again.err(), canonical);
        let again = again.unwrap();
        prop_assert_eq!(canonical.to_string(), again.to_json().to_string());
        prop_assert!(again.ignored().is_empty(), "{:?} mean nothing", again.ignored());
        let from_text = Context::from_json(&canonical.to_string()).expect("text and value are read alike");
        prop_assert_eq!(again.messages(), from_text.messages());
        for (kind, instance) in naive::readers() {
            let whole = context.read(&Path::root(kind), instance);
            for segments in naive::paths(whole.as_deref()) {
                let path = Path { kind: kind.into(), segments: segments.into() };
                prop_assert_eq!(context.read(&path, instance), again.read(&path, instance), "{}", path);
            }
        }
    }
}
