//! The portal as a server: options, start, stop.

mod http;
mod lenient;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::clock::PortalClock;
use crate::events::{EventQueue, EventSender};
use crate::server::PortalServer;
use crate::store::{DatabaseState, PortalStore};
use crate::tongue::PortalLanguage;
use crate::{seed, tls};

/// The default token of the webhook. It protects nothing: all data in the portal is made up.
pub const DEFAULT_TOKEN: &str = "sandbox0token";

/// The default application token, by which event handlers recognise the portal.
pub const DEFAULT_APPLICATION_TOKEN: &str = "sandbox-application-token";

/// Whether a webhook may bind handlers of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Events {
    /// It may. This is for practice; real portals do not permit it.
    #[default]
    Open,
    /// It may not, as on real portals, which permit it to applications only.
    Strict,
}

/// Options of a portal. The default is a portal in memory at a free local port.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// The address to listen at.
    pub listen: SocketAddr,
    /// The owner of the webhook, one of the users 1 to 8.
    pub user: i64,
    /// The token of the webhook: letters, digits, `-` and `_`.
    pub token: String,
    /// The database file; without it the database is in memory.
    pub db: Option<PathBuf>,
    /// Whether a webhook may bind handlers of events.
    pub events: Events,
    /// The token by which event handlers recognise the portal.
    pub application_token: String,
    /// Whether the limits of a real portal apply: 50 requests at once, then 2 per second, and the time of methods.
    pub rate: bool,
    /// Whether to use https, with a temporary certificate.
    pub tls: bool,
    /// The probability, 0 to 1, that a request is carried out but its connection is closed without an answer. Which
    /// answers are dropped is the same in every run.
    pub drop_answers: f64,
    /// The portal's time at its start; by default the machine's time. The dates of a new portal's data are around it.
    pub now: Option<SystemTime>,
    /// The scopes of the webhook; by default all.
    pub scopes: Vec<String>,
    /// The working time, in seconds, that each call counts for in the limit of methods; by default the real time.
    pub operating_cost: Option<f64>,
    /// The number of deals in a new portal.
    pub deals: usize,
    /// The language of its page, and of the data of a new portal.
    pub language: PortalLanguage,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        SandboxOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            user: 1,
            token: DEFAULT_TOKEN.to_owned(),
            db: None,
            events: Events::Open,
            application_token: DEFAULT_APPLICATION_TOKEN.to_owned(),
            rate: true,
            tls: false,
            drop_answers: 0.0,
            now: None,
            scopes: ["crm", "task", "user", "department", "sonet_group"].map(str::to_owned).to_vec(),
            operating_cost: None,
            deals: seed::DEALS,
            language: PortalLanguage::default(),
        }
    }
}

/// The options that calls need.
pub(crate) struct PortalSettings {
    pub(crate) user: i64,
    pub(crate) token: String,
    pub(crate) events: Events,
    pub(crate) rate: bool,
    pub(crate) drop_answers: f64,
    pub(crate) scopes: Vec<String>,
    pub(crate) operating_cost: Option<f64>,
    pub(crate) language: PortalLanguage,
}

/// Why a portal does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is in use, or is not an address of this machine.
    #[error("cannot listen at {address}: {error}; choose another address, or port 0 for any free one")]
    Listen {
        /// The address in question.
        address: SocketAddr,
        /// The system's error.
        error: std::io::Error,
    },
    /// The file cannot be opened or written.
    #[error("the database {}: {error}", file(.path))]
    Database {
        /// The file; none for a database in memory.
        path: Option<PathBuf>,
        /// The database's error.
        error: rusqlite::Error,
    },
    /// The file was made by another program or version.
    #[error("{} is not a portal of this version; choose another file, or delete it to start anew", .0.display())]
    Foreign(PathBuf),
    /// The token cannot be part of an address.
    #[error("the token must not be empty and may contain only Latin letters, digits, - and _")]
    Token,
    /// There is no such user.
    #[error("there is no user {0}; the portal has the users 1 to {1}")]
    User(i64, i64),
    /// The probability is out of range.
    #[error("the probability to drop an answer is {0}; it must be from 0 to 1")]
    Chance(f64),
    /// The certificate could not be made.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

fn file(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(|| "in memory".to_owned(), |path| path.display().to_string())
}

/// A running portal. It stops when it is dropped.
pub struct Portal {
    address: SocketAddr,
    base_url: String,
    page_url: String,
    certificate: Option<String>,
    server: Arc<PortalServer>,
    work: Vec<JoinHandle<()>>,
}

impl Portal {
    /// Starts a portal on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub async fn start(options: SandboxOptions) -> Result<Portal, StartError> {
        if options.token.is_empty() || !options.token.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
            return Err(StartError::Token);
        }
        if !(0.0..=1.0).contains(&options.drop_answers) {
            return Err(StartError::Chance(options.drop_answers));
        }
        if !(1..=seed::USERS).contains(&options.user) {
            return Err(StartError::User(options.user, seed::USERS));
        }
        let clock = PortalClock::default();
        if let Some(now) = options.now {
            clock.set(seconds(now));
        }
        let store = open(options.db.as_deref(), clock.now(), options.deals, options.language)?;
        let listening = |error| StartError::Listen { address: options.listen, error };
        let listener = TcpListener::bind(options.listen).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let tls = if options.tls { Some(tls::temporary(address.ip())?) } else { None };

        let scheme = if options.tls { "https" } else { "http" };
        let domain = reachable(address).to_string();
        let page_url = format!("{scheme}://{domain}/");
        let base_url = format!("{page_url}rest/{}/{}/", options.user, options.token);
        let (courier, delivering) = EventQueue::start();
        let sender = EventSender {
            domain: domain.clone(),
            base: format!("{scheme}://{domain}"),
            user: options.user,
            application_token: options.application_token,
        };
        let settings = PortalSettings {
            user: options.user,
            token: options.token,
            events: options.events,
            rate: options.rate,
            drop_answers: options.drop_answers,
            scopes: options.scopes,
            operating_cost: options.operating_cost,
            language: options.language,
        };
        let server = Arc::new(PortalServer::new(settings, clock, store, sender, courier));
        let certificate = tls.as_ref().map(|tls| tls.pem.clone());
        let accepting = tokio::spawn(http::accept(listener, tls, http::router(server.clone())));
        Ok(Portal { address, base_url, page_url, certificate, server, work: vec![accepting, delivering] })
    }

    /// The address it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The webhook's address, with a `/` at its end: `http://127.0.0.1:8024/rest/1/token/`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The address of the page with the portal's records and the latest requests.
    #[must_use]
    pub fn page_url(&self) -> &str {
        &self.page_url
    }

    /// The certificate that clients must trust, as PEM; none without https.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Writes the certificate to a new file in this folder and returns its path; `None` without https.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_certificate(&self, folder: &Path) -> std::io::Result<Option<PathBuf>> {
        self.certificate.as_deref().map(|pem| tls::write_pem(pem, folder, self.address.port())).transpose()
    }

    /// The token by which event handlers recognise the portal.
    #[must_use]
    pub fn application_token(&self) -> &str {
        &self.server.sender.application_token
    }

    /// Sets the portal's clock, which goes on from there.
    pub fn set_now(&self, now: SystemTime) {
        self.server.clock.set(seconds(now));
    }

    /// The number of requests served.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.server.state().log.count()
    }

    /// Stops it and waits until its address is free again.
    pub async fn stop(mut self) {
        for work in std::mem::take(&mut self.work) {
            work.abort();
            // The error of an aborted task is expected.
            let _ = work.await;
        }
    }
}

impl Drop for Portal {
    fn drop(&mut self) {
        self.work.iter().for_each(JoinHandle::abort);
    }
}

fn seconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// The address for clients: the loopback address if the portal listens at all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn open(path: Option<&Path>, now: i64, deals: usize, language: PortalLanguage) -> Result<PortalStore, StartError> {
    let failed = |error| StartError::Database { path: path.map(Path::to_owned), error };
    let (store, opened) = PortalStore::open(path).map_err(failed)?;
    match opened {
        // An earlier version may have had fewer tables.
        DatabaseState::Existing => store.create().map_err(failed)?,
        DatabaseState::Foreign => return Err(StartError::Foreign(path.map(Path::to_owned).unwrap_or_default())),
        DatabaseState::New => {
            let transaction = store.db.unchecked_transaction().map_err(failed)?;
            store.create().map_err(failed)?;
            seed::fill(&store, now, deals, language).map_err(failed)?;
            store.mark().map_err(failed)?;
            transaction.commit().map_err(failed)?;
        }
    }
    Ok(store)
}
