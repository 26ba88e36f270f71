//! The fold: how a write changes a value, and how to undo it.

use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::path::{Segment, nested};
use crate::wording::type_name;

/// How a written value is combined with the value at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Replaces the value.
    Set,
    /// Merges objects deeply; other values are replaced.
    Merge,
    /// Merges the keys of an object; other values are replaced.
    Assign,
    /// Appends the value as one element.
    Push,
    /// Appends every element of an array, or a string to a string.
    Concat,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(&'static str, Method); 5] = [
        ("set", Method::Set),
        ("merge", Method::Merge),
        ("assign", Method::Assign),
        ("push", Method::Push),
        ("concat", Method::Concat),
    ];

    /// The method with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, method)| method)
    }

    /// The method's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |&(name, _)| name)
    }

    /// The value that the method writes to an empty place.
    fn first(self, value: Value) -> Result<Value, String> {
        match self {
            Method::Push => Ok(Value::Array(vec![value])),
            Method::Concat if !value.is_array() && !value.is_string() => {
                Err(format!("concat takes an array or a string, not {}", type_name(&value)))
            }
            _ => Ok(value),
        }
    }
}

/// The data to undo a write: only the replaced parts, without a copy of the rest.
#[derive(Debug)]
pub(crate) struct Undo {
    /// The number of segments of the written path that lead to the change.
    depth: usize,
    change: Replaced,
}

#[derive(Debug)]
enum Replaced {
    /// The place was empty.
    Absent,
    /// The previous value.
    Was(Value),
    /// The previous length of an array or a string.
    Len(usize),
    /// The changed fields of an object.
    Fields(Vec<(String, Replaced)>),
}

impl Undo {
    fn here(change: Replaced) -> Self {
        Self { depth: 0, change }
    }

    /// The same change, relative to the parent path.
    fn one_up(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    /// Whether the place was empty before the write.
    pub(crate) fn created_place(&self) -> bool {
        matches!(self.change, Replaced::Absent)
    }
}

/// Writes `value` at `path` below `root`. If it fails, nothing has changed.
pub(crate) fn write(root: &mut Option<Value>, path: &[Segment], method: Method, value: Value) -> Result<Undo, String> {
    match root {
        Some(node) => write_below(node, path, method, value),
        None => {
            *root = Some(build(path, method, value)?);
            Ok(Undo::here(Replaced::Absent))
        }
    }
}

/// Undoes the latest write to `root`, which was at `path`.
pub(crate) fn undo_write(root: &mut Option<Value>, path: &[Segment], undo: Undo) {
    match (undo.change, path[..undo.depth].split_last()) {
        (Replaced::Absent, None) => *root = None,
        (Replaced::Absent, Some((last, above))) => {
            if let Some(Value::Object(map)) = node_at(root, above) {
                map.shift_remove(last.key().as_ref());
            }
        }
        (change, _) => {
            if let Some(node) = node_at(root, &path[..undo.depth]) {
                undo_at(node, change);
            }
        }
    }
}

fn node_at<'a>(root: &'a mut Option<Value>, path: &[Segment]) -> Option<&'a mut Value> {
    path.iter().try_fold(root.as_mut()?, |node, segment| match node {
        Value::Object(map) => map.get_mut(segment.key().as_ref()),
        Value::Array(items) => segment.element(items.len()).and_then(|index| items.get_mut(index)),
        _ => None,
    })
}

fn write_below(node: &mut Value, path: &[Segment], method: Method, value: Value) -> Result<Undo, String> {
    let Some((segment, rest)) = path.split_first() else {
        return join(node, method, value).map(Undo::here);
    };
    match node {
        Value::Object(map) => {
            if segment.is_from_end() {
                return Err(no_array(segment));
            }
            let undo = match map.entry(segment.key()) {
                Entry::Occupied(mut child) => write_below(child.get_mut(), rest, method, value)?,
                Entry::Vacant(place) => {
                    place.insert(build(rest, method, value)?);
                    Undo::here(Replaced::Absent)
                }
            };
            Ok(undo.one_up())
        }
        Value::Array(items) => {
            let len = items.len();
            let Some(index) = segment.element(len) else {
                return Err(format!("there is an array of {len} elements, and `{}` is none of them", segment.key()));
            };
            Ok(write_below(&mut items[index], rest, method, value)?.one_up())
        }
        scalar => Ok(Undo::here(replace(scalar, build(path, method, value)?))),
    }
}

/// The value that a write creates at an empty place. Its parents become objects.
fn build(path: &[Segment], method: Method, value: Value) -> Result<Value, String> {
    if let Some(segment) = path.iter().find(|segment| segment.is_from_end()) {
        return Err(no_array(segment));
    }
    Ok(nested(path, method.first(value)?))
}

fn join(node: &mut Value, method: Method, value: Value) -> Result<Replaced, String> {
    match (method, node, value) {
        (Method::Merge, Value::Object(into), Value::Object(from)) => Ok(merge(into, from, merge_value)),
        (Method::Assign, Value::Object(into), Value::Object(from)) => Ok(merge(into, from, replace)),
        (Method::Push, Value::Array(items), value) => {
            items.push(value);
            Ok(Replaced::Len(items.len() - 1))
        }
        (Method::Concat, Value::Array(items), Value::Array(more)) => {
            let len = items.len();
            items.extend(more);
            Ok(Replaced::Len(len))
        }
        (Method::Concat, Value::String(text), Value::String(more)) => {
            let len = text.len();
            text.push_str(&more);
            Ok(Replaced::Len(len))
        }
        (Method::Push, node, _) => Err(format!("push needs an array, and there is {}", type_name(node))),
        (Method::Concat, node, value) => {
            Err(format!("concat of {} cannot join {}", type_name(&value), type_name(node)))
        }
        (_, node, value) => Ok(replace(node, value)),
    }
}

fn merge(into: &mut Map<String, Value>, from: Map<String, Value>, each: fn(&mut Value, Value) -> Replaced) -> Replaced {
    let mut changes = Vec::with_capacity(from.len());
    for (key, value) in from {
        let change = match into.get_mut(&key) {
            Some(child) => each(child, value),
            None => {
                into.insert(key.clone(), value);
                Replaced::Absent
            }
        };
        changes.push((key, change));
    }
    Replaced::Fields(changes)
}

fn merge_value(node: &mut Value, value: Value) -> Replaced {
    match (node, value) {
        (Value::Object(into), Value::Object(from)) => merge(into, from, merge_value),
        (node, value) => replace(node, value),
    }
}

fn replace(node: &mut Value, value: Value) -> Replaced {
    Replaced::Was(std::mem::replace(node, value))
}

fn undo_at(node: &mut Value, change: Replaced) {
    match (change, node) {
        (Replaced::Was(old), node) => *node = old,
        (Replaced::Len(len), Value::Array(items)) => items.truncate(len),
        (Replaced::Len(len), Value::String(text)) => text.truncate(len),
        (Replaced::Fields(changes), Value::Object(map)) => {
            for (key, change) in changes.into_iter().rev() {
                match (change, map.get_mut(&key)) {
                    (Replaced::Absent, _) => {
                        map.shift_remove(&key);
                    }
                    (change, Some(child)) => undo_at(child, change),
                    (_, None) => {}
                }
            }
        }
        _ => {}
    }
}

/// An instance's data over the global data: objects merge deeply, other values are replaced.
pub(crate) fn overlay(under: &Value, over: &Value) -> Value {
    let mut result = under.clone();
    merge_value(&mut result, over.clone());
    result
}

fn no_array(segment: &Segment) -> String {
    format!("index {} counts from the end of an array, and there is none", segment.key())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::segments_of as at;
    use serde_json::json;

    #[test]
    fn a_write_changes_its_path_and_can_be_undone() {
        let before = json!({"a": {"b": [1, 2], "s": "x"}, "n": null});
        for (path, method, value, after) in [
            ("†k.a.b[1]", Method::Set, json!(9), json!({"a": {"b": [1, 9], "s": "x"}, "n": null})),
            ("†k.a.b.0", Method::Set, json!(9), json!({"a": {"b": [9, 2], "s": "x"}, "n": null})),
            ("†k.a.b", Method::Push, json!([3]), json!({"a": {"b": [1, 2, [3]], "s": "x"}, "n": null})),
            ("†k.a.b", Method::Concat, json!([3]), json!({"a": {"b": [1, 2, 3], "s": "x"}, "n": null})),
            ("†k.a.s", Method::Concat, json!("y"), json!({"a": {"b": [1, 2], "s": "xy"}, "n": null})),
            ("†k.n.deep[0]", Method::Push, json!(1), json!({"a": {"b": [1, 2], "s": "x"}, "n": {"deep": {"0": [1]}}})),
            ("†k", Method::Merge, json!({"a": {"c": 1}}), json!({"a": {"b": [1, 2], "s": "x", "c": 1}, "n": null})),
            ("†k", Method::Assign, json!({"a": {"c": 1}}), json!({"a": {"c": 1}, "n": null})),
        ] {
            let mut root = Some(before.clone());
            let undo = write(&mut root, &at(path), method, value).unwrap();
            assert_eq!(root, Some(after), "{path}");
            undo_write(&mut root, &at(path), undo);
            assert_eq!(root, Some(before.clone()), "{path} undone");
        }
    }

    #[test]
    fn a_failed_write_changes_nothing() {
        let before = json!({"list": [1], "text": "x", "obj": {}});
        for (path, method, value) in [
            ("†k.list[1]", Method::Set, json!(1)),
            ("†k.list[-2]", Method::Set, json!(1)),
            ("†k.list.name", Method::Set, json!(1)),
            ("†k.obj[-1]", Method::Set, json!(1)),
            ("†k.new.deep[-1]", Method::Set, json!(1)),
            ("†k.text", Method::Push, json!(1)),
            ("†k.text", Method::Concat, json!(["a"])),
            ("†k.new", Method::Concat, json!(5)),
        ] {
            let mut root = Some(before.clone());
            assert!(write(&mut root, &at(path), method, value).is_err(), "{path}");
            assert_eq!(root, Some(before.clone()), "{path}");
        }
    }
}
