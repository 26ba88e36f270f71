//! Tasks in REST 3.0: `tasks.task.add` and `tasks.task.list`, whose names and shapes differ from the older version.

use serde_json::{Map, Value, json};

use super::task;
use super::{MethodCall, MethodResult, Methods};
use crate::clock;
use crate::entity::TASK;
use crate::store::Row;
use crate::wire::RestError;

/// The prefix of REST 3.0 methods in the list of methods.
pub(crate) const V3: &str = "v3:";

/// The names of fields in both versions.
const NAMES: [(&str, &str); 12] = [
    ("id", "ID"),
    ("title", "TITLE"),
    ("description", "DESCRIPTION"),
    ("responsibleId", "RESPONSIBLE_ID"),
    ("creatorId", "CREATED_BY"),
    ("deadline", "DEADLINE"),
    ("accomplices", "ACCOMPLICES"),
    ("auditors", "AUDITORS"),
    ("groupId", "GROUP_ID"),
    ("parentId", "PARENT_ID"),
    ("crmItemIds", "UF_CRM_TASK"),
    ("xmlId", "XML_ID"),
];

pub(super) fn add_to(methods: &mut Methods) {
    methods.add(format!("{V3}tasks.task.add"), "task", |call| {
        let given = call.params.object("fields")?.unwrap_or_default();
        let fields = older_names(&given)?;
        let id = task::insert(call, &fields)?;
        let row = call.record(&TASK, id)?;
        Ok(json!({ "item": item(&row, None) }).into())
    });
    methods.add(format!("{V3}tasks.task.list"), "task", list);
}

fn invalid(field: &str, words: &str) -> RestError {
    let words = format!("Error during request object validation: {words} `{field}`");
    RestError::new(400, "BITRIX_REST_V3_EXCEPTION_VALIDATION_REQUESTVALIDATIONEXCEPTION", words)
}

/// Converts the fields to their older names. REST 3.0 checks required fields and types strictly.
fn older_names(given: &Map<String, Value>) -> Result<Map<String, Value>, RestError> {
    for name in ["title", "creatorId", "responsibleId"] {
        if !given.contains_key(name) {
            return Err(invalid(name, "Required field is missing"));
        }
    }
    let mut fields = Map::new();
    for (name, value) in given {
        let known = NAMES.iter().find(|(new, _)| new == name && *new != "id");
        let (_, older) = known.ok_or_else(|| invalid(name, "Unknown field"))?;
        if name.ends_with("Id") && name != "xmlId" && !value.is_i64() {
            return Err(invalid(name, "Wrong data type in field"));
        }
        fields.insert((*older).to_owned(), value.clone());
    }
    Ok(fields)
}

fn item(row: &Row, select: Option<&[Value]>) -> Value {
    let is_wanted = |name: &str| select.is_none_or(|all| all.iter().any(|wanted| wanted == name));
    let shown = |older: &str| match (older, row.get(older).unwrap_or(&Value::Null)) {
        ("DEADLINE", Value::Number(at)) => json!(clock::iso(at.as_i64().unwrap_or_default())),
        (_, value) => value.clone(),
    };
    let fields = NAMES.iter().filter(|(name, _)| is_wanted(name));
    Value::Object(fields.map(|(name, older)| ((*name).to_owned(), shown(older))).collect())
}

/// Tasks by id, in either order. Filters are ignored.
fn list(call: &mut MethodCall<'_>) -> MethodResult {
    let order = call.params.object("order")?.unwrap_or_default();
    let is_down = order.get("id").and_then(Value::as_str).is_some_and(|way| way.eq_ignore_ascii_case("DESC"));
    let most = call.params.object("pagination")?.unwrap_or_default();
    let most = most.get("limit").and_then(Value::as_i64).unwrap_or(50).clamp(1, 1000);
    let fields: Vec<&crate::entity::Field> = TASK.fields.iter().collect();
    let way = if is_down { "DESC" } else { "ASC" };
    let rows = call.store.select(&TASK, &fields, &format!("ORDER BY \"ID\" {way} LIMIT {most}"), Vec::new())?;
    let select = call.params.list("select")?.unwrap_or_else(|| vec![json!("id")]);
    Ok(json!({ "items": rows.iter().map(|row| item(row, Some(&select))).collect::<Value>() }).into())
}
