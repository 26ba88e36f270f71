//! The portal as a server: it is started with options, has an address, and is stopped.

mod http;
mod lenient;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::clock::Clock;
use crate::events::{Courier, Sender};
use crate::server::Server;
use crate::store::{Opened, Store};
use crate::{seed, tls};

/// The webhook's secret where none is chosen. It guards nothing: the portal holds made-up people only.
pub const DEFAULT_TOKEN: &str = "sandbox0token";

/// What handlers of events get to know the portal by, where nothing else is chosen.
pub const DEFAULT_APPLICATION_TOKEN: &str = "sandbox-application-token";

/// Whether a webhook may bind handlers of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Events {
    /// It may, so that there is something to practise on.
    #[default]
    Open,
    /// It may not: real portals let applications do it only.
    Strict,
}

/// How a portal is started. The default is a portal in memory, at a free port of this machine.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The user whose webhook it is; one of those that the seed has (1 to 8).
    pub user: i64,
    /// The webhook's secret: letters and digits.
    pub token: String,
    /// A file that survives; without one the portal lives in memory.
    pub db: Option<PathBuf>,
    /// Whether a webhook may bind handlers of events.
    pub events: Events,
    /// What handlers of events get to know the portal by.
    pub application_token: String,
    /// Whether requests are limited as on a real portal: 50 at once, 2 a second after that, and the time of methods.
    pub rate: bool,
    /// Whether it speaks https, with a certificate to throw away.
    pub tls: bool,
    /// The chance, 0 to 1, that a request is done but its answer dropped with the connection. The same requests in
    /// the same order are dropped in every run.
    pub drop_answers: f64,
    /// What time it is when the portal starts, for data that looks current; by default the machine's time.
    pub now: Option<SystemTime>,
    /// The permissions of the webhook; by default all there are.
    pub scopes: Vec<String>,
    /// The seconds of work that each call counts for, for practising with the limit of methods; by default what it
    /// really takes.
    pub operating_cost: Option<f64>,
    /// How many deals a new portal has.
    pub deals: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
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
        }
    }
}

/// What calls need to know of the options.
pub(crate) struct Settings {
    pub(crate) user: i64,
    pub(crate) token: String,
    pub(crate) events: Events,
    pub(crate) rate: bool,
    pub(crate) drop_answers: f64,
    pub(crate) scopes: Vec<String>,
    pub(crate) operating_cost: Option<f64>,
}

/// Why a portal does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken, or not one of this machine.
    #[error("cannot listen at {address}: {error}; choose another address, or port 0 for any free one")]
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file cannot be opened or written.
    #[error("the database {}: {error}", file(.path))]
    Database {
        /// The file, if it is one.
        path: Option<PathBuf>,
        /// What the database says.
        error: rusqlite::Error,
    },
    /// The file is something else.
    #[error("{} is no portal of this version; choose another file, or delete it to begin anew", .0.display())]
    Foreign(PathBuf),
    /// The token would not stand in an address as it is.
    #[error("the token may have letters of the Latin alphabet, digits, - and _ only, and must have one of them")]
    Token,
    /// There is no such user.
    #[error("there is no user {0}; the portal has the users 1 to {1}")]
    User(i64, i64),
    /// The chance is none.
    #[error("the chance to drop an answer is {0}; it must be from 0 to 1")]
    Chance(f64),
    /// The certificate could not be made.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

fn file(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(|| "in memory".to_owned(), |path| path.display().to_string())
}

/// A portal at work. It stops when it is dropped.
pub struct Portal {
    address: SocketAddr,
    base_url: String,
    page_url: String,
    certificate: Option<String>,
    server: Arc<Server>,
    work: Vec<JoinHandle<()>>,
}

impl Portal {
    /// Starts a portal on the tokio runtime that this is called in.
    ///
    /// # Errors
    ///
    /// [`StartError`] says what to do about it.
    pub async fn start(options: Options) -> Result<Portal, StartError> {
        if options.token.is_empty() || !options.token.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
            return Err(StartError::Token);
        }
        if !(0.0..=1.0).contains(&options.drop_answers) {
            return Err(StartError::Chance(options.drop_answers));
        }
        if !(1..=seed::USERS).contains(&options.user) {
            return Err(StartError::User(options.user, seed::USERS));
        }
        let clock = Clock::default();
        if let Some(now) = options.now {
            clock.set(seconds(now));
        }
        let store = open(options.db.as_deref(), clock.now(), options.deals)?;
        let listening = |error| StartError::Listen { address: options.listen, error };
        let listener = TcpListener::bind(options.listen).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let tls = if options.tls { Some(tls::throw_away(address.ip())?) } else { None };

        let scheme = if options.tls { "https" } else { "http" };
        let domain = reachable(address).to_string();
        let page_url = format!("{scheme}://{domain}/");
        let base_url = format!("{page_url}rest/{}/{}/", options.user, options.token);
        let (courier, delivering) = Courier::start();
        let sender = Sender {
            domain: domain.clone(),
            base: format!("{scheme}://{domain}"),
            user: options.user,
            application_token: options.application_token,
        };
        let settings = Settings {
            user: options.user,
            token: options.token,
            events: options.events,
            rate: options.rate,
            drop_answers: options.drop_answers,
            scopes: options.scopes,
            operating_cost: options.operating_cost,
        };
        let server = Arc::new(Server::new(settings, clock, store, sender, courier));
        let certificate = tls.as_ref().map(|tls| tls.pem.clone());
        let accepting = tokio::spawn(http::accept(listener, tls, http::router(server.clone())));
        Ok(Portal { address, base_url, page_url, certificate, server, work: vec![accepting, delivering] })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The webhook's address, with a `/` at its end: `http://127.0.0.1:8024/rest/1/token/`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The page that shows people what is there and what was done.
    #[must_use]
    pub fn page_url(&self) -> &str {
        &self.page_url
    }

    /// The certificate that clients must trust, as PEM, where the portal speaks https.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Writes that certificate to a new file in this folder and tells its path; nothing where there is none.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn write_certificate(&self, folder: &Path) -> std::io::Result<Option<PathBuf>> {
        self.certificate.as_deref().map(|pem| tls::write_down(pem, folder, self.address.port())).transpose()
    }

    /// What handlers of events get to know the portal by.
    #[must_use]
    pub fn application_token(&self) -> &str {
        &self.server.sender.application_token
    }

    /// Sets the portal's clock; it goes on from there.
    pub fn set_now(&self, now: SystemTime) {
        self.server.clock.set(seconds(now));
    }

    /// How many requests it has had.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.server.state().log.count()
    }

    /// Stops it and waits until its address is free again.
    pub async fn stop(mut self) {
        for work in std::mem::take(&mut self.work) {
            work.abort();
            // Whether it was stopped or had ended by itself is all one.
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

/// An address that listens everywhere is reached at this machine's own.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn open(path: Option<&Path>, now: i64, deals: usize) -> Result<Store, StartError> {
    let failed = |error| StartError::Database { path: path.map(Path::to_owned), error };
    let (store, opened) = Store::open(path).map_err(failed)?;
    match opened {
        Opened::Kept => {}
        Opened::Foreign => return Err(StartError::Foreign(path.map(Path::to_owned).unwrap_or_default())),
        Opened::New => {
            let transaction = store.db.unchecked_transaction().map_err(failed)?;
            store.create().map_err(failed)?;
            seed::plant(&store, now, deals).map_err(failed)?;
            store.mark().map_err(failed)?;
            transaction.commit().map_err(failed)?;
        }
    }
    Ok(store)
}
