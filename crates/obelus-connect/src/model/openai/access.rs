//! The server's address and key. Both come from the environment and never from an agent's file, so that a file cannot
//! send the key to another server.

use std::collections::BTreeMap;

use obelus_runtime::Secret;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Proxy, Url};

use super::failure::{Code, ModelFailure};
use super::options::OpenAiOptions;
use crate::web;

const OPENAI: &str = "https://api.openai.com/v1";
/// The variable with the key.
pub(super) const KEY: &str = "OPENAI_API_KEY";
const BASE: &str = "OPENAI_API_BASE";
/// The server's address and key.
#[derive(Clone, Debug)]
pub struct ServerAccess {
    /// The address of `/chat/completions`, or the error in the setting.
    base: Result<Url, String>,
    key: Option<Secret>,
    /// Whether the address was set explicitly; such a server may need no key.
    is_chosen: bool,
    /// The proxies from the environment, by scheme.
    proxies: BTreeMap<&'static str, String>,
}

impl ServerAccess {
    /// Reads the environment: `OPENAI_API_BASE`, `OPENAI_API_KEY`, `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`.
    pub fn from_env() -> Self {
        let named =
            |name: &str| std::env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let base = named(BASE);
        let either = |name: &str| named(name).or_else(|| named(&name.to_ascii_lowercase()));
        let proxies = [("https", "HTTPS_PROXY"), ("http", "HTTP_PROXY")];
        let proxies = proxies.into_iter().filter_map(|(scheme, name)| Some((scheme, either(name)?))).collect();
        Self { proxies, ..Self::new(base.as_deref(), Secret::from_env(KEY)) }
    }

    /// This address, or OpenAI's, with this key and no proxy.
    pub fn new(base: Option<&str>, key: Option<Secret>) -> Self {
        Self { base: address(base.unwrap_or(OPENAI)), key, is_chosen: base.is_some(), proxies: BTreeMap::new() }
    }

    /// The address that requests go to.
    pub(super) fn url(&self) -> Result<&Url, ModelFailure> {
        self.base.as_ref().map_err(|problem| ModelFailure::new(Code::BadSettings, problem))
    }

    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// The headers of a request, and the secrets in them.
    pub(super) fn headers(&self, options: &OpenAiOptions) -> Result<(HeaderMap, Vec<Secret>), ModelFailure> {
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let mut secrets = Vec::new();
        for (name, text) in &options.headers {
            let bad = |what: &str| ModelFailure::new(Code::BadSettings, format!("headers.{name}: {what}"));
            let header: HeaderName = name.parse().map_err(|_| bad("this cannot be the name of a header"))?;
            let text = filled_in(name, text, &mut secrets)?;
            headers.insert(header, sensitive(&text).ok_or_else(|| bad("a header is one line of text"))?);
        }
        if headers.contains_key(AUTHORIZATION) {
            return Ok((headers, secrets));
        }
        match &self.key {
            Some(key) => {
                let value = sensitive(&format!("Bearer {}", key.expose().trim()));
                let broken =
                    || ModelFailure::new(Code::BadSettings, format!("{KEY} is not one line of text; set it again"));
                headers.insert(AUTHORIZATION, value.ok_or_else(broken)?);
                secrets.push(Secret::new(key.expose().trim()));
            }
            None if self.is_chosen => {}
            None => {
                let words = format!("the environment has no {KEY}; set it, or name a server that needs none in {BASE}");
                return Err(ModelFailure::new(Code::NoKey, words));
            }
        }
        Ok((headers, secrets))
    }

    /// An HTTP client without redirects, with the proxy if there is one.
    pub(super) fn client(&self, options: &OpenAiOptions) -> Result<reqwest::Client, ModelFailure> {
        let bad = |words: String| ModelFailure::new(Code::BadSettings, words);
        let url = self.url()?;
        let mut builder = web::client().redirect(reqwest::redirect::Policy::none()).no_proxy();
        let environments = self.proxies.get(url.scheme()).map(|proxy| (proxy, web::unproxied_hosts()));
        let proxy = match &options.proxy {
            // Without TLS the proxy could read the key, so an agent's file must not choose the proxy.
            Some(_) if url.scheme() != "https" => {
                return Err(bad(format!(
                    "proxy: {} has no TLS, so a proxy is taken from HTTP_PROXY only",
                    url.origin().ascii_serialization()
                )));
            }
            Some(proxy) => Some((proxy, None)),
            None => environments,
        };
        if let Some((proxy, except)) = proxy {
            let made = Proxy::all(proxy.as_str()).map_err(|_| bad("the proxy's address cannot be read".to_owned()))?;
            builder = builder.proxy(made.no_proxy(except));
        }
        builder.build().map_err(|error| bad(web::no_tls(error)))
    }
}

fn address(base: &str) -> Result<Url, String> {
    let wrong = |what: &str| format!("{BASE}: {what}; it is an address such as {OPENAI}");
    let mut url = Url::parse(base).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("only http and https are supported"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("a name or a password in an address would be shown; use OPENAI_API_KEY"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it has no `?` and no `#`"));
    }
    let path = format!("{}/chat/completions", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// Replaces `${NAME}` in a header by variables of the environment, which count as secrets.
fn filled_in(header: &str, text: &str, secrets: &mut Vec<Secret>) -> Result<String, ModelFailure> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, named)) = rest.split_once("${") {
        let Some((name, after)) = named.split_once('}') else { break };
        let Some(value) = Secret::from_env(name) else {
            let words = format!("headers.{header}: the environment has no {name}; set it");
            return Err(ModelFailure::new(Code::NoSecret, words));
        };
        whole.push_str(before);
        whole.push_str(value.expose().trim());
        secrets.push(Secret::new(value.expose().trim()));
        rest = after;
    }
    Ok(whole + rest)
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_address_is_used() {
        for (base, url) in [
            ("https://api.example.test/v1", "https://api.example.test/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://localhost:1234", "http://localhost:1234/chat/completions"),
        ] {
            assert_eq!(ServerAccess::new(Some(base), None).url().unwrap().as_str(), url);
        }
        for (base, part) in [
            ("ftp://example.test", "http and https"),
            ("https://u:p@example.test/v1", "OPENAI_API_KEY"),
            ("example.test", "OPENAI_API_BASE"),
            ("https://example.test/v1?x=1", "no `?`"),
        ] {
            let failure = ServerAccess::new(Some(base), None).url().unwrap_err();
            assert!(failure.code == Code::BadSettings && failure.message.contains(part), "{}", failure.message);
        }
    }

    #[test]
    fn a_key_is_required_only_for_the_default_server() {
        let options = OpenAiOptions::named("m");
        let failure = ServerAccess::new(None, None).headers(&options).unwrap_err();
        assert!(failure.code == Code::NoKey && failure.message.contains("OPENAI_API_BASE"));
        assert!(ServerAccess::new(Some("http://127.0.0.1:1/v1"), None).headers(&options).is_ok());
        let (headers, secrets) = ServerAccess::new(None, Some(Secret::new(" sk-x\n"))).headers(&options).unwrap();
        assert_eq!(headers[AUTHORIZATION].to_str().unwrap(), "Bearer sk-x");
        assert_eq!(secrets[0].expose(), "sk-x");
        assert!(!format!("{headers:?}").contains("sk-x"));
        let broken = ServerAccess::new(None, Some(Secret::new("a\nb"))).headers(&options).unwrap_err();
        assert_eq!(broken.code, Code::BadSettings);
    }

    #[test]
    fn headers_may_name_variables_of_the_environment() {
        let with = |text: &str| {
            let headers = BTreeMap::from([("X-Path".to_owned(), text.to_owned())]);
            ServerAccess::new(Some("http://h/v1"), None)
                .headers(&OpenAiOptions { headers, ..OpenAiOptions::named("m") })
        };
        let (headers, secrets) = with("a ${PATH} b").unwrap();
        assert_eq!(headers["x-path"].to_str().unwrap(), format!("a {} b", std::env::var("PATH").unwrap()));
        assert_eq!(secrets.len(), 1);
        assert_eq!(with("plain ${").unwrap().0["x-path"], "plain ${");
        let failure = with("${OBELUS_NO_SUCH_VARIABLE}").unwrap_err();
        assert!(failure.code == Code::NoSecret && failure.message.contains("OBELUS_NO_SUCH_VARIABLE"));
        assert_eq!(with("a\r\nb").unwrap_err().code, Code::BadSettings);
    }

    #[test]
    fn a_proxy_of_an_agents_file_is_refused_for_plain_http() {
        let options =
            OpenAiOptions { proxy: Some("http://proxy.example.test".to_owned()), ..OpenAiOptions::named("m") };
        let failure = ServerAccess::new(Some("http://h/v1"), None).client(&options).unwrap_err();
        assert!(failure.message.contains("HTTP_PROXY"), "{}", failure.message);
        assert!(ServerAccess::new(Some("https://h/v1"), None).client(&options).is_ok());
    }
}
