//! Lists: filter, order, pages and selected fields.

use serde_json::Value;

use crate::entity::{Entity, Field, MULTI_TYPES, upper_snake};
use crate::filter;
use crate::store::{CustomField, PortalStore, Row};
use crate::wire::{MethodAnswer, RestError, RestParams};

pub(crate) const PAGE: i64 = 50;

/// The selected fields.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) fields: Vec<&'static Field>,
    pub(crate) own: Vec<CustomField>,
    pub(crate) multi: Vec<&'static str>,
}

impl Selection {
    pub(crate) fn everything(entity: &'static Entity, own: Vec<CustomField>) -> Self {
        let multi = if entity.has_multi { MULTI_TYPES.to_vec() } else { Vec::new() };
        Selection { fields: entity.fields.iter().collect(), own, multi }
    }

    /// Reads `select`: `*` means every plain field, `UF_*` every custom field; `ID` is always included.
    pub(crate) fn read(entity: &'static Entity, own: Vec<CustomField>, params: &RestParams) -> Result<Self, RestError> {
        // A query can write an empty list only as `select[]=`, which is one empty name.
        let names = |wanted: Vec<Value>| {
            wanted.iter().filter_map(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let wanted: Vec<String> = params.list("select")?.map(names).unwrap_or_default();
        if wanted.is_empty() {
            let fields = entity.fields.iter().filter(|field| !field.multiple).collect();
            return Ok(Selection { fields, own, multi: Vec::new() });
        }
        let has = |name: &str| wanted.iter().any(|wanted| wanted == name || upper_snake(wanted) == name);
        let named =
            |field: &Field| wanted.iter().any(|name| entity.field(name).is_some_and(|found| found.name == field.name));
        let fields = entity
            .fields
            .iter()
            .filter(|field| field.name == "ID" || (has("*") && !field.multiple) || named(field))
            .collect();
        let own = own.into_iter().filter(|field| has("UF_*") || has(&field.name)).collect();
        let multi = MULTI_TYPES.into_iter().filter(|name| entity.has_multi && has(name)).collect();
        Ok(Selection { fields, own, multi })
    }
}

/// One page of rows.
pub(crate) struct RowPage {
    pub(crate) rows: Vec<Row>,
    pub(crate) total: Option<i64>,
    pub(crate) next: Option<i64>,
}

impl RowPage {
    /// The page as an answer.
    pub(crate) fn answer(&self, result: Value) -> MethodAnswer {
        MethodAnswer { result, total: self.total, next: self.next }
    }
}

/// All rows for `filter` and `order`, for the few lists that the portal does not divide into pages.
pub(crate) fn whole(
    store: &PortalStore,
    entity: &'static Entity,
    selection: &Selection,
    params: &RestParams,
) -> Result<RowPage, RestError> {
    let filter = params.object("filter")?.unwrap_or_default();
    let condition = filter::condition(entity, &[], &filter);
    let rest = format!("{} ORDER BY {}", condition.clause(), order(entity, params)?);
    let rows = store.select(entity, &selection.fields, &rest, condition.args)?;
    Ok(RowPage { total: Some(rows.len() as i64), rows, next: None })
}

/// The page for `filter`, `order` and `start`. With `start=-1` the rows are not counted and the first page is returned.
pub(crate) fn page(
    store: &PortalStore,
    entity: &'static Entity,
    selection: &Selection,
    own: &[CustomField],
    params: &RestParams,
) -> Result<RowPage, RestError> {
    let filter = params.object("filter")?.unwrap_or_default();
    let condition = filter::condition(entity, own, &filter);
    let order = order(entity, params)?;
    let start = params.int("start").unwrap_or(0);
    let offset = if start < 0 { 0 } else { start / PAGE * PAGE };
    let clause = condition.clause();
    let rest = format!("{clause} ORDER BY {order} LIMIT {PAGE} OFFSET {offset}");
    let rows = store.select(entity, &selection.fields, &rest, condition.args.clone())?;
    if start < 0 {
        return Ok(RowPage { rows, total: Some(0), next: None });
    }
    let total = store.count(entity, &clause, condition.args)?;
    let after = offset.saturating_add(PAGE);
    let next = (after < total).then_some(after);
    Ok(RowPage { rows, total: Some(total), next })
}

/// The `ORDER BY` of a list. Unknown names are ignored; the id is the last criterion.
fn order(entity: &Entity, params: &RestParams) -> Result<String, RestError> {
    let wanted = params.object("order")?.unwrap_or_default();
    let mut parts: Vec<String> = wanted
        .iter()
        .filter_map(|(name, way)| {
            let field = entity.field(name)?;
            let down = way.as_str().is_some_and(|way| way.to_ascii_uppercase().starts_with("DESC"));
            let subject = match field.kind.column() {
                "TEXT" => format!("fold(\"{}\")", field.name),
                _ => format!("\"{}\"", field.name),
            };
            Some(format!("{subject} {}", if down { "DESC" } else { "ASC" }))
        })
        .collect();
    let by_default = entity.newest_first && parts.is_empty();
    parts.push(if by_default { "\"ID\" DESC" } else { "\"ID\" ASC" }.to_owned());
    Ok(parts.join(", "))
}
