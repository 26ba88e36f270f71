//! Arguments for the engine of sessions: this process and its store, or a Restate cluster and its workers.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The engine of the sessions.
#[derive(Args, Clone)]
pub(crate) struct EngineArgs {
    /// Where sessions are stored and run: in this process with its store, or in a Restate cluster with its workers.
    #[arg(long, value_enum, default_value = "embedded", value_name = "E")]
    pub(crate) engine: EngineName,
    /// The ingress of the Restate cluster, such as http://10.0.0.1:8080; those of several nodes separated by commas.
    #[arg(long, value_name = "URL", required_if_eq("engine", "restate"))]
    pub(crate) restate: Option<String>,
    /// The admin API of the cluster. By default port 9070 of the ingress.
    #[arg(long, value_name = "URL", requires = "restate")]
    pub(crate) restate_admin: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// This process, with the store on its disk.
    Embedded,
    /// A Restate cluster.
    Restate,
}

/// Run the sessions of a Restate cluster.
///
/// Any number of workers may run, on any number of machines. A worker registers with the cluster. On SIGTERM or Ctrl-C its
/// running work has ten seconds; the rest continues in another worker. Agents must be at the same paths on all machines, or
/// below --agents.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus worker --engine restate --restate http://127.0.0.1:8080
  obelus worker --engine restate --restate http://n1:8080,http://n2:8080 --listen 0.0.0.0:9080 --advertise http://workers:9080
  obelus serve --engine restate --restate http://127.0.0.1:8080        the HTTP API in front")]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// The address at which the cluster reaches the worker. Workers of one machine may share it. Anyone who reaches it can
    /// start calls, so keep it in a private network.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9080")]
    pub(crate) listen: SocketAddr,
    /// The address under which the cluster knows the worker, such as that of a load balancer. By default that of --listen,
    /// which must then be the address of one interface.
    #[arg(long, value_name = "URL")]
    pub(crate) advertise: Option<String>,
    /// Take new work even if workers at another address registered later. Use it to go back to an earlier version.
    #[arg(long)]
    pub(crate) newest: bool,
    /// A folder with agents, for sessions whose own path does not exist here.
    #[arg(long, value_name = "DIR")]
    pub(crate) agents: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: super::StoreArgs,
}
