//! Discovery of the authorization server: the metadata of the resource (RFC 9728), then those of its authorization
//! server (RFC 8414, or OpenID Connect).

use reqwest::Url;
use serde_json::Value;

use super::super::error::quoted;
use super::challenge::{Challenge, scopes_of};
use super::fetch::Fetch;

/// The metadata of a server and of its authorization server.
#[derive(Debug)]
pub(super) struct AuthMetadata {
    /// The resource that tokens are for (RFC 8707), exactly as the server writes it.
    pub(super) resource: String,
    /// The scopes that the server supports.
    pub(super) scopes: Vec<String>,
    /// The issuer of tokens, exactly as it writes itself.
    pub(super) issuer: String,
    pub(super) authorize: Option<Url>,
    pub(super) token: Url,
    pub(super) register: Option<Url>,
    /// The supported ways to authenticate the client.
    pub(super) methods: Option<Vec<String>>,
    /// Whether a client id may be an address.
    pub(super) takes_addresses: bool,
    /// Whether it always names itself when it sends a person back (RFC 9207).
    pub(super) names_itself: bool,
    /// Whether long-lived tokens need a scope.
    pub(super) has_offline: bool,
    pub(super) has_s256: bool,
}

/// Follows the addresses that a server names, and checks each step.
pub(super) async fn discover(fetch: &Fetch, server: &Url, challenge: &Challenge) -> Result<AuthMetadata, String> {
    let resource = resource_of(fetch, server, challenge).await?;
    let (published, named, scopes) = match &resource {
        Some(document) => {
            let published = document["resource"].as_str().unwrap_or_default();
            if !covers(published, server) {
                return Err(format!("it says that it is another server: {}", quoted(published)));
            }
            let named = document["authorization_servers"].get(0).and_then(Value::as_str);
            let named = named.ok_or("it does not say who gives tokens for it")?;
            let scopes = document["scopes_supported"].as_array().into_iter().flatten().filter_map(Value::as_str);
            (published.to_owned(), named.to_owned(), scopes_of(scopes))
        }
        // Servers of older versions of the protocol issue tokens themselves.
        None => (server.as_str().to_owned(), server.origin().ascii_serialization(), Vec::new()),
    };
    let issuer = fetch.address(&named, "who gives tokens for it")?;
    for place in places(&issuer) {
        let Some(document) = fetch.document(&place).await? else { continue };
        let issuer = document["issuer"].as_str().unwrap_or_default();
        // Otherwise one authorization server could impersonate another.
        if issuer.strip_suffix('/').unwrap_or(issuer) != named.strip_suffix('/').unwrap_or(&named) {
            return Err(format!("{} says that it is {}, and is not asked", quoted(&named), quoted(issuer)));
        }
        let endpoint = |name: &str| match document[name].as_str() {
            None => Ok(None),
            Some(text) => fetch.address(text, &format!("`{name}` of {}", quoted(issuer))).map(Some),
        };
        let texts = |name: &str| -> Option<Vec<String>> {
            let list = document[name].as_array()?;
            Some(list.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect())
        };
        let has = |name: &str, text: &str| texts(name).is_some_and(|list| list.iter().any(|item| item == text));
        return Ok(AuthMetadata {
            resource: published,
            scopes,
            issuer: issuer.to_owned(),
            authorize: endpoint("authorization_endpoint")?,
            token: endpoint("token_endpoint")?.ok_or_else(|| format!("{} gives no tokens", quoted(issuer)))?,
            register: endpoint("registration_endpoint")?,
            methods: texts("token_endpoint_auth_methods_supported"),
            takes_addresses: document["client_id_metadata_document_supported"] == true,
            names_itself: document["authorization_response_iss_parameter_supported"] == true,
            has_offline: has("scopes_supported", "offline_access"),
            has_s256: has("code_challenge_methods_supported", "S256"),
        });
    }
    Err(format!("{} does not say how it gives tokens", quoted(&named)))
}

/// The metadata of the server; none if it has none.
async fn resource_of(fetch: &Fetch, server: &Url, challenge: &Challenge) -> Result<Option<Value>, String> {
    if let Some(text) = &challenge.metadata {
        let url = fetch.address(text, "the address of its metadata")?;
        let document = fetch.document(&url).await?;
        return document.map(Some).ok_or_else(|| format!("there are no metadata at {}", quoted(text)));
    }
    let path = server.path().trim_end_matches('/');
    let mut tried = Vec::new();
    for path in [path, ""] {
        let url = at(server, &format!("/.well-known/oauth-protected-resource{path}"));
        if tried.contains(&url) {
            continue;
        }
        if let Some(document) = fetch.document(&url).await? {
            return Ok(Some(document));
        }
        tried.push(url);
    }
    Ok(None)
}

/// The possible addresses of an authorization server's metadata, in the order of the specification.
fn places(issuer: &Url) -> Vec<Url> {
    let (oauth, openid) = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration");
    match issuer.path().trim_end_matches('/') {
        "" => vec![at(issuer, oauth), at(issuer, openid)],
        path => {
            let paths = [format!("{oauth}{path}"), format!("{openid}{path}"), format!("{path}{openid}")];
            paths.iter().map(|path| at(issuer, path)).collect()
        }
    }
}

/// Another path on the same host.
fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Whether a resource is the server, or a path above it on its host.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (theirs, ours) = (resource.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
    let is_below = ours.strip_prefix(theirs).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && is_below && resource.fragment().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_covers_paths_below_it_on_the_same_host() {
        let server = Url::parse("https://h.example.test/a/mcp").unwrap();
        for (resource, is_ours) in [
            ("https://h.example.test/a/mcp", true),
            ("https://h.example.test/a", true),
            ("https://h.example.test", true),
            ("https://h.example.test/a/mc", false),
            ("https://h.example.test/a/mcp/x", false),
            ("http://h.example.test/a/mcp", false),
            ("https://h.example.test:444/a/mcp", false),
            ("https://evil.example.test/a/mcp", false),
            ("", false),
        ] {
            assert_eq!(covers(resource, &server), is_ours, "{resource}");
        }
    }

    #[test]
    fn metadata_addresses_are_tried_in_the_specified_order() {
        let found = |text: &str| places(&Url::parse(text).unwrap()).iter().map(Url::to_string).collect::<Vec<_>>();
        let plain = ["https://h/.well-known/oauth-authorization-server", "https://h/.well-known/openid-configuration"];
        assert_eq!(found("https://h"), plain);
        let below = [
            "https://h/.well-known/oauth-authorization-server/t",
            "https://h/.well-known/openid-configuration/t",
            "https://h/t/.well-known/openid-configuration",
        ];
        assert_eq!(found("https://h/t/"), below);
    }
}
