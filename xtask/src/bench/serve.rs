//! A server under load over HTTP from a second process: its CPU time for a turn beside that of `langgraph dev` in the
//! same run; the memory of streams and of idle sessions.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::langgraph::LangGraph;
use super::row::{Goal, Row};
use super::{Figures, Run};
use crate::step::{root, target};

const SESSIONS: &str = "64";
/// Turns of each session.
const TURNS: &str = "40";
const LANGGRAPH_TURNS: &str = "5";
const STREAMS: &str = "4000";
/// Idle sessions: 20,000, created in parts.
const IDLE_PART: &str = "4000";
const IDLE_PARTS: usize = 5;
/// The goal: a turn of LangGraph's server takes this many times as much CPU time.
const TIMES_LESS: f64 = 25.0;
/// The goal: the most memory for idle sessions of a store after a server's start, in KiB.
const MAX_IDLE: f64 = 20.0 * 1024.0;

/// A server process. It is killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn rows(run: &Run) -> Result<Vec<Row>> {
    let folder = PathBuf::from(run.folder("serve")?);
    run.say(&format!("{SESSIONS} sessions over HTTP"));
    let turns = {
        let server = serve(&folder.join("turns"))?;
        load(&["turns", "obelus", &server.1, &server.2, &server.0.0.id().to_string(), SESSIONS, TURNS])?
    };
    run.say("the same by `langgraph dev`");
    let theirs = langgraph(&folder)?;
    let mut rows = vec![
        row(
            "a turn over HTTP, 64 sessions",
            "µs CPU",
            turns["cpu_us"],
            Some(theirs["cpu_us"]),
            Goal::Ratio(TIMES_LESS),
        ),
        row("  median", "ms", turns["median_ms"], Some(theirs["median_ms"]), Goal::Shown),
        row("  99th percentile", "ms", turns["p99_ms"], Some(theirs["p99_ms"]), Goal::Shown),
    ];
    if !run.quick {
        rows.extend(memory(run, &folder)?);
    }
    Ok(rows)
}

fn row(name: &str, unit: &'static str, ours: f64, peer: Option<f64>, goal: Goal) -> Row {
    Row { name: name.to_owned(), unit, ours, beside: "langgraph dev, in memory".to_owned(), peer, goal }
}

/// The memory of open streams and of idle sessions. LangGraph has no comparable figures.
fn memory(run: &Run, folder: &Path) -> Result<Vec<Row>> {
    run.say(&format!("{STREAMS} open streams"));
    let streams = {
        let server = serve(&folder.join("streams"))?;
        load(&["streams", &server.1, &server.2, &server.0.0.id().to_string(), "16", STREAMS])?
    };
    run.say("20,000 idle sessions");
    let empty = resident(&serve(&folder.join("empty"))?.0)?;
    // Used sessions stay in memory for a while, so each part has a new server.
    let idle = folder.join("idle");
    for _ in 0..IDLE_PARTS {
        let server = serve(&idle)?;
        load(&["fill", &server.1, &server.2, IDLE_PART])?;
        end(server.0)?;
    }
    let filled = resident(&serve(&idle)?.0)?;
    let row = |name: &str, ours, beside: &str, peer, goal| Row {
        name: name.to_owned(),
        unit: "KiB",
        ours,
        beside: format!("Obelus, {beside}"),
        peer: Some(peer),
        goal,
    };
    let stream = streams["stream_kib"];
    Ok(vec![
        row("an open stream after an event", streams["stream_kib_after"], "before it", stream, Goal::Shown),
        row("a server with 20,000 idle sessions", filled, "none", empty, Goal::Most(empty + MAX_IDLE)),
    ])
}

/// Starts `obelus serve`: the process, its address, its token.
fn serve(store: &Path) -> Result<(Running, String, String)> {
    let mut command = Command::new(target()?.join("release/obelus"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--rate", "1000000", "--streams", "10000", "--store"]);
    let mut child = command.arg(store).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("obelus serve")?;
    let mut address = String::new();
    BufReader::new(child.stdout.take().context("its output")?).read_line(&mut address)?;
    let token = std::fs::read_to_string(store.join("token"))?.trim().to_owned();
    Ok((Running(child), address.trim().to_owned(), token))
}

/// Ends a server by a signal, so that it stores its sessions.
fn end(mut server: Running) -> Result<()> {
    Command::new("kill").arg(server.0.id().to_string()).status().context("kill")?;
    server.0.wait()?;
    Ok(())
}

/// Runs the load in a separate process.
fn load(arguments: &[&str]) -> Result<Figures> {
    // The client needs as many file descriptors as the server.
    let script = root().join("bench/serve_load.py");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n $(ulimit -Hn); exec python3 \"$@\"", "sh"]).arg(script).args(arguments);
    super::figures(&mut shell)
}

/// The memory of an idle process, in KiB.
fn resident(server: &Running) -> Result<f64> {
    std::thread::sleep(Duration::from_secs(3));
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.0.id()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// The same turns with `langgraph dev`.
fn langgraph(folder: &Path) -> Result<Figures> {
    let program = LangGraph::installed()?.program("langgraph");
    let here = folder.join("langgraph");
    std::fs::create_dir_all(&here)?;
    std::fs::copy(root().join("bench/langgraph_server.py"), here.join("graph.py"))?;
    std::fs::write(here.join("langgraph.json"), r#"{"dependencies": ["."], "graphs": {"agent": "./graph.py:graph"}}"#)?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    let mut command = Command::new(program);
    command.args(["dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", SESSIONS, "--port", &port]);
    command.current_dir(&here).env("LANGSMITH_TRACING", "false").env("LANGGRAPH_CLI_NO_ANALYTICS", "1");
    let server = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("langgraph dev")?);
    let begun = Instant::now();
    while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        if begun.elapsed() > Duration::from_secs(180) {
            bail!("langgraph dev does not start");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let address = format!("http://127.0.0.1:{port}");
    load(&["turns", "langgraph", &address, "none", &server.0.id().to_string(), SESSIONS, LANGGRAPH_TURNS])
}
