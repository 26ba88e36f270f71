//! Queries the browser about a page, and controls what pages send.
//!
//! The server runs a fixed script of ours beside the browser, where pages cannot reach it. Once for each browser it
//! installs itself between the pages and the network; on each run it answers a query. Facts about forms are read in
//! the page, so a page can falsify them. It cannot falsify its requests, and those are held back.

use obelus_kernel::session::CallError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{BrowserAnswer, Modal, in_our_words};
use super::guard::{GuardRules, Permit};
use super::judge::{ElementFacts, PageRequest, VERBS};
use super::profile::Profile;
use super::sites::Sites;
use crate::mcp::{McpError, Server};

/// The server's tool that runs scripts. Only this module calls it.
const RUN: &str = "browser_run_code_unsafe";

const PROGRAM: &str = include_str!("page.js");
const FACTS: &str = include_str!("facts.js");
const MARK: &str = include_str!("mark.js");

/// The elements of a page are cut here, below the size limit of an answer.
const MOST_OF_A_PAGE: usize = 1_000_000;

/// A query to a page. Each one also checks the guard.
#[derive(Clone, Debug, Default)]
pub(super) struct PageQuery {
    /// Elements whose facts are wanted.
    pub(super) elements: Vec<String>,
    /// Requests permitted from now on, each once; none keeps the current permits.
    pub(super) permits: Option<Vec<Permit>>,
    /// Whether to return and clear the held and sent requests.
    pub(super) take: bool,
    /// How long to wait for the page to settle first, in milliseconds.
    pub(super) settle: u32,
    /// The address to return to from a page that is not allowed.
    pub(super) home: Option<String>,
    /// Whether not to go back to the previous page, because its address deletes.
    pub(super) stays: bool,
    /// A file for a full-length picture of the page.
    pub(super) picture: Option<String>,
    /// Whether an action follows.
    pub(super) acts: bool,
    /// The profile for a restarted browser.
    pub(super) restore: Option<Profile>,
    /// Whether to return the profile.
    pub(super) keep: bool,
    /// Whether to return the elements of the page.
    pub(super) snapshot: bool,
    /// A point of the picture.
    pub(super) point: Option<(f64, f64)>,
}

/// The answer to a query.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PageReply {
    /// Whether the browser has just started.
    pub(super) fresh: bool,
    /// Its address, in full.
    pub(super) address: String,
    /// The addresses of all tabs.
    pub(super) tabs: Vec<String>,
    /// Requests that were held back.
    pub(super) held: Vec<HeldRequest>,
    /// Permitted requests that were sent.
    pub(super) sent: Vec<PageRequest>,
    /// Facts of the elements; none for a removed one.
    pub(super) facts: Vec<Option<ElementFacts>>,
    /// The address of a page that was not allowed and was left.
    pub(super) left: Option<String>,
    /// The number of other tabs closed for that reason.
    pub(super) closed: usize,
    /// Whether the picture was taken.
    pub(super) picture: bool,
    /// Whether the end of the page is cut off.
    pub(super) cut: bool,
    /// The elements of the page, as Playwright writes them.
    pub(super) snapshot: Option<String>,
    /// Whether the list of elements is cut.
    pub(super) cut_text: bool,
    /// The titles of all tabs, if the elements were wanted, and the current tab.
    pub(super) titles: Vec<String>,
    pub(super) current: usize,
    /// The element at the point.
    pub(super) point: Option<PointedElement>,
    /// The profile: cookies and stored site data.
    pub(super) profile: Option<Profile>,
}

/// The element at a point of the page.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct PointedElement {
    /// Its tag.
    pub(super) kind: String,
    /// Its text, if short.
    pub(super) name: String,
    /// Its class or id.
    pub(super) hint: String,
    /// Its context, if others have its text.
    pub(super) around: Option<String>,
    /// The point in the window, after scrolling.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) facts: ElementFacts,
}

/// A request that was held back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct HeldRequest {
    #[serde(flatten)]
    pub(super) request: PageRequest,
    /// The address of the page that made it.
    pub(super) from: String,
}

/// The result of a query.
pub(super) enum QueryReply {
    PageReply(Box<PageReply>),
    /// A dialog is open, so the page cannot be queried.
    Dialog(Modal),
}

/// Why a browser call failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: CallError,
    /// Whether the action may have happened.
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

/// Runs the script.
pub(super) async fn ask(
    server: &Server,
    sites: &Sites,
    rules: &GuardRules,
    ask: PageQuery,
) -> Result<QueryReply, Failed> {
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
    let answer = BrowserAnswer::read(&brought);
    if let Some(modal) = answer.modal {
        return Ok(QueryReply::Dialog(modal));
    }
    if let Some(error) = answer.error {
        let words = format!("the page cannot be looked at: {}; observe again", in_our_words(&error));
        return Err(Failed::new("browser", words));
    }
    let reply = answer.result.as_deref().and_then(|result| serde_json::from_str(result).ok());
    reply
        .map(|reply| QueryReply::PageReply(Box::new(reply)))
        .ok_or_else(|| Failed::new("browser", "the browser's answer about the page makes no sense; observe again"))
}
