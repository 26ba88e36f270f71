//! Products of a record: `crm.item.productrow.*`, the older `crm.deal.productrows.*`, and the catalogue.

use serde_json::{Map, Value, json};

use super::task::missing;
use super::{MethodCall, MethodResult, Methods, crm, default, int_of, parse_fields, text_of};
use crate::entity::{DEAL, Entity, Field, LEAD, PRODUCT, PRODUCT_ROW, camel};
use crate::store::Row;
use crate::wire::params::must_be_array;
use crate::wire::{MethodAnswer, RestError};

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("crm.product.list", "crm", |call| crm::list(call, &PRODUCT));
    methods.add("crm.product.get", "crm", |call| {
        let row = call.record(&PRODUCT, call.id()?)?;
        crm::show(call, &PRODUCT, &crate::list::Selection::everything(&PRODUCT, Vec::new()), &row).map(Into::into)
    });
    methods.add("crm.item.productrow.list", "crm", |call| {
        let filter = call.params.object("filter")?.unwrap_or_default();
        let named = |name: &str| filter.get(&format!("={name}")).or_else(|| filter.get(name));
        let owner = owner(call, named("ownerType"), named("ownerId"))?;
        items(call, owner)
    });
    methods.add("crm.item.productrow.set", "crm", |call| {
        let owner = owner(call, call.params.get("ownerType"), call.params.get("ownerId"))?;
        let rows = call.params.list("productRows")?.ok_or_else(|| missing("productRows"))?;
        replace(call, owner, &rows)?;
        items(call, owner)
    });
    for (entity, letter) in OWNERS {
        methods.add(format!("crm.{}.productrows.get", entity.table), "crm", move |call| {
            let id = call.id()?;
            call.record(entity, id)?;
            let rows = rows_of(call, letter, id)?;
            Ok(rows.iter().map(older).collect::<Value>().into())
        });
        methods.add(format!("crm.{}.productrows.set", entity.table), "crm", move |call| {
            let id = call.id()?;
            call.record(entity, id)?;
            let rows = call.params.list("rows")?.ok_or_else(|| must_be_array("rows"))?;
            replace(call, Owner { entity, letter, id }, &rows)?;
            Ok(json!(true).into())
        });
    }
}

/// The records that have products, with the short codes of their types.
const OWNERS: [(&Entity, &str); 2] = [(&DEAL, "D"), (&LEAD, "L")];

/// The record that products belong to.
#[derive(Clone, Copy)]
struct Owner {
    entity: &'static Entity,
    letter: &'static str,
    id: i64,
}

fn owner(call: &MethodCall<'_>, kind: Option<&Value>, id: Option<&Value>) -> Result<Owner, RestError> {
    let kind = kind.and_then(Value::as_str).ok_or_else(|| missing("ownerType"))?;
    let id = id.and_then(crate::wire::params::to_int).ok_or_else(|| missing("ownerId"))?;
    let found = OWNERS.into_iter().find(|(_, letter)| letter.eq_ignore_ascii_case(kind));
    let (entity, letter) = found
        .ok_or_else(|| RestError::new(400, "ENTITY_TYPE_NOT_SUPPORTED", "Working with this type is not supported"))?;
    match call.store.get(entity, id)? {
        Some(_) => Ok(Owner { entity, letter, id }),
        None => Err(RestError::new(400, "OWNER_NOT_FOUND", "Owner was not found")),
    }
}

fn rows_of(call: &MethodCall<'_>, letter: &str, id: i64) -> Result<Vec<Row>, RestError> {
    let mut rows = call.store.find(&PRODUCT_ROW, "OWNER_ID", id)?;
    rows.retain(|row| text_of(row, "OWNER_TYPE") == letter);
    Ok(rows)
}

/// The rows as `crm.item.productrow.*` returns them: names in camelCase, numbers as numbers.
fn items(call: &MethodCall<'_>, owner: Owner) -> MethodResult {
    let item = |row: &Row| {
        let shown =
            |field: &Field| (camel(field.name), field.kind.show_typed(row.get(field.name).unwrap_or(&Value::Null)));
        Value::Object(PRODUCT_ROW.fields.iter().map(shown).collect())
    };
    let rows: Vec<Value> = rows_of(call, owner.letter, owner.id)?.iter().map(item).collect();
    Ok(MethodAnswer { total: Some(rows.len() as i64), result: json!({ "productRows": rows }), next: None })
}

/// A row as the older methods return it: scalars as text.
fn older(row: &Row) -> Value {
    let shown = |field: &Field| (field.name.to_owned(), field.kind.show(row.get(field.name).unwrap_or(&Value::Null)));
    Value::Object(PRODUCT_ROW.fields.iter().map(shown).collect::<Map<_, _>>())
}

/// Replaces all products of a record. Also sets its amount, unless a person has set it by hand.
fn replace(call: &mut MethodCall<'_>, owner: Owner, given: &[Value]) -> Result<(), RestError> {
    let mut rows = Vec::new();
    for (place, fields) in given.iter().enumerate() {
        let fields = fields.as_object().ok_or_else(|| must_be_array("productRows"))?;
        rows.push(complete(call, owner, place, parse_fields(&PRODUCT_ROW, fields, true)?)?);
    }
    for old in rows_of(call, owner.letter, owner.id)? {
        call.store.delete(&PRODUCT_ROW, int_of(&old, "ID"))?;
    }
    let mut sum = 0.0;
    for row in &rows {
        let number = |name: &str| row.get(name).and_then(Value::as_f64).unwrap_or_default();
        sum += number("PRICE") * number("QUANTITY");
        let id = call.store.insert(&PRODUCT_ROW, row)?;
        call.added(&PRODUCT_ROW, id, row);
    }
    let before = call.record(owner.entity, owner.id)?;
    if text_of(&before, "IS_MANUAL_OPPORTUNITY") != "Y" {
        let change: Row = [("OPPORTUNITY".to_owned(), json!(sum))].into_iter().collect();
        call.store.update(owner.entity, owner.id, &change)?;
        call.changed(owner.entity, owner.id, &before, &change);
    }
    Ok(())
}

/// Completes a row with values from the catalogue, and with defaults.
fn complete(call: &MethodCall<'_>, owner: Owner, place: usize, mut row: Row) -> Result<Row, RestError> {
    if let Some(product) = call.store.get(&PRODUCT, int_of(&row, "PRODUCT_ID"))? {
        default(&mut row, "PRODUCT_NAME", product["NAME"].clone());
        default(&mut row, "PRICE", product["PRICE"].clone());
    }
    for (name, value) in [
        ("PRODUCT_ID", json!(0)),
        ("PRODUCT_NAME", json!("")),
        ("PRICE", json!(0.0)),
        ("QUANTITY", json!(1.0)),
        ("DISCOUNT_TYPE_ID", json!(2)),
        ("DISCOUNT_RATE", json!(0.0)),
        ("DISCOUNT_SUM", json!(0.0)),
        ("TAX_INCLUDED", json!("N")),
        ("MEASURE_CODE", json!(796)),
        ("MEASURE_NAME", json!(call.settings.language.said("шт"))),
        ("SORT", json!((place + 1) * 10)),
    ] {
        default(&mut row, name, value);
    }
    row.insert("OWNER_TYPE".to_owned(), json!(owner.letter));
    row.insert("OWNER_ID".to_owned(), json!(owner.id));
    Ok(row)
}
