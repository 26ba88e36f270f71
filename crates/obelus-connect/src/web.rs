//! What everything that speaks HTTP has in common.

use std::fmt::Display;
use std::time::Duration;

/// A host that does not even take the connection within this time is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of ours. Where it follows redirects is for whoever sends something to say.
pub(crate) fn client() -> reqwest::ClientBuilder {
    // It fails where the program has chosen a provider before, and that one is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("obelus/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .referer(false)
}

/// Why a client cannot be made, and what helps.
pub(crate) fn no_tls(problem: impl Display) -> String {
    format!("HTTPS cannot be set up: {problem}; are the certificates of this machine (ca-certificates) installed?")
}

/// Everything but letters, digits and `-._~` as `%XX`.
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
