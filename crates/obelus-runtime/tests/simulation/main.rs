//! Sessions, their host, a disk, a clock, a model and a world under one seed: everything that can go wrong does, and
//! nothing is lost and nothing done twice.
//!
//! A failing seed is printed. `cargo xtask sim SEED` plays it again, `OBELUS_SEEDS=N` plays so many.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `chance` | what is drawn from the seed |
//! | `disk` | a journal of bytes that crashes tear, and snapshots |
//! | `world` | what calls do to the world, what peers make of their answers, and the truth about it |
//! | `model` | what the agent wants done, turn by turn |
//! | `life` | lives between crashes, until the work is done |

#![expect(clippy::print_stderr, reason = "a failing seed is told to whoever runs the test")]

mod chance;
mod disk;
mod life;
mod model;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use life::{Ended, live};

/// Seeds in a usual run.
const SEEDS: u64 = 2_000;

#[test]
fn whatever_fails_nothing_is_lost_and_nothing_done_twice() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("OBELUS_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OBELUS_SEEDS").unwrap_or(SEEDS),
    };
    // Each seed is a world of its own, so they can be played side by side.
    let next = AtomicU64::new(seeds.start);
    let [crashes, looks, doubts] = [const { AtomicU64::new(0) }; 3];
    let play = || {
        loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= seeds.end {
                return;
            }
            let storm = played(seed);
            crashes.fetch_add(storm.crashes, Ordering::SeqCst);
            looks.fetch_add(storm.looks, Ordering::SeqCst);
            doubts.fetch_add(storm.doubts, Ordering::SeqCst);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(play);
        }
    });
    let [crashes, looks, doubts] = [crashes, looks, doubts].map(AtomicU64::into_inner);
    eprintln!("{} seeds, {crashes} crashes, {looks} looks, {doubts} doubts put to a person", seeds.end - seeds.start);
    if number("OBELUS_SEED").is_none() {
        assert!(crashes > 0 && looks > 0 && doubts > 0, "the storm is no storm");
    }
}

/// Plays a seed undisturbed and in a storm; a seed that fails is named.
fn played(seed: u64) -> Ended {
    let played = std::panic::catch_unwind(|| {
        let (calm, storm) = (live(seed, false), live(seed, true));
        compare(&calm, &storm);
        storm
    });
    played.unwrap_or_else(|problem| {
        eprintln!("seed {seed} failed; play it again with: cargo xtask sim {seed}");
        std::panic::resume_unwind(problem)
    })
}

/// What must be the same however often the work was cut off.
fn compare(calm: &Ended, storm: &Ended) {
    assert_eq!(calm.crashes, 0);
    assert_eq!(storm.state, calm.state, "the state");
    assert_eq!(storm.messages, calm.messages, "the messages, but for times and the order of what runs at once");
    for (key, times) in &storm.effects {
        assert_eq!(*times, 1, "the effect of {key}");
    }
    assert_eq!(storm.effects.keys().collect::<Vec<_>>(), calm.effects.keys().collect::<Vec<_>>(), "what was done");
}
