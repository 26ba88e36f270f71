//! `crm.timeline.comment.*`: comments on records.

use serde_json::{Value, json};

use super::{MethodCall, MethodResult, Methods, crm, default, int_of, invalid, parse_fields, text_of};
use crate::entity::{COMMENT, COMPANY, CONTACT, DEAL, LEAD};
use crate::list::Selection;
use crate::wire::RestError;
use crate::wire::params::{as_object, must_be_array};

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("crm.timeline.comment.add", "crm", add);
    methods.add("crm.timeline.comment.list", "crm", |call| crm::list(call, &COMMENT));
    methods.add("crm.timeline.comment.fields", "crm", |call| crm::fields(call, &COMMENT));
    methods.add("crm.timeline.comment.get", "crm", |call| {
        let row = call.record(&COMMENT, call.id()?)?;
        crm::show(call, &COMMENT, &Selection::everything(&COMMENT, Vec::new()), &row).map(Into::into)
    });
    methods.add("crm.timeline.comment.update", "crm", |call| {
        let id = call.id()?;
        let before = call.record(&COMMENT, id)?;
        let row = parse_fields(&COMMENT, &fields_param(call)?, false)?;
        if text_of(&row, "COMMENT").is_empty() {
            return Err(RestError::crm("Empty comment message."));
        }
        call.store.update(&COMMENT, id, &row)?;
        call.changed(&COMMENT, id, &before, &row);
        Ok(json!(true).into())
    });
    methods.add("crm.timeline.comment.delete", "crm", |call| {
        let id = call.id()?;
        let row = call.record(&COMMENT, id)?;
        call.store.delete(&COMMENT, id)?;
        call.deleted(&COMMENT, id, &row);
        Ok(json!(true).into())
    });
}

/// Reads `fields`; here the portal accepts this name in lower case only.
fn fields_param(call: &MethodCall<'_>) -> Result<serde_json::Map<String, Value>, RestError> {
    as_object(call.params.exact("fields"), "fields")?.ok_or_else(|| must_be_array("fields"))
}

fn add(call: &mut MethodCall<'_>) -> MethodResult {
    let mut row = parse_fields(&COMMENT, &fields_param(call)?, true)?;
    if text_of(&row, "COMMENT").is_empty() {
        return Err(RestError::crm("Empty comment message."));
    }
    let id = int_of(&row, "ENTITY_ID");
    if id <= 0 {
        return Err(invalid("ENTITY_ID"));
    }
    let kind = text_of(&row, "ENTITY_TYPE").to_lowercase();
    let entity = [&LEAD, &DEAL, &CONTACT, &COMPANY].into_iter().find(|entity| entity.table == kind);
    let entity = entity.ok_or_else(|| invalid("ENTITY_TYPE"))?;
    call.record(entity, id)?;
    row.insert("ENTITY_TYPE".to_owned(), json!(kind));
    row.insert("CREATED".to_owned(), json!(call.now));
    default(&mut row, "AUTHOR_ID", call.user);
    let id = call.store.insert(&COMMENT, &row)?;
    call.added(&COMMENT, id, &row);
    Ok(json!(id).into())
}
