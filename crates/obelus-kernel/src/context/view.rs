//! One kind, folded: what is global, and what each instance lays over it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fold::{self, Method};
use crate::jq::Read;
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
    /// A kind may be null, and that is something else than not being there.
    #[serde(with = "present", default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// The value as filters have it, from when one asks for it until it is written to.
    #[serde(skip)]
    for_filters: OnceLock<Read>,
    #[serde(with = "present", default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    labels: Labels,
}

/// What is written down is there, even if it is null.
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
    /// The value at a path for an instance, own over global, or of global data only.
    ///
    /// Both trees are walked side by side, and merged only at the end of the path.
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

    /// All global data, as filters have it.
    pub(crate) fn for_filters(&self) -> Option<&Read> {
        let value = self.global.value.as_ref()?;
        Some(self.global.for_filters.get_or_init(|| Read::new(value)))
    }

    /// Where the value at a path comes from, for an instance or of global data only.
    pub fn origins(&self, path: &[Segment], instance: Option<&str>) -> Origins {
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

    /// A part of what was just written comes from elsewhere than the rest of it. What stood there before, or is
    /// written by others, is no such part.
    pub(super) fn label_part(
        &mut self,
        instance: Option<&str>,
        path: &[Segment],
        method: Method,
        value: &Value,
        dotted: &str,
        origins: &Origins,
    ) {
        for (place, part) in self.places(path, method, value, dotted, instance) {
            // What is merged, and what was assigned as a whole, leaves alone what it did not bring.
            let adds = method == Method::Merge || place == path;
            self.label(instance, &place, if adds { method } else { Method::Set }, part, origins);
        }
    }

    /// Where the parts of a value just written now lie that a dotted path names, and what they are.
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
            // What joined a text is no part that could be told from the rest.
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

    /// Where everything of this kind comes from.
    pub(super) fn all_origins(&self) -> Origins {
        let mut all = self.global.labels.at(&[]);
        for layer in self.instances.values() {
            all.join(&layer.labels.at(&[]));
        }
        all
    }

    /// Adds origins to a place and to everything below it that has labels.
    pub(super) fn label_below(&mut self, instance: Option<&str>, path: &[Segment], origins: &Origins) {
        self.layer(instance).labels.join_below(path, origins);
    }

    pub(super) fn label(
        &mut self,
        instance: Option<&str>,
        path: &[Segment],
        method: Method,
        value: &Value,
        origins: &Origins,
    ) {
        self.layer(instance).labels.write(path, method, value, origins);
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

    /// The place of a value, to write to it.
    pub(super) fn slot(&mut self, instance: Option<&str>) -> &mut Option<Value> {
        let layer = self.layer(instance);
        layer.for_filters.take();
        &mut layer.value
    }

    pub(super) fn describe(&mut self, instance: Option<&str>, schema: Option<&Value>, description: Option<&String>) {
        let layer = self.layer(instance);
        if schema.is_some() {
            layer.schema = schema.cloned();
        }
        if description.is_some() {
            layer.description = description.cloned();
        }
    }

    fn layer(&mut self, instance: Option<&str>) -> &mut Layer {
        match instance {
            None => &mut self.global,
            Some(name) => self.instances.entry(name.to_owned()).or_default(),
        }
    }
}

/// Everything in a value that a dotted path names. Arrays are looked through, an empty path is the value itself.
pub(crate) fn named<'v>(value: &'v Value, at: Vec<Segment>, dotted: &str, found: &mut Vec<(Vec<Segment>, &'v Value)>) {
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

/// Whether the instance's value hides the global one instead of merging with it.
fn covers(under: Option<&Value>, over: Option<&Value>) -> bool {
    over.is_some_and(|over| !(over.is_object() && under.is_some_and(Value::is_object)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jq::Filter;
    use serde_json::json;

    #[test]
    fn filters_have_the_value_as_it_is_now() {
        let mut view = View::default();
        let seen = |view: &View| Filter::compile(".").unwrap().one_read(view.for_filters()?).ok();
        assert_eq!(seen(&view), None);
        for value in [json!({"a": 1}), json!({"a": 2}), json!(null)] {
            *view.slot(None) = Some(value.clone());
            assert_eq!(seen(&view), Some(value.clone()));
            *view.slot(Some("one")) = Some(json!("its own"));
            assert_eq!((seen(&view), seen(&view.clone())), (Some(value.clone()), Some(value)));
        }
        *view.slot(None) = None;
        assert_eq!(seen(&view), None);
    }
}
