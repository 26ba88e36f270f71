//! The origins of values. A value made of others has all their origins. Only overwriting a place with `set` discards
//! earlier ones.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::fold::Method;
use crate::names::{ByName, Name};
use crate::path::Segment;

/// One source of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The person.
    User,
    /// The agent's author.
    Author,
    /// The model.
    Model,
    /// A tool's result.
    Tool {
        /// The tool's name.
        name: Arc<str>,
        /// Whether its definition declares its results as trusted.
        trusted: bool,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::User => f.write_str("user"),
            Origin::Author => f.write_str("author"),
            Origin::Model => f.write_str("model"),
            Origin::Tool { name, trusted: true } => write!(f, "trusted:{name}"),
            Origin::Tool { name, trusted: false } => write!(f, "untrusted:{name}"),
        }
    }
}

/// All sources of a value. Cheap to clone, and usually cheap to join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(
    /// Sorted and never empty; `None` means no source.
    Option<Arc<[Origin]>>,
);

impl Origins {
    /// No sources.
    pub const NONE: &Self = &Self(None);

    /// A single source.
    pub fn of(origin: Origin) -> Self {
        Self(Some(Arc::new([origin])))
    }

    /// Adds the sources of another value.
    pub fn join(&mut self, other: &Origins) {
        let Some(theirs) = &other.0 else { return };
        match &mut self.0 {
            Some(own) if Arc::ptr_eq(own, theirs) || are_among(theirs, own) => {}
            Some(own) if !are_among(own, theirs) => *self = own.iter().chain(theirs.iter()).cloned().collect(),
            _ => self.0 = Some(theirs.clone()),
        }
    }

    /// The sources of both.
    #[must_use]
    pub fn joined(mut self, other: &Origins) -> Self {
        self.join(other);
        self
    }

    /// All sources.
    pub fn iter(&self) -> impl Iterator<Item = &Origin> {
        self.0.iter().flat_map(|all| all.iter())
    }

    /// The untrusted tools among the sources.
    pub fn untrusted(&self) -> impl Iterator<Item = &str> {
        self.iter().filter_map(|origin| match origin {
            Origin::Tool { name, trusted: false } => Some(name.as_ref()),
            _ => None,
        })
    }

    /// Whether no source is untrusted.
    pub fn is_trusted(&self) -> bool {
        self.untrusted().next().is_none()
    }

    /// The sources without untrusted tools.
    #[must_use]
    pub fn believed(self) -> Self {
        if self.is_trusted() {
            return self;
        }
        let is_believed = |origin: &&Origin| !matches!(origin, Origin::Tool { trusted: false, .. });
        self.iter().filter(is_believed).cloned().collect()
    }

    /// The JSON form in messages.
    pub fn to_json(&self) -> Value {
        self.iter().map(ToString::to_string).collect()
    }

    /// Parses the JSON form in messages. Unknown sources are ignored.
    pub fn from_json(value: &Value) -> Self {
        let read = |text: &str| match text.split_once(':') {
            Some(("trusted", name)) => Some(Origin::Tool { name: name.into(), trusted: true }),
            Some(("untrusted", name)) => Some(Origin::Tool { name: name.into(), trusted: false }),
            None if text == "user" => Some(Origin::User),
            None if text == "author" => Some(Origin::Author),
            None if text == "model" => Some(Origin::Model),
            _ => None,
        };
        let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.filter_map(read).collect()
    }
}

/// Whether `those`, which are sorted, contain all of `these`.
fn are_among(these: &[Origin], those: &[Origin]) -> bool {
    these.iter().all(|origin| those.binary_search(origin).is_ok())
}

impl FromIterator<Origin> for Origins {
    fn from_iter<I: IntoIterator<Item = Origin>>(all: I) -> Self {
        let all: BTreeSet<Origin> = all.into_iter().collect();
        Self((!all.is_empty()).then(|| all.into_iter().collect()))
    }
}

impl Serialize for Origins {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Origins {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(|value| Self::from_json(&value))
    }
}

/// The origins of one kind's values, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    /// The origins of writes at this place; they apply to everything below without labels of its own.
    own: Origins,
    /// Whether this place was overwritten as a whole, so that labels above do not apply here.
    anew: bool,
    /// Most places have no children.
    children: Option<Box<ByName<Name, Labels>>>,
}

/// Stored as a list: own labels, `anew`, the children by name, and whether there are any.
impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let below: Vec<(&Name, &Labels)> = self.children.iter().flat_map(|children| children.iter()).collect();
        (&self.own, self.anew, below, self.children.is_some()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (own, anew, below, has) = <(Origins, bool, Vec<(Name, Labels)>, bool)>::deserialize(from)?;
        Ok(Self { own, anew, children: has.then(|| Box::new(below.into_iter().collect())) })
    }
}

impl Labels {
    /// Labels a write.
    pub(crate) fn write(&mut self, path: &[Segment], method: Method, value: &Value, origins: &Origins) {
        match path.split_first() {
            // An index from the end may be any element, so the list and all its elements get the label.
            Some((segment, _)) if segment.is_from_end() => self.join_everywhere(origins),
            Some((segment, rest)) => {
                self.child(segment.name()).write(rest, method, value, origins);
            }
            None => match (method, value) {
                // An empty object at a new place also has an origin.
                (Method::Merge | Method::Assign, Value::Object(fields)) if fields.is_empty() && self.is_blank() => {
                    self.own = origins.clone();
                }
                (Method::Merge | Method::Assign, Value::Object(fields)) => {
                    for (name, value) in fields {
                        let child = self.child(name.into());
                        let deep = method == Method::Merge && value.is_object();
                        child.write(&[], if deep { method } else { Method::Set }, value, origins);
                    }
                }
                (Method::Push | Method::Concat, _) => self.own.join(origins),
                _ => *self = Labels { own: origins.clone(), anew: true, children: None },
            },
        }
    }

    /// The labels of a path: those on the way since the last overwrite, and those of everything below.
    pub(crate) fn at(&self, path: &[Segment]) -> Origins {
        let mut found = self.own.clone();
        let mut node = self;
        for segment in path {
            if segment.is_from_end() {
                break;
            }
            match node.children.as_ref().and_then(|children| children.get(segment.key().as_ref())) {
                Some(child) => node = child,
                None => return found,
            }
            if node.anew {
                found = node.own.clone();
            } else {
                found.join(&node.own);
            }
        }
        node.gather(&mut found);
        found
    }

    /// Adds origins to a place and to all labels below it.
    pub(crate) fn join_below(&mut self, path: &[Segment], origins: &Origins) {
        match path.split_first() {
            Some((segment, rest)) if !segment.is_from_end() => {
                self.child(segment.name()).join_below(rest, origins);
            }
            _ => self.join_everywhere(origins),
        }
    }

    fn join_everywhere(&mut self, origins: &Origins) {
        self.own.join(origins);
        for child in self.children.iter_mut().flat_map(|children| children.values_mut()) {
            child.join_everywhere(origins);
        }
    }

    fn is_blank(&self) -> bool {
        self.own.0.is_none() && self.children.is_none()
    }

    fn child(&mut self, name: Name) -> &mut Labels {
        self.children.get_or_insert_default().entry(name).or_default()
    }

    fn gather(&self, found: &mut Origins) {
        for child in self.children.iter().flat_map(|children| children.values()) {
            found.join(&child.own);
            child.gather(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::segments_of as at;
    use serde_json::json;

    fn page() -> Origins {
        Origins::of(Origin::Tool { name: "page".into(), trusted: false })
    }

    #[test]
    fn an_empty_object_has_an_origin_too() {
        let mut labels = Labels::default();
        labels.write(&at("†s.x"), Method::Merge, &json!({}), &page());
        assert!(!labels.at(&at("†s.x")).is_trusted());
        labels.write(&at("†s.y"), Method::Set, &json!({"a": 1}), &Origins::of(Origin::User));
        labels.write(&at("†s.y"), Method::Merge, &json!({}), &page());
        assert!(labels.at(&at("†s.y.a")).is_trusted());
    }

    #[test]
    fn labels_survive_writing_and_reading() {
        let all = page().joined(&Origins::of(Origin::User)).joined(&Origins::of(Origin::Model));
        assert_eq!(Origins::from_json(&all.to_json()), all);
        assert_eq!(Origins::from_json(&json!(["x", 5])), Origins::default());
    }
}
