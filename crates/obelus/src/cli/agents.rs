//! Agents as files, and what holds for their calls.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Format, Mode, StoreAt};

/// Look at agents: each is a folder with an `agent.yaml`.
#[derive(Subcommand)]
pub(crate) enum Agents {
    /// List the agents in `agents/` here, those named by OBELUS_AGENTS, and those that come with the program.
    #[command(after_help = "Example:\n  OBELUS_AGENTS=~/agents obelus agents list")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what an agent is: its tools, settings and state.
    #[command(after_help = "Example:\n  obelus agents show agents/notes")]
    Show {
        /// A name, a folder or a file.
        agent: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say everything that is wrong with an agent's file, each with line and column.
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
        /// The form of the drawing.
        #[arg(long, value_enum, default_value = "mermaid")]
        format: Format,
    },
    /// Print what the model would be shown.
    #[command(after_help = "Example:\n  obelus agents prompt agents/notes --say 'What did we decide?'")]
    Prompt {
        /// A name, a folder or a file.
        agent: String,
        /// Words of the user.
        #[arg(long, value_name = "TEXT", default_value = "")]
        say: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    Login(Login),
}

/// Log in to an MCP server of an agent that wants to know who asks.
///
/// Prints the address at which to log in, and waits until you are sent back to this machine. Nothing is opened by
/// itself. What you get is kept in the store, in `tokens/`, for this agent and this server's address alone, and renewed
/// when it lapses.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus agents login agents/notes calendar
  obelus agents login notes calendar --port 8765      # where the client is registered with this port
  obelus agents login notes tracker --mcp servers.yaml")]
pub(crate) struct Login {
    /// A name, a folder or a file.
    pub(crate) agent: String,
    /// The server's name in the section `mcp`.
    pub(crate) server: String,
    /// Servers in place of the agent's own.
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp: Option<PathBuf>,
    /// The port on 127.0.0.1 to come back to; any that is free if none is given.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) store: StoreAt,
}

/// Look at what an agent's policy says.
#[derive(Subcommand)]
pub(crate) enum Policy {
    Explain(Explain),
}

/// Say what would hold for a call, who says so, and why.
///
/// The call stands in a file as the model would propose it. Beside its parameters it may say where they come from:
/// `_from`, a list of labels for all of them or such a list for each by its path, and `_shown`, what the model had
/// been shown before it proposed the call. Nothing runs. Exit 1 if the call is faulty.
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
    /// As if the agent were in this mode.
    #[arg(long, value_enum, value_name = "M")]
    pub(crate) mode: Option<Mode>,
    /// Print `{verdict, reasons, spoken: [{by, says, why}], tool, effect, mode, notes}`.
    #[arg(long)]
    pub(crate) json: bool,
}
