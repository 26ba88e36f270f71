//! Arguments of `inbox`, `answer`, `approve` and `deny`.

use clap::{Args, Subcommand, ValueEnum};

use super::{ServerArgs, StoreArgs};

/// List the open questions of all saved sessions.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus inbox --json | jq -r '.[].id'")]
pub(crate) struct InboxArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print `[{id, about, session, call, description, reasons, schema?, asked_by?, requested_at, expires_at, digest, view}]`.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the details too: meta-properties, hashes, the agent's comment, where values come from.
    #[arg(long)]
    pub(crate) details: bool,
}

/// Answer a question of a saved session and continue the session.
#[derive(Args)]
#[command(
    override_usage = "obelus answer <ID> <approve|deny|edit|value|happened|did-not> [OPTIONS]",
    after_help = "\
Examples:
  obelus answer letters:q1 approve
  obelus answer letters:q1 approve --also person
  obelus answer letters:q1 deny --reason 'not before Friday'
  obelus answer letters:q1 edit --params '{\"amount\": 5}'
  obelus answer booking:q1 value 4
  obelus answer letters:q2 happened"
)]
pub(crate) struct AnswerArgs {
    /// The question's id from `obelus inbox`: SESSION:QUESTION.
    pub(crate) id: String,
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print one JSON document, as `obelus run` does.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The digest of the question as it was shown, from `obelus inbox --json`. The answer is refused if it has changed.
    #[arg(long, global = true, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
}

/// A person's answer to a question.
#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Approve it as shown.
    Approve {
        /// Approve only these calls, by their numbers in the question, such as 1-3,7. Of a plan the others are left out, and what needs them is skipped.
        #[arg(long, value_name = "NUMBERS", conflicts_with = "also")]
        only: Vec<String>,
        /// Also approve similar calls for the rest of the session. What that covers is printed first, with a code for --agreed.
        #[arg(long, value_enum, value_name = "SCOPE")]
        also: Option<AlsoFor>,
        /// The code that --also printed.
        #[arg(long, value_name = "CODE", requires = "also")]
        agreed: Option<String>,
        /// When the consent ends, such as 2024-05-01T18:00:00Z; by default with the session.
        #[arg(long, value_name = "TIME", requires = "also")]
        until: Option<String>,
    },
    /// Deny it.
    Deny {
        /// The reason.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Change some of its parameters and approve the result.
    Edit {
        /// A JSON object of the parameters to change; the others stay, and so do the other fields of an object. `null` removes a field. Of a plan: {"0": PARAMETERS} by the index of a call, from 0, or {"plan": CALLS}.
        #[arg(long, value_name = "JSON")]
        params: String,
    },
    /// Give the value that was asked for.
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
    /// The effect in doubt did not happen: carry it out now.
    DidNot,
}

/// The other calls of the same tool, with the same fields, that an approval covers.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum AlsoFor {
    /// For the records of this list.
    Records,
    /// For this person or other addressee.
    Person,
    /// For this site.
    Site,
    /// For all calls of this tool.
    Tool,
}

impl AlsoFor {
    /// The name of the scope.
    pub(crate) fn name(self) -> &'static str {
        match self {
            AlsoFor::Records => "records",
            AlsoFor::Person => "person",
            AlsoFor::Site => "site",
            AlsoFor::Tool => "tool",
        }
    }
}

/// Short for `obelus answer ID approve`.
#[derive(Args)]
#[command(after_help = "Examples:\n  obelus approve letters:q1\n  obelus approve letters:q1 letters:q2")]
pub(crate) struct Approve {
    /// The question's id: SESSION:QUESTION. Several are approved one after the other.
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print one JSON document; for one question.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Short for `obelus answer ID deny`.
#[derive(Args)]
#[command(after_help = "Example:\n  obelus deny letters:q1 --reason 'not before Friday'")]
pub(crate) struct Deny {
    /// The question's id: SESSION:QUESTION. Several are denied one after the other.
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// The reason.
    #[arg(long)]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print one JSON document; for one question.
    #[arg(long)]
    pub(crate) json: bool,
}
