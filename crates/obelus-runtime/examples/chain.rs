//! Runs plans of trivial calls through a session's handle, for the benchmark.
//!
//! `chain N` is a chain of N calls, `fan N` are N independent ones; `history N` puts N messages into the context first
//! and then runs a chain of 1,000. One thread does all the work. Prints the CPU time per call in microseconds; with a
//! second number, the best of that many runs.

use std::hint::black_box;

use cpu_time::ProcessTime;
use obelus_kernel::session::{Mode, Settings, TurnEnd};
use obelus_kernel::{Context, Data, Message};
use obelus_runtime::{Activities, Connections, Host, SessionHandle, SessionSpec};
use serde_json::{Value, json};

/// The same allocator as the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[expect(clippy::print_stdout, reason = "the figure is what the program is for")]
fn main() {
    let mut args = std::env::args().skip(1);
    let shape = args.next().unwrap_or_else(|| "chain".to_owned());
    let mut number = |default: usize| args.next().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (count, repetitions) = (number(1_000), number(1));
    let (calls, history) = match shape.as_str() {
        "chain" | "fan" => (count, 0),
        "history" => (1_000, count),
        other => panic!("unknown shape {other}"),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let host = Host::new(connections());
    let run = |_| {
        let spec = spec(plan(calls, shape == "fan"), calls, history);
        let handle = runtime.block_on(host.create_temporary("bench", spec)).expect("a good session");
        let began = ProcessTime::now();
        let ends = counted_work(&runtime, &handle);
        let took = began.elapsed();
        assert_eq!(ends, TurnEnd::Output);
        took.as_secs_f64() * 1e6 / calls as f64
    };
    let best = (0..repetitions).map(run).fold(f64::INFINITY, f64::min);
    println!("{best:.3}");
}

/// The measured work, in a function that profilers find by its name.
#[inline(never)]
fn counted_work(runtime: &tokio::runtime::Runtime, handle: &SessionHandle) -> TurnEnd {
    let reply = runtime.block_on(async {
        handle.run_plan().await.expect("there is a plan");
        handle.rested().await.expect("nothing fails").expect("it has begun")
    });
    black_box(reply).ends
}

fn plan(calls: usize, independent: bool) -> Value {
    let call = |i: usize| match (i, independent) {
        (0, _) | (_, true) => json!({"_tool": "next", "n": i, "_outputPath": format!("†state.v{i}")}),
        _ => json!({"_tool": "next", "n": format!("†state.v{}", i - 1), "_outputPath": format!("†state.v{i}")}),
    };
    (0..calls).map(call).collect()
}

fn connections() -> Connections {
    let mut activities = Activities::new();
    activities.register("next", |work| async move { Ok(json!(work.call["n"].as_i64().unwrap_or(0) + 1)) });
    Connections::new(activities)
}

fn spec(plan: Value, calls: usize, history: usize) -> SessionSpec {
    let mut context = Context::from_value(json!([
        {"type": "tool", "tool": {"next": {"type": "object", "properties": {"n": {"type": "integer"}}, "x-effect": "read"}}},
        {"type": "plan", "plan": plan},
    ]))
    .expect("a good context");
    for i in 0..history {
        let data = Data::plain("log", json!({format!("k{}", i % 50): i}));
        context.append(vec![Message::Data(Box::new(data))]).expect("a good message");
    }
    let max_calls = u32::try_from(calls).expect("not that many");
    let settings = Settings { mode: Mode::Full, max_calls, ..Settings::default() };
    SessionSpec { context, settings, ..SessionSpec::default() }
}
