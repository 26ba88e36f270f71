//! `crm.duplicate.findbycomm`: leads, contacts and companies with a phone number or an e-mail address.

use serde_json::{Map, Value, json};

use super::{MethodCall, MethodResult, Methods, int_of, text_of};
use crate::entity::{COMPANY, CONTACT, LEAD, MULTI};
use crate::store::fold;
use crate::wire::RestError;
use crate::wire::answer::php_map;

/// The most values that the portal compares, and the most records of a type that it returns.
const MOST: usize = 20;

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("crm.duplicate.findbycomm", "crm", find);
}

fn find(call: &mut MethodCall<'_>) -> MethodResult {
    let kind = call.params.get("type").and_then(Value::as_str).unwrap_or_default().to_uppercase();
    if !["PHONE", "EMAIL"].contains(&kind.as_str()) {
        return Err(RestError::crm("Communication type is not defined."));
    }
    let values = call.params.list("values")?.filter(|values| !values.is_empty());
    let values = values.ok_or_else(|| RestError::crm("Communication values is not defined."))?;
    if values.len() > MOST {
        return Err(RestError::crm("The number of values must not exceed 20."));
    }
    let wanted: Vec<String> = values.iter().filter_map(crate::entity::text).map(|value| plain(&kind, &value)).collect();
    let only = call.params.get("entity_type").and_then(Value::as_str).unwrap_or_default().to_uppercase();
    let known = [&LEAD, &CONTACT, &COMPANY];
    let is_known = known.iter().any(|entity| entity.table.to_uppercase() == only);
    let stored = call.store.find(&MULTI, "TYPE_ID", kind.clone())?;
    let mut found = Map::new();
    for entity in known.into_iter().filter(|entity| !is_known || entity.table.to_uppercase() == only) {
        let is_alike = |row: &&crate::store::Row| {
            text_of(row, "OWNER") == entity.table && wanted.contains(&plain(&kind, text_of(row, "VALUE")))
        };
        let mut ids: Vec<i64> = stored.iter().filter(is_alike).map(|row| int_of(row, "OWNER_ID")).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(MOST);
        if !ids.is_empty() {
            found.insert(entity.table.to_uppercase(), json!(ids));
        }
        // Further types are not searched if one has this many duplicates.
        if ids.len() >= MOST {
            break;
        }
    }
    Ok(php_map(found).into())
}

/// The normalised form of a value for comparison: for a phone the digits with the country's code.
fn plain(kind: &str, value: &str) -> String {
    if kind == "EMAIL" {
        return fold(value.trim());
    }
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    match digits.strip_prefix('8') {
        Some(rest) if digits.len() == 11 => format!("7{rest}"),
        _ => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_their_digits_and_addresses_without_case() {
        assert_eq!(plain("PHONE", "+7 (000) 555-41-00"), plain("PHONE", "8 000 555 41 00"));
        assert_eq!(plain("EMAIL", " Anna@Example.test"), plain("EMAIL", "anna@example.test"));
        assert_ne!(plain("PHONE", "+7 000 555-41-00"), plain("PHONE", "+7 000 555-41-01"));
    }
}
