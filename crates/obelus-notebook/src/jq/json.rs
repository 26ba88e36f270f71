//! Converts between JSON values and values of filters, without text in between.

use jaq_json::{Num, Val, read};
use serde_json::{Map, Value};

/// Deeper results could be written as text, but not parsed again.
const DEEPEST: usize = 127;

/// Converts a value for a filter.
pub(super) fn from_json(value: &Value) -> Val {
    match value {
        Value::Null => Val::Null,
        Value::Bool(is) => Val::Bool(*is),
        Value::Number(number) => match number.as_i64().and_then(|whole| isize::try_from(whole).ok()) {
            Some(whole) => Val::from(whole),
            // Other numbers keep their digits, so that they pass through a filter without rounding.
            None => read::parse_single_num(number.to_string().as_bytes()).map_or(Val::Null, Val::Num),
        },
        Value::String(text) => from_text(text),
        Value::Array(items) => items.iter().map(from_json).collect(),
        Value::Object(fields) => from_fields(fields.iter().map(|(name, value)| (name.as_str(), from_json(value)))),
    }
}

/// Creates an object for a filter.
pub(super) fn from_fields<'a>(fields: impl Iterator<Item = (&'a str, Val)>) -> Val {
    Val::obj(fields.map(|(name, value)| (from_text(name), value)).collect())
}

fn from_text(text: &str) -> Val {
    Val::utf8_str(text.as_bytes().to_vec())
}

/// Converts a filter's result to JSON. Bytes, infinities and keys that are not strings are errors.
pub(super) fn to_json(value: &Val) -> Result<Value, String> {
    within(value, DEEPEST).ok_or_else(|| "a result is not JSON".to_owned())
}

fn within(value: &Val, room: usize) -> Option<Value> {
    let below = || room.checked_sub(1);
    Some(match value {
        Val::Null => Value::Null,
        Val::Bool(is) => Value::Bool(*is),
        Val::Num(Num::Int(whole)) => Value::from(i64::try_from(*whole).ok()?),
        Val::Num(number) => serde_json::from_str(&number.to_string()).ok()?,
        Val::TStr(bytes) => Value::String(String::from_utf8_lossy(bytes).into_owned()),
        Val::BStr(_) => return None,
        Val::Arr(items) => {
            let below = below()?;
            items.iter().map(|item| within(item, below)).collect::<Option<Vec<_>>>()?.into()
        }
        Val::Obj(fields) => {
            let below = below()?;
            let field = |(name, value): (&Val, &Val)| match within(name, below)? {
                Value::String(name) => Some((name, within(value, below)?)),
                _ => None,
            };
            fields.iter().map(field).collect::<Option<Map<_, _>>>()?.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..8).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn converting_a_value_and_back_does_not_change_it(value in any_json()) {
            prop_assert_eq!(to_json(&from_json(&value)), Ok(value));
        }

        #[test]
        fn converting_a_value_equals_parsing_its_text(value in any_json()) {
            let read = read::parse_single(value.to_string().as_bytes()).unwrap();
            prop_assert_eq!(from_json(&value).to_string(), read.to_string());
        }

        #[test]
        fn converting_a_result_equals_parsing_its_text(value in any_json()) {
            let made = from_json(&value);
            prop_assert_eq!(to_json(&made).unwrap(), serde_json::from_str::<Value>(&made.to_string()).unwrap());
        }
    }

    #[test]
    fn results_that_are_not_json_are_reported() {
        for made in [Val::byte_str(vec![1]), Val::from(f64::INFINITY), Val::from(f64::NAN)] {
            assert!(to_json(&made).is_err(), "{made}");
            assert!(to_json(&Val::obj(std::iter::once((from_text("a"), made)).collect())).is_err());
        }
        assert!(to_json(&Val::obj(std::iter::once((Val::from(1_isize), Val::Null)).collect())).is_err());
    }

    #[test]
    fn a_result_too_deep_to_be_parsed_is_not_json() {
        let deep = |depth: usize| (0..depth).fold(json!(1), |value, _| json!([value]));
        for (depth, fits) in [(DEEPEST, true), (DEEPEST + 1, false)] {
            assert_eq!(to_json(&from_json(&deep(depth))).is_ok(), fits);
            assert_eq!(serde_json::from_str::<Value>(&deep(depth).to_string()).is_ok(), fits);
        }
    }
}
