//! Arguments of `agents` and `policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Format, ModeArg, StoreArgs};

/// List, show and check agents. An agent is a folder with an `agent.yaml`.
#[derive(Subcommand)]
pub(crate) enum Agents {
    /// List the agents in the folder `agents`, in the folders in OBELUS_AGENTS, and the bundled ones.
    #[command(after_help = "Example:\n  OBELUS_AGENTS=~/agents obelus agents list")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show an agent: its tools, settings and graph.
    #[command(after_help = "Example:\n  obelus agents show agents/notes")]
    Show {
        /// A name, a folder or a file.
        agent: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Copy a bundled agent into a folder, to change it.
    #[command(
        after_help = "Examples:\n  obelus agents copy crm              makes agents/crm, which hides the bundled one\n  \
        obelus agents copy crm --as sales   makes agents/sales"
    )]
    Copy {
        /// The name of a bundled agent.
        agent: String,
        /// The name of the copy. By default that of the agent.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// The folder of agents.
        #[arg(long = "in", value_name = "DIR", default_value = "agents")]
        folder: PathBuf,
    },
    /// Check agents' files and print every error with its line and column.
    #[command(after_help = "Example:\n  obelus agents check agents/notes")]
    Check {
        /// Names, folders or files; all agents if none is given.
        agents: Vec<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Draw an agent's graph of steps.
    #[command(after_help = "Example:\n  obelus agents graph agents/notes --format svg > notes.svg")]
    Graph {
        /// A name, a folder or a file.
        agent: String,
        /// The format of the drawing.
        #[arg(long, value_enum, default_value = "mermaid")]
        format: Format,
    },
    /// Print the prompt that the model would get.
    #[command(after_help = "Example:\n  obelus agents prompt agents/notes --say 'What did we decide?'\n  \
        obelus agents prompt crm --say Hello --say 'And now?' --stats")]
    Prompt {
        /// A name, a folder or a file.
        agent: String,
        /// The user's message. Given several times: one message after the other, each answered with a word.
        #[arg(long, value_name = "TEXT", default_value = "")]
        say: Vec<String>,
        /// Print how many characters each request has, and the share that was a prefix of the one before.
        #[arg(long)]
        stats: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    Login(Login),
    Pin(Pin),
}

/// Show the tools of MCP servers, and pin their definitions.
///
/// Names, descriptions and schemas of a server's tools steer the model. Until you pin them they count as untrusted, and
/// more calls need your approval. The digests are written to `mcp.lock` in the agent's folder, or beside the file of
/// `--mcp`. Without a terminal, nothing is written without `--yes`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus agents pin agents/notes
  obelus agents pin agents/notes --check      # exit 1 if something is new or has changed
  obelus agents pin notes --mcp servers.yaml --yes")]
pub(crate) struct Pin {
    /// A name, a folder or a file.
    pub(crate) agent: String,
    /// A file with MCP servers, which replace the agent's.
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp: Option<PathBuf>,
    /// Only print what is pinned; exit 1 if something is not.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) check: bool,
    /// Pin without asking.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Log in to an MCP server of an agent.
///
/// Prints the address for the login and waits for the browser to return to this machine. The command opens no browser.
/// The token is saved in the store, in `tokens/`, for this agent and this server's address only, and renewed when it
/// expires.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus agents login agents/notes calendar
  obelus agents login notes calendar --port 8765      # if the client is registered with this port
  obelus agents login notes tracker --mcp servers.yaml")]
pub(crate) struct Login {
    /// A name, a folder or a file.
    pub(crate) agent: String,
    /// The server's name in the section `mcp`.
    pub(crate) server: String,
    /// A file with MCP servers, which replace the agent's.
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp: Option<PathBuf>,
    /// The port on 127.0.0.1 for the browser to return to; by default any free one.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Explain an agent's policy.
#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    Explain(Explain),
}

/// Print the verdict on a call, with the rules that gave it and their reasons.
///
/// The file has a call as the model would propose it. It may also say where the values come from: `_from`, a list of
/// labels for all parameters, or an object with a list for each path; and `_shown`, the labels of what the model had
/// been shown before. Nothing runs. Exit 1 if the call is faulty.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus policy explain agents/notes call.json
  obelus policy explain notes call.json --mode canary --json | jq -r .verdict
  echo '{\"_tool\": \"pay\", \"to\": \"x\", \"_from\": {\"to\": [\"untrusted:read_mail\"]}}' | obelus policy explain bank -")]
pub(crate) struct Explain {
    /// A name, a folder or a file.
    pub(crate) agent: String,
    /// A call in JSON or YAML; `-` is stdin.
    #[arg(value_name = "CALL.json")]
    pub(crate) call: PathBuf,
    /// Judge the call in this mode instead of the agent's.
    #[arg(long, value_enum, value_name = "M")]
    pub(crate) mode: Option<ModeArg>,
    /// Judge the call with the standing consents of this saved session.
    #[arg(long, value_name = "S")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Print `{verdict, reasons, spoken: [{by, says, why}], tool, effect, mode, notes}`.
    #[arg(long)]
    pub(crate) json: bool,
}
