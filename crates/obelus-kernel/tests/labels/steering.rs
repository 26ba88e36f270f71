//! Untrusted data never chooses the target of a call that no person approved, whatever models answer and tools return.

use proptest::prelude::*;

use crate::cases;
use crate::driver::Driver;
use crate::world::world;

proptest! {
    #![proptest_config(cases(1_500))]

    /// The driver checks every call when it starts.
    #[test]
    fn untrusted_data_does_not_influence_a_call_without_approval(world in world()) {
        Driver::play(&world);
    }
}

/// Checks the generator: in some worlds, marks reach the calls of each tool.
#[test]
fn generated_worlds_cover_every_tool() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut reached = std::collections::BTreeMap::new();
    for _ in 0..600 {
        let played = Driver::play(&world().new_tree(&mut runner).expect("a world").current());
        for tool in ["book", "digest", "fetch", "mint", "send", "note"] {
            *reached.entry(tool).or_insert(0) += u32::from(played.has_steered(tool));
        }
    }
    assert!(reached.values().all(|worlds| *worlds >= 3), "{reached:?}");
}
