//! The counterpart of `bench/langgraph_peer.py` with this library: `peer FIGURE FOLDER …`, FIGURE is one of these.
//!
//! | figure | what it does |
//! |---|---|
//! | `steps N ROUNDS EFFECT` | a chain of N durable steps that read or create something |
//! | `thread MESSAGES` | a durable conversation that grows to this many messages |
//! | `kill STEP STEPS` | a chain of steps with effects; the process is killed in STEP, after its effect |
//! | `resume STEPS` | continues after that, and counts repeated effects |
//!
//! Prints `name value` lines. Times are CPU microseconds of the process with all its threads.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{collections::BTreeSet, process};

use cpu_time::ProcessTime;
use obelus_kernel::Context;
use obelus_kernel::session::{Answer, Mode, Outcome, Prompt, Settings, Solution, TurnEnd};
use obelus_runtime::{
    Activities, Activity, ActivityFuture, AnswerFuture, Connections, Host, Model, ReconcileFuture, Reconciled,
    SessionHandle, SessionSpec, SqliteStore, Work,
};
use serde_json::{Value, json};

/// The same allocator as the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| args.get(at).and_then(|n| n.parse().ok()).expect("a number");
    let folder = PathBuf::from(args.get(1).expect("a folder"));
    match args.first().map(String::as_str) {
        Some("steps") => steps(&folder, number(2), number(3), args.get(4).expect("an effect")),
        Some("thread") => thread(&folder, number(2)),
        Some("kill") => kill(&folder, number(2), number(3)),
        Some("resume") => resume(&folder, number(2)),
        _ => panic!("steps, thread, kill or resume"),
    }
}

#[expect(clippy::print_stdout, reason = "the figure is what the program is for")]
fn print(name: &str, value: f64) {
    println!("{name} {value:.4}");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

fn store(folder: &Path) -> SqliteStore {
    SqliteStore::open(&folder.join("store")).expect("a store")
}

fn fresh(folder: &Path) -> SqliteStore {
    let _ = fs::remove_dir_all(folder.join("store"));
    store(folder)
}

/// A host whose idle sessions stay in memory.
fn host(store: &SqliteStore, connections: Connections) -> Host {
    Host::builder(connections).store(store.shared()).idle_after(None).build()
}

/// The CPU time of `work` in microseconds.
fn cpu_us(work: impl FnOnce()) -> f64 {
    let began = ProcessTime::now();
    work();
    began.elapsed().as_secs_f64() * 1e6
}

fn best(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(f64::INFINITY, f64::min)
}

/// A chain of calls of `step`, each with the result of the one before.
fn chain(calls: usize, effect: &str) -> SessionSpec {
    let tool =
        json!({"type": "object", "properties": {"n": {}}, "x-effect": effect, "x-trust": "trusted", "x-target": []});
    let call = |i: usize| match i {
        0 => json!({"_tool": "step", "n": 0, "_outputPath": "†state.v0"}),
        _ => json!({"_tool": "step", "n": format!("†state.v{}", i - 1), "_outputPath": format!("†state.v{i}")}),
    };
    let plan: Value = (0..calls).map(call).collect();
    let context =
        Context::from_value(json!([{"type": "tool", "tool": {"step": tool}}, {"type": "plan", "plan": plan}]));
    let settings = Settings { mode: Mode::Full, max_calls: u32::MAX, ..Settings::default() };
    SessionSpec { context: context.expect("a context"), settings, ..SessionSpec::default() }
}

async fn run(handle: &SessionHandle) {
    handle.run_plan().await.expect("it is kept");
    rest(handle).await;
}

async fn rest(handle: &SessionHandle) {
    let reply = handle.rested().await.expect("it is kept").expect("a rest");
    assert_eq!(reply.ends, TurnEnd::Output);
}

/// Durable steps. One with an effect is synced before the next begins.
fn steps(folder: &Path, count: usize, rounds: usize, effect: &str) {
    let runtime = runtime();
    let round = |_| {
        let store = fresh(folder);
        let mut activities = Activities::new();
        activities.register("step", |work| async move { Ok(json!(work.call["n"].as_i64().unwrap_or(0) + 1)) });
        let host = host(&store, Connections::new(activities));
        let handle = runtime.block_on(host.create("s", chain(count, effect))).expect("a session");
        let took = cpu_us(|| runtime.block_on(run(&handle)));
        assert_eq!(store.records("s").expect("a count"), count as u64 + 1);
        // The work of closing must not be counted in the next round.
        runtime.block_on(host.close());
        took / count as f64
    };
    print(&count.to_string(), best((0..rounds).map(round)));
}

/// Answers every message with the same text.
struct Clerk;

impl Model for Clerk {
    fn ask(&self, _: Prompt) -> AnswerFuture {
        let solution = Solution { output: json!("Twelve notes, one of them new."), ..Solution::default() };
        Box::pin(std::future::ready(Answer::Solution { solution, tokens: 1 }))
    }
}

async fn turn(handle: &SessionHandle, number: usize) {
    handle.say(format!("Which notes are there on day {number}?")).await.expect("it is kept");
    rest(handle).await;
}

/// A conversation; a turn is a message and its answer. Measures the first and the last tenth.
fn thread(folder: &Path, messages: usize) {
    let (runtime, store) = (runtime(), fresh(folder));
    let host = host(&store, Connections::new(Activities::new()).with_model(Clerk));
    let (turns, tenth) = (messages / 2, (messages / 20).max(2));
    let settings = Settings { mode: Mode::Full, persistent: true, ..Settings::default() };
    let spec = SessionSpec { settings, ..SessionSpec::default() };
    let handle = runtime.block_on(host.create("s", spec)).expect("a session");
    let talk = |from: usize, to: usize| {
        let talk = cpu_us(|| {
            runtime.block_on(async {
                for i in from..to {
                    turn(&handle, i).await;
                }
            });
        });
        talk / (to - from) as f64
    };
    talk(0, 1);
    print("early", talk(1, tenth));
    talk(tenth, turns - tenth);
    print("late", talk(turns - tenth, turns));
    drop(handle);
    runtime.block_on(host.close());
    drop((host, store));
    print("bytes", size(&folder.join("store")));
    read(folder, turns);
}

/// The reads of a later process: the state, the history, and opening with one more turn.
fn read(folder: &Path, turns: usize) {
    let (runtime, store) = (runtime(), store(folder));
    let host = host(&store, Connections::new(Activities::new()).with_model(Clerk));
    let mut state = String::new();
    // Opens the session each time, so that it is read from disk.
    let look = |state: &mut String| {
        *state = runtime.block_on(async {
            let handle = host.open("s").await.expect("it is there");
            handle.inspect(|session| session.context().to_json().to_string()).await.expect("it can be read")
        });
        runtime.block_on(host.passivate("s"));
    };
    print("read", best((0..5).map(|_| cpu_us(|| look(&mut state)))));
    print("state_bytes", state.len() as f64);
    print("parse", best((0..5).map(|_| cpu_us(|| drop(parsed(&state))))));
    let entries = host.history("s").expect("it can be read").len();
    assert!(entries >= turns, "each turn is in the history");
    let history = || assert_eq!(host.history("s").expect("it can be read").len(), entries);
    print("history", best((0..5).map(|_| cpu_us(history))) / entries as f64);
    let resumed = cpu_us(|| {
        runtime.block_on(async { turn(&host.open("s").await.expect("it is there"), turns).await });
    });
    print("resume", resumed);
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn size(folder: &Path) -> f64 {
    let files = fs::read_dir(folder).expect("a folder").flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum::<u64>() as f64
}

/// The effect of a call is a line with its key in a file. `reconcile` looks for that line.
struct Act {
    effects: PathBuf,
    /// The process is killed after the effect of this call.
    fatal: Option<u64>,
}

impl Activity for Act {
    fn run(&self, work: Work) -> ActivityFuture {
        let (effects, fatal) = (self.effects.clone(), self.fatal);
        Box::pin(async move {
            let mut file = OpenOptions::new().create(true).append(true).open(effects).expect("a file");
            writeln!(file, "{}", work.key).expect("room");
            let n = work.call["n"].as_u64().unwrap_or(0);
            if Some(n) == fatal {
                let _ = process::Command::new("kill").args(["-9", &process::id().to_string()]).status();
            }
            Outcome::Value(json!(n + 1))
        })
    }

    fn reconcile(&self, work: Work) -> Option<ReconcileFuture> {
        let done = effects_in(&self.effects);
        Some(Box::pin(async move {
            // The same result as `run`.
            if done.contains(&work.key) {
                Reconciled::Happened(Outcome::Value(json!(work.call["n"].as_u64().unwrap_or(0) + 1)))
            } else {
                Reconciled::DidNot
            }
        }))
    }
}

fn effects_in(file: &Path) -> Vec<String> {
    fs::read_to_string(file).expect("a file").lines().map(str::to_owned).collect()
}

fn acting(folder: &Path, fatal: Option<u64>) -> Connections {
    let mut activities = Activities::new();
    activities.add("step", Act { effects: folder.join("effects"), fatal });
    Connections::new(activities)
}

fn kill(folder: &Path, fatal: usize, count: usize) {
    let _ = fs::remove_file(folder.join("effects"));
    let host = host(&fresh(folder), acting(folder, Some(fatal as u64)));
    runtime().block_on(async {
        run(&host.create("s", chain(count, "create")).await.expect("a session")).await;
    });
}

fn resume(folder: &Path, count: usize) {
    let host = host(&store(folder), acting(folder, None));
    runtime().block_on(async { rest(&host.open("s").await.expect("it is there")).await });
    let done = effects_in(&folder.join("effects"));
    let different: BTreeSet<&String> = done.iter().collect();
    print("missing", count as f64 - different.len() as f64);
    print("repeated", (done.len() - different.len()) as f64);
}
