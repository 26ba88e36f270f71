//! What an action would do, judged by the role of its element, by the form it is part of and by the address it leads
//! to. Words on the page count for nothing, and words in an address count as a whole: there is no order in a border.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::sites::Sites;

/// Kinds of actions. Each is a tool of the agent, so that a policy can be given for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Waiting for the page.
    Wait,
    /// Going about on the allowed sites, and controls that do not leave the page.
    Look,
    /// Typing, selecting, ticking.
    Fill,
    /// Pressing what is part of no form. What it sends is held back.
    Press,
    /// Sending a form that searches.
    Search,
    /// Going to a site that is not allowed yet.
    Leave,
    /// Sending any other form, or whatever else a page sends.
    Submit,
    /// Sending a message.
    Send,
    /// Deleting.
    Delete,
    /// Paying.
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

    /// Whether it sends something, so that it is permitted to when it is done.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Submit | Self::Send | Self::Delete | Self::Pay)
    }
}

/// What the browser says of an element.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Facts {
    /// Whether it can be acted on.
    pub(super) enabled: bool,
    /// Whether text can be typed into it.
    pub(super) editable: bool,
    /// Whether it takes files.
    pub(super) takes_files: bool,
    /// Whether it hides what is typed.
    pub(super) hides: bool,
    /// Whether it is a field to search with.
    pub(super) searches: bool,
    /// The address of the frame that it stands in, in full: that of the page, where it stands in no other.
    pub(super) frame: String,
    /// Whether a press on it sends its form.
    pub(super) submits: bool,
    /// Whether the key Enter in it sends its form.
    pub(super) enters: bool,
    /// Where it leads, in full.
    pub(super) link: Option<String>,
    /// The form it is part of, as this element would send it.
    pub(super) form: Option<Form>,
    /// Its place among the fields of its form.
    pub(super) place: Option<usize>,
}

/// A form, as one of its buttons would send it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Form {
    /// Its place among the forms of its document.
    pub(super) nth: i64,
    /// `GET`, `POST` or `DIALOG`.
    pub(super) method: String,
    /// Where it goes, in full.
    pub(super) address: String,
    pub(super) fields: Vec<Field>,
    /// Whether it is, or stands in, what the page calls its search.
    pub(super) search: bool,
    /// What fields such as `_method` and the pressed button say is to be done.
    pub(super) verbs: Vec<String>,
    /// What stands in the fields that a person can see.
    pub(super) values: Vec<String>,
}

/// A field of a form.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Field {
    pub(super) name: String,
    /// `text`, `password`, `hidden`, `textarea`, `select` …
    pub(super) kind: String,
    pub(super) autocomplete: String,
    /// What the page calls it.
    pub(super) label: String,
    /// What the page calls the choice that it is one of.
    pub(super) group: String,
    /// What stands in it, as it may be told.
    pub(super) value: String,
}

/// A request that a page tried to make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) address: String,
    /// The name of the operation, where the request has one.
    pub(super) operation: Option<String>,
    /// Whether it goes to a page on another site.
    pub(super) leaves: bool,
    /// What it carries, by name.
    pub(super) fields: BTreeMap<String, String>,
}

impl Request {
    /// Whether another goes to the same place by the same method and operation, whatever it carries.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_there = (&self.method, &self.address) == (&other.method, &other.address);
        is_there && self.operation == other.operation && self.leaves == other.leaves
    }
}

/// Roles of controls that hold a value.
const VALUES: [&str; 9] =
    ["checkbox", "radio", "switch", "slider", "spinbutton", "option", "combobox", "listbox", "menuitemcheckbox"];

const DELETING: [&str; 5] = ["delete", "remove", "destroy", "erase", "purge"];
const PAYING: [&str; 7] = ["pay", "payment", "payments", "checkout", "purchase", "buy", "charge"];
const SENDING: [&str; 10] =
    ["send", "message", "messages", "mail", "email", "reply", "comment", "comments", "post", "posts"];
/// Names of what a request carries: numbers of cards and accounts, and words to somebody.
const CARDS: [&str; 6] = ["card", "cardnumber", "cvv", "cvc", "iban", "payment"];
const MESSAGES: [&str; 4] = ["message", "comment", "recipient", "recipients"];
const SEARCHING: [&str; 9] = ["q", "query", "search", "s", "term", "text", "keywords", "keyword", "find"];

/// Fields and parameters that say what is to be done.
pub(super) const VERBS: [&str; 6] = ["_method", "action", "do", "op", "cmd", "operation"];

/// Going to an address. A plain link reads, whatever its address says: a page that asks whether to delete has such words too.
pub(super) fn going(address: &Url, sites: &Sites) -> Class {
    if sites.allow(address) { Class::Look } else { Class::Leave }
}

/// Pressing an element.
pub(super) fn pressing(role: &str, facts: &Facts, sites: &Sites) -> Class {
    if let Some(link) = &facts.link {
        return match Url::parse(link) {
            Ok(address) if matches!(address.scheme(), "http" | "https") => going(&address, sites),
            Ok(address) if address.scheme() == "mailto" => Class::Send,
            // Scripts, and what other programs would open.
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
pub(super) fn submitting(form: &Form, sites: &Sites) -> Class {
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

/// Making requests that were held back before.
pub(super) fn sending(requests: &[Request]) -> Class {
    let class = |request: &Request| {
        let address = Url::parse(&request.address).ok();
        let says = |words: &[&str]| {
            address.as_ref().is_some_and(|address| path_has(address, words))
                || request.operation.as_deref().is_some_and(|operation| has_word(operation, words))
        };
        let carries = |words: &[&str]| request.fields.keys().any(|name| has_word(name, words));
        match () {
            () if says(&PAYING) || carries(&CARDS) => Class::Pay,
            () if request.method == "DELETE" || says(&DELETING) => Class::Delete,
            () if says(&SENDING) || carries(&MESSAGES) => Class::Send,
            () => Class::Submit,
        }
    };
    requests.iter().map(class).max().unwrap_or(Class::Submit)
}

fn searches(form: &Form) -> bool {
    let secret = |field: &Field| matches!(field.kind.as_str(), "password" | "file");
    let mut texts = form.fields.iter().filter(|field| matches!(field.kind.as_str(), "text" | "search"));
    let one = texts.next().filter(|_| texts.next().is_none());
    let named = one.is_some_and(|field| SEARCHING.contains(&field.name.to_ascii_lowercase().as_str()));
    let typed = form.fields.iter().any(|field| field.kind == "search");
    (form.search || named || typed) && !form.fields.iter().any(secret)
}

/// Whether an address says that something is deleted: in its path, in the name of a parameter, or in one that names what
/// to do.
pub(super) fn deletes(address: &Url) -> bool {
    let is_verb = |key: &str| VERBS.contains(&key.to_ascii_lowercase().as_str());
    path_has(address, &DELETING)
        || address
            .query_pairs()
            .any(|(key, value)| has_word(&key, &DELETING) || (is_verb(&key) && has_word(&value, &DELETING)))
}

fn path_has(address: &Url, words: &[&str]) -> bool {
    // A path is read as a parameter would be, so that `d%65lete` is a deletion.
    let decoded = |segment: &str| {
        let plain = segment.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
        url::form_urlencoded::parse(plain.as_bytes()).map(|(word, _)| word.into_owned()).next().unwrap_or_default()
    };
    address.path_segments().is_some_and(|mut segments| segments.any(|segment| has_word(&decoded(segment), words)))
}

/// Whether a text has one of these words: words end where letters do, and where a capital begins another.
fn has_word(text: &str, words: &[&str]) -> bool {
    let mut word = String::new();
    let mut small = false;
    for letter in text.chars().chain([' ']) {
        let ends = !letter.is_alphanumeric() || (small && letter.is_uppercase());
        if ends && !word.is_empty() {
            if words.contains(&word.as_str()) {
                return true;
            }
            word.clear();
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        small = letter.is_lowercase();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites() -> Sites {
        Sites::parse(&["shop.example.test"]).unwrap()
    }

    fn link(address: &str) -> Class {
        pressing("link", &Facts { link: Some(address.to_owned()), ..Facts::default() }, &sites())
    }

    fn field(kind: &str, name: &str) -> Field {
        Field { name: name.to_owned(), kind: kind.to_owned(), ..Field::default() }
    }

    fn form(method: &str, path: &str, fields: &[Field]) -> Form {
        let address = if path.contains(':') { path.to_owned() } else { format!("https://shop.example.test{path}") };
        Form { method: method.to_owned(), address, fields: fields.to_vec(), ..Form::default() }
    }

    #[test]
    fn links_are_judged_by_where_they_lead() {
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
        let card = Field { autocomplete: "section-a cc-number".to_owned(), ..field("text", "n") };
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
            (Form { search: true, ..form("GET", "/find", &[field("text", "name")]) }, Class::Search),
            (Form { verbs: vec!["DELETE".to_owned()], ..form("POST", "/items/3", &[]) }, Class::Delete),
            (Form { verbs: vec!["update".to_owned()], ..form("POST", "/items/3", &[]) }, Class::Submit),
            (form("DIALOG", "/x", &[]), Class::Press),
            (Form { address: "::".to_owned(), ..form("POST", "/", &[]) }, Class::Submit),
        ] {
            assert_eq!(submitting(&form, &sites()), class, "{form:?}");
        }
    }

    #[test]
    fn elements_without_an_address_are_judged_by_role() {
        let post = Facts { form: Some(form("POST", "/x", &[])), ..Facts::default() };
        let submits = Facts { submits: true, ..post.clone() };
        let editable = Facts { editable: true, ..post.clone() };
        for (role, facts, class) in [
            ("button", &submits, Class::Submit),
            ("button", &post, Class::Press),
            ("button", &Facts::default(), Class::Press),
            ("link", &Facts::default(), Class::Press),
            ("generic", &Facts::default(), Class::Press),
            ("checkbox", &post, Class::Fill),
            ("radio", &Facts::default(), Class::Fill),
            ("textbox", &editable, Class::Look),
        ] {
            assert_eq!(pressing(role, facts, &sites()), class, "{role} {facts:?}");
        }
    }

    #[test]
    fn requests_are_judged_by_method_address_and_operation() {
        let request = |method: &str, path: &str, operation: Option<&str>| Request {
            method: method.to_owned(),
            address: format!("https://shop.example.test{path}"),
            operation: operation.map(str::to_owned),
            leaves: false,
            fields: BTreeMap::new(),
        };
        let with = |name: &str| Request {
            fields: BTreeMap::from([(name.to_owned(), "x".to_owned())]),
            ..request("POST", "/api/x", None)
        };
        for (requests, class) in [
            (vec![request("DELETE", "/api/x", None)], Class::Delete),
            (vec![request("POST", "/graphql", Some("deleteItem"))], Class::Delete),
            (vec![request("POST", "/graphql", Some("Reorder"))], Class::Submit),
            (vec![request("POST", "/api/messages", None)], Class::Send),
            (vec![request("POST", "/api/x", None), request("PUT", "/pay", None)], Class::Pay),
            (vec![request("PATCH", "/api/x", None)], Class::Submit),
            (vec![with("cardNumber")], Class::Pay),
            (vec![with("message")], Class::Send),
            (vec![with("discard")], Class::Submit),
            (vec![], Class::Submit),
        ] {
            assert_eq!(sending(&requests), class, "{requests:?}");
        }
    }

    #[test]
    fn words_are_whole() {
        for (text, expected) in [
            ("delete", true),
            ("itemDelete", true),
            ("delete3", false),
            ("DELETE", true),
            ("undelete", false),
            ("deleted", false),
            ("a.delete", true),
            ("", false),
        ] {
            assert_eq!(has_word(text, &["delete"]), expected, "{text}");
        }
    }
}
