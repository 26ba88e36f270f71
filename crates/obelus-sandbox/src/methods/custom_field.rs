//! `crm.*.userfield.*`: custom fields.

use serde_json::{Value, json};

use super::{MethodCall, MethodResult, Methods, default, invalid, parse_fields, text_of};
use crate::entity::{COMPANY, CONTACT, DEAL, Entity, LEAD, USER_FIELD};
use crate::list::{Selection, page};
use crate::store::custom_field_owner;
use crate::wire::RestError;
use crate::wire::params::must_be_array;

/// The supported types.
const TYPES: [&str; 8] = ["string", "integer", "double", "boolean", "date", "datetime", "money", "url"];

pub(super) fn add_to(methods: &mut Methods) {
    for entity in [&DEAL, &CONTACT, &COMPANY, &LEAD] {
        let name = |method: &str| format!("crm.{}.userfield.{method}", entity.table);
        methods.add(name("add"), "crm", move |call| add(call, entity));
        methods.add(name("list"), "crm", move |call| list(call, entity));
        methods.add(name("get"), "crm", move |call| {
            let row = call.record(&USER_FIELD, call.id()?)?;
            Ok(to_json(&row).into())
        });
        methods.add(name("delete"), "crm", move |call| {
            let id = call.id()?;
            let row = call.record(&USER_FIELD, id)?;
            call.store.delete(&USER_FIELD, id)?;
            call.deleted(&USER_FIELD, id, &row);
            Ok(json!(true).into())
        });
    }
}

fn add(call: &mut MethodCall<'_>, entity: &'static Entity) -> MethodResult {
    let given = call.params.object("fields")?.ok_or_else(|| must_be_array("fields"))?;
    let mut row = parse_fields(&USER_FIELD, &given, true)?;
    let name = text_of(&row, "FIELD_NAME").to_uppercase();
    let name = if name.starts_with("UF_CRM_") { name } else { format!("UF_CRM_{name}") };
    let is_name = name.len() > 7 && name.len() <= 50 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Err(RestError::core(
            "The field 'FIELD_NAME' is not valid: letters of the Latin alphabet, digits and _ only.",
        ));
    }
    default(&mut row, "USER_TYPE_ID", "string");
    if !TYPES.contains(&text_of(&row, "USER_TYPE_ID")) {
        return Err(invalid("USER_TYPE_ID"));
    }
    if call.store.custom_fields(entity)?.iter().any(|field| field.name == name) {
        return Err(RestError::core(format!("Field {name} for object {} already exists.", custom_field_owner(entity))));
    }
    // A label is text, or an object with a text for each language.
    let label = given.get("EDIT_FORM_LABEL").or_else(|| given.get("LABEL"));
    let label = match label {
        Some(Value::Object(by_language)) => by_language.get("ru").or_else(|| by_language.values().next()).cloned(),
        other => other.cloned(),
    };
    row.insert("EDIT_FORM_LABEL".to_owned(), label.filter(Value::is_string).unwrap_or_else(|| json!(name)));
    row.insert("FIELD_NAME".to_owned(), json!(name));
    row.insert("ENTITY_ID".to_owned(), json!(custom_field_owner(entity)));
    default(&mut row, "SORT", 100);
    default(&mut row, "MULTIPLE", "N");
    default(&mut row, "MANDATORY", "N");
    let id = call.store.insert(&USER_FIELD, &row)?;
    call.added(&USER_FIELD, id, &row);
    Ok(json!(id).into())
}

fn list(call: &mut MethodCall<'_>, entity: &'static Entity) -> MethodResult {
    let mut params = call.params.clone();
    let mut filter = params.object("filter")?.unwrap_or_default();
    filter.insert("ENTITY_ID".to_owned(), json!(custom_field_owner(entity)));
    if let Some(all) = params.value_mut().as_object_mut() {
        all.insert("filter".to_owned(), Value::Object(filter));
    }
    let selection = Selection::everything(&USER_FIELD, Vec::new());
    let page = page(call.store, &USER_FIELD, &selection, &[], &params)?;
    Ok(page.answer(page.rows.iter().map(to_json).collect()))
}

fn to_json(row: &crate::store::Row) -> Value {
    let to_json = USER_FIELD
        .fields
        .iter()
        .map(|field| (field.name.to_owned(), field.kind.show(row.get(field.name).unwrap_or(&Value::Null))));
    Value::Object(to_json.collect())
}
