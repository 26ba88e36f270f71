//! What can be done with kept sessions.

use std::path::PathBuf;

use clap::Subcommand;

use super::StoreAt;

/// Look at the sessions that are kept.
#[derive(Subcommand)]
pub(crate) enum Sessions {
    /// List them, newest first.
    #[command(after_help = "Example:\n  obelus sessions list --store work")]
    List {
        #[command(flatten)]
        store: StoreAt,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a session: its memory, its calls, what waits.
    #[command(after_help = "\
Examples:
  obelus sessions show letters --at 12
  obelus sessions show letters --why '†state.letter.to'     the chain of calls behind a value")]
    Show {
        /// The session.
        id: String,
        /// As it was after this record of its journal.
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        /// The chain of messages and calls behind the value of an expression, instead of the whole session.
        #[arg(long, value_name = "EXPR")]
        why: Option<String>,
        /// With --why, as this instance reads it.
        #[arg(long, value_name = "I", requires = "why")]
        instance: Option<String>,
        #[command(flatten)]
        store: StoreAt,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a session's journal, a JSON line for each record.
    #[command(after_help = "Example:\n  obelus sessions log letters | tail -1")]
    Log {
        /// The session.
        id: String,
        #[command(flatten)]
        store: StoreAt,
    },
    /// Begin a session with an `agent_state` that another program made, as one JSON file.
    ///
    /// What waited there for a confirmation is asked here, under the same key and date; nothing of it runs by itself.
    #[command(after_help = "\
Examples:
  obelus sessions adopt agent_state.json --agent crm
  obelus sessions adopt old/ivan.json --agent crm --session ivan && obelus chat --session ivan")]
    Adopt {
        /// The file; `-` is stdin.
        file: PathBuf,
        /// The agent that goes on with it: a name, folder or file.
        #[arg(long, value_name = "A")]
        agent: String,
        /// The name of the session; by default that of the file.
        #[arg(long, value_name = "S")]
        session: Option<String>,
        #[command(flatten)]
        store: StoreAt,
        /// Print `{session, state}`.
        #[arg(long)]
        json: bool,
    },
    /// Write a session with its journal to a file, as JSON lines.
    #[command(
        after_help = "Examples:\n  obelus sessions export letters --out letters.jsonl\n  obelus sessions export letters | gzip > letters.gz"
    )]
    Export {
        /// The session.
        id: String,
        /// The file, which must not be there yet; by default stdout.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        store: StoreAt,
    },
    /// Take in a session that was exported.
    ///
    /// Under its own name it goes on as after a crash. Under another name it is a copy: what was under way is asked
    /// about, and not done once more.
    #[command(
        after_help = "Examples:\n  obelus sessions import letters.jsonl\n  zcat letters.gz | obelus sessions import - --as copy"
    )]
    Import {
        /// What `obelus sessions export` wrote; `-` is stdin.
        file: PathBuf,
        /// Another name for it.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        store: StoreAt,
    },
    /// Begin a new session where another one was.
    ///
    /// The original is untouched. Nothing that had begun is begun again: what the original knows the end of has ended,
    /// and about the rest a person is asked. A fork in the middle of work is paused until a person lets it go on.
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
        store: StoreAt,
    },
    /// Pause a session: what runs goes on to its end, and nothing starts.
    #[command(after_help = "Example:\n  obelus sessions pause letters")]
    Pause {
        /// The session.
        id: String,
        #[command(flatten)]
        store: StoreAt,
    },
    /// Let a paused session go on, to its rest.
    #[command(after_help = "Example:\n  obelus sessions resume letters")]
    Resume {
        /// The session.
        id: String,
        #[command(flatten)]
        store: StoreAt,
        /// Print one JSON document, as `obelus run` does.
        #[arg(long)]
        json: bool,
    },
    /// Remove sessions that have been done for long. What waits, is at work or is paused stays.
    #[command(
        after_help = "Examples:\n  obelus sessions prune --days 90 --dry-run\n  obelus sessions prune --days 90 --shrink"
    )]
    Prune {
        /// Nothing has happened in them for so many days.
        #[arg(long, default_value_t = 30)]
        days: u64,
        /// Only print their names.
        #[arg(long)]
        dry_run: bool,
        /// Make the store's file smaller by what is free in it. All of it is written anew, which takes as much room
        /// again until it is done.
        #[arg(long, conflicts_with = "dry_run")]
        shrink: bool,
        #[command(flatten)]
        store: StoreAt,
    },
    /// Remove a session and its journal, its state file and its log.
    #[command(after_help = "Example:\n  obelus sessions rm letters")]
    Rm {
        /// The session.
        id: String,
        #[command(flatten)]
        store: StoreAt,
    },
}
