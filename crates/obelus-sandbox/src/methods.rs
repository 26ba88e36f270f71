//! The methods of the portal, by name.

mod activity;
mod comment;
mod crm;
mod custom_field;
mod deal;
mod directory;
mod duplicate;
mod event;
mod group;
mod info;
mod item;
mod product;
mod task;
mod task_parts;
mod task_v3;
mod user;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::clock;
use crate::entity::{Entity, Field, Kind, STATUS, USER};
use crate::events::RecordEvent;
use crate::page;
use crate::portal::PortalSettings;
use crate::store::{PortalStore, Row};
use crate::wire::{MethodAnswer, RestError, RestParams};

pub(crate) use event::KNOWN_EVENTS;
pub(crate) use task::status_word;
pub(crate) use task_v3::V3;

/// The result of a method.
pub(crate) type MethodResult = Result<MethodAnswer, RestError>;

/// A REST method.
pub(crate) struct RestMethod {
    /// The scope that the webhook needs; empty if it needs none.
    pub(crate) scope: &'static str,
    pub(crate) run: Box<dyn Fn(&mut MethodCall<'_>) -> MethodResult + Send + Sync>,
}

/// All methods, by name in lower case.
pub(crate) struct Methods(BTreeMap<String, RestMethod>);

impl Methods {
    pub(crate) fn all() -> Methods {
        let mut methods = Methods(BTreeMap::new());
        info::add_to(&mut methods);
        user::add_to(&mut methods);
        crm::add_to(&mut methods);
        custom_field::add_to(&mut methods);
        deal::add_to(&mut methods);
        item::add_to(&mut methods);
        product::add_to(&mut methods);
        duplicate::add_to(&mut methods);
        activity::add_to(&mut methods);
        comment::add_to(&mut methods);
        directory::add_to(&mut methods);
        task::add_to(&mut methods);
        task_parts::add_to(&mut methods);
        task_v3::add_to(&mut methods);
        group::add_to(&mut methods);
        event::add_to(&mut methods);
        methods
    }

    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        scope: &'static str,
        run: impl Fn(&mut MethodCall<'_>) -> MethodResult + Send + Sync + 'static,
    ) {
        self.0.insert(name.into(), RestMethod { scope, run: Box::new(run) });
    }

    /// Finds a method, ignoring case. Common misspellings with dots are accepted.
    pub(crate) fn get(&self, name: &str) -> Option<(&str, &RestMethod)> {
        let lower = name.to_lowercase();
        let wire = match lower.as_str() {
            "crm.deal.category.list" => "crm.dealcategory.list",
            "crm.deal.category.stage.list" => "crm.dealcategory.stage.list",
            "sonet.group.get" => "sonet_group.get",
            "sonet.group.user.get" => "sonet_group.user.get",
            other => other,
        };
        self.0.get_key_value(wire).map(|(name, method)| (name.as_str(), method))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &RestMethod)> {
        let older = self.0.iter().filter(|(name, _)| !name.starts_with(V3));
        older.map(|(name, method)| (name.as_str(), method))
    }
}

/// A call in progress: its environment, and the changes and events it has recorded.
pub(crate) struct MethodCall<'a> {
    pub(crate) store: &'a PortalStore,
    pub(crate) settings: &'a PortalSettings,
    pub(crate) methods: &'a Methods,
    pub(crate) user: i64,
    pub(crate) now: i64,
    pub(crate) params: RestParams,
    pub(crate) changes: Vec<RecordChange>,
    pub(crate) events: Vec<RecordEvent>,
}

/// A change made by a call, described for people.
#[derive(Clone, Debug)]
pub(crate) struct RecordChange {
    pub(crate) verb: ChangeVerb,
    pub(crate) table: &'static str,
    pub(crate) what: &'static str,
    pub(crate) id: i64,
    pub(crate) title: String,
    /// Label, before, after.
    pub(crate) fields: Vec<(String, String, String)>,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ChangeVerb {
    Added,
    Changed,
    Deleted,
}

impl MethodCall<'_> {
    /// The record with this id.
    pub(crate) fn record(&self, entity: &Entity, id: i64) -> Result<Row, RestError> {
        self.store.get(entity, id)?.ok_or_else(RestError::not_found)
    }

    /// The parameter `id`.
    pub(crate) fn id(&self) -> Result<i64, RestError> {
        self.params.int("id").filter(|id| *id > 0).ok_or_else(RestError::no_id)
    }

    pub(crate) fn added(&mut self, entity: &Entity, id: i64, row: &Row) {
        self.record_change(ChangeVerb::Added, entity, id, row, Vec::new());
    }

    pub(crate) fn deleted(&mut self, entity: &Entity, id: i64, row: &Row) {
        self.record_change(ChangeVerb::Deleted, entity, id, row, Vec::new());
    }

    /// Records which fields changed, except those that the portal sets by itself.
    pub(crate) fn changed(&mut self, entity: &Entity, id: i64, before: &Row, change: &Row) {
        let fields = entity.fields.iter().filter(|field| !field.read_only).filter_map(|field| {
            let (before, after) = (before.get(field.name).unwrap_or(&Value::Null), change.get(field.name)?);
            (before != after)
                .then(|| (self.settings.language.label(field), self.plain(field, before), self.plain(field, after)))
        });
        let fields = fields.collect();
        self.record_change(ChangeVerb::Changed, entity, id, before, fields);
    }

    /// A stored value for people: names instead of codes and ids.
    fn plain(&self, field: &Field, stored: &Value) -> String {
        let name = match (field.kind, stored) {
            (_, Value::Null) => return "—".to_owned(),
            (Kind::Date | Kind::DateTime, stored) => return clock::plain(stored.as_i64().unwrap_or_default()),
            (Kind::Money, stored) => return page::amount(stored.as_f64().unwrap_or_default()),
            (Kind::Status(directory), Value::String(code)) => {
                let rows = self.store.find(&STATUS, "STATUS_ID", code.clone()).unwrap_or_default();
                // Each further funnel has its own directory of stages: `DEAL_STAGE_1`.
                rows.iter().find(|row| text_of(row, "ENTITY_ID").starts_with(directory)).map(|row| title(&STATUS, row))
            }
            (Kind::User, stored) => {
                let row = self.store.get(&USER, stored.as_i64().unwrap_or_default()).ok().flatten();
                row.map(|row| title(&USER, &row))
            }
            (Kind::Int, Value::Number(_)) if field.name == "STATUS" => {
                Some(self.settings.language.said(status_word(stored.as_i64().unwrap_or_default())).to_owned())
            }
            _ => None,
        };
        name.unwrap_or_else(|| match field.kind.show(stored) {
            Value::String(text) if text.is_empty() => "—".to_owned(),
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    fn record_change(
        &mut self,
        verb: ChangeVerb,
        entity: &Entity,
        id: i64,
        row: &Row,
        fields: Vec<(String, String, String)>,
    ) {
        let title = title(entity, row);
        self.changes.push(RecordChange {
            verb,
            table: entity.table,
            what: self.settings.language.what(entity),
            id,
            title,
            fields,
        });
        if !entity.event.is_empty() {
            let end = match verb {
                ChangeVerb::Added => "ADD",
                ChangeVerb::Changed => "UPDATE",
                ChangeVerb::Deleted => "DELETE",
            };
            let about_task = row.get("TASK_ID").and_then(Value::as_i64);
            self.events.push(RecordEvent { event: format!("ON{}{end}", entity.event), id, task: about_task });
        }
    }
}

/// A record's name for people.
pub(crate) fn title(entity: &Entity, row: &Row) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    match entity.title {
        "LAST_NAME" => format!("{} {}", text("NAME"), text("LAST_NAME")).trim().to_owned(),
        name => text(name).to_owned(),
    }
}

/// Converts `fields` to their stored form. Unknown and read-only fields are ignored.
pub(crate) fn parse_fields(
    entity: &Entity,
    given: &serde_json::Map<String, Value>,
    adding: bool,
) -> Result<Row, RestError> {
    let mut row = Row::new();
    for (name, value) in given {
        let Some(field) = entity.field(name).filter(|field| !field.read_only && (adding || !field.immutable)) else {
            continue;
        };
        let stored = field.kind.parse(value).ok_or_else(|| invalid(field.name))?;
        row.insert(field.name.to_owned(), stored);
    }
    Ok(row)
}

/// The error for a missing or invalid field.
pub(crate) fn invalid(name: &str) -> RestError {
    RestError::crm(format!("The field {name} is not defined or invalid."))
}

/// Sets a field that the call has not set.
pub(crate) fn default(row: &mut Row, name: &str, value: impl Into<Value>) {
    let open = row.get(name).is_none_or(Value::is_null);
    if open {
        row.insert(name.to_owned(), value.into());
    }
}

/// An integer field of a row; 0 if it is not set.
pub(crate) fn int_of(row: &Row, name: &str) -> i64 {
    row.get(name).and_then(Value::as_i64).unwrap_or_default()
}

/// A text field of a row; empty if it is not set.
pub(crate) fn text_of<'a>(row: &'a Row, name: &str) -> &'a str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}
