//! CTX-8: a read for one instance never returns a value of another.

use obelus_notebook::context::Context;
use obelus_notebook::path::Path;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use crate::cases;
use crate::generate::{INSTANCES, Write, write};
use crate::naive;

const GLOBAL: &str = "global";

/// The same message, with every scalar replaced by the name of its instance.
fn tagged(mut write: Write) -> Write {
    let tag = write.instance.as_deref().unwrap_or(GLOBAL);
    mark(&mut write.data, tag);
    write.description = write.description.map(|_| tag.to_owned());
    write
}

fn mark(value: &mut Value, tag: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mark(item, tag)),
        Value::Object(map) => map.values_mut().for_each(|value| mark(value, tag)),
        scalar => *scalar = tag.into(),
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn instances_never_see_each_other(writes in vec(write().prop_map(tagged), 1..40)) {
        let mut context = Context::new();
        for write in &writes {
            let _ = context.append(vec![write.to_message()]);
        }
        for (kind, reader) in naive::readers() {
            let foreign = INSTANCES.into_iter().filter(|name| Some(*name) != reader).collect::<Vec<_>>();
            let whole = context.read(&Path::root(kind), reader);
            for segments in naive::paths(whole.as_deref()) {
                let path = Path { kind: kind.into(), segments: segments.into() };
                let text = context.read(&path, reader).map(|value| value.to_string()).unwrap_or_default();
                for name in &foreign {
                    prop_assert!(!text.contains(name), "{} for {:?} is {}", path, reader, text);
                }
            }
            let description = context.view(kind).and_then(|view| view.description(reader)).unwrap_or_default();
            prop_assert!(!foreign.contains(&description), "{} for {:?} is described by {}", kind, reader, description);
        }
    }
}
