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
//! | `grants` | logins, and accounts of agents |
//! | `kept` | tokens in files |
//! | `landing` | where a person comes back to |

mod challenge;
mod client;
mod fetch;
mod found;
mod grants;
mod kept;
mod landing;
mod said;
mod signed;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use obelus_runtime::Secret;
use reqwest::Url;

pub(super) use self::challenge::Challenge;
use self::client::Client;
use self::fetch::Fetch;
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
        Self { server: server.to_owned(), url, said, place: Mutex::default(), held: tokio::sync::Mutex::default() }
    }

    /// Keeps tokens in a folder, for an agent. Without it they last as long as the process.
    pub(super) fn keep_in(&self, folder: &Path, agent: &str, typed: &str) {
        let place = Place { file: file_of(folder, agent, &self.url), typed: typed.to_owned() };
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    fn place(&self) -> Option<Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
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

    /// Takes a token that another process has got meanwhile: a person logged in, or it was renewed there.
    fn take_theirs(&self, held: &mut Held, used: Option<&Secret>) -> bool {
        let Some(place) = self.place().filter(|_| !held.is_aside) else { return false };
        let theirs = Kept::load(&place.file, &self.url);
        let theirs = theirs.filter(|theirs| theirs.access.as_ref() != used && theirs.fresh(now()).is_some());
        let Some(theirs) = theirs else { return false };
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
        }
    }

    fn save(&self, kept: &Kept) -> Result<(), String> {
        let Some(place) = self.place() else { return Ok(()) };
        kept.save(&place.file).map_err(|error| format!("its token cannot be kept in {}: {error}", place.file.display()))
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
