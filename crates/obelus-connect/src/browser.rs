//! The browser: an MCP server made safe to act with.
//!
//! An agent that works with pages observes, plans one call to the browser, has it aimed, and acts. Ids of elements live
//! from an observation to the next action and no longer. What is kept of an action is what a person can be asked about:
//! the page's address, the element's role and name, the form. Between the pages and the network stands a guard, which
//! lets through what was agreed to.
//!
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | `section` | what an agent's file says of its browser |
//! | `find` | where the server and the browser are on this machine |
//! | `launch` | the server that is started where the file names none |
//! | `activities` | observing, aiming and acting as activities |
//! | `observe` | what the page shows, in words and as a picture |
//! | `aim` | a planned call is checked against the page and judged |
//! | `act` | the element is found again, and what was judged is done |
//! | `around` | what stands around an element that has others of its name |
//! | `point` | a point of the picture is pressed |
//! | `intent` | what a planned call wants |
//! | `judge` | what an action would do |
//! | `form` | a form as it is shown |
//! | `guard` | what pages may send |
//! | `page` | our program beside the browser, and what it is asked |
//! | `profile` | cookies and stored texts, kept with the session |
//! | `answer` | what the server says |
//! | `view` | what is shown of a page |
//! | `table` | rows of tables on one line each |
//! | `difference` | the ids that are shown, and what changed of a page |
//! | `offer` | what can be planned, in our words |
//! | `snapshot` | the elements of a page |
//! | `sites` | which sites are allowed |
//! | `secrets` | texts that are typed by name |
//! | `address` | addresses of pages, as they are told and kept |
//! | `shots` | pictures of pages |

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
mod point;
mod profile;
mod secrets;
mod section;
mod shots;
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
use activities::{Part, Step};
use aim::HeldBy;
use answer::Modal;
use difference::{Numbers, ShownPage};
use page::{Ask, Failed, Reply, Told};
use profile::Keeper;
use secrets::Secrets;
use shots::Shots;

pub use find::{BrowserParts, MissingPart, PLAYWRIGHT_MCP, find};
pub use judge::Class;
pub use launch::Outputs;
pub use section::Section;
pub use sites::Sites;
pub use snapshot::{Element, PageSnapshot, is_id};

/// The browser of a session.
pub struct Browser {
    /// Its server, or why there is none.
    server: Result<Arc<Server>, String>,
    section: Section,
    memory: Mutex<Memory>,
}

impl std::fmt::Debug for Browser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Browser").field("server", &self.section.server).finish_non_exhaustive()
    }
}

/// What is known from one step to the next. None of it is kept.
struct Memory {
    /// The page as it was observed; none once something was done.
    seen: Option<Seen>,
    /// Where the browser is, in full.
    address: Option<String>,
    /// Whether it was started anew since.
    reborn: bool,
    /// Where it was last on an allowed site.
    home: Option<String>,
    /// The sites of the file, and those that a person allowed since.
    sites: Sites,
    /// What elements tried to send.
    held: HeldBy,
    /// The element that was acted on last.
    note: Option<String>,
    /// The last observation, and how many before it were the same.
    last: Option<(String, u32)>,
    /// The page as it was shown last.
    shown: Option<Shown>,
    /// Whether the model has that before its eyes, so that what changed is enough.
    is_base_shown: bool,
    /// The ids that are shown.
    numbers: Numbers,
    /// A text that the next observation looks for.
    focus: Option<String>,
    shots: Shots,
    /// What the browser knows of its user.
    keeper: Keeper,
    /// What people are told of pages and the journal does not keep.
    notes: PageNotes,
}

impl Memory {
    /// Notes addresses in full for whoever is asked about them.
    fn note_addresses<'a>(&mut self, addresses: impl IntoIterator<Item = &'a str>, secrets: &Secrets) {
        let mut is_new = false;
        for address in addresses.into_iter().filter(|address| address.starts_with("http")) {
            is_new |= self.notes.note_address(&address::shown_text(address), &secrets.hide(address.to_owned()));
        }
        if is_new {
            self.keep_notes();
        }
    }

    /// Without a folder, and where it cannot be written, people see addresses as the journal has them.
    fn keep_notes(&self) {
        if let Some(folder) = self.keeper.folder() {
            let _ = self.notes.write(folder);
        }
    }

    /// Counts observations in a row that are the same.
    fn count(&mut self, digest: &str) -> u32 {
        let count = match &self.last {
            Some((last, count)) if last == digest => count + 1,
            _ => 0,
        };
        self.last = Some((digest.to_owned(), count));
        count
    }
}

/// A page as it was observed.
#[derive(Default)]
struct Seen {
    /// As it is shown.
    address: String,
    head: String,
    text: String,
    snapshot: PageSnapshot,
    modal: Option<Modal>,
    /// Whether the server left something out.
    cut: bool,
}

/// What was shown of a page.
struct Shown {
    address: String,
    /// As Playwright wrote it down.
    text: String,
    page: ShownPage,
    /// All that the observation said.
    whole: String,
}

impl Shown {
    /// Whether it is what was observed last in a session.
    fn lies_in(&self, slot: &ObservationSlot) -> bool {
        slot.latest().is_some_and(|latest| latest.text == self.whole)
    }
}

impl Browser {
    /// The browser that the section describes, on one of these servers. Pictures go to the section's folder, or else to
    /// `shots`; cookies and what sites store are kept in the folder `profile`. Nothing is started.
    pub fn new(
        section: Section,
        servers: &Servers,
        shots: PathBuf,
        profile: Option<&Path>,
    ) -> Result<Arc<Self>, BindingError> {
        let Some(server) = servers.get(&section.server) else {
            let problem = format!("there is no server `{}` under `mcp`", section.server);
            return Err(BindingError { binding: "browser".to_owned(), field: "`server`".to_owned(), problem });
        };
        Ok(Self::with(section, Ok(server), shots, profile.map(Keeper::open).unwrap_or_default()))
    }

    /// A browser that is not there: whatever is asked of it is an error that says why.
    pub fn missing(section: Section, why: impl Into<String>) -> Arc<Self> {
        Self::with(section, Err(why.into()), PathBuf::new(), Keeper::default())
    }

    fn with(section: Section, server: Result<Arc<Server>, String>, shots: PathBuf, keeper: Keeper) -> Arc<Self> {
        let memory = Memory {
            seen: None,
            address: None,
            reborn: false,
            home: None,
            sites: section.sites.clone(),
            held: HeldBy::new(),
            note: None,
            last: None,
            shown: None,
            is_base_shown: false,
            numbers: Numbers::default(),
            focus: None,
            shots: Shots::new(section.shots.clone().unwrap_or(shots)),
            notes: keeper.folder().map(PageNotes::read).unwrap_or_default(),
            keeper,
        };
        Arc::new(Self { server, section, memory: Mutex::new(memory) })
    }

    fn server(&self) -> Result<&Server, Failed> {
        self.server.as_deref().map_err(|why| Failed::new("no_browser", format!("there is no browser: {why}")))
    }

    /// Checks what a file says of its browser and of its servers, without a look at this machine. What is returned can be
    /// bound, to check bindings too, and nothing else.
    pub fn checked(
        section: &Map<String, Value>,
        mcp: &Map<String, Value>,
        base: &Path,
    ) -> Result<Arc<Self>, BindingError> {
        let section = Section::parse(section, base)?;
        let mut mcp = mcp.clone();
        mcp.entry(section.server.clone()).or_insert_with(|| json!({"command": ["playwright-mcp"]}));
        Self::new(section, &Servers::parse(&mcp, base)?, base.to_owned(), None)
    }

    /// Adds the activity for `{operator: PART}`: `observe`, `aim` or `act`. Tools that act have the name of what they do, and
    /// may share one activity.
    pub fn bind_one(self: &Arc<Self>, activities: &mut Activities, name: &str, part: &str) -> Result<(), BindingError> {
        let part = match part {
            "observe" => Part::Observe,
            "aim" => Part::Aim,
            "act" => Part::Act,
            other => {
                let problem = format!("`{other}` is no part of a browser; there are observe, aim and act");
                return Err(BindingError { binding: name.to_owned(), field: "`operator`".to_owned(), problem });
            }
        };
        activities.add(name, Step { browser: Arc::clone(self), part });
        Ok(())
    }

    /// Adds everything that a browser does, under its usual names.
    pub fn bind_into(self: &Arc<Self>, activities: &mut Activities) {
        let step = |part| Step { browser: Arc::clone(self), part };
        activities.add("observe", step(Part::Observe));
        activities.add("aim", step(Part::Aim));
        for class in Class::ALL {
            activities.add(class.name(), step(Part::Act));
        }
    }

    /// Whether a tool is one of the browser's server.
    pub fn owns(&self, tool: &str) -> bool {
        tool.split_once('.').is_some_and(|(server, _)| server == self.section.server)
    }

    /// Whether a tool of the browser's server is offered in our words.
    pub fn describes(&self, tool: &str) -> bool {
        self.owns(tool) && tool.split_once('.').is_some_and(|(_, own)| offer::of(own).is_some())
    }

    /// Whether a tool can be of use: files are given to pages only where the agent's file names a folder for them.
    pub fn offers(&self, tool: &str) -> bool {
        let gives_files = self.owns(tool) && tool.ends_with(".browser_file_upload");
        !gives_files || self.section.uploads.is_some()
    }

    /// Puts our words in the place of those that the server has for the browser's tools.
    pub fn describe(&self, tools: &mut [(String, Value)]) {
        for (name, schema) in tools {
            let own = name.strip_prefix(&self.section.server).and_then(|rest| rest.strip_prefix('.'));
            if let Some(ours) = own.and_then(offer::of) {
                *schema = ours.clone();
            }
        }
    }

    /// Has calls to the browser's own tools refused, for these names: a session knows the tools so that they can be planned,
    /// and what is planned is aimed first.
    pub fn refuse_direct_calls<'a>(
        self: &Arc<Self>,
        activities: &mut Activities,
        names: impl IntoIterator<Item = &'a str>,
    ) {
        for name in names.into_iter().filter(|name| self.owns(name)) {
            activities.add(name, Step { browser: Arc::clone(self), part: Part::Direct });
        }
    }

    /// Asks the page something, and keeps in mind where it is.
    async fn ask(&self, memory: &mut Memory, ask: Ask) -> Result<Reply, Failed> {
        let (server, rules) = (self.server()?, &self.section.rules);
        let mut reply = page::ask(server, &memory.sites, rules, ask.clone()).await?;
        // A browser that has ended answers once more, without a page; the next call starts another.
        if matches!(&reply, Reply::Told(told) if told.tabs.is_empty()) {
            reply = page::ask(server, &memory.sites, rules, ask).await?;
        }
        if let Reply::Told(told) = &mut reply {
            // What requests carry is told and kept: secrets by name, and no more than a person reads.
            let held = told.held.iter_mut().map(|held| &mut held.request);
            for value in held.chain(&mut told.sent).flat_map(|request| request.fields.values_mut()) {
                *value = guard::carried(&self.section.secrets.hide(std::mem::take(value)));
            }
            let facts = told.facts.iter().flatten().chain(told.point.as_ref().map(|point| &point.facts));
            let forms = facts.clone().filter_map(|facts| Some(facts.form.as_ref()?.address.as_str()));
            let links = facts.filter_map(|facts| facts.link.as_deref());
            let addresses = links.chain(forms).chain([told.address.as_str()]);
            memory.note_addresses(addresses, &self.section.secrets);
            self.keep_profile(told, memory).await?;
            // One that ended by itself was somewhere: the next observation goes there.
            let was_somewhere = memory.address.as_ref().is_some_and(|address| address.starts_with("http"));
            if (told.fresh || memory.reborn) && was_somewhere && told.address == "about:blank" {
                memory.reborn = true;
                return Ok(reply);
            }
            let parsed = url::Url::parse(&told.address).ok();
            // Nobody goes back by itself to an address that deletes.
            if parsed.is_some_and(|address| memory.sites.allow(&address) && !judge::deletes(&address)) {
                memory.home = Some(told.address.clone());
            }
            memory.address = Some(told.address.clone());
        }
        Ok(reply)
    }

    /// Gives a browser that was started anew what the one before knew, and takes over what this one knows.
    async fn keep_profile(&self, told: &Told, memory: &mut Memory) -> Result<(), Failed> {
        if told.fresh && !memory.keeper.profile.is_empty() {
            let ask = Ask { restore: Some(memory.keeper.profile.clone()), ..Ask::default() };
            page::ask(self.server()?, &memory.sites, &self.section.rules, ask).await?;
        }
        if let Some(profile) = told.profile.clone().filter(|_| !told.fresh) {
            let address = Some(told.address.clone()).filter(|address| address.starts_with("http"));
            let kept = memory.keeper.keep(profile::Profile { address, ..profile });
            kept.map_err(|error| Failed::new("browser", format!("the browser's profile cannot be kept: {error}")))?;
        }
        Ok(())
    }

    /// Sees to the guard before anything is done.
    async fn guarded(&self, memory: &mut Memory) -> Result<(), Failed> {
        match self.ask(memory, Ask { take: true, ..Ask::default() }).await? {
            Reply::Told(_) => Ok(()),
            Reply::Dialog(_) => Err(Failed::new("dialog_open", "a dialog is open: observe first")),
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
