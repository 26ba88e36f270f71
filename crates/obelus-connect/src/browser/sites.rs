//! The sites that the browser may visit.
//!
//! A rule is a host, with a scheme and a port where they matter:
//!
//! | rule | allows |
//! |---|---|
//! | `shop.example.test` | this host, over https and http, on the scheme's own port |
//! | `*.example.test` | every host below it, at any depth, but not `example.test` itself |
//! | `https://shop.example.test` | https alone |
//! | `shop.example.test:8443` | this port alone |
//! | `127.0.0.1:*` | every port |
//! | `*` | every site |
//!
//! Origins are compared in the form of the URL standard: lower case, Punycode, canonical IP addresses. An address
//! with a user name (`user@host`) is never allowed.

use regex::{Regex, RegexSet};
use url::{Host, Url};

/// The allowed sites.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    rules: Vec<String>,
    patterns: Vec<String>,
    set: RegexSet,
}

impl Sites {
    /// Reads rules; an error says which one is wrong, and why.
    pub fn parse<S: AsRef<str>>(rules: &[S]) -> Result<Self, String> {
        let mut sites = Self::default();
        for rule in rules {
            sites.patterns.push(pattern(rule.as_ref())?);
            sites.rules.push(rule.as_ref().to_owned());
        }
        sites.set = RegexSet::new(&sites.patterns).map_err(|error| error.to_string())?;
        Ok(sites)
    }

    /// Also allows the site of an address: its scheme, host and port.
    pub fn add(&mut self, address: &Url) {
        if let Some(origin) = origin(address) {
            let pattern = format!("^{}$", regex::escape(&origin));
            if !self.patterns.contains(&pattern) {
                self.patterns.push(pattern);
                self.rules.push(origin);
                self.set = RegexSet::new(&self.patterns).unwrap_or_default();
            }
        }
    }

    /// Whether an address is on one of the sites.
    pub fn allow(&self, address: &Url) -> bool {
        origin(address).is_some_and(|origin| self.set.is_match(&origin))
    }

    /// The rules, as they were given.
    pub fn rules(&self) -> &[String] {
        &self.rules
    }

    /// The rules as regular expressions over origins, in a form that JavaScript understands too.
    pub(super) fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// The origin of a web address; none for other schemes, or if the address has a user name.
fn origin(address: &Url) -> Option<String> {
    let on_web = matches!(address.scheme(), "http" | "https");
    let anonymous = address.username().is_empty() && address.password().is_none();
    (on_web && anonymous).then(|| address.origin().ascii_serialization())
}

fn pattern(rule: &str) -> Result<String, String> {
    let wrong = |problem: &str| Err(format!("`{}`: {problem}", rule.escape_debug()));
    if rule == "*" {
        return Ok("^https?://.*$".to_owned());
    }
    let (scheme, rest) = match rule.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => (Some(scheme), rest),
        Some(_) => return wrong("a site is reached over http or https"),
        None => (None, rule),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains('@') {
        return wrong("a site is a host; leave out the user");
    }
    if rest.contains(['/', '?', '#', '\\']) {
        return wrong("a site is a host, and every path of it is allowed; leave out what comes after the host");
    }
    let (below, rest) = match rest.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (host, any_port) = match rest.strip_suffix(":*") {
        Some(host) => (host, true),
        None => (rest, false),
    };
    if host.contains('*') {
        return wrong("a star stands for hosts below another, as in `*.example.test`, or alone for every site");
    }
    // An origin omits its scheme's default port, so the rule is parsed with a scheme that has another default.
    let read = |scheme: &str| Url::parse(&format!("{scheme}://{host}/")).ok();
    let Some(parsed) = read(scheme.unwrap_or("https")) else {
        return wrong("this is no host; write it as in `shop.example.test` or `127.0.0.1:8080`");
    };
    let Some(name) = parsed.host().filter(|host| !host.to_string().is_empty()) else {
        return wrong("this is no host; write it as in `shop.example.test`");
    };
    if below && !matches!(name, Host::Domain(_)) {
        return wrong("there are no hosts below the address of a machine");
    }
    let schemes = scheme.map_or_else(|| vec!["https", "http"], |scheme| vec![scheme]);
    let above = if below { r"(?:[^/:@.]+\.)+" } else { "" };
    let name = regex::escape(&name.to_string());
    let own_port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| port.parse::<u16>().is_ok());
    let own_port = own_port.filter(|_| !host.ends_with(']'));
    let each = schemes.into_iter().map(|scheme| {
        let port = match (any_port, own_port) {
            (true, _) => "(?::[0-9]+)?".to_owned(),
            (false, Some(_)) => read(scheme).and_then(|url| url.port()).map_or_else(String::new, |p| format!(":{p}")),
            (false, None) => String::new(),
        };
        format!("{scheme}://{above}{name}{port}")
    });
    let pattern = format!("^(?:{})$", each.collect::<Vec<_>>().join("|"));
    Regex::new(&pattern).map_err(|error| error.to_string())?;
    Ok(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allows(rules: &[&str], address: &str) -> bool {
        Sites::parse(rules).unwrap().allow(&Url::parse(address).unwrap())
    }

    #[test]
    fn a_rule_allows_only_its_host() {
        for (rule, address, expected) in [
            ("shop.example.test", "https://shop.example.test/a?b#c", true),
            ("shop.example.test", "http://shop.example.test/", true),
            ("shop.example.test", "https://SHOP.Example.TEST/", true),
            ("shop.example.test", "https://shop.example.test:443/", true),
            ("shop.example.test", "http://shop.example.test:443/", false),
            ("shop.example.test", "https://shop.example.test:8443/", false),
            ("shop.example.test", "https://www.shop.example.test/", false),
            ("shop.example.test", "https://example.test/", false),
            ("shop.example.test", "https://shop.example.test.evil.test/", false),
            ("shop.example.test", "https://evilshop.example.test/", false),
            ("shop.example.test", "https://shopxexample.test/", false),
            ("shop.example.test", "https://shop.example.test@evil.test/", false),
            ("shop.example.test", "https://user@shop.example.test/", false),
            ("shop.example.test", "https://evil.test\\@shop.example.test/", false),
            ("shop.example.test", "https://evil.test/shop.example.test", false),
            ("shop.example.test", "https://evil.test/?https://shop.example.test", false),
            ("shop.example.test", "ftp://shop.example.test/", false),
            ("shop.example.test", "file:///shop.example.test", false),
            ("shop.example.test", "data:text/html,shop.example.test", false),
            ("shop.example.test", "javascript:alert(1)//shop.example.test", false),
            ("shop.example.test", "blob:https://shop.example.test/1", false),
            ("shop.example.test", "about:blank", false),
            ("*.example.test", "https://shop.example.test/", true),
            ("*.example.test", "https://a.b.example.test/", true),
            ("*.example.test", "https://example.test/", false),
            ("*.example.test", "https://evilexample.test/", false),
            ("*.example.test", "https://.example.test/", false),
            ("https://shop.example.test", "https://shop.example.test/", true),
            ("https://shop.example.test/", "http://shop.example.test/", false),
            ("shop.example.test:8443", "https://shop.example.test:8443/", true),
            ("shop.example.test:8443", "https://shop.example.test/", false),
            ("shop.example.test:443", "https://shop.example.test/", true),
            ("shop.example.test:443", "http://shop.example.test:443/", true),
            ("shop.example.test:443", "http://shop.example.test/", false),
            ("127.0.0.1:*", "http://127.0.0.1:40001/x", true),
            ("127.0.0.1:*", "http://127.0.0.1/", true),
            ("127.0.0.1", "http://127.0.0.1:40001/x", false),
            ("127.0.0.1", "http://2130706433/", true),
            ("127.0.0.1", "http://0x7f.1/", true),
            ("127.0.0.1", "http://127.0.0.1.evil.test/", false),
            ("[::1]:8080", "http://[::1]:8080/", true),
            ("[::1]", "http://[0:0:0:0:0:0:0:1]/", true),
            ("[::1]", "http://[::2]/", false),
            ("пример.test", "https://xn--e1afmkfd.test/", true),
            ("xn--e1afmkfd.test", "https://пример.test/", true),
            ("example.test", "https://ехample.test/", false),
            ("*", "https://anything.test:1/", true),
            ("*", "file:///etc/passwd", false),
        ] {
            assert_eq!(allows(&[rule], address), expected, "{rule} {address}");
        }
        assert!(!allows(&[], "https://shop.example.test/"));
    }

    #[test]
    fn a_rule_with_more_than_a_host_is_refused() {
        for (rule, why) in [
            ("shop.example.test/cart", "leave out what comes after"),
            ("user@shop.example.test", "leave out the user"),
            ("*example.test", "a star stands for"),
            ("shop.*.test", "a star stands for"),
            ("ftp://shop.example.test", "http or https"),
            ("*.127.0.0.1", "the address of a machine"),
            ("", "no host"),
            ("a b", "no host"),
            ("shop.example.test:99999", "no host"),
        ] {
            let error = Sites::parse(&[rule]).unwrap_err();
            assert!(error.contains(why), "{rule}: {error}");
        }
    }

    #[test]
    fn an_added_site_is_allowed_with_its_scheme_and_port() {
        let mut sites = Sites::parse(&["a.test"]).unwrap();
        sites.add(&Url::parse("https://b.test:8443/x?y").unwrap());
        sites.add(&Url::parse("file:///etc").unwrap());
        assert_eq!(sites.rules(), ["a.test", "https://b.test:8443"]);
        for (address, expected) in
            [("https://b.test:8443/z", true), ("https://b.test/", false), ("http://b.test:8443/", false)]
        {
            assert_eq!(sites.allow(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }

    proptest! {
        #[test]
        fn every_allowed_address_has_a_host_named_by_a_rule(host in "[a-z0-9.@:/\\\\#?%_-]{1,30}") {
            let sites = Sites::parse(&["shop.example.test", "*.good.test"]).unwrap();
            if let Ok(url) = Url::parse(&format!("https://{host}")) && sites.allow(&url) {
                let host = url.host_str().unwrap();
                prop_assert!(host == "shop.example.test" || host.ends_with(".good.test"));
            }
            let _ = Sites::parse(&[host]);
        }
    }
}
