//! Aiming: checks a planned call against the page, judges it, and replaces ids with descriptions of elements.

use std::collections::BTreeMap;
use std::path::Path;

use obelus_kernel::session::CallError;
use serde_json::{Map, Value, json};
use url::Url;

use super::address::{shown, shown_text};
use super::form::{self, Fill, fills};
use super::guard;
use super::intent::{Intent, Planned};
use super::judge::{self, Class, ElementFacts, PageForm, PageRequest};
use super::page::{Failed, PageQuery, QueryReply};
use super::secrets::Secrets;
use super::snapshot::Element;
use super::{Browser, BrowserMemory, ObservedPage, ShownObservation};

/// Keys that move the cursor and type nothing.
const MOVING: [&str; 12] = [
    "Tab",
    "Escape",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "PageUp",
    "PageDown",
    "Home",
    "End",
    "F5",
    "Shift",
];

/// The verdict on an action.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActionVerdict {
    pub(super) class: Class,
    /// Its target: a form as it would be sent, or a link.
    pub(super) leads: Option<Value>,
    /// The request of its form.
    pub(super) request: Option<PageRequest>,
}

/// Judges an action on an element. `fills` is what is typed into its form first, `held` are its requests that were
/// held back.
pub(super) fn judged(
    intent: &Intent,
    element: Option<(&Element, &ElementFacts)>,
    fills: &[Fill],
    held: &[PageRequest],
    memory: &BrowserMemory,
    secrets: &Secrets,
) -> ActionVerdict {
    let sites = &memory.sites;
    let none = |class| ActionVerdict { class, leads: None, request: None };
    let with_form = |form: &PageForm| ActionVerdict {
        class: judge::submitting(form, sites),
        leads: Some(form::form_as_shown(form, fills, sites, secrets)),
        request: sent_by(form),
    };
    let pressed = |element: &Element, facts: &ElementFacts| {
        let class = judge::pressing(&element.role, facts, sites);
        match (&facts.link, &facts.form) {
            (Some(link), _) => {
                let leads = json!({"method": "GET", "address": shown_text(link)});
                ActionVerdict { class, leads: Some(leads), request: None }
            }
            (None, Some(form)) if facts.submits => with_form(form),
            _ => none(class),
        }
    };
    let mut judged = match (intent, element) {
        (Intent::Go(address), _) => none(judge::going(address, sites)),
        (Intent::Wait, _) => none(Class::Wait),
        (Intent::Back | Intent::Tab | Intent::Find(_) | Intent::Hover, _) => none(Class::Look),
        (Intent::Dialog { accept }, _) => {
            let modal = memory.observed.as_ref().and_then(|observed| observed.modal.as_ref());
            let asks = modal.is_none_or(|modal| modal.kind != "alert");
            none(if *accept && asks { Class::Press } else { Class::Look })
        }
        (Intent::Files(paths), _) => none(if paths.is_empty() { Class::Look } else { Class::Fill }),
        (Intent::Press | Intent::Point { .. } | Intent::Fields { submit: true }, Some((element, facts))) => {
            pressed(element, facts)
        }
        (Intent::Type { submit: true }, Some((_, facts))) => match &facts.form {
            Some(form) if facts.enters => with_form(form),
            _ => none(Class::Press),
        },
        (Intent::Type { submit: false } | Intent::Choose | Intent::Fields { .. }, _) => none(Class::Fill),
        (Intent::Key(key), Some((element, facts))) => match (key.as_str(), &facts.form) {
            ("Enter" | "NumpadEnter", Some(form)) if facts.enters => with_form(form),
            ("Enter" | "NumpadEnter", _) => pressed(element, facts),
            (" " | "Space", _) if !facts.editable => pressed(element, facts),
            (key, _) if MOVING.contains(&key) => none(Class::Look),
            (key, _) if facts.editable && !key.contains('+') => none(Class::Fill),
            _ => none(Class::Press),
        },
        (Intent::Key(key), None) if MOVING.contains(&key.as_str()) => none(Class::Look),
        _ => none(Class::Press),
    };
    judged.class = if held.is_empty() { judged.class } else { judged.class.max(guard::class_of(held)) };
    judged
}

/// The request of a form, unless it only reads.
fn sent_by(form: &PageForm) -> Option<PageRequest> {
    let address = Url::parse(&form.address).ok()?;
    (form.method == "POST").then(|| guard::request("POST", &address))
}

/// The index of the element by which an action is judged.
pub(super) fn judged_by(intent: &Intent, count: usize) -> usize {
    if matches!(intent, Intent::Fields { submit: true }) { count.saturating_sub(1) } else { 0 }
}

/// Adds the kind of each field, if it is missing.
fn name_kinds(act: &mut Map<String, Value>, known: &[(&Element, &ElementFacts)]) {
    let fields = act.get_mut("fields").and_then(Value::as_array_mut);
    for (field, (element, facts)) in fields.into_iter().flatten().zip(known) {
        let kind = match element.role.as_str() {
            "checkbox" | "radio" | "slider" if !facts.editable => element.role.as_str(),
            "switch" | "menuitemcheckbox" => "checkbox",
            _ if facts.editable => "textbox",
            _ => "combobox",
        };
        if let Value::Object(field) = field {
            field.entry("type").or_insert_with(|| json!(kind));
        }
    }
}

/// The description by which an element is found again.
fn place(element: &Element) -> Map<String, Value> {
    let Value::Object(place) = json!({"role": element.role, "name": element.label, "nth": element.nth}) else {
        return Map::new();
    };
    place
}

/// The key under which an element's requests are noted.
pub(super) fn note(address: &str, role: &str, name: &str, nth: u64) -> String {
    format!("{address} {role} {nth} {name}")
}

/// Checks that the element supports the action.
pub(super) fn fit(
    intent: &Intent,
    element: &Element,
    facts: &ElementFacts,
    kind: Option<&str>,
) -> Result<(), CallError> {
    let types = matches!(intent, Intent::Type { .. }) || kind == Some("textbox");
    let moves = matches!(intent, Intent::Hover | Intent::Key(_));
    if !moves && (element.is("disabled") || !facts.enabled) {
        let words = "the element is disabled, and nothing can be done with it now; see what the page still wants";
        return Err(CallError::new("disabled", words.to_owned()));
    }
    if types && !facts.editable {
        let words = "nothing can be typed into this element; take a field that is not read-only";
        return Err(CallError::new("not_editable", words.to_owned()));
    }
    Ok(())
}

/// The full paths of files to upload.
pub(super) fn files(paths: &[String], folder: Option<&Path>) -> Result<Vec<Value>, CallError> {
    let refused = |words: String| Err(CallError::new("refused", words));
    let Some(folder) = folder else {
        return refused("files are not given to pages, for the agent's file has no `browser.uploads`".to_owned());
    };
    let Ok(folder) = folder.canonicalize() else {
        return refused(format!("there is no folder {}", folder.display()));
    };
    let mut files = Vec::new();
    for path in paths {
        match folder.join(path).canonicalize() {
            Ok(file) if file.starts_with(&folder) && file.is_file() => files.push(json!(file)),
            _ => return refused(format!("there is no such file in {}", folder.display())),
        }
    }
    Ok(files)
}

impl Browser {
    /// The browser's tool in a planned call; none for other tools.
    fn own_tool<'a>(&self, tool: &'a str) -> Option<&'a str> {
        let own = tool.strip_prefix(self.section.server()).and_then(|rest| rest.strip_prefix('.'));
        own.or_else(|| Some(tool).filter(|tool| tool.starts_with("browser_") && !tool.contains('.')))
    }

    /// Checks and judges a planned call.
    pub(super) async fn aim(&self, call: &Value) -> Result<Value, Failed> {
        let tool = call.get("tool").and_then(Value::as_str);
        let Some(tool) = tool else {
            return Err(Failed::new("bad_params", "`tool` must be the name of the planned tool; nothing is planned"));
        };
        let empty = Map::new();
        let params = match call.get("params") {
            Some(Value::Object(params)) => params,
            None | Some(Value::Null) => &empty,
            Some(_) => return Err(Failed::new("bad_params", "`params` must be an object")),
        };
        let Some(own) = self.own_tool(tool) else {
            return Ok(json!({"tool": tool, "params": params}));
        };
        let mut planned = Planned::new(own, params)?;
        let mut intent = Intent::of(&planned.act)?;
        let mut memory = self.memory.lock().await;
        let memory = &mut *memory;
        if let Intent::Go(address) = &intent {
            memory.note_addresses([address.as_str()], &self.section.secrets);
        }
        let modal =
            memory.observed.as_ref().and_then(|observed| observed.modal.as_ref()).map(|modal| modal.kind.clone());
        if let (Intent::Dialog { accept: false }, Some("file")) = (&intent, modal.as_deref()) {
            planned = Planned::new("browser_file_upload", &empty)?;
            intent = Intent::Files(Vec::new());
        }
        match (&intent, modal.as_deref()) {
            (Intent::Dialog { .. }, Some("file")) | (Intent::Files(_), None) => {
                return Err(Failed::new("no_dialog", "the page does not wait for this; observe what is there"));
            }
            (Intent::Dialog { .. }, None) => {
                return Err(Failed::new("no_dialog", "no dialog is open; observe what is there"));
            }
            (Intent::Dialog { .. } | Intent::Files(_), Some(_)) | (Intent::Wait, None) => {}
            (_, Some("file")) => {
                let words = "the page waits for files; give up on it by `browser_handle_dialog` with `accept` false";
                return Err(Failed::new("dialog_open", words));
            }
            (_, Some(_)) => {
                return Err(Failed::new("dialog_open", "a dialog is open; answer it by `browser_handle_dialog` first"));
            }
            _ => {}
        }
        if let Intent::Files(paths) = &intent
            && !paths.is_empty()
        {
            files(paths, self.section.uploads.as_deref())?;
        }
        if let Intent::Point { x, y } = intent {
            return self.aimed_at_a_point(planned, (x, y), memory).await;
        }
        if !intent.touches() {
            return Ok(self.aimed_at_no_element(&planned, &intent, memory));
        }
        self.aimed_at_elements(planned, &intent, memory).await
    }

    fn aimed_at_no_element(&self, planned: &Planned, intent: &Intent, memory: &BrowserMemory) -> Value {
        let judged = judged(intent, None, &[], &[], memory, &self.section.secrets);
        let here = memory.observed.as_ref().map_or("about:blank", |observed| &observed.address);
        let (address, role, name) = match intent {
            Intent::Go(address) => (shown(address), "page", ""),
            Intent::Dialog { .. } | Intent::Files(_) => {
                let kind = memory
                    .observed
                    .as_ref()
                    .and_then(|observed| observed.modal.as_ref())
                    .map_or("", |modal| &modal.kind);
                (here.to_owned(), "dialog", kind)
            }
            _ => (here.to_owned(), "page", ""),
        };
        json!({"tool": judged.class.name(), "params": {
            "address": address, "role": role, "name": name, "nth": 0, "do": planned.act,
        }})
    }

    async fn aimed_at_elements(
        &self,
        mut planned: Planned,
        intent: &Intent,
        memory: &mut BrowserMemory,
    ) -> Result<Value, Failed> {
        let Some(observed) = memory.observed.as_ref() else {
            return Err(Failed::new(
                "not_observed",
                "the page may have changed: observe first, and take ids from there",
            ));
        };
        let elements = meant(observed, memory.shown.as_ref(), &planned.ids, intent)?;
        let by = judged_by(intent, elements.len());
        if let Some(within) = elements.get(by).and_then(|element| observed.around_for(intent, element)) {
            planned.act.insert("within".to_owned(), json!(within));
        }
        let here = observed.address.clone();
        let ids = elements.iter().map(|element| element.id.clone()).collect();
        let reply = match self.ask(memory, PageQuery { elements: ids, ..PageQuery::default() }).await? {
            QueryReply::PageReply(reply) => reply,
            QueryReply::Dialog(_) => return Err(Failed::new("not_observed", "a dialog has opened: observe first")),
        };
        if reply.fresh || shown_text(&reply.address) != here {
            memory.observed = None;
            return Err(Failed::new("not_observed", "the page has changed by itself: observe first"));
        }
        let page = Url::parse(&reply.address).map_err(|_| Failed::new("browser", "the page has no address"))?;
        let mut known = Vec::new();
        for (at, element) in elements.iter().enumerate() {
            let Some(Some(facts)) = reply.facts.get(at) else {
                memory.observed = None;
                return Err(Failed::new("unknown_element", "the element is gone: observe first"));
            };
            // A submit button is often disabled until the form is filled in.
            if at != by || at == 0 {
                fit(intent, element, facts, kind_of(&planned.act, at))?;
            }
            known.push((element, facts));
        }
        name_kinds(&mut planned.act, &known);
        for (text, (_, facts)) in typed_texts(&planned.act).into_iter().zip(&known) {
            self.section.secrets.typed(text, &page, facts, &self.section.sites)?;
        }
        let first = known.get(by).copied();
        let fills = fills(&planned.act, &known.iter().map(|(_, facts)| *facts).collect::<Vec<_>>(), by);
        let noted = first.map(|(element, _)| note(&here, &element.role, &element.label, element.nth as u64));
        let held = noted.and_then(|noted| memory.held.get(&noted)).cloned().unwrap_or_default();
        let judged = judged(intent, first, &fills, &held, memory, &self.section.secrets);
        bind(&mut planned.act, intent, &elements);
        Ok(aimed(&here, first.map(|(element, _)| element), judged, &held, planned.act))
    }
}

/// The aimed call.
pub(super) fn aimed(
    here: &str,
    element: Option<&Element>,
    judged: ActionVerdict,
    held: &[PageRequest],
    act: Map<String, Value>,
) -> Value {
    let mut params = Map::new();
    params.insert("address".to_owned(), json!(here));
    match element {
        Some(element) => params.extend(place(element)),
        None => params.extend(["role", "name", "nth"].map(str::to_owned).into_iter().zip(page_itself())),
    }
    // Empty fields are left out for the person who is asked.
    let parts = [("form", judged.leads), ("sends", guard::requests_as_shown(held))];
    params.extend(parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    params.insert("do".to_owned(), Value::Object(act));
    json!({"tool": judged.class.name(), "params": params})
}

/// The elements that a planned action names; for a key, the focused one.
fn meant(
    observed: &ObservedPage,
    shown: Option<&ShownObservation>,
    ids: &[String],
    intent: &Intent,
) -> Result<Vec<Element>, Failed> {
    let unknown = |id: &String| {
        let words = format!("`{id}` is not on the page as it was observed; take an id from the observation");
        Failed::new("unknown_element", words)
    };
    let own = |id: &String| shown.and_then(|shown| shown.page.own_id(id)).and_then(|own| observed.snapshot.get(own));
    let named = ids.iter().map(|id| own(id).cloned().ok_or_else(|| unknown(id)));
    let mut elements = named.collect::<Result<Vec<_>, _>>()?;
    if matches!(intent, Intent::Key(_)) {
        elements.extend(observed.snapshot.active().cloned());
    }
    Ok(elements)
}

/// Role, name and index that stand for the page itself.
fn page_itself() -> [Value; 3] {
    [json!("page"), json!(""), json!(0)]
}

/// Replaces the ids of further elements with their descriptions.
fn bind(act: &mut Map<String, Value>, intent: &Intent, elements: &[Element]) {
    match intent {
        Intent::Fields { .. } => {
            let fields = act.get_mut("fields").and_then(Value::as_array_mut);
            for (field, element) in fields.into_iter().flatten().zip(elements) {
                if let Value::Object(field) = field {
                    field.extend(place(element));
                }
            }
        }
        Intent::Drag => {
            if let Some(to) = elements.get(1) {
                act.insert("to".to_owned(), Value::Object(place(to)));
            }
        }
        _ => {}
    }
}

/// The declared kind of the field at this index.
pub(super) fn kind_of(act: &Map<String, Value>, at: usize) -> Option<&str> {
    act.get("fields")?.get(at)?.get("type")?.as_str()
}

/// The texts that would be typed.
pub(super) fn typed_texts(act: &Map<String, Value>) -> Vec<&str> {
    let fields = act.get("fields").and_then(Value::as_array).into_iter().flatten();
    let texts = fields.filter_map(|field| field.get("value")?.as_str());
    let one = act.get("text").and_then(Value::as_str).filter(|_| act.get("tool") == Some(&json!("browser_type")));
    one.into_iter().chain(texts).collect()
}

/// Held back requests, by element.
pub(super) type HeldByElement = BTreeMap<String, Vec<PageRequest>>;
