//! The kinds of records, as data: each is a list of fields with their types.
//!
//! One implementation of adding, reading, listing and changing serves them all. To add a field, add a line here.

mod crm;
mod item;
mod office;
mod product;
mod task;

use serde_json::{Value, json};

pub(crate) use crm::{ACTIVITY, COMMENT, COMPANY, CONTACT, DEAL, LEAD};
pub(crate) use item::{INVOICE, QUOTE};
pub(crate) use office::{CATEGORY, DEPARTMENT, GROUP, GROUP_USER, HANDLER, MULTI, STATUS, USER, USER_FIELD};
pub(crate) use product::{PRODUCT, PRODUCT_ROW};
pub(crate) use task::{CHECK_ITEM, TASK, TASK_COMMENT};

use crate::clock;

/// The type of a field: how it is stored, compared and shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Id,
    Int,
    /// A user's id.
    User,
    /// The id of a CRM record; the text is the name of its type.
    Link(&'static str),
    Money,
    Text,
    /// A code from a directory; the text is the directory's name.
    Status(&'static str),
    /// `Y` or `N`.
    Flag,
    /// True or false; used by users.
    Bool,
    Date,
    DateTime,
    List,
    /// Any JSON, stored unchanged.
    Any,
}

impl Kind {
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Kind::Id | Kind::Int | Kind::User | Kind::Link(_) | Kind::Money | Kind::Bool)
    }

    /// The type's name in `crm.*.fields`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Id | Kind::Int => "integer",
            Kind::User => "user",
            Kind::Link(name) => name,
            Kind::Money => "double",
            Kind::Text | Kind::Any => "string",
            Kind::Status(_) => "crm_status",
            Kind::Flag => "char",
            Kind::Bool => "boolean",
            Kind::Date => "date",
            Kind::DateTime => "datetime",
            Kind::List => "array",
        }
    }

    /// The column's type in the database.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Kind::Money => "REAL",
            kind if kind.is_number() => "INTEGER",
            Kind::Date | Kind::DateTime => "INTEGER",
            _ => "TEXT",
        }
    }

    /// Converts a received value to its stored form; `None` if it does not fit the type.
    pub(crate) fn parse(self, value: &Value) -> Option<Value> {
        if is_unset(value) && !matches!(self, Kind::Flag | Kind::Bool | Kind::List) {
            return Some(Value::Null);
        }
        match self {
            Kind::Id | Kind::Int | Kind::User | Kind::Link(_) => number(value).map(|number| json!(number as i64)),
            Kind::Money => number(value).map(|number| json!(number)),
            Kind::Text | Kind::Status(_) => text(value).map(Value::String),
            Kind::Flag => Some(json!(if is_yes(value) { "Y" } else { "N" })),
            Kind::Bool => Some(json!(i64::from(is_yes(value)))),
            Kind::Date => text(value).and_then(|text| clock::parse_date(&text)).map(Value::from),
            Kind::DateTime => text(value).and_then(|text| clock::parse(&text)).map(Value::from),
            Kind::List => Some(match value {
                Value::Array(items) => Value::Array(items.clone()),
                Value::Object(items) => Value::Array(items.values().cloned().collect()),
                value if is_unset(value) => json!([]),
                value => json!([value]),
            }),
            Kind::Any => Some(value.clone()),
        }
    }

    /// A stored value as most methods return it: scalars as text.
    pub(crate) fn show(self, stored: &Value) -> Value {
        match (self, stored) {
            (Kind::Bool, stored) => json!(stored.as_i64() == Some(1)),
            (Kind::List, Value::Null) => json!([]),
            (_, Value::Null) => Value::Null,
            (Kind::Money, stored) => json!(format!("{:.2}", stored.as_f64().unwrap_or_default())),
            (Kind::Date | Kind::DateTime, stored) => json!(clock::iso(stored.as_i64().unwrap_or_default())),
            (kind, Value::Number(number)) if kind.is_number() => json!(number.to_string()),
            (_, stored) => stored.clone(),
        }
    }

    /// A stored value as `crm.item.*` returns it: numbers as numbers.
    pub(crate) fn show_typed(self, stored: &Value) -> Value {
        match self {
            kind if kind.is_number() && kind != Kind::Bool => stored.clone(),
            kind => kind.show(stored),
        }
    }
}

/// Whether PHP treats the value as empty. In a filter such a value means "not set".
pub(crate) fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

pub(crate) fn is_yes(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => matches!(text.to_ascii_lowercase().as_str(), "y" | "yes" | "1" | "true"),
        _ => false,
    }
}

pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        // The form `100000|RUB` is an amount with its currency.
        Value::String(text) => text.split('|').next()?.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// A scalar as text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(if *flag { "Y" } else { "N" }.to_owned()),
        _ => None,
    }
}

/// One field of a kind of record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The label shown to people.
    pub(crate) title: &'static str,
    /// Only the portal sets it.
    pub(crate) read_only: bool,
    /// It can be set only when the record is added.
    pub(crate) immutable: bool,
    pub(crate) required: bool,
    /// It holds several values; `*` in `select` does not include it.
    pub(crate) multiple: bool,
}

impl Field {
    pub(crate) const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    pub(crate) const fn immutable(mut self) -> Self {
        self.immutable = true;
        self
    }

    pub(crate) const fn multiple(mut self) -> Self {
        self.multiple = true;
        self
    }

    pub(crate) const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

pub(crate) const fn field(name: &'static str, kind: Kind, title: &'static str) -> Field {
    Field { name, kind, title, read_only: false, immutable: false, required: false, multiple: false }
}

/// A kind of record.
#[derive(Debug)]
pub(crate) struct Entity {
    pub(crate) table: &'static str,
    /// The name shown to people.
    pub(crate) what: &'static str,
    /// Its number in `entityTypeId` and `OWNER_TYPE_ID`; 0 if it has none.
    pub(crate) type_id: i64,
    /// The middle part of its events' names: `CRMDEAL` in `ONCRMDEALADD`; empty if it has no events.
    pub(crate) event: &'static str,
    pub(crate) fields: &'static [Field],
    /// Other names for fields in filters and orders.
    pub(crate) aliases: &'static [(&'static str, &'static str)],
    /// The field used as the record's name for people.
    pub(crate) title: &'static str,
    pub(crate) newest_first: bool,
    /// Whether it has multi-value fields: phones, e-mails, sites, messengers.
    pub(crate) has_multi: bool,
    /// Whether users can add custom fields (`UF_CRM_…`).
    pub(crate) has_custom_fields: bool,
}

/// The defaults of an entity.
pub(crate) const PLAIN: Entity = Entity {
    table: "",
    what: "",
    type_id: 0,
    event: "",
    fields: &[],
    aliases: &[],
    title: "TITLE",
    newest_first: false,
    has_multi: false,
    has_custom_fields: false,
};

impl Entity {
    /// A field by its name, an alias, or the same in camelCase.
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        let by_name = |name: &str| self.fields.iter().find(|field| field.name == name);
        let by_alias =
            |name: &str| self.aliases.iter().find(|(alias, _)| *alias == name).and_then(|(_, name)| by_name(name));
        by_name(name).or_else(|| by_alias(name)).or_else(|| {
            let upper = upper_snake(name);
            by_name(&upper).or_else(|| by_alias(&upper))
        })
    }
}

/// The multi-value fields.
pub(crate) const MULTI_TYPES: [&str; 4] = ["PHONE", "EMAIL", "WEB", "IM"];

/// All tables.
pub(crate) static ALL: [&Entity; 22] = [
    &DEAL,
    &CONTACT,
    &COMPANY,
    &LEAD,
    &ACTIVITY,
    &COMMENT,
    &TASK,
    &TASK_COMMENT,
    &CHECK_ITEM,
    &USER,
    &DEPARTMENT,
    &GROUP,
    &GROUP_USER,
    &CATEGORY,
    &STATUS,
    &HANDLER,
    &USER_FIELD,
    &MULTI,
    &PRODUCT,
    &PRODUCT_ROW,
    &INVOICE,
    &QUOTE,
];

/// `CREATED_BY` as `createdBy`.
pub(crate) fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut out = parts.next().unwrap_or_default().to_lowercase();
    for part in parts {
        let starts_with_digit = part.starts_with(|c: char| c.is_ascii_digit());
        if starts_with_digit {
            out.push('_');
        }
        let mut chars = part.chars();
        out.extend(chars.next());
        out.push_str(&chars.as_str().to_lowercase());
    }
    out
}

/// `createdBy` as `CREATED_BY`; names in upper case stay unchanged.
pub(crate) fn upper_snake(name: &str) -> String {
    if !name.contains(|c: char| c.is_ascii_lowercase()) {
        return name.to_owned();
    }
    let mut out = String::new();
    for (at, c) in name.chars().enumerate() {
        if c.is_ascii_uppercase() && at > 0 && !out.ends_with('_') {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_to_camel_case_and_back() {
        for (upper, expected) in
            [("ID", "id"), ("CREATED_BY", "createdBy"), ("UF_CRM_TASK", "ufCrmTask"), ("UF_CRM_17", "ufCrm_17")]
        {
            assert_eq!(camel(upper), expected);
            assert_eq!(upper_snake(expected), upper);
        }
        assert_eq!(upper_snake("START_DATE_PLAN"), "START_DATE_PLAN");
    }

    #[test]
    fn values_are_stored_by_type_and_shown_as_text() {
        let money = Kind::Money;
        assert_eq!(money.parse(&json!("100000|RUB")), Some(json!(100_000.0)));
        assert_eq!(money.show(&json!(100_000.0)), json!("100000.00"));
        assert_eq!(money.parse(&json!("сто тысяч")), None);
        assert_eq!(money.parse(&json!("")), Some(Value::Null));
        assert_eq!(Kind::User.show(&json!(7)), json!("7"));
        assert_eq!(Kind::User.show_typed(&json!(7)), json!(7));
        assert_eq!(Kind::Flag.parse(&json!(true)), Some(json!("Y")));
        assert_eq!(Kind::Flag.parse(&json!("N")), Some(json!("N")));
        assert_eq!(Kind::Bool.show(&json!(1)), json!(true));
        assert_eq!(Kind::Date.parse(&json!("скоро")), None);
        assert_eq!(Kind::List.parse(&json!("D_7")), Some(json!(["D_7"])));
    }

    #[test]
    fn no_record_type_has_a_duplicate_field() {
        for entity in ALL {
            for (at, field) in entity.fields.iter().enumerate() {
                assert!(
                    entity.fields[..at].iter().all(|other| other.name != field.name),
                    "{}.{}",
                    entity.table,
                    field.name
                );
            }
            assert!(entity.fields.iter().any(|field| field.name == "ID"), "{}", entity.table);
            assert!(entity.fields.iter().any(|field| field.name == entity.title), "{}", entity.table);
        }
    }
}
