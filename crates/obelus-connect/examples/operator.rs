//! Measures the cost of a step of the operator agent beside a snapshot of the real browser, for the benchmark:
//! `operator FOLDER AGENT`.
//!
//! The agent's file, graph, record of facts, journal and rendered prompts are real; the model and the browser are
//! replaced by functions that answer at once. Rounds of steps alternate with snapshots that the real browser takes of
//! the same page. Prints `name value` lines, times in microseconds.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cpu_time::ProcessTime;
use obelus_connect::activity::bind_into;
use obelus_connect::browser::BrowserSection;
use obelus_connect::mcp::{Server, Servers};
use obelus_connect::model::{PromptOptions, render};
use obelus_kernel::Context;
use obelus_kernel::session::{Answer, Mode, Prompt, Solution};
use obelus_runtime::{
    Activities, Agent, AnswerFuture, Connections, EventBody, EventNumber, Host, Model, SessionSpec, SqliteStore,
};
use serde_json::{Map, Value, json};

/// The same allocator as the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Alternating rounds of steps and snapshots; the median counts.
const ROUNDS: usize = 15;
/// Actions in one round: a long turn within the agent's limits. Each takes several steps of the graph.
const ACTIONS: usize = 18;
/// Snapshots in one round.
const SNAPSHOTS: usize = 5;
/// Links on the page: about 20,000 characters of snapshot.
const LINKS: usize = 160;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, agent] = args.as_slice() else { panic!("operator FOLDER AGENT") };
    let (folder, agent) = (Path::new(folder), Agent::load(Path::new(agent)).expect("a good agent"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        // The default browser section, as for an agent's file without one.
        let section = BrowserSection::parse(&Map::new(), folder).expect("nothing is wrong with nothing");
        let (section, _outputs) = section.servers(&Map::new()).expect("a browser and its server");
        let servers = Servers::parse(&section, folder).expect("a good section");
        let server = servers.get("browser").expect("it was named");
        let tools = servers.tools().await.expect("the browser's server starts");
        ask(&server, "browser_navigate", json!({"url": serve()})).await;
        let page = ask(&server, "browser_snapshot", json!({})).await;
        let (mut cpu, mut memory, mut kept, mut snapshots) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut steps = 0;
        // One store for all rounds, as in normal use.
        let store = SqliteStore::open(&folder.join("store")).expect("a store");
        for round in 0..ROUNDS {
            let in_memory = work(&agent, &tools, &page, None).await;
            let turn = work(&agent, &tools, &page, Some((&store, &format!("bench-{round}")))).await;
            let each = turn.steps as f64;
            memory.push(in_memory.wall / each);
            kept.push(turn.wall / each);
            cpu.push(turn.cpu / each);
            steps += turn.steps;
            for _ in 0..SNAPSHOTS {
                let begun = Instant::now();
                ask(&server, "browser_snapshot", json!({})).await;
                snapshots.push(micros(begun.elapsed()));
            }
        }
        servers.close().await;
        print("steps", steps as f64);
        print("page", page.chars().count() as f64);
        print("snapshots", snapshots.len() as f64);
        print("snapshot", median(snapshots));
        print("cpu", median(cpu));
        print("memory", median(memory));
        print("kept", median(kept));
    });
}

struct Turn {
    /// The number of steps; the same with and without a store.
    steps: usize,
    /// CPU time of the whole process.
    cpu: f64,
    wall: f64,
}

/// One turn of many actions, without the creation of the session.
async fn work(agent: &Agent, tools: &[(String, Value)], page: &str, store: Option<(&SqliteStore, &str)>) -> Turn {
    let mut activities = Activities::new();
    let own = agent.activities.iter().filter(|(_, binding)| binding["operator"] == "record");
    let own: Map<String, Value> = own.map(|(name, binding)| (name.clone(), binding.clone())).collect();
    bind_into(&mut activities, &own, &agent.folder).expect("a good binding");
    let (page, visits) = (page.to_owned(), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&visits);
    activities.register("observe", move |_| {
        // Each page differs, else the agent would be told that nothing changes.
        let text = format!("{page}\n- text: {}", seen.fetch_add(1, Ordering::Relaxed));
        async move { Ok(json!({"about": {"address": "http://shop.example.test/", "elements": LINKS}, "text": text})) }
    });
    activities.register("aim", |_| async {
        let link = json!({"address": "http://shop.example.test/", "role": "link", "name": "Next", "nth": 0,
            "do": {"tool": "browser_click"}});
        Ok(json!({"tool": "look", "params": link}))
    });
    activities.register("look", |_| async { Ok(json!({"address": "http://shop.example.test/", "did": "click"})) });
    for (name, _) in tools {
        activities.register(name.clone(), |_| async { Ok(Value::Null) });
    }
    let mut context = agent.context.to_json();
    let offered: Map<String, Value> = tools.iter().cloned().collect();
    context.as_array_mut().expect("a list").push(json!({"type": "tool", "tool": offered}));
    let mut spec = SessionSpec::from_agent(agent.clone());
    spec.context = Context::from_value(context).expect("a good context");
    spec.settings.mode = Mode::Full;
    let model = Decider { decided: AtomicUsize::new(0) };
    let mut host = Host::builder(Connections::new(activities).with_model(model)).idle_after(None);
    if let Some((store, _)) = store {
        host = host.store(store.shared()).files(store.folder());
    }
    let host = host.build();
    let handle = match store {
        Some((_, id)) => host.create(id, spec).await,
        None => host.create_temporary("bench", spec).await,
    };
    let handle = handle.expect("a good session");
    let (begun, worked) = (Instant::now(), ProcessTime::now());
    handle.say("Walk through the shop").await.expect("it is kept");
    let reply = handle.rested().await.expect("it is kept").expect("a turn");
    let (worked, wall) = (micros(worked.elapsed()), micros(begun.elapsed()));
    assert_eq!(reply.end.as_deref(), Some("done"), "{reply:?}");
    assert!(visits.load(Ordering::Relaxed) >= ACTIONS, "it did not observe");
    // Every step of this graph except the end asks the model or starts a call.
    let is_step = |body: &EventBody| matches!(body, EventBody::ModelAsked { .. } | EventBody::CallBegan { .. });
    let mut events = handle.history(EventNumber::START).expect("it is kept");
    let steps = std::iter::from_fn(|| events.try_next()).filter(|event| is_step(&event.body)).count();
    host.close().await;
    Turn { steps, cpu: worked, wall }
}

/// A model that answers at once.
struct Decider {
    decided: AtomicUsize,
}

impl Model for Decider {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        // Rendering the prompt is part of the measured work.
        let words = render(&prompt, &PromptOptions::default()).expect("words");
        assert!(!words.is_empty());
        let solution = Solution::from_value(self.decide(&prompt)).expect("a good solution");
        Box::pin(async move { Answer::Solution { solution, tokens: 0 } })
    }
}

impl Decider {
    fn decide(&self, prompt: &Prompt) -> Value {
        if prompt.node.as_deref() == Some("plan") {
            let plan = ["Open the shop", "Walk through it", "Answer"];
            return json!({"output": {"goal": "Walk through the shop", "is_new": true, "plan": plan, "step": "observe",
                "words": "", "facts": []}});
        }
        let number = self.decided.fetch_add(1, Ordering::Relaxed);
        let output = |step: &str, facts: Value| {
            let progress = json!({"item": 1, "done": [], "blocked": null});
            json!({"step": step, "words": "On", "progress": progress, "facts": facts})
        };
        match (number, &prompt.observation) {
            (ACTIONS.., _) => json!({"output": output("done", json!([]))}),
            (_, None) => json!({"output": output("observe", json!([]))}),
            _ => {
                let fact = json!([{"fact": format!("shelf {} has been looked at", number % 40)}]);
                json!({"output": output("act", fact),
                    "calls": [{"_tool": "browser.browser_click", "target": "e5", "element": "Next"}]})
            }
        }
    }
}

async fn ask(server: &Server, tool: &str, arguments: Value) -> String {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let brought = server.call(tool, arguments, None).await.expect("the browser answers");
    assert!(!brought.is_error, "{tool}: {:?}", brought.texts);
    brought.texts.concat()
}

/// Serves a page with many links; returns its address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}/", listener.local_addr().expect("it listens"));
    let links: String = (0..LINKS).map(|n| format!("<li><a href=\"/orders/{n}\">Order number {n}</a></li>")).collect();
    let page = format!("<!doctype html><title>Shop</title><h1>Shop</h1><ol>{links}</ol>");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length";
            let _ = write!(stream, "{head}: {}\r\n\r\n{page}", page.len());
        }
    });
    address
}

fn micros(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[expect(clippy::print_stdout, reason = "the figures are what the program is for")]
fn print(name: &str, value: f64) {
    println!("{name} {value:.3}");
}
