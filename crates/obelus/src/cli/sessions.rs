//! Arguments of `sessions`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{ModeArg, NoServer, ServerArgs, StoreArgs};

/// List, show and manage saved sessions.
#[derive(Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions, newest first, each with its status and its agent.
    #[command(after_help = "Example:\n  obelus sessions list --store work")]
    List {
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a session: its agent and status, what was said and done, its memory, its open questions.
    #[command(after_help = "\
Examples:
  obelus sessions show letters --at 12
  obelus sessions show letters --why '†state.letter.to'     the chain of calls behind a value")]
    Show {
        /// The session.
        id: String,
        /// Show it as it was after this record of its journal.
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        /// Show only the messages and calls that the value of this expression comes from.
        #[arg(long, value_name = "EXPR")]
        why: Option<String>,
        /// With --why, read as this instance.
        #[arg(long, value_name = "I", requires = "why")]
        instance: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the events of a session, each with its record and time.
    #[command(after_help = "Examples:\n  obelus sessions log letters\n  obelus sessions log letters --json | tail -1")]
    Log {
        /// The session.
        id: String,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
        /// Print the journal, one JSON line per record.
        #[arg(long)]
        json: bool,
    },
    /// Start a session from an `agent_state` file of another program.
    ///
    /// Its open confirmations become questions here, with the same keys and dates. Nothing runs by itself.
    #[command(after_help = "\
Examples:
  obelus sessions adopt agent_state.json --agent crm
  obelus sessions adopt old/ivan.json --agent crm --session ivan && obelus chat --session ivan")]
    Adopt {
        /// The file; `-` is stdin.
        file: PathBuf,
        /// The agent that continues it: a name, folder or file.
        #[arg(long, value_name = "A")]
        agent: String,
        /// The name of the session; by default that of the file.
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// The mode in which it continues; by default the agent's.
        #[arg(long, value_enum, value_name = "M")]
        mode: Option<ModeArg>,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: NoServer,
        /// Print `{session, state}`.
        #[arg(long)]
        json: bool,
    },
    /// Write a session with its journal to a file as JSON lines, or its calls as a plan.
    #[command(
        after_help = "Examples:\n  obelus sessions export letters --out letters.jsonl\n  obelus sessions export letters | gzip > letters.gz\n  obelus sessions export letters --plan --out letters.json && obelus plan run letters.json --input '{\"to\": \"anna\"}'"
    )]
    Export {
        /// The session.
        id: String,
        /// Write the completed calls as a plan for `obelus plan run`. Values that the user named become its input.
        #[arg(long)]
        plan: bool,
        /// The file, which must not exist yet; by default stdout.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[cfg(feature = "restate")]
        #[command(flatten)]
        engine: super::EngineArgs,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Import an exported session.
    ///
    /// Under its own name it continues as after a crash. Under another name it is a copy: calls that were running become
    /// questions and are not repeated.
    ///
    /// The session is paused: the command lists the programs and addresses that it could use, and nothing starts until you
    /// resume it.
    #[command(
        after_help = "Examples:\n  obelus sessions import letters.jsonl && obelus sessions resume letters\n  obelus sessions import letters.jsonl --trusted\n  zcat letters.gz | obelus sessions import - --as copy"
    )]
    Import {
        /// A file from `obelus sessions export`; `-` is stdin.
        file: PathBuf,
        /// Import it under this name.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// The file is your own, or of somebody whom you would let write your agent's file: the session is not paused.
        #[arg(long)]
        trusted: bool,
        #[cfg(feature = "restate")]
        #[command(flatten)]
        engine: super::EngineArgs,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: NoServer,
    },
    /// Start a new session from a point of another one.
    ///
    /// The original is not changed. Effects that had begun at that point are not repeated: the results that the original
    /// knows are used, and a person is asked about the others. What the original did after that point is not part of the
    /// new session, which may do it again; the command names these effects. A question that was open at that point is open again in the new session: an approval
    /// there runs the call, even if the original has run it since. A fork within a turn is paused until a person resumes it.
    #[command(after_help = "Example:\n  obelus sessions fork letters letters-2 --at 12")]
    Fork {
        /// The session.
        id: String,
        /// The name of the new one.
        new: String,
        /// After this record of the journal; by default the last.
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Go back to the last rest of a session that this version cannot continue.
    ///
    /// A session is stopped if replaying its journal in this version gives another result. This command saves the whole
    /// journal to a file and then removes the records after the last rest. Their effects are not undone, so read the file
    /// before you repeat anything.
    #[command(after_help = "Example:\n  obelus sessions back letters --save letters.jsonl")]
    Back {
        /// The session.
        id: String,
        /// The file for the whole journal, which must not exist yet.
        #[arg(long, value_name = "FILE")]
        save: PathBuf,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: NoServer,
    },
    /// List the standing consents of a session, or revoke one.
    #[command(
        after_help = "Examples:\n  obelus sessions consents letters\n  obelus sessions consents letters --revoke c1"
    )]
    Consents {
        /// The session.
        id: String,
        /// Revoke this consent.
        #[arg(long, value_name = "ID")]
        revoke: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Pause a session: running calls go on to their end, and nothing new starts.
    #[command(after_help = "Example:\n  obelus sessions pause letters")]
    Pause {
        /// The session.
        id: String,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Resume a paused session and run it to the end of its turn.
    #[command(after_help = "Example:\n  obelus sessions resume letters")]
    Resume {
        /// The session.
        id: String,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
        /// Print one JSON document, as `obelus run` does.
        #[arg(long)]
        json: bool,
    },
    /// Remove old sessions that are done. Sessions that wait, work or are paused stay.
    #[command(
        after_help = "Examples:\n  obelus sessions prune --days 90 --dry-run\n  obelus sessions prune --days 90 --shrink"
    )]
    Prune {
        /// Remove sessions without activity for this many days.
        #[arg(long, default_value_t = 30)]
        days: u64,
        /// Only print their names.
        #[arg(long)]
        dry_run: bool,
        /// Also shrink the store's file. The whole file is rewritten, which needs as much free space until it is done.
        #[arg(long, conflicts_with = "dry_run")]
        shrink: bool,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Remove a session and its journal, its state file and its log.
    #[command(after_help = "Example:\n  obelus sessions rm letters")]
    Rm {
        /// The session.
        id: String,
        /// Remove it also with an open question.
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        server: ServerArgs,
    },
}
