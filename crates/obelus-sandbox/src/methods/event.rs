//! `event.*`: binding of event handlers.

use serde_json::{Value, json};

use super::{MethodCall, Methods, int_of, text_of};
use crate::entity::HANDLER;
use crate::portal::Events;
use crate::store::Row;
use crate::wire::RestError;

/// The events that the portal sends.
pub(crate) const KNOWN_EVENTS: [&str; 24] = [
    "ONCRMDEALADD",
    "ONCRMDEALUPDATE",
    "ONCRMDEALDELETE",
    "ONCRMCONTACTADD",
    "ONCRMCONTACTUPDATE",
    "ONCRMCONTACTDELETE",
    "ONCRMCOMPANYADD",
    "ONCRMCOMPANYUPDATE",
    "ONCRMCOMPANYDELETE",
    "ONCRMLEADADD",
    "ONCRMLEADUPDATE",
    "ONCRMLEADDELETE",
    "ONCRMACTIVITYADD",
    "ONCRMACTIVITYUPDATE",
    "ONCRMACTIVITYDELETE",
    "ONCRMTIMELINECOMMENTADD",
    "ONCRMTIMELINECOMMENTUPDATE",
    "ONCRMTIMELINECOMMENTDELETE",
    "ONTASKADD",
    "ONTASKUPDATE",
    "ONTASKDELETE",
    "ONTASKCOMMENTADD",
    "ONTASKCOMMENTUPDATE",
    "ONTASKCOMMENTDELETE",
];

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("event.bind", "", |call| {
        application_only(call)?;
        let (event, handler) = (event(call)?, handler(call)?);
        let auth_type = call.params.int("auth_type").unwrap_or(0);
        if bound(call, &event)?.iter().any(|row| matches_handler(row, &handler, Some(auth_type))) {
            return Err(RestError::core("Unable to set event handler: Handler already binded"));
        }
        let row: Row = [
            ("EVENT".to_owned(), json!(event)),
            ("HANDLER".to_owned(), json!(handler)),
            ("AUTH_TYPE".to_owned(), json!(auth_type)),
        ]
        .into_iter()
        .collect();
        let id = call.store.insert(&HANDLER, &row)?;
        call.added(&HANDLER, id, &row);
        Ok(json!(true).into())
    });
    methods.add("event.get", "", |call| {
        application_only(call)?;
        let fields: Vec<&crate::entity::Field> = HANDLER.fields.iter().collect();
        let rows = call.store.select(&HANDLER, &fields, "ORDER BY \"ID\"", Vec::new())?;
        let rows = rows.iter().map(|row| {
            json!({
                "event": row["EVENT"], "handler": row["HANDLER"],
                "auth_type": int_of(row, "AUTH_TYPE").to_string(), "offline": 0
            })
        });
        Ok(rows.collect::<Value>().into())
    });
    methods.add("event.unbind", "", |call| {
        application_only(call)?;
        let (event, handler) = (event(call)?, handler(call)?);
        let auth_type = call.params.int("auth_type");
        let mut count = 0;
        for row in bound(call, &event)? {
            if matches_handler(&row, &handler, auth_type) {
                let id = int_of(&row, "ID");
                call.store.delete(&HANDLER, id)?;
                call.deleted(&HANDLER, id, &row);
                count += 1;
            }
        }
        Ok(json!({"count": count}).into())
    });
}

/// A real portal permits these methods to applications, not to webhooks.
fn application_only(call: &MethodCall<'_>) -> Result<(), RestError> {
    match call.settings.events {
        Events::Open => Ok(()),
        Events::Strict => {
            Err(RestError::new(403, "WRONG_AUTH_TYPE", "Current authorization type is denied for this method"))
        }
    }
}

fn event(call: &MethodCall<'_>) -> Result<String, RestError> {
    let name = call.params.get("event").and_then(Value::as_str).unwrap_or_default().to_uppercase();
    match name.as_str() {
        "" => Err(RestError::argument("EVENT", "Argument 'EVENT' is null or empty")),
        name if KNOWN_EVENTS.contains(&name) => Ok(name.to_owned()),
        _ => Err(RestError::new(400, "ERROR_EVENT_NOT_FOUND", "Event not found")),
    }
}

fn handler(call: &MethodCall<'_>) -> Result<String, RestError> {
    let address = call.params.get("handler").and_then(Value::as_str).unwrap_or_default();
    match address {
        "" => Err(RestError::argument("HANDLER", "Argument 'HANDLER' is null or empty")),
        address if address.starts_with("http://") || address.starts_with("https://") => Ok(address.to_owned()),
        _ => Err(RestError::argument("HANDLER", "Unsupported event handler protocol")),
    }
}

fn bound(call: &MethodCall<'_>, event: &str) -> Result<Vec<Row>, RestError> {
    Ok(call.store.find(&HANDLER, "EVENT", event.to_owned())?)
}

fn matches_handler(row: &Row, handler: &str, auth_type: Option<i64>) -> bool {
    text_of(row, "HANDLER") == handler && auth_type.is_none_or(|wanted| int_of(row, "AUTH_TYPE") == wanted)
}
