//! Properties of every session, whatever its model, activities and people do.

use std::sync::Arc;

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use proptest::prelude::*;

use super::driver::{Driver, in_words, shown};
use super::world::world;
use crate::cases;

proptest! {
    #![proptest_config(cases(150))]

    /// The driver checks the rules after every input, and at the end that everything has ended.
    #[test]
    fn the_rules_hold_for_any_sequence_of_inputs(world in world()) {
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

    /// DUR-1: a restored session continues exactly as the original.
    #[test]
    fn a_session_restored_from_a_checkpoint_continues_as_if_it_had_never_stopped(world in world(), every in 1..5usize) {
        let played = Driver::play(&world);
        let mut session = world.session();
        let mut transcript = Vec::new();
        for (place, (now, input)) in played.journal.iter().enumerate() {
            transcript.push(in_words(&session.handle(*now, input.clone())));
            while let Some(task) = session.poll() {
                transcript.push(shown(&task));
            }
            if place % every == 0 && let Some(kept) = session.checkpoint() {
                let past = session.past();
                let before = session.snapshot().to_string();
                let again = world.session().restore(&kept, Arc::new(move || Ok(past.clone()))).expect("it is taken up");
                prop_assert_eq!(again.snapshot().to_string(), before);
                session = again;
            }
        }
        prop_assert_eq!(transcript, played.transcript);
        prop_assert_eq!(session.snapshot().to_string(), played.session.snapshot().to_string());
    }
}
