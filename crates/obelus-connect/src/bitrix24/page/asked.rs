//! What a call asks of a list: the number of rows, the order, and the parameters for them.

use obelus_kernel::session::CallError;
use serde_json::{Map, Value, json};

use crate::bitrix24::errors::PortalFailure;
use crate::bitrix24::wire::whole;

/// How many rows a call wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowLimit {
    /// One page, as the portal returns it.
    Page,
    Rows(usize),
    All,
}

/// Removes `limit` and `all`: they are for the client, not for the portal.
pub(super) fn take_limit(params: &mut Map<String, Value>) -> Result<RowLimit, PortalFailure> {
    let all = params.shift_remove("all").is_some_and(|all| all == Value::Bool(true));
    match params.shift_remove("limit") {
        None | Some(Value::Null) if all => Ok(RowLimit::All),
        None | Some(Value::Null) => Ok(RowLimit::Page),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("all") => Ok(RowLimit::All),
        Some(other) => match whole(Some(&other)).and_then(|count| usize::try_from(count).ok()) {
            Some(count) if count > 0 => Ok(RowLimit::Rows(count)),
            _ => {
                let text = format!("`limit` is a number of rows above 0, or \"all\", not {other}");
                Err(PortalFailure::Wrong(CallError::new("bad_limit", text)))
            }
        },
    }
}

/// The direction of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Up,
    Down,
}

impl Order {
    pub(super) fn word(self) -> &'static str {
        if self == Order::Up { "ASC" } else { "DESC" }
    }

    pub(super) fn sign(self) -> char {
        if self == Order::Up { '>' } else { '<' }
    }

    pub(super) fn is_after(self, id: u64, last: u64) -> bool {
        if self == Order::Up { id > last } else { id < last }
    }
}

/// The parameter of this name, as the call spells it.
pub(super) fn name_of(params: &Map<String, Value>, name: &str) -> String {
    params.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned().unwrap_or_else(|| name.to_owned())
}

/// The order by id: the call asks for it, or for no order. None if the call wants another order or filters by id
/// itself, so that pages must be counted.
pub(super) fn id_order(params: &Map<String, Value>, id: &str) -> Option<Order> {
    let filter = params.get(&name_of(params, "filter"));
    let bounds = |name: &String| name.strip_prefix(['>', '<']).is_some_and(|name| name.eq_ignore_ascii_case(id));
    match filter {
        None | Some(Value::Null) => {}
        Some(Value::Object(fields)) if !fields.keys().any(bounds) => {}
        // PHP writes an empty map as a list.
        Some(Value::Array(items)) if items.is_empty() => {}
        Some(_) => return None,
    }
    match params.get(&name_of(params, "order")) {
        None | Some(Value::Null) => Some(Order::Up),
        Some(Value::Object(fields)) if fields.is_empty() => Some(Order::Up),
        Some(Value::Array(items)) if items.is_empty() => Some(Order::Up),
        Some(Value::Object(fields)) if fields.len() == 1 => {
            let (name, direction) = fields.iter().next()?;
            let direction = direction.as_str().filter(|_| name.eq_ignore_ascii_case(id))?;
            match direction.to_ascii_uppercase().as_str() {
                "ASC" => Some(Order::Up),
                "DESC" => Some(Order::Down),
                _ => None,
            }
        }
        Some(_) => None,
    }
}

/// Sets a parameter under the name that the call uses.
pub(super) fn place(params: &mut Map<String, Value>, name: &str, value: Value) {
    let name = name_of(params, name);
    params.insert(name, value);
}

pub(super) fn insert_into(params: &mut Map<String, Value>, name: &str, field: &str, value: Value) {
    let fields = params.entry(name).or_insert_with(|| json!({}));
    if !fields.is_object() {
        *fields = json!({});
    }
    fields[field] = value;
}

/// Selects the id too: paging needs it.
pub(super) fn with_id_selected(params: &mut Map<String, Value>) {
    let name = name_of(params, "select");
    if let Some(Value::Array(fields)) = params.get_mut(&name) {
        let has = |name: &str| fields.iter().any(|field| field.as_str().is_some_and(|f| f.eq_ignore_ascii_case(name)));
        if !fields.is_empty() && !has("ID") && !has("*") {
            fields.push("ID".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn the_limit_parameter_is_not_sent_to_the_portal() {
        for (limit, expected) in [
            (json!(null), RowLimit::Page),
            (json!("all"), RowLimit::All),
            (json!("ALL"), RowLimit::All),
            (json!(7), RowLimit::Rows(7)),
            (json!("120"), RowLimit::Rows(120)),
        ] {
            let mut call = params(json!({"limit": limit, "filter": {}}));
            assert_eq!(take_limit(&mut call).unwrap(), expected);
            assert_eq!(call, params(json!({"filter": {}})));
        }
        let mut call = params(json!({"all": true, "filter": {}}));
        assert_eq!((take_limit(&mut call).unwrap(), call), (RowLimit::All, params(json!({"filter": {}}))));
        assert_eq!(take_limit(&mut params(json!({"all": false}))).unwrap(), RowLimit::Page);
        for limit in [json!(0), json!(-1), json!("many"), json!(1.5), json!([])] {
            assert!(take_limit(&mut params(json!({ "limit": limit }))).is_err(), "{limit}");
        }
    }

    #[test]
    fn pages_are_read_by_id_unless_the_call_sets_another_order() {
        for (call, expected) in [
            (json!({}), Some(Order::Up)),
            (json!({"order": {}, "filter": []}), Some(Order::Up)),
            (json!({"order": {"ID": "desc"}}), Some(Order::Down)),
            (json!({"ORDER": {"id": "ASC"}, "filter": {"%TITLE": "x"}}), Some(Order::Up)),
            (json!({"order": {"DATE_CREATE": "DESC"}}), None),
            (json!({"order": {"STAGE_ID": "ASC", "ID": "ASC"}}), None),
            (json!({"filter": {">ID": 5}}), None),
            (json!({"filter": {"<=ID": 5}}), Some(Order::Up)),
        ] {
            assert_eq!(id_order(&params(call.clone()), "ID"), expected, "{call}");
        }
    }

    #[test]
    fn the_id_is_added_to_select_where_paging_needs_it() {
        for (select, expected) in [
            (json!(["TITLE"]), json!(["TITLE", "ID"])),
            (json!(["id"]), json!(["id"])),
            (json!(["*", "UF_*"]), json!(["*", "UF_*"])),
            (json!([]), json!([])),
        ] {
            let mut call = params(json!({ "select": select }));
            with_id_selected(&mut call);
            assert_eq!(call["select"], expected);
        }
    }
}
