//! Classifies an action by its element's role, its form and its target address. Text on the page is ignored. Words in
//! an address must match as whole words: `border` does not contain `order`.

use std::collections::BTreeMap;

use obelus_notebook::names::{PAYING, has_word};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

use super::sites::Sites;

/// Kinds of actions. Each is a tool of the agent, so that a policy can treat it separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Wait for the page.
    Wait,
    /// Navigate on allowed sites, or use controls that stay on the page.
    Look,
    /// Type, select, tick.
    Fill,
    /// Press an element without a form. Its requests are held back.
    Press,
    /// Submit a search form.
    Search,
    /// Go to a site that is not allowed yet.
    Leave,
    /// Submit any other form, or send any other request.
    Submit,
    /// Send a message.
    Send,
    /// Delete.
    Delete,
    /// Pay.
    Pay,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Wait,
        Self::Look,
        Self::Fill,
        Self::Press,
        Self::Search,
        Self::Leave,
        Self::Submit,
        Self::Send,
        Self::Delete,
        Self::Pay,
    ];

    /// The name of its tool.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Look => "look",
            Self::Fill => "fill",
            Self::Press => "press",
            Self::Search => "search",
            Self::Leave => "leave",
            Self::Submit => "submit",
            Self::Send => "send",
            Self::Delete => "delete",
            Self::Pay => "pay",
        }
    }

    /// Whether it sends something and so gets permits.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Submit | Self::Send | Self::Delete | Self::Pay)
    }
}

/// Facts about an element, read in the page.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ElementFacts {
    /// Whether it is enabled.
    pub(super) enabled: bool,
    /// Whether text can be typed into it.
    pub(super) editable: bool,
    /// Whether it takes files.
    pub(super) takes_files: bool,
    /// Whether it hides what is typed.
    pub(super) hides: bool,
    /// Whether it is a search field.
    pub(super) searches: bool,
    /// The full address of its frame, or of the page if it is in no frame.
    pub(super) frame: String,
    /// Whether pressing it submits its form.
    pub(super) submits: bool,
    /// Whether Enter in it submits its form.
    pub(super) enters: bool,
    /// Its link target, in full.
    pub(super) link: Option<String>,
    /// Its form, as this element would submit it.
    pub(super) form: Option<PageForm>,
    /// Its index among the fields of its form.
    pub(super) place: Option<usize>,
}

/// A form, as one of its buttons would submit it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct PageForm {
    /// Its index among the forms of its document.
    pub(super) nth: i64,
    /// `GET`, `POST` or `DIALOG`.
    pub(super) method: String,
    /// Its target address, in full.
    pub(super) address: String,
    pub(super) fields: Vec<PageField>,
    /// Whether the page marks it as a search.
    pub(super) search: bool,
    /// The values of fields such as `_method`, and of the pressed button.
    pub(super) verbs: Vec<String>,
    /// The values of visible fields.
    pub(super) values: Vec<String>,
}

/// A field of a form.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct PageField {
    pub(super) name: String,
    /// `text`, `password`, `hidden`, `textarea`, `select` …
    pub(super) kind: String,
    pub(super) autocomplete: String,
    /// Its label.
    pub(super) label: String,
    /// The label of its group of choices.
    pub(super) group: String,
    /// Its value, as it may be shown.
    pub(super) value: String,
}

/// A request that a page tried to make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct PageRequest {
    pub(super) method: String,
    pub(super) address: String,
    /// The operation's name, if there is one.
    pub(super) operation: Option<String>,
    /// Whether it opens a page on another site.
    #[serde(rename = "leaves")]
    pub(super) leaves_site: bool,
    /// Its content, by name.
    pub(super) fields: BTreeMap<String, String>,
}

impl PageRequest {
    /// Whether another request has the same method, address and operation, whatever its content.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_there = (&self.method, &self.address) == (&other.method, &other.address);
        is_there && self.operation == other.operation && self.leaves_site == other.leaves_site
    }
}

/// Roles of controls with a value.
const VALUES: [&str; 9] =
    ["checkbox", "radio", "switch", "slider", "spinbutton", "option", "combobox", "listbox", "menuitemcheckbox"];

const DELETING: [&str; 5] = ["delete", "remove", "destroy", "erase", "purge"];
const SENDING: [&str; 10] =
    ["send", "message", "messages", "mail", "email", "reply", "comment", "comments", "post", "posts"];
/// Names of fields for payments and for messages.
const CARDS: [&str; 6] = ["card", "cardnumber", "cvv", "cvc", "iban", "payment"];
const MESSAGES: [&str; 4] = ["message", "comment", "recipient", "recipients"];
const SEARCHING: [&str; 9] = ["q", "query", "search", "s", "term", "text", "keywords", "keyword", "find"];

/// Fields and parameters that name the operation.
pub(super) const VERBS: [&str; 6] = ["_method", "action", "do", "op", "cmd", "operation"];

/// Opening an address. A plain link only reads, whatever its address says: a page that asks for confirmation may say
/// `delete` too.
pub(super) fn going(address: &Url, sites: &Sites) -> Class {
    if sites.allow(address) { Class::Look } else { Class::Leave }
}

/// Pressing an element.
pub(super) fn pressing(role: &str, facts: &ElementFacts, sites: &Sites) -> Class {
    if let Some(link) = &facts.link {
        return match Url::parse(link) {
            Ok(address) if matches!(address.scheme(), "http" | "https") => going(&address, sites),
            Ok(address) if address.scheme() == "mailto" => Class::Send,
            // Scripts, and schemes of other programs.
            _ => Class::Press,
        };
    }
    match &facts.form {
        Some(form) if facts.submits => submitting(form, sites),
        _ if VALUES.contains(&role) => Class::Fill,
        _ if facts.editable => Class::Look,
        _ => Class::Press,
    }
}

/// Sending a form.
pub(super) fn submitting(form: &PageForm, sites: &Sites) -> Class {
    if form.method == "DIALOG" {
        return Class::Press;
    }
    let Ok(address) = Url::parse(&form.address) else { return Class::Submit };
    let cards = form.fields.iter().any(|field| field.autocomplete.split(' ').any(|word| word.starts_with("cc-")));
    if cards {
        return Class::Pay;
    }
    if form.verbs.iter().any(|verb| has_word(verb, &DELETING)) || deletes(&address) {
        return Class::Delete;
    }
    if form.method == "GET" {
        return match () {
            () if !sites.allow(&address) => Class::Leave,
            () if searches(form) => Class::Search,
            () => Class::Submit,
        };
    }
    if path_has(&address, &PAYING) {
        Class::Pay
    } else if address.scheme() == "mailto" || form.fields.iter().any(|field| field.kind == "textarea") {
        Class::Send
    } else {
        Class::Submit
    }
}

/// Sending requests that were held back before.
pub(super) fn sending(requests: &[PageRequest]) -> Class {
    let class = |request: &PageRequest| {
        let address = Url::parse(&request.address).ok();
        let says = |words: &[&str]| {
            address.as_ref().is_some_and(|address| path_has(address, words))
                || request.operation.as_deref().is_some_and(|operation| has_word(operation, words))
        };
        let carries = |words: &[&str]| request.fields.keys().any(|name| has_word(name, words));
        let pays = says(&PAYING) || carries(&CARDS);
        let deletes = request.method == "DELETE" || says(&DELETING);
        match () {
            () if pays && deletes => Class::Pay.max(Class::Delete),
            () if pays => Class::Pay,
            () if deletes => Class::Delete,
            () if says(&SENDING) || carries(&MESSAGES) => Class::Send,
            () => Class::Submit,
        }
    };
    requests.iter().map(class).max().unwrap_or(Class::Submit)
}

fn searches(form: &PageForm) -> bool {
    let secret = |field: &PageField| matches!(field.kind.as_str(), "password" | "file");
    let mut texts = form.fields.iter().filter(|field| matches!(field.kind.as_str(), "text" | "search"));
    let one = texts.next().filter(|_| texts.next().is_none());
    let named = one.is_some_and(|field| SEARCHING.contains(&field.name.to_ascii_lowercase().as_str()));
    let typed = form.fields.iter().any(|field| field.kind == "search");
    (form.search || named || typed) && !form.fields.iter().any(secret)
}

/// Whether an address deletes something: by a word in its path, in a parameter's name, or in a parameter that names
/// the operation.
pub(super) fn deletes(address: &Url) -> bool {
    let is_verb = |key: &str| VERBS.contains(&key.to_ascii_lowercase().as_str());
    path_has(address, &DELETING)
        || address
            .query_pairs()
            .any(|(key, value)| has_word(&key, &DELETING) || (is_verb(&key) && has_word(&value, &DELETING)))
}

fn path_has(address: &Url, words: &[&str]) -> bool {
    // The path is decoded, so that `d%65lete` is recognised.
    let is_match = |segment: &str| has_word(&percent_decode_str(segment).decode_utf8_lossy(), words);
    address.path_segments().is_some_and(|mut segments| segments.any(is_match))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites() -> Sites {
        Sites::parse(&["shop.example.test"]).unwrap()
    }

    fn link(address: &str) -> Class {
        pressing("link", &ElementFacts { link: Some(address.to_owned()), ..ElementFacts::default() }, &sites())
    }

    fn field(kind: &str, name: &str) -> PageField {
        PageField { name: name.to_owned(), kind: kind.to_owned(), ..PageField::default() }
    }

    fn form(method: &str, path: &str, fields: &[PageField]) -> PageForm {
        let address = if path.contains(':') { path.to_owned() } else { format!("https://shop.example.test{path}") };
        PageForm { method: method.to_owned(), address, fields: fields.to_vec(), ..PageForm::default() }
    }

    #[test]
    fn links_are_judged_by_their_target() {
        for (address, class) in [
            ("https://shop.example.test/p/2", Class::Look),
            ("https://shop.example.test/checkout", Class::Look),
            ("https://shop.example.test/orders", Class::Look),
            ("https://shop.example.test/border/facebook", Class::Look),
            ("https://shop.example.test/undeleted", Class::Look),
            ("https://shop.example.test/removed-items", Class::Look),
            ("https://shop.example.test/?q=delete", Class::Look),
            ("https://shop.example.test/items/3/delete", Class::Look),
            ("https://shop.example.test/items/3/d%65lete", Class::Look),
            ("https://shop.example.test/delete-account", Class::Look),
            ("https://shop.example.test/removeItem/3", Class::Look),
            ("https://shop.example.test/remove_item.php", Class::Look),
            ("https://shop.example.test/DELETE/3", Class::Look),
            ("https://shop.example.test/admin.php?action=delete&id=3", Class::Look),
            ("https://other.example.test/", Class::Leave),
            ("https://shop.example.test@evil.test/", Class::Leave),
            ("http://shop.example.test:8080/", Class::Leave),
            ("mailto:someone@example.test", Class::Send),
            ("javascript:void(0)", Class::Press),
            ("tel:+1", Class::Press),
            ("no address", Class::Press),
        ] {
            assert_eq!(link(address), class, "{address}");
        }
    }

    #[test]
    fn forms_are_judged_by_method_address_and_fields() {
        let card = PageField { autocomplete: "section-a cc-number".to_owned(), ..field("text", "n") };
        let (q, textarea, password) = (field("search", "x"), field("textarea", "t"), field("password", "p"));
        for (form, class) in [
            (form("POST", "/login", &[field("email", "m"), password.clone()]), Class::Submit),
            (form("POST", "/border", &[field("text", "action")]), Class::Submit),
            (form("POST", "/facebook", &[]), Class::Submit),
            (form("POST", "/orders", &[]), Class::Submit),
            (form("POST", "/pay", &[]), Class::Pay),
            (form("POST", "/api/v1/payments", &[]), Class::Pay),
            (form("POST", "/repay-plan", &[]), Class::Submit),
            (form("POST", "/cart/checkout", &[]), Class::Pay),
            (form("POST", "/accounts/7/transfer", &[]), Class::Pay),
            (form("POST", "/orders/3/refund", &[]), Class::Pay),
            (form("POST", "/x", std::slice::from_ref(&card)), Class::Pay),
            (form("GET", "/x", &[card]), Class::Pay),
            (form("POST", "/items/3/delete", &[]), Class::Delete),
            (form("GET", "/items/3/remove", &[]), Class::Delete),
            (form("POST", "/contact", &[textarea]), Class::Send),
            (form("POST", "mailto:a@example.test", &[]), Class::Send),
            (form("POST", "https://other.example.test/x", &[]), Class::Submit),
            (form("GET", "https://other.example.test/x", std::slice::from_ref(&q)), Class::Leave),
            (form("GET", "/find", std::slice::from_ref(&q)), Class::Search),
            (form("GET", "/find", &[field("text", "q"), field("hidden", "lang")]), Class::Search),
            (form("GET", "/find", &[field("text", "q"), field("text", "r")]), Class::Submit),
            (form("GET", "/find", &[field("text", "name")]), Class::Submit),
            (form("GET", "/find", &[q.clone(), password]), Class::Submit),
            (form("POST", "/find", &[q]), Class::Submit),
            (PageForm { search: true, ..form("GET", "/find", &[field("text", "name")]) }, Class::Search),
            (PageForm { verbs: vec!["DELETE".to_owned()], ..form("POST", "/items/3", &[]) }, Class::Delete),
            (PageForm { verbs: vec!["update".to_owned()], ..form("POST", "/items/3", &[]) }, Class::Submit),
            (form("DIALOG", "/x", &[]), Class::Press),
            (PageForm { address: "::".to_owned(), ..form("POST", "/", &[]) }, Class::Submit),
        ] {
            assert_eq!(submitting(&form, &sites()), class, "{form:?}");
        }
    }

    #[test]
    fn elements_without_an_address_are_judged_by_role() {
        let post = ElementFacts { form: Some(form("POST", "/x", &[])), ..ElementFacts::default() };
        let submits = ElementFacts { submits: true, ..post.clone() };
        let editable = ElementFacts { editable: true, ..post.clone() };
        for (role, facts, class) in [
            ("button", &submits, Class::Submit),
            ("button", &post, Class::Press),
            ("button", &ElementFacts::default(), Class::Press),
            ("link", &ElementFacts::default(), Class::Press),
            ("generic", &ElementFacts::default(), Class::Press),
            ("checkbox", &post, Class::Fill),
            ("radio", &ElementFacts::default(), Class::Fill),
            ("textbox", &editable, Class::Look),
        ] {
            assert_eq!(pressing(role, facts, &sites()), class, "{role} {facts:?}");
        }
    }

    #[test]
    fn requests_are_judged_by_method_address_and_operation() {
        let request = |method: &str, path: &str, operation: Option<&str>| PageRequest {
            method: method.to_owned(),
            address: format!("https://shop.example.test{path}"),
            operation: operation.map(str::to_owned),
            leaves_site: false,
            fields: BTreeMap::new(),
        };
        let with = |name: &str| PageRequest {
            fields: BTreeMap::from([(name.to_owned(), "x".to_owned())]),
            ..request("POST", "/api/x", None)
        };
        for (requests, class) in [
            (vec![request("DELETE", "/api/x", None)], Class::Delete),
            (vec![request("POST", "/graphql", Some("deleteItem"))], Class::Delete),
            (vec![request("POST", "/graphql", Some("Reorder"))], Class::Submit),
            (vec![request("POST", "/api/messages", None)], Class::Send),
            (vec![request("POST", "/api/x", None), request("PUT", "/pay", None)], Class::Pay),
            (vec![request("POST", "/graphql", Some("withdrawFunds"))], Class::Pay),
            (vec![request("PATCH", "/api/x", None)], Class::Submit),
            (vec![with("cardNumber")], Class::Pay),
            (vec![with("message")], Class::Send),
            (vec![with("discard")], Class::Submit),
            (vec![], Class::Submit),
        ] {
            assert_eq!(sending(&requests), class, "{requests:?}");
        }
    }
}
