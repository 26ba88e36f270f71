//! `crm.activity.*`: calls, meetings, e-mails and to-dos of a record.

use serde_json::{Map, Value, json};

use super::task::missing;
use super::{MethodCall, MethodResult, Methods, crm, default, int_of, invalid, parse_fields, text_of};
use crate::entity::{ACTIVITY, COMPANY, CONTACT, DEAL, Entity, LEAD, is_unset};
use crate::list::Selection;
use crate::store::Row;
use crate::wire::RestError;
use crate::wire::params::must_be_array;

const MEETING: i64 = 1;
const CALL: i64 = 2;
const BY_PROVIDER: i64 = 6;

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("crm.activity.add", "crm", |call| {
        let given = call.params.object("fields")?.ok_or_else(|| must_be_array("fields"))?;
        add(call, &given)
    });
    methods.add("crm.activity.todo.add", "crm", add_todo);
    methods.add("crm.activity.update", "crm", update);
    methods.add("crm.activity.list", "crm", |call| crm::list(call, &ACTIVITY));
    methods.add("crm.activity.fields", "crm", |call| crm::fields(call, &ACTIVITY));
    methods.add("crm.activity.get", "crm", |call| {
        let row = find_activity(call)?;
        crm::show(call, &ACTIVITY, &Selection::everything(&ACTIVITY, Vec::new()), &row).map(Into::into)
    });
    methods.add("crm.activity.delete", "crm", |call| {
        let row = find_activity(call)?;
        let id = int_of(&row, "ID");
        call.store.delete(&ACTIVITY, id)?;
        call.deleted(&ACTIVITY, id, &row);
        Ok(json!(true).into())
    });
}

fn find_activity(call: &MethodCall<'_>) -> Result<Row, RestError> {
    call.store.get(&ACTIVITY, call.id()?)?.ok_or_else(|| RestError::crm("Activity is not found."))
}

/// The entity with this `OWNER_TYPE_ID`.
fn owner(type_id: i64) -> Option<&'static Entity> {
    [&LEAD, &DEAL, &CONTACT, &COMPANY].into_iter().find(|entity| entity.type_id == type_id)
}

fn add(call: &mut MethodCall<'_>, given: &Map<String, Value>) -> MethodResult {
    let row = parse_fields(&ACTIVITY, given, true)?;
    if text_of(&row, "SUBJECT").trim().is_empty() {
        return Err(RestError::crm("The field SUBJECT is not defined or empty."));
    }
    for name in ["RESPONSIBLE_ID", "TYPE_ID", "OWNER_TYPE_ID", "OWNER_ID"] {
        if int_of(&row, name) <= 0 {
            return Err(invalid(name));
        }
    }
    if given.get("COMMUNICATIONS").is_none_or(|value| is_unset(value) || !(value.is_array() || value.is_object())) {
        return Err(invalid("COMMUNICATIONS"));
    }
    insert(call, row).map(|id| json!(id).into())
}

/// A universal activity: it needs no communications.
fn add_todo(call: &mut MethodCall<'_>) -> MethodResult {
    let given = |name: &str| call.params.get(name).cloned().ok_or_else(|| missing(name));
    let mut fields = Map::new();
    for (from, to) in [("ownerTypeId", "OWNER_TYPE_ID"), ("ownerId", "OWNER_ID"), ("deadline", "END_TIME")] {
        fields.insert(to.to_owned(), given(from)?);
    }
    for (from, to) in [("title", "SUBJECT"), ("description", "DESCRIPTION"), ("responsibleId", "RESPONSIBLE_ID")] {
        if let Ok(value) = given(from) {
            fields.insert(to.to_owned(), value);
        }
    }
    let mut row = parse_fields(&ACTIVITY, &fields, true)?;
    row.insert("TYPE_ID".to_owned(), json!(BY_PROVIDER));
    for (name, value) in [("SUBJECT", json!("")), ("DESCRIPTION", json!("")), ("RESPONSIBLE_ID", json!(call.user))] {
        default(&mut row, name, value);
    }
    insert(call, row).map(|id| json!({ "id": id }).into())
}

/// Adds an activity to an existing record.
fn insert(call: &mut MethodCall<'_>, mut row: Row) -> Result<i64, RestError> {
    let owner = owner(int_of(&row, "OWNER_TYPE_ID"));
    let owner_id = int_of(&row, "OWNER_ID");
    let bound = match owner {
        Some(owner) => call.store.get(owner, owner_id)?.map(|_| owner),
        None => None,
    };
    let Some(owner) = bound else {
        return Err(RestError::crm(
            "Could not build binding. Please ensure that owner info and communications are defined correctly.",
        ));
    };
    for (name, value) in [
        ("COMPLETED", json!("N")),
        ("PRIORITY", json!(2)),
        ("NOTIFY_TYPE", json!(0)),
        ("DIRECTION", json!(0)),
        ("DESCRIPTION_TYPE", json!(1)),
    ] {
        default(&mut row, name, value);
    }
    let provider = match int_of(&row, "TYPE_ID") {
        MEETING => ("CRM_MEETING", "MEETING"),
        CALL => ("CRM_CALL", "CALL"),
        4 => ("CRM_EMAIL", "EMAIL"),
        _ => ("CRM_TODO", "TODO"),
    };
    default(&mut row, "PROVIDER_ID", provider.0);
    default(&mut row, "PROVIDER_TYPE_ID", provider.1);
    derive(&mut row, None);
    for (name, value) in
        [("CREATED", call.now), ("LAST_UPDATED", call.now), ("AUTHOR_ID", call.user), ("EDITOR_ID", call.user)]
    {
        row.insert(name.to_owned(), json!(value));
    }
    let id = call.store.insert(&ACTIVITY, &row)?;
    let touched: Row =
        [("LAST_ACTIVITY_TIME".to_owned(), json!(call.now)), ("LAST_ACTIVITY_BY".to_owned(), json!(call.user))]
            .into_iter()
            .collect();
    call.store.update(owner, owner_id, &touched)?;
    call.added(&ACTIVITY, id, &row);
    Ok(id)
}

fn update(call: &mut MethodCall<'_>) -> MethodResult {
    let before = find_activity(call)?;
    let id = int_of(&before, "ID");
    let given = call.params.object("fields")?.ok_or_else(|| must_be_array("fields"))?;
    let mut row = parse_fields(&ACTIVITY, &given, false)?;
    if row.contains_key("SUBJECT") && text_of(&row, "SUBJECT").trim().is_empty() {
        return Err(RestError::crm("The field SUBJECT is not defined or empty."));
    }
    derive(&mut row, Some(&before));
    row.insert("LAST_UPDATED".to_owned(), json!(call.now));
    row.insert("EDITOR_ID".to_owned(), json!(call.user));
    call.store.update(&ACTIVITY, id, &row)?;
    call.changed(&ACTIVITY, id, &before, &row);
    Ok(json!(true).into())
}

/// Sets the deadline (the start of calls and meetings, the end of other activities) and the status.
fn derive(row: &mut Row, before: Option<&Row>) {
    let now =
        |name: &str| row.get(name).or_else(|| before.and_then(|before| before.get(name))).cloned().unwrap_or_default();
    let (first, second) = match now("TYPE_ID").as_i64() {
        Some(MEETING | CALL) => ("START_TIME", "END_TIME"),
        _ => ("END_TIME", "START_TIME"),
    };
    let deadline = if now(first).is_null() { now(second) } else { now(first) };
    let done = now("COMPLETED") == json!("Y");
    row.insert("DEADLINE".to_owned(), deadline);
    row.insert("STATUS".to_owned(), json!(if done { 2 } else { 1 }));
}
