//! Property tests of filters.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::entity::{ALL, DEAL};
use crate::store::PortalStore;

/// Known and unknown field names with valid and invalid prefixes.
fn key() -> impl Strategy<Value = String> {
    let names: Vec<&str> = ALL.iter().flat_map(|entity| entity.fields).map(|field| field.name).collect();
    let name = prop_oneof![
        8 => proptest::sample::select(names).prop_map(str::to_owned),
        1 => Just("PHONE".to_owned()),
        1 => Just("0".to_owned()),
        1 => Just("LOGIC".to_owned()),
        1 => ".{0,12}",
    ];
    ("[!=<>@%?]{0,3}", name).prop_map(|(prefix, name)| format!("{prefix}{name}"))
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("2026-11-15")),
        Just(json!("OR")),
    ];
    scalar.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Every filter becomes valid SQL.
    #[test]
    fn every_filter_is_valid_sql(pairs in proptest::collection::vec((key(), value()), 0..5)) {
        let (store, _) = PortalStore::open(None)?;
        store.create()?;
        let filter: Map<String, Value> = pairs.into_iter().collect();
        for entity in ALL {
            let condition = condition(entity, &[], &filter);
            let counted = store.count(entity, &condition.clause(), condition.args.clone());
            prop_assert_eq!(counted, Ok(0), "{} {:?}", entity.table, condition);
        }
    }

    /// Each record matches either a condition or its negation.
    #[test]
    fn a_condition_and_its_negation_cover_all_records(amounts in proptest::collection::vec(proptest::option::of(0_i64..4), 0..12), wanted in 0_i64..4) {
        let (store, _) = PortalStore::open(None)?;
        store.create()?;
        for amount in &amounts {
            let row = json!({"PROBABILITY": amount, "TITLE": amount.map(|amount| format!("Ёж {amount}"))});
            store.insert(&DEAL, row.as_object().unwrap_or(&Map::new()))?;
        }
        for (plus, minus, value) in [
            ("PROBABILITY", "!PROBABILITY", json!(wanted)),
            ("@PROBABILITY", "!@PROBABILITY", json!([wanted, 2])),
            ("TITLE", "!TITLE", json!(format!("еж {wanted}"))),
            ("%TITLE", "!%TITLE", json!(wanted.to_string())),
            ("TITLE", "!TITLE", json!("")),
        ] {
            let count = |key: &str| {
                let filter: Map<String, Value> = [(key.to_owned(), value.clone())].into_iter().collect();
                let condition = condition(&DEAL, &[], &filter);
                store.count(&DEAL, &condition.clause(), condition.args)
            };
            prop_assert_eq!(count(plus)? + count(minus)?, amounts.len() as i64, "{}", plus);
        }
    }
}
