//! Filters: turns keys such as `>=OPPORTUNITY` and their values into an SQL condition.

use rusqlite::types::Value as Sql;
use serde_json::{Map, Value};

use crate::entity::{Entity, Field, Kind, MULTI_TYPES, is_unset, is_yes, number, text};
use crate::store::{CustomField, fold};

/// Groups nested deeper than this are ignored.
const MAX_DEPTH: usize = 8;

/// The operator before the name of the field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Equal,
    Not,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// Contains the text.
    Contains,
    NotContains,
    /// Matches a pattern with `%`.
    Mask,
    Between,
    NotBetween,
}

/// Each prefix is listed before its own shorter prefixes.
const PREFIXES: [(&str, Op); 18] = [
    ("!><", Op::NotBetween),
    ("><", Op::Between),
    ("!=%", Op::NotContains),
    ("!%", Op::NotContains),
    ("!@", Op::Not),
    ("!=", Op::Not),
    (">=", Op::GreaterOrEqual),
    ("<=", Op::LessOrEqual),
    ("=%", Op::Mask),
    ("%=", Op::Mask),
    ("!", Op::Not),
    (">", Op::Greater),
    ("<", Op::Less),
    ("@", Op::Equal),
    ("%", Op::Contains),
    ("?", Op::Contains),
    ("=", Op::Equal),
    ("", Op::Equal),
];

/// An SQL condition with its arguments; empty means "all records".
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Condition {
    pub(crate) sql: String,
    pub(crate) args: Vec<Sql>,
}

impl Condition {
    /// The `WHERE` clause; empty for all records.
    pub(crate) fn clause(&self) -> String {
        if self.sql.is_empty() { String::new() } else { format!("WHERE {}", self.sql) }
    }

    fn new(sql: String, args: Vec<Sql>) -> Self {
        Condition { sql, args }
    }

    /// The `OR` of the parts; false if there are none.
    fn any(parts: Vec<Condition>) -> Condition {
        if parts.is_empty() { Condition::new("0".to_owned(), vec![]) } else { Condition::join(parts, " OR ") }
    }

    fn join(parts: Vec<Condition>, word: &str) -> Condition {
        let mut parts: Vec<Condition> = parts.into_iter().filter(|part| !part.sql.is_empty()).collect();
        if parts.len() < 2 {
            return parts.pop().unwrap_or_default();
        }
        let sql = parts.iter().map(|part| format!("({})", part.sql)).collect::<Vec<_>>().join(word);
        Condition::new(sql, parts.into_iter().flat_map(|part| part.args).collect())
    }
}

/// The condition of a filter. Unknown fields are ignored, as on real portals.
pub(crate) fn condition(entity: &Entity, own: &[CustomField], filter: &Map<String, Value>) -> Condition {
    group(entity, own, filter, MAX_DEPTH)
}

/// The first unknown field name in a filter.
pub(crate) fn unknown_name(entity: &Entity, own: &[CustomField], filter: &Map<String, Value>) -> Option<String> {
    filter.iter().find_map(|(key, value)| match value {
        _ if key.eq_ignore_ascii_case("logic") => None,
        Value::Object(inner) if is_group(key) => unknown_name(entity, own, inner),
        _ => {
            let (_, name) = split(key);
            find_target(entity, own, name).is_none().then(|| name.to_owned())
        }
    })
}

fn group(entity: &Entity, own: &[CustomField], filter: &Map<String, Value>, left: usize) -> Condition {
    let logic = filter.iter().find(|(key, _)| key.eq_ignore_ascii_case("logic")).and_then(|(_, value)| value.as_str());
    let word = if logic.is_some_and(|logic| logic.eq_ignore_ascii_case("or")) { " OR " } else { " AND " };
    let parts =
        filter.iter().filter(|(key, _)| !key.eq_ignore_ascii_case("logic")).filter_map(|(key, value)| match value {
            Value::Object(inner) if is_group(key) && left > 0 => Some(group(entity, own, inner, left - 1)),
            _ => {
                let (op, name) = split(key);
                find_target(entity, own, name).map(|find_target| compare(entity, &find_target, op, value))
            }
        });
    Condition::join(parts.collect(), word)
}

fn is_group(key: &str) -> bool {
    key.chars().all(|c| c.is_ascii_digit()) || key.starts_with("::")
}

fn split(key: &str) -> (Op, &str) {
    let found = PREFIXES.iter().find_map(|(prefix, op)| key.strip_prefix(prefix).map(|name| (*op, name)));
    found.unwrap_or((Op::Equal, key))
}

/// What a name in a filter refers to.
enum Target {
    Field(&'static Field),
    Own(String, Kind),
    /// A multi-value field, stored in a table of its own.
    Multi(&'static str),
}

fn find_target(entity: &Entity, own: &[CustomField], name: &str) -> Option<Target> {
    if let Some(field) = entity.field(name) {
        return Some(Target::Field(field));
    }
    let upper = crate::entity::upper_snake(name);
    if let Some(field) = own.iter().find(|field| field.name == name || field.name == upper) {
        return Some(Target::Own(field.name.clone(), field.kind));
    }
    let multi = MULTI_TYPES.iter().find(|multi| **multi == upper);
    multi.filter(|_| entity.has_multi).map(|multi| Target::Multi(multi))
}

fn compare(entity: &Entity, find_target: &Target, op: Op, value: &Value) -> Condition {
    match find_target {
        Target::Field(field) if field.kind == Kind::List => in_list(field, op, value),
        Target::Field(field) => compare_column(&format!("\"{}\"", field.name), field.kind, op, value),
        Target::Own(name, kind) => {
            // Safe to put into SQL: `custom_field` permits only letters, digits and `_` in names.
            compare_column(&format!("json_extract(\"OWN\", '$.{name}')"), *kind, op, value)
        }
        Target::Multi(kind) => {
            let (op, negated) = match op {
                Op::Not => (Op::Equal, "NOT "),
                Op::NotContains => (Op::Contains, "NOT "),
                op => (op, ""),
            };
            let unset = is_unset(value) && op == Op::Equal;
            let inner = if unset { Condition::default() } else { compare_column("\"VALUE\"", Kind::Text, op, value) };
            let and = if inner.sql.is_empty() { String::new() } else { format!(" AND ({})", inner.sql) };
            // An unset value matches records that have no value of this type.
            let negated = if unset && negated.is_empty() {
                "NOT "
            } else if unset {
                ""
            } else {
                negated
            };
            let mut args = vec![Sql::Text(entity.table.to_owned()), Sql::Text((*kind).to_owned())];
            args.extend(inner.args);
            let chosen = format!("SELECT \"OWNER_ID\" FROM multi WHERE \"OWNER\" = ? AND \"TYPE_ID\" = ?{and}");
            Condition::new(format!("\"ID\" {negated}IN ({chosen})"), args)
        }
    }
}

fn in_list(field: &Field, op: Op, value: &Value) -> Condition {
    let (op, negated) = match op {
        Op::Not => (Op::Equal, "NOT "),
        Op::NotContains => (Op::Contains, "NOT "),
        op => (op, ""),
    };
    let inner = compare_column("CAST(value AS TEXT)", Kind::Text, op, value);
    if inner.sql.is_empty() {
        return inner;
    }
    let list = format!("json_each(coalesce(\"{}\", '[]'))", field.name);
    Condition::new(format!("{negated}EXISTS (SELECT 1 FROM {list} WHERE {})", inner.sql), inner.args)
}

fn compare_column(column: &str, kind: Kind, op: Op, value: &Value) -> Condition {
    let subject = match kind {
        Kind::Text | Kind::Status(_) | Kind::Any => format!("fold({column})"),
        _ => column.to_owned(),
    };
    let empty = if kind.is_number() { "0" } else { "''" };
    let one = |sign: &str, value: &Value| Condition::new(format!("{subject} {sign} ?"), vec![argument(kind, value)]);
    match op {
        Op::Equal if is_unset(value) => Condition::new(format!("{column} IS NULL OR {column} = {empty}"), vec![]),
        Op::Not if is_unset(value) => Condition::new(format!("{column} IS NOT NULL AND {column} <> {empty}"), vec![]),
        Op::Equal => among(&subject, kind, value),
        Op::Not => {
            let among = among(&subject, kind, value);
            Condition::new(format!("{column} IS NULL OR NOT ({})", among.sql), among.args)
        }
        Op::Greater => one(">", value),
        Op::GreaterOrEqual => one(">=", value),
        Op::Less => one("<", value),
        Op::LessOrEqual => one("<=", value),
        Op::Contains | Op::NotContains => {
            let parts = each(value).into_iter().map(|value| {
                let escaped = fold(&text(value).unwrap_or_default())
                    .replace('\\', "\\\\")
                    .replace('%', "\\%")
                    .replace('_', "\\_");
                like(column, format!("%{escaped}%"))
            });
            let any = Condition::any(parts.collect());
            match op {
                Op::NotContains => Condition::new(format!("{column} IS NULL OR NOT ({})", any.sql), any.args),
                _ => any,
            }
        }
        Op::Mask => {
            let parts = each(value).into_iter().map(|value| like(column, fold(&text(value).unwrap_or_default())));
            Condition::any(parts.collect())
        }
        Op::Between | Op::NotBetween => {
            let ends = each(value);
            let (Some(from), Some(to)) = (ends.first(), ends.get(1)) else { return Condition::default() };
            let not = if op == Op::NotBetween { "NOT " } else { "" };
            Condition::new(format!("{subject} {not}BETWEEN ? AND ?"), vec![argument(kind, from), argument(kind, to)])
        }
    }
}

fn like(column: &str, mask: String) -> Condition {
    Condition::new(format!("fold(CAST({column} AS TEXT)) LIKE ? ESCAPE '\\'"), vec![Sql::Text(mask)])
}

fn among(subject: &str, kind: Kind, value: &Value) -> Condition {
    let values = each(value);
    let marks = vec!["?"; values.len()].join(", ");
    Condition::new(format!("{subject} IN ({marks})"), values.into_iter().map(|value| argument(kind, value)).collect())
}

fn each(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(items) => items.values().collect(),
        value => vec![value],
    }
}

/// A value as an SQL argument. Where a number is expected, PHP's conversions apply: a non-empty list is 1, and text
/// that is not a number is 0. A value that is not a date becomes null, which matches no record.
fn argument(kind: Kind, value: &Value) -> Sql {
    match kind {
        Kind::Bool => Sql::Integer(i64::from(is_yes(value))),
        kind if kind.is_number() => match value {
            Value::Array(items) => Sql::Integer(i64::from(!items.is_empty())),
            Value::Object(items) => Sql::Integer(i64::from(!items.is_empty())),
            value => match number(value).unwrap_or_default() {
                whole if whole.fract() == 0.0 => Sql::Integer(whole as i64),
                broken => Sql::Real(broken),
            },
        },
        Kind::Flag => Sql::Text(if is_yes(value) { "Y" } else { "N" }.to_owned()),
        Kind::Date | Kind::DateTime => {
            kind.parse(value).and_then(|stored| stored.as_i64()).map_or(Sql::Null, Sql::Integer)
        }
        _ => Sql::Text(fold(&text(value).unwrap_or_default())),
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::entity::{CONTACT, DEAL, TASK};

    fn sql(entity: &Entity, filter: &Value) -> String {
        condition(entity, &[], filter.as_object().unwrap_or(&Map::new())).sql
    }

    #[test]
    fn the_longest_prefix_gives_the_operation() {
        for (key, op) in [
            ("!><ID", Op::NotBetween),
            ("!=ID", Op::Not),
            ("!ID", Op::Not),
            ("=%ID", Op::Mask),
            ("%=ID", Op::Mask),
            ("%ID", Op::Contains),
            ("ID", Op::Equal),
        ] {
            assert_eq!(split(key), (op, "ID"), "{key}");
        }
    }

    #[test]
    fn field_names_from_requests_never_reach_the_sql() {
        let text = sql(&DEAL, &json!({"ID) OR 1=1 --": 1, "\"": 2, ">=NOPE": 3, "=%TITLE": "x' OR '1'='1"}));
        assert_eq!(text, "fold(CAST(\"TITLE\" AS TEXT)) LIKE ? ESCAPE '\\'");
    }

    #[test]
    fn groups_are_joined_by_their_logic() {
        let text = sql(&DEAL, &json!({"logic": "OR", "0": {"ID": 1}, "1": {">ID": 5, "CLOSED": "N"}}));
        assert_eq!(text, "(\"ID\" IN (?)) OR ((\"ID\" > ?) AND (\"CLOSED\" IN (?)))");
    }

    #[test]
    fn a_list_in_place_of_a_number_is_read_as_1() {
        let filter = json!({">ID": [{"ID": "7"}]});
        assert_eq!(condition(&DEAL, &[], filter.as_object().unwrap_or(&Map::new())).args, [Sql::Integer(1)]);
    }

    #[test]
    fn phones_and_lists_are_searched_in_their_own_tables() {
        assert!(sql(&CONTACT, &json!({"PHONE": "+7 000"})).starts_with("\"ID\" IN (SELECT"));
        assert!(sql(&CONTACT, &json!({"EMAIL": ""})).starts_with("\"ID\" NOT IN (SELECT"));
        assert!(sql(&TASK, &json!({"!UF_CRM_TASK": "D_1"})).starts_with("NOT EXISTS"));
    }
}
