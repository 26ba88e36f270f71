//! Events that the portal sends as a form. Anybody can send such a form: the application's token proves that it is
//! the portal's, and nothing else in the form is trusted.

mod form;
mod listener;
mod words;

use obelus_runtime::text::hex;
use obelus_runtime::{Secret, SessionSpec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub use listener::{EventListener, Received};
pub use words::event_words;

/// The environment variable with the token that authenticates events of the session's portal.
pub fn token_variable(spec: &SessionSpec) -> String {
    let bound = spec.activities.iter().flat_map(|lot| lot.bound.values());
    let named = bound.filter_map(|binding| binding["bitrix24"]["application_token"].as_str()).next();
    named.map_or("BITRIX_APPLICATION_TOKEN", |name| name.strip_prefix('$').unwrap_or(name)).to_owned()
}

/// The largest form. Events contain only ids, so a larger form is not an event.
const LARGEST: usize = 64 * 1024;

/// An event of the portal. Its sender knew the token.
#[derive(Clone, Debug, PartialEq)]
pub struct PortalEvent {
    /// The event's id, the same for repeated deliveries.
    pub id: String,
    /// Its name in upper case, such as `ONCRMDEALUPDATE`.
    pub name: String,
    /// The ids of the records it is about.
    pub data: Value,
    /// Its time, as the portal writes it.
    pub ts: String,
}

/// Why a form is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventRejected {
    /// Larger than any event.
    #[error("the form is larger than 64 KiB")]
    TooLarge,
    /// Not a form, or a form without an event.
    #[error("the form tells of no event")]
    NoEvent,
    /// The sender did not know the token.
    #[error("the application token is not the one that was agreed on")]
    Stranger,
}

impl PortalEvent {
    /// Reads the form of an event and checks its token.
    pub fn read(form: &[u8], token: &Secret) -> Result<Self, EventRejected> {
        if form.len() > LARGEST {
            return Err(EventRejected::TooLarge);
        }
        let text = std::str::from_utf8(form).map_err(|_| EventRejected::NoEvent)?;
        let mut fields = form::tree(text).ok_or(EventRejected::NoEvent)?;
        // The token is checked before anything else.
        let given = fields.get("auth").and_then(|auth| auth["application_token"].as_str()).unwrap_or_default();
        if !is_same(given, token.expose()) {
            return Err(EventRejected::Stranger);
        }
        let mut take = |name: &str| fields.shift_remove(name).unwrap_or_default();
        let name = take("event").as_str().unwrap_or_default().to_uppercase();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
        if name.is_empty() || name.len() > 100 || !name.chars().all(is_name) {
            return Err(EventRejected::NoEvent);
        }
        let (handler, data, ts) = (take("event_handler_id"), take("data"), take("ts"));
        let whole = json!([name, handler, ts, data]).to_string();
        let id = hex(&Sha256::digest(whole.as_bytes())[..16]);
        Ok(Self { id, name, data, ts: ts.as_str().unwrap_or_default().to_owned() })
    }

    /// The event as the session stores it, without the token and the rest of `auth`.
    pub fn to_value(&self) -> Value {
        json!({"name": self.name, "data": self.data, "ts": self.ts})
    }

    /// Whether a binding subscribes to this event with this handler path.
    pub fn is_wanted(&self, bindings: &Value, path: &str) -> bool {
        let is_this = |binding: &Value| {
            let event = binding["event"].as_str().unwrap_or_default();
            let handler = binding["handler"].as_str().unwrap_or_default();
            event.eq_ignore_ascii_case(&self.name) && path_of(handler) == path_of(path)
        };
        bindings.as_array().is_some_and(|bindings| bindings.iter().any(is_this))
    }
}

/// The path of a URL or a path.
fn path_of(address: &str) -> &str {
    let local = match address.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => address,
    };
    local.split(['?', '#']).next().unwrap_or_default().trim_matches('/')
}

/// Compares two texts in constant time.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (Sha256::digest(one.as_bytes()), Sha256::digest(other.as_bytes()));
    one.iter().zip(other.iter()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "event=ONCRMDEALUPDATE&event_handler_id=5&data%5BFIELDS%5D%5BID%5D=12&ts=1714557600\
                        &auth%5Bdomain%5D=portal.example.test&auth%5Bapplication_token%5D=t%261-agreed";

    fn token() -> Secret {
        Secret::new("t&1-agreed")
    }

    #[test]
    fn an_event_is_read_without_its_auth_data() {
        let event = PortalEvent::read(FORM.as_bytes(), &token()).unwrap();
        assert_eq!((event.name.as_str(), event.ts.as_str()), ("ONCRMDEALUPDATE", "1714557600"));
        assert_eq!(event.data, json!({"FIELDS": {"ID": "12"}}));
        assert!(!event.to_value().to_string().contains("agreed"));
        assert_eq!(PortalEvent::read(FORM.as_bytes(), &token()).unwrap().id, event.id);
        for other in
            [FORM.replace("ID%5D=12", "ID%5D=13"), FORM.replace("4557600", "4557601"), FORM.replace("id=5", "id=6")]
        {
            assert_ne!(PortalEvent::read(other.as_bytes(), &token()).unwrap().id, event.id, "{other}");
        }
    }

    #[test]
    fn an_event_without_the_right_token_is_refused() {
        for wrong in ["", "t%261-agree", "t%261-agreedx", "T%261-AGREED"] {
            let form = FORM.replace("t%261-agreed", wrong);
            assert_eq!(PortalEvent::read(form.as_bytes(), &token()), Err(EventRejected::Stranger), "{wrong}");
        }
        let without = FORM.replace("&auth%5Bapplication_token%5D=t%261-agreed", "");
        assert_eq!(PortalEvent::read(without.as_bytes(), &token()), Err(EventRejected::Stranger));
        // A list in place of the token is invalid.
        let tree = FORM.replace("application_token%5D=", "application_token%5D%5B%5D=");
        assert_eq!(PortalEvent::read(tree.as_bytes(), &token()), Err(EventRejected::Stranger));
    }

    #[test]
    fn a_malformed_event_is_refused() {
        let with = |name: &str| FORM.replace("ONCRMDEALUPDATE", name);
        for form in [with(""), with("a%20b"), with("%D0%94%D0%B0"), with(&"X".repeat(101))] {
            assert_eq!(PortalEvent::read(form.as_bytes(), &token()), Err(EventRejected::NoEvent), "{form}");
        }
        assert_eq!(PortalEvent::read(b"\xff\xfe", &token()), Err(EventRejected::NoEvent));
        assert_eq!(PortalEvent::read(&[b'a'; LARGEST + 1], &token()), Err(EventRejected::TooLarge));
    }

    #[test]
    fn only_events_with_a_binding_are_wanted() {
        let event = PortalEvent::read(FORM.as_bytes(), &token()).unwrap();
        let bound = |event: &str, handler: &str| json!([{"event": event, "handler": handler}]);
        assert!(event.is_wanted(&bound("onCrmDealUpdate", "https://example.test/hook"), "/hook"));
        assert!(event.is_wanted(&bound("ONCRMDEALUPDATE", "http://127.0.0.1:8090/"), "/"));
        assert!(event.is_wanted(&bound("ONCRMDEALUPDATE", "http://127.0.0.1:8090"), "/"));
        assert!(!event.is_wanted(&bound("onCrmDealAdd", "https://example.test/hook"), "/hook"));
        assert!(!event.is_wanted(&bound("onCrmDealUpdate", "https://example.test/other"), "/hook"));
        assert!(!event.is_wanted(&Value::Null, "/hook"));
    }

    #[test]
    fn fuzz_forms_are_refused_or_read_without_their_auth_data() {
        let token = Secret::new("t");
        crate::fuzz::fuzz("form", |input| {
            let Ok(event) = PortalEvent::read(input, &token) else { return false };
            assert_eq!(PortalEvent::read(input, &token).map(|again| again.id), Ok(event.id.clone()));
            assert!(event.to_value().get("auth").is_none());
            true
        });
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_refused_or_read_without_a_panic(form in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = PortalEvent::read(&form, &token());
        }

        #[test]
        fn malformed_keys_do_not_panic(key in "[a-z\\[\\]%0-9&=]{0,40}") {
            let form = format!("{FORM}&{key}=x&data[{key}]=y");
            let read = PortalEvent::read(form.as_bytes(), &token());
            proptest::prop_assert!(read.is_ok() || read == Err(EventRejected::Stranger) || read == Err(EventRejected::NoEvent));
        }
    }
}
