//! Events: a form with the record's id is sent to each bound handler, once.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A handler that does not answer within this time misses the event.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// An event about a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordEvent {
    /// In upper case: `ONCRMDEALADD`.
    pub(crate) event: String,
    pub(crate) id: i64,
    /// The task that a comment belongs to.
    pub(crate) task: Option<i64>,
}

/// What the forms say about the portal.
#[derive(Clone, Debug)]
pub(crate) struct EventSender {
    pub(crate) domain: String,
    pub(crate) base: String,
    pub(crate) user: i64,
    pub(crate) application_token: String,
}

/// A form to be sent to a handler.
pub(crate) struct Delivery {
    pub(crate) handler: String,
    pub(crate) form: String,
}

/// Sends deliveries in order, in a background task.
#[derive(Clone)]
pub(crate) struct EventQueue(UnboundedSender<Delivery>);

impl EventQueue {
    pub(crate) fn start() -> (EventQueue, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = unbounded_channel();
        (EventQueue(sender), tokio::spawn(deliver(receiver)))
    }

    pub(crate) fn send(&self, delivery: Delivery) {
        // The channel is closed after the portal has stopped; later events are dropped.
        let _ = self.0.send(delivery);
    }
}

async fn deliver(mut receiver: UnboundedReceiver<Delivery>) {
    // This fails if the program has installed another provider, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = None;
    while let Some(delivery) = receiver.recv().await {
        // Created for the first event, because loading the system's certificates takes time.
        let client =
            client.get_or_insert_with(|| reqwest::Client::builder().timeout(DELIVERY_TIMEOUT).no_proxy().build().ok());
        let Some(client) = client else { continue };
        let request = client
            .post(&delivery.handler)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("user-agent", "Bitrix24 Webhook Engine")
            .body(delivery.form);
        // An event is sent once, without retries.
        let _ = request.send().await;
    }
}

/// The body of an event's form.
pub(crate) fn form(sender: &EventSender, happening: &RecordEvent, handler: i64, now: i64) -> String {
    let id = happening.id.to_string();
    let mut pairs: Vec<(&str, String)> = vec![
        ("event", happening.event.clone()),
        ("event_handler_id", handler.to_string()),
        ("data[FIELDS][ID]", id.clone()),
    ];
    // Events of tasks also carry the ids before and after the change.
    if happening.event.starts_with("ONTASK") {
        if happening.event.ends_with("DELETE") {
            pairs.extend([("data[FIELDS_BEFORE][ID]", id), ("data[FIELDS_AFTER]", "undefined".to_owned())]);
        } else {
            let before = if happening.event.ends_with("UPDATE") {
                ("data[FIELDS_BEFORE][ID]", id.clone())
            } else {
                ("data[FIELDS_BEFORE]", "undefined".to_owned())
            };
            pairs.extend([before, ("data[FIELDS_AFTER][ID]", id)]);
        }
        if let Some(task) = happening.task {
            pairs.push(("data[FIELDS_AFTER][TASK_ID]", task.to_string()));
        }
    }
    pairs.extend([
        ("ts", now.to_string()),
        ("auth[domain]", sender.domain.clone()),
        ("auth[client_endpoint]", format!("{}/rest/", sender.base)),
        ("auth[server_endpoint]", format!("{}/rest/", sender.base)),
        ("auth[member_id]", "0b3e1005a4db0c0000000000000000ff".to_owned()),
        ("auth[user_id]", sender.user.to_string()),
        ("auth[application_token]", sender.application_token.clone()),
    ]);
    pairs.iter().map(|(key, value)| format!("{}={}", encode(key), encode(value))).collect::<Vec<_>>().join("&")
}

fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::RestParams;

    #[test]
    fn an_event_form_contains_only_the_record_id_and_the_token() {
        let sender = EventSender {
            domain: "127.0.0.1:8024".to_owned(),
            base: "http://127.0.0.1:8024".to_owned(),
            user: 1,
            application_token: "t&1".to_owned(),
        };
        let happening = RecordEvent { event: "ONCRMDEALADD".to_owned(), id: 7, task: None };
        let read = RestParams::of_query(&form(&sender, &happening, 3, 100));
        assert_eq!(read.value()["data"], json!({"FIELDS": {"ID": "7"}}));
        assert_eq!(read.value()["auth"]["application_token"], "t&1");
        assert_eq!((&read.value()["event_handler_id"], &read.value()["ts"]), (&json!("3"), &json!("100")));
        let task = RecordEvent { event: "ONTASKCOMMENTADD".to_owned(), id: 9, task: Some(4) };
        let read = RestParams::of_query(&form(&sender, &task, 3, 100));
        assert_eq!(
            read.value()["data"],
            json!({"FIELDS": {"ID": "9"}, "FIELDS_BEFORE": "undefined", "FIELDS_AFTER": {"ID": "9", "TASK_ID": "4"}})
        );
    }
}
