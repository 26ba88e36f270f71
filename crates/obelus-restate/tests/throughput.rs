#![allow(missing_docs, reason = "the attributes of Restate make methods without any")]
//! Steps per second, compared with a bare Restate service with as many journaled steps: `cargo xtask bench restate`.

#[path = "../../obelus-runtime/tests/common/mod.rs"]
mod common;
#[path = "common/server.rs"]
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{chain, counting};
use obelus_kernel::session::Input;
use obelus_restate::{Cluster, RestateStore, Worker};
use obelus_runtime::engine::{WorkerInput, Workers as _};
use obelus_runtime::{Connections, Host, system_clock};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use server::{Server, free_ports};

/// Concurrent sessions, then calls of each.
const SESSIONS: usize = 64;
const STEPS: usize = 40;

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

/// The effects of a bare service: one journaled step, whose result is sent back.
struct BareEffects(Arc<AtomicUsize>);

#[service(name = "BareEffects", journal_retention = "0s")]
impl BareEffects {
    #[handler]
    async fn perform(&self, ctx: Context<'_>, task: Json<(String, u64)>) -> HandlerResult<()> {
        let (key, n) = task.into_inner();
        let done = ctx.run(|| async move { Ok(Json(n + 1)) }).name("outcome").await?;
        self.0.fetch_add(1, Ordering::SeqCst);
        ctx.request::<Json<u64>, ()>(RequestTarget::object("BareObject", key, "input"), done).send();
        Ok(())
    }
}

async fn wait_for(counter: &AtomicUsize) {
    while counter.load(Ordering::SeqCst) < SESSIONS * STEPS {
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
    wait_for(counter).await;
    (SESSIONS * STEPS) as f64 / began.elapsed().as_secs_f64()
}

async fn sessions(host: &Host, store: &RestateStore, round: usize, counter: &AtomicUsize) -> f64 {
    for i in 0..SESSIONS {
        host.create(&format!("s-{round}-{i}"), chain("read", STEPS)).await.expect("a session");
    }
    counter.store(0, Ordering::SeqCst);
    let began = Instant::now();
    let told = (0..SESSIONS).map(|i| {
        let store = store.clone();
        tokio::spawn(async move {
            let told = WorkerInput { input: Input::RunPlan, id: None, at: system_clock() };
            store.tell(&format!("s-{round}-{i}"), told).await.expect("it is taken")
        })
    });
    for told in told.collect::<Vec<_>>() {
        told.await.expect("it is told");
    }
    wait_for(counter).await;
    let rate = (SESSIONS * STEPS) as f64 / began.elapsed().as_secs_f64();
    host.close().await;
    rate
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures: cargo xtask bench restate"]
async fn steps_a_second_beside_a_bare_service() {
    let server = Server::start("throughput");
    let cluster = Cluster::new(&server.ingress, &server.admin).expect("a cluster");
    let (calls, steps) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));

    let worker = Worker::bind(cluster.clone(), Connections::new(counting(&calls)), "127.0.0.1:0".parse().unwrap());
    let worker = worker.await.expect("a worker");
    let registration = worker.registration(&format!("http://{}", worker.address()), true);
    tokio::spawn(worker.serve(std::future::pending()));
    registration.run(|_| ()).await.expect("it is registered");

    let [port] = free_ports();
    let endpoint = Endpoint::builder().bind(BareObject).bind(BareEffects(Arc::clone(&steps))).build();
    let listen = format!("127.0.0.1:{port}");
    tokio::spawn(HttpServer::new(endpoint).listen_and_serve(listen.parse().unwrap()));
    let body = serde_json::json!({"uri": format!("http://{listen}")}).to_string();
    let request = reqwest::Client::new().post(format!("{}/deployments", server.admin));
    let registered = request.header("content-type", "application/json").body(body).send().await.expect("it is sent");
    assert!(registered.status().is_success());

    let store = RestateStore::new(cluster);
    let connections = Connections::new(counting(&calls));
    let host = Host::builder(connections).store(store.shared()).workers(store.workers()).build();
    let (mut bare_rates, mut session_rates) = (Vec::new(), Vec::new());
    // Alternating, so that other load on the machine affects both.
    for round in 0..3 {
        bare_rates.push(bare(&server, round, &steps).await);
        session_rates.push(sessions(&host, &store, round, &calls).await);
    }
    let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
    let (this, bare) = (best(&session_rates), best(&bare_rates));
    eprintln!("steps a second over {SESSIONS}: this {this:.0}, bare {bare:.0}, ratio {:.2} (target 0.6)", this / bare);
    eprintln!("all rounds: this {session_rates:.0?}, bare {bare_rates:.0?}");
}
