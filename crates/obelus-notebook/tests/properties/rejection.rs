//! CTX-3: nothing of a rejected batch is appended.

use obelus_notebook::context::{Context, View};
use obelus_notebook::message::Message;
use obelus_notebook::path::Path;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::cases;
use crate::generate::write;
use crate::naive;

/// Everything observable of a context.
fn observed(context: &Context) -> Vec<String> {
    let mut seen = vec![
        context.to_json().to_string(),
        format!("{:?}", context.instances()),
        format!("{:?}", context.views().map(|(kind, _)| kind).collect::<Vec<_>>()),
        format!("{:?}", context.tools().map(|tool| &tool.schema).collect::<Vec<_>>()),
        format!("{:?}", context.plan()),
    ];
    for (kind, instance) in naive::readers() {
        let view = context.view(kind);
        seen.push(format!("{kind} for {instance:?}: {:?}", view.map(View::is_instanced)));
        seen.push(format!("{:?}", view.and_then(|view| view.description(instance))));
        let whole = context.read(&Path::root(kind), instance);
        for segments in naive::paths(whole.as_deref()) {
            let path = Path { kind: kind.into(), segments: segments.into() };
            seen.push(format!("{path}: {:?}", context.read(&path, instance).map(|value| value.to_string())));
        }
    }
    seen
}

/// Well-formed messages that no context accepts.
fn unacceptable() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"type": "state", "data": 5, "_outputMethod": "concat"}),
        json!({"type": "data", "kind": "notes", "_instance": "ada", "data": {"new": {"-1": 1}},
               "_call": {}, "_outputPath": "†notes.new[-1]"}),
        json!({"type": "data", "kind": "never-seen", "_instance": "dan", "data": true, "_outputMethod": "concat"}),
        json!({"type": "tool", "tool": {"good": {}, "bad": {"x-effect": "explode"}}}),
    ])
}

fn harmless() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => write().prop_map(|write| write.to_json()),
        1 => Just(json!({"type": "text", "role": "user", "text": "hello"})),
        1 => Just(json!({"type": "plan", "plan": []})),
        1 => Just(json!({"type": "tool", "tool": {"good": {"x-effect": "read"}}})),
    ]
}

fn message(json: Value) -> Message {
    Message::from_value(json).expect("a generated message is well formed").message
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_rejected_batch_changes_nothing(
        history in vec(harmless(), 0..20),
        mut batch in vec(harmless(), 0..8),
        poison in unacceptable(),
        place in any::<Index>(),
    ) {
        let mut context = Context::new();
        for json in history {
            // Messages of the history may be refused; that is not tested here.
            let _ = context.append(vec![message(json)]);
        }
        let before = observed(&context);
        batch.insert(place.index(batch.len() + 1), poison);
        prop_assert!(context.append(batch.into_iter().map(message).collect()).is_err());
        prop_assert_eq!(before, observed(&context));
    }
}
