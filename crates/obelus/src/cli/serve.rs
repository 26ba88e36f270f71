//! `obelus serve` and `obelus tokens`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::StoreArgs;

/// Serve agents over HTTP.
///
/// The API is below /api/v1, its description at /api/openapi.json, a page to try it at /api/. Every call needs a token.
/// The first start writes one to a file in the store's folder that only you can read; `obelus tokens` makes others.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus serve
  obelus serve --listen 127.0.0.1:9000 --store ./store --agents ./agents
  obelus serve --host agents.example.test          behind a reverse proxy of this name
  obelus serve --telegram telegram.yaml            and a Telegram bot
  curl -H \"Authorization: Bearer $(cat ./store/token)\" http://127.0.0.1:9000/api/v1/agents")]
pub(crate) struct Serve {
    /// The address to listen at. One that other machines can reach needs --public.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8321")]
    pub(crate) listen: SocketAddr,
    /// Permit an address that other machines can reach.
    #[arg(long)]
    pub(crate) public: bool,
    /// A folder with agents, in addition to the bundled ones. May be given several times; by default `agents` here and
    /// the folders in OBELUS_AGENTS.
    #[arg(long, value_name = "DIR")]
    pub(crate) agents: Vec<PathBuf>,
    /// The file for the first token. By default `token` in the store's folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another name under which the server is reached, such as that of a reverse proxy. May be given several times.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// A page of another origin that may call the server, such as https://console.example.test. May be given several
    /// times.
    #[arg(long = "origin", value_name = "ORIGIN")]
    pub(crate) origins: Vec<String>,
    /// Run the Telegram bot of this file: `{token_file, allow, agent, lang, api}`.
    #[arg(long, value_name = "FILE")]
    pub(crate) telegram: Option<PathBuf>,
    /// Send traces to this OpenTelemetry collector, by OTLP over HTTP: http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Include messages, parameters and results in traces.
    #[arg(long, requires = "otlp")]
    pub(crate) otlp_content: bool,
    /// The most requests per second of one token.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) rate: u32,
    /// The most open streams of one token.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) streams: usize,
    /// Seconds that running work has to finish when the server stops. Longer work continues at the next start.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u64,
    #[cfg(feature = "restate")]
    #[command(flatten)]
    pub(crate) engine: super::EngineArgs,
    /// Milliseconds that the head of a request, its body, and a client that reads nothing may take. For tests.
    #[arg(long, value_name = "MS", hide = true)]
    pub(crate) head_timeout: Option<u64>,
    #[arg(long, value_name = "MS", hide = true)]
    pub(crate) body_timeout: Option<u64>,
    #[arg(long, value_name = "MS", hide = true)]
    pub(crate) unread_timeout: Option<u64>,
    /// Print the description of the API as JSON, and end.
    #[arg(long, hide = true)]
    pub(crate) openapi: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Tokens for `obelus serve`.
#[derive(Subcommand)]
pub(crate) enum TokensCommand {
    /// Make a token. It is printed once.
    #[command(after_help = "Example:\n  obelus tokens add anna --role operator --store work")]
    Add {
        /// The name of its owner. Journals store it with each answer.
        name: String,
        /// What it permits.
        #[arg(long, value_enum, default_value = "operator")]
        role: RoleName,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List the tokens.
    #[command(after_help = "Example:\n  obelus tokens list --store work")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Remove a token. A running server refuses it from now on.
    #[command(after_help = "Example:\n  obelus tokens rm anna --store work")]
    Rm {
        /// Its name.
        name: String,
        #[command(flatten)]
        store: StoreArgs,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum RoleName {
    /// Reads only.
    Viewer,
    /// Also sends messages and answers questions.
    Operator,
    /// Also removes sessions and edits their states.
    Admin,
}
