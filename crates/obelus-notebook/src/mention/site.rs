//! The site of a call. Anything that may be an address and is not clearly of that site counts against it.

use serde_json::Value;

use super::addresses::{Address, addresses};
use super::text::{each_text, folded};

/// The hosts of all addresses in the values of a call, with their ports. None if a possible address has no clear
/// host.
pub fn hosts(params: &Value) -> Option<Vec<String>> {
    let mut found: Option<Vec<String>> = Some(Vec::new());
    each_text(params, &mut |text| {
        for host in hosts_in(text) {
            match (host, &mut found) {
                (Some(host), Some(found)) if !found.contains(&host) => found.push(host),
                (Some(_), _) => {}
                (None, found) => *found = None,
            }
        }
    });
    found
}

/// The host of each address in a text; none if it is not clear.
fn hosts_in(text: &str) -> Vec<Option<String>> {
    // Browsers drop these characters before they read an address.
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let text = folded(&text);
    // For a browser these prefixes begin an address, whatever follows: `https:host`, `//host`, `\\host`, `mailto:…`.
    if let Some(rest) = after_scheme(&text) {
        return vec![rest.and_then(plain_host)];
    }
    let mut found: Vec<Option<String>> = Vec::new();
    for address in addresses(&text) {
        if let Address::Words(words) = address {
            // A scheme other than `http` and `https` is still there, and makes the host invalid.
            found.push(plain_host(&words));
        }
    }
    if found.is_empty() && is_host(&text) {
        found.push(plain_host(&text));
    }
    found
}

/// The rest after the scheme, if the whole text is an address; inner none if no clear host follows.
fn after_scheme(text: &str) -> Option<Option<&str>> {
    let is_slash = |letter: char| matches!(letter, '/' | '\\');
    if text.starts_with(is_slash) && text[1..].starts_with(is_slash) {
        return Some(None);
    }
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    // Text before a colon and a blank is not a scheme, and `host:port` is a host.
    if !is_scheme || rest.starts_with(' ') || rest.is_empty() || (scheme.contains('.') && !rest.starts_with(is_slash)) {
        return None;
    }
    let is_web = matches!(scheme, "http" | "https");
    let plain = rest.strip_prefix("//").filter(|rest| is_web && !rest.contains(' '));
    Some(plain)
}

/// The host at the start of an address without scheme: letters, digits, dots and hyphens, and perhaps a port.
fn plain_host(address: &str) -> Option<String> {
    let authority = address.split(['/', '?', '#']).next()?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, "0"));
    let is_plain = !host.is_empty()
        && host.chars().all(|letter| letter.is_ascii_alphanumeric() || "-.".contains(letter))
        && !port.is_empty()
        && port.bytes().all(|digit| digit.is_ascii_digit());
    is_plain.then(|| authority.to_owned())
}

/// Whether a whole text may be a host name, with or without a port: `evil.test`, `10.0.0.1:80`, `[::1]`.
fn is_host(text: &str) -> bool {
    if text.starts_with('[') && text.contains("::") {
        return true;
    }
    let host = text.split(':').next().unwrap_or(text);
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'))
    };
    let is_number = |label: &&str| label.bytes().all(|digit| digit.is_ascii_digit());
    let last_is_word = labels.last().is_some_and(|label| !is_number(label));
    labels.len() > 1 && labels.iter().all(is_label) && (last_is_word || labels.len() == 4)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_site_matches_only_its_exact_host() {
        let shop = Some(vec!["shop.example.test".to_owned()]);
        let plain = "https://Shop.example.test/x";
        assert_eq!(
            hosts(&json!({"a": plain, "b": ["http://shop.example.test"], "c": "HTTPS://shop.example.test?q"})),
            shop
        );
        assert_eq!(
            hosts(&json!({"a": plain, "b": "two words", "c": "12:30", "d": 5, "e": "Note: 3.5 kg", "f": "/x"})),
            shop
        );
        assert_eq!(hosts(&json!({"a": "http://127.0.0.1:8941/"})), Some(vec!["127.0.0.1:8941".to_owned()]));
    }

    #[test]
    fn a_text_with_another_address_does_not_belong_to_the_site() {
        let plain = "https://shop.example.test/x";
        for other in [
            "https://shop.example.test@evil.test/x",
            "https://shop.example.test:pass@evil.test/x",
            "HTTPS://evil.test/y",
            "hTTps://evil.test",
            "//evil.test/z",
            "\\\\evil.test\\z",
            "/\\evil.test",
            " \t//evil.test",
            "/\n/evil.test",
            "https:evil.test/x",
            "https:/evil.test/x",
            "https:\\\\evil.test",
            "https://shop.example.test\\@evil.test",
            "https://[::1]/x",
            "javascript:alert(1)",
            "data:text/html,x",
            "mailto:mallory@evil.test",
            "ftp://shop.example.test/x",
            "wss://shop.example.test/x",
            "evil.test",
            "evil.test:8080",
            "evil。test",
            "ｅｖｉｌ.test",
            "evil.test/x",
            "www.evil.test",
            "10.0.0.1",
            "mallory@evil.test",
            "look at https://evil.test/x now",
            "shop.example.test.evil.test",
        ] {
            let found = hosts(&json!({"address": plain, "other": other}));
            assert_ne!(found, Some(vec!["shop.example.test".to_owned()]), "{other}");
        }
    }
}
