//! Asking the browser about a page, and keeping guard over what pages send.
//!
//! The server runs a fixed program of ours beside the browser, out of the reach of pages. Once for each browser it puts
//! itself between the pages and the network; each time it is run it answers what it is asked. A page can lie about its
//! forms, for their facts are read in the page. It cannot lie about what it sends, and that is what is held back.

use obelus_kernel::session::CallError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{Answer, Modal, in_our_words};
use super::guard::{Permit, Rules};
use super::judge::{Facts, Request, VERBS};
use super::profile::Profile;
use super::sites::Sites;
use crate::mcp::{McpError, Server};

/// The tool of the server that runs programs. Nobody but this module calls it.
const RUN: &str = "browser_run_code_unsafe";

const PROGRAM: &str = include_str!("page.js");
const FACTS: &str = include_str!("facts.js");
const MARK: &str = include_str!("mark.js");

/// A page's elements are cut here, below what an answer of the server may have.
const MOST_OF_A_PAGE: usize = 1_000_000;

/// What a page is asked. Its guard is seen to each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    /// Elements whose facts are wanted.
    pub(super) elements: Vec<String>,
    /// What may be sent from now on, each once; none leaves what is permitted as it is.
    pub(super) permits: Option<Vec<Permit>>,
    /// Whether what was held back and sent is told, and then forgotten.
    pub(super) take: bool,
    /// For how many milliseconds at most the page may come to rest first.
    pub(super) settle: u32,
    /// Where to go back to from a page that is not allowed.
    pub(super) home: Option<String>,
    /// Whether it is not gone back to the page before, for that would ask for something to be deleted once more.
    pub(super) stays: bool,
    /// A file for a picture of the page, from its top to its end.
    pub(super) picture: Option<String>,
    /// Whether something is done with the page next.
    pub(super) acts: bool,
    /// What a browser that was started anew is to know.
    pub(super) restore: Option<Profile>,
    /// Whether what the browser knows of its user is wanted.
    pub(super) keep: bool,
    /// Whether the elements of the page are wanted.
    pub(super) snapshot: bool,
    /// A point of the page, as the picture shows it.
    pub(super) point: Option<(f64, f64)>,
}

/// What a page told.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    /// Whether the browser was started just now.
    pub(super) fresh: bool,
    /// Its address, in full.
    pub(super) address: String,
    /// The addresses of all tabs.
    pub(super) tabs: Vec<String>,
    /// What was held back.
    pub(super) held: Vec<Held>,
    /// What was permitted, and sent.
    pub(super) sent: Vec<Request>,
    /// Facts of the elements; none for one that is gone.
    pub(super) facts: Vec<Option<Facts>>,
    /// The address of a page that was not allowed, and that was left again.
    pub(super) left: Option<String>,
    /// How many other tabs were closed for that.
    pub(super) closed: usize,
    /// Whether the picture was taken.
    pub(super) picture: bool,
    /// Whether the end of the page is not in it.
    pub(super) cut: bool,
    /// The elements of the page, as Playwright writes them down.
    pub(super) snapshot: Option<String>,
    /// Whether the last of them are left out.
    pub(super) cut_text: bool,
    /// The titles of all tabs, where the elements were wanted, and which tab is shown.
    pub(super) titles: Vec<String>,
    pub(super) current: usize,
    /// What is at the point.
    pub(super) point: Option<Pointed>,
    /// What the browser knows of its user.
    pub(super) profile: Option<Profile>,
}

/// What is at a point of the page.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Pointed {
    /// The name of the element's markup.
    pub(super) kind: String,
    /// Its words, if they are few.
    pub(super) name: String,
    /// Its class or id.
    pub(super) hint: String,
    /// What stands around it, where others have its words.
    pub(super) around: Option<String>,
    /// Where the point is in the window now.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) facts: Facts,
}

/// A request that was held back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Held {
    #[serde(flatten)]
    pub(super) request: Request,
    /// The address of the page that made it.
    pub(super) from: String,
}

/// What came of asking.
pub(super) enum Reply {
    Told(Box<Told>),
    /// Nothing can be asked while a dialog is open.
    Dialog(Modal),
}

/// Why a call to the browser brought nothing.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: CallError,
    /// Whether it may have been done all the same.
    pub(super) doubt: bool,
}

impl Failed {
    pub(super) fn new(code: &str, words: impl Into<String>) -> Self {
        Self { error: CallError::new(code, words.into()), doubt: false }
    }
}

impl From<McpError> for Failed {
    fn from(error: McpError) -> Self {
        let code = error.trouble.code();
        Self { error: CallError::new(code, error.to_string()), doubt: error.trouble.leaves_doubt() }
    }
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        Self { error, doubt: false }
    }
}

/// Runs the program.
pub(super) async fn ask(server: &Server, sites: &Sites, rules: &Rules, ask: Ask) -> Result<Reply, Failed> {
    let data = json!({
        "sites": sites.patterns(),
        "pass": rules.pass,
        "drop": rules.drop,
        "sockets": rules.sockets,
        "verbs": VERBS,
        "elements": ask.elements,
        "permits": ask.permits,
        "take": ask.take,
        "settle": ask.settle,
        "home": ask.home,
        "stays": ask.stays,
        "picture": ask.picture,
        "acts": ask.acts,
        "restore": ask.restore,
        "keep": ask.keep,
        "snapshot": ask.snapshot,
        "point": ask.point,
        "most": MOST_OF_A_PAGE,
    });
    let mark = if ask.snapshot { Value::from(MARK) } else { Value::Null };
    let code = format!(
        "async (page) => {{\nconst ask = {data};\nconst factsOf = {FACTS};\nconst mark = {mark};\n{PROGRAM}\n}}"
    );
    let mut arguments = Map::new();
    arguments.insert("code".to_owned(), Value::String(code));
    let brought = match server.call(RUN, arguments, None).await {
        Ok(brought) => brought,
        Err(error) => {
            if !server.has_tool(RUN).await.unwrap_or(true) {
                let words = format!(
                    "the server `{}` has no tool `{RUN}` to guard the browser with; use Playwright MCP \
                     (@playwright/mcp 0.0.83), and do not refuse that tool in the agent's file",
                    server.name()
                );
                return Err(Failed::new("no_guard", words));
            }
            return Err(error.into());
        }
    };
    let answer = Answer::read(&brought);
    if let Some(modal) = answer.modal {
        return Ok(Reply::Dialog(modal));
    }
    if let Some(error) = answer.error {
        let words = format!("the page cannot be looked at: {}; observe again", in_our_words(&error));
        return Err(Failed::new("browser", words));
    }
    let told = answer.result.as_deref().and_then(|result| serde_json::from_str(result).ok());
    told.map(|told| Reply::Told(Box::new(told)))
        .ok_or_else(|| Failed::new("browser", "the browser's answer about the page makes no sense; observe again"))
}
