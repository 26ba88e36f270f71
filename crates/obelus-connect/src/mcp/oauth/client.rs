//! The client as an authorization server knows it, and its requests for tokens.

use obelus_runtime::Secret;
use reqwest::{StatusCode, Url};
use serde_json::{Value, json};

use super::super::error::quoted;
use super::challenge::scopes_of;
use super::fetch::Fetch;
use super::metadata::AuthMetadata;

/// How the client authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientAuth {
    /// By its id alone.
    Open,
    /// With its secret in a header.
    Basic,
    /// With its secret in the form.
    Post,
}

impl ClientAuth {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Basic, "client_secret_basic"), (Self::Post, "client_secret_post"), (Self::Open, "none")];

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(method, _)| *method == self).map_or("none", |(_, name)| name)
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(method, _)| *method)
    }

    /// The method to use, with or without a secret.
    fn pick(methods: Option<&[String]>, has_secret: bool) -> Self {
        let takes = |name: &str| methods.is_some_and(|methods| methods.iter().any(|method| method == name));
        match methods {
            _ if !has_secret => Self::Open,
            // The default of RFC 8414.
            None => Self::Basic,
            Some(_) => Self::ALL.iter().find(|(_, name)| takes(name)).map_or(Self::Basic, |(method, _)| *method),
        }
    }
}

/// A client, as an authorization server knows it.
#[derive(Clone, Debug)]
pub(super) struct OauthClient {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) method: ClientAuth,
}

/// The tokens that an authorization server issued.
#[derive(Clone, Debug)]
pub(super) struct IssuedTokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// Seconds until it expires, if known.
    pub(super) lasts: Option<u64>,
    /// The granted scopes, if known.
    pub(super) scopes: Option<Vec<String>>,
}

/// Why there are no tokens.
#[derive(Debug)]
pub(super) struct NoTokens {
    pub(super) words: String,
    /// Whether the credentials are no longer valid, as opposed to a failed request.
    pub(super) is_refused: bool,
}

impl OauthClient {
    /// A client registered by a person.
    pub(super) fn known(id: &str, secret: Option<Secret>, found: &AuthMetadata) -> Self {
        let method = ClientAuth::pick(found.methods.as_deref(), secret.is_some());
        Self { id: id.to_owned(), secret, method }
    }

    /// Registers the client (RFC 7591).
    pub(super) async fn register(
        fetch: &Fetch,
        found: &AuthMetadata,
        back: &str,
        scopes: &[String],
    ) -> Result<Self, String> {
        let Some(url) = &found.register else {
            return Err(format!(
                "{} wants to know the client beforehand; register one there and give its `client_id` in `auth`",
                quoted(&found.issuer)
            ));
        };
        let takes = |name: &str| found.methods.as_ref().is_none_or(|all| all.iter().any(|method| method == name));
        let method = ClientAuth::pick(found.methods.as_deref(), !takes("none"));
        let mut document = json!({
            "client_name": "Obelus",
            "application_type": "native",
            "redirect_uris": [back],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method.name(),
        });
        if !scopes.is_empty() {
            document["scope"] = json!(scopes.join(" "));
        }
        let (status, answer) = fetch.send(url, &document).await?;
        let id = answer["client_id"].as_str().filter(|id| status.is_success() && !id.is_empty());
        let id = id.ok_or_else(|| {
            format!("{} did not register us: {}", quoted(&found.issuer), refusal_text(status, &answer))
        })?;
        let secret = answer["client_secret"].as_str().filter(|secret| !secret.is_empty()).map(Secret::new);
        let picked = ClientAuth::pick(found.methods.as_deref(), secret.is_some());
        let method = answer["token_endpoint_auth_method"].as_str().and_then(ClientAuth::named);
        let method = method.filter(|method| *method == ClientAuth::Open || secret.is_some()).unwrap_or(picked);
        Ok(Self { id: id.to_owned(), secret, method })
    }

    /// Requests tokens.
    pub(super) async fn ask(&self, fetch: &Fetch, at: &Url, fields: &[(&str, &str)]) -> Result<IssuedTokens, NoTokens> {
        let (mut form, mut basic) = (fields.to_vec(), None);
        match (self.method, &self.secret) {
            (ClientAuth::Basic, Some(secret)) => basic = Some((self.id.as_str(), secret.expose())),
            (ClientAuth::Post, Some(secret)) => {
                form.push(("client_id", &self.id));
                form.push(("client_secret", secret.expose()));
            }
            _ => form.push(("client_id", &self.id)),
        }
        let failed = |words: String, is_refused| NoTokens { words, is_refused };
        let (status, answer) = fetch.send_form(at, &form, basic).await.map_err(|words| failed(words, false))?;
        let host = quoted(at.host_str().unwrap_or_default());
        if !status.is_success() {
            let is_refused = matches!(answer["error"].as_str(), Some("invalid_grant" | "invalid_client"));
            return Err(failed(format!("{host} gave no token: {}", refusal_text(status, &answer)), is_refused));
        }
        let Some(access) = answer["access_token"].as_str().filter(|token| is_token(token)) else {
            return Err(failed(format!("what {host} gave is no token"), false));
        };
        let access = Secret::new(access);
        let refresh = answer["refresh_token"].as_str().filter(|token| !token.is_empty()).map(Secret::new);
        if !answer["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err(failed(format!("{host} gave a token of a kind that is not known here"), false));
        }
        let lasts = answer["expires_in"].as_u64().or_else(|| answer["expires_in"].as_str()?.parse().ok());
        let scopes = answer["scope"].as_str().map(|text| scopes_of(text.split(' ')));
        Ok(IssuedTokens { access, refresh, lasts, scopes })
    }
}

/// Whether a text is valid in its header.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Why a request was refused. Only the standard's fields are shown: the rest is untrusted.
fn refusal_text(status: StatusCode, answer: &Value) -> String {
    let word = |name: &str| answer[name].as_str().filter(|text| !text.is_empty()).map(quoted);
    let mut words = word("error").unwrap_or_else(|| format!("HTTP {}", status.as_u16()));
    if let Some(more) = word("error_description") {
        words.push_str(" (");
        words.push_str(&more);
        words.push(')');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_secret_is_sent_by_the_method_the_server_supports() {
        let pick = |methods: &[&str], has_secret| {
            let methods: Vec<String> = methods.iter().map(|&method| method.to_owned()).collect();
            ClientAuth::pick(Some(&methods), has_secret)
        };
        assert_eq!(pick(&["client_secret_post"], true), ClientAuth::Post);
        assert_eq!(pick(&["client_secret_post", "client_secret_basic"], true), ClientAuth::Basic);
        assert_eq!(pick(&["none"], true), ClientAuth::Open);
        assert_eq!(pick(&["client_secret_post"], false), ClientAuth::Open);
        assert_eq!(ClientAuth::pick(None, true), ClientAuth::Basic);
    }
}
