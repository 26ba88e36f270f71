//! The guard: which requests pages may send.
//!
//! Requests that only read pass. All others are held back: they do not reach the network and are recorded. An
//! approved action permits its requests, each once, by method, address and shown content.

use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

use super::judge::{Class, PageRequest, sending};
use super::page::HeldRequest;

/// Exceptions of the agent's file.
#[derive(Clone, Debug, Default)]
pub(super) struct GuardRules {
    /// Requests that pass, as regular expressions over `METHOD ADDRESS`.
    pub(super) pass: Vec<String>,
    /// Requests that are held back without a note.
    pub(super) drop: Vec<String>,
    /// Whether web sockets to the allowed sites may be opened.
    pub(super) sockets: bool,
}

/// Reads an exception: `POST https://api.example.test/graphql`, where `*` matches any number of characters.
pub(super) fn pattern(text: &str) -> Result<String, String> {
    let wrong = || {
        format!(
            "`{}` must be a method and an address, as in `POST https://api.example.test/read/*`",
            text.escape_debug()
        )
    };
    let (method, address) = text.split_once(' ').ok_or_else(wrong)?;
    let is_method = method == "*" || (!method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase()));
    let (scheme, rest) = address.split_once("://").ok_or_else(wrong)?;
    let host = rest.split('/').next().unwrap_or_default();
    if !is_method || !matches!(scheme, "http" | "https") || host.is_empty() || host.contains(['@', '?', '#']) {
        return Err(wrong());
    }
    // A `*` in the host matches only within the host; otherwise `https://*` would match every address.
    let escaped = |text: &str, any: &str| text.split('*').map(regex::escape).collect::<Vec<_>>().join(any);
    let method = if method == "*" { "[A-Z]+".to_owned() } else { method.to_owned() };
    let path = &rest[host.len()..];
    let path = if path.is_empty() { "/".to_owned() } else { escaped(path, ".*") };
    Ok(format!("^{method} {scheme}://{}{path}$", escaped(host, "[^/@]*")))
}

/// The request of a form or a link.
pub(super) fn request(method: &str, address: &Url) -> PageRequest {
    let address = format!("{}{}", address.origin().ascii_serialization(), address.path());
    PageRequest { method: method.to_owned(), address, ..PageRequest::default() }
}

/// Requests as part of a call that a person is asked about.
pub(super) fn requests_as_shown(requests: &[PageRequest]) -> Option<Value> {
    let one = |request: &PageRequest| {
        let mut value = json!({"method": request.method, "address": request.address});
        if let Some(map) = value.as_object_mut() {
            map.extend(request.operation.iter().map(|name| ("operation".to_owned(), json!(name))));
            map.extend(request.leaves_site.then(|| ("leaves".to_owned(), json!(true))));
            let site = Url::parse(&request.address).ok().filter(|_| request.leaves_site);
            map.extend(site.map(|site| ("allows".to_owned(), json!(site.origin().ascii_serialization()))));
            map.extend((!request.fields.is_empty()).then(|| ("fields".to_owned(), json!(request.fields))));
        }
        value
    };
    let (first, more) = requests.split_first()?;
    let mut value = one(first);
    if let (false, Some(map)) = (more.is_empty(), value.as_object_mut()) {
        map.insert("also".to_owned(), Value::Array(more.iter().map(one).collect()));
    }
    Some(value)
}

/// Requests from a call.
pub(super) fn read(value: &Value) -> Option<Vec<PageRequest>> {
    let one = |value: &Value| {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let leaves_site = value.get("leaves").and_then(Value::as_bool).unwrap_or(false);
        let fields = value.get("fields").and_then(Value::as_object).into_iter().flatten();
        let fields = fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
        let (method, address) = (text("method")?, text("address")?);
        Some(PageRequest { method, address, operation: text("operation"), leaves_site, fields })
    };
    let mut requests = vec![one(value)?];
    if let Some(more) = value.get("also").and_then(Value::as_array) {
        for value in more {
            requests.push(one(value)?);
        }
    }
    Some(requests)
}

/// One line of text for each request.
pub(super) fn lines(requests: &[PageRequest]) -> Vec<String> {
    let operation =
        |request: &PageRequest| request.operation.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
    requests.iter().map(|request| format!("{} {}{}", request.method, request.address, operation(request))).collect()
}

/// A request that may be made once.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Permit {
    #[serde(flatten)]
    pub(super) request: PageRequest,
    /// Whether its content is not checked. A form's content is compared before it is sent.
    pub(super) any: bool,
}

/// An element's known requests after new ones were held back; new ones replace those like them.
pub(super) fn renewed(known: &[PageRequest], held: &[PageRequest]) -> Vec<PageRequest> {
    let is_renewed = |request: &&PageRequest| held.iter().any(|held| held.is_like(request));
    known.iter().filter(|request| !is_renewed(request)).chain(held).cloned().collect()
}

/// How many characters of a long text are shown.
const MOST_CARRIED: usize = 300;

/// The shown content of a request: a long text is cut, with its length and a checksum to detect changes.
pub(super) fn carried(value: &str) -> String {
    let Some((text, sum)) = value.rfind("… (").map(|at| value.split_at(at)) else { return value.to_owned() };
    text.chars().take(MOST_CARRIED).collect::<String>() + sum
}

/// Held back requests without duplicates.
pub(super) fn distinct(held: &[HeldRequest]) -> Vec<PageRequest> {
    let mut requests: Vec<PageRequest> = Vec::new();
    for held in held {
        if !requests.contains(&held.request) {
            requests.push(held.request.clone());
        }
    }
    requests
}

/// The class of sending requests that were held back; `Leave` if nothing is sent.
pub(super) fn class_of(requests: &[PageRequest]) -> Class {
    let reads = |request: &PageRequest| matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS");
    if requests.iter().all(reads) { Class::Leave } else { sending(requests) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn exceptions_match_by_method_and_address() {
        for (text, line, expected) in [
            ("POST https://api.example.test/graphql", "POST https://api.example.test/graphql", true),
            ("POST https://api.example.test/graphql", "PUT https://api.example.test/graphql", false),
            ("POST https://api.example.test/graphql", "POST https://api.example.test/graphql/x", false),
            ("POST https://api.example.test/graphql", "POST https://apixexample.test/graphql", false),
            ("POST https://api.example.test/read/*", "POST https://api.example.test/read/a/b", true),
            ("* https://*.example.test/*", "DELETE https://a.b.example.test/x", true),
            ("* https://*.example.test/*", "POST https://evil.test/x.example.test/", false),
            ("POST https://api.example.test", "POST https://api.example.test/", true),
        ] {
            assert_eq!(Regex::new(&pattern(text).unwrap()).unwrap().is_match(line), expected, "{text} {line}");
        }
        for text in
            ["", "POST", "https://api.example.test/", "post https://a.test/", "POST a.test/", "POST ftp://a.test/"]
        {
            assert!(pattern(text).is_err(), "{text}");
        }
    }

    #[test]
    fn requests_are_written_as_json_and_read_back() {
        let request = |method: &str, operation: Option<&str>| PageRequest {
            method: method.to_owned(),
            address: "https://shop.example.test/api".to_owned(),
            operation: operation.map(str::to_owned),
            leaves_site: method == "PUT",
            fields: std::collections::BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        };
        for requests in [vec![request("DELETE", None)], vec![request("POST", Some("buyIt")), request("PUT", None)]] {
            assert_eq!(read(&requests_as_shown(&requests).unwrap()).unwrap(), requests);
        }
        assert_eq!(requests_as_shown(&[]), None);
        assert_eq!(read(&json!({"method": 1})), None);
        assert_eq!(class_of(&[request("GET", None)]), Class::Leave);
        assert_eq!(class_of(&[request("GET", None), request("DELETE", None)]), Class::Delete);
        let held = HeldRequest { request: request("POST", None), ..HeldRequest::default() };
        assert_eq!(distinct(&[held.clone(), held]).len(), 1);
    }

    #[test]
    fn a_request_with_another_body_replaces_the_previous_one() {
        let request = |address: &str, item: &str| PageRequest {
            method: "POST".to_owned(),
            address: address.to_owned(),
            fields: std::collections::BTreeMap::from([("item".to_owned(), item.to_owned())]),
            ..PageRequest::default()
        };
        let known = [request("/order", "1"), request("/count", "1")];
        let held = [request("/order", "2"), request("/order", "3")];
        let expected = [request("/count", "1"), request("/order", "2"), request("/order", "3")];
        assert_eq!(renewed(&known, &held), expected);
    }

    #[test]
    fn a_long_text_is_cut_and_identified_by_its_digest() {
        assert_eq!(carried("short … text"), "short … text");
        let long = carried(&format!("{}… (4000, 1f2e)", "ж".repeat(4000)));
        assert_eq!(long, format!("{}… (4000, 1f2e)", "ж".repeat(300)));
    }
}
