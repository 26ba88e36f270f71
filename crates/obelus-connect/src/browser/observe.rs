//! Observing: the page's content, as text and as a picture.
//!
//! A page is shown whole when its address changes, and otherwise by its changes (OPR-10). Only the page's address,
//! the number of its elements and the picture's name are stored.

use obelus_runtime::ObservationSlot;
use serde_json::{Map, Value, json};
use url::Url;

use super::address::{digest, instead_of, reopened, shown_text};
use super::answer::{BrowserAnswer, Modal, in_our_words};
use super::around::{around, without_values};
use super::difference::ShownPage;
use super::guard;
use super::intent::Intent;
use super::judge::{PageRequest, deletes};
use super::page::{Failed, PageQuery, PageReply, QueryReply};
use super::secrets::hidden_lines;
use super::snapshot::{Element, PageSnapshot};
use super::table::joined_rows;
use super::view::{compact, without_ids};
use super::{Browser, BrowserMemory, ObservedPage, ShownObservation, picture_folder};
use crate::mcp::Image;

/// How long to wait for the page to settle, in milliseconds.
const SETTLE: u32 = 2000;

/// The number of matching lines that are shown.
const MOST_FOUND: usize = 50;

impl Browser {
    /// Observes the page. `at` is the previous address, for a browser that has just started. The page is shown whole
    /// on request, or if the slot no longer has the previous observation.
    pub(super) async fn observe(&self, at: Option<&str>, whole: bool, slot: &ObservationSlot) -> Result<Value, Failed> {
        let mut memory = self.memory.lock().await;
        let memory = &mut *memory;
        memory.observed = None;
        memory.is_base_shown = !whole && memory.shown.as_ref().is_some_and(|shown| shown.lies_in(slot));
        let mut notes = Vec::new();
        let home = memory.home.clone().unwrap_or_else(|| "about:blank".to_owned());
        let before = memory.address.clone();
        // Permits of a stopped action end here. This is not reached while its dialog is open.
        let permits = Some(Vec::new());
        let stays = before.as_deref().and_then(|at| Url::parse(at).ok()).is_some_and(|at| deletes(&at));
        let ask = PageQuery {
            take: true,
            permits,
            settle: SETTLE,
            home: Some(home),
            stays,
            keep: true,
            ..PageQuery::default()
        };
        let mut reply = match self.ask(memory, ask).await? {
            QueryReply::PageReply(reply) => reply,
            QueryReply::Dialog(modal) => return Ok(self.report_dialog(modal, memory)),
        };
        if let Some(left) = &reply.left {
            notes
                .push(format!("the page led to {}, which is not an allowed site; it was left again", shown_text(left)));
        }
        let reborn = std::mem::take(&mut memory.reborn);
        if (reply.fresh || reborn) && reply.address == "about:blank" {
            let known = before.filter(|address| address.starts_with("http"));
            if let Some(modal) = self.reopen(known.as_deref(), at, &mut reply, &mut notes, memory).await? {
                return Ok(self.report_dialog(modal, memory));
            }
        }
        self.held_since(&reply, &mut notes, memory);
        let mut observed = self.observe_page(memory).await?;
        if let Some(modal) = observed.modal.take() {
            return Ok(self.report_dialog(modal, memory));
        }
        let image = self.picture(&observed, &mut notes, memory).await;
        Ok(self.report_page(observed, image, &notes, memory))
    }

    /// Reopens the previous page in a restarted browser.
    async fn reopen(
        &self,
        known: Option<&str>,
        at: Option<&str>,
        page_reply: &mut PageReply,
        notes: &mut Vec<String>,
        memory: &mut BrowserMemory,
    ) -> Result<Option<Modal>, Failed> {
        let known = known.and_then(|address| Url::parse(address).ok());
        let kept = |at: &str| memory.keeper.address_of(at).or_else(|| reopened(at));
        let Some(address) = known.or_else(|| at.and_then(kept)) else { return Ok(None) };
        if !memory.sites.allow(&address) {
            notes.push(format!(
                "the browser was started anew; before, it was at {address}, which is not among the sites of this agent: \
                 `browser_navigate` asks a person"
            ));
            return Ok(None);
        }
        let instead = instead_of(&address);
        notes.push(match &instead {
            None => "the browser was started anew, and the page was opened again: what was typed is gone".to_owned(),
            Some(first) => format!(
                "the browser was started anew. It was at {}, which was not opened again, for the address says that something \
                 is deleted; {first} was opened instead",
                shown_text(address.as_str())
            ),
        });
        let arguments = Map::from_iter([("url".to_owned(), json!(instead.as_ref().unwrap_or(&address).as_str()))]);
        let answer = BrowserAnswer::read(&self.server()?.call("browser_navigate", arguments, None).await?);
        if let Some(modal) = answer.modal {
            return Ok(Some(modal));
        }
        if let Some(error) = answer.error {
            notes.push(format!("it could not be opened: {}", in_our_words(&error)));
        }
        let home = Some("about:blank".to_owned());
        match self.ask(memory, PageQuery { take: true, settle: SETTLE, home, ..PageQuery::default() }).await? {
            QueryReply::PageReply(now) => *page_reply = *now,
            QueryReply::Dialog(modal) => return Ok(Some(modal)),
        }
        Ok(None)
    }

    /// Notes requests held back since the last action: it may have caused them with a delay.
    fn held_since(&self, page_reply: &PageReply, notes: &mut Vec<String>, memory: &mut BrowserMemory) {
        let held = guard::distinct(&page_reply.held);
        if held.is_empty() {
            return;
        }
        notes.push(format!(
            "the page tried to send {}, and nobody had agreed to that, so it was held back. If the task needs it, plan the \
             action that sends it, and a person is asked; else go on without it",
            guard::lines(&held).join(", ")
        ));
        let sends = page_reply.held.iter().any(|held| held.from.is_empty() || held.from == page_reply.address);
        if let (true, Some(note)) = (sends, &memory.note) {
            let known = memory.held.get(note).cloned().unwrap_or_default();
            // A request to another address may be another element's.
            let own = |request: &PageRequest| known.is_empty() || known.iter().any(|known| known.is_like(request));
            let held: Vec<_> = held.into_iter().filter(own).collect();
            memory.held.insert(note.clone(), guard::renewed(&known, &held));
        }
    }

    /// The current page.
    pub(super) async fn observe_page(&self, memory: &mut BrowserMemory) -> Result<ObservedPage, Failed> {
        let reply = match self.ask(memory, PageQuery { snapshot: true, ..PageQuery::default() }).await? {
            QueryReply::PageReply(reply) => reply,
            QueryReply::Dialog(modal) => {
                let address = memory.address.as_deref().unwrap_or_default();
                return Ok(ObservedPage {
                    address: shown_text(address),
                    modal: Some(modal),
                    ..ObservedPage::default()
                });
            }
        };
        let Some(text) = &reply.snapshot else {
            return Err(Failed::new("browser", "the page cannot be observed; wait, and observe again"));
        };
        let text = self.section.secrets.hide(text.clone());
        let mut head = vec![format!("Page: {}", reply.address)];
        let titles = reply.titles.iter().map(|title| title.replace(['\n', '\r'], " ")).collect::<Vec<_>>();
        head.extend(titles.get(reply.current).filter(|title| !title.is_empty()).map(|title| format!("Title: {title}")));
        if reply.tabs.len() > 1 {
            head.push("Tabs:".to_owned());
            for (at, (address, title)) in reply.tabs.iter().zip(&titles).enumerate() {
                let current = if at == reply.current { "(current) " } else { "" };
                head.push(format!("- {at}: {current}[{title}]({address})"));
            }
        }
        let head = self.section.secrets.hide(head.join("\n"));
        let snapshot = PageSnapshot::parse(&text);
        let address = shown_text(&reply.address);
        Ok(ObservedPage { address, head, text, snapshot, modal: None, cut: reply.cut_text })
    }

    /// Takes a picture of the page into its folder; none if that fails.
    async fn picture(
        &self,
        observed: &ObservedPage,
        notes: &mut Vec<String>,
        memory: &mut BrowserMemory,
    ) -> Option<std::path::PathBuf> {
        if self.shows_a_secret(observed, memory).await {
            notes.push("there is no picture, for a secret would be seen in it".to_owned());
            return None;
        }
        let path = memory.shots.begin().ok()?;
        // A local server writes the file itself; a remote one sends the picture.
        let ask = PageQuery { picture: path.to_str().map(str::to_owned), ..PageQuery::default() };
        if let Ok(QueryReply::PageReply(page_reply)) = self.ask(memory, ask).await
            && page_reply.picture
            && picture_folder::is_taken(&path)
        {
            if page_reply.cut {
                notes.push("the picture does not show the end of the page, which is too long for one".to_owned());
            }
            return Some(path);
        }
        let arguments = Map::from_iter([("type".to_owned(), json!("png")), ("fullPage".to_owned(), json!(true))]);
        let brought = self.server().ok()?.call("browser_take_screenshot", arguments, None).await.ok();
        let image: Option<Image> = brought.and_then(|brought| brought.images.into_iter().next());
        let written = image.filter(|image| picture_folder::write(&path, &image.data).is_ok());
        if written.is_some() && picture_folder::is_taken(&path) {
            return Some(path);
        }
        let _ = std::fs::remove_file(&path);
        notes.push("there is no picture, for it could not be taken".to_owned());
        None
    }

    /// Whether a secret is visible outside of password fields.
    async fn shows_a_secret(&self, observed: &ObservedPage, memory: &mut BrowserMemory) -> bool {
        let mut ids = Vec::new();
        for line in hidden_lines(&observed.text) {
            match PageSnapshot::parse(line.trim_start()).elements() {
                [field] if field.role == "textbox" => ids.push(field.id.clone()),
                _ => return true,
            }
        }
        if ids.is_empty() {
            return false;
        }
        match self.ask(memory, PageQuery { elements: ids, ..PageQuery::default() }).await {
            Ok(QueryReply::PageReply(page_reply)) => {
                !page_reply.facts.iter().all(|facts| facts.as_ref().is_some_and(|facts| facts.hides))
            }
            _ => true,
        }
    }

    fn report_dialog(&self, modal: Modal, memory: &mut BrowserMemory) -> Value {
        let address = memory.address.as_deref().map_or_else(|| "about:blank".to_owned(), shown_text);
        let how = match modal.kind.as_str() {
            "file" => "The page waits for files. Give up on it by browser_handle_dialog with accept false.",
            _ => "A dialog is open. Nothing else can be done before it is answered by browser_handle_dialog.",
        };
        let text = self.section.secrets.hide(format!("{how}\n{}", modal.words));
        let about = json!({
            "address": address, "elements": 0, "unchanged": memory.count(&digest(&text)), "dialog": modal.kind,
        });
        // The page behind the dialog is still the one that was shown.
        let is_behind = memory.is_base_shown && memory.shown.as_ref().is_some_and(|shown| shown.address == address);
        let changes = is_behind.then(|| text.clone());
        if let Some(shown) = memory.shown.as_mut().filter(|_| is_behind) {
            shown.whole.clone_from(&text);
        }
        memory.observed = Some(ObservedPage { address, modal: Some(modal), ..ObservedPage::default() });
        json!({"about": about, "text": text, "changes": changes})
    }

    fn report_page(
        &self,
        observed: ObservedPage,
        image: Option<std::path::PathBuf>,
        notes: &[String],
        memory: &mut BrowserMemory,
    ) -> Value {
        let unchanged = memory.count(&digest(&format!("{}{}", observed.address, without_ids(&observed.text))));
        let before = memory.shown.take().filter(|before| before.address == observed.address);
        let mut page =
            ShownPage::new(&compact(&observed.text), before.as_ref().map(|before| &before.page), &mut memory.numbers);
        let mut head = observed.head.clone();
        for note in notes {
            head.push_str(&format!("\nNote: {note}"));
        }
        if let Some(focus) = memory.focus.take() {
            head.push_str(&format!("\n{}", page.renamed(&observed.found(&focus), &mut memory.numbers)));
        }
        let text = joined_rows(&page.text());
        let changes = before.as_ref().filter(|_| memory.is_base_shown && text.chars().count() <= self.section.most);
        let changes = changes.and_then(|before| page.changes_since(&before.page));
        // After many changes, the whole page is easier to read.
        let changes = changes.filter(|changes| changes.len() * 2 <= text.len());
        let changes = changes.map(|changes| match changes.as_str() {
            "" => format!("{head}\nNothing that is shown has changed: the page and its ids are as above."),
            changes => format!(
                "{head}\nChanged since it was last shown (+ new, ~ changed, - gone); the rest of the page, and its ids, are as \
                 above:\n\n{changes}"
            ),
        });
        let whole = self.whole(&observed, &head, &text, memory);
        let mut about = json!({"address": observed.address, "elements": page.elements(), "unchanged": unchanged});
        let mut value = json!({"text": whole, "changes": changes});
        if let (Some(path), Some(about), Some(value)) = (image, about.as_object_mut(), value.as_object_mut()) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            about.insert("shot".to_owned(), json!(name));
            memory.notes.note_picture(&observed.address, &path);
            memory.keep_notes();
            value.insert("image".to_owned(), json!(path));
        }
        value["about"] = about;
        memory.shown =
            Some(ShownObservation { address: observed.address.clone(), text: observed.text.clone(), page, whole });
        memory.observed = Some(observed);
        value
    }

    /// The whole page as text.
    fn whole(&self, observed: &ObservedPage, head: &str, page: &str, memory: &BrowserMemory) -> String {
        let mut text = head.to_owned();
        let address = memory.address.as_deref().and_then(|address| Url::parse(address).ok());
        let names = address.map(|page| self.section.secrets.offered(&page, &self.section.sites)).unwrap_or_default();
        if !names.is_empty() {
            text.push_str(&format!("\nSecrets that can be typed here by name: {}", names.join(", ")));
        }
        text.push_str("\n\n");
        text.push_str(&capped(page, self.section.most));
        if observed.cut {
            text.push_str("\n… the page is longer than what the server hands over; the rest is not shown");
        }
        text
    }
}

impl ObservedPage {
    /// The context of an element, if others have its name.
    pub(super) fn around(&self, element: &Element) -> Option<String> {
        let likes: Vec<usize> = self.snapshot.likes_of(element).map(|like| like.line).collect();
        if likes.is_empty() { None } else { around(&self.text, element.line, &likes) }
    }

    /// Like [`Self::around`], for an action: the values of fields that it fills are ignored. `form` compares the values.
    pub(super) fn around_for(&self, intent: &Intent, element: &Element) -> Option<String> {
        if !matches!(intent, Intent::Fields { submit: true }) {
            return self.around(element);
        }
        let likes: Vec<usize> = self.snapshot.likes_of(element).map(|like| like.line).collect();
        if likes.is_empty() { None } else { around(&without_values(&self.text), element.line, &likes) }
    }

    /// The number of lines that contain a text.
    pub(super) fn lines_with(&self, text: &str) -> usize {
        let text = text.to_lowercase();
        self.text.lines().filter(|line| line.to_lowercase().contains(&text)).count()
    }

    /// The lines that contain a text, each with the id of its element or of the nearest one around it.
    fn found(&self, text: &str) -> String {
        let lower = text.to_lowercase();
        let all: Vec<&str> = self.text.lines().collect();
        let places: Vec<usize> = (0..all.len()).filter(|place| all[*place].to_lowercase().contains(&lower)).collect();
        let mut found = format!("Lines with `{text}`: {}", places.len());
        for place in places.into_iter().take(MOST_FOUND) {
            found.push_str(&format!("\n{}", all[place].trim_start()));
            if let Some(holder) = self.holder(&all, place) {
                found
                    .push_str(&format!(" (in {})", holder.trim_start().trim_start_matches("- ").trim_end_matches(':')));
            }
        }
        found
    }

    /// The line of the nearest element with an id around a line.
    fn holder<'l>(&self, lines: &[&'l str], place: usize) -> Option<&'l str> {
        let has_id = |at: usize| self.snapshot.elements().iter().any(|element| element.line == at);
        let depth = |at: usize| lines[at].len() - lines[at].trim_start().len();
        let mut from = place;
        while !has_id(from) {
            from = (0..from).rev().find(|above| depth(*above) < depth(from))?;
        }
        (from != place).then(|| lines[from])
    }
}

/// As many whole lines as fit, and the number of the others.
fn capped(text: &str, most: usize) -> String {
    if text.len() <= most || text.chars().count() <= most {
        return text.to_owned();
    }
    let mut left = most;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let Some(rest) = left.checked_sub(line.chars().count()) else { break };
        left = rest;
        end += line.len();
    }
    let rest = &text[end..];
    let elements = rest.matches(" [ref=").count();
    format!(
        "{}… {} more lines with {elements} elements are not shown; browser_find looks for a text in all of them",
        &text[..end],
        rest.lines().count()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_page_is_cut_at_a_line_with_a_note() {
        let page = "- button \"ж\" [ref=e1]\n- button \"b\" [ref=e2]\n- text: c\n- button \"d\" [ref=e3]";
        assert_eq!(capped(page, 1000), page);
        let cut = capped(page, 25);
        assert!(cut.starts_with("- button \"ж\" [ref=e1]\n… 3 more lines with 2 elements"), "{cut}");
        assert!(capped(page, 3).starts_with("… 4 more lines with 3 elements"));
    }

    #[test]
    fn a_search_covers_the_hidden_part_of_a_page() {
        let text = "- a:\n  - button \"Buy it\" [ref=e1]\n- text: buy\n- b";
        let observed =
            ObservedPage { text: text.to_owned(), snapshot: PageSnapshot::parse(text), ..ObservedPage::default() };
        assert_eq!(observed.lines_with("BUY"), 2);
        assert_eq!(observed.found("BUY"), "Lines with `BUY`: 2\n- button \"Buy it\" [ref=e1]\n- text: buy");
    }

    #[test]
    fn a_search_result_has_the_id_of_its_element() {
        let text = "- list [ref=e1]:\n  - link \"More\" [ref=e2] [cursor=pointer]:\n    - /url: /goods/7\n    - img\n    - text: Kettle\n  - text: Kettle soup";
        let observed =
            ObservedPage { text: text.to_owned(), snapshot: PageSnapshot::parse(text), ..ObservedPage::default() };
        assert_eq!(
            observed.found("kettle"),
            "Lines with `kettle`: 2\n- text: Kettle (in link \"More\" [ref=e2] [cursor=pointer])\n- text: Kettle soup (in list [ref=e1])"
        );
    }
}
