//! Page addresses, as they are shown and stored.
//!
//! A query often contains what a user typed, or tokens. Parameter names and short numbers are kept, and other values
//! become digests, `?page=2&q=~0f1e2d3c4b`: enough to distinguish pages.

use obelus_runtime::text::hex;
use sha2::{Digest, Sha256};
use url::Url;

use super::judge::deletes;

/// The length of a digest.
const DIGEST: usize = 10;

/// An address that may be stored: its query and a route after `#` contain digests.
pub(super) fn shown(address: &Url) -> String {
    let mut whole = match address.origin() {
        url::Origin::Tuple(..) => format!("{}{}", address.origin().ascii_serialization(), address.path()),
        // `about:blank` is shown; other schemes may contain a whole page.
        url::Origin::Opaque(_) if address.scheme() == "about" => format!("about:{}", address.path()),
        url::Origin::Opaque(_) => format!("{}:", address.scheme()),
    };
    if let Some(query) = address.query().filter(|query| !query.is_empty()) {
        whole.push_str(&format!("?{}", shown_query(query)));
    }
    // Single-page applications have routes after `#`.
    if let Some(route) = address.fragment().filter(|fragment| fragment.starts_with(['/', '!'])) {
        whole.push_str(&format!("#~{}", digest(route)));
    }
    whole
}

/// The number of parameters that are shown separately.
const MOST_PARAMETERS: usize = 6;

/// Longer numbers may be personal or secret.
const LONGEST_NUMBER: usize = 8;

fn shown_query(query: &str) -> String {
    let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
    let is_name = |name: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        (1..=30).contains(&name.len()) && name.bytes().all(plain)
    };
    if pairs.len() > MOST_PARAMETERS || !pairs.iter().all(|(name, _)| is_name(name)) {
        return format!("~{}", digest(query));
    }
    let is_number = |value: &str| value.len() <= LONGEST_NUMBER && value.bytes().all(|byte| byte.is_ascii_digit());
    let pair = |(name, value): &(std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
        if is_number(value) { format!("{name}={value}") } else { format!("{name}=~{}", digest(value)) }
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// The shown form of an address; other texts are unchanged.
pub(super) fn shown_text(address: &str) -> String {
    Url::parse(address).map_or_else(|_| "about:invalid".to_owned(), |address| shown(&address))
}

/// The address of a shown page without its query, of which only a digest is known.
pub(super) fn reopened(shown: &str) -> Option<Url> {
    let shown = shown.split_once("#~").map_or(shown, |(page, _)| page);
    let (page, query) = shown.split_once('?').unwrap_or((shown, ""));
    let end = if query.contains('~') { page.len() } else { shown.len() };
    Url::parse(&shown[..end]).ok().filter(|address| matches!(address.scheme(), "http" | "https"))
}

/// For an address that deletes: the first page of its site, to be opened instead. None for others.
pub(super) fn instead_of(address: &Url) -> Option<Url> {
    deletes(address).then(|| address.join("/").ok()).flatten()
}

/// The beginning of a text's digest.
pub(super) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..DIGEST / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_typed_by_a_user_is_removed_from_stored_addresses() {
        let shown = |text: &str| shown_text(text);
        assert_eq!(shown("https://shop.example.test/a/b"), "https://shop.example.test/a/b");
        assert_eq!(shown("https://u:p@shop.example.test:8443/a#part"), "https://shop.example.test:8443/a");
        let searched = shown("https://shop.example.test/s?q=secret#/r/secret");
        assert!(searched.starts_with("https://shop.example.test/s?q=~") && !searched.contains("secret"), "{searched}");
        assert_eq!(shown("https://shop.example.test/s?page=2&sort=1"), "https://shop.example.test/s?page=2&sort=1");
        assert!(shown("https://shop.example.test/s?secret%20word").starts_with("https://shop.example.test/s?~"));
        assert!(!shown("https://shop.example.test/s?card=4111111111111111").contains("4111"));
        assert_ne!(searched, shown("https://shop.example.test/s?q=other#/r/secret"));
        assert_eq!(shown("data:text/html,secret"), "data:");
        assert_eq!(shown("about:blank"), "about:blank");
        assert_eq!(shown("no address"), "about:invalid");
    }

    #[test]
    fn a_page_is_reopened_with_the_known_part_of_its_query() {
        let again = |text: &str| reopened(&shown_text(text)).map(|address| address.to_string());
        assert_eq!(again("https://shop.example.test/s?q=a").as_deref(), Some("https://shop.example.test/s"));
        assert_eq!(again("https://shop.example.test/#/r").as_deref(), Some("https://shop.example.test/"));
        assert_eq!(
            again("https://shop.example.test/s?page=2#/r").as_deref(),
            Some("https://shop.example.test/s?page=2")
        );
        assert_eq!(again("https://shop.example.test/s?page=2&q=a").as_deref(), Some("https://shop.example.test/s"));
        let instead = |text: &str| instead_of(&Url::parse(text).unwrap()).map(|address| address.to_string());
        let root = Some("https://shop.example.test/");
        assert_eq!(instead("https://shop.example.test/items/delete?id=1").as_deref(), root);
        assert_eq!(instead("https://shop.example.test/items?action=delete&id=1").as_deref(), root);
        assert_eq!(instead("https://shop.example.test/items?id=1"), None);
        assert_eq!(again("about:blank"), None);
        assert_eq!(again("file:///etc/passwd"), None);
    }
}
