//! Acting: finds the element again on the current page, and carries out the judged action if nothing has changed.

use std::time::Duration;

use obelus_kernel::session::CallError;
use serde_json::{Map, Value, json};
use url::Url;

use super::address::{instead_of, reopened, shown_text};
use super::aim::{ActionVerdict, files, fit, judged, judged_by, kind_of, note};
use super::answer::{BrowserAnswer, Modal, in_our_words};
use super::form::{self, fills};
use super::guard::{self, Permit};
use super::intent::{Intent, arguments};
use super::judge::{Class, ElementFacts, PageRequest, deletes};
use super::page::{Failed, PageQuery, PageReply, QueryReply};
use super::snapshot::Element;
use super::view::LineChanges;
use super::{Browser, BrowserMemory, ObservedPage};

/// How long to wait for the page to settle after an action, in milliseconds.
const SETTLE: u32 = 5000;

/// How often, and at what interval, to check a button that a form enables when it is filled in.
const ENABLED_TRIES: u32 = 15;
const ENABLED_PAUSE: Duration = Duration::from_millis(200);

/// A call of an acting tool.
#[derive(Clone)]
pub(super) struct Action<'a> {
    pub(super) class: Class,
    pub(super) address: &'a str,
    pub(super) role: &'a str,
    pub(super) name: &'a str,
    pub(super) nth: u64,
    pub(super) form: &'a Value,
    pub(super) sends: Vec<PageRequest>,
    pub(super) act: &'a Map<String, Value>,
}

impl<'a> Action<'a> {
    fn read(class: Class, call: &'a Value) -> Result<Self, CallError> {
        let wrong = |field: &str| {
            CallError::new(
                "bad_params",
                format!("`{field}` is not what `aim` gives: aim first, and act on what it brings"),
            )
        };
        let text = |field: &str| call.get(field).and_then(Value::as_str).ok_or_else(|| wrong(field));
        let sends = match call.get("sends") {
            None | Some(Value::Null) => Vec::new(),
            Some(sends) => guard::read(sends).ok_or_else(|| wrong("sends"))?,
        };
        Ok(Self {
            class,
            address: text("address")?,
            role: text("role")?,
            name: text("name")?,
            nth: call.get("nth").and_then(Value::as_u64).ok_or_else(|| wrong("nth"))?,
            form: call.get("form").unwrap_or(&Value::Null),
            sends,
            act: call.get("do").and_then(Value::as_object).ok_or_else(|| wrong("do"))?,
        })
    }

    /// The places of all its elements.
    fn places(&self, intent: &Intent) -> Vec<(&'a str, &'a str, u64)> {
        let place = |value: &'a Value| {
            Some((value.get("role")?.as_str()?, value.get("name")?.as_str()?, value.get("nth")?.as_u64()?))
        };
        match intent {
            Intent::Fields { submit } => {
                let fields = self.act.get("fields").and_then(Value::as_array).into_iter().flatten();
                let own = submit.then_some((self.role, self.name, self.nth));
                fields.filter_map(place).chain(own).collect()
            }
            Intent::Drag => {
                let to = self.act.get("to").and_then(place);
                std::iter::once((self.role, self.name, self.nth)).chain(to).collect()
            }
            _ => vec![(self.role, self.name, self.nth)],
        }
    }
}

/// The element at this place.
fn placed<'p>(page: &'p ObservedPage, role: &str, name: &str, nth: u64) -> Option<&'p Element> {
    usize::try_from(nth).ok().and_then(|nth| page.snapshot.find(role, name, nth))
}

/// The element to hover over. This needs no approval, so it is not bound to its place: while the observed page is
/// open, its id finds it even if it has moved.
fn hovered<'p>(
    observed: Option<&ObservedPage>,
    now: &'p ObservedPage,
    role: &str,
    name: &str,
    nth: u64,
) -> Option<&'p Element> {
    let was = observed.and_then(|observed| placed(observed, role, name, nth));
    let same = |element: &&Element| element.role == role && element.label == name;
    let moved = was.and_then(|was| now.snapshot.get(&was.id)).filter(same);
    moved.or_else(|| placed(now, role, name, nth))
}

pub(super) fn changed(what: &str) -> Failed {
    let words =
        format!("{what}; nothing was done. Observe, and plan it again: whoever agreed is asked again if need be");
    Failed::new("changed", words)
}

/// The requests that an action may send. Approving it also allows the sites they go to.
pub(super) fn permitted(action: &Action<'_>, judged: ActionVerdict, memory: &mut BrowserMemory) -> Vec<Permit> {
    if action.class == Class::Leave || action.class.sends() {
        let led = judged.leads.as_ref().and_then(|leads| leads["address"].as_str());
        let asked = action.sends.iter().filter(|request| request.leaves_site).map(|request| request.address.as_str());
        for address in led.into_iter().chain(asked).filter_map(|address| Url::parse(address).ok()) {
            if !memory.sites.allow(&address) {
                memory.sites.add(&address);
            }
        }
    }
    if action.class.sends() {
        let of_form = judged.request.into_iter().map(|request| Permit { request, any: true });
        let shown = action.sends.iter().cloned().map(|request| Permit { request, any: false });
        of_form.chain(shown).collect()
    } else {
        Vec::new()
    }
}

impl Browser {
    /// Carries out the judged action.
    pub(super) async fn act(&self, class: Class, call: &Value) -> Result<Value, Failed> {
        let action = Action::read(class, call)?;
        let intent = Intent::of(action.act)?;
        let mut memory = self.memory.lock().await;
        let memory = &mut *memory;
        // Whatever the result, the page may have changed.
        let observed = memory.observed.take();
        match &intent {
            Intent::Dialog { .. } | Intent::Files(_) => {
                return self.answer_dialog(&action, &intent, observed, memory).await;
            }
            Intent::Find(text) => {
                let found = observed.as_ref().map_or(0, |observed| observed.lines_with(text));
                let address = observed.as_ref().map_or("about:blank", |observed| &observed.address).to_owned();
                memory.focus = Some(text.clone());
                return Ok(json!({"address": address, "did": "find", "found": found}));
            }
            _ => {}
        }
        if let Intent::Point { x, y } = intent {
            return self.act_on_a_point(&action, (x, y), memory).await;
        }
        if !intent.touches() {
            self.guarded(memory).await?;
            if judged(&intent, None, &[], &[], memory, &self.section.secrets).class != class {
                return Err(changed("what this does is judged otherwise now"));
            }
            if let (Class::Leave, Intent::Go(address)) = (class, &intent) {
                memory.sites.add(address);
            }
            return self.run(&action, &intent, &[], &[], Vec::new(), memory).await;
        }
        self.act_on_elements(&action, &intent, observed.as_ref(), memory).await
    }

    async fn act_on_elements(
        &self,
        action: &Action<'_>,
        intent: &Intent,
        observed: Option<&ObservedPage>,
        memory: &mut BrowserMemory,
    ) -> Result<Value, Failed> {
        let mut now = self.observe_page(memory).await?;
        if now.address == "about:blank" && now.modal.is_none() {
            self.open_again(action.address, memory).await?;
            now = self.observe_page(memory).await?;
        }
        if now.modal.is_some() {
            return Err(Failed::new("dialog_open", "a dialog has opened: observe first"));
        }
        if now.address != action.address {
            return Err(changed("the page is another one by now"));
        }
        let mut found = Vec::new();
        for (role, name, nth) in action.places(intent) {
            let element = match intent {
                Intent::Key(_) if role == "page" => continue,
                Intent::Key(_) => now.snapshot.active().filter(|element| element.role == role && element.label == name),
                Intent::Hover => hovered(observed, &now, role, name, nth),
                _ => placed(&now, role, name, nth),
            };
            found.push(element.ok_or_else(|| changed("the element is not on the page any more"))?);
        }
        let within = action.act.get("within").and_then(Value::as_str);
        // Hovering over the wrong row does no harm.
        let is_bound = !matches!(intent, Intent::Hover);
        let by = judged_by(intent, found.len());
        if is_bound && found.get(by).is_some_and(|element| now.around_for(intent, element).as_deref() != within) {
            return Err(changed("something else stands around the element by now"));
        }
        let ids: Vec<_> = found.iter().map(|element| element.id.clone()).collect();
        let ask = PageQuery { elements: ids.clone(), take: true, ..PageQuery::default() };
        let QueryReply::PageReply(page_reply) = self.ask(memory, ask).await? else {
            return Err(Failed::new("dialog_open", "a dialog has opened: observe first"));
        };
        let mut known = Vec::new();
        for (at, element) in found.iter().enumerate() {
            let Some(Some(facts)) = page_reply.facts.get(at) else { return Err(changed("the element is gone")) };
            if at != by || at == 0 {
                fit(intent, element, facts, kind_of(action.act, at))?;
            }
            known.push(facts);
        }
        let first = found.get(by).copied().zip(known.get(by).copied());
        let fills = fills(action.act, &known, by);
        let judged = judged(intent, first, &fills, &action.sends, memory, &self.section.secrets);
        if judged.class != action.class || judged.leads.clone().unwrap_or_default() != *action.form {
            return Err(changed("the element does something else by now, or its form was changed"));
        }
        let permits = permitted(action, judged, memory);
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        self.run(action, intent, &ids, &known, permits, memory).await
    }

    /// Reopens the page if the browser was restarted since the action was judged, as a person may answer hours later.
    /// A page whose full address is unknown, or whose address deletes, is not reopened.
    async fn open_again(&self, shown: &str, memory: &mut BrowserMemory) -> Result<(), Failed> {
        let known = reopened(shown).filter(|address| super::address::shown(address) == shown);
        let address = known.or_else(|| memory.keeper.address_of(shown));
        let Some(address) = address.filter(|address| memory.sites.allow(address)) else { return Ok(()) };
        self.guarded(memory).await?;
        let instead = instead_of(&address);
        let arguments = Map::from_iter([("url".to_owned(), json!(instead.as_ref().unwrap_or(&address).as_str()))]);
        let answer = BrowserAnswer::read(&self.server()?.call("browser_navigate", arguments, None).await?);
        match answer.error {
            None if instead.is_some() => Err(changed(
                "the browser was started anew, and its page was not opened again, for its address says that something is \
                 deleted; the first page of the site was opened instead",
            )),
            None => Ok(()),
            Some(error) => Err(changed(&format!("the page could not be opened again: {}", in_our_words(&error)))),
        }
    }

    /// Calls the server and checks the result. `known` are the facts of the elements with these ids.
    pub(super) async fn run(
        &self,
        action: &Action<'_>,
        intent: &Intent,
        ids: &[&str],
        known: &[&ElementFacts],
        permits: Vec<Permit>,
        memory: &mut BrowserMemory,
    ) -> Result<Value, Failed> {
        let before = memory.address.clone().unwrap_or_default();
        let page = Url::parse(&before).ok();
        let arguments = arguments(action.act, ids, |at, text| {
            let (Some(page), Some(field)) = (&page, known.get(at)) else { return Ok(text.to_owned()) };
            let secret = self.section.secrets.typed(text, page, field, &self.section.sites)?;
            Ok(secret.map_or_else(|| text.to_owned(), |secret| secret.expose().to_owned()))
        })?;
        memory.note = Some(note(action.address, action.role, action.name, action.nth));
        // The guard gets new sites and permits before the action.
        self.ask(memory, PageQuery { permits: Some(permits), take: true, acts: true, ..PageQuery::default() }).await?;
        let mut done = self.call_tool(action.act, arguments).await;
        let is_filled = done.as_ref().is_ok_and(|answer| answer.error.is_none() && answer.modal.is_none());
        if is_filled && matches!(intent, Intent::Fields { submit: true }) {
            done = self.press_after_filling(action, memory).await;
        }
        self.after(action, intent, done, &before, memory).await
    }

    /// Presses the submit button of a form that was just filled in, if it still does what was judged.
    async fn press_after_filling(
        &self,
        action: &Action<'_>,
        memory: &mut BrowserMemory,
    ) -> Result<BrowserAnswer, Failed> {
        for tries in 0.. {
            let now = self.observe_page(memory).await?;
            let button = placed(&now, action.role, action.name, action.nth).filter(|_| now.address == action.address);
            let button = button.ok_or_else(|| changed("the form was filled in, and what sends it is gone"))?;
            let ask = PageQuery { elements: vec![button.id.clone()], ..PageQuery::default() };
            let QueryReply::PageReply(page_reply) = self.ask(memory, ask).await? else {
                return Err(Failed::new("dialog_open", "a dialog has opened after the fields were filled in"));
            };
            let Some(Some(facts)) = page_reply.facts.first() else {
                return Err(changed("the form was filled in, and what sends it is gone"));
            };
            // Pages validate input and enable the button a moment later.
            if (!facts.enabled || button.is("disabled")) && tries < ENABLED_TRIES {
                tokio::time::sleep(ENABLED_PAUSE).await;
                continue;
            }
            let (press, sends, secrets) = (Intent::Press, &action.sends, &self.section.secrets);
            fit(&press, button, facts, None)?;
            let judged = judged(&press, Some((button, facts)), &[], sends, memory, secrets);
            let around = now.around_for(&Intent::Fields { submit: true }, button);
            if around.as_deref() != action.act.get("within").and_then(Value::as_str) {
                return Err(changed("the form was filled in, and something else stands around what sends it"));
            }
            if judged.class != action.class || !form::is_as_shown(action.form, &judged.leads.unwrap_or_default()) {
                return Err(changed("the form was filled in, and sends something else than was shown"));
            }
            let arguments = Map::from_iter([("target".to_owned(), json!(button.id))]);
            return Ok(BrowserAnswer::read(&self.server()?.call("browser_click", arguments, None).await?));
        }
        Err(changed("the form was filled in, and cannot be sent"))
    }

    async fn call_tool(
        &self,
        act: &Map<String, Value>,
        arguments: Map<String, Value>,
    ) -> Result<BrowserAnswer, Failed> {
        let tool = act.get("tool").and_then(Value::as_str).unwrap_or_default();
        Ok(BrowserAnswer::read(&self.server()?.call(tool, arguments, None).await?))
    }

    /// Answers a dialog. Permits of the action that opened it remain valid.
    async fn answer_dialog(
        &self,
        action: &Action<'_>,
        intent: &Intent,
        observed: Option<ObservedPage>,
        memory: &mut BrowserMemory,
    ) -> Result<Value, Failed> {
        let kind = observed.and_then(|observed| observed.modal).map(|modal| modal.kind);
        if kind.as_deref() != Some(action.name) {
            return Err(changed("there is no such dialog open"));
        }
        let mut arguments = arguments(action.act, &[], |_, text| Ok(text.to_owned()))?;
        if let Intent::Files(paths) = intent
            && !paths.is_empty()
        {
            let paths = files(paths, self.section.uploads.as_deref())?;
            arguments.insert("paths".to_owned(), Value::Array(paths));
        }
        let before = memory.address.clone().unwrap_or_default();
        let done = self.call_tool(action.act, arguments).await;
        self.after(action, intent, done, &before, memory).await
    }

    async fn after(
        &self,
        action: &Action<'_>,
        intent: &Intent,
        done: Result<BrowserAnswer, Failed>,
        before: &str,
        memory: &mut BrowserMemory,
    ) -> Result<Value, Failed> {
        let answer = match done {
            // If the connection broke, a permitted request may have been sent.
            Err(failed) => return Err(Failed { doubt: failed.doubt && action.class.sends(), ..failed }),
            Ok(answer) => answer,
        };
        let tool = action.act.get("tool").and_then(Value::as_str).unwrap_or_default();
        let did = tool.strip_prefix("browser_").unwrap_or(tool);
        if let Some(modal) = &answer.modal {
            return Ok(with_dialog(before, did, modal));
        }
        let home = memory.home.clone().unwrap_or_else(|| "about:blank".to_owned());
        let permits = Some(Vec::new());
        let stays = Url::parse(before).is_ok_and(|address| deletes(&address));
        let ask = PageQuery {
            permits,
            take: true,
            settle: SETTLE,
            home: Some(home),
            stays,
            keep: true,
            ..PageQuery::default()
        };
        let reply = match self.ask(memory, ask).await {
            Ok(QueryReply::PageReply(reply)) => reply,
            Ok(QueryReply::Dialog(modal)) => return Ok(with_dialog(before, did, &modal)),
            Err(failed) => return Err(Failed { doubt: action.class.sends(), ..failed }),
        };
        if let Some(left) = &reply.left {
            let words = format!(
                "the page led to {}, which is not among the sites of this agent; it was left again. Whoever wants to go \
                 there plans `browser_navigate`, and a person is asked",
                shown_text(left)
            );
            return Err(Failed::new("left_site", words));
        }
        let change = self.change(&reply, before, memory).await;
        let mut value = self.outcome(action, intent, &answer, &reply, before, did, memory)?;
        if let (Some(value), Some((is_changed, words))) = (value.as_object_mut(), change) {
            value.insert("changed".to_owned(), json!(is_changed));
            value.insert("change".to_owned(), json!(words));
        }
        Ok(value)
    }

    /// Describes how an action changed the page, without quoting the page.
    async fn change(&self, page_reply: &PageReply, before: &str, memory: &mut BrowserMemory) -> Option<(bool, String)> {
        if page_reply.address != before {
            return Some((true, "another page is shown".to_owned()));
        }
        let was = memory.shown.take()?;
        let now = self.observe_page(memory).await.ok().filter(|now| now.modal.is_none())?;
        let changes = LineChanges::between(&was.text, &now.text);
        memory.shown = Some(was);
        Some((!changes.is_empty(), changes.counted()))
    }

    #[expect(clippy::too_many_arguments, reason = "it is the end of one story")]
    fn outcome(
        &self,
        action: &Action<'_>,
        intent: &Intent,
        answer: &BrowserAnswer,
        page_reply: &PageReply,
        before: &str,
        did: &str,
        memory: &mut BrowserMemory,
    ) -> Result<Value, Failed> {
        // Requests that the next page makes while loading do not belong to this action.
        let own: Vec<_> =
            page_reply.held.iter().filter(|held| held.from.is_empty() || held.from == before).cloned().collect();
        let held = guard::distinct(&own);
        if let (false, Some(note)) = (held.is_empty(), &memory.note) {
            memory.held.insert(note.clone(), guard::renewed(&action.sends, &held));
        }
        let sent = guard::lines(&page_reply.sent);
        if let Some(error) = &answer.error {
            let mut words = format!("{}; observe what is there now", in_our_words(error));
            if !sent.is_empty() {
                words = format!("{words}. Sent before that: {}", sent.join(", "));
            }
            return Err(Failed::new("not_done", words));
        }
        let filled = action.class == Class::Fill && !matches!(intent, Intent::Press);
        if !held.is_empty() && sent.is_empty() && !filled {
            let is_other = held.iter().any(|held| action.sends.iter().any(|known| known.is_like(held)));
            let why = if is_other { "it carries something else than was agreed to" } else { "nobody agreed to it" };
            let words = format!(
                "this would send {}; it was held back, for {why}. Observe, and plan the same action again: a person is asked \
                 then",
                guard::lines(&held).join(", ")
            );
            return Err(Failed::new("held", words));
        }
        let mut value = json!({"address": shown_text(&page_reply.address), "did": did, "changed": true});
        if let Some(map) = value.as_object_mut() {
            if action.class.sends() {
                map.insert("sent".to_owned(), json!(sent));
            }
            if !held.is_empty() {
                map.insert("held".to_owned(), json!(guard::lines(&held)));
            }
            for (name, count) in [("downloads", answer.downloads), ("closed_tabs", page_reply.closed)] {
                if count > 0 {
                    map.insert(name.to_owned(), json!(count));
                }
            }
        }
        Ok(value)
    }
}

fn with_dialog(before: &str, did: &str, modal: &Modal) -> Value {
    json!({"address": shown_text(before), "did": did, "changed": true, "dialog": modal.kind})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::PageSnapshot;

    fn page(text: &str) -> ObservedPage {
        ObservedPage { text: text.to_owned(), snapshot: PageSnapshot::parse(text), ..ObservedPage::default() }
    }

    #[test]
    fn a_hovered_element_is_found_after_wrappers_change() {
        let before = page("- generic [ref=e1]:\n  - generic [ref=e2]\n  - button \"Menu\" [ref=e3]");
        let after =
            page("- generic [ref=e1]:\n  - generic [ref=e9]:\n    - generic [ref=e2]\n    - button \"Menu\" [ref=e3]");
        let find = |observed: Option<&ObservedPage>, now| {
            hovered(observed, now, "generic", "", 1).map(|element| element.id.as_str())
        };
        assert_eq!(find(Some(&before), &after), Some("e2"), "e9 is the second now");
        assert_eq!(find(None, &before), Some("e2"));
        let other = page("- generic [ref=e1]:\n  - link \"Menu\" [ref=e2]");
        assert_eq!(find(Some(&before), &other), None, "an id of something else is not taken");
    }
}
