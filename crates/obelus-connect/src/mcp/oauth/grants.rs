//! The two ways to obtain a token: a person logs in, or the agent has its own account.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use obelus_runtime::Secret;
use reqwest::Url;
use rustls::crypto::ring::default_provider;
use sha2::{Digest as _, Sha256};

use super::super::error::quoted;
use super::challenge::Challenge;
use super::client::{IssuedTokens, OauthClient};
use super::config::Grant;
use super::fetch::{Fetch, is_local};
use super::metadata::{AuthMetadata, discover};
use super::stored_token::StoredToken;
use super::{Auth, LogIn, TokenState, assertion, now};

impl Auth {
    /// A person logs in. The tokens are stored.
    pub(in crate::mcp) async fn log_in(&self, person: &dyn LogIn) -> Result<(), String> {
        let mut held = self.held.lock().await;
        let challenge = held.challenge.clone().unwrap_or_default();
        if self.config.grant == Grant::Credentials {
            return self.take_credentials(&mut held).await;
        }
        let (fetch, found) = self.found(&held, &challenge).await?;
        let scopes = self.scopes(&held, &challenge, &found)?;
        let no_login = || format!("nobody can log in at {}", quoted(&found.issuer));
        let mut address = found.authorize.clone().ok_or_else(no_login)?;
        if !found.has_s256 {
            return Err(format!("{} does not take a proof of who began the login (PKCE, S256)", quoted(&found.issuer)));
        }
        let back = person.back();
        let client = match &self.config.client_id {
            Some(id) if !self.config.id_is_address() || found.takes_addresses => {
                OauthClient::known(id, self.config.secret()?, &found)
            }
            _ => OauthClient::register(&fetch, &found, &back, &scopes).await?,
        };
        // The state appears in the address shown to the person; the verifier stays secret until the end of the login.
        let (state, verifier) = (random()?, Secret::new(random()?));
        let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose()));
        address
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", &back)
            .append_pair("state", &state)
            .append_pair("code_challenge", &proof)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &found.resource);
        if !scopes.is_empty() {
            address.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        let landed = person.visit(address.as_str(), &state).await?;
        let code = code_in(&landed, &state, &found)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", &back),
            ("code_verifier", verifier.expose()),
            ("resource", &found.resource),
        ];
        let tokens = client.ask(&fetch, &found.token, &fields).await.map_err(|failed| failed.words)?;
        self.take(&mut held, found, client, scopes, tokens)
    }

    /// Gets a token for the agent's own account.
    pub(super) async fn take_credentials(&self, held: &mut TokenState) -> Result<(), String> {
        let challenge = held.challenge.clone().unwrap_or_default();
        let (fetch, found) = self.found(held, &challenge).await?;
        let scopes = self.scopes(held, &challenge, &found)?;
        let id = self.config.client_id.as_deref().unwrap_or_default();
        let client = OauthClient::known(id, self.config.secret()?, &found);
        let signed = self.config.key()?.map(|key| assertion::assertion(&key, id, &found.issuer, &random()?, now()));
        let signed = signed.transpose()?;
        let joined = scopes.join(" ");
        let mut fields = vec![("grant_type", "client_credentials"), ("resource", &found.resource)];
        if let Some(signed) = &signed {
            fields.push(("client_assertion_type", assertion::KIND));
            fields.push(("client_assertion", signed.expose()));
        }
        if !scopes.is_empty() {
            fields.push(("scope", &joined));
        }
        let tokens = client.ask(&fetch, &found.token, &fields).await.map_err(|failed| failed.words)?;
        self.take(held, found, client, scopes, tokens)
    }

    /// Discovers the authorization server. It must not change once it has got the client's secret.
    async fn found(&self, held: &TokenState, challenge: &Challenge) -> Result<(Fetch, AuthMetadata), String> {
        if self.url.scheme() != "https" && !is_local(&self.url) {
            return Err("it wants to know who asks, and no token is sent to an address that is not https".to_owned());
        }
        let fetch = Fetch::new(&self.url)?;
        let found = discover(&fetch, &self.url, challenge).await?;
        let before = match self.config.secret()? {
            Some(_) => held.stored.as_ref().map(|stored| stored.issuer.as_str()),
            None => None,
        };
        match self.config.issuer.as_deref().or(before) {
            Some(ours) if ours != found.issuer => Err(format!(
                "its tokens come from {} now, not from {}; say so in `issuer` of `auth` if that is right",
                quoted(&found.issuer),
                quoted(ours)
            )),
            _ => Ok((fetch, found)),
        }
    }

    /// The scopes to request: the author's, else the server's; and those found missing since.
    fn scopes(&self, held: &TokenState, challenge: &Challenge, found: &AuthMetadata) -> Result<Vec<String>, String> {
        let mut scopes = match (&self.config.scopes, &challenge.scopes) {
            (configured, _) if !configured.is_empty() => configured.clone(),
            (_, wanted) if !wanted.is_empty() => wanted.clone(),
            _ => found.scopes.clone(),
        };
        let mut add = |scope: &String| {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        };
        if let Some(stored) = &held.stored {
            let more: Vec<&String> = stored.wanted.iter().collect();
            if challenge.wants_more() && more.is_empty() {
                return Err("it wants more rights, and does not say which".to_owned());
            }
            if challenge.wants_more() && more.iter().all(|scope| stored.scopes.contains(scope)) {
                return Err(format!(
                    "it wants rights that were asked for already: {}",
                    quoted(&stored.wanted.join(" "))
                ));
            }
            if !more.is_empty() {
                stored.scopes.iter().chain(more).for_each(&mut add);
            }
        }
        if found.has_offline && self.config.grant == Grant::Code && !scopes.is_empty() {
            let offline = "offline_access".to_owned();
            if !scopes.contains(&offline) {
                scopes.push(offline);
            }
        }
        Ok(scopes)
    }

    fn take(
        &self,
        held: &mut TokenState,
        found: AuthMetadata,
        client: OauthClient,
        scopes: Vec<String>,
        tokens: IssuedTokens,
    ) -> Result<(), String> {
        let mut stored = StoredToken {
            server: self.url.clone(),
            resource: found.resource,
            issuer: found.issuer,
            token_at: found.token,
            client,
            access: None,
            refresh: None,
            until: None,
            scopes,
            wanted: Vec::new(),
        };
        // An environment secret is read each time and not stored.
        if self.config.secret()?.is_some() {
            stored.client.secret = None;
        }
        if let Some(given) = &tokens.scopes {
            stored
                .scopes
                .extend(given.iter().filter(|scope| !stored.scopes.contains(scope)).cloned().collect::<Vec<_>>());
        }
        stored.renew(tokens, now());
        let saved = self.save(&stored);
        (held.stored, held.challenge, held.is_aside) = (Some(stored), None, false);
        saved
    }
}

/// The code in the address that the person came back to.
fn code_in(landed: &str, state: &str, found: &AuthMetadata) -> Result<Secret, String> {
    let url = Url::parse(landed).map_err(|_| "the login led to no address".to_owned())?;
    let all = |name: &str| {
        let values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        values.collect::<Vec<_>>()
    };
    let one = |name: &str| all(name).into_iter().next();
    if all("state") != [state] {
        return Err("the login that came back is not the one that was begun".to_owned());
    }
    // Another server could have answered in its place (RFC 9207).
    match one("iss") {
        Some(named) if named != found.issuer => {
            return Err(format!("the login came back from {}, not from {}", quoted(&named), quoted(&found.issuer)));
        }
        None if found.names_itself => {
            return Err(format!("the login came back without saying that it is from {}", quoted(&found.issuer)));
        }
        _ => {}
    }
    if let Some(error) = one("error") {
        let more = one("error_description").map(|text| format!(" ({})", quoted(&text))).unwrap_or_default();
        return Err(format!("the login was refused: {}{more}", quoted(&error)));
    }
    let code = one("code").filter(|code| !code.is_empty()).ok_or("the login came back without a code")?;
    Ok(Secret::new(code))
}

/// An unguessable text.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    let filled = default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| "this machine has no random numbers".to_owned())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names_itself: bool) -> AuthMetadata {
        let url = |text: &str| Url::parse(text).unwrap();
        AuthMetadata {
            resource: "https://h.example.test/mcp".to_owned(),
            scopes: Vec::new(),
            issuer: "https://as.example.test".to_owned(),
            authorize: Some(url("https://as.example.test/authorize")),
            token: url("https://as.example.test/token"),
            register: None,
            methods: None,
            takes_addresses: false,
            names_itself,
            has_offline: false,
            has_s256: true,
        }
    }

    #[test]
    fn the_issuer_of_a_redirect_must_be_the_one_that_was_asked() {
        let back = "http://127.0.0.1:5/callback";
        for (query, names_itself, words) in [
            ("code=c&state=s", false, None),
            ("code=c&state=s&iss=https://as.example.test", true, None),
            ("code=c&state=s", true, Some("without saying")),
            ("code=c&state=s&iss=https://as.example.test/", false, Some("not from")),
            ("code=c&state=s&iss=https://evil.example.test", true, Some("not from")),
            ("code=c&state=t", false, Some("not the one")),
            ("code=c&state=s&state=t", false, Some("not the one")),
            ("code=c", false, Some("not the one")),
            ("state=s", false, Some("without a code")),
            ("error=access_denied&error_description=no%1b&state=s", false, Some("refused: access_denied (no\\u{1b})")),
        ] {
            let code = code_in(&format!("{back}?{query}"), "s", &found(names_itself));
            match words {
                None => assert_eq!(code.unwrap().expose(), "c", "{query}"),
                Some(words) => assert!(code.clone().unwrap_err().contains(words), "{query}: {code:?}"),
            }
        }
    }
}
