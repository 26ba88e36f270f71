//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Agents that do real work under human control.
#[derive(Parser)]
#[command(name = "obelus", version, arg_required_else_help = true, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to colour what is printed.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  obelus run request.yaml --model playbook:answers.yaml
  obelus plan check plan.json            is the plan sound, and in which order would it run?
  obelus plan run plan.yaml              run it as it is
  obelus plan graph plan.json --format svg > plan.svg
  obelus resolve context.json '†state.deal.title || †input.title'
  obelus vectors vectors/

Exit codes: 0 done, 1 the work failed or was refused, 2 wrong usage or unreadable input,
3 waiting for a person, 130 interrupted. A file argument `-` is stdin.";

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// `auto` honours `NO_COLOR` and whether there is a terminal.
    pub(crate) fn write_global(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Chat(Chat),
    Demo(crate::cmd::demo::Demo),
    #[command(subcommand, after_help = "Example:\n  obelus plan check plan.json && obelus plan run plan.json")]
    Plan(Plan),
    #[command(subcommand, after_help = "Example:\n  obelus agents check agents/notes")]
    Agents(Agents),
    #[command(subcommand, after_help = "Example:\n  obelus sessions list")]
    Sessions(Sessions),
    #[command(subcommand, after_help = "Example:\n  obelus policy explain agents/notes call.json")]
    Policy(Policy),
    Inbox(Inbox),
    Answer(Answer),
    Approve(Approve),
    Deny(Deny),
    Resolve(Resolve),
    Vectors(Vectors),
    Eval(crate::cmd::eval::Eval),
    #[command(subcommand, after_help = "Example:\n  obelus sandbox bitrix24")]
    Sandbox(crate::cmd::sandbox::Sandbox),
    Doctor(Doctor),
    Completions(Completions),
}

/// Print the value of an expression in a context.
///
/// Prints the value as JSON. Exit 1 if it is absent, 2 if the expression or the context is malformed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus resolve context.json '†state.deal.items[-1].price'
  obelus resolve context.json '†state.manual || †state.auto' --instance anna
  cat context.json | obelus resolve - '†input' --json")]
pub(crate) struct Resolve {
    /// A JSON array of messages, or a request with such a `context`; `-` is stdin.
    #[arg(value_name = "CONTEXT.json")]
    pub(crate) context: PathBuf,
    /// An expression, such as `†state.deal.title || †input.title`.
    pub(crate) expr: String,
    /// Read for this instance: its own values over the global ones.
    #[arg(long, value_name = "I")]
    pub(crate) instance: Option<String>,
    /// Print `{"value": …}`, `{"absent": true}` or `{"error": …}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a request, or an agent, to its result.
///
/// Questions for a person are asked at the terminal where there is one; elsewhere the command prints them and
/// exits with 3. Nothing is ever approved by default.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus run request.yaml --model playbook:answers.yaml
  obelus run request.json --input '{\"city\": \"Псков\"}' --json
  obelus run agents/notes --say 'Что мы решили вчера?'
  obelus run request.yaml --model playbook:answers.yaml --record run.jsonl
  obelus run request.yaml --model replay:run.jsonl")]
pub(crate) struct Run {
    /// A request `{context, schema?}` in JSON or YAML, or an agent's folder or `agent.yaml`; `-` is stdin.
    pub(crate) file: PathBuf,
    /// The parameters of the request: JSON, or @FILE.
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) input: Option<String>,
    /// Words of the user.
    #[arg(long, value_name = "TEXT")]
    pub(crate) say: Option<String>,
    #[command(flatten)]
    pub(crate) how: How,
}

/// Talk with an agent in the terminal.
///
/// Words and steps appear as they come, and what needs a person is asked when it does: `y` is yes to just what is
/// shown, `e` changes it first, `n` is no, with a reason. Enter approves nothing. Commands begin with `/`: /help
/// lists them. Ctrl-C stops the turn, twice leaves; Ctrl-D leaves.
///
/// Without a terminal every line of stdin is a message, and nothing is ever approved: exit code 3 if something
/// still waits for a person at the end.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus chat --agent notes
  obelus chat --agent notes --session monday      kept: the same command goes on where it was
  obelus chat --agent agents/crm --mode canary --model playbook:answers.yaml
  obelus chat --agent crm --session monday --events 127.0.0.1:8090
  echo 'What did we decide?' | obelus chat --agent notes")]
pub(crate) struct Chat {
    /// An agent's name, folder or file. By default the agent of the session, `crm`, or the only one there is.
    #[arg(long, value_name = "A")]
    pub(crate) agent: Option<String>,
    /// Keep the conversation under this name: the same command goes on where it was, also after a crash.
    #[arg(long, value_name = "S")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// The model to ask: playbook:FILE, replay:FILE or openai:NAME. Wins over what the agent's file says.
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// How far it may go: shadow executes nothing, canary reads and creates, full does everything allowed.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// A file that binds names of activities to programs, HTTP requests or jq filters.
    #[arg(long, value_name = "FILE")]
    pub(crate) activities: Option<PathBuf>,
    /// Write every exchange with the model to this file, for `--model replay:FILE`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Listen here for events of the portal, such as 127.0.0.1:8090. The application's token must be in the environment.
    #[arg(long, value_name = "ADDR")]
    pub(crate) events: Option<std::net::SocketAddr>,
}

/// How a request or a plan is run.
#[derive(Args)]
pub(crate) struct How {
    /// The model to ask: playbook:FILE, replay:FILE or openai:NAME. Wins over what the file says.
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// How far it may go: shadow executes nothing, canary reads and creates, full does everything allowed.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// A file that binds names of activities to programs, HTTP requests or jq filters.
    #[arg(long, value_name = "FILE")]
    pub(crate) activities: Option<PathBuf>,
    /// Write every exchange with the model to this file, for `--model replay:FILE`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Keep the session under this name: the same command goes on where it was, also after a crash.
    #[arg(long, value_name = "S")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// Print one JSON document: `{schema, context, solution, ends, …}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where sessions are kept.
#[derive(Args)]
pub(crate) struct StoreAt {
    /// The folder of the store. By default OBELUS_HOME, else `obelus` in the user's data folder.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) store: Option<PathBuf>,
}

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
    #[command(after_help = "Example:\n  obelus sessions prune --days 90 --dry-run")]
    Prune {
        /// Nothing has happened in them for so many days.
        #[arg(long, default_value_t = 30)]
        days: u64,
        /// Only print their names.
        #[arg(long)]
        dry_run: bool,
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

/// List the questions of all kept sessions that wait for a person.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus inbox --json | jq -r '.[].id'")]
pub(crate) struct Inbox {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// Print `[{id, about, session, call, description, reasons, schema?, requested_at, expires_at}]`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Answer a question of a kept session, and let the session go on.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus answer letters:q1 approve
  obelus answer letters:q1 deny --reason 'not before Friday'
  obelus answer letters:q1 edit --params '{\"amount\": 5}'
  obelus answer booking:q1 value 4
  obelus answer letters:q2 happened")]
pub(crate) struct Answer {
    /// The question's id, as `obelus inbox` prints it: SESSION:QUESTION.
    pub(crate) id: String,
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// Print one JSON document, as `obelus run` does.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What a person says to a question.
#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Yes, as it was shown.
    Approve,
    /// No.
    Deny {
        /// Why.
        #[arg(long, default_value = "declined")]
        reason: String,
    },
    /// Yes, with these parameters instead.
    Edit {
        /// A JSON object of parameters.
        #[arg(long, value_name = "JSON")]
        params: String,
    },
    /// The value that was asked for.
    Value {
        /// JSON, or plain text.
        value: String,
    },
    /// The effect in doubt did happen.
    Happened {
        /// Its result, as JSON.
        #[arg(long, value_name = "JSON")]
        result: Option<String>,
    },
    /// The effect in doubt did not happen: it is done now.
    DidNot,
}

/// Short for `obelus answer ID approve`.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus approve letters:q1")]
pub(crate) struct Approve {
    /// The question's id: SESSION:QUESTION.
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Short for `obelus answer ID deny`.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus deny letters:q1 --reason 'not before Friday'")]
pub(crate) struct Deny {
    /// The question's id: SESSION:QUESTION.
    pub(crate) id: String,
    /// Why.
    #[arg(long, default_value = "declined")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Mode {
    Shadow,
    Canary,
    Full,
}

impl From<Mode> for obelus_kernel::session::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Shadow => Self::Shadow,
            Mode::Canary => Self::Canary,
            Mode::Full => Self::Full,
        }
    }
}

/// Look at agents: each is a folder with an `agent.yaml`.
#[derive(Subcommand)]
pub(crate) enum Agents {
    /// List the agents in `agents/` here, and those named by OBELUS_AGENTS.
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

/// Say what works on this machine and what is missing.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus doctor --json | jq '.[] | select(.ok | not)'")]
pub(crate) struct Doctor {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check, draw, try out or run a plan.
#[derive(Subcommand)]
pub(crate) enum Plan {
    Check(Check),
    Graph(Graph),
    Simulate(Simulate),
    Run(RunPlan),
}

/// Show what a plan would do, touching nothing.
///
/// Every call with its parameters as far as they are known, the order in waves, what would need a person and
/// why, and what would be left out under each branch.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus plan simulate plan.json --mode canary")]
pub(crate) struct Simulate {
    /// A request `{context, schema?}` whose context has a plan; `-` is stdin.
    pub(crate) file: PathBuf,
    /// How far it may go.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) mode: Mode,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a saved plan as it is.
///
/// No model is asked for calls or for output: the command is the approval. Policy and confirmations still hold,
/// and calls that the model carries out itself still ask one.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus plan run plan.yaml --activities activities.yaml")]
pub(crate) struct RunPlan {
    /// A request `{context, schema?}` whose context has a plan; `-` is stdin.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) how: How,
}

/// Say whether a plan is sound, and in which order it would run.
///
/// Finds unknown tools, malformed references, references nobody feeds, calls that wait for each other,
/// parameters that break a tool's schema, types that clash, and several writers of one path.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus plan check plan.json
  obelus plan check plan.json --json | jq .errors")]
pub(crate) struct Check {
    /// A request `{context, schema?}` whose context has a plan; `-` is stdin.
    pub(crate) file: PathBuf,
    /// Print `{valid, waves, edges, errors, warnings}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Draw a plan: a box for each call, an arrow for each value that flows.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus plan graph plan.json --format svg > plan.svg
  obelus plan graph plan.json --format dot | dot -Tpng > plan.png
  obelus plan graph plan.json                  Mermaid, for Markdown")]
pub(crate) struct Graph {
    /// A request `{context, schema?}` whose context has a plan; `-` is stdin.
    pub(crate) file: PathBuf,
    /// The form of the drawing.
    #[arg(long, value_enum, default_value = "mermaid")]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    Mermaid,
    Dot,
    Svg,
    /// Nodes and edges as data.
    Json,
}

/// Run conformance vectors.
///
/// Prints a line for each case that did not pass and, last, `N passed, N failed`. Exit 1 if one failed.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus vectors vectors/ --json | jq '.cases[] | select(.ok | not)'")]
pub(crate) struct Vectors {
    /// Files, or folders whose `*.json` files are run.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print `{passed, failed, cases: [{file, name, ok, why}]}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a completion script for a shell.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus completions bash > ~/.local/share/bash-completion/completions/obelus")]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}
