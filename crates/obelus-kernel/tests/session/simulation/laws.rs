//! What holds for every session, whatever its model, its activities and its people do.

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use proptest::prelude::*;

use super::driver::{Driver, shown};
use super::world::world;
use crate::cases;

proptest! {
    #![proptest_config(cases(150))]

    /// The driver looks after every input whether the rules hold, and at the end whether everything has ended.
    #[test]
    fn the_rules_hold_whatever_happens(world in world()) {
        Driver::play(&world);
    }

    #[test]
    fn the_journal_replays_to_the_same_session(world in world()) {
        let played = Driver::play(&world);
        let journal = serde_json::to_string(&played.journal).expect("a journal is JSON");
        let journal: Vec<(Time, Input)> = serde_json::from_str(&journal).expect("a journal is read back");
        let mut session = world.session();
        let mut transcript = Vec::new();
        for (now, input) in journal {
            transcript.push(format!("{:?}", session.handle(now, input)));
            while let Some(task) = session.poll() {
                transcript.push(shown(&task));
            }
        }
        prop_assert_eq!(transcript, played.transcript);
        prop_assert_eq!(session.snapshot().to_string(), played.session.snapshot().to_string());
    }
}
