//! A server under load over HTTP from a second process: its CPU time for a turn beside that of `langgraph dev` in the
//! same run; the memory of streams and of idle sessions.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::langgraph::LangGraph;
use super::row::{BenchRow, Goal};
use super::{BenchRun, Figures};
use crate::step::{root, target};

const SESSIONS: &str = "64";
/// Turns of each session.
const TURNS: &str = "40";
const LANGGRAPH_TURNS: &str = "5";
/// Open streams, and sessions of the store; with `--quick` fewer.
const STREAMS: [usize; 2] = [4000, 400];
const IDLE: [usize; 2] = [20_000, 1000];
/// Sessions are created in parts of this size, each by a new server.
const IDLE_PART: usize = 4000;
/// Sessions of the store beside it.
const FEW: usize = 10;
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

pub(super) fn rows(run: &BenchRun) -> Result<Vec<BenchRow>> {
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
    rows.extend(streams(run, &folder)?);
    rows.extend(idle_sessions(run, &folder)?);
    Ok(rows)
}

fn row(name: &str, unit: &'static str, ours: f64, peer: Option<f64>, goal: Goal) -> BenchRow {
    BenchRow { name: name.to_owned(), unit, ours, beside: "langgraph dev, in memory".to_owned(), peer, goal }
}

/// The memory of open streams. LangGraph has no comparable figures.
fn streams(run: &BenchRun, folder: &Path) -> Result<Vec<BenchRow>> {
    let count = STREAMS[usize::from(run.quick)];
    run.say(&format!("{count} open streams"));
    let server = serve(&folder.join("streams"))?;
    let figures = load(&["streams", &server.1, &server.2, &server.0.0.id().to_string(), "16", &count.to_string()])?;
    let name = format!("an open stream of {count}, after an event");
    let (after, before) = (figures["stream_kib_after"], figures["stream_kib"]);
    Ok(vec![beside(&name, "KiB", after, "before it", before, Goal::Shown)])
}

/// A server that was started on a store of many sessions, beside one on a store of few: its memory, and the first page
/// of its list.
fn idle_sessions(run: &BenchRun, folder: &Path) -> Result<Vec<BenchRow>> {
    let count = IDLE[usize::from(run.quick)];
    run.say(&format!("{count} idle sessions"));
    let (few, many) = (started(&folder.join("few"), FEW)?, started(&folder.join("idle"), count)?);
    let others = format!("with {FEW}");
    let name = format!("a server started on {count} idle sessions");
    let most = Goal::Most(few.memory + MAX_IDLE);
    Ok(vec![
        beside(&name, "KiB", many.memory, &others, few.memory, most),
        beside("  the first page of its list", "ms", many.page_ms, &others, few.page_ms, Goal::Shown),
        beside("  sessions restored for it", "sessions", many.restored, &others, few.restored, Goal::Most(0.0)),
    ])
}

/// What was measured of a server after its start.
struct Started {
    /// In KiB.
    memory: f64,
    /// The median for the first page of the list.
    page_ms: f64,
    /// Sessions that were restored for these pages.
    restored: f64,
}

/// Fills a store with idle sessions, and starts a server on it.
fn started(store: &Path, sessions: usize) -> Result<Started> {
    // Used sessions stay in memory for a while, so each part has a new server.
    for part in parts(sessions) {
        let server = serve(store)?;
        load(&["fill", &server.1, &server.2, &part.to_string()])?;
        end(server.0)?;
    }
    let server = serve(store)?;
    let memory = resident(&server.0)?;
    let list = load(&["list", &server.1, &server.2])?;
    Ok(Started { memory, page_ms: list["page_ms"], restored: list["restored"] })
}

/// The sizes of the parts in which sessions are created.
fn parts(sessions: usize) -> Vec<usize> {
    let whole = std::iter::repeat_n(IDLE_PART, sessions / IDLE_PART);
    whole.chain(Some(sessions % IDLE_PART).filter(|rest| *rest > 0)).collect()
}

/// A row beside another figure of ours.
fn beside(name: &str, unit: &'static str, ours: f64, other: &str, peer: f64, goal: Goal) -> BenchRow {
    BenchRow { name: name.to_owned(), unit, ours, beside: format!("Obelus, {other}"), peer: Some(peer), goal }
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
    resident_in(&text)
}

/// The memory in the text of `/proc/PID/status`, in KiB.
fn resident_in(text: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    line.trim().trim_end_matches(" kB").parse().context("VmRSS")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_status_of_a_process() {
        let status = "Name:\tobelus\nVmHWM:\t   52000 kB\nVmRSS:\t   41234 kB\nThreads:\t4\n";
        assert_eq!(resident_in(status).unwrap(), 41_234.0);
        assert!(resident_in("Name:\tobelus\n").is_err() && resident_in("VmRSS:\tmuch\n").is_err());
    }

    #[test]
    fn sessions_are_created_in_parts() {
        assert_eq!(parts(20_000), [4000; 5]);
        assert_eq!((parts(1000), parts(4001), parts(0)), (vec![1000], vec![4000, 1], vec![]));
    }
}
