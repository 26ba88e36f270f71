//! The fold of one kind: global data, and the data of each instance over it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fold::{self, Method};
use crate::message::Data;
use crate::origin::{Labels, Origins};
use crate::path::Segment;

/// The fold of one kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct View {
    global: Layer,
    instances: BTreeMap<String, Layer>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Layer {
    /// A stored null differs from no value.
    #[serde(with = "present", default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(with = "present", default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    labels: Labels,
}

/// Serialises a null as a value.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(value: &Option<Value>, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
        Value::deserialize(from).map(Some)
    }
}

impl View {
    /// The value at a path: the instance's data over the global data. Both are walked in parallel, and merged only at
    /// the end of the path.
    pub fn read(&self, path: &[Segment], instance: Option<&str>) -> Option<Cow<'_, Value>> {
        let mut under = self.global.value.as_ref();
        let mut over = instance.and_then(|name| self.instances.get(name)?.value.as_ref());
        for segment in path {
            if covers(under, over) {
                under = None;
            }
            under = under.and_then(|value| segment.of(value));
            over = over.and_then(|value| segment.of(value));
        }
        match (under, over) {
            (Some(under), Some(over)) if !covers(Some(under), Some(over)) => {
                Some(Cow::Owned(fold::overlay(under, over)))
            }
            (_, Some(over)) => Some(Cow::Borrowed(over)),
            (under, None) => under.map(Cow::Borrowed),
        }
    }

    /// The origins of the value at a path.
    pub(crate) fn origins(&self, path: &[Segment], instance: Option<&str>) -> Origins {
        let mut found = self.global.labels.at(path);
        if let Some(layer) = instance.and_then(|name| self.instances.get(name)) {
            let own = layer.value.as_ref().and_then(|value| path.iter().try_fold(value, |value, step| step.of(value)));
            match own {
                Some(own) if !own.is_object() => found = layer.labels.at(path),
                _ => found.join(&layer.labels.at(path)),
            }
        }
        found
    }

    /// Records the origins of data that was just written, and its schema and description. `is_new` is true if the place
    /// was empty.
    pub(super) fn note(&mut self, data: &Data, is_new: bool) {
        let instance = data.instance.as_deref();
        if let (path, method, Some(value)) = data.operation() {
            let sources = data.sources();
            let labels = &mut self.layer(instance).labels;
            labels.write(path, method, value, &sources);
            if is_new && matches!(method, Method::Push | Method::Concat) {
                // Labels of earlier data at this place must not apply to the first elements.
                labels.join_below(path, &sources);
            }
            for (dotted, origins) in data.parts.iter().flat_map(|parts| parts.iter()) {
                for (place, part) in self.places(path, method, value, dotted, instance) {
                    // A merge, and an assign at the written path itself, keep values that they do not write.
                    let adds = method == Method::Merge || place == path;
                    let method = if adds { method } else { Method::Set };
                    self.layer(instance).labels.write(&place, method, part, origins);
                }
            }
        }
        if data.schema.is_some() || data.description.is_some() {
            let layer = self.layer(instance);
            layer.schema = data.schema.as_deref().cloned().or_else(|| layer.schema.take());
            layer.description = data.description.clone().or_else(|| layer.description.take());
        }
    }

    /// The parts of a value just written that a dotted path names, each with its position.
    fn places<'v>(
        &self,
        path: &[Segment],
        method: Method,
        value: &'v Value,
        dotted: &str,
        instance: Option<&str>,
    ) -> Vec<(Vec<Segment>, &'v Value)> {
        let added = match (method, value) {
            (Method::Push, _) => std::slice::from_ref(value),
            (Method::Concat, Value::Array(items)) => items,
            // Text appended to other text is not a separate part.
            (Method::Concat, _) => &[],
            _ => {
                let mut found = Vec::new();
                named(value, path.to_vec(), dotted, &mut found);
                return found;
            }
        };
        let now = self.read(path, instance).and_then(|list| list.as_array().map(Vec::len)).unwrap_or_default();
        let mut found = Vec::new();
        for (index, item) in (now.saturating_sub(added.len())..).zip(added) {
            named(item, element(path, index), dotted, &mut found);
        }
        found
    }

    /// The origins of everything of this kind.
    pub(super) fn all_origins(&self) -> Origins {
        self.instances.values().fold(self.global.labels.at(&[]), |all, layer| all.joined(&layer.labels.at(&[])))
    }

    /// The schema for an instance, else the global one.
    pub fn schema(&self, instance: Option<&str>) -> Option<&Value> {
        self.layered(instance, |layer| layer.schema.as_ref())
    }

    /// The description for an instance, else the global one.
    pub fn description(&self, instance: Option<&str>) -> Option<&str> {
        self.layered(instance, |layer| layer.description.as_deref())
    }

    /// Whether this instance has data of this kind.
    pub fn has_instance(&self, name: &str) -> bool {
        self.instances.get(name).is_some_and(|layer| layer.value.is_some())
    }

    /// Whether any instance has data of this kind.
    pub fn is_instanced(&self) -> bool {
        self.instances.values().any(|layer| layer.value.is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.global.value.is_none() && !self.is_instanced()
    }

    fn layered<'a, T>(&'a self, instance: Option<&str>, get: impl Fn(&'a Layer) -> Option<T>) -> Option<T> {
        instance.and_then(|name| get(self.instances.get(name)?)).or_else(|| get(&self.global))
    }

    /// The value of a layer, for writing.
    pub(super) fn slot(&mut self, instance: Option<&str>) -> &mut Option<Value> {
        &mut self.layer(instance).value
    }

    fn layer(&mut self, instance: Option<&str>) -> &mut Layer {
        match instance {
            None => &mut self.global,
            Some(name) => self.instances.entry(name.to_owned()).or_default(),
        }
    }
}

/// All values at a dotted path, including those in elements of arrays. The empty path is the value itself.
pub fn named<'v>(value: &'v Value, at: Vec<Segment>, dotted: &str, found: &mut Vec<(Vec<Segment>, &'v Value)>) {
    let (first, rest) = dotted.split_once('.').unwrap_or((dotted, ""));
    match value {
        _ if dotted.is_empty() => found.push((at, value)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                named(item, element(&at, index), dotted, found);
            }
        }
        Value::Object(fields) => {
            if let Some(inner) = fields.get(first) {
                let mut below = at;
                below.push(Segment::Key(first.into()));
                named(inner, below, rest, found);
            }
        }
        _ => {}
    }
}

fn element(list: &[Segment], index: usize) -> Vec<Segment> {
    let mut path = list.to_vec();
    path.push(Segment::Index(i64::try_from(index).unwrap_or(i64::MAX)));
    path
}

/// Whether the instance's value replaces the global one instead of merging with it.
fn covers(under: Option<&Value>, over: Option<&Value>) -> bool {
    over.is_some_and(|over| !(over.is_object() && under.is_some_and(Value::is_object)))
}
