//! `crm.item.*`: the same records with field names in camelCase and numbers as numbers.

use serde_json::{Map, Value, json};

use super::{MethodCall, MethodResult, Methods, crm, int_of, text_of};
use crate::entity::{COMPANY, CONTACT, DEAL, Entity, Field, INVOICE, LEAD, QUOTE, camel, is_yes};
use crate::filter;
use crate::list::{Selection, page};
use crate::store::{OWN, Row};
use crate::wire::RestError;

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("crm.item.list", "crm", list);
    methods.add("crm.item.get", "crm", |call| {
        let (entity, id) = (entity(call)?, id(call)?);
        let row = call.store.get(entity, id)?.ok_or_else(not_found)?;
        item(call, entity, &row)
    });
    methods.add("crm.item.add", "crm", |call| {
        let entity = entity(call)?;
        let fields = call.params.object("fields")?.unwrap_or_default();
        let id = crm::add(call, entity, &fields)?;
        let row = call.record(entity, id)?;
        item(call, entity, &row)
    });
    methods.add("crm.item.update", "crm", |call| {
        let (entity, id) = (entity(call)?, id(call)?);
        call.store.get(entity, id)?.ok_or_else(not_found)?;
        let fields = call.params.object("fields")?.unwrap_or_default();
        let row = crm::update(call, entity, id, &fields)?;
        item(call, entity, &row)
    });
    methods.add("crm.item.delete", "crm", |call| {
        let (entity, id) = (entity(call)?, id(call)?);
        call.store.get(entity, id)?.ok_or_else(not_found)?;
        crm::delete(call, entity, id)?;
        Ok(json!([]).into())
    });
    methods.add("crm.item.fields", "crm", |call| {
        let entity = entity(call)?;
        let mut fields = Map::new();
        for field in entity.fields {
            fields.insert(
                name(field),
                json!({
                    "type": field.kind.name(), "isRequired": field.required, "isReadOnly": field.read_only,
                    "isImmutable": field.immutable, "isMultiple": field.multiple, "isDynamic": false,
                    "title": field.title, "upperName": field.name
                }),
            );
        }
        Ok(json!({"fields": fields}).into())
    });
}

fn not_found() -> RestError {
    RestError::new(400, "NOT_FOUND", "Element not found")
}

fn entity(call: &MethodCall<'_>) -> Result<&'static Entity, RestError> {
    let wanted = call.params.int("entityTypeId");
    let known = [&LEAD, &DEAL, &CONTACT, &COMPANY, &INVOICE, &QUOTE];
    let found = known.into_iter().find(|entity| Some(entity.type_id) == wanted);
    found.ok_or_else(|| RestError::new(400, "NOT_FOUND", "Smart process not found"))
}

fn id(call: &MethodCall<'_>) -> Result<i64, RestError> {
    call.params.int("id").filter(|id| *id > 0).ok_or_else(not_found)
}

/// The field's name in `crm.item.*`.
fn name(field: &Field) -> String {
    match field.name {
        "DATE_CREATE" => "createdTime".to_owned(),
        "DATE_MODIFY" => "updatedTime".to_owned(),
        "CREATED_BY_ID" => "createdBy".to_owned(),
        "MODIFY_BY_ID" => "updatedBy".to_owned(),
        "MOVED_BY_ID" => "movedBy".to_owned(),
        other => camel(other),
    }
}

fn item(call: &MethodCall<'_>, entity: &'static Entity, row: &Row) -> MethodResult {
    let selection = Selection::everything(entity, call.store.custom_fields(entity)?);
    let mut out = show(call, &selection, row);
    if entity.has_multi {
        let values = crm::multi_of(call, entity, int_of(row, "ID"))?;
        let values: Vec<Value> = values
            .iter()
            .map(|value| {
                json!({
                    "id": int_of(value, "ID"), "valueType": text_of(value, "VALUE_TYPE"),
                    "value": text_of(value, "VALUE"), "typeId": text_of(value, "TYPE_ID")
                })
            })
            .collect();
        out.insert("fm".to_owned(), Value::Array(values));
    }
    out.insert("entityTypeId".to_owned(), json!(entity.type_id));
    Ok(json!({"item": out}).into())
}

fn show(call: &MethodCall<'_>, selection: &Selection, row: &Row) -> Map<String, Value> {
    let mut out = Map::new();
    for field in &selection.fields {
        out.insert(name(field), field.kind.show_typed(row.get(field.name).unwrap_or(&Value::Null)));
    }
    let own = row.get(OWN).and_then(Value::as_object);
    let keep_names = call.params.get("useOriginalUfNames").is_some_and(is_yes);
    for field in &selection.own {
        let stored = own.and_then(|own| own.get(&field.name)).unwrap_or(&Value::Null);
        out.insert(if keep_names { field.name.clone() } else { camel(&field.name) }, field.kind.show_typed(stored));
    }
    out
}

fn list(call: &mut MethodCall<'_>) -> MethodResult {
    let entity = entity(call)?;
    let own = call.store.custom_fields(entity)?;
    if let Some(unknown) = filter::unknown_name(entity, &own, &call.params.object("filter")?.unwrap_or_default()) {
        return Err(RestError::new(
            400,
            "INVALID_ARG_VALUE",
            format!("Invalid filter: field '{unknown}' is not allowed in filter"),
        ));
    }
    let selection = Selection::read(entity, own.clone(), &call.params)?;
    let page = page(call.store, entity, &selection, &own, &call.params)?;
    let rows: Vec<Value> = page
        .rows
        .iter()
        .map(|row| {
            let mut out = show(call, &selection, row);
            out.insert("entityTypeId".to_owned(), json!(entity.type_id));
            Value::Object(out)
        })
        .collect();
    Ok(page.answer(json!({"items": rows})))
}
