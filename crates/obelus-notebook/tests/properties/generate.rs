//! Random inputs. Names are from a small pool, so that writes often meet.

use obelus_notebook::fold::Method;
use obelus_notebook::message::Message;
use obelus_notebook::path::{Path, Segment};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

pub(crate) const KINDS: [&str; 5] = ["state", "data", "notes", "input", "error"];
pub(crate) const INSTANCES: [&str; 3] = ["ada", "bob", "cyd"];

/// A data message, with its parts as fields for the tests.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) kind: String,
    pub(crate) instance: Option<String>,
    pub(crate) method: Option<Method>,
    pub(crate) description: Option<String>,
    pub(crate) data: Value,
    /// Set if the message is the result of a call.
    pub(crate) output: Option<OutputPaths>,
}

/// The target of a call's result: the message's own path, else one of the call's paths.
#[derive(Clone, Debug)]
pub(crate) struct OutputPaths {
    pub(crate) own: Option<Path>,
    pub(crate) of_call: Vec<Path>,
}

impl Write {
    pub(crate) fn to_json(&self) -> Value {
        let mut fields = Map::new();
        if ["state", "input", "error"].contains(&self.kind.as_str()) {
            fields.insert("type".into(), self.kind.clone().into());
        } else {
            fields.insert("type".into(), "data".into());
            fields.insert("kind".into(), self.kind.clone().into());
        }
        fields.insert("data".into(), self.data.clone());
        fields.extend(self.instance.clone().map(|name| ("_instance".into(), name.into())));
        fields.extend(self.method.map(|method| ("_outputMethod".into(), method.name().into())));
        fields.extend(self.description.clone().map(|text| ("description".into(), text.into())));
        if let Some(output) = &self.output {
            let mut call = json!({"_tool": "t"});
            if !output.of_call.is_empty() {
                let paths: Vec<_> = output.of_call.iter().map(Path::to_string).collect();
                call["_outputPath"] = paths.join(" && ").into();
            }
            fields.insert("_call".into(), call);
            fields.extend(output.own.as_ref().map(|path| ("_outputPath".into(), path.to_string().into())));
        }
        Value::Object(fields)
    }

    pub(crate) fn to_message(&self) -> Message {
        Message::from_value(self.to_json()).expect("a generated message is well formed").message
    }
}

pub(crate) fn instance() -> impl Strategy<Value = Option<String>> {
    option::weighted(0.6, select(&INSTANCES[..]).prop_map(str::to_owned))
}

fn key() -> impl Strategy<Value = String> {
    select(&["a", "b", "c", "0", "1", "-1", "x.y"][..]).prop_map(str::to_owned)
}

pub(crate) fn segment() -> impl Strategy<Value = Segment> {
    let field = |names: &'static [&str]| select(names).prop_map(|name| Segment::Field(name.into()));
    prop_oneof![
        6 => field(&["a", "b", "c"]),
        2 => field(&["0", "1", "2", "-1"]),
        1 => key().prop_map(|key| Segment::Key(key.into())),
        2 => (-3..4i64).prop_map(Segment::Index),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..10).prop_map(Value::from),
        "[a-zя]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), object(inner).prop_map(Value::Object)]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((key(), inner), 0..4).prop_map(|fields| fields.into_iter().collect())
}

fn method() -> impl Strategy<Value = Option<Method>> {
    option::weighted(0.7, select(Method::ALL.map(|(_, method)| method).to_vec()))
}

/// A message of any kind and form.
pub(crate) fn write() -> impl Strategy<Value = Write> {
    prop_oneof![1 => plain(), 2 => result()]
}

fn plain() -> impl Strategy<Value = Write> {
    let data = prop_oneof![3 => object(value()).prop_map(Value::Object), 1 => value()];
    (select(&KINDS[..]), instance(), method(), option::weighted(0.1, "[a-z]{3}"), data).prop_map(
        |(kind, instance, method, description, data)| Write {
            kind: kind.to_owned(),
            instance,
            method,
            description,
            data,
            output: None,
        },
    )
}

/// The result of a call: `data` contains the path, and often other values, which must not be written.
fn result() -> impl Strategy<Value = Write> {
    let path = |depth| vec(segment(), depth);
    let beside = object(value());
    let decoys = vec((select(&KINDS[..3]), path(0..3)), 0..3);
    (select(&KINDS[..3]), path(0..5), instance(), method(), value(), beside, any::<[bool; 2]>(), decoys).prop_map(
        |(kind, segments, instance, method, value, beside, [as_arrays, own], decoys)| {
            let data = spell(&segments, value, &beside, as_arrays);
            let path = Path { kind: kind.into(), segments: segments.into() };
            let mut of_call: Vec<_> = decoys
                .into_iter()
                .map(|(kind, segments)| Path { kind: kind.into(), segments: segments.into() })
                .collect();
            // The result of a call without paths is written to the root of the kind.
            if !path.segments.is_empty() {
                of_call.push(path.clone());
            } else if !own {
                of_call.clear();
            }
            let output = OutputPaths { own: own.then_some(path), of_call };
            Write { kind: kind.to_owned(), instance, method, description: None, data, output: Some(output) }
        },
    )
}

fn spell(path: &[Segment], value: Value, beside: &Map<String, Value>, as_arrays: bool) -> Value {
    let Some((segment, rest)) = path.split_first() else { return value };
    let inner = spell(rest, value, beside, as_arrays);
    let (before, after) = match segment {
        Segment::Index(n) if *n >= 0 => (*n, 0),
        Segment::Index(n) => (0, -n - 1),
        Segment::Field(digits) if digits.parse::<u8>().is_ok() => (digits.parse().unwrap(), 0),
        _ => return with_key(segment, inner, beside),
    };
    if !as_arrays {
        return with_key(segment, inner, beside);
    }
    let fill = |count: i64| std::iter::repeat_n(json!("beside"), usize::try_from(count).unwrap());
    fill(before).chain([inner]).chain(fill(after)).collect()
}

fn with_key(segment: &Segment, inner: Value, beside: &Map<String, Value>) -> Value {
    let mut map = beside.clone();
    map.insert(crate::naive::spelling(segment), inner);
    Value::Object(map)
}
