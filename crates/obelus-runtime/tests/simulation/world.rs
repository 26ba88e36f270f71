//! What calls do to the world, and what becomes of their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::{Activities, Activity, ActivityFuture, Elicited, ReconcileFuture, Reconciled, Work};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::chance::Chance;
use crate::disk::Disk;

/// A place where a process can die.
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

/// The world, shared by everything that acts in it.
#[derive(Clone)]
pub(crate) struct World {
    inner: Arc<Mutex<Inner>>,
    /// Says that the process dies.
    pub(crate) dies: Arc<Notify>,
    pub(crate) disk: Arc<Mutex<Disk>>,
}

struct Inner {
    chance: Chance,
    /// Whether things go wrong at all.
    storm: bool,
    /// Crashes that may still come, so that there is an end.
    crashes_left: u32,
    crashes: u64,
    looks: u64,
    /// How often each effect happened that may happen once.
    effects: BTreeMap<String, u32>,
    /// How often the answer to a call was lost, so that it is not lost for ever.
    losses: BTreeMap<String, u32>,
    /// The key of each call that has begun.
    keys: BTreeMap<String, String>,
    /// Attempts that come too late: somebody has looked, and found nothing.
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

    /// Whether something goes wrong that does so this often in a storm.
    pub(crate) fn draw(&self, percent: u64) -> bool {
        let mut inner = self.inner();
        inner.storm && inner.chance.percent(percent)
    }

    pub(crate) fn below(&self, limit: u64) -> u64 {
        self.inner().chance.below(limit)
    }

    /// Comes to a place where the process may die; then nothing after it happens.
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

    /// What a person sees who looks whether a call happened. What is on its way is held up.
    pub(crate) fn has_happened(&self, key: &str) -> bool {
        let mut inner = self.inner();
        let attempts: Vec<u32> = (1..20).collect();
        let happened = inner.effects.contains_key(key);
        if !happened {
            let next = inner.losses.get(key).copied().unwrap_or(0);
            // Only what was sent until now comes too late.
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

    /// The key of a call that a person is asked about.
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

/// What people say when a call at work asks them.
pub(crate) const GIVEN: &str = "open sesame";

/// Some calls ask a person before they act, always the same ones.
fn asks(key: &str) -> bool {
    key.bytes().map(u32::from).sum::<u32>().is_multiple_of(3)
}

/// What a call brings, whoever tells it.
pub(crate) fn result(call: &Value) -> Value {
    json!(format!("{} of {}", call["_tool"].as_str().unwrap_or_default(), call["n"]))
}

/// Something that carries out calls, in one of the ways in which that can be done.
struct Hand {
    world: World,
    /// Whether it acts, and may do so once.
    once: bool,
    /// Whether it can look whether a call happened.
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
            // Every call gets through at its third attempt.
            let gets_lost = work.attempt < 3 && world.draw(20);
            if gets_lost && world.draw(50) {
                return lost();
            }
            if once && work.attempt < 3 && world.draw(8) {
                // It is on its way for long, and arrives when everybody has given it up, if nobody has looked by then.
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
                // It never answers, and the driver's patience ends. (A read would end with an error then.)
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
                match world.has_happened(&work.key) {
                    true => Reconciled::Happened(Outcome::Value(result(&work.call))),
                    false => Reconciled::DidNot,
                }
            }) as ReconcileFuture
        })
    }
}

/// Something that needs nothing but its call.
struct Head;

impl Activity for Head {
    fn run(&self, work: Work) -> ActivityFuture {
        Box::pin(std::future::ready(Outcome::Value(result(&work.call))))
    }
}

/// The hands: one that reads, one that acts and can be asked again, two that may act once; and a head.
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
