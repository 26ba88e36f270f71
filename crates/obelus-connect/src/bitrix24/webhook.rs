//! The address of a portal's webhook. It is a secret: it lets its holder act as its user.

use std::fmt;

use obelus_runtime::Secret;
use reqwest::Url;

/// The form of an address, for errors that must not show the given one.
const FORM: &str = "https://PORTAL/rest/USER/TOKEN/, as the portal shows it under incoming webhooks";

/// The address of an incoming webhook.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Webhook {
    /// With a trailing slash.
    base: Secret,
    token: Secret,
    /// The user's id, which is not secret.
    user: String,
    portal: String,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Webhook(***@{})", self.portal)
    }
}

impl Webhook {
    /// Reads an address. Errors do not show any part of it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("{what}; it must be {FORM}"));
        let Ok(url) = Url::parse(text.trim()) else { return wrong("it is no URL") };
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else { return wrong("it has no host") };
        let is_near = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
        match url.scheme() {
            "https" => {}
            "http" if is_near => {}
            "http" => return wrong("it begins with http://, and would send the token for everyone to read"),
            _ => return wrong("it does not begin with https://"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("it has a name or a password before the host");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return wrong("it has something after a `?` or a `#`");
        }
        let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
        let (user, token) = match segments[..] {
            ["rest", user, token] | ["rest", user, token, ""] => (user, token),
            ["rest", _, _, _] => return wrong("it goes on after the token; leave the name of the method off"),
            _ => return wrong("its path is not /rest/USER/TOKEN/"),
        };
        if user.is_empty() || !user.bytes().all(|byte| byte.is_ascii_digit()) {
            return wrong("the user in it is no number");
        }
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
            return wrong("the token in it is missing, or has characters that no token has");
        }
        let portal = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let base = format!("{}/rest/{user}/{token}/", url.origin().ascii_serialization());
        Ok(Self { base: Secret::new(base), token: Secret::new(token), user: user.to_owned(), portal })
    }

    /// The host, which is not secret, with a non-default port.
    pub fn portal(&self) -> &str {
        &self.portal
    }

    /// The id of the webhook's user.
    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// The URL of a method of REST 3.0.
    pub(super) fn new_url_of(&self, method: &str) -> Result<Url, String> {
        let mut url = self.url_of(method)?;
        let path = url.path().trim_end_matches(".json").replacen("/rest/", "/rest/api/", 1);
        url.set_path(&path);
        Ok(url)
    }

    /// The URL of a method. The name is checked, so that it cannot lead elsewhere on the host.
    pub(super) fn url_of(&self, method: &str) -> Result<Url, String> {
        let is_name =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !method.split('.').all(is_name) {
            return Err(format!("`{}` is no name of a method", obelus_kernel::visible(method)));
        }
        Url::parse(&format!("{}{method}.json", self.base.expose())).map_err(|_| "the address is no URL".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_and_without_a_trailing_slash() {
        for text in ["https://crm.example.test/rest/7/s3cr3t_Token", " https://crm.example.test/rest/7/s3cr3t_Token/ "]
        {
            let webhook = Webhook::parse(text).unwrap();
            assert_eq!(webhook.portal(), "crm.example.test");
            let url = webhook.url_of("crm.deal.list").unwrap();
            assert_eq!(url.as_str(), "https://crm.example.test/rest/7/s3cr3t_Token/crm.deal.list.json");
            let url = webhook.new_url_of("tasks.task.add").unwrap();
            assert_eq!(url.as_str(), "https://crm.example.test/rest/api/7/s3cr3t_Token/tasks.task.add");
            assert_eq!(webhook.user(), "7");
            assert!(!format!("{webhook:?}").contains("s3cr3t"));
        }
        let near = Webhook::parse("http://127.0.0.1:8080/rest/1/abc/").unwrap();
        assert_eq!(near.portal(), "127.0.0.1:8080");
    }

    #[test]
    fn an_invalid_address_is_refused_with_the_reason_and_not_shown() {
        for (text, words) in [
            ("", "no URL"),
            ("crm.example.test/rest/1/s3cr3t", "no URL"),
            ("ftp://crm.example.test/rest/1/s3cr3t/", "https://"),
            ("http://crm.example.test/rest/1/s3cr3t/", "everyone"),
            ("https://u:s3cr3t@crm.example.test/rest/1/x/", "password"),
            ("https://crm.example.test/rest/1/s3cr3t/?x=1", "after a `?`"),
            ("https://crm.example.test/rest/1/s3cr3t/profile.json", "leave the name"),
            ("https://crm.example.test/rest/s3cr3t/", "/rest/USER/TOKEN/"),
            ("https://crm.example.test/rest/one/s3cr3t/", "no number"),
            ("https://crm.example.test/rest/1/s3cr3t%2f/", "characters"),
            ("https://crm.example.test/rest/1//", "characters"),
        ] {
            let error = Webhook::parse(text).unwrap_err();
            assert!(error.contains(words) && !error.contains("s3cr3t"), "{text}: {error}");
        }
    }

    #[test]
    fn a_method_name_cannot_change_the_url() {
        let webhook = Webhook::parse("https://crm.example.test/rest/1/abc/").unwrap();
        for name in ["", "a..b", "../x", "crm/deal", "crm.deal?x", "crm.deal#", "crm.deal%2f", "сделка", "a b"] {
            assert!(webhook.url_of(name).is_err(), "{name}");
        }
        assert!(webhook.url_of("sonet_group.user.get").is_ok());
    }
}
