//! The methods of the portal, by name.

mod activity;
mod comment;
mod crm;
mod deal;
mod directory;
mod event;
mod group;
mod info;
mod item;
mod own_field;
mod task;
mod task_parts;
mod user;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::clock;
use crate::entity::{Entity, Field, Kind, STATUS, USER};
use crate::events::Happening;
use crate::page;
use crate::portal::Settings;
use crate::store::{Row, Store};
use crate::wire::{Answer, Fault, Params};

pub(crate) use event::KNOWN_EVENTS;
pub(crate) use task::status_word;

/// What a method comes to.
pub(crate) type Outcome = Result<Answer, Fault>;

/// One method: what it needs and what it does.
pub(crate) struct Method {
    /// The permission that a webhook needs for it; empty for none.
    pub(crate) scope: &'static str,
    pub(crate) run: Box<dyn Fn(&mut Call<'_>) -> Outcome + Send + Sync>,
}

/// Every method by its name in lower case.
pub(crate) struct Methods(BTreeMap<String, Method>);

impl Methods {
    pub(crate) fn all() -> Methods {
        let mut methods = Methods(BTreeMap::new());
        info::add_to(&mut methods);
        user::add_to(&mut methods);
        crm::add_to(&mut methods);
        own_field::add_to(&mut methods);
        deal::add_to(&mut methods);
        item::add_to(&mut methods);
        activity::add_to(&mut methods);
        comment::add_to(&mut methods);
        directory::add_to(&mut methods);
        task::add_to(&mut methods);
        task_parts::add_to(&mut methods);
        group::add_to(&mut methods);
        event::add_to(&mut methods);
        methods
    }

    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        scope: &'static str,
        run: impl Fn(&mut Call<'_>) -> Outcome + Send + Sync + 'static,
    ) {
        self.0.insert(name.into(), Method { scope, run: Box::new(run) });
    }

    /// A method by its name, whatever its case; names that people write for others are known too.
    pub(crate) fn get(&self, name: &str) -> Option<(&str, &Method)> {
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

    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &Method)> {
        self.0.iter().map(|(name, method)| (name.as_str(), method))
    }
}

/// A call at work: what it may use, and what it leaves behind.
pub(crate) struct Call<'a> {
    pub(crate) store: &'a Store,
    pub(crate) settings: &'a Settings,
    pub(crate) methods: &'a Methods,
    pub(crate) user: i64,
    pub(crate) now: i64,
    pub(crate) params: Params,
    pub(crate) changes: Vec<Change>,
    pub(crate) events: Vec<Happening>,
}

/// What became different by a call, for people.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) verb: Verb,
    pub(crate) what: &'static str,
    pub(crate) id: i64,
    pub(crate) title: String,
    /// Label, before, after.
    pub(crate) fields: Vec<(String, String, String)>,
}

/// How a record became different.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verb {
    Added,
    Changed,
    Deleted,
}

impl Call<'_> {
    /// The record that `id` names.
    pub(crate) fn record(&self, entity: &Entity, id: i64) -> Result<Row, Fault> {
        self.store.get(entity, id)?.ok_or_else(Fault::not_found)
    }

    /// The id that the call is about.
    pub(crate) fn id(&self) -> Result<i64, Fault> {
        self.params.int("id").filter(|id| *id > 0).ok_or_else(Fault::no_id)
    }

    pub(crate) fn added(&mut self, entity: &Entity, id: i64, row: &Row) {
        self.leave(Verb::Added, entity, id, row, Vec::new());
    }

    pub(crate) fn deleted(&mut self, entity: &Entity, id: i64, row: &Row) {
        self.leave(Verb::Deleted, entity, id, row, Vec::new());
    }

    /// Notes which fields a change has made different; what the portal sets by itself is left out.
    pub(crate) fn changed(&mut self, entity: &Entity, id: i64, before: &Row, change: &Row) {
        let fields = entity.fields.iter().filter(|field| !field.read_only).filter_map(|field| {
            let (before, after) = (before.get(field.name).unwrap_or(&Value::Null), change.get(field.name)?);
            (before != after).then(|| (field.title.to_owned(), self.plain(field, before), self.plain(field, after)))
        });
        let fields = fields.collect();
        self.leave(Verb::Changed, entity, id, before, fields);
    }

    /// A kept value for people: names instead of codes and numbers.
    fn plain(&self, field: &Field, kept: &Value) -> String {
        let name = match (field.kind, kept) {
            (_, Value::Null) => return "—".to_owned(),
            (Kind::Date | Kind::DateTime, kept) => return clock::plain(kept.as_i64().unwrap_or_default()),
            (Kind::Money, kept) => return page::amount(kept.as_f64().unwrap_or_default()),
            (Kind::Status(directory), Value::String(code)) => {
                let rows = self.store.find(&STATUS, "STATUS_ID", code.clone()).unwrap_or_default();
                // The stages of each funnel are a directory of their own: `DEAL_STAGE_1`.
                rows.iter().find(|row| text_of(row, "ENTITY_ID").starts_with(directory)).map(|row| title(&STATUS, row))
            }
            (Kind::User, kept) => {
                let row = self.store.get(&USER, kept.as_i64().unwrap_or_default()).ok().flatten();
                row.map(|row| title(&USER, &row))
            }
            (Kind::Int, Value::Number(_)) if field.name == "STATUS" => {
                Some(status_word(kept.as_i64().unwrap_or_default()).to_owned())
            }
            _ => None,
        };
        name.unwrap_or_else(|| match field.kind.show(kept) {
            Value::String(text) if text.is_empty() => "—".to_owned(),
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    fn leave(&mut self, verb: Verb, entity: &Entity, id: i64, row: &Row, fields: Vec<(String, String, String)>) {
        let title = title(entity, row);
        self.changes.push(Change { verb, what: entity.what, id, title, fields });
        if !entity.event.is_empty() {
            let end = match verb {
                Verb::Added => "ADD",
                Verb::Changed => "UPDATE",
                Verb::Deleted => "DELETE",
            };
            let about_task = row.get("TASK_ID").and_then(Value::as_i64);
            self.events.push(Happening { event: format!("ON{}{end}", entity.event), id, task: about_task });
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

/// The values of `fields` that this kind of record takes, as they are kept. Names it does not have are passed over.
pub(crate) fn take_fields(entity: &Entity, given: &serde_json::Map<String, Value>, adding: bool) -> Result<Row, Fault> {
    let mut row = Row::new();
    for (name, value) in given {
        let Some(field) = entity.field(name).filter(|field| !field.read_only && (adding || !field.immutable)) else {
            continue;
        };
        let kept = field.kind.take(value).ok_or_else(|| invalid(field.name))?;
        row.insert(field.name.to_owned(), kept);
    }
    Ok(row)
}

/// A field that is missing or makes no sense.
pub(crate) fn invalid(name: &str) -> Fault {
    Fault::crm(format!("The field {name} is not defined or invalid."))
}

/// Sets what the call left open.
pub(crate) fn default(row: &mut Row, name: &str, value: impl Into<Value>) {
    let open = row.get(name).is_none_or(Value::is_null);
    if open {
        row.insert(name.to_owned(), value.into());
    }
}

/// A kept whole number of a row; 0 where there is none.
pub(crate) fn int_of(row: &Row, name: &str) -> i64 {
    row.get(name).and_then(Value::as_i64).unwrap_or_default()
}

/// Kept text of a row; empty where there is none.
pub(crate) fn text_of<'a>(row: &'a Row, name: &str) -> &'a str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}
