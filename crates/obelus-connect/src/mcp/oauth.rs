//! Who asks: tokens for servers that want to know (OAuth 2.1, as MCP has it).
//!
//! A server that refuses a request says where its rules stand. From there on every word is a stranger's: who gives
//! tokens, where a person logs in, where a code becomes a token. Each step is checked, addresses are `https` (or on
//! this machine, if the server is), and a token is for one server's address and goes nowhere else.
//!
//! | module | subject |
//! |---|---|
//! | `said` | the field `auth` of an agent's file |
//! | `challenge` | what a server says when it refuses |
//! | `found` | who gives tokens for it |
//! | `fetch` | requests to addresses that strangers name |
//! | `client` | who we are to them, and asking for tokens |
//! | `signed` | saying who we are by a signature |
//! | `kept` | tokens in files |
//! | `landing` | where a person comes back to |

mod challenge;
mod client;
mod fetch;
mod found;
mod kept;
mod landing;
mod said;
mod signed;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use obelus_runtime::Secret;
use reqwest::Url;
use rustls::crypto::ring::default_provider;
use sha2::{Digest as _, Sha256};

pub(super) use self::challenge::Challenge;
use self::client::Client;
use self::fetch::{Fetch, is_local};
use self::found::{Found, discover};
use self::kept::{Kept, file_of};
pub use self::landing::Landing;
use self::said::Grant;
pub(super) use self::said::Said;
use super::error::quoted;

/// Where a login ended: an address, or why there is none.
pub type VisitFuture<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// Somebody who can log in.
pub trait LogIn: Send + Sync {
    /// The address that the person is sent back to.
    fn back(&self) -> String;

    /// Has the person open an address: the one that they were sent back to, which has this `state` in it.
    fn visit<'a>(&'a self, address: &'a str, state: &'a str) -> VisitFuture<'a>;
}

/// Tokens for one server.
pub(super) struct Auth {
    server: String,
    url: Url,
    said: Said,
    place: Mutex<Option<Place>>,
    /// Held while tokens are renewed, so that it is done once.
    held: tokio::sync::Mutex<Held>,
    /// For the mask, which cannot wait.
    secrets: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Place {
    file: PathBuf,
    /// What a person types for the agent.
    typed: String,
}

#[derive(Default)]
struct Held {
    is_loaded: bool,
    kept: Option<Kept>,
    /// Whether a login is about to begin, for which the tokens in the file do not count.
    is_aside: bool,
    /// Why the last request was refused.
    challenge: Option<Challenge>,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Auth").field("said", &self.said).finish_non_exhaustive()
    }
}

impl Auth {
    pub(super) fn new(server: &str, url: Url, said: Said) -> Self {
        let (place, secrets) = (Mutex::default(), Mutex::default());
        Self { server: server.to_owned(), url, said, place, held: tokio::sync::Mutex::default(), secrets }
    }

    /// Keeps tokens in a folder, for an agent. Without it they last as long as the process.
    pub(super) fn keep_in(&self, folder: &Path, agent: &str, typed: &str) {
        let place = Place { file: file_of(folder, agent, &self.url), typed: typed.to_owned() };
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    fn place(&self) -> Option<Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tokens that there are now, for the mask.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The token to send. It is renewed if it has lapsed; where that fails the server may still take the old one.
    pub(super) async fn token(&self) -> Option<Secret> {
        let mut held = self.held.lock().await;
        self.load(&mut held);
        let kept = held.kept.as_ref()?;
        if let Some(token) = kept.fresh(now()) {
            return Some(token);
        }
        if kept.refresh.is_some() {
            let _ = self.refresh(&mut held).await;
        }
        held.kept.as_ref()?.access.clone()
    }

    /// Gets another token after a request with `used` was refused. The error says what a person is to do. On the `last`
    /// try nothing is got any more.
    pub(super) async fn renewed(
        &self,
        challenge: Challenge,
        used: Option<&Secret>,
        is_last: bool,
    ) -> Result<(), String> {
        let mut held = self.held.lock().await;
        if !is_last && held.kept.as_ref().and_then(|kept| kept.access.as_ref()) != used {
            return Ok(());
        }
        if !is_last && self.take_theirs(&mut held, used) {
            return Ok(());
        }
        let wants_more = challenge.wants_more();
        let missing = challenge.scopes.join(" ");
        held.challenge = Some(challenge);
        if wants_more
            && used.is_some()
            && let Held { kept: Some(kept), challenge: Some(said), .. } = &mut *held
        {
            kept.wanted.clone_from(&said.scopes);
            self.save(kept)?;
        }
        match self.said.grant {
            Grant::Credentials if is_last => Err("it refuses the token that it wanted; see `auth`".to_owned()),
            Grant::Credentials => self.take_credentials(&mut held).await,
            Grant::Code if wants_more => {
                Err(format!("it wants more rights ({}); {}", quoted(&missing), self.how_to_log_in()))
            }
            Grant::Code => {
                let refreshed = match !is_last && held.kept.as_ref().is_some_and(|kept| kept.refresh.is_some()) {
                    true => self.refresh(&mut held).await,
                    false => Err(String::new()),
                };
                refreshed.map_err(|why| {
                    let what =
                        if used.is_some() { "the login is not good any more" } else { "it wants to know who asks" };
                    let why = if why.is_empty() { why } else { format!(" ({why})") };
                    format!("{what}{why}; {}", self.how_to_log_in())
                })
            }
        }
    }

    /// Whether a request was refused and nothing was got since.
    pub(super) async fn is_challenged(&self) -> bool {
        self.held.lock().await.challenge.is_some()
    }

    /// Has the next request go without a token, so that the server says what it wants.
    pub(super) async fn set_aside(&self) {
        let mut held = self.held.lock().await;
        self.load(&mut held);
        if let Some(kept) = &mut held.kept {
            (kept.access, kept.refresh) = (None, None);
        }
        held.is_aside = true;
    }

    /// Goes back to the tokens in the file after a login that came to nothing.
    pub(super) async fn give_up(&self) {
        let mut held = self.held.lock().await;
        if held.is_aside {
            *held = Held::default();
        }
    }

    /// A person logs in. What they get is kept.
    pub(super) async fn log_in(&self, person: &dyn LogIn) -> Result<(), String> {
        let mut held = self.held.lock().await;
        let challenge = held.challenge.clone().unwrap_or_default();
        if self.said.grant == Grant::Credentials {
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
        let client = match &self.said.client_id {
            Some(id) if !self.said.id_is_address() || found.takes_addresses => {
                Client::known(id, self.said.secret()?, &found)
            }
            _ => Client::register(&fetch, &found, &back, &scopes).await?,
        };
        // The state is in the address that the person is shown; the other is for the end of the login alone.
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
    async fn take_credentials(&self, held: &mut Held) -> Result<(), String> {
        let challenge = held.challenge.clone().unwrap_or_default();
        let (fetch, found) = self.found(held, &challenge).await?;
        let scopes = self.scopes(held, &challenge, &found)?;
        let id = self.said.client_id.as_deref().unwrap_or_default();
        let client = Client::known(id, self.said.secret()?, &found);
        let signed = self.said.key()?.map(|key| signed::assertion(&key, id, &found.issuer, &random()?, now()));
        let signed = signed.transpose()?;
        let joined = scopes.join(" ");
        let mut fields = vec![("grant_type", "client_credentials"), ("resource", &found.resource)];
        if let Some(signed) = &signed {
            fields.push(("client_assertion_type", signed::KIND));
            fields.push(("client_assertion", signed.expose()));
        }
        if !scopes.is_empty() {
            fields.push(("scope", &joined));
        }
        let tokens = client.ask(&fetch, &found.token, &fields).await.map_err(|failed| failed.words)?;
        self.take(held, found, client, scopes, tokens)
    }

    /// Finds out who gives tokens. One that got the secret of the client before is not changed for another.
    async fn found(&self, held: &Held, challenge: &Challenge) -> Result<(Fetch, Found), String> {
        if self.url.scheme() != "https" && !is_local(&self.url) {
            return Err("it wants to know who asks, and no token is sent to an address that is not https".to_owned());
        }
        let fetch = Fetch::new(&self.url)?;
        let found = discover(&fetch, &self.url, challenge).await?;
        let before = match self.said.secret()? {
            Some(_) => held.kept.as_ref().map(|kept| kept.issuer.as_str()),
            None => None,
        };
        match self.said.issuer.as_deref().or(before) {
            Some(ours) if ours != found.issuer => Err(format!(
                "its tokens come from {} now, not from {}; say so in `issuer` of `auth` if that is right",
                quoted(&found.issuer),
                quoted(ours)
            )),
            _ => Ok((fetch, found)),
        }
    }

    /// The rights to ask for: what the author wants, else what the server wants; and what was found missing since.
    fn scopes(&self, held: &Held, challenge: &Challenge, found: &Found) -> Result<Vec<String>, String> {
        let mut scopes = match (&self.said.scopes, &challenge.scopes) {
            (said, _) if !said.is_empty() => said.clone(),
            (_, wanted) if !wanted.is_empty() => wanted.clone(),
            _ => found.scopes.clone(),
        };
        let mut add = |scope: &String| {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        };
        if let Some(kept) = &held.kept {
            let more: Vec<&String> = kept.wanted.iter().collect();
            if challenge.wants_more() && more.is_empty() {
                return Err("it wants more rights, and does not say which".to_owned());
            }
            if challenge.wants_more() && more.iter().all(|scope| kept.scopes.contains(scope)) {
                return Err(format!("it wants rights that were asked for already: {}", quoted(&kept.wanted.join(" "))));
            }
            if !more.is_empty() {
                kept.scopes.iter().chain(more).for_each(&mut add);
            }
        }
        if found.has_offline && self.said.grant == Grant::Code && !scopes.is_empty() {
            let offline = "offline_access".to_owned();
            if !scopes.contains(&offline) {
                scopes.push(offline);
            }
        }
        Ok(scopes)
    }

    fn take(
        &self,
        held: &mut Held,
        found: Found,
        client: Client,
        scopes: Vec<String>,
        tokens: client::Tokens,
    ) -> Result<(), String> {
        let mut kept = Kept {
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
        // What stands in the environment is read from there, and not kept.
        if self.said.secret()?.is_some() {
            kept.client.secret = None;
        }
        if let Some(given) = &tokens.scopes {
            kept.scopes.extend(given.iter().filter(|scope| !kept.scopes.contains(scope)).cloned().collect::<Vec<_>>());
        }
        kept.renew(tokens, now());
        let saved = self.save(&kept);
        (held.kept, held.challenge, held.is_aside) = (Some(kept), None, false);
        saved
    }

    /// Takes a token that another process has got meanwhile: a person logged in, or it was renewed there.
    fn take_theirs(&self, held: &mut Held, used: Option<&Secret>) -> bool {
        let Some(place) = self.place().filter(|_| !held.is_aside) else { return false };
        let theirs = Kept::load(&place.file, &self.url);
        let theirs = theirs.filter(|theirs| theirs.access.as_ref() != used && theirs.fresh(now()).is_some());
        let Some(theirs) = theirs else { return false };
        self.remember(&theirs);
        (held.kept, held.challenge) = (Some(theirs), None);
        true
    }

    /// Renews a token without a person.
    async fn refresh(&self, held: &mut Held) -> Result<(), String> {
        let used = held.kept.as_ref().and_then(|kept| kept.access.clone());
        if self.take_theirs(held, used.as_ref()) {
            return Ok(());
        }
        let Some(mut kept) = held.kept.take() else { return Err(String::new()) };
        let asked = async {
            let fetch = Fetch::new(&self.url)?;
            fetch.address(kept.token_at.as_str(), "the address at which tokens are renewed")?;
            let refresh = kept.refresh.clone().ok_or_else(String::new)?;
            let fields =
                [("grant_type", "refresh_token"), ("refresh_token", refresh.expose()), ("resource", &kept.resource)];
            let secret = self.said.secret()?.or_else(|| kept.client.secret.clone());
            let client = Client { secret, ..kept.client.clone() };
            Ok(client.ask(&fetch, &kept.token_at, &fields).await)
        };
        let result = match asked.await {
            Err(words) => Err(words),
            Ok(Ok(tokens)) => {
                kept.renew(tokens, now());
                held.challenge = None;
                self.save(&kept)
            }
            Ok(Err(failed)) => {
                if failed.is_refused {
                    (kept.access, kept.refresh) = (None, None);
                    // What is not good any more need not be kept; if that fails it is refused again.
                    let _ = self.save(&kept);
                }
                Err(failed.words)
            }
        };
        held.kept = Some(kept);
        result
    }

    fn load(&self, held: &mut Held) {
        let Some(place) = self.place().filter(|_| !held.is_loaded) else { return };
        held.is_loaded = true;
        if held.kept.is_none() {
            held.kept = Kept::load(&place.file, &self.url);
            held.kept.iter().for_each(|kept| self.remember(kept));
        }
    }

    fn save(&self, kept: &Kept) -> Result<(), String> {
        self.remember(kept);
        let Some(place) = self.place() else { return Ok(()) };
        kept.save(&place.file).map_err(|error| format!("its token cannot be kept in {}: {error}", place.file.display()))
    }

    fn remember(&self, kept: &Kept) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.extend(kept.secrets().map(|secret| secret.expose().to_owned()));
        secrets.sort_unstable();
        secrets.dedup();
    }

    fn how_to_log_in(&self) -> String {
        match self.place() {
            Some(place) if !place.typed.is_empty() => {
                format!("log in with: obelus agents login {} {}", quoted(&place.typed), self.server)
            }
            _ => format!("log in with: obelus agents login AGENT {}", self.server),
        }
    }
}

/// The code in the address that a person was sent back to.
fn code_in(landed: &str, state: &str, found: &Found) -> Result<Secret, String> {
    let url = Url::parse(landed).map_err(|_| "the login led to no address".to_owned())?;
    let all = |name: &str| {
        let values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        values.collect::<Vec<_>>()
    };
    let one = |name: &str| all(name).into_iter().next();
    if all("state") != [state] {
        return Err("the login that came back is not the one that was begun".to_owned());
    }
    // Another one could have answered in its place (RFC 9207).
    match one("iss") {
        Some(said) if said != found.issuer => {
            return Err(format!("the login came back from {}, not from {}", quoted(&said), quoted(&found.issuer)));
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

/// A text that nobody can guess.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    let filled = default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| "this machine has no random numbers".to_owned())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
