//! For any schema of a tool, the composed schema is strict, and an answer that it permits is parsed as the intended
//! call, whole and in pieces.

use std::borrow::Cow;

use obelus_kernel::CallJson;
use obelus_kernel::compose::{Offer, compose, without_nulls};
use obelus_kernel::dialect::Dialect;
use obelus_kernel::dialect::{Piece, Reader};
use obelus_kernel::{Call, Context, PlanMode};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::rules::breaches;
use crate::writer::written;

/// The number of cases, unless `PROPTEST_CASES` sets another.
fn cases(usual: u32) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}

/// A schema and a valid value.
type Typed = (Value, Value);

/// Texts; some are references.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just("†state.a".to_owned()), "[a-zа-я \"\\\\{}]{0,8}"]
}

fn reference_or(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![3 => value, 1 => Just(json!("†state.rows[0].id"))].boxed()
}

/// Any JSON, with misleading names.
fn anything() -> BoxedStrategy<Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    plain
        .prop_recursive(3, 12, 3, |inner| {
            prop_oneof![prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from), object_of(inner)]
        })
        .boxed()
}

fn object_of(values: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop::collection::btree_map(free_name(), values, 0..3)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
        .boxed()
}

fn free_name() -> impl Strategy<Value = String> {
    let known = ["name", "value", "_entries", "_tool", ">=SUM", "UF_CRM_1", ""].map(str::to_owned);
    prop_oneof![prop::sample::select(known.to_vec()), "[a-z]{1,4}"]
}

fn leaf() -> BoxedStrategy<Typed> {
    let of =
        |schema: Value, values: BoxedStrategy<Value>| values.prop_map(move |value| (schema.clone(), value)).boxed();
    let number = any::<i16>().prop_map(Value::from);
    prop_oneof![
        of(json!({"type": "string"}), text().prop_map(Value::from).boxed()),
        of(json!({"type": "integer", "minimum": -40000}), reference_or(number.clone())),
        of(json!({"type": ["integer", "string"], "description": "either"}), reference_or(number)),
        of(json!({"type": "boolean"}), reference_or(any::<bool>().prop_map(Value::from))),
        of(json!({"enum": ["x", "y", 1]}), reference_or(prop::sample::select(vec![json!("x"), json!(1)]))),
        of(json!({"type": ["string", "null"]}), prop_oneof![Just(Value::Null), text().prop_map(Value::from)].boxed()),
        of(
            json!({"type": "string", "format": "uri", "title": "t", "minLength": 0}),
            text().prop_map(Value::from).boxed()
        ),
        of(json!({"description": "whatever"}), anything()),
        of(json!(true), anything()),
        of(json!({"type": "object"}), reference_or(object_of(anything()))),
        of(json!({"type": "array"}), prop::collection::vec(anything(), 0..3).prop_map(Value::from).boxed()),
    ]
    .boxed()
}

fn typed() -> BoxedStrategy<Typed> {
    leaf()
        .prop_recursive(4, 24, 3, |inner| {
            prop_oneof![
                (inner.clone(), 0..3_usize).prop_map(|((schema, value), count)| {
                    (json!({"type": "array", "items": schema}), vec![value; count].into())
                }),
                (shape(inner.clone()), any::<bool>()).prop_map(|((mut schema, value), is_closed)| {
                    if is_closed {
                        schema["additionalProperties"] = false.into();
                    }
                    (schema, value)
                }),
                // Named properties and additional ones.
                (shape(inner.clone()), anything()).prop_map(|((mut schema, mut value), other)| {
                    schema["additionalProperties"] = true.into();
                    value["other"] = other;
                    (schema, value)
                }),
                // Any names, with values of one schema.
                (inner.clone(), prop::collection::btree_set(free_name(), 0..3)).prop_map(|((schema, value), names)| {
                    let fields: Map<_, _> = names.into_iter().map(|name| (name, value.clone())).collect();
                    (json!({"type": "object", "additionalProperties": schema}), Value::Object(fields))
                }),
                inner
                    .clone()
                    .prop_map(|(schema, value)| (json!({"anyOf": [{"type": "string", "enum": ["z"]}, schema]}), value)),
                inner.prop_map(|(schema, value)| (json!({"allOf": [schema], "description": "joined"}), value)),
            ]
        })
        .boxed()
}

/// An object with some named properties, some of them optional.
fn shape(inner: impl Strategy<Value = Typed> + 'static) -> BoxedStrategy<Typed> {
    let member = (inner, any::<bool>(), any::<bool>());
    prop::collection::btree_map("[a-z_]{1,3}", member, 1..4)
        .prop_map(|members| {
            let (mut properties, mut required, mut fields) = (Map::new(), Vec::new(), Map::new());
            for (name, ((schema, value), is_required, is_there)) in members {
                // For an optional property null means absent, unless its schema permits null: then it cannot be absent.
                let is_required = is_required || (value.is_null() && !says_null(&schema));
                if is_required {
                    required.push(name.clone());
                }
                if is_there || is_required || says_null(&schema) {
                    fields.insert(name.clone(), value);
                }
                properties.insert(name, schema);
            }
            let schema = json!({"type": "object", "properties": properties, "required": required});
            (schema, Value::Object(fields))
        })
        .boxed()
}

fn says_null(schema: &Value) -> bool {
    let has_null = schema["type"].as_array().is_some_and(|types| types.contains(&"null".into()));
    has_null || schema["anyOf"].as_array().is_some_and(|members| members.iter().any(says_null))
}

/// The parameters of a call, with a text in place of each reference.
fn params(call: &Value, context: &Context) -> Result<Value, String> {
    let (call, faults) = Call::read(&call.clone().into(), context);
    if !faults.is_empty() {
        return Err(format!("{faults:?}"));
    }
    let found = |path: &obelus_kernel::Path| Some(Cow::Owned(json!(format!("found {path}"))));
    let resolved = call
        .params
        .iter()
        .map(|(name, value)| Ok((name.to_string(), value.resolve(&found).map_err(|e| format!("{e:?}"))?)));
    Ok(Value::Object(resolved.collect::<Result<_, String>>()?))
}

fn calls_in_pieces(text: &str, piece: usize) -> Vec<CallJson> {
    let mut reader = Reader::new(Dialect::Json);
    let mut calls = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    for part in characters.chunks(piece) {
        reader.push(&part.iter().collect::<String>(), |piece| {
            if let Piece::Call { call, .. } = piece {
                calls.push(call);
            }
        });
    }
    calls
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn composed_schemas_are_strict_and_answers_are_read_back(
        (one, first) in typed(),
        (two, second) in typed(),
        is_open in any::<bool>(),
        piece in 1..9_usize,
    ) {
        let mut tool = json!({"type": "object", "$defs": {"one": one}, "properties": {"p": {"$ref": "#/$defs/one"}, "q": two},
            "required": ["p", "q"], "x-effect": "read"});
        let mut call = json!({"_tool": "t", "p": first, "q": second, "_outputPath": "†state.a"});
        if is_open {
            tool["additionalProperties"] = true.into();
            call["free"] = json!({"a": [1, null]});
        }
        let context = Context::from_value(json!([{"type": "tool", "tool": {"t": tool}}])).unwrap();
        let composed = compose(&context, None, PlanMode::Eager, |_| Offer::Call, |_| false);
        prop_assert_eq!(&composed.loose, &Vec::<String>::new());
        prop_assert_eq!(breaches(&composed.schema), Vec::<String>::new());

        let meant = params(&call, &context);
        prop_assert!(meant.is_ok(), "{:?}", meant);
        let answer = written(&json!({"calls": [call]}), &composed.schema);
        let answer = answer.ok_or_else(|| TestCaseError::fail("there is no way to say it"))?;
        prop_assert!(jsonschema::is_valid(&composed.schema, &answer), "{answer}");
        let text = answer.to_string();
        let solution = Dialect::Json.read(&text).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&params(&solution.calls[0], &context), &meant);
        prop_assert_eq!(calls_in_pieces(&text, piece), solution.calls);
    }

    /// The same for the output of the model.
    #[test]
    fn a_result_in_the_strict_form_is_read_back((schema, value) in typed()) {
        let context = Context::from_value(json!([])).unwrap();
        let composed = compose(&context, Some(&schema), PlanMode::Eager, |_| Offer::Call, |_| false);
        prop_assert_eq!(breaches(&composed.schema), Vec::<String>::new());
        // References are possible in parameters only, so here values must fit their types.
        prop_assume!(jsonschema::is_valid(&schema, &value));
        let answer = written(&json!({"calls": [], "output": value}), &composed.schema);
        let answer = answer.ok_or_else(|| TestCaseError::fail("there is no way to say it"))?;
        prop_assert!(jsonschema::is_valid(&composed.schema, &answer), "{answer}");
        let solution = Dialect::Json.read(&answer.to_string()).map_err(TestCaseError::fail)?;
        prop_assert_eq!(without_nulls(&solution.output, &schema).into_owned(), value);
    }
}

#[test]
fn a_tree_of_any_depth_is_read_back() {
    let node = json!({"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"},
        "below": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["name"], "additionalProperties": false});
    let tool = json!({"type": "object", "$defs": {"node": node}, "properties": {"root": {"$ref": "#/$defs/node"}}, "x-effect": "read"});
    let context = Context::from_value(json!([{"type": "tool", "tool": {"t": tool}}])).unwrap();
    let composed = compose(&context, None, PlanMode::Eager, |_| Offer::Call, |_| false);
    assert_eq!((composed.loose, breaches(&composed.schema)), (vec![], vec![]));
    let mut tree = json!({"name": "leaf", "size": 1});
    for _ in 0..5 {
        tree = json!({"name": "n", "below": [tree, {"name": "other"}]});
    }
    let call = json!({"_tool": "t", "root": tree});
    let answer = written(&json!({"calls": [call]}), &composed.schema).unwrap();
    assert!(jsonschema::is_valid(&composed.schema, &answer));
    let solution = Dialect::Json.read(&answer.to_string()).unwrap();
    assert_eq!(params(&solution.calls[0], &context).unwrap()["root"], tree);
}
