//! People: `user.*`, `profile`, `department.get`.

use serde_json::{Map, Value, json};

use super::{MethodCall, MethodResult, Methods, text_of};
use crate::entity::{DEPARTMENT, Entity, USER, camel};
use crate::list::{Selection, page};
use crate::store::Row;
use crate::wire::{RestError, RestParams};

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("user.current", "user", |call| Ok(to_json(&USER, &current_user(call)?).into()));
    methods.add("user.admin", "", |_| Ok(json!(true).into()));
    methods.add("user.get", "user", |call| list(call, &USER));
    methods.add("user.search", "user", search);
    methods.add("user.fields", "user", |_| {
        let labels: Map<String, Value> =
            USER.fields.iter().map(|field| (field.name.to_owned(), json!(field.title))).collect();
        Ok(Value::Object(labels).into())
    });
    methods.add("department.get", "department", |call| list(call, &DEPARTMENT));
    methods.add("profile", "", |call| {
        let current_user = current_user(call)?;
        Ok(json!({
            "ID": call.user.to_string(), "ADMIN": true, "NAME": current_user["NAME"], "LAST_NAME": current_user["LAST_NAME"],
            "PERSONAL_GENDER": current_user["PERSONAL_GENDER"], "PERSONAL_PHOTO": null, "TIME_ZONE": current_user["TIME_ZONE"],
            "TIME_ZONE_OFFSET": crate::clock::ZONE_SECONDS
        })
        .into())
    });
}

fn current_user(call: &MethodCall<'_>) -> Result<Row, RestError> {
    call.record(&USER, call.user)
}

fn to_json(entity: &Entity, row: &Row) -> Value {
    let fields = entity
        .fields
        .iter()
        .map(|field| (field.name.to_owned(), field.kind.show(row.get(field.name).unwrap_or(&Value::Null))));
    Value::Object(fields.collect())
}

/// Conditions are in `filter` or directly among the parameters. The order is given by `sort` and `order`, or by an
/// object in `order`.
fn list(call: &mut MethodCall<'_>, entity: &'static Entity) -> MethodResult {
    let mut filter = call.params.object("filter")?.unwrap_or_default();
    let given = call.params.value().as_object().cloned().unwrap_or_default();
    for (name, value) in &given {
        let bare = name.trim_start_matches(['!', '=', '<', '>', '@', '%']);
        if entity.fields.iter().any(|field| field.name.eq_ignore_ascii_case(bare)) && !bare.eq_ignore_ascii_case("sort")
        {
            filter.insert(name.to_uppercase(), value.clone());
        }
    }
    let mut wanted = json!({"filter": filter});
    if let Some(start) = call.params.get("start") {
        wanted["start"] = start.clone();
    }
    match (call.params.get("order"), call.params.get("sort")) {
        (Some(order @ Value::Object(_)), _) => wanted["order"] = order.clone(),
        (way, Some(Value::String(name))) => wanted["order"] = json!({ name: way.cloned().unwrap_or(json!("ASC")) }),
        _ => {}
    }
    let selection = Selection::everything(entity, Vec::new());
    let params = RestParams::read("", "application/json", wanted.to_string().as_bytes());
    let page = page(call.store, entity, &selection, &[], &params)?;
    Ok(page.answer(page.rows.iter().map(|row| to_json(entity, row)).collect()))
}

/// Finds users with every word of `FIND` in their name, position or e-mail. Without `FIND` it is `user.get`.
fn search(call: &mut MethodCall<'_>) -> MethodResult {
    let words = call.params.get("FIND").and_then(Value::as_str).map(crate::store::fold);
    let Some(words) = words else { return list(call, &USER) };
    let fields: Vec<&crate::entity::Field> = USER.fields.iter().collect();
    let mut rows = call.store.select(&USER, &fields, "ORDER BY \"ID\"", Vec::new())?;
    rows.retain(|row| {
        let all =
            ["NAME", "LAST_NAME", "SECOND_NAME", "WORK_POSITION", "EMAIL"].map(|name| text_of(row, name)).join(" ");
        let all = crate::store::fold(&all);
        words.split_whitespace().all(|word| all.contains(word))
    });
    Ok(crate::wire::MethodAnswer {
        total: Some(rows.len() as i64),
        result: rows.iter().map(|row| to_json(&USER, row)).collect(),
        next: None,
    })
}

/// A user as tasks return them.
pub(super) fn card(call: &MethodCall<'_>, id: i64) -> Result<Value, RestError> {
    let row = call.store.get(&USER, id)?.unwrap_or_default();
    Ok(json!({
        "id": id.to_string(), camel("NAME"): super::title(&USER, &row), "link": format!("/company/personal/user/{id}/"),
        "icon": "/bitrix/images/tasks/default_avatar.png", "workPosition": text_of(&row, "WORK_POSITION")
    }))
}
