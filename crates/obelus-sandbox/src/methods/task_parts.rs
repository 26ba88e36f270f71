//! `task.commentitem.*` and `task.checklistitem.*`: older methods with positional parameters.

use serde_json::{Map, Value, json};

use super::{MethodCall, MethodResult, Methods, default, int_of, parse_fields, text_of, title};
use crate::entity::{CHECK_ITEM, Entity, TASK, TASK_COMMENT, USER};
use crate::filter;
use crate::store::Row;
use crate::wire::RestError;
use crate::wire::params::{as_object, to_int};

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("task.commentitem.add", "task", add_comment);
    methods.add("task.checklistitem.add", "task", add_check_item);
    for (family, entity) in [("task.commentitem", &TASK_COMMENT), ("task.checklistitem", &CHECK_ITEM)] {
        methods.add(format!("{family}.getlist"), "task", move |call| get_list(call, entity));
        methods.add(format!("{family}.get"), "task", move |call| {
            let row = item(call, entity, "get")?;
            show(call, entity, &row).map(Into::into)
        });
        methods.add(format!("{family}.update"), "task", move |call| {
            let before = item(call, entity, "update")?;
            let change = fields_param(call, 2, entity, false)?;
            change_item(call, entity, &before, &change)
        });
        methods.add(format!("{family}.delete"), "task", move |call| {
            let before = item(call, entity, "delete")?;
            let (id, task) = (int_of(&before, "ID"), int_of(&before, "TASK_ID"));
            call.store.delete(entity, id)?;
            count_comments(call, task)?;
            call.deleted(entity, id, &before);
            Ok(json!(true).into())
        });
    }
    for (name, complete) in [("complete", "Y"), ("renew", "N")] {
        methods.add(format!("task.checklistitem.{name}"), "task", move |call| {
            let before = item(call, &CHECK_ITEM, name)?;
            let mut change = Row::new();
            change.insert("IS_COMPLETE".to_owned(), json!(complete));
            change.insert("TOGGLED_BY".to_owned(), json!(call.user));
            change.insert("TOGGLED_DATE".to_owned(), json!(call.now));
            change_item(call, &CHECK_ITEM, &before, &change)
        });
    }
}

fn add_comment(call: &mut MethodCall<'_>) -> MethodResult {
    let task = task(call, "add")?;
    let mut row = fields_param(call, 1, &TASK_COMMENT, true)?;
    if text_of(&row, "POST_MESSAGE").is_empty() {
        return Err(wrong("Param #1 (arFields) must contain key \"POST_MESSAGE\"."));
    }
    row.insert("TASK_ID".to_owned(), json!(task));
    row.insert("POST_DATE".to_owned(), json!(call.now));
    default(&mut row, "AUTHOR_ID", call.user);
    let id = call.store.insert(&TASK_COMMENT, &row)?;
    count_comments(call, task)?;
    call.added(&TASK_COMMENT, id, &row);
    Ok(json!(id).into())
}

fn add_check_item(call: &mut MethodCall<'_>) -> MethodResult {
    let task = task(call, "add")?;
    let mut row = fields_param(call, 1, &CHECK_ITEM, true)?;
    if text_of(&row, "TITLE").is_empty() {
        return Err(wrong("Param #1 (arFields) must contain key \"TITLE\"."));
    }
    let next = call.store.find(&CHECK_ITEM, "TASK_ID", task)?.len() as i64;
    row.insert("TASK_ID".to_owned(), json!(task));
    row.insert("CREATED_BY".to_owned(), json!(call.user));
    default(&mut row, "PARENT_ID", 0);
    default(&mut row, "SORT_INDEX", next);
    default(&mut row, "IS_COMPLETE", "N");
    default(&mut row, "IS_IMPORTANT", "N");
    let id = call.store.insert(&CHECK_ITEM, &row)?;
    call.added(&CHECK_ITEM, id, &row);
    Ok(json!(id).into())
}

fn wrong(words: &str) -> RestError {
    RestError::core(format!("TASKS_ERROR_EXCEPTION_#256; {words}; 256/TE/WRONG_ARGUMENTS"))
}

fn failed() -> RestError {
    RestError::core("TASKS_ERROR_EXCEPTION_#8; Action failed; 8/TE/ACTION_FAILED_TO_BE_PROCESSED")
}

/// The task in the first parameter.
fn task(call: &MethodCall<'_>, method: &str) -> Result<i64, RestError> {
    let id = call.params.named_or_at("TASKID", 0).and_then(to_int).filter(|id| *id > 0).ok_or_else(|| {
        wrong(&format!(
            "Param #0 (taskId) for method {method}() expected to be of type \"integer\", but given something else."
        ))
    })?;
    call.store.get(&TASK, id)?.map(|_| id).ok_or_else(failed)
}

/// The item in the second parameter; it must belong to the task in the first.
fn item(call: &MethodCall<'_>, entity: &Entity, method: &str) -> Result<Row, RestError> {
    let task = task(call, method)?;
    let id = call.params.named_or_at("ITEMID", 1).and_then(to_int).ok_or_else(|| {
        wrong(&format!(
            "Param #1 (itemId) for method {method}() expected to be of type \"integer\", but given something else."
        ))
    })?;
    call.store.get(entity, id)?.filter(|row| int_of(row, "TASK_ID") == task).ok_or_else(failed)
}

fn fields_param(call: &MethodCall<'_>, place: usize, entity: &Entity, adding: bool) -> Result<Row, RestError> {
    let fields = as_object(call.params.named_or_at("FIELDS", place), "FIELDS")?;
    let fields = fields.ok_or_else(|| wrong(&format!("Param #{place} (arFields) expected to be an array.")))?;
    parse_fields(entity, &fields, adding)
}

fn change_item(call: &mut MethodCall<'_>, entity: &Entity, before: &Row, change: &Row) -> MethodResult {
    let id = int_of(before, "ID");
    call.store.update(entity, id, change)?;
    call.changed(entity, id, before, change);
    Ok(json!(true).into())
}

fn count_comments(call: &MethodCall<'_>, task: i64) -> Result<(), RestError> {
    let count = call.store.find(&TASK_COMMENT, "TASK_ID", task)?.len();
    let row: Row = [("COMMENTS_COUNT".to_owned(), json!(count)), ("ACTIVITY_DATE".to_owned(), json!(call.now))]
        .into_iter()
        .collect();
    Ok(call.store.update(&TASK, task, &row)?)
}

/// All items of a task, without pages; newest first, unless the call gives another order.
fn get_list(call: &mut MethodCall<'_>, entity: &'static Entity) -> MethodResult {
    let task = task(call, "getlist")?;
    let order = as_object(call.params.named_or_at("ORDER", 1), "ORDER")?.unwrap_or_default();
    let mut filter = as_object(call.params.named_or_at("FILTER", 2), "FILTER")?.unwrap_or_default();
    filter.insert("TASK_ID".to_owned(), json!(task));
    let condition = filter::condition(entity, &[], &filter);
    let mut parts = Vec::new();
    for (name, way) in &order {
        let field = entity.field(name).ok_or_else(|| {
            wrong(&format!("Param #1 (arOrder) for method getlist() must not contain key \"{name}\"."))
        })?;
        let down = way.as_str().is_some_and(|way| way.to_ascii_lowercase().starts_with("desc"));
        parts.push(format!("\"{}\" {}", field.name, if down { "DESC" } else { "ASC" }));
    }
    parts.push("\"ID\" DESC".to_owned());
    let fields: Vec<&crate::entity::Field> = entity.fields.iter().collect();
    let rest = format!("{} ORDER BY {}", condition.clause(), parts.join(", "));
    let rows = call.store.select(entity, &fields, &rest, condition.args)?;
    let rows = rows.iter().map(|row| show(call, entity, row)).collect::<Result<Value, RestError>>()?;
    Ok(rows.into())
}

fn show(call: &MethodCall<'_>, entity: &Entity, row: &Row) -> Result<Value, RestError> {
    let shown = entity.fields.iter().map(|field| (field.name.to_owned(), field.kind.show(&row[field.name])));
    let mut out: Map<String, Value> = shown.collect();
    if entity.table == TASK_COMMENT.table {
        out.remove("TASK_ID");
        let author = call.store.get(&USER, int_of(row, "AUTHOR_ID"))?.unwrap_or_default();
        out.insert("AUTHOR_NAME".to_owned(), json!(title(&USER, &author)));
        out.insert("AUTHOR_EMAIL".to_owned(), json!(text_of(&author, "EMAIL")));
    } else {
        out.insert("MEMBERS".to_owned(), json!([]));
        out.insert("ATTACHMENTS".to_owned(), json!([]));
        if row["TOGGLED_DATE"].is_null() {
            out.insert("TOGGLED_DATE".to_owned(), json!(""));
        }
    }
    Ok(Value::Object(out))
}
