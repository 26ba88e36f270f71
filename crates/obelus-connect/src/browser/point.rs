//! Presses a point of the picture, for controls that are not elements of the snapshot.
//!
//! The element at the point is judged like any pressed element, and must be the same when it is pressed.

use serde_json::{Value, json};

use super::act::{Action, changed, permitted};
use super::address::{digest, shown_text};
use super::aim::{aimed, judged, note};
use super::intent::{Intent, Planned};
use super::page::{Failed, PageQuery, PointedElement, QueryReply};
use super::snapshot::Element;
use super::{Browser, BrowserMemory};

/// The role shown to the person who is asked.
const ROLE: &str = "point";

impl PointedElement {
    /// Its name: its text, or else its class or id.
    fn label(&self) -> String {
        match (self.name.is_empty(), self.hint.is_empty()) {
            (false, _) => self.name.clone(),
            (true, false) => format!("({})", self.hint),
            (true, true) => format!("({})", self.kind),
        }
    }

    /// A digest of its context, if others have the same name.
    fn within(&self) -> Option<String> {
        self.around.as_deref().map(digest)
    }

    fn element(&self) -> Element {
        let (role, label) = (ROLE.to_owned(), self.label());
        let name = label.clone();
        Element { id: String::new(), role, name, states: Vec::new(), url: None, depth: 0, label, nth: 0, line: 0 }
    }
}

impl Browser {
    /// The element at a point, and the page's address.
    async fn pointed(&self, point: (f64, f64), memory: &mut BrowserMemory) -> Result<(PointedElement, String), Failed> {
        let ask = PageQuery { point: Some(point), ..PageQuery::default() };
        let QueryReply::PageReply(page_reply) = self.ask(memory, ask).await? else {
            return Err(Failed::new("dialog_open", "a dialog has opened: observe first"));
        };
        let words = "there is nothing at this point of the page; take a point inside the picture";
        let at = page_reply.point.ok_or_else(|| Failed::new("unknown_element", words))?;
        if !at.facts.enabled {
            return Err(Failed::new("disabled", "what is at this point is disabled; see what the page still wants"));
        }
        Ok((at, shown_text(&page_reply.address)))
    }

    pub(super) async fn aimed_at_a_point(
        &self,
        mut planned: Planned,
        point: (f64, f64),
        memory: &mut BrowserMemory,
    ) -> Result<Value, Failed> {
        let Some(here) = memory.observed.as_ref().map(|observed| observed.address.clone()) else {
            return Err(Failed::new("not_observed", "the page may have changed: observe first"));
        };
        let (at, address) = self.pointed(point, memory).await?;
        if address != here {
            memory.observed = None;
            return Err(Failed::new("not_observed", "the page has changed by itself: observe first"));
        }
        if let Some(within) = at.within() {
            planned.act.insert("within".to_owned(), json!(within));
        }
        let element = at.element();
        let held = memory.held.get(&note(&here, ROLE, &element.label, 0)).cloned().unwrap_or_default();
        let intent = Intent::Point { x: point.0, y: point.1 };
        let judged = judged(&intent, Some((&element, &at.facts)), &[], &held, memory, &self.section.secrets);
        Ok(aimed(&here, Some(&element), judged, &held, planned.act))
    }

    pub(super) async fn act_on_a_point(
        &self,
        action: &Action<'_>,
        point: (f64, f64),
        memory: &mut BrowserMemory,
    ) -> Result<Value, Failed> {
        let (at, address) = self.pointed(point, memory).await?;
        if address != action.address {
            return Err(changed("the page is another one by now"));
        }
        let element = at.element();
        if at.within().as_deref() != action.act.get("within").and_then(Value::as_str) {
            return Err(changed("something else stands around this point by now"));
        }
        if element.label != action.name {
            return Err(changed("something else is at this point by now"));
        }
        let intent = Intent::Point { x: point.0, y: point.1 };
        let judged = judged(&intent, Some((&element, &at.facts)), &[], &action.sends, memory, &self.section.secrets);
        if judged.class != action.class || judged.leads.clone().unwrap_or_default() != *action.form {
            return Err(changed("what is at this point does something else by now"));
        }
        let permits = permitted(action, judged, memory);
        // The page was scrolled; the server counts from the window's corner.
        let mut act = action.act.clone();
        act.extend([("x".to_owned(), json!(at.x)), ("y".to_owned(), json!(at.y))]);
        self.run(&Action { act: &act, ..action.clone() }, &intent, &[], &[], permits, memory).await
    }
}
