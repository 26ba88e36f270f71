//! The browser: an MCP server, made safe to use.
//!
//! An agent that works with pages observes, plans one browser call, has it aimed (checked and judged), and acts.
//! Element ids are valid only until the next action. A stored action contains what a person can be asked about: the
//! page's address, the element's role and name, the form. A guard between the pages and the network lets only
//! permitted requests through.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `section` | the section `browser` of an agent's file |
//! | `find` | finding the server and the browser on this machine |
//! | `launch` | the server that is started if the file names none |
//! | `activities` | observing, aiming and acting as activities |
//! | `observe` | the page's content, as text and as a picture |
//! | `aim` | checking a planned call against the page, and judging it |
//! | `act` | finding the element again and carrying out the judged action |
//! | `around` | the context of an element, if others have its name |
//! | `point` | pressing a point of the picture |
//! | `intent` | the parsed planned call |
//! | `judge` | what kind of action it is |
//! | `form` | a form as it is shown to a person |
//! | `guard` | which requests pages may send |
//! | `page` | the script that runs beside the browser, and its queries |
//! | `profile` | cookies and stored site data, kept with the session |
//! | `answer` | the server's answers |
//! | `view` | the compact text of a page |
//! | `table` | rows of tables on one line each |
//! | `difference` | our element ids, and the changes of a page |
//! | `offer` | our descriptions of the browser's tools |
//! | `snapshot` | the elements of a page |
//! | `sites` | which sites are allowed |
//! | `secrets` | secrets that are typed by name |
//! | `address` | page addresses, as they are shown and stored |
//! | `picture_folder` | pictures of pages |

mod act;
mod activities;
mod address;
mod aim;
mod answer;
mod around;
mod difference;
mod find;
mod form;
mod guard;
mod intent;
mod judge;
mod launch;
mod observe;
mod offer;
mod page;
mod picture_folder;
mod point;
mod profile;
mod secrets;
mod section;
mod sites;
mod snapshot;
mod table;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_runtime::people::PageNotes;
use obelus_runtime::{Activities, ObservationSlot};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::activity::BindingError;
use crate::mcp::{Server, Servers};
use activities::{BrowserActivity, OperatorPart};
use aim::HeldByElement;
use answer::Modal;
use difference::{Numbers, ShownPage};
use page::{Failed, PageQuery, PageReply, QueryReply};
use picture_folder::PictureFolder;
use profile::ProfileFile;
use secrets::Secrets;

pub use find::{BrowserParts, MissingPart, MissingReason, PLAYWRIGHT_MCP, find};
pub use judge::Class;
pub use launch::OutputFolder;
pub use section::BrowserSection;
pub use sites::Sites;
pub use snapshot::{Element, PageSnapshot, is_id};

/// The browser of a session.
pub struct Browser {
    /// Its server, or why there is none.
    server: Result<Arc<Server>, String>,
    section: BrowserSection,
    memory: Mutex<BrowserMemory>,
}

impl std::fmt::Debug for Browser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Browser").field("server", &self.section.server).finish_non_exhaustive()
    }
}

/// The state between steps. It is not stored.
struct BrowserMemory {
    /// The page as it was observed; none after an action.
    observed: Option<ObservedPage>,
    /// The current address, in full.
    address: Option<String>,
    /// Whether the browser was restarted since.
    reborn: bool,
    /// The last address on an allowed site.
    home: Option<String>,
    /// The sites of the file, and those that a person has allowed since.
    sites: Sites,
    /// Requests that were held back, by element.
    held: HeldByElement,
    /// The element of the last action.
    note: Option<String>,
    /// The last observation, and how many before it were equal.
    last: Option<(String, u32)>,
    /// The page as it was last shown.
    shown: Option<ShownObservation>,
    /// Whether the model still sees that page, so that changes are enough.
    is_base_shown: bool,
    /// The ids that are shown.
    numbers: Numbers,
    /// A text that the next observation searches for.
    focus: Option<String>,
    shots: PictureFolder,
    /// The profile: cookies and stored site data.
    keeper: ProfileFile,
    /// Full texts for people that the journal does not store.
    notes: PageNotes,
}

impl BrowserMemory {
    /// Stores full addresses, for people who are asked about them.
    fn note_addresses<'a>(&mut self, addresses: impl IntoIterator<Item = &'a str>, secrets: &Secrets) {
        let mut is_new = false;
        for address in addresses.into_iter().filter(|address| address.starts_with("http")) {
            is_new |= self.notes.note_address(&address::shown_text(address), &secrets.hide(address.to_owned()));
        }
        if is_new {
            self.keep_notes();
        }
    }

    /// Writes the notes. Without a writable folder, people see addresses as in the journal.
    fn keep_notes(&self) {
        if let Some(folder) = self.keeper.folder() {
            let _ = self.notes.write(folder);
        }
    }

    /// Counts equal observations in a row.
    fn count(&mut self, digest: &str) -> u32 {
        let count = match &self.last {
            Some((last, count)) if last == digest => count + 1,
            _ => 0,
        };
        self.last = Some((digest.to_owned(), count));
        count
    }
}

/// An observed page.
#[derive(Default)]
struct ObservedPage {
    /// As it is shown.
    address: String,
    head: String,
    text: String,
    snapshot: PageSnapshot,
    modal: Option<Modal>,
    /// Whether the server cut it.
    cut: bool,
}

/// A page as it was shown.
struct ShownObservation {
    address: String,
    /// As Playwright wrote it.
    text: String,
    page: ShownPage,
    /// The whole text of the observation.
    whole: String,
}

impl ShownObservation {
    /// Whether it is the session's latest observation.
    fn lies_in(&self, slot: &ObservationSlot) -> bool {
        slot.latest().is_some_and(|latest| latest.text == self.whole)
    }
}

impl Browser {
    /// The browser that the section describes, on one of these servers. Pictures go to the section's folder, or else
    /// to `picture_folder`; cookies and stored site data to the folder `profile`. Nothing is started.
    pub fn new(
        section: BrowserSection,
        servers: &Servers,
        shots: PathBuf,
        profile: Option<&Path>,
    ) -> Result<Arc<Self>, BindingError> {
        let Some(server) = servers.get(&section.server) else {
            let problem = format!("there is no server `{}` under `mcp`", section.server);
            return Err(BindingError { binding: "browser".to_owned(), field: "`server`".to_owned(), problem });
        };
        Ok(Self::with(section, Ok(server), shots, profile.map(ProfileFile::open).unwrap_or_default()))
    }

    /// A missing browser: every call fails with this reason.
    pub fn missing(section: BrowserSection, why: impl Into<String>) -> Arc<Self> {
        Self::with(section, Err(why.into()), PathBuf::new(), ProfileFile::default())
    }

    fn with(
        section: BrowserSection,
        server: Result<Arc<Server>, String>,
        shots: PathBuf,
        keeper: ProfileFile,
    ) -> Arc<Self> {
        let memory = BrowserMemory {
            observed: None,
            address: None,
            reborn: false,
            home: None,
            sites: section.sites.clone(),
            held: HeldByElement::new(),
            note: None,
            last: None,
            shown: None,
            is_base_shown: false,
            numbers: Numbers::default(),
            focus: None,
            shots: PictureFolder::new(section.shots.clone().unwrap_or(shots)),
            notes: keeper.folder().map(PageNotes::read).unwrap_or_default(),
            keeper,
        };
        Arc::new(Self { server, section, memory: Mutex::new(memory) })
    }

    fn server(&self) -> Result<&Server, Failed> {
        self.server.as_deref().map_err(|why| Failed::new("no_browser", format!("there is no browser: {why}")))
    }

    /// Checks the browser and servers of a file without looking at this machine. The result can only be bound, to
    /// check bindings.
    pub fn checked(
        section: &Map<String, Value>,
        mcp: &Map<String, Value>,
        base: &Path,
    ) -> Result<Arc<Self>, BindingError> {
        let section = BrowserSection::parse(section, base)?;
        let mut mcp = mcp.clone();
        mcp.entry(section.server.clone()).or_insert_with(|| json!({"command": ["playwright-mcp"]}));
        Self::new(section, &Servers::parse(&mcp, base)?, base.to_owned(), None)
    }

    /// Adds the activity for `{operator: PART}`: `observe`, `aim` or `act`. Acting tools are named after their kind
    /// of action and may share one activity.
    pub fn bind_one(self: &Arc<Self>, activities: &mut Activities, name: &str, part: &str) -> Result<(), BindingError> {
        let part = match part {
            "observe" => OperatorPart::Observe,
            "aim" => OperatorPart::Aim,
            "act" => OperatorPart::Act,
            other => {
                let problem = format!("`{other}` is no part of a browser; there are observe, aim and act");
                return Err(BindingError { binding: name.to_owned(), field: "`operator`".to_owned(), problem });
            }
        };
        activities.add(name, BrowserActivity { browser: Arc::clone(self), part });
        Ok(())
    }

    /// Adds all activities of the browser under their usual names.
    pub fn bind_into(self: &Arc<Self>, activities: &mut Activities) {
        let step = |part| BrowserActivity { browser: Arc::clone(self), part };
        activities.add("observe", step(OperatorPart::Observe));
        activities.add("aim", step(OperatorPart::Aim));
        for class in Class::ALL {
            activities.add(class.name(), step(OperatorPart::Act));
        }
    }

    /// Whether the tool belongs to the browser's server.
    pub fn owns(&self, tool: &str) -> bool {
        tool.split_once('.').is_some_and(|(server, _)| server == self.section.server)
    }

    /// Whether we have a description of this tool of the browser's server.
    pub fn describes(&self, tool: &str) -> bool {
        self.owns(tool) && tool.split_once('.').is_some_and(|(_, own)| offer::of(own).is_some())
    }

    /// Whether the tool is usable: uploads need a folder in the agent's file.
    pub fn offers(&self, tool: &str) -> bool {
        let gives_files = self.owns(tool) && tool.ends_with(".browser_file_upload");
        !gives_files || self.section.uploads.is_some()
    }

    /// Replaces the server's descriptions of the browser's tools with ours.
    pub fn describe(&self, tools: &mut [(String, Value)]) {
        for (name, schema) in tools {
            let own = name.strip_prefix(&self.section.server).and_then(|rest| rest.strip_prefix('.'));
            if let Some(ours) = own.and_then(offer::of) {
                *schema = ours.clone();
            }
        }
    }

    /// Refuses direct calls to these browser tools. A session knows them only to plan calls, which are aimed first.
    pub fn refuse_direct_calls<'a>(
        self: &Arc<Self>,
        activities: &mut Activities,
        names: impl IntoIterator<Item = &'a str>,
    ) {
        for name in names.into_iter().filter(|name| self.owns(name)) {
            activities.add(name, BrowserActivity { browser: Arc::clone(self), part: OperatorPart::Direct });
        }
    }

    /// Sends a query to the page and updates the current address.
    async fn ask(&self, memory: &mut BrowserMemory, ask: PageQuery) -> Result<QueryReply, Failed> {
        let (server, rules) = (self.server()?, &self.section.rules);
        let mut reply = page::ask(server, &memory.sites, rules, ask.clone()).await?;
        // A browser that has ended answers once more, without tabs; the next call starts another.
        if matches!(&reply, QueryReply::PageReply(page_reply) if page_reply.tabs.is_empty()) {
            reply = page::ask(server, &memory.sites, rules, ask).await?;
        }
        if let QueryReply::PageReply(page_reply) = &mut reply {
            // Requests are shown and stored: secrets become names, and long texts are cut.
            let held = page_reply.held.iter_mut().map(|held| &mut held.request);
            for value in held.chain(&mut page_reply.sent).flat_map(|request| request.fields.values_mut()) {
                *value = guard::carried(&self.section.secrets.hide(std::mem::take(value)));
            }
            let facts = page_reply.facts.iter().flatten().chain(page_reply.point.as_ref().map(|point| &point.facts));
            let forms = facts.clone().filter_map(|facts| Some(facts.form.as_ref()?.address.as_str()));
            let links = facts.filter_map(|facts| facts.link.as_deref());
            let addresses = links.chain(forms).chain([page_reply.address.as_str()]);
            memory.note_addresses(addresses, &self.section.secrets);
            self.keep_profile(page_reply, memory).await?;
            // If the browser ended by itself, the next observation reopens its page.
            let was_somewhere = memory.address.as_ref().is_some_and(|address| address.starts_with("http"));
            if (page_reply.fresh || memory.reborn) && was_somewhere && page_reply.address == "about:blank" {
                memory.reborn = true;
                return Ok(reply);
            }
            let parsed = url::Url::parse(&page_reply.address).ok();
            // An address that deletes is not reopened automatically.
            if parsed.is_some_and(|address| memory.sites.allow(&address) && !judge::deletes(&address)) {
                memory.home = Some(page_reply.address.clone());
            }
            memory.address = Some(page_reply.address.clone());
        }
        Ok(reply)
    }

    /// Restores the profile in a restarted browser, and stores the current one.
    async fn keep_profile(&self, page_reply: &PageReply, memory: &mut BrowserMemory) -> Result<(), Failed> {
        if page_reply.fresh && !memory.keeper.profile.is_empty() {
            let ask = PageQuery { restore: Some(memory.keeper.profile.clone()), ..PageQuery::default() };
            page::ask(self.server()?, &memory.sites, &self.section.rules, ask).await?;
        }
        if let Some(profile) = page_reply.profile.clone().filter(|_| !page_reply.fresh) {
            let address = Some(page_reply.address.clone()).filter(|address| address.starts_with("http"));
            let written = memory.keeper.keep(profile::Profile { address, ..profile });
            written
                .map_err(|error| Failed::new("browser", format!("the browser's profile cannot be kept: {error}")))?;
        }
        Ok(())
    }

    /// Makes sure that the guard is active before an action.
    async fn guarded(&self, memory: &mut BrowserMemory) -> Result<(), Failed> {
        match self.ask(memory, PageQuery { take: true, ..PageQuery::default() }).await? {
            QueryReply::PageReply(_) => Ok(()),
            QueryReply::Dialog(_) => Err(Failed::new("dialog_open", "a dialog is open: observe first")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::bind_with;

    #[test]
    fn bindings_of_an_agent_are_checked_without_a_browser() {
        let map = |value: Value| value.as_object().unwrap().clone();
        let base = Path::new("/");
        let browser = Browser::checked(&map(json!({"sites": ["shop.example.test"]})), &Map::new(), base).unwrap();
        let bind = |bindings: Value, browser: Option<&Arc<Browser>>| {
            let mut activities = Activities::new();
            bind_with(&mut activities, &map(bindings), base, browser).map(|()| activities.names())
        };
        let good = json!({"observe": {"operator": "observe"}, "aim": {"operator": "aim"}, "pay": {"operator": "act"}});
        assert_eq!(bind(good.clone(), Some(&browser)).unwrap().len(), 3);
        assert_eq!(bind(good, None).unwrap().len(), 3, "without a browser there is nothing to look at");
        for (bindings, browser, why) in [
            (json!({"a": {"operator": "watch"}}), Some(&browser), "observe, aim and act"),
            (json!({"a": {"operator": "aim", "timeout": 1}}), Some(&browser), "unknown"),
        ] {
            let error = bind(bindings.clone(), browser).unwrap_err();
            assert!(error.to_string().contains(why), "{bindings}: {error}");
        }
        let mut activities = Activities::new();
        browser.refuse_direct_calls(&mut activities, ["browser.browser_click", "notes.add"]);
        assert_eq!(activities.names().into_iter().collect::<Vec<_>>(), ["browser.browser_click"]);
        let wrong = Browser::checked(&map(json!({"server": "web"})), &map(json!({"web": {"commands": []}})), base);
        assert!(wrong.unwrap_err().to_string().contains("`web`"));
    }
}
