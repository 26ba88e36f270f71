//! Measures the cost of durability, for the benchmark: `durable FIGURE FOLDER`, where FIGURE is one of those below.
//!
//! Figures of the disk alternate in one run with a plain append and `fdatasync` of the same bytes; the median of the
//! rounds counts. Prints `name value` lines.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::{ProcessTime, ThreadTime};
use futures_util::future::join_all;
use obelus_kernel::session::{Input, Mode, Outcome, Settings, TurnEnd};
use obelus_kernel::{Context, Time};
use obelus_runtime::engine::{CheckpointData, Record};
use obelus_runtime::{Activities, Connections, Host, MemoryStore, SessionHandle, SessionSpec, SqliteStore, Store};
use serde_json::{Value, json};

/// The same allocator as the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Approximate size of a result in bytes.
const RESULT: usize = 900;
/// Durable steps in one round.
const STEPS: usize = 300;
const ROUNDS: usize = 7;
const SESSIONS: usize = 64;
/// Rounds with many sessions. A shared disk may vary by a factor of two, so there are more of them.
const MANY_ROUNDS: usize = 21;
/// Turns of each session, enough for one checkpoint.
const TURNS: usize = 11;

fn main() {
    let mut args = std::env::args().skip(1);
    let figure = args.next().unwrap_or_default();
    let folder = args.next().unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    match figure.as_str() {
        "one" => one(folder),
        "many" => many(folder, args.next().and_then(|n| n.parse().ok()).unwrap_or(MANY_ROUNDS)),
        "drive" => drive(folder, args.next().and_then(|n| n.parse().ok()).unwrap_or(TURNS)),
        "bytes" => bytes(folder),
        "fill" => fill(folder, args.next().and_then(|n| n.parse().ok()).unwrap_or(10)),
        "open" => open(folder),
        "age" => age(folder, args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000)),
        "resume" => resume(folder),
        _ => panic!("one, many [ROUNDS], drive [TURNS], bytes, fill N, open, age N or resume"),
    }
}

#[expect(clippy::print_stdout, reason = "the figure is what the program is for")]
fn print(name: &str, value: f64) {
    println!("{name} {value:.4}");
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn result(i: usize) -> Value {
    json!({"n": i, "pad": "x".repeat(RESULT)})
}

/// The record of one step.
fn record(i: usize) -> Record {
    Record::new(
        Time(1),
        Input::Ended { id: format!("0.{i}").parse().expect("an id"), outcome: Outcome::Value(result(i)) },
    )
}

/// Appends to a plain file with one sync per `together` records; returns records per second.
fn raw(folder: &Path, together: usize, records: usize) -> f64 {
    let bytes = serde_json::to_vec(&(Time(1), record(0).input)).expect("a record");
    let path = folder.join("raw");
    let mut file = File::create(&path).expect("a file");
    let began = Instant::now();
    for _ in 0..records / together {
        for _ in 0..together {
            file.write_all(&bytes).expect("room");
        }
        file.sync_data().expect("a sync");
    }
    let rate = records as f64 / began.elapsed().as_secs_f64();
    fs::remove_file(path).expect("it is there");
    rate
}

/// A chain of calls with results of about a kilobyte.
fn chain(calls: usize) -> SessionSpec {
    let tool =
        json!({"type": "object", "properties": {"n": {}}, "x-effect": "create", "x-trust": "trusted", "x-target": []});
    let call = |i: usize| match i {
        0 => json!({"_tool": "step", "n": 0, "_outputPath": "†state.v0"}),
        _ => json!({"_tool": "step", "n": format!("†state.v{}.n", i - 1), "_outputPath": format!("†state.v{i}")}),
    };
    let plan: Value = (0..calls).map(call).collect();
    let context =
        Context::from_value(json!([{"type": "tool", "tool": {"step": tool}}, {"type": "plan", "plan": plan}]));
    let settings = Settings { mode: Mode::Full, max_calls: u32::MAX, ..Settings::default() };
    SessionSpec { context: context.expect("a context"), settings, ..SessionSpec::default() }
}

fn host(store: Arc<dyn Store>) -> Host {
    let mut activities = Activities::new();
    // Prepared once: the cost of the call itself is not measured.
    let sample = result(0);
    activities.register("step", move |work| {
        let mut result = sample.clone();
        result["n"] = (work.call["n"].as_u64().unwrap_or(0) + 1).into();
        async move { Ok(result) }
    });
    Host::builder(Connections::new(activities)).store(store).idle_after(None).build()
}

async fn run(handle: &SessionHandle) {
    handle.run_plan().await.expect("it is kept");
    let reply = handle.rested().await.expect("it is kept").expect("a rest");
    assert_eq!(reply.ends, TurnEnd::Output);
}

fn fresh(folder: &Path) -> SqliteStore {
    let place = folder.join("store");
    let _ = fs::remove_dir_all(&place);
    SqliteStore::open(&place).expect("a store")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// As in `obelus serve`: sessions on all cores.
fn of_a_server() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_time().build().expect("a runtime")
}

/// One session with sequential durable steps, through its handle.
fn one(folder: &Path) {
    let runtime = runtime();
    let mut rounds = Vec::new();
    let (mut own, mut plain_own) = (f64::INFINITY, f64::INFINITY);
    let cost = |began: ProcessTime| began.elapsed().as_secs_f64() * 1e6 / STEPS as f64;
    for _ in 0..ROUNDS {
        let cpu = ProcessTime::now();
        let plain = raw(folder, 1, STEPS);
        plain_own = plain_own.min(cost(cpu));
        let store = fresh(folder);
        let host = host(store.shared());
        let handle = runtime.block_on(host.create("s", chain(STEPS))).expect("a session");
        let (began, cpu) = (Instant::now(), ProcessTime::now());
        runtime.block_on(run(&handle));
        let rate = STEPS as f64 / began.elapsed().as_secs_f64();
        own = own.min(cost(cpu));
        assert_eq!(store.records("s").expect("a count"), STEPS as u64 + 1);
        rounds.push((rate, plain));
    }
    print("rate", median(rounds.iter().map(|(rate, _)| *rate).collect()));
    print("raw", median(rounds.iter().map(|(_, plain)| *plain).collect()));
    print("ratio", median(rounds.iter().map(|(rate, plain)| rate / plain).collect()));
    print("cpu", own);
    print("raw_cpu", plain_own);
}

/// Many concurrent sessions with sequential durable steps: through their handles, and the store alone.
fn many(folder: &Path, rounds: usize) {
    let runtime = of_a_server();
    let round =
        |_| (raw(folder, SESSIONS, SESSIONS * STEPS), driven(folder, &runtime, TURNS), stored(folder, &runtime));
    let rounds: Vec<(f64, Driven, f64)> = (0..rounds).map(round).collect();
    let all = |figure: fn(&(f64, Driven, f64)) -> f64| median(rounds.iter().map(figure).collect());
    print("rate", all(|(_, driven, _)| driven.rate));
    print("raw", all(|(raw, ..)| *raw));
    print("ratio", all(|(raw, driven, _)| driven.rate / raw));
    print("store_rate", all(|(.., stored)| *stored));
    print("store_ratio", all(|(raw, _, stored)| stored / raw));
    print("cpu", all(|(_, driven, _)| driven.sessions + driven.store));
}

/// The same sessions once, with few turns each, for slow profilers.
fn drive(folder: &Path, turns: usize) {
    let Driven { sessions, store, .. } = driven(folder, &runtime(), turns);
    print("sessions_cpu", sessions);
    print("store_cpu", store);
}

/// Steps per second, and the CPU time per step in microseconds on the sessions' thread and on the store's threads.
struct Driven {
    rate: f64,
    sessions: f64,
    store: f64,
}

fn names() -> Vec<String> {
    (0..SESSIONS).map(|i| format!("s-{i}")).collect()
}

/// Whole sessions that run their plan repeatedly. The time includes writing everything to disk, also checkpoints.
fn driven(folder: &Path, runtime: &tokio::runtime::Runtime, turns: usize) -> Driven {
    let (store, names, calls) = (fresh(folder), names(), STEPS / 3);
    let host = host(store.shared());
    let create = |name: &String| runtime.block_on(host.create(name, chain(calls))).expect("a session");
    let handles: Vec<SessionHandle> = names.iter().map(create).collect();
    let work = |handle: SessionHandle| async move {
        for _ in 0..turns {
            run(&handle).await;
        }
    };
    let (began, own, whole) = (Instant::now(), ThreadTime::now(), ProcessTime::now());
    runtime.block_on(async {
        join_all(handles.into_iter().map(work)).await;
        host.close().await;
    });
    drop((host, store));
    let steps = (SESSIONS * calls * turns) as f64;
    let (rate, own, whole) = (steps / began.elapsed().as_secs_f64(), own.elapsed(), whole.elapsed());
    let cost = |time: Duration| time.as_secs_f64() * 1e6 / steps;
    let store = SqliteStore::open_read_only(&folder.join("store")).expect("a store");
    assert!(names.iter().all(|name| store.snapshot(name).expect("it can be read").is_some()), "each was kept");
    Driven { rate, sessions: cost(own), store: cost(whole.saturating_sub(own)) }
}

/// The records of as many sessions, without the sessions; returns records per second.
fn stored(folder: &Path, runtime: &tokio::runtime::Runtime) -> f64 {
    let (store, names) = (fresh(folder), names());
    names.iter().for_each(|name| store.create(name, Time(0), &json!({}), Vec::new()).expect("a session"));
    let write = |name: &String| {
        let (store, name) = (store.clone(), name.clone());
        async move {
            for i in 0..STEPS {
                store.append(&name, i as u64, vec![record(i)]).await.expect("it is kept");
            }
        }
    };
    let began = Instant::now();
    runtime.block_on(join_all(names.iter().map(write)));
    (SESSIONS * STEPS) as f64 / began.elapsed().as_secs_f64()
}

/// Bytes on disk per step, as a multiple of its call and result as JSON.
fn bytes(folder: &Path) {
    let steps = 3_000;
    let store = fresh(folder);
    let host = host(store.shared());
    runtime().block_on(async {
        run(&host.create("s", chain(steps)).await.expect("a session")).await;
        host.close().await;
    });
    drop(host);
    let held = size(&folder.join("store"));
    drop(store);
    let closed = size(&folder.join("store"));
    let call = json!({"_tool": "step", "n": 1_000, "_outputPath": "†state.v1000"});
    let step = (call.to_string().len() + result(1_000).to_string().len()) as f64;
    print("json", step);
    print("while_held", held as f64 / steps as f64 / step);
    print("ratio", closed as f64 / steps as f64 / step);
}

fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).expect("a folder").flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// Creates a store with this many sessions of one record each, in parallel so that they share commits.
fn fill(folder: &Path, sessions: usize) {
    let store = fresh(folder);
    std::thread::scope(|scope| {
        for first in 0..SESSIONS {
            let store = &store;
            scope.spawn(move || {
                for i in (first..sessions).step_by(SESSIONS) {
                    let records = vec![Record::new(Time(1), Input::Start)];
                    store.create(&format!("s-{i}"), Time(0), &json!({}), records).expect("a session");
                }
            });
        }
    });
}

/// Opens that store and finds a session in it; prints the time and the memory.
fn open(folder: &Path) {
    let place = folder.join("store");
    let mut times = Vec::new();
    for _ in 0..9 {
        let began = Instant::now();
        let store = SqliteStore::open(&place).expect("a store");
        assert!(store.genesis("s-7").expect("it can be read").is_some());
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let _held = SqliteStore::open(&place).expect("a store");
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse().ok());
    print("milliseconds", median(times));
    print("resident_kb", resident.unwrap_or(f64::NAN));
}

/// Creates a session of this many records: turns of one call, each of which overwrites the last result.
fn age(folder: &Path, records: usize) {
    let (store, memory) = (fresh(folder), Arc::new(MemoryStore::new()));
    let host = host(memory.clone());
    let checkpoint = runtime().block_on(async {
        let handle = host.create("s", chain(1)).await.expect("a session");
        for _ in 0..records / 2 {
            run(&handle).await;
        }
        handle.inspect(obelus_kernel::session::Session::checkpoint).await.expect("it is there")
    });
    // Copied from memory, because in the store every turn would wait for the disk.
    let genesis = memory.genesis("s").expect("it is there").expect("a genesis");
    let records = memory.load("s", 0, None).expect("it is there").records;
    store.create("s", Time(0), &genesis, records).expect("it is kept");
    store.store_checkpoint(
        "s",
        store.records("s").expect("a count"),
        CheckpointData { checkpoint, ..CheckpointData::default() },
    );
}

/// Opens that session; prints the time from the checkpoint and from the whole journal.
fn resume(folder: &Path) {
    let store = SqliteStore::open(&folder.join("store")).expect("a store");
    let (host, runtime) = (host(store.shared()), runtime());
    let timed = |times: usize| {
        let one = |_| {
            let began = Instant::now();
            let reply = runtime.block_on(async {
                let handle = host.open("s").await.expect("it is there");
                handle.rested().await.expect("nothing fails")
            });
            let took = began.elapsed().as_secs_f64() * 1e3;
            assert_eq!(reply.map(|reply| reply.ends), Some(TurnEnd::Output));
            runtime.block_on(host.passivate("s"));
            took
        };
        median((0..times).map(one).collect())
    };
    let records = store.records("s").expect("a count");
    assert_eq!(store.snapshot("s").expect("it can be read").map(|snapshot| snapshot.seq), Some(records));
    print("milliseconds", timed(15));
    let file = rusqlite::Connection::open(folder.join("store/obelus.db")).expect("a store");
    file.busy_timeout(Duration::from_secs(5)).expect("a pause");
    file.execute("DELETE FROM snapshot", []).expect("it is gone");
    print("without_snapshot", timed(1));
}
