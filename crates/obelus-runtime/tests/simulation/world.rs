//! The effects of calls, and what happens to their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::{Activities, Activity, ActivityFuture, Elicited, ReconcileFuture, Reconciled, Work};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::chance::Chance;
use crate::disk::Disk;

/// A point at which a process can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    BeforeWrite,
    Written,
    Synced,
    BeforeEffect,
    AfterEffect,
    Answered,
    BeforeAnswer,
    Looking,
}

/// The external services, shared by everything that acts on them.
#[derive(Clone)]
pub(crate) struct World {
    inner: Arc<Mutex<Inner>>,
    /// Signals the death of the process.
    pub(crate) dies: Arc<Notify>,
    pub(crate) disk: Arc<Mutex<Disk>>,
}

struct Inner {
    chance: Chance,
    /// Whether failures happen.
    storm: bool,
    /// Remaining crashes; bounded so that the work ends.
    crashes_left: u32,
    crashes: u64,
    looks: u64,
    /// How often each non-idempotent effect happened.
    effects: BTreeMap<String, u32>,
    /// The number of the latest attempt, by key.
    losses: BTreeMap<String, u32>,
    /// The key of each started call.
    keys: BTreeMap<String, String>,
    /// Attempts that may not act any more, because somebody was told that they did not happen.
    closed: BTreeSet<(String, u32)>,
}

impl World {
    pub(crate) fn new(seed: u64, storm: bool) -> Self {
        let inner = Inner {
            chance: Chance::new(seed ^ 0x5eed),
            storm,
            crashes_left: if storm { 6 } else { 0 },
            crashes: 0,
            looks: 0,
            effects: BTreeMap::new(),
            losses: BTreeMap::new(),
            keys: BTreeMap::new(),
            closed: BTreeSet::new(),
        };
        Self { inner: Arc::new(Mutex::new(inner)), dies: Arc::default(), disk: Arc::default() }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Whether a failure with this probability happens.
    pub(crate) fn draw(&self, percent: u64) -> bool {
        let mut inner = self.inner();
        inner.storm && inner.chance.percent(percent)
    }

    pub(crate) fn below(&self, limit: u64) -> u64 {
        self.inner().chance.below(limit)
    }

    /// A point at which the process may die; then it does not return.
    pub(crate) async fn cross(&self, _: Boundary) {
        let dies = {
            let mut inner = self.inner();
            let dies = inner.crashes_left > 0 && inner.chance.percent(7);
            if dies {
                inner.crashes_left -= 1;
                inner.crashes += 1;
            }
            dies
        };
        if dies {
            self.dies.notify_one();
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn counts(&self) -> (u64, u64) {
        let inner = self.inner();
        (inner.crashes, inner.looks)
    }

    pub(crate) fn effects(&self) -> BTreeMap<String, u32> {
        self.inner().effects.clone()
    }

    /// Whether the effect of a call happened. If not, its sent attempts are voided.
    pub(crate) fn has_happened(&self, key: &str) -> bool {
        let mut inner = self.inner();
        let attempts: Vec<u32> = (1..20).collect();
        let happened = inner.effects.contains_key(key);
        if !happened {
            let next = inner.losses.get(key).copied().unwrap_or(0);
            // Later attempts may still act.
            inner.closed.extend(attempts.into_iter().filter(|attempt| *attempt <= next).map(|n| (key.to_owned(), n)));
        }
        happened
    }

    fn began(&self, work: &Work) {
        assert!(!self.disk.lock().unwrap().is_writing, "an effect starts while its intent is being written");
        let mut inner = self.inner();
        inner.keys.insert(work.call.to_string(), work.key.clone());
        let attempts = inner.losses.entry(work.key.clone()).or_default();
        *attempts = (*attempts).max(work.attempt);
    }

    /// The key of the call in a question.
    pub(crate) fn key_of(&self, call: &Value) -> String {
        self.inner().keys.get(&call.to_string()).cloned().unwrap_or_default()
    }

    fn act(&self, work: &Work) -> bool {
        let mut inner = self.inner();
        if inner.closed.contains(&(work.key.clone(), work.attempt)) {
            return false;
        }
        *inner.effects.entry(work.key.clone()).or_default() += 1;
        true
    }
}

/// People's answer to elicitations.
pub(crate) const GIVEN: &str = "open sesame";

/// Whether a call asks a person before it acts; a function of its key.
fn asks(key: &str) -> bool {
    key.bytes().map(u32::from).sum::<u32>().is_multiple_of(3)
}

/// The result of a call, the same from `run`, `reconcile` or a person.
pub(crate) fn result(call: &Value) -> Value {
    json!(format!("{} of {}", call["_tool"].as_str().unwrap_or_default(), call["n"]))
}

/// An activity with random failures.
struct Hand {
    world: World,
    /// Whether its effect may happen only once.
    once: bool,
    /// Whether it can find out if a call happened.
    looks: bool,
}

impl Activity for Hand {
    fn run(&self, work: Work) -> ActivityFuture {
        let (world, once) = (self.world.clone(), self.once);
        Box::pin(async move {
            world.began(&work);
            world.cross(Boundary::BeforeEffect).await;
            if once && asks(&work.key) {
                let schema = json!({"type": "object", "properties": {"word": {"const": GIVEN}}, "required": ["word"]});
                match work.elicitor.ask("the word?".to_owned(), schema).await {
                    Elicited::Value(_) => {}
                    other => return Outcome::Error(CallError::new("unanswered", format!("{other:?}"))),
                }
                world.cross(Boundary::Answered).await;
            }
            tokio::time::sleep(Duration::from_millis(world.below(50))).await;
            let lost = || Outcome::Lost { message: "the line went dead".to_owned() };
            // The third attempt always succeeds.
            let gets_lost = work.attempt < 3 && world.draw(20);
            if gets_lost && world.draw(50) {
                return lost();
            }
            if once && work.attempt < 3 && world.draw(8) {
                // The request is delayed beyond the time limit, and acts late unless the attempt was voided.
                let (world, work) = (world.clone(), work.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(world.below(9_000))).await;
                    world.act(&work);
                });
                std::future::pending::<()>().await;
            }
            if once && !world.act(&work) {
                return lost();
            }
            world.cross(Boundary::AfterEffect).await;
            if once && work.attempt < 3 && world.draw(10) {
                // No answer until the time limit. (A read would end with an error then.)
                std::future::pending::<()>().await;
            }
            if gets_lost {
                return lost();
            }
            Outcome::Value(result(&work.call))
        })
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(5))
    }

    fn reconcile(&self, work: Work) -> Option<ReconcileFuture> {
        let world = self.world.clone();
        self.looks.then(|| {
            Box::pin(async move {
                world.cross(Boundary::Looking).await;
                tokio::time::sleep(Duration::from_millis(world.below(20))).await;
                world.inner().looks += 1;
                if world.draw(15) {
                    return Reconciled::Unknown("nobody picks up".to_owned());
                }
                if world.has_happened(&work.key) {
                    Reconciled::Happened(Outcome::Value(result(&work.call)))
                } else {
                    Reconciled::DidNot
                }
            }) as ReconcileFuture
        })
    }
}

/// An activity without failures.
struct Head;

impl Activity for Head {
    fn run(&self, work: Work) -> ActivityFuture {
        Box::pin(std::future::ready(Outcome::Value(result(&work.call))))
    }
}

/// `read` reads, `sure` is idempotent, `make` and `post` may act once, `think` never fails.
pub(crate) fn hands(world: &World) -> Activities {
    let mut activities = Activities::new();
    for (name, once, looks) in
        [("read", false, false), ("sure", false, false), ("make", true, false), ("post", true, true)]
    {
        activities.add(name, Hand { world: world.clone(), once, looks });
    }
    activities.add("think", Head);
    activities
}
