//! The arguments of the command line.

mod agents;
#[cfg(feature = "restate")]
mod engine;
mod people;
mod plan;
#[cfg(feature = "serve")]
mod serve;
mod server;
mod sessions;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use agents::{Agents, Explain, Login, Pin, PolicyCommand};
#[cfg(feature = "restate")]
pub(crate) use engine::{EngineArgs, EngineName, WorkerArgs};
pub(crate) use people::{AlsoFor, AnswerArgs, Approve, Deny, InboxArgs, Verb};
pub(crate) use plan::{CheckArgs, Format, GraphArgs, PlanCommand, PlanFile, RunPlan, Simulate};
#[cfg(feature = "serve")]
pub(crate) use serve::{RoleName, Serve, TokensCommand};
pub(crate) use server::{NoServer, ServerArgs};
pub(crate) use sessions::SessionsCommand;

/// Agents that do real work under human control.
#[derive(Parser)]
#[command(name = "obelus", version, arg_required_else_help = true, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    /// The language of texts for people. By default the agent's, else that of the environment (LANG).
    #[arg(long, global = true, value_enum, value_name = "LANG")]
    pub(crate) lang: Option<Lang>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  obelus run request.yaml --model playbook:answers.yaml
  obelus plan check plan.json            check the plan and print its order
  obelus plan run plan.yaml              run the plan
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
    /// `auto` uses colours at a terminal, unless `NO_COLOR` is set.
    pub(crate) fn write_global(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Lang {
    Ru,
    En,
}

impl From<Lang> for obelus_runtime::Language {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::Ru => Self::Russian,
            Lang::En => Self::English,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Run(RunArgs),
    Chat(ChatArgs),
    New(New),
    Demo(crate::cmd::demo::Demo),
    #[command(subcommand, after_help = "Example:\n  obelus plan check plan.json && obelus plan run plan.json")]
    Plan(PlanCommand),
    #[command(subcommand, after_help = "Example:\n  obelus agents check agents/notes")]
    Agents(Agents),
    #[command(subcommand, after_help = "Example:\n  obelus sessions list")]
    Sessions(SessionsCommand),
    #[command(subcommand, after_help = "Example:\n  obelus policy explain agents/notes call.json")]
    Policy(PolicyCommand),
    Inbox(InboxArgs),
    Answer(AnswerArgs),
    Approve(Approve),
    Deny(Deny),
    Resolve(Resolve),
    Vectors(Vectors),
    Eval(crate::cmd::eval::Eval),
    #[command(subcommand, after_help = "Example:\n  obelus sandbox bitrix24")]
    Sandbox(crate::cmd::sandbox::Sandbox),
    #[cfg(feature = "serve")]
    Serve(Serve),
    #[cfg(feature = "serve")]
    #[command(subcommand, after_help = "Example:\n  obelus tokens add anna --role operator")]
    Tokens(TokensCommand),
    #[cfg(feature = "restate")]
    Worker(WorkerArgs),
    Doctor(Doctor),
    Completions(Completions),
    Man(Man),
}

/// Make a new agent: a folder with files to begin from.
///
/// The agent answers at once, with an offline model, in Russian or English: as `--lang` says, else as `LANG` says. An
/// existing folder is never changed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus new desk                 makes agents/desk
  obelus chat --agent desk
  obelus new desk --in ~/agents   makes ~/agents/desk")]
pub(crate) struct New {
    /// The agent's name: letters, digits, `-` and `_`.
    pub(crate) name: String,
    /// The folder of agents.
    #[arg(long = "in", value_name = "DIR", default_value = "agents")]
    pub(crate) folder: PathBuf,
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
    /// Read as this instance: its values over the global ones.
    #[arg(long, value_name = "I")]
    pub(crate) instance: Option<String>,
    /// Print `{"value": …}`, `{"absent": true}` or `{"error": …}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a request, or an agent, to its result.
///
/// At a terminal, questions are asked there; otherwise the command prints them and exits with 3. Nothing is approved
/// by default.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus run request.yaml --model playbook:answers.yaml
  obelus run request.json --input '{\"city\": \"Pskov\"}' --json
  obelus run agents/notes --say 'What did we decide yesterday?'
  obelus run operator --site shop.example.test --say 'Compare the kettles on shop.example.test by price and rating'
  obelus run examples/mcp-notes --mcp servers.yaml --say 'Show the notes'
  obelus run agents/notes --say 'What is on it?' --image photo.png --model openai
  obelus run request.yaml --model playbook:answers.yaml --record run.jsonl
  obelus run request.yaml --model replay:run.jsonl")]
pub(crate) struct RunArgs {
    /// A request `{context, schema?}` in JSON or YAML, or an agent: its name, folder or `agent.yaml`; `-` is stdin.
    pub(crate) file: PathBuf,
    /// The parameters of the request: JSON, or @FILE.
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) input: Option<String>,
    /// The user's message.
    #[arg(long, value_name = "TEXT")]
    pub(crate) say: Option<String>,
    /// A picture for the message: PNG, JPEG, WebP or GIF, up to 4 MB. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) how: RunOptions,
    /// Print one JSON document: `{schema, context, solution, ends, …}`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Talk with an agent in the terminal.
///
/// Words and steps appear as they come. Questions are answered by a key: `y` approves exactly what is shown, `e` edits
/// it first, `n` denies it with a reason. Enter approves nothing. Commands begin with `/`; /help lists them. Ctrl-C
/// stops the turn, Ctrl-C again or Ctrl-D exits.
///
/// Without a terminal every line of stdin is a message. A plain yes to the only open question counts, as in any
/// conversation; nothing else approves. The exit code is 3 if a question is still open at the end.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus chat --agent notes
  obelus chat --agent notes --session monday      saved: the same command continues it
  obelus chat --agent agents/crm --mode canary --model playbook:answers.yaml
  obelus chat --agent crm --session monday --events 127.0.0.1:8090
  obelus chat --agent operator --site shop.example.test
  obelus chat --server https://agents.example.test --token-file token --agent crm
  echo 'What did we decide?' | obelus chat --agent notes")]
pub(crate) struct ChatArgs {
    /// An agent's name, folder or file. By default the agent of the session, else your own `crm`, else your only agent, else the bundled `crm`.
    #[arg(long, value_name = "A")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) how: RunOptions,
    /// Listen for the portal's events at this address, such as 127.0.0.1:8090. The application token must be in the
    /// environment.
    #[arg(long, value_name = "ADDR")]
    pub(crate) events: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// Options for running a request, a plan or a conversation.
#[derive(Args, Clone)]
pub(crate) struct RunOptions {
    /// The model: playbook:FILE, replay:FILE or openai:NAME. Overrides the file.
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// The mode: shadow executes nothing, canary only reads and creations, full everything that is allowed.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// A file that binds activities to programs, HTTP requests or jq filters.
    #[arg(long, value_name = "FILE")]
    pub(crate) activities: Option<PathBuf>,
    /// A file with MCP servers, which replace those in the agent's file.
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp: Option<PathBuf>,
    /// A site that the agent's browser may visit without a question, in addition to those in its file, such as
    /// shop.example.test or 127.0.0.1:8477. May be given several times.
    #[arg(long = "site", value_name = "SITE")]
    pub(crate) sites: Vec<String>,
    /// Write every exchange with the model to this file, for `--model replay:FILE`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Save the session under this name. The same command continues it, also after a crash.
    #[arg(long, value_name = "S")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The store of the sessions.
#[derive(Args, Clone, Default)]
pub(crate) struct StoreArgs {
    /// The folder of the store. By default OBELUS_HOME, else `obelus` in your data folder.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) store: Option<PathBuf>,
    /// Use a store that other users can write to. They can answer for you, and run programs as you.
    #[arg(long, global = true)]
    pub(crate) insecure_store: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    Shadow,
    Canary,
    Full,
}

impl From<ModeArg> for obelus_kernel::session::Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Shadow => Self::Shadow,
            ModeArg::Canary => Self::Canary,
            ModeArg::Full => Self::Full,
        }
    }
}

/// Check what works on this machine and what is missing.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus doctor --json | jq '.[] | select(.ok | not)'")]
pub(crate) struct Doctor {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run conformance vectors.
///
/// Prints a line for each case that did not pass, then `N passed, N failed`. Exit 1 if a case failed.
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
///
/// It completes commands and options, and the names of agents, sessions and open questions. The script calls `obelus`,
/// which must be in the path. Print it again after an upgrade.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus completions bash > ~/.local/share/bash-completion/completions/obelus
  echo 'source <(obelus completions zsh)' >> ~/.zshrc      # after compinit
  obelus completions fish > ~/.config/fish/completions/obelus.fish")]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page of `obelus`, or write the pages of all commands.
#[derive(Args)]
#[command(after_help = "Examples:\n  obelus man | man -l -\n  obelus man --out /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// Write a page for each command into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
