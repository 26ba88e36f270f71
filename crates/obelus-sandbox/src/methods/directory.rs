//! Directories: funnels, stages and other lists of codes, currencies.

use serde_json::{Value, json};

use super::deal::{directory, stages};
use super::{MethodCall, MethodResult, Methods, crm, int_of, text_of};
use crate::clock;
use crate::entity::{CATEGORY, STATUS};
use crate::list::{Selection, whole};
use crate::store::Row;
use crate::wire::{MethodAnswer, RestError};

/// The name of the default funnel, in Russian.
pub(crate) const DEFAULT_FUNNEL: &str = "Продажи";

pub(super) fn add_to(methods: &mut Methods) {
    // As on real portals, the default funnel is not in this list; its stages have the id 0.
    methods.add("crm.dealcategory.list", "crm", |call| crm::list(call, &CATEGORY));
    methods.add("crm.dealcategory.get", "crm", |call| {
        let row = call.record(&CATEGORY, call.id()?)?;
        crm::show(call, &CATEGORY, &crate::list::Selection::everything(&CATEGORY, Vec::new()), &row).map(Into::into)
    });
    methods.add("crm.dealcategory.fields", "crm", |call| crm::fields(call, &CATEGORY));
    methods.add("crm.dealcategory.default.get", "crm", |call| {
        Ok(json!({"ID": "0", "NAME": call.settings.language.said(DEFAULT_FUNNEL), "SORT": "100"}).into())
    });
    methods.add("crm.dealcategory.status", "crm", |call| {
        let id = call.params.int("id").unwrap_or(0);
        funnel(call, id)?;
        Ok(json!(directory(id)).into())
    });
    methods.add("crm.dealcategory.stage.list", "crm", stage_list);
    methods.add("crm.category.list", "crm", category_list);
    methods.add("crm.status.list", "crm", status_list);
    methods.add("crm.status.get", "crm", |call| {
        let row = call.record(&STATUS, call.id()?)?;
        crm::show(call, &STATUS, &crate::list::Selection::everything(&STATUS, Vec::new()), &row).map(Into::into)
    });
    methods.add("crm.status.fields", "crm", |call| crm::fields(call, &STATUS));
    methods.add("crm.status.entity.types", "crm", |call| {
        let mut seen: Vec<String> = Vec::new();
        for row in call.store.select(&STATUS, &[&STATUS.fields[1]], "ORDER BY \"ID\"", Vec::new())? {
            let name = text_of(&row, "ENTITY_ID").to_owned();
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
        Ok(seen.iter().map(|name| json!({"ID": name, "NAME": name})).collect::<Value>().into())
    });
    methods.add("crm.status.entity.items", "crm", |call| {
        let name = call.params.get("entityId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let rows = stages(call, &name)?;
        let items = rows
            .iter()
            .map(|row| json!({"NAME": row["NAME"], "SORT": int_of(row, "SORT"), "STATUS_ID": row["STATUS_ID"]}));
        Ok(items.collect::<Value>().into())
    });
    methods.add("crm.currency.list", "crm", |call| Ok(currencies(call.settings.language.currency())));
}

/// The currencies; `base` is the portal's own.
fn currencies(base: &str) -> MethodAnswer {
    let rows: Vec<Value> = [
        ("RUB", "Российский рубль", "1.0000"),
        ("USD", "Доллар США", "90.0000"),
        ("EUR", "Евро", "98.0000"),
        ("KZT", "Тенге", "0.1700"),
    ]
    .iter()
    .enumerate()
    .map(|(at, (code, name, rate))| {
        let base = if *code == base { "Y" } else { "N" };
        json!({
            "CURRENCY": code, "FULL_NAME": name, "AMOUNT": rate, "AMOUNT_CNT": "1", "BASE": base,
            "SORT": ((at + 1) * 100).to_string(), "LID": "ru", "FORMAT_STRING": "#"
        })
    })
    .collect();
    MethodAnswer { total: Some(rows.len() as i64), result: Value::Array(rows), next: None }
}

/// Fails if the funnel does not exist.
fn funnel(call: &MethodCall<'_>, id: i64) -> Result<(), RestError> {
    if id == 0 { Ok(()) } else { call.record(&CATEGORY, id).map(|_| ()) }
}

fn stage_list(call: &mut MethodCall<'_>) -> MethodResult {
    let id = call.params.int("id").unwrap_or(0);
    funnel(call, id)?;
    let rows = stages(call, &directory(id))?;
    let stage = |row: &Row| json!({"NAME": row["NAME"], "SORT": int_of(row, "SORT"), "STATUS_ID": row["STATUS_ID"], "SEMANTICS": row["SEMANTICS"]});
    Ok(rows.iter().map(stage).collect::<Value>().into())
}

fn category_list(call: &mut MethodCall<'_>) -> MethodResult {
    let type_id = call.params.int("entityTypeId");
    if type_id != Some(2) {
        return Err(RestError::new(400, "NOT_FOUND", "Only deals (entityTypeId 2) have funnels in the sandbox"));
    }
    let category = |id: i64, name: &str, sort: i64| {
        json!({
            "id": id, "name": name, "sort": sort, "entityTypeId": 2, "isDefault": if id == 0 { "Y" } else { "N" },
            "originId": "", "originatorId": "", "createdDate": clock::iso(call.now)
        })
    };
    let mut all = vec![category(0, call.settings.language.said(DEFAULT_FUNNEL), 100)];
    let fields: Vec<&crate::entity::Field> = CATEGORY.fields.iter().collect();
    for row in call.store.select(&CATEGORY, &fields, "ORDER BY \"SORT\", \"ID\"", Vec::new())? {
        all.push(category(int_of(&row, "ID"), text_of(&row, "NAME"), int_of(&row, "SORT")));
    }
    Ok(MethodAnswer { total: Some(all.len() as i64), result: json!({"categories": all}), next: None })
}

/// All values at once, sorted by directory and position unless the call gives another order.
fn status_list(call: &mut MethodCall<'_>) -> MethodResult {
    if call.params.object("order")?.is_none_or(|order| order.is_empty())
        && let Some(all) = call.params.value_mut().as_object_mut()
    {
        all.insert("order".to_owned(), json!({"ENTITY_ID": "ASC", "SORT": "ASC"}));
    }
    let selection = Selection::read(&STATUS, Vec::new(), &call.params)?;
    let page = whole(call.store, &STATUS, &selection, &call.params)?;
    let rows =
        page.rows.iter().map(|row| crm::show(call, &STATUS, &selection, row)).collect::<Result<Value, RestError>>()?;
    Ok(page.answer(rows))
}
