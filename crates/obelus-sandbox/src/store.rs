//! The database: a table for each kind of record, made from its list of fields.

use std::path::Path;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, params, params_from_iter};
use serde_json::{Map, Value, json};

use crate::entity::{ALL, Entity, Field, Kind};

/// A record in its stored form: numbers as numbers, times as seconds.
pub(crate) type Row = Map<String, Value>;

/// The version of the tables. Files with another version are refused.
const LAYOUT: i64 = 2;

pub(crate) struct PortalStore {
    pub(crate) db: Connection,
}

/// A custom field.
#[derive(Clone, Debug)]
pub(crate) struct CustomField {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) title: String,
}

/// The column with the values of custom fields.
pub(crate) const OWN: &str = "OWN";

impl PortalStore {
    /// Opens a file or a database in memory, and returns whether it is new, existing or foreign.
    pub(crate) fn open(path: Option<&Path>) -> rusqlite::Result<(PortalStore, DatabaseState)> {
        let db = match path {
            Some(path) => Connection::open(path)?,
            None => Connection::open_in_memory()?,
        };
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.set_prepared_statement_cache_capacity(128);
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        db.create_scalar_function("fold", 1, flags, |context| {
            Ok(match context.get_raw(0) {
                ValueRef::Text(text) => Sql::Text(fold(&String::from_utf8_lossy(text))),
                ValueRef::Integer(whole) => Sql::Integer(whole),
                ValueRef::Real(real) => Sql::Real(real),
                ValueRef::Null | ValueRef::Blob(_) => Sql::Null,
            })
        })?;
        let layout: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        let opened = match (layout, tables) {
            (LAYOUT, _) => DatabaseState::Existing,
            (0, 0) => DatabaseState::New,
            _ => DatabaseState::Foreign,
        };
        Ok((PortalStore { db }, opened))
    }

    /// Creates missing tables. The caller sets the layout version with [`PortalStore::mark`] after the seed data is
    /// stored.
    pub(crate) fn create(&self) -> rusqlite::Result<()> {
        for entity in ALL {
            let columns: Vec<String> = entity.fields.iter().map(column).collect();
            let own = if entity.has_custom_fields { ", \"OWN\" TEXT NOT NULL DEFAULT '{}'" } else { "" };
            self.db.execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS \"{}\" ({}{own})",
                entity.table,
                columns.join(", ")
            ))?;
        }
        self.db.execute_batch(
            "CREATE INDEX IF NOT EXISTS multi_owner ON multi (\"OWNER\", \"OWNER_ID\"); \
             CREATE INDEX IF NOT EXISTS deal_stage ON deal (\"STAGE_ID\")",
        )
    }

    pub(crate) fn mark(&self) -> rusqlite::Result<()> {
        self.db.pragma_update(None, "user_version", LAYOUT)
    }

    /// Adds a record and returns its id. A row may contain its id.
    pub(crate) fn insert(&self, entity: &Entity, row: &Row) -> rusqlite::Result<i64> {
        let (names, values) = columns_of(entity, row);
        let marks = vec!["?"; names.len()].join(", ");
        let sql = if names.is_empty() {
            format!("INSERT INTO \"{}\" DEFAULT VALUES", entity.table)
        } else {
            format!("INSERT INTO \"{}\" ({}) VALUES ({marks})", entity.table, names.join(", "))
        };
        self.db.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        Ok(self.db.last_insert_rowid())
    }

    pub(crate) fn update(&self, entity: &Entity, id: i64, row: &Row) -> rusqlite::Result<()> {
        let (names, mut values) = columns_of(entity, row);
        if names.is_empty() {
            return Ok(());
        }
        let sets: Vec<String> = names.iter().map(|name| format!("{name} = ?")).collect();
        values.push(Sql::Integer(id));
        let sql = format!("UPDATE \"{}\" SET {} WHERE \"ID\" = ?", entity.table, sets.join(", "));
        self.db.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        Ok(())
    }

    pub(crate) fn delete(&self, entity: &Entity, id: i64) -> rusqlite::Result<()> {
        let sql = format!("DELETE FROM \"{}\" WHERE \"ID\" = ?", entity.table);
        self.db.prepare_cached(&sql)?.execute([id])?;
        if entity.has_multi {
            self.db.execute("DELETE FROM multi WHERE \"OWNER\" = ? AND \"OWNER_ID\" = ?", params![entity.table, id])?;
        }
        Ok(())
    }

    pub(crate) fn get(&self, entity: &Entity, id: i64) -> rusqlite::Result<Option<Row>> {
        let fields: Vec<&Field> = entity.fields.iter().collect();
        Ok(self.select(entity, &fields, "WHERE \"ID\" = ?", vec![Sql::Integer(id)])?.pop())
    }

    /// All records with this value in this field, by id.
    pub(crate) fn find(&self, entity: &Entity, name: &str, value: impl Into<Sql>) -> rusqlite::Result<Vec<Row>> {
        let fields: Vec<&Field> = entity.fields.iter().collect();
        self.select(entity, &fields, &format!("WHERE \"{name}\" = ? ORDER BY \"ID\""), vec![value.into()])
    }

    /// Runs `SELECT` with these fields and the custom fields; `rest` is the rest of the statement.
    pub(crate) fn select(
        &self,
        entity: &Entity,
        fields: &[&Field],
        rest: &str,
        args: Vec<Sql>,
    ) -> rusqlite::Result<Vec<Row>> {
        let mut columns: Vec<String> = fields.iter().map(|field| format!("\"{}\"", field.name)).collect();
        if entity.has_custom_fields {
            columns.push("\"OWN\"".to_owned());
        }
        let sql = format!("SELECT {} FROM \"{}\" {rest}", columns.join(", "), entity.table);
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut found = statement.query(params_from_iter(args))?;
        let mut rows = Vec::new();
        while let Some(at) = found.next()? {
            let mut row = Row::new();
            for (column, field) in fields.iter().enumerate() {
                row.insert(field.name.to_owned(), read_value(at.get_ref(column)?, field.kind));
            }
            if entity.has_custom_fields {
                row.insert(OWN.to_owned(), read_value(at.get_ref(fields.len())?, Kind::Any));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    pub(crate) fn count(&self, entity: &Entity, condition: &str, args: Vec<Sql>) -> rusqlite::Result<i64> {
        let sql = format!("SELECT count(*) FROM \"{}\" {condition}", entity.table);
        self.db.prepare_cached(&sql)?.query_row(params_from_iter(args), |row| row.get(0))
    }

    /// The custom fields of an entity.
    pub(crate) fn custom_fields(&self, entity: &Entity) -> rusqlite::Result<Vec<CustomField>> {
        if !entity.has_custom_fields {
            return Ok(Vec::new());
        }
        let rows = self.find(&crate::entity::USER_FIELD, "ENTITY_ID", custom_field_owner(entity))?;
        let of = |row: &Row, name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(rows
            .iter()
            .map(|row| CustomField {
                name: of(row, "FIELD_NAME"),
                kind: custom_field_kind(&of(row, "USER_TYPE_ID")),
                title: of(row, "EDIT_FORM_LABEL"),
            })
            .collect())
    }
}

/// The state of a database when it was opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DatabaseState {
    New,
    Existing,
    /// Made by another program or version.
    Foreign,
}

/// The `ENTITY_ID` of an entity's custom fields: `CRM_DEAL`.
pub(crate) fn custom_field_owner(entity: &Entity) -> String {
    format!("CRM_{}", entity.table.to_uppercase())
}

fn custom_field_kind(name: &str) -> Kind {
    match name {
        "integer" => Kind::Int,
        "double" | "money" => Kind::Money,
        "boolean" => Kind::Flag,
        "date" => Kind::Date,
        "datetime" => Kind::DateTime,
        _ => Kind::Text,
    }
}

/// Text for comparison: lower case, with ё as е.
pub(crate) fn fold(text: &str) -> String {
    text.to_lowercase().replace('ё', "е")
}

fn column(field: &Field) -> String {
    match field.kind {
        Kind::Id => "\"ID\" INTEGER PRIMARY KEY AUTOINCREMENT".to_owned(),
        kind => format!("\"{}\" {}", field.name, kind.column()),
    }
}

/// The columns that a row sets, with their values.
fn columns_of(entity: &Entity, row: &Row) -> (Vec<String>, Vec<Sql>) {
    let known =
        |name: &str| (name == OWN && entity.has_custom_fields) || entity.fields.iter().any(|field| field.name == name);
    row.iter().filter(|(name, _)| known(name)).map(|(name, value)| (format!("\"{name}\""), to_sql(value))).unzip()
}

fn to_sql(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Bool(flag) => Sql::Integer(i64::from(*flag)),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Sql::Integer(whole),
            None => Sql::Real(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Sql::Text(text.clone()),
        nested => Sql::Text(nested.to_string()),
    }
}

fn read_value(value: ValueRef<'_>, kind: Kind) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(whole) => json!(whole),
        ValueRef::Real(real) => json!(real),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            let text = String::from_utf8_lossy(text);
            match kind {
                Kind::List | Kind::Any => serde_json::from_str(&text).unwrap_or_else(|_| json!(text)),
                _ => json!(text),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::DEAL;

    #[test]
    fn a_record_is_stored_changed_and_deleted() -> rusqlite::Result<()> {
        let (store, opened) = PortalStore::open(None)?;
        assert_eq!(opened, DatabaseState::New);
        store.create()?;
        let row = json!({"TITLE": "Окна", "OPPORTUNITY": 5.5, "OWN": {"UF_CRM_X": 1}, "UNKNOWN\"": 1});
        let id = store.insert(&DEAL, row.as_object().unwrap_or(&Row::new()))?;
        store.update(&DEAL, id, json!({"TITLE": "Двери"}).as_object().unwrap_or(&Row::new()))?;
        let read_value = store.get(&DEAL, id)?.unwrap_or_default();
        assert_eq!(
            (&read_value["TITLE"], &read_value["OPPORTUNITY"], &read_value[OWN]),
            (&json!("Двери"), &json!(5.5), &json!({"UF_CRM_X": 1}))
        );
        store.delete(&DEAL, id)?;
        assert_eq!(store.get(&DEAL, id)?, None);
        assert_eq!(store.insert(&DEAL, &Row::new())?, id + 1, "an id is never given twice");
        Ok(())
    }
}
