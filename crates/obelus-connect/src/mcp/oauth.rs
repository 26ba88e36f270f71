//! Tokens for servers that require authorization (OAuth 2.1, as MCP specifies it).
//!
//! A server that refuses a request names its metadata. Everything that follows from there is untrusted: who issues
//! tokens, where a person logs in, where a code is exchanged. Each step is checked, addresses are `https` (or on this
//! machine, if the server is), and a token is sent only to the address of its server.
//!
//! | file | subject |
//! |---|---|
//! | `config` | the field `auth` of an agent's file |
//! | `challenge` | the reasons of a server that refuses a request |
//! | `metadata` | discovery of the authorization server |
//! | `fetch` | requests to addresses that a server names |
//! | `client` | the client's registration, and requests for tokens |
//! | `assertion` | authentication of the client by a signature |
//! | `grants` | logins, and accounts of agents |
//! | `stored_token` | tokens in files |
//! | `login_callback` | the page that a login returns to |

mod assertion;
mod challenge;
mod client;
mod config;
mod fetch;
mod grants;
mod login_callback;
mod metadata;
mod stored_token;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use obelus_runtime::Secret;
use reqwest::Url;

pub(super) use self::challenge::Challenge;
use self::client::OauthClient;
pub(super) use self::config::AuthConfig;
use self::config::Grant;
use self::fetch::Fetch;
pub use self::login_callback::LoginCallback;
use self::stored_token::{StoredToken, file_of};
use super::error::quoted;

/// The address at which a login ended, or an error.
pub type VisitFuture<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// Lets a person log in.
pub trait LogIn: Send + Sync {
    /// The address that the person is sent back to.
    fn back(&self) -> String;

    /// Sends the person to an address; returns the one that they come back to, which contains this `state`.
    fn visit<'a>(&'a self, address: &'a str, state: &'a str) -> VisitFuture<'a>;
}

/// Tokens for one server.
pub(super) struct Auth {
    server: String,
    url: Url,
    config: AuthConfig,
    place: Mutex<Option<TokenFile>>,
    /// Locked during a renewal, so that it happens once.
    held: tokio::sync::Mutex<TokenState>,
}

#[derive(Clone)]
struct TokenFile {
    file: PathBuf,
    /// How a person names the agent in a login command.
    typed: String,
}

#[derive(Default)]
struct TokenState {
    is_loaded: bool,
    stored: Option<StoredToken>,
    /// Whether a login is about to begin, which ignores the stored tokens.
    is_aside: bool,
    /// Why the last request was refused.
    challenge: Option<Challenge>,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Auth").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Auth {
    pub(super) fn new(server: &str, url: Url, config: AuthConfig) -> Self {
        Self { server: server.to_owned(), url, config, place: Mutex::default(), held: tokio::sync::Mutex::default() }
    }

    /// Stores an agent's tokens in a folder. Otherwise they last as long as the process.
    pub(super) fn store_in(&self, folder: &Path, agent: &str, typed: &str) {
        let place = TokenFile { file: file_of(folder, agent, &self.url), typed: typed.to_owned() };
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    fn place(&self) -> Option<TokenFile> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The token to send. An expired one is renewed; if that fails, the server may still accept the old one.
    pub(super) async fn token(&self) -> Option<Secret> {
        let mut held = self.held.lock().await;
        self.load(&mut held);
        let stored = held.stored.as_ref()?;
        if let Some(token) = stored.fresh(now()) {
            return Some(token);
        }
        if stored.refresh.is_some() {
            let _ = self.refresh(&mut held).await;
        }
        held.stored.as_ref()?.access.clone()
    }

    /// Gets another token after a request with `used` was refused. The error says what a person must do. After the
    /// last attempt no token is requested.
    pub(super) async fn renewed(
        &self,
        challenge: Challenge,
        used: Option<&Secret>,
        is_last: bool,
    ) -> Result<(), String> {
        let mut held = self.held.lock().await;
        if !is_last && held.stored.as_ref().and_then(|stored| stored.access.as_ref()) != used {
            return Ok(());
        }
        if !is_last && self.take_stored(&mut held, used) {
            return Ok(());
        }
        let wants_more = challenge.wants_more();
        let missing = challenge.scopes.join(" ");
        held.challenge = Some(challenge);
        if wants_more
            && used.is_some()
            && let TokenState { stored: Some(stored), challenge: Some(challenge), .. } = &mut *held
        {
            stored.wanted.clone_from(&challenge.scopes);
            self.save(stored)?;
        }
        match self.config.grant {
            Grant::Credentials if is_last => Err("it refuses the token that it wanted; see `auth`".to_owned()),
            Grant::Credentials => self.take_credentials(&mut held).await,
            Grant::Code if wants_more => {
                Err(format!("it wants more rights ({}); {}", quoted(&missing), self.how_to_log_in()))
            }
            Grant::Code => {
                let refreshed = if !is_last && held.stored.as_ref().is_some_and(|stored| stored.refresh.is_some()) {
                    self.refresh(&mut held).await
                } else {
                    Err(String::new())
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

    /// Whether a request was refused and there is no new token since.
    pub(super) async fn is_challenged(&self) -> bool {
        self.held.lock().await.challenge.is_some()
    }

    /// Sends the next request without a token, so that the server states its requirements.
    pub(super) async fn set_aside(&self) {
        let mut held = self.held.lock().await;
        self.load(&mut held);
        if let Some(stored) = &mut held.stored {
            (stored.access, stored.refresh) = (None, None);
        }
        held.is_aside = true;
    }

    /// Returns to the stored tokens after a failed login.
    pub(super) async fn give_up(&self) {
        let mut held = self.held.lock().await;
        if held.is_aside {
            *held = TokenState::default();
        }
    }

    /// Takes a token that another process has stored meanwhile.
    fn take_stored(&self, held: &mut TokenState, used: Option<&Secret>) -> bool {
        let Some(place) = self.place().filter(|_| !held.is_aside) else { return false };
        let theirs = StoredToken::load(&place.file, &self.url);
        let theirs = theirs.filter(|theirs| theirs.access.as_ref() != used && theirs.fresh(now()).is_some());
        let Some(theirs) = theirs else { return false };
        (held.stored, held.challenge) = (Some(theirs), None);
        true
    }

    /// Renews a token without a person.
    async fn refresh(&self, held: &mut TokenState) -> Result<(), String> {
        let used = held.stored.as_ref().and_then(|stored| stored.access.clone());
        if self.take_stored(held, used.as_ref()) {
            return Ok(());
        }
        let Some(mut stored) = held.stored.take() else { return Err(String::new()) };
        let asked = async {
            let fetch = Fetch::new(&self.url)?;
            fetch.address(stored.token_at.as_str(), "the address at which tokens are renewed")?;
            let refresh = stored.refresh.clone().ok_or_else(String::new)?;
            let fields =
                [("grant_type", "refresh_token"), ("refresh_token", refresh.expose()), ("resource", &stored.resource)];
            let secret = self.config.secret()?.or_else(|| stored.client.secret.clone());
            let client = OauthClient { secret, ..stored.client.clone() };
            Ok(client.ask(&fetch, &stored.token_at, &fields).await)
        };
        let result = match asked.await {
            Err(words) => Err(words),
            Ok(Ok(tokens)) => {
                stored.renew(tokens, now());
                held.challenge = None;
                self.save(&stored)
            }
            Ok(Err(failed)) => {
                if failed.is_refused {
                    (stored.access, stored.refresh) = (None, None);
                    // If saving fails, the old token is refused again, which does no harm.
                    let _ = self.save(&stored);
                }
                Err(failed.words)
            }
        };
        held.stored = Some(stored);
        result
    }

    fn load(&self, held: &mut TokenState) {
        let Some(place) = self.place().filter(|_| !held.is_loaded) else { return };
        held.is_loaded = true;
        if held.stored.is_none() {
            held.stored = StoredToken::load(&place.file, &self.url);
        }
    }

    fn save(&self, stored: &StoredToken) -> Result<(), String> {
        let Some(place) = self.place() else { return Ok(()) };
        stored
            .save(&place.file)
            .map_err(|error| format!("its token cannot be kept in {}: {error}", place.file.display()))
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

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
