//! Simulates sessions, their host, a disk, a clock, a model and external services with random failures. Nothing is
//! lost, and no effect happens twice.
//!
//! A failing seed is printed. `cargo xtask sim SEED` repeats it, `OBELUS_SEEDS=N` sets the number of seeds.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `chance` | random numbers from the seed |
//! | `disk` | a journal of bytes that a crash can cut, and snapshots |
//! | `world` | effects of calls, failures of peers, and what really happened |
//! | `model` | the agent's calls, turn by turn |
//! | `life` | processes between crashes, until the work is done |

#![expect(clippy::print_stderr, reason = "a failing seed is told to whoever runs the test")]

mod chance;
mod disk;
mod life;
mod model;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use life::{Ended, live};

/// Seeds of a normal run.
const SEEDS: u64 = 2_000;

#[test]
fn failures_lose_no_input_and_repeat_no_effect() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("OBELUS_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OBELUS_SEEDS").unwrap_or(SEEDS),
    };
    // Seeds are independent, so threads play them in parallel.
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

/// Plays a seed without failures and with them; prints it if it fails.
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

/// What must be equal however often the work was interrupted.
fn compare(calm: &Ended, storm: &Ended) {
    assert_eq!(calm.crashes, 0);
    assert_eq!(storm.state, calm.state, "the state");
    assert_eq!(storm.messages, calm.messages, "the messages, but for times and the order of what runs at once");
    for (key, times) in &storm.effects {
        assert_eq!(*times, 1, "the effect of {key}");
    }
    assert_eq!(storm.effects.keys().collect::<Vec<_>>(), calm.effects.keys().collect::<Vec<_>>(), "what was done");
}
