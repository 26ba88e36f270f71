//! The HTTP client that all modules share.

use std::fmt::Display;
use std::time::Duration;

/// The time limit of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client builder. The caller sets the redirect policy.
pub(crate) fn client() -> reqwest::ClientBuilder {
    // Fails if the program has already chosen a provider, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("obelus/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .referer(false)
}

/// The error if a client cannot be created, and what helps.
pub(crate) fn no_tls(problem: impl Display) -> String {
    format!("HTTPS cannot be set up: {problem}; are the certificates of this machine (ca-certificates) installed?")
}

/// Percent-encodes everything except letters, digits and `-._~`.
#[cfg(feature = "http")]
pub(crate) fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
