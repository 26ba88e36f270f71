//! CTX-4, CTX-5, CTX-6, CTX-8: the materialised fold equals the fold of the list of messages.

use obelus_notebook::context::Context;
use obelus_notebook::fault::{Fault, Rule};
use obelus_notebook::path::Path;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::cases;
use crate::generate::{Write, write};
use crate::naive::{self, Memory};

/// A context with the same messages, appended one by one.
fn refolded(context: &Context) -> Result<Context, Fault> {
    let mut again = Context::new();
    context.messages().iter().try_for_each(|message| again.append(vec![message.clone()]))?;
    Ok(again)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn every_read_is_the_fold_of_the_list(batches in vec(vec(write(), 1..4), 1..20)) {
        let mut context = Context::new();
        let mut memory = Memory::default();
        for batch in &batches {
            let expected = memory.append(batch);
            let outcome = context.append(batch.iter().map(Write::to_message).collect());
            match (expected, outcome) {
                (Ok(()), Ok(())) => {}
                (Err(index), Err(fault)) => prop_assert_eq!((Rule::Ctx4, Some(index)), (fault.rule, fault.message)),
                (expected, outcome) => prop_assert!(false, "{:?} by the rules, {:?} here", expected, outcome),
            }
        }
        let refolded = refolded(&context).expect("what was accepted once is accepted again");
        for (kind, instance) in naive::readers() {
            let whole = memory.whole(kind, instance);
            for segments in naive::paths(whole.as_ref()) {
                let path = Path { kind: kind.into(), segments: segments.into() };
                // Compared as text, to include the order of keys.
                let text = |context: &Context| context.read(&path, instance).map(|value| value.to_string());
                let expected = naive::at(whole.as_ref(), &path.segments).map(|value| value.to_string());
                prop_assert_eq!(&expected, &text(&context), "{} for {:?}", path, instance);
                prop_assert_eq!(&expected, &text(&refolded), "{} for {:?}, refolded", path, instance);
            }
        }
    }
}
