//! `obelus serve` with unmodified third-party clients: LangGraph's for Python and JavaScript, OpenAI's, MCP's; and with
//! schemathesis, which calls every operation of the API description.
//!
//! The clients are installed once from their registries into the target folder; their versions are pinned beside the
//! scripts. Without access to the registries these tests fail with a message.

#[path = "../../../obelus-sandbox/tests/sdk/libraries.rs"]
mod libraries;
mod schema;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use libraries::run;

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(name)
}

/// A Python environment with the packages of a requirements file.
fn environment(name: &str, pins: &str) -> PathBuf {
    libraries::python(&folder(name), &scripts().join(pins))
}

/// The environment of the clients, made once for all tests.
static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| environment("python", "requirements.txt"));

fn node_modules() -> PathBuf {
    libraries::node_modules(&folder("node"), &scripts());
    folder("node")
}

/// A server with a new store, killed on drop.
struct Server {
    child: Child,
    address: String,
    store: PathBuf,
}

impl Server {
    fn start(name: &str) -> Self {
        let store = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clients-store-{name}"));
        let _ = fs::remove_dir_all(&store);
        // For its owner only, as the program makes it.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&store).expect("a folder");
        let (child, address) = spawn(&store);
        Self { child, address, store }
    }

    /// Kills the server and starts another one with the same store.
    fn restart(&mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it has ended");
        (self.child, self.address) = spawn(&self.store);
    }

    /// A token of this role.
    fn token(&self, role: &str) -> String {
        let mut add = Command::new(env!("CARGO_BIN_EXE_obelus"));
        add.args(["tokens", "add", role, "--role", role, "--store"]).arg(&self.store);
        let output = add.output().expect("a token");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a text").trim().to_owned()
    }

    /// Runs a client's script against this server.
    fn check(&self, mut program: Command, script: &str) {
        program.arg(script).env("ADDRESS", &self.address);
        for role in ["viewer", "operator", "admin"] {
            program.env(role.to_uppercase(), self.token(role));
        }
        run(script, &mut program);
    }
}

/// Starts a server; returns its address.
fn spawn(store: &Path) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_obelus"))
        .args(["serve", "--listen", "127.0.0.1:0", "--agents"])
        .arg(scripts().join("agents"))
        .arg("--store")
        .arg(store)
        .current_dir(store)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the server starts");
    let mut address = String::new();
    let stdout = child.stdout.take().expect("its output");
    BufReader::new(stdout).read_line(&mut address).expect("its address");
    (child, address.trim().to_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn python(script: &str) {
    Server::start(script).check(Command::new(&*PYTHON), scripts().join(script).to_str().expect("a path"));
}

#[test]
fn langgraphs_python_client_talks_to_an_agent() {
    python("langgraph_client.py");
}

#[test]
fn langgraphs_client_continues_after_the_server_was_killed() {
    let mut server = Server::start("restart");
    let (script, admin) = (scripts().join("langgraph_restart.py"), server.token("admin"));
    let run_phase = |server: &Server, phase: &str| {
        let mut program = Command::new(&*PYTHON);
        program.arg(&script).arg(phase).arg(server.store.with_extension("seen.json"));
        run(phase, program.env("ADDRESS", &server.address).env("ADMIN", &admin));
    };
    run_phase(&server, "before");
    server.restart();
    run_phase(&server, "after");
}

#[test]
fn langgraphs_javascript_client_talks_to_an_agent() {
    let folder = node_modules();
    // Node looks for modules beside the script.
    let script = folder.join("langgraph_client.mjs");
    fs::copy(scripts().join("langgraph_client.mjs"), &script).expect("the script");
    Server::start("node").check(Command::new("node"), script.to_str().expect("a path"));
}

#[test]
fn openais_client_talks_to_an_agent() {
    python("openai_client.py");
}

#[test]
fn mcps_client_talks_to_an_agent_with_both_revisions() {
    python("mcp_client.py");
}

#[test]
fn the_examples_of_the_document_on_compatibility_run() {
    python("document_examples.py");
}
