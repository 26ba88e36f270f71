//! `add`, `get`, `list`, `update`, `delete` and `fields` of all CRM records.

use serde_json::{Map, Value, json};

use super::{MethodCall, MethodResult, Methods, deal, default, invalid, parse_fields, text_of};
use crate::entity::{COMPANY, CONTACT, DEAL, Entity, LEAD, MULTI, MULTI_TYPES, is_unset, is_yes, text};
use crate::list::{Selection, page};
use crate::store::{OWN, Row};
use crate::wire::params::{must_be_array, to_int};
use crate::wire::{MethodAnswer, RestError};

pub(super) fn add_to(methods: &mut Methods) {
    for entity in [&DEAL, &CONTACT, &COMPANY, &LEAD] {
        let name = |method: &str| format!("crm.{}.{method}", entity.table);
        methods.add(name("add"), "crm", move |call| {
            let fields = call.params.object("fields")?.ok_or_else(|| must_be_array("fields"))?;
            add(call, entity, &fields).map(|id| json!(id).into())
        });
        methods.add(name("update"), "crm", move |call| {
            let id = call.id()?;
            let fields = call.params.object("fields")?.ok_or_else(|| must_be_array("fields"))?;
            update(call, entity, id, &fields).map(|_| json!(true).into())
        });
        methods.add(name("delete"), "crm", move |call| delete(call, entity, call.id()?).map(|()| json!(true).into()));
        methods.add(name("get"), "crm", move |call| {
            let row = call.record(entity, call.id()?)?;
            let selection = Selection::everything(entity, call.store.custom_fields(entity)?);
            show(call, entity, &selection, &row).map(Into::into)
        });
        methods.add(name("list"), "crm", move |call| list(call, entity));
        methods.add(name("fields"), "crm", move |call| fields(call, entity));
    }
}

pub(super) fn add(
    call: &mut MethodCall<'_>,
    entity: &'static Entity,
    given: &Map<String, Value>,
) -> Result<i64, RestError> {
    let mut row = parse_fields(entity, given, true)?;
    for field in entity.fields.iter().filter(|field| field.required) {
        if text_of(&row, field.name).is_empty() {
            return Err(RestError::crm(format!("The field {} is not defined or empty.", field.name)));
        }
    }
    for (name, value) in [
        ("ASSIGNED_BY_ID", json!(call.user)),
        ("CREATED_BY_ID", json!(call.user)),
        ("MODIFY_BY_ID", json!(call.user)),
        ("LAST_ACTIVITY_BY", json!(call.user)),
        ("DATE_CREATE", json!(call.now)),
        ("DATE_MODIFY", json!(call.now)),
        ("LAST_ACTIVITY_TIME", json!(call.now)),
        ("OPENED", json!("Y")),
        ("CURRENCY_ID", json!(call.settings.language.currency())),
    ] {
        if entity.field(name).is_some() {
            default(&mut row, name, value);
        }
    }
    // Of several contacts the first becomes the deal's primary contact.
    let contacts = given.get("CONTACT_IDS").or_else(|| given.get("contactIds")).and_then(Value::as_array);
    if let (Some(_), Some(first)) = (entity.field("CONTACT_ID"), contacts.and_then(|all| all.first())) {
        default(&mut row, "CONTACT_ID", to_int(first).ok_or_else(|| invalid("CONTACT_IDS"))?);
    }
    rules(call, entity, &mut row, None)?;
    parse_custom_fields(call, entity, given, &mut row, None)?;
    let id = call.store.insert(entity, &row)?;
    if entity.field("TITLE").is_some() && text_of(&row, "TITLE").is_empty() {
        let titled: Row = [("TITLE".to_owned(), json!(format!("{} #{id}", call.settings.language.what(entity))))]
            .into_iter()
            .collect();
        call.store.update(entity, id, &titled)?;
    }
    save_multi(call, entity, id, given)?;
    let row = call.record(entity, id)?;
    call.added(entity, id, &row);
    Ok(id)
}

/// Changes a record and returns its new state.
pub(super) fn update(
    call: &mut MethodCall<'_>,
    entity: &'static Entity,
    id: i64,
    given: &Map<String, Value>,
) -> Result<Row, RestError> {
    let before = call.record(entity, id)?;
    let mut row = parse_fields(entity, given, false)?;
    if let Some(empty) = entity
        .fields
        .iter()
        .find(|field| field.required && row.contains_key(field.name) && text_of(&row, field.name).is_empty())
    {
        return Err(RestError::crm(format!("The field {} is not defined or empty.", empty.name)));
    }
    rules(call, entity, &mut row, Some(&before))?;
    parse_custom_fields(call, entity, given, &mut row, Some(&before))?;
    row.insert("DATE_MODIFY".to_owned(), json!(call.now));
    row.insert("MODIFY_BY_ID".to_owned(), json!(call.user));
    call.store.update(entity, id, &row)?;
    save_multi(call, entity, id, given)?;
    call.changed(entity, id, &before, &row);
    call.record(entity, id)
}

pub(super) fn delete(call: &mut MethodCall<'_>, entity: &'static Entity, id: i64) -> Result<(), RestError> {
    let before = call.record(entity, id)?;
    call.store.delete(entity, id)?;
    call.deleted(entity, id, &before);
    Ok(())
}

/// Rules of an entity beyond the types of its fields.
fn rules(call: &MethodCall<'_>, entity: &Entity, row: &mut Row, before: Option<&Row>) -> Result<(), RestError> {
    match entity.type_id {
        1 => lead_rules(call, row, before),
        2 => deal::rules(call, row, before),
        type_id => {
            let first_stage = [(7, "DRAFT"), (31, "DT31_1:N")].into_iter().find(|(of, _)| *of == type_id);
            if let (Some((_, stage)), None) = (first_stage, before) {
                default(row, "STAGE_ID", stage);
            }
            Ok(())
        }
    }
}

fn lead_rules(call: &MethodCall<'_>, row: &mut Row, before: Option<&Row>) -> Result<(), RestError> {
    if before.is_none() {
        default(row, "STATUS_ID", "NEW");
    }
    let Some(status) = row.get("STATUS_ID").and_then(Value::as_str).map(str::to_owned) else { return Ok(()) };
    let stages = deal::stages(call, "STATUS")?;
    let stage =
        stages.iter().find(|stage| text_of(stage, "STATUS_ID") == status).ok_or_else(|| invalid("STATUS_ID"))?;
    let meaning = text_of(stage, "SEMANTICS");
    row.insert("STATUS_SEMANTIC_ID".to_owned(), json!(if meaning.is_empty() { "P" } else { meaning }));
    Ok(())
}

/// Merges the given custom fields into those that the record already has.
fn parse_custom_fields(
    call: &MethodCall<'_>,
    entity: &Entity,
    given: &Map<String, Value>,
    row: &mut Row,
    before: Option<&Row>,
) -> Result<(), RestError> {
    let mut own = before.and_then(|row| row.get(OWN)).and_then(Value::as_object).cloned().unwrap_or_default();
    let mut touched = false;
    for field in call.store.custom_fields(entity)? {
        let camel = crate::entity::camel(&field.name);
        if let Some(value) = given.get(&field.name).or_else(|| given.get(&camel)) {
            own.insert(field.name.clone(), field.kind.parse(value).ok_or_else(|| invalid(&field.name))?);
            touched = true;
        }
    }
    if touched {
        row.insert(OWN.to_owned(), Value::Object(own));
    }
    Ok(())
}

/// Saves multi-value fields: values with an id are changed or deleted, the others are added.
fn save_multi(call: &MethodCall<'_>, entity: &Entity, id: i64, given: &Map<String, Value>) -> Result<(), RestError> {
    if !entity.has_multi {
        return Ok(());
    }
    for kind in MULTI_TYPES {
        let Some(given) = given.get(kind).filter(|given| !is_unset(given)) else { continue };
        let values = match given {
            Value::Array(items) => items.clone(),
            Value::Object(items) => items.values().cloned().collect(),
            _ => return Err(invalid(kind)),
        };
        for item in values.iter().filter_map(Value::as_object) {
            let value = item.get("VALUE").and_then(text).unwrap_or_default();
            let delete = item.get("DELETE").is_some_and(is_yes) || value.is_empty();
            let mine = item.get("ID").and_then(to_int).filter(|at| *at > 0);
            let mut row: Row = [
                ("OWNER".to_owned(), json!(entity.table)),
                ("OWNER_ID".to_owned(), json!(id)),
                ("TYPE_ID".to_owned(), json!(kind)),
                ("VALUE".to_owned(), json!(value)),
            ]
            .into_iter()
            .collect();
            let purpose = item.get("VALUE_TYPE").and_then(text);
            match mine {
                Some(at) => {
                    let stored = call.store.get(&MULTI, at)?.filter(|stored| {
                        text_of(stored, "OWNER") == entity.table && super::int_of(stored, "OWNER_ID") == id
                    });
                    match (stored, delete) {
                        (None, _) => {}
                        (Some(_), true) => call.store.delete(&MULTI, at)?,
                        (Some(_), false) => {
                            if let Some(purpose) = purpose {
                                row.insert("VALUE_TYPE".to_owned(), json!(purpose));
                            }
                            call.store.update(&MULTI, at, &row)?;
                        }
                    }
                }
                None if delete => {}
                None => {
                    row.insert("VALUE_TYPE".to_owned(), json!(purpose.unwrap_or_else(|| "WORK".to_owned())));
                    call.store.insert(&MULTI, &row)?;
                }
            }
        }
    }
    let stored = multi_of(call, entity, id)?;
    let has = |kind: &str| json!(if stored.iter().any(|row| text_of(row, "TYPE_ID") == kind) { "Y" } else { "N" });
    let marks: Row =
        [("HAS_PHONE".to_owned(), has("PHONE")), ("HAS_EMAIL".to_owned(), has("EMAIL"))].into_iter().collect();
    call.store.update(entity, id, &marks)?;
    Ok(())
}

pub(super) fn multi_of(call: &MethodCall<'_>, entity: &Entity, id: i64) -> Result<Vec<Row>, RestError> {
    let mut rows = call.store.find(&MULTI, "OWNER_ID", id)?;
    rows.retain(|row| text_of(row, "OWNER") == entity.table);
    Ok(rows)
}

/// A record as `crm.*` methods return it: scalars as text.
pub(super) fn show(
    call: &MethodCall<'_>,
    entity: &Entity,
    selection: &Selection,
    row: &Row,
) -> Result<Value, RestError> {
    let mut out = Map::new();
    for field in &selection.fields {
        out.insert(field.name.to_owned(), field.kind.show(row.get(field.name).unwrap_or(&Value::Null)));
    }
    let own = row.get(OWN).and_then(Value::as_object);
    for field in &selection.own {
        let stored = own.and_then(|own| own.get(&field.name)).unwrap_or(&Value::Null);
        out.insert(field.name.clone(), field.kind.show(stored));
    }
    if !selection.multi.is_empty() {
        let rows = multi_of(call, entity, super::int_of(row, "ID"))?;
        for kind in &selection.multi {
            let values: Vec<Value> = rows
                .iter()
                .filter(|row| text_of(row, "TYPE_ID") == *kind)
                .map(|row| {
                    let id = super::int_of(row, "ID").to_string();
                    json!({"ID": id, "VALUE_TYPE": row["VALUE_TYPE"], "VALUE": row["VALUE"], "TYPE_ID": kind})
                })
                .collect();
            if !values.is_empty() {
                out.insert((*kind).to_owned(), Value::Array(values));
            }
        }
    }
    Ok(Value::Object(out))
}

pub(super) fn list(call: &mut MethodCall<'_>, entity: &'static Entity) -> MethodResult {
    let own = call.store.custom_fields(entity)?;
    let selection = Selection::read(entity, own.clone(), &call.params)?;
    let page = page(call.store, entity, &selection, &own, &call.params)?;
    let rows = page.rows.iter().map(|row| show(call, entity, &selection, row)).collect::<Result<Value, RestError>>()?;
    Ok(page.answer(rows))
}

/// The fields with their types and labels.
pub(super) fn fields(call: &mut MethodCall<'_>, entity: &'static Entity) -> MethodResult {
    let describe =
        |kind: &str, title: &str, read_only: bool, immutable: bool, required: bool, multiple: bool, own: bool| {
            json!({
                "type": kind, "isRequired": required, "isReadOnly": read_only, "isImmutable": immutable,
                "isMultiple": multiple, "isDynamic": own, "title": title
            })
        };
    let mut out = Map::new();
    for field in entity.fields {
        let mut about = describe(
            field.kind.name(),
            &call.settings.language.label(field),
            field.read_only,
            field.immutable,
            field.required,
            field.multiple,
            false,
        );
        if let crate::entity::Kind::Status(directory) = field.kind {
            about["statusType"] = json!(directory);
        }
        out.insert(field.name.to_owned(), about);
    }
    if entity.has_multi {
        for (kind, title) in MULTI_TYPES.iter().zip(["Телефон", "E-mail", "Сайт", "Мессенджер"]) {
            out.insert(
                (*kind).to_owned(),
                describe("crm_multifield", call.settings.language.said(title), false, false, false, true, false),
            );
        }
    }
    for field in call.store.custom_fields(entity)? {
        let mut about = describe(field.kind.name(), &field.name, false, false, false, false, true);
        about["listLabel"] = json!(field.title);
        about["formLabel"] = json!(field.title);
        about["filterLabel"] = json!(field.title);
        out.insert(field.name, about);
    }
    Ok(MethodAnswer::from(Value::Object(out)))
}
