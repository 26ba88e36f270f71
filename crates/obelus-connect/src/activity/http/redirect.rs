//! Decides which redirects are followed.
//!
//! The headers of a request may contain secrets, so a redirect must stay on the host. After 301, 302 and 303 a client
//! continues with a GET without the body. This is correct only for a GET; another request would be reported as done
//! although its body was not sent to the new address. 307 and 308 keep method and body.
//!
//! An effect that is answered with 301, 302 or 303 may have happened: such an answer is also how a server shows the
//! page of what it has just done. It is in doubt (DUR-4), except if a 301 names the same path and query elsewhere: at
//! another scheme or host, or with another slash at the end. Then the request itself has moved, for good, and nobody
//! has carried it out. A 302 or 303 to such an address is in doubt too, and so is one without an address.

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};

use crate::activity::retry::AttemptFailure;

const MOST_REDIRECTS: usize = 5;

/// The redirects of one request so far.
pub(super) struct Redirects {
    first: Url,
    /// Whether the request may continue as a GET.
    is_plain_read: bool,
    followed: usize,
}

impl Redirects {
    /// No redirects yet, for a request to this address.
    pub(super) fn new(first: &Url, is_plain_read: bool) -> Self {
        Self { first: first.clone(), is_plain_read, followed: 0 }
    }

    /// The next address, if the answer to a request at `here` is a redirect; an error if it must not be followed.
    pub(super) fn next(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        here: &Url,
    ) -> Result<Option<Url>, AttemptFailure> {
        let keeps = match status.as_u16() {
            301..=303 => false,
            307 | 308 => true,
            _ => return Ok(None),
        };
        let host = self.first.origin().ascii_serialization();
        let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
        let Some(next) = location.and_then(|location| here.join(location).ok()) else { return Ok(None) };
        if !keeps && !self.is_plain_read && status == StatusCode::MOVED_PERMANENTLY && is_moved(here, &next) {
            let words =
                format!("{host} answered {status}: the address has moved, and nothing was done; bind the new one");
            return Err(AttemptFailure::lasting("moved", words));
        }
        if !keeps && !self.is_plain_read {
            let words = "a redirect of this kind drops what is sent, so it is not followed; whether the request was \
                         carried out is not known; if the address has moved, bind the new one";
            return Err(AttemptFailure::lasting("redirected", format!("{host} answered {status}: {words}")));
        }
        if !same_place(&self.first, &next) {
            let away = next.origin().ascii_serialization();
            let words = format!("{host}: redirected to {away}; if that is right, bind that address");
            return Err(AttemptFailure::lasting("redirected_away", words));
        }
        if self.followed == MOST_REDIRECTS {
            let words = format!("{host}: more than {MOST_REDIRECTS} redirects, most likely in a circle");
            return Err(AttemptFailure::lasting("too_many_redirects", words));
        }
        self.followed += 1;
        Ok(Some(next))
    }
}

/// Whether the address has the same host and port, or the same host by TLS, and no user name or password, which would
/// be sent as a header.
fn same_place(first: &Url, next: &Url) -> bool {
    let upgraded = first.scheme() == "http" && next.scheme() == "https" && first.host() == next.host();
    let is_same = first.origin() == next.origin() || (upgraded && first.port().is_none() && next.port().is_none());
    is_same && next.username().is_empty() && next.password().is_none()
}

/// Whether `next` is the same resource at another scheme, host or port, or with another slash at its end.
fn is_moved(here: &Url, next: &Url) -> bool {
    let path = |url: &Url| url.path().trim_end_matches('/').to_owned();
    let is_other = here.origin() != next.origin() || here.path() != next.path();
    is_other && path(here) == path(next) && here.query() == next.query()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_must_stay_on_the_same_host() {
        for (first, next, same) in [
            ("http://h/a", "http://h/b?c", true),
            ("http://h/a", "https://h/a", true),
            ("https://h/a", "http://h/a", false),
            ("http://h/a", "http://h:81/a", false),
            ("http://h:81/a", "https://h/a", false),
            ("http://h/a", "http://www.h/a", false),
            ("http://h/a", "http://u:p@h/a", false),
        ] {
            let url = |text| Url::parse(text).unwrap();
            assert_eq!(same_place(&url(first), &url(next)), same, "{first} {next}");
        }
    }

    #[test]
    fn an_address_has_moved_if_its_path_and_query_are_the_same_elsewhere() {
        for (here, next, is_it) in [
            ("http://h/a?b=1", "https://h/a?b=1", true),
            ("http://h/a", "http://www.h/a", true),
            ("http://h/a", "http://h/a/", true),
            ("http://h/a", "http://h/a", false),
            ("http://h/a", "http://h/a/7", false),
            ("http://h/a", "https://h/a?done=1", false),
            ("http://h/a", "https://h/login", false),
        ] {
            let url = |text| Url::parse(text).unwrap();
            assert_eq!(is_moved(&url(here), &url(next)), is_it, "{here} {next}");
        }
    }

    #[test]
    fn an_acting_request_follows_only_redirects_that_keep_method_and_body() {
        let here = Url::parse("http://h/a").unwrap();
        let headers = HeaderMap::from_iter([(LOCATION, "/b".parse().unwrap())]);
        for (status, acting, reading) in
            [(301, false, true), (302, false, true), (303, false, true), (307, true, true), (308, true, true)]
        {
            let status = StatusCode::from_u16(status).unwrap();
            for (is_plain_read, follows) in [(false, acting), (true, reading)] {
                let next = Redirects::new(&here, is_plain_read).next(status, &headers, &here);
                assert_eq!(next.is_ok_and(|next| next.is_some()), follows, "{status} {is_plain_read}");
            }
        }
        let none = Redirects::new(&here, false).next(StatusCode::NOT_MODIFIED, &headers, &here);
        assert!(matches!(none, Ok(None)));
    }
}
