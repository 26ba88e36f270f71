//! Deals: stages, funnels, contacts.

use serde_json::{Value, json};

use super::{MethodCall, Methods, default, int_of, text_of};
use crate::clock;
use crate::entity::{CATEGORY, DEAL, STATUS};
use crate::store::Row;
use crate::wire::RestError;

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("crm.deal.contact.items.get", "crm", |call| {
        let deal = call.record(&DEAL, call.id()?)?;
        let contact = int_of(&deal, "CONTACT_ID");
        let rows = match contact {
            0 => json!([]),
            _ => json!([{"CONTACT_ID": contact, "SORT": 10, "ROLE_ID": 0, "IS_PRIMARY": "Y"}]),
        };
        Ok(rows.into())
    });
}

/// The directory of a funnel's stages.
pub(super) fn directory(category: i64) -> String {
    if category == 0 { "DEAL_STAGE".to_owned() } else { format!("DEAL_STAGE_{category}") }
}

/// The stages of a directory, sorted.
pub(super) fn stages(call: &MethodCall<'_>, directory: &str) -> Result<Vec<Row>, RestError> {
    let mut rows = call.store.find(&STATUS, "ENTITY_ID", directory.to_owned())?;
    rows.sort_by_key(|row| int_of(row, "SORT"));
    Ok(rows)
}

/// The funnel in a stage's code: `C1:NEW` belongs to funnel 1.
fn funnel_of(stage: &str) -> i64 {
    stage.strip_prefix('C').and_then(|rest| rest.split_once(':')).and_then(|(id, _)| id.parse().ok()).unwrap_or(0)
}

/// Checks the funnel and the stage of a deal, and sets the fields that follow from them.
pub(super) fn rules(call: &MethodCall<'_>, row: &mut Row, before: Option<&Row>) -> Result<(), RestError> {
    let wanted = row.get("STAGE_ID").and_then(Value::as_str).filter(|stage| !stage.is_empty()).map(str::to_owned);
    let category = match before {
        Some(before) => int_of(before, "CATEGORY_ID"),
        None => match row.get("CATEGORY_ID").and_then(Value::as_i64) {
            Some(category) => category,
            None => wanted.as_deref().map_or(0, funnel_of),
        },
    };
    if category != 0 && call.store.get(&CATEGORY, category)?.is_none() {
        return Err(RestError::crm(format!("Deal category {category} is not found.")));
    }
    if before.is_none() {
        set_defaults(call, row, category);
    } else if wanted.is_none() {
        row.remove("STAGE_ID");
        return Ok(());
    }
    let stages = stages(call, &directory(category))?;
    let found = match &wanted {
        None => stages.first(),
        Some(wanted) => stages.iter().find(|stage| text_of(stage, "STATUS_ID") == wanted),
    };
    let Some(stage) = found else {
        let wanted = wanted.unwrap_or_default();
        return Err(RestError::crm(format!("Stage '{wanted}' is not found in deal category {category}.")));
    };
    let is_first = stages.first().is_some_and(|first| text_of(first, "STATUS_ID") == text_of(stage, "STATUS_ID"));
    set_stage(call, row, before, stage, is_first);
    Ok(())
}

fn set_defaults(call: &MethodCall<'_>, row: &mut Row, category: i64) {
    row.insert("CATEGORY_ID".to_owned(), json!(category));
    for (name, value) in [
        ("TYPE_ID", json!("SALE")),
        ("OPPORTUNITY", json!(0.0)),
        ("TAX_VALUE", json!(0.0)),
        ("IS_MANUAL_OPPORTUNITY", json!("N")),
        ("IS_RECURRING", json!("N")),
        ("IS_RETURN_CUSTOMER", json!("N")),
        ("IS_REPEATED_APPROACH", json!("N")),
        ("BEGINDATE", json!(clock::date_of(call.now))),
        ("CLOSEDATE", json!(clock::date_of(call.now) + 7 * clock::DAY)),
    ] {
        default(row, name, value);
    }
}

/// Sets the stage and the fields that follow from it.
fn set_stage(call: &MethodCall<'_>, row: &mut Row, before: Option<&Row>, stage: &Row, is_first: bool) {
    let code = text_of(stage, "STATUS_ID");
    let meaning = match text_of(stage, "SEMANTICS") {
        "" => "P",
        meaning => meaning,
    };
    let moved = before.is_none_or(|before| text_of(before, "STAGE_ID") != code);
    row.insert("STAGE_ID".to_owned(), json!(code));
    row.insert("STAGE_SEMANTIC_ID".to_owned(), json!(meaning));
    row.insert("CLOSED".to_owned(), json!(if meaning == "P" { "N" } else { "Y" }));
    row.insert("IS_NEW".to_owned(), json!(if is_first { "Y" } else { "N" }));
    if moved {
        row.insert("MOVED_BY_ID".to_owned(), json!(call.user));
        row.insert("MOVED_TIME".to_owned(), json!(call.now));
    }
    // Closing a deal sets its closing date to today.
    if moved && meaning != "P" && before.is_some() && !row.contains_key("CLOSEDATE") {
        row.insert("CLOSEDATE".to_owned(), json!(clock::date_of(call.now)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_funnel_is_read_from_the_stage() {
        for (stage, funnel) in [("NEW", 0), ("C1:NEW", 1), ("C12:UC_7", 12), ("CALL", 0), ("C:NEW", 0)] {
            assert_eq!(funnel_of(stage), funnel, "{stage}");
        }
    }
}
