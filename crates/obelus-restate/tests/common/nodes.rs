//! Nodes of a Restate cluster and workers, as processes that a test can kill.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::server::{free_ports, program};

/// A process that is killed on drop.
pub(crate) struct Process {
    command: Box<dyn Fn() -> Command + Send>,
    child: Child,
}

impl Process {
    pub(crate) fn start(command: impl Fn() -> Command + Send + 'static) -> Self {
        let child = command().stdin(Stdio::null()).spawn().expect("it starts");
        Self { command: Box::new(command), child }
    }

    /// Kills the process, as `kill -9` does, and starts it again.
    pub(crate) fn kill_and_restart(&mut self) {
        self.kill();
        self.child = (self.command)().stdin(Stdio::null()).spawn().expect("it starts again");
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The nodes of one cluster. Data is stored on two of them, if there are as many.
pub(crate) struct Nodes {
    pub(crate) all: Vec<Process>,
    pub(crate) ingress: String,
    pub(crate) admin: String,
}

impl Nodes {
    pub(crate) fn start(folder: &Path, count: usize) -> Self {
        let ports: Vec<[u16; 3]> = (0..count).map(|_| free_ports()).collect();
        let addresses: Vec<String> = ports.iter().map(|[node, ..]| format!("\"http://127.0.0.1:{node}\"")).collect();
        let addresses = format!("[{}]", addresses.join(","));
        let node = |index: usize| {
            let ([node, ingress, admin], addresses) = (ports[index], addresses.clone());
            let (program, data) = (program(), folder.join(format!("n{index}")));
            let log = folder.join(format!("n{index}.log"));
            Process::start(move || {
                let log = File::options().create(true).append(true).open(&log).expect("a log");
                let mut command = Command::new(&program);
                command
                    .args(["--bind-ip", "127.0.0.1", "--listen-mode", "tcp", "--no-logo", "--node-name"])
                    .arg(format!("n{index}"))
                    .args(["--bind-port", &node.to_string(), "--base-dir"])
                    .arg(&data)
                    .env("RESTATE_DISABLE_TELEMETRY", "true")
                    .env("RESTATE_CLUSTER_NAME", "obelus-test")
                    .env("RESTATE_AUTO_PROVISION", if index == 0 { "true" } else { "false" })
                    .env("RESTATE_DEFAULT_REPLICATION", count.min(2).to_string())
                    .env("RESTATE_DEFAULT_NUM_PARTITIONS", "4")
                    .env("RESTATE_METADATA_CLIENT__ADDRESSES", &addresses)
                    .env("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "256 MiB")
                    .env("RESTATE_INGRESS__BIND_PORT", ingress.to_string())
                    .env("RESTATE_ADMIN__BIND_PORT", admin.to_string())
                    .stdout(log.try_clone().expect("a log"))
                    .stderr(log);
                command
            })
        };
        let all = (0..count).map(node).collect();
        let addresses = |place: usize| {
            let of = |ports: &[u16; 3]| format!("http://127.0.0.1:{}", ports[place]);
            ports.iter().map(of).collect::<Vec<_>>().join(",")
        };
        Self { all, ingress: addresses(1), admin: addresses(2) }
    }
}

/// An empty folder for the data of a test.
pub(crate) fn fresh_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}
