#![allow(missing_docs, reason = "the attributes of Restate make methods without any")]
//! Steps per second on a real Restate server, as lines with a name and a number.
//!
//! | argument | measures |
//! |---|---|
//! | `sessions` | 64 sessions, beside a bare Restate service with as many journaled steps: `cargo xtask bench restate` |
//! | `delegates` | one session with 10 and with 100 delegates, beside as many sessions; the bytes of its state |

#[path = "../../obelus-runtime/tests/common/mod.rs"]
mod common;
#[path = "../tests/common/server.rs"]
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::delegates::DelegateModel;
use common::{chain, counting};
use obelus_kernel::session::Input;
use obelus_restate::{Cluster, RestateStore, Worker};
use obelus_runtime::engine::{WorkerInput, Workers as _};
use obelus_runtime::{Connections, Host, system_clock};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use server::{Server, free_ports};

#[path = "throughput/delegates.rs"]
mod delegates;

/// Concurrent sessions, then calls of each.
const SESSIONS: usize = 64;
const STEPS: usize = 40;

/// Rounds, and the time after which no other one begins: a run takes at most five minutes.
const ROUNDS: usize = 3;
const LONGEST: Duration = Duration::from_secs(180);

/// The object of a bare service: stores its input and sends the next step, as a session's object does.
struct BareObject;

#[object(name = "BareObject", lazy_state = true, journal_retention = "0s")]
impl BareObject {
    #[handler]
    async fn input(&self, ctx: ObjectContext<'_>, n: Json<u64>) -> HandlerResult<Json<u64>> {
        let seq = ctx.get::<Json<u64>>("head").await?.map_or(0, Json::into_inner);
        ctx.set(&format!("r/{seq:012}"), Json(serde_json::json!({"n": n.0, "text": "x".repeat(300)})));
        ctx.set("head", Json(seq + 1));
        if n.0 < STEPS as u64 {
            let target = RequestTarget::service("BareEffects", "perform");
            ctx.request::<Json<(String, u64)>, ()>(target, Json((ctx.key().to_owned(), n.0))).send();
        }
        Ok(Json(seq))
    }
}

/// The effects of a bare service: an intent and an outcome, as calls of a session have, and the outcome is sent back.
struct BareEffects(Arc<AtomicUsize>);

#[service(name = "BareEffects", journal_retention = "0s")]
impl BareEffects {
    #[handler]
    async fn perform(&self, ctx: Context<'_>, task: Json<(String, u64)>) -> HandlerResult<()> {
        let (key, n) = task.into_inner();
        ctx.run(|| async move { Ok(n) }).name("intent").await?;
        let done = ctx.run(|| async move { Ok(Json(n + 1)) }).name("outcome").await?;
        self.0.fetch_add(1, Ordering::SeqCst);
        ctx.request::<Json<u64>, ()>(RequestTarget::object("BareObject", key, "input"), done).send();
        Ok(())
    }
}

async fn wait_for(counter: &AtomicUsize, steps: usize) {
    while counter.load(Ordering::SeqCst) < steps {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn bare(server: &Server, round: usize, counter: &AtomicUsize) -> f64 {
    counter.store(0, Ordering::SeqCst);
    let began = Instant::now();
    let http = reqwest::Client::new();
    let sent = (0..SESSIONS).map(|i| {
        let url = format!("{}/BareObject/o-{round}-{i}/input/send", server.ingress);
        let request = http.post(url).header("content-type", "application/json").body("0");
        tokio::spawn(async move { request.send().await.expect("it is sent").error_for_status().expect("it is taken") })
    });
    for sent in sent.collect::<Vec<_>>() {
        sent.await.expect("it is sent");
    }
    wait_for(counter, SESSIONS * STEPS).await;
    (SESSIONS * STEPS) as f64 / began.elapsed().as_secs_f64()
}

/// Starts the plans of sessions, all at once.
async fn begin(store: &RestateStore, names: &[String]) {
    let sent = names.iter().cloned().map(|name| {
        let store = store.clone();
        tokio::spawn(async move {
            let input = WorkerInput { input: Input::RunPlan, id: None, at: system_clock() };
            store.send_input(&name, input).await.expect("it is taken")
        })
    });
    for input in sent.collect::<Vec<_>>() {
        input.await.expect("it is sent");
    }
}

async fn sessions(host: &Host, store: &RestateStore, round: usize, counter: &AtomicUsize) -> f64 {
    let names: Vec<String> = (0..SESSIONS).map(|i| format!("s-{round}-{i}")).collect();
    for name in &names {
        host.create(name, chain("read", STEPS)).await.expect("a session");
    }
    counter.store(0, Ordering::SeqCst);
    let began = Instant::now();
    begin(store, &names).await;
    wait_for(counter, SESSIONS * STEPS).await;
    let rate = (SESSIONS * STEPS) as f64 / began.elapsed().as_secs_f64();
    host.close().await;
    rate
}

/// A server with a worker, and a host in front of it.
struct Scene {
    server: Server,
    store: RestateStore,
    host: Host,
    /// The calls that were carried out.
    calls: Arc<AtomicUsize>,
}

impl Scene {
    async fn start() -> Self {
        let server = Server::start("throughput");
        let cluster = Cluster::new(&server.ingress, &server.admin).expect("a cluster");
        let calls = Arc::new(AtomicUsize::new(0));
        let connections = Connections::new(counting(&calls)).with_model(DelegateModel(delegates::CALLS));
        let worker = Worker::bind(cluster.clone(), connections.clone(), "127.0.0.1:0".parse().expect("an address"));
        let worker = worker.await.expect("a worker");
        let registration = worker.registration(&format!("http://{}", worker.address()), true);
        tokio::spawn(worker.serve(std::future::pending()));
        registration.run(|_| ()).await.expect("it is registered");
        let store = RestateStore::new(cluster);
        let host = Host::builder(connections).store(store.shared()).workers(store.workers()).build();
        Self { server, store, host, calls }
    }
}

/// Registers a bare service, which counts its steps.
async fn register_bare(server: &Server, steps: &Arc<AtomicUsize>) {
    let [port] = free_ports();
    let endpoint = Endpoint::builder().bind(BareObject).bind(BareEffects(Arc::clone(steps))).build();
    let listen = format!("127.0.0.1:{port}");
    tokio::spawn(HttpServer::new(endpoint).listen_and_serve(listen.parse().expect("an address")));
    let body = serde_json::json!({"uri": format!("http://{listen}")}).to_string();
    let request = reqwest::Client::new().post(format!("{}/deployments", server.admin));
    let registered = request.header("content-type", "application/json").body(body).send().await.expect("it is sent");
    assert!(registered.status().is_success());
}

async fn compare_with_bare(scene: &Scene) {
    let steps = Arc::new(AtomicUsize::new(0));
    register_bare(&scene.server, &steps).await;
    let (mut bare_rates, mut session_rates) = (Vec::new(), Vec::new());
    let began = Instant::now();
    // Alternating, so that other load on the machine affects both.
    for round in 0..ROUNDS {
        bare_rates.push(bare(&scene.server, round, &steps).await);
        session_rates.push(sessions(&scene.host, &scene.store, round, &scene.calls).await);
        if began.elapsed() > LONGEST {
            break;
        }
    }
    let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
    figure("rate", best(&session_rates));
    figure("bare", best(&bare_rates));
    eprintln!("steps a second in all rounds: sessions {session_rates:.0?}, bare {bare_rates:.0?}");
}

#[expect(clippy::print_stdout, reason = "the figures are what the program is for")]
fn figure(name: &str, number: f64) {
    println!("{name} {number}");
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        None | Some("sessions") => compare_with_bare(&Scene::start().await).await,
        Some("delegates") => delegates::measure(&Scene::start().await).await,
        Some(other) => panic!("`{other}` is neither `sessions` nor `delegates`"),
    }
}
