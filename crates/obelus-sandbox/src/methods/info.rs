//! Information about the portal: time, scopes, methods, events.

use serde_json::{Value, json};

use super::{KNOWN_EVENTS, Methods};
use crate::clock;

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("server.time", "", |call| Ok(json!(clock::iso(call.now)).into()));
    methods.add("scope", "", |call| Ok(json!(call.settings.scopes).into()));
    methods.add("methods", "", |call| {
        let allowed = |scope: &str| scope.is_empty() || call.settings.scopes.iter().any(|have| have == scope);
        let names = call.methods.names().filter(|(_, method)| allowed(method.scope)).map(|(name, _)| json!(name));
        let mut names: Vec<Value> = names.collect();
        names.push(json!("batch"));
        Ok(Value::Array(names).into())
    });
    methods.add("method.get", "", |call| {
        let name = call.params.get("name").and_then(Value::as_str).unwrap_or_default();
        let found = call.methods.get(name);
        let allowed = found.is_some_and(|(_, method)| {
            method.scope.is_empty() || call.settings.scopes.iter().any(|have| have == method.scope)
        });
        let exists = found.is_some() || name.eq_ignore_ascii_case("batch");
        Ok(json!({"isExisting": exists, "isAvailable": allowed || name.eq_ignore_ascii_case("batch")}).into())
    });
    methods.add("app.info", "", |call| {
        Ok(json!({
            "ID": 0, "CODE": "obelus.sandbox", "VERSION": 1, "STATUS": "L", "INSTALLED": true,
            "PAYMENT_EXPIRED": "N", "DAYS": null, "LANGUAGE_ID": "ru", "LICENSE": "ru_sandbox",
            "LICENSE_TYPE": "sandbox", "LICENSE_FAMILY": "sandbox", "SCOPE": call.settings.scopes
        })
        .into())
    });
    methods.add("events", "", |_| Ok(json!(KNOWN_EVENTS).into()));
}
