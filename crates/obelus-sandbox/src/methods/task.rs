//! `tasks.task.*`.

use serde_json::{Map, Value, json};

use super::user::card;
use super::{MethodCall, MethodResult, Methods, default, int_of, parse_fields, text_of};
use crate::clock;
use crate::entity::{CHECK_ITEM, Field, GROUP, TASK, TASK_COMMENT, camel};
use crate::list::{Selection, page};
use crate::store::Row;
use crate::wire::{MethodAnswer, RestError};

const WAITING: i64 = 2;
const AT_WORK: i64 = 3;
const SUPPOSEDLY_DONE: i64 = 4;
const DONE: i64 = 5;
const PUT_OFF: i64 = 6;

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("tasks.task.add", "task", add);
    methods.add("tasks.task.get", "task", get);
    methods.add("tasks.task.list", "task", list);
    methods.add("tasks.task.update", "task", |call| {
        let given = fields(call)?;
        update(call, &given)
    });
    methods.add("tasks.task.delete", "task", delete);
    for (name, status) in
        [("complete", DONE), ("start", AT_WORK), ("pause", WAITING), ("defer", PUT_OFF), ("renew", WAITING)]
    {
        methods.add(format!("tasks.task.{name}"), "task", move |call| {
            update(call, &[("STATUS".to_owned(), json!(status))].into_iter().collect())
        });
    }
    methods.add("tasks.task.delegate", "task", |call| {
        let user = call.params.get("userId").cloned().ok_or_else(|| missing("userId"))?;
        update(call, &[("RESPONSIBLE_ID".to_owned(), user)].into_iter().collect())
    });
    methods.add("tasks.task.getfields", "task", |call| {
        let about = |field: &Field| {
            let kind = field.kind.name();
            (
                field.name.to_owned(),
                json!({"title": call.settings.language.label(field), "type": kind, "required": field.required}),
            )
        };
        let fields: Map<String, Value> = TASK.fields.iter().map(about).collect();
        Ok(json!({"fields": fields}).into())
    });
}

/// A task's status in words.
pub(crate) fn status_word(status: i64) -> &'static str {
    match status {
        AT_WORK => "Выполняется",
        SUPPOSEDLY_DONE => "Ждёт контроля",
        DONE => "Завершена",
        PUT_OFF => "Отложена",
        _ => "Ждёт выполнения",
    }
}

pub(super) fn missing(name: &str) -> RestError {
    RestError::new(400, "100", format!("Could not find value for parameter {{{name}}} (internal error)"))
}

fn refused(words: &str) -> RestError {
    RestError::new(400, "0", words)
}

fn fields(call: &MethodCall<'_>) -> Result<Map<String, Value>, RestError> {
    match call.params.get("fields") {
        Some(Value::Object(fields)) => Ok(fields.clone()),
        Some(Value::Array(none)) if none.is_empty() => Ok(Map::new()),
        None => Err(missing("fields")),
        Some(_) => Err(RestError::new(
            400,
            "100",
            "Invalid value {} to match with parameter {fields}. Should be value of type array. (internal error)",
        )),
    }
}

/// The task of the call; `None` if it does not exist.
fn find_task(call: &MethodCall<'_>) -> Result<Option<Row>, RestError> {
    let given = call.params.get("taskId").or_else(|| call.params.get("id"));
    let given = given.ok_or_else(|| {
        RestError::new(
            400,
            "100",
            "CTaskItem All parameters in the constructor must have real class type (internal error)",
        )
    })?;
    let id = crate::wire::params::to_int(given).filter(|id| *id > 0).ok_or_else(|| refused("wrong task id"))?;
    Ok(call.store.get(&TASK, id)?)
}

fn existing_task(call: &MethodCall<'_>) -> Result<Row, RestError> {
    find_task(call)?.ok_or_else(|| refused("Task not found or access denied"))
}

fn add(call: &mut MethodCall<'_>) -> MethodResult {
    let given = fields(call)?;
    let id = insert(call, &given)?;
    let row = call.record(&TASK, id)?;
    let task = show(call, &Selection::everything(&TASK, Vec::new()), &row)?;
    Ok(json!({"task": task}).into())
}

/// Adds a task; its id.
pub(super) fn insert(call: &mut MethodCall<'_>, given: &Map<String, Value>) -> Result<i64, RestError> {
    let mut row = parse_fields(&TASK, given, true)?;
    if text_of(&row, "TITLE").trim().is_empty() {
        return Err(refused(call.settings.language.said("Не указано название задачи")));
    }
    if int_of(&row, "RESPONSIBLE_ID") <= 0 {
        return Err(refused(call.settings.language.said("Не указан исполнитель")));
    }
    for (name, value) in [
        ("CREATED_BY", json!(call.user)),
        ("CREATED_DATE", json!(call.now)),
        ("CHANGED_BY", json!(call.user)),
        ("CHANGED_DATE", json!(call.now)),
        ("ACTIVITY_DATE", json!(call.now)),
        ("STATUS_CHANGED_BY", json!(call.user)),
        ("STATUS_CHANGED_DATE", json!(call.now)),
        ("STATUS", json!(WAITING)),
        ("PRIORITY", json!(1)),
        ("PARENT_ID", json!(0)),
        ("GROUP_ID", json!(0)),
        ("STAGE_ID", json!(0)),
        ("DESCRIPTION", json!("")),
        ("COMMENTS_COUNT", json!(0)),
        ("TIME_ESTIMATE", json!(0)),
        ("MULTITASK", json!("N")),
        ("NOT_VIEWED", json!("N")),
        ("FAVORITE", json!("N")),
        ("ALLOW_CHANGE_DEADLINE", json!("Y")),
        ("ALLOW_TIME_TRACKING", json!("N")),
        ("TASK_CONTROL", json!("N")),
        ("ADD_IN_REPORT", json!("N")),
        ("ACCOMPLICES", json!([])),
        ("AUDITORS", json!([])),
        ("TAGS", json!([])),
        ("UF_CRM_TASK", json!([])),
    ] {
        default(&mut row, name, value);
    }
    let id = call.store.insert(&TASK, &row)?;
    let row = call.store.get(&TASK, id)?.unwrap_or(row);
    call.added(&TASK, id, &row);
    Ok(id)
}

/// The selected fields. Links to the CRM and files must be selected by name.
fn selection(call: &MethodCall<'_>) -> Result<Selection, RestError> {
    Selection::read(&TASK, Vec::new(), &call.params).map_err(|_| {
        RestError::new(
            400,
            "100",
            "Invalid value {} to match with parameter {select}. Should be value of type array. (internal error)",
        )
    })
}

fn get(call: &mut MethodCall<'_>) -> MethodResult {
    let selection = selection(call)?;
    match find_task(call)? {
        Some(row) => Ok(json!({"task": show(call, &selection, &row)?}).into()),
        // As on real portals, a missing or inaccessible task gives an empty answer.
        None => Ok(json!([]).into()),
    }
}

fn list(call: &mut MethodCall<'_>) -> MethodResult {
    let selection = selection(call)?;
    let mut filter = call.params.object("filter")?.unwrap_or_default();
    // `STATUS` -1 means overdue. It is derived from the deadline and is not stored.
    let overdue = filter.get("STATUS").and_then(crate::wire::params::to_int) == Some(-1);
    if overdue {
        filter.remove("STATUS");
        filter.insert("<DEADLINE".to_owned(), json!(clock::iso(call.now)));
        filter.insert("<REAL_STATUS".to_owned(), json!(SUPPOSEDLY_DONE));
        if let Some(all) = call.params.value_mut().as_object_mut() {
            all.retain(|name, _| !name.eq_ignore_ascii_case("filter"));
            all.insert("filter".to_owned(), Value::Object(filter));
        }
    }
    let page = page(call.store, &TASK, &selection, &[], &call.params)?;
    let tasks = page.rows.iter().map(|row| show(call, &selection, row)).collect::<Result<Vec<Value>, RestError>>()?;
    Ok(MethodAnswer { result: json!({"tasks": tasks}), total: page.total, next: page.next })
}

fn update(call: &mut MethodCall<'_>, given: &Map<String, Value>) -> MethodResult {
    let before = existing_task(call)?;
    let id = int_of(&before, "ID");
    let mut row = parse_fields(&TASK, given, false)?;
    if row.contains_key("TITLE") && text_of(&row, "TITLE").trim().is_empty() {
        return Err(refused(call.settings.language.said("Не указано название задачи")));
    }
    if row.contains_key("RESPONSIBLE_ID") && int_of(&row, "RESPONSIBLE_ID") <= 0 {
        return Err(refused(call.settings.language.said("Не указан исполнитель")));
    }
    let status = row.get("STATUS").and_then(Value::as_i64).filter(|status| *status != int_of(&before, "STATUS"));
    if let Some(status) = status {
        if !(WAITING..=PUT_OFF).contains(&status) {
            return Err(refused(call.settings.language.said("Неверный статус задачи")));
        }
        row.insert("STATUS_CHANGED_BY".to_owned(), json!(call.user));
        row.insert("STATUS_CHANGED_DATE".to_owned(), json!(call.now));
        let (by, at) = if status == DONE { (json!(call.user), json!(call.now)) } else { (Value::Null, Value::Null) };
        row.insert("CLOSED_BY".to_owned(), by);
        row.insert("CLOSED_DATE".to_owned(), at);
        if status == AT_WORK {
            row.insert("DATE_START".to_owned(), json!(call.now));
        }
    }
    for (name, value) in [("CHANGED_BY", call.user), ("CHANGED_DATE", call.now), ("ACTIVITY_DATE", call.now)] {
        row.insert(name.to_owned(), json!(value));
    }
    call.store.update(&TASK, id, &row)?;
    call.changed(&TASK, id, &before, &row);
    let now = call.store.get(&TASK, id)?.unwrap_or_default();
    let task = show(call, &Selection::everything(&TASK, Vec::new()), &now)?;
    Ok(json!({"task": task}).into())
}

fn delete(call: &mut MethodCall<'_>) -> MethodResult {
    let before = existing_task(call)?;
    let id = int_of(&before, "ID");
    for part in [&TASK_COMMENT, &CHECK_ITEM] {
        for row in call.store.find(part, "TASK_ID", id)? {
            call.store.delete(part, int_of(&row, "ID"))?;
        }
    }
    call.store.delete(&TASK, id)?;
    call.deleted(&TASK, id, &before);
    Ok(json!({"task": true}).into())
}

/// A task with names in camelCase, with its people and its group.
fn show(call: &MethodCall<'_>, selection: &Selection, row: &Row) -> Result<Value, RestError> {
    let mut out = Map::new();
    for field in &selection.fields {
        let mut shown = field.kind.show(row.get(field.name).unwrap_or(&Value::Null));
        if let (crate::entity::Kind::List, Value::Array(items)) = (field.kind, &mut shown) {
            for item in items.iter_mut().filter(|item| item.is_number()) {
                *item = json!(item.to_string());
            }
        }
        out.insert(camel(field.name), shown);
        match field.name {
            "STATUS" => {
                out.insert("subStatus".to_owned(), json!(sub_status(call, row).to_string()));
            }
            "CREATED_BY" => {
                out.insert("creator".to_owned(), card(call, int_of(row, "CREATED_BY"))?);
            }
            "RESPONSIBLE_ID" => {
                out.insert("responsible".to_owned(), card(call, int_of(row, "RESPONSIBLE_ID"))?);
            }
            "GROUP_ID" => {
                let group = match call.store.get(&GROUP, int_of(row, "GROUP_ID"))? {
                    Some(group) => {
                        json!({"id": int_of(&group, "ID").to_string(), "name": group["NAME"], "opened": group["OPENED"] == "Y"})
                    }
                    None => json!([]),
                };
                out.insert("group".to_owned(), group);
            }
            _ => {}
        }
    }
    Ok(Value::Object(out))
}

fn sub_status(call: &MethodCall<'_>, row: &Row) -> i64 {
    let status = int_of(row, "STATUS");
    let late = row.get("DEADLINE").and_then(Value::as_i64).is_some_and(|deadline| deadline < call.now);
    if late && status < SUPPOSEDLY_DONE { -1 } else { status }
}
