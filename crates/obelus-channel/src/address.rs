//! Addresses to which a secret is sent.

/// Whether a secret is not sent unencrypted over a network: HTTPS, or this machine.
pub(crate) fn is_safe(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.is_empty() || rest.contains(['@', '?', '#', '\\', ' ']) {
        return false;
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    };
    match scheme {
        "https" => true,
        "http" => ["127.0.0.1", "localhost", "[::1]"].contains(&host),
        _ => false,
    }
}

/// A client builder for this address. Plain HTTP is only for this machine, so a proxy must not see it.
pub(crate) fn client(address: &str) -> reqwest::ClientBuilder {
    // This fails if the program has already chosen a provider. Then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    if address.starts_with("https://") { builder } else { builder.no_proxy() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_allowed_only_to_loopback() {
        for right in ["https://api.telegram.org", "http://127.0.0.1:8081", "http://localhost/x", "http://[::1]:80"] {
            assert!(is_safe(right), "{right}");
        }
        for wrong in [
            "",
            "api.telegram.org",
            "http://example.test",
            "http://127.0.0.1.example.test",
            "http://127.0.0.1:80@example.test",
            "https://",
            "https://x@example.test",
            "ftp://127.0.0.1",
        ] {
            assert!(!is_safe(wrong), "{wrong}");
        }
    }
}
