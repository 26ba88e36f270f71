//! A server under load over HTTP from a second process: its CPU time per turn compared with `langgraph dev` in the
//! same run, turns per second compared with the limit of the store, and the memory of streams and idle sessions.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Figures;
use crate::step::{cargo, root, step, target};

/// The peer, as `pip` installs it.
const LANGGRAPH: &str = "langgraph-cli[inmem]==0.4.40";
const SESSIONS: &str = "64";
/// Turns of each session.
const TURNS: &str = "40";
const LANGGRAPH_TURNS: &str = "5";
const STREAMS: &str = "4000";
/// Idle sessions: 20,000, created in parts.
const IDLE_PART: &str = "4000";
const IDLE_PARTS: usize = 5;
/// The largest permitted share of LangGraph's CPU time for a turn.
const MAX_SHARE: f64 = 1.0 / 25.0;
/// The limit of memory that resting sessions in the store cost a started server, in KiB.
const MAX_IDLE: f64 = 20.0 * 1024.0;

/// A server, killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prints the table; returns whether the targets are met.
pub(super) fn measure() -> Result<bool> {
    let build = ["build", "--release", "--quiet", "--workspace", "--bin", "obelus", "--example", "durable"];
    step("building `obelus` and `durable`", &mut cargo(&build))?;
    let folder = target()?.join("bench-serve");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let durable = |arguments: &[&str]| durable(&folder, arguments);
    let limit = durable(&["many"])?;
    let turns = {
        let server = serve(&folder.join("turns"))?;
        load(&["turns", "obelus", &server.1, &server.2, &server.0.0.id().to_string(), SESSIONS, TURNS])?
    };
    let theirs = langgraph(&folder)?;
    let streams = {
        let server = serve(&folder.join("streams"))?;
        load(&["streams", &server.1, &server.2, &server.0.0.id().to_string(), "16", STREAMS])?
    };
    let empty = resident(&serve(&folder.join("empty"))?.0)?;
    // Sessions stay in memory for a while, so a server is filled in parts.
    let idle = folder.join("idle");
    for _ in 0..IDLE_PARTS {
        let server = serve(&idle)?;
        load(&["fill", &server.1, &server.2, IDLE_PART])?;
        end(server.0)?;
    }
    let filled = resident(&serve(&idle)?.0)?;
    std::fs::remove_dir_all(&folder)?;
    Ok(print(&turns, theirs.as_ref(), &limit, &streams, filled - empty))
}

#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn print(turns: &Figures, theirs: Option<&Figures>, limit: &Figures, streams: &Figures, idle: f64) -> bool {
    let row = |what: &str, this: String, beside: String, target: &str| {
        println!("{what:44} {this:>12} {beside:>14} {target:>10}");
    };
    let none = String::new;
    println!("{SESSIONS} sessions over HTTP, durable, playbook model");
    row("", "obelus".to_owned(), "beside".to_owned(), "target");
    let share = theirs.map(|theirs| turns["cpu_us"] / theirs["cpu_us"]);
    let cpu = theirs.map_or_else(|| "not measured".to_owned(), |theirs| format!("{:.0}", theirs["cpu_us"]));
    row("CPU of a turn, µs; langgraph dev", format!("{:.0}", turns["cpu_us"]), cpu, "");
    row("  share", none(), share.map_or_else(none, |share| format!("1/{:.1}", 1.0 / share)), "≤ 1/25");
    row(
        "turns a second; steps of the store alone",
        format!("{:.0}", turns["rate"]),
        format!("{:.0}", limit["rate"]),
        "",
    );
    row("median of a turn, ms", format!("{:.1}", turns["median_ms"]), none(), "");
    row("p99 of a turn, ms", format!("{:.1}", turns["p99_ms"]), none(), "");
    if let Some(theirs) = theirs {
        row(
            "  langgraph dev: turns a second, p99",
            format!("{:.0}", theirs["rate"]),
            format!("{:.0}", theirs["p99_ms"]),
            "",
        );
    }
    row("open streams; KiB of each", STREAMS.to_owned(), format!("{:.1}", streams["stream_kib"]), "");
    row("  after an event to each, KiB", none(), format!("{:.1}", streams["stream_kib_after"]), "");
    row("KiB for 20,000 idle sessions in the store", format!("{idle:.0}"), none(), "≤ 20480");
    share.is_some_and(|share| share <= MAX_SHARE) && idle <= MAX_IDLE
}

/// Starts `obelus serve`; returns the process, its address and its token.
fn serve(store: &Path) -> Result<(Running, String, String)> {
    let mut command = Command::new(target()?.join("release/obelus"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--rate", "1000000", "--streams", "10000", "--store"]);
    let mut child = command.arg(store).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("obelus serve")?;
    let mut address = String::new();
    BufReader::new(child.stdout.take().context("its output")?).read_line(&mut address)?;
    let token = std::fs::read_to_string(store.join("token"))?.trim().to_owned();
    Ok((Running(child), address.trim().to_owned(), token))
}

/// Ends a server in an orderly way, so that its sessions are checkpointed.
fn end(mut server: Running) -> Result<()> {
    Command::new("kill").arg(server.0.id().to_string()).status().context("kill")?;
    server.0.wait()?;
    Ok(())
}

/// Runs the load in a separate process.
fn load(arguments: &[&str]) -> Result<Figures> {
    // The client needs as many open files as the server.
    let script = root().join("bench/serve_load.py");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n $(ulimit -Hn); exec python3 \"$@\"", "sh"]).arg(script).args(arguments);
    let output = shell.output().context("python3")?;
    if !output.status.success() {
        bail!("serve_load.py {}:\n{}", arguments[0], String::from_utf8_lossy(&output.stderr));
    }
    Ok(super::figures_of(&String::from_utf8(output.stdout)?))
}

fn durable(folder: &Path, arguments: &[&str]) -> Result<Figures> {
    let (figure, rest) = arguments.split_first().context("a figure")?;
    let program = target()?.join("release/examples/durable");
    let output =
        Command::new(program).arg(figure).arg(folder).args(rest).output().context("`durable` cannot be run")?;
    if !output.status.success() {
        bail!("`durable {figure}` failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(super::figures_of(&String::from_utf8(output.stdout)?))
}

/// The memory of an idle process, in KiB.
fn resident(server: &Running) -> Result<f64> {
    std::thread::sleep(Duration::from_secs(3));
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.0.id()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// The same turns by `langgraph dev`; none if it cannot be installed.
fn langgraph(folder: &Path) -> Result<Option<Figures>> {
    let Some(program) = installed()? else { return Ok(None) };
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
    load(&["turns", "langgraph", &address, "none", &server.0.id().to_string(), SESSIONS, LANGGRAPH_TURNS]).map(Some)
}

/// The program `langgraph` in a Python environment below the target folder.
fn installed() -> Result<Option<PathBuf>> {
    let folder = target()?.join("bench-langgraph");
    let (program, mark) = (folder.join("bin/langgraph"), folder.join("installed"));
    if std::fs::read_to_string(&mark).is_ok_and(|version| version == LANGGRAPH) {
        return Ok(Some(program));
    }
    let python = folder.join("bin/python");
    let made = step("a Python environment for LangGraph", Command::new("python3").args(["-m", "venv"]).arg(&folder));
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", LANGGRAPH]);
    if made.and_then(|()| step("installing LangGraph's server", &mut pip)).is_err() {
        return Ok(None);
    }
    std::fs::write(mark, LANGGRAPH)?;
    Ok(Some(program))
}
