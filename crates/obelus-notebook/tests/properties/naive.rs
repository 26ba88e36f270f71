//! A second implementation of the context's rules, close to the specification and slow: every write copies, every read
//! merges whole trees.

use std::collections::BTreeMap;

use obelus_notebook::fold::Method;
use obelus_notebook::path::{Path, Segment};
use serde_json::{Map, Value};

use crate::generate::{INSTANCES, KINDS, Write};

/// A write that the rules do not permit.
#[derive(Debug)]
pub(crate) struct Refused;

/// The fold of a list of messages: a value for each kind and instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(BTreeMap<(String, Option<String>), Value>);

impl Memory {
    /// Appends the whole batch, or returns the index of the refused message.
    pub(crate) fn append(&mut self, batch: &[Write]) -> Result<(), usize> {
        let mut next = self.clone();
        for (index, message) in batch.iter().enumerate() {
            next.fold(message).map_err(|Refused| index)?;
        }
        *self = next;
        Ok(())
    }

    fn fold(&mut self, message: &Write) -> Result<(), Refused> {
        let identity = (message.kind.clone(), message.instance.clone());
        let (path, method, value) = operation(message);
        let value = put(self.0.get(&identity).cloned(), &path, method, value)?;
        self.0.insert(identity, value);
        Ok(())
    }

    /// The value of a kind for an instance: its own data over the global data.
    pub(crate) fn whole(&self, kind: &str, instance: Option<&str>) -> Option<Value> {
        let global = self.0.get(&(kind.to_owned(), None)).cloned();
        let own = instance.and_then(|name| self.0.get(&(kind.to_owned(), Some(name.to_owned()))).cloned());
        match (global, own) {
            (Some(global), Some(own)) => Some(merged(global, own)),
            (global, own) => own.or(global),
        }
    }
}

fn operation(message: &Write) -> (Vec<Segment>, Method, Value) {
    let Some(output) = &message.output else {
        let method = match message.kind.as_str() {
            "error" => Method::Set,
            _ => message.method.unwrap_or(Method::Merge),
        };
        return (Vec::new(), method, message.data.clone());
    };
    let candidates: Vec<Path> = match &output.own {
        Some(path) => vec![path.clone()],
        None if output.of_call.is_empty() => vec![Path::root(message.kind.clone())],
        None => output.of_call.clone(),
    };
    let of_kind = candidates.into_iter().filter(|path| path.kind == message.kind);
    let mut spelled = of_kind.filter_map(|path| Some((spelled(&path.segments, &message.data)?, path.segments)));
    let (value, path) = spelled.next().expect("a generated message spells one of its paths");
    (path.into_vec(), message.method.unwrap_or(Method::Set), value)
}

/// A segment as a key.
pub(crate) fn spelling(segment: &Segment) -> String {
    match segment {
        Segment::Field(name) | Segment::Key(name) => name.to_string(),
        Segment::Index(index) => index.to_string(),
    }
}

fn spelled(path: &[Segment], data: &Value) -> Option<Value> {
    let mut value = data;
    for segment in path {
        value = match value {
            Value::Object(map) => map.get(&spelling(segment))?,
            Value::Array(items) => &items[position(segment, items.len())?],
            _ => return None,
        };
    }
    Some(value.clone())
}

/// The element of an array at a segment. A quoted key is never an element.
fn position(segment: &Segment, len: usize) -> Option<usize> {
    let index = match segment {
        Segment::Key(_) => return None,
        Segment::Field(name) => name.chars().all(|c| c.is_ascii_digit()).then(|| name.parse().unwrap())?,
        Segment::Index(index) if *index < 0 => i64::try_from(len).unwrap() + index,
        Segment::Index(index) => *index,
    };
    usize::try_from(index).ok().filter(|index| *index < len)
}

fn put(there: Option<Value>, path: &[Segment], method: Method, value: Value) -> Result<Value, Refused> {
    let Some((segment, rest)) = path.split_first() else {
        return joined(there, method, value);
    };
    match there {
        Some(Value::Array(mut items)) => {
            let index = position(segment, items.len()).ok_or(Refused)?;
            items[index] = put(Some(items[index].clone()), rest, method, value)?;
            Ok(Value::Array(items))
        }
        _ if matches!(segment, Segment::Index(index) if *index < 0) => Err(Refused),
        other => {
            let mut map = match other {
                Some(Value::Object(map)) => map,
                _ => Map::new(),
            };
            let below = put(map.get(&spelling(segment)).cloned(), rest, method, value)?;
            map.insert(spelling(segment), below);
            Ok(Value::Object(map))
        }
    }
}

fn joined(there: Option<Value>, method: Method, value: Value) -> Result<Value, Refused> {
    Ok(match (method, there, value) {
        (Method::Set, _, value) => value,
        (Method::Merge, Some(there), value) => merged(there, value),
        (Method::Assign, Some(Value::Object(mut there)), Value::Object(value)) => {
            there.extend(value);
            Value::Object(there)
        }
        (Method::Merge | Method::Assign, _, value) => value,
        (Method::Push, None, value) => Value::Array(vec![value]),
        (Method::Push, Some(Value::Array(mut items)), value) => {
            items.push(value);
            Value::Array(items)
        }
        (Method::Concat, None, value @ (Value::Array(_) | Value::String(_))) => value,
        (Method::Concat, Some(Value::Array(there)), Value::Array(value)) => [there, value].concat().into(),
        (Method::Concat, Some(Value::String(there)), Value::String(value)) => (there + &value).into(),
        (Method::Push | Method::Concat, ..) => return Err(Refused),
    })
}

fn merged(under: Value, over: Value) -> Value {
    let (Value::Object(mut under), Value::Object(over)) = (under, over.clone()) else { return over };
    for (key, value) in over {
        let value = match under.get(&key) {
            Some(there) => merged(there.clone(), value),
            None => value,
        };
        under.insert(key, value);
    }
    Value::Object(under)
}

/// The value at a path, with the rules for references.
pub(crate) fn at(value: Option<&Value>, path: &[Segment]) -> Option<Value> {
    let mut value = value?;
    for segment in path {
        value = match (segment, value) {
            (Segment::Field(name) | Segment::Key(name), Value::Object(map)) => map.get(name.as_str())?,
            (_, Value::Array(items)) => &items[position(segment, items.len())?],
            _ => return None,
        };
    }
    Some(value.clone())
}

/// All kinds, each for all readers.
pub(crate) fn readers() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let instances = || std::iter::once(None).chain(INSTANCES.into_iter().map(Some));
    KINDS.into_iter().flat_map(move |kind| instances().map(move |instance| (kind, instance)))
}

/// All paths into a value, with all spellings of the last segment, and some paths just outside of it.
pub(crate) fn paths(value: Option<&Value>) -> Vec<Vec<Segment>> {
    let mut found = vec![Vec::new()];
    let (tries, children): (Vec<Segment>, Vec<(Segment, &Value)>) = match value {
        Some(Value::Object(map)) => (
            map.keys().flat_map(|key| [Segment::Key(key.into()), Segment::Index(key.parse().unwrap_or(0))]).collect(),
            map.iter().map(|(key, child)| (Segment::Field(key.into()), child)).collect(),
        ),
        Some(Value::Array(items)) => {
            let len = i64::try_from(items.len()).unwrap();
            let edge = [Segment::Index(len), Segment::Index(-len - 1), Segment::Key("0".into())];
            let spellings =
                (0..len).flat_map(|index| [Segment::Index(index - len), Segment::Field(index.to_string().into())]);
            (spellings.chain(edge).collect(), (0..).map(Segment::Index).zip(items).collect())
        }
        _ => (vec![Segment::Field("a".into()), Segment::Index(0)], Vec::new()),
    };
    found.extend(tries.into_iter().chain([Segment::Field("missing".into())]).map(|segment| vec![segment]));
    for (segment, child) in children {
        found.extend(paths(Some(child)).into_iter().map(|mut below| {
            below.insert(0, segment.clone());
            below
        }));
    }
    found
}
