//! A Restate server, installed once by npm and started on loopback for the tests of one program.

#![allow(dead_code, reason = "not every test needs everything")]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server's program, installed again if the pins change or the last attempt failed.
pub(crate) fn program() -> PathBuf {
    let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../obelus-restate/tests/common/pins");
    let (folder, guard) = (temporary().join("restate-server"), temporary().join("restate-server.lock"));
    let (mark, lock) =
        (folder.join("installed-pins"), fs::read_to_string(pins.join("package-lock.json")).expect("pins"));
    // Several test programs may install it at once.
    let guard = fs::File::create(guard).expect("a lock");
    guard.lock().expect("the lock");
    if fs::read_to_string(&mark).ok().as_deref() != Some(lock.as_str()) {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for the server");
        for file in ["package.json", "package-lock.json"] {
            fs::copy(pins.join(file), folder.join(file)).expect("the pins");
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(&folder);
        let output = npm.output().unwrap_or_else(|error| panic!("npm does not start: {error}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "the server cannot be installed from the npm registry; is it reachable? {stderr}"
        );
        fs::write(&mark, lock).expect("a mark that it is done");
    }
    let packages = fs::read_dir(folder.join("node_modules/@restatedev")).expect("the packages");
    let programs = packages.filter_map(|package| Some(package.ok()?.path().join("bin/restate-server")));
    programs.into_iter().find(|program| program.is_file()).expect("the server for this machine")
}

/// The folder of cargo for tests, `TARGET/tmp`. It does not name it to examples, which are in
/// `TARGET/PROFILE/examples`.
fn temporary() -> PathBuf {
    let named = option_env!("CARGO_TARGET_TMPDIR").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| {
        let program = std::env::current_exe().expect("this program");
        program.ancestors().nth(3).expect("the target folder").join("tmp")
    });
    fs::create_dir_all(&folder).expect("a folder for tests");
    folder
}

/// Ports that are free now.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    let all: [TcpListener; N] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    all.map(|listener| listener.local_addr().expect("its address").port())
}

/// A server of one node with fresh data.
pub(crate) struct Server {
    child: Child,
    pub(crate) ingress: String,
    pub(crate) admin: String,
    folder: PathBuf,
}

impl Server {
    pub(crate) fn start(name: &str) -> Self {
        let [node, ingress, admin] = free_ports();
        let folder = std::env::temp_dir().join(format!("obelus-restate-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        // The server ends with its parent: its shell waits for the end of the input.
        let script =
            r#""$0" "$@" > "$OBELUS_LOG" 2>&1 & server=$!; cat > /dev/null; kill -9 $server; rm -rf "$OBELUS_DATA""#;
        let child = Command::new("sh")
            .args(["-c", script])
            .arg(program())
            .args(["--node-name", "n1", "--bind-ip", "127.0.0.1", "--listen-mode", "tcp", "--no-logo"])
            .args(["--bind-port", &node.to_string()])
            .arg("--base-dir")
            .arg(folder.join("data"))
            .env("OBELUS_LOG", folder.join("log"))
            .env("OBELUS_DATA", &folder)
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("RESTATE_DEFAULT_NUM_PARTITIONS", "4")
            .env("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "256 MiB")
            .env("RESTATE_INGRESS__BIND_PORT", ingress.to_string())
            .env("RESTATE_ADMIN__BIND_PORT", admin.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let address = |port: u16| format!("http://127.0.0.1:{port}");
        let server = Self { child, ingress: address(ingress), admin: address(admin), folder };
        server.wait();
        server
    }

    /// Waits until the server answers.
    fn wait(&self) {
        let began = Instant::now();
        let health = format!("{}/health", self.admin);
        while !Command::new("curl").args(["-sf", "-o", "/dev/null", &health]).status().expect("curl").success() {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(120), "the server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
