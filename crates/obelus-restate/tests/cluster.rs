//! Nodes and workers are killed while sessions run: every acknowledged input is kept, no effect that may happen once
//! happens twice, and all sessions end.

#[path = "../../obelus-runtime/tests/common/mod.rs"]
mod common;
#[path = "common/nodes.rs"]
mod nodes;
#[path = "common/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::delegates::{DelegateModel, delegating};
use common::{chain, open_questions, read, spec, tool};
use nodes::{Nodes, Process, fresh_folder};
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{About, Decision, TurnEnd};
use obelus_restate::{Cluster, RestateStore, Worker};
use obelus_runtime::{Activities, Connections, Host, SessionHandle, Store as _};
use serde_json::json;

/// The environment variables for a worker process.
const LISTEN: &str = "OBELUS_TEST_LISTEN";
const CLUSTER: &str = "OBELUS_TEST_CLUSTER";
const EFFECTS: &str = "OBELUS_TEST_EFFECTS";

/// The longest time without an effect between two kills.
const MOST_IDLE: Duration = Duration::from_secs(20);

/// `step` waits, writes a line to a file half-way, and adds one. `look` writes its key and attempt; the first attempt
/// does not end.
fn leaving_traces(file: PathBuf) -> Activities {
    let mut activities = Activities::new();
    let looks = file.clone();
    activities.register("look", move |work| {
        let mut file = OpenOptions::new().create(true).append(true).open(&looks).expect("the file of effects");
        file.write_all(format!("{} {}\n", work.key, work.attempt).as_bytes()).expect("a trace");
        async move {
            if work.attempt == 1 {
                std::future::pending::<()>().await;
            }
            Ok(json!(work.attempt))
        }
    });
    activities.register("step", move |work| {
        let file = file.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let mut file = OpenOptions::new().create(true).append(true).open(file).expect("the file of effects");
            let session = work.key.split(':').next().unwrap_or_default();
            file.write_all(format!("{session} {}\n", work.call["n"]).as_bytes()).expect("an effect");
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(json!(work.call["n"].as_i64().unwrap_or(0) + 1))
        }
    });
    activities
}

/// Not a test: the worker process that the tests start.
#[test]
#[ignore = "the tests run it as a process"]
fn worker_process() {
    let Ok(listen) = std::env::var(LISTEN) else { return };
    let cluster = std::env::var(CLUSTER).expect("the cluster");
    let (ingress, admin) = cluster.split_once(' ').expect("its addresses");
    let cluster = Cluster::new(ingress, admin).expect("the cluster");
    let effects = PathBuf::from(std::env::var(EFFECTS).expect("the file of effects"));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let connections = Connections::new(leaving_traces(effects)).with_model(DelegateModel(1));
        let worker = Worker::bind(cluster, connections, listen.parse().expect("an address")).await.expect("a worker");
        let registration = worker.registration(&format!("http://{listen}"), true);
        tokio::spawn(async move { registration.run(|_| ()).await.expect("it is registered") });
        worker.serve(std::future::pending()).await;
    });
}

/// A cluster, two workers at one address, and a host in front.
struct Scene {
    nodes: Nodes,
    workers: Vec<Process>,
    host: Host,
    store: RestateStore,
    effects: PathBuf,
}

impl Scene {
    fn start(name: &str, nodes: usize) -> Self {
        let folder = fresh_folder(name);
        let nodes = Nodes::start(&folder, nodes);
        let effects = folder.join("effects");
        let listen = format!("127.0.0.1:{}", server::free_ports::<1>()[0]);
        let addresses = format!("{} {}", nodes.ingress, nodes.admin);
        let worker = |_| {
            let (listen, addresses, effects) = (listen.clone(), addresses.clone(), effects.clone());
            Process::start(move || {
                let mut command = Command::new(std::env::current_exe().expect("this program"));
                command.args(["--exact", "worker_process", "--ignored", "--nocapture"]);
                command.env(LISTEN, &listen).env(CLUSTER, &addresses).env(EFFECTS, &effects);
                command
            })
        };
        let workers = (0..2).map(worker).collect();
        let store = RestateStore::new(Cluster::new(&nodes.ingress, &nodes.admin).expect("a cluster"));
        let connections = Connections::new(leaving_traces(effects.clone()));
        let host = Host::builder(connections).store(store.shared()).workers(store.workers()).build();
        Self { nodes, workers, host, store, effects }
    }
}

/// How often each effect happened, by the key of its session and its number.
fn happened(effects: &Path) -> BTreeMap<String, usize> {
    let text = fs::read_to_string(effects).unwrap_or_default();
    let mut counts = BTreeMap::new();
    text.lines().for_each(|key| *counts.entry(key.to_owned()).or_default() += 1);
    counts
}

/// Runs a session to its end. Answers questions about effects in doubt truthfully.
async fn work(handle: SessionHandle, key: String, effects: PathBuf) -> TurnEnd {
    // A client that got no answer repeats its input with the same id.
    while let Err(refused) = handle.with_id("begin".parse().unwrap()).run_plan().await {
        assert!(matches!(refused.code, RefusalCode::Unreachable | RefusalCode::OutcomeUnknown), "{refused:?}");
    }
    loop {
        let reply = match handle.rested().await {
            Ok(reply) => reply.expect("it has begun"),
            // The nodes are restarting.
            Err(refused) if refused.code == RefusalCode::Unreachable => continue,
            Err(refused) => panic!("{refused:?}"),
        };
        if reply.ends != TurnEnd::Waiting {
            return reply.ends;
        }
        for question in open_questions(&handle).await {
            assert_eq!(question.about, About::InDoubt);
            // An abandoned attempt may still be running.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let n = &question.calls[0].call["n"];
            let decision = if happened(&effects).contains_key(&format!("{key} {n}")) {
                Decision::Happened { result: json!(n.as_i64().unwrap_or_default() + 1) }
            } else {
                Decision::DidNot
            };
            let once = handle.with_id(format!("answer-{}", question.id).parse().unwrap());
            once.answer(question.id.clone(), decision, "ann").await.expect("the answer is taken");
        }
    }
}

/// Runs sessions while `harm` repeatedly kills processes.
fn survive(scene: Scene, sessions: usize, steps: usize, mut harm: impl FnMut(&mut Scene, usize) + Send + 'static) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let (host, store, effects) = (scene.host.clone(), scene.store.clone(), scene.effects.clone());
    let is_over = Arc::new(AtomicBool::new(false));
    let harming = {
        let (is_over, mut scene) = (Arc::clone(&is_over), scene);
        std::thread::spawn(move || {
            let mut round = 0;
            let is_over = || is_over.load(Ordering::SeqCst);
            while !is_over() {
                let (count, waited) = (happened(&scene.effects).len(), Instant::now());
                std::thread::sleep(Duration::from_millis(700));
                // On a busy machine a worker may need longer to start: without progress nothing is tested.
                while !is_over() && happened(&scene.effects).len() == count && waited.elapsed() < MOST_IDLE {
                    std::thread::sleep(Duration::from_millis(50));
                }
                harm(&mut scene, round);
                round += 1;
            }
            (scene, round)
        })
    };
    let began = Instant::now();
    let ends = runtime.block_on(async {
        let mut running = tokio::task::JoinSet::new();
        for i in 0..sessions {
            let (host, effects) = (host.clone(), effects.clone());
            running.spawn(async move {
                let id = format!("s-{i}");
                let handle = host.create(&id, chain("create", steps)).await.expect("a session");
                let key = host.spec(&id).expect("it can be read").expect("a session").key;
                work(handle, key, effects).await
            });
        }
        let mut ends = Vec::new();
        while let Some(ended) = running.join_next().await {
            ends.push(ended);
        }
        ends
    });
    is_over.store(true, Ordering::SeqCst);
    let (scene, rounds) = harming.join().expect("the harm is done");
    eprintln!("{sessions} sessions of {steps} steps, {rounds} kills, {:?}", began.elapsed());
    assert!(ends.iter().all(|ends| matches!(ends, Ok(TurnEnd::Output))), "{ends:?}");
    for i in 0..sessions {
        let id = format!("s-{i}");
        let taken = store.taken(&id, &"begin".parse().unwrap()).expect("it can be read");
        assert_eq!(taken, Some(1), "what was acknowledged is kept");
        let journal = store.load(&id, 0, None).expect("the journal is whole");
        assert!(journal.records.len() > steps, "{id}");
    }
    let counts = happened(&effects);
    let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "happened twice: {twice:?}");
    assert_eq!(counts.len(), sessions * steps);
    drop(scene);
}

#[test]
fn killed_workers_repeat_no_effect_and_lose_no_input() {
    survive(Scene::start("cluster-workers", 1), 16, 6, |scene, round| {
        let worker = round % scene.workers.len();
        scene.workers[worker].kill_and_restart();
    });
}

#[test]
fn dur_3_a_read_whose_worker_is_killed_runs_again_as_the_next_attempt_with_the_same_key() {
    let mut scene = Scene::start("cluster-attempts", 1);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let call = json!({"_tool": "look", "n": 0, "_outputPath": "†state.v"});
    let spec = spec(json!({"look": tool("read")}), json!([call]));
    let handle = runtime.block_on(scene.host.create("s", spec)).expect("a session");
    runtime.block_on(handle.run_plan()).expect("it begins");
    while happened(&scene.effects).is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Both, because either may run it.
    scene.workers.iter_mut().for_each(Process::kill_and_restart);
    let reply = runtime.block_on(handle.rested()).expect("it can be read").expect("it has begun");
    assert_eq!(reply.ends, TurnEnd::Output);
    assert_eq!(runtime.block_on(read(&handle, "†state.v")), Some(json!(2)));
    let key = scene.host.spec("s").expect("it can be read").expect("a session").key;
    let attempts: Vec<String> = happened(&scene.effects).into_keys().collect();
    assert_eq!(attempts, [format!("{key}:0.0 1"), format!("{key}:0.0 2")]);
}

#[test]
fn dur_4_a_call_of_a_delegate_whose_worker_is_killed_is_asked_about_and_not_repeated() {
    let mut scene = Scene::start("cluster-delegates", 1);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let spec = delegating("look", "create", 2);
    let handle = runtime.block_on(scene.host.create("s", spec)).expect("a session");
    runtime.block_on(handle.run_plan()).expect("it begins");
    while happened(&scene.effects).len() < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    scene.workers.iter_mut().for_each(Process::kill_and_restart);
    // The first question rests the turn; the other may follow.
    let mut ends = runtime.block_on(handle.rested()).expect("it can be read").expect("it has begun").ends;
    while ends == TurnEnd::Waiting {
        assert!(happened(&scene.effects).values().all(|count| *count == 1));
        for question in runtime.block_on(open_questions(&handle)) {
            assert_eq!(question.about, About::InDoubt);
            let answer = handle.answer(question.id, Decision::DidNot, "ann");
            runtime.block_on(answer).expect("the answer is taken");
        }
        ends = runtime.block_on(handle.rested()).expect("it can be read").expect("it has begun").ends;
    }
    assert_eq!(ends, TurnEnd::Output);
    for i in 0..2 {
        assert_eq!(runtime.block_on(read(&handle, &format!("†state.d{i}"))), Some(json!("done")));
    }
    let attempts = |number: &str| happened(&scene.effects).keys().filter(|key| key.ends_with(number)).count();
    assert_eq!((attempts(" 1"), attempts(" 2")), (2, 2));
}

#[test]
#[ignore = "it takes minutes: cargo xtask test --long"]
fn killed_nodes_and_workers_repeat_no_effect_and_lose_no_input() {
    let mut seed: u32 = 7;
    survive(Scene::start("cluster-nodes", 3), 64, 8, move |scene, round| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let dice = (seed >> 16) as usize;
        // In turn at first, then at random. A node gets time to restart before the next one is killed.
        match if round < 5 { round } else { dice % 5 } {
            which @ 0..=1 => scene.workers[which].kill_and_restart(),
            which => {
                scene.nodes.all[which - 2].kill_and_restart();
                std::thread::sleep(Duration::from_secs(6));
            }
        }
    });
}
