//! The server's address, allowed hosts and limits.

use std::net::SocketAddr;
use std::time::Duration;

/// The server's address, allowed hosts and limits.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The address.
    pub listen: SocketAddr,
    /// Further accepted values of the header `Host`, such as a reverse proxy's.
    pub hosts: Vec<String>,
    /// Other origins whose pages may call it, such as `https://console.example.test`.
    pub origins: Vec<String>,
    /// The limit of a body's bytes.
    pub body: usize,
    /// The limit of JSON nesting.
    pub depth: usize,
    /// The limit of connections.
    pub connections: usize,
    /// The limit of open streams of one token.
    pub streams: usize,
    /// The limit of requests of one token per second; a burst may have twice as many.
    pub rate: u32,
    /// The time limit of a request's headers, and of an idle connection.
    pub head: Duration,
    /// The time limit of a body.
    pub arrival: Duration,
    /// How long a client may read nothing of an answer.
    pub unread: Duration,
    /// The interval of keep-alives on a stream.
    pub keep_alive: Duration,
    /// How long running requests and sessions may take to end at shutdown.
    pub grace: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8321)),
            hosts: Vec::new(),
            origins: Vec::new(),
            body: 1 << 20,
            depth: 64,
            connections: 8192,
            streams: 1024,
            rate: 500,
            head: Duration::from_secs(10),
            arrival: Duration::from_secs(30),
            unread: Duration::from_secs(60),
            keep_alive: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}

/// Why options are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The address can be reached from other machines.
    #[error(
        "{0} can be reached from other machines: add --public if you want that, and put a proxy with TLS before it"
    )]
    Public(SocketAddr),
    /// Not a valid host.
    #[error("`{0}` is not a host: give a name with an optional port, such as agents.example.test or 10.0.0.2:8321")]
    Host(String),
    /// Not a valid origin.
    #[error("`{0}` is not an origin: give a scheme and a host, such as https://console.example.test")]
    Origin(String),
}

impl HttpOptions {
    /// Checks that the address is local, unless `is_public`, and that hosts and origins are exact.
    pub fn check(&self, is_public: bool) -> Result<(), OptionsError> {
        if !self.listen.ip().is_loopback() && !is_public {
            return Err(OptionsError::Public(self.listen));
        }
        let is_host = |text: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
            !text.is_empty() && text.chars().all(is_plain)
        };
        if let Some(wrong) = self.hosts.iter().find(|host| !is_host(host)) {
            return Err(OptionsError::Host(wrong.clone()));
        }
        let is_origin = |text: &str| {
            let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            host.is_some_and(is_host)
        };
        match self.origins.iter().find(|origin| !is_origin(origin)) {
            Some(wrong) => Err(OptionsError::Origin(wrong.clone())),
            None => Ok(()),
        }
    }

    /// The accepted values of `Host`.
    pub(super) fn hosts_at(&self, address: SocketAddr) -> Vec<String> {
        let port = address.port();
        let mut names = vec![address.ip().to_string()];
        if address.is_ipv6() {
            names = vec![format!("[{}]", address.ip())];
        }
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            names = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).to_vec();
        }
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(names);
        }
        hosts.extend(self.hosts.iter().map(|host| host.to_ascii_lowercase()));
        hosts
    }

    /// The accepted values of `Origin`: its own pages, and the configured ones.
    pub(super) fn origins_at(&self, address: SocketAddr) -> Vec<String> {
        let own = self.hosts_at(address);
        let plain = own.iter().map(|host| format!("http://{host}"));
        let proxied = self.hosts.iter().map(|host| format!("https://{}", host.to_ascii_lowercase()));
        plain.chain(proxied).chain(self.origins.iter().map(|origin| origin.to_ascii_lowercase())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_beyond_loopback_must_be_allowed_explicitly() {
        let mut options = HttpOptions::default();
        assert_eq!(options.check(false), Ok(()));
        options.listen = "0.0.0.0:8321".parse().unwrap();
        assert!(matches!(options.check(false), Err(OptionsError::Public(_))));
        assert_eq!(options.check(true), Ok(()));
    }

    #[test]
    fn hosts_and_origins_must_match_exactly() {
        let mut options = HttpOptions { hosts: vec!["Agents.example.test".to_owned()], ..HttpOptions::default() };
        let hosts = options.hosts_at(options.listen);
        assert!(hosts.contains(&"localhost:8321".to_owned()) && hosts.contains(&"agents.example.test".to_owned()));
        assert!(options.origins_at(options.listen).contains(&"https://agents.example.test".to_owned()));
        for wrong in ["*", "", "a b", "https://x", "x/y"] {
            options.hosts = vec![wrong.to_owned()];
            assert!(options.check(false).is_err(), "{wrong}");
        }
        options.hosts.clear();
        for wrong in ["*", "null", "console.example.test", "https://console.example.test/"] {
            options.origins = vec![wrong.to_owned()];
            assert!(options.check(false).is_err(), "{wrong}");
        }
    }
}
