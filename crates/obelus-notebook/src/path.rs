//! Paths into memory: a kind, and the segments below it.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;
use smallvec::{SmallVec, smallvec};

use crate::names::Name;

/// The deepest nesting in a context, and the most segments of a path.
pub const MAX_DEPTH: usize = 64;

/// One segment of a path, in the form in which it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// `.name`: a key of an object. Digits are also an index of an array.
    Field(Name),
    /// `["name"]`: a key of an object.
    Key(Name),
    /// `[0]`, `[-1]`: an element of an array; negative indexes count from the end.
    Index(i64),
}

impl Segment {
    /// The child of `value` at this segment.
    pub fn of<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match (self, value) {
            (Segment::Field(key) | Segment::Key(key), Value::Object(map)) => map.get(key.as_str()),
            (_, Value::Array(items)) => items.get(self.element(items.len())?),
            _ => None,
        }
    }

    /// The index of this segment in an array of `len` elements, if it is in range.
    pub fn element(&self, len: usize) -> Option<usize> {
        let index = match self {
            Segment::Field(text) if is_digits(text) => text.parse().ok()?,
            Segment::Index(n) if *n >= 0 => usize::try_from(*n).ok()?,
            Segment::Index(n) => len.checked_sub(usize::try_from(n.unsigned_abs()).ok()?)?,
            _ => return None,
        };
        (index < len).then_some(index)
    }

    /// The key of this segment in an object.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            Segment::Field(key) | Segment::Key(key) => Cow::Borrowed(key),
            Segment::Index(n) => n.to_string().into(),
        }
    }

    /// The key of this segment as a name.
    pub(crate) fn name(&self) -> Name {
        match self {
            Segment::Field(key) | Segment::Key(key) => key.clone(),
            Segment::Index(n) => n.to_string().into(),
        }
    }

    /// Whether two segments can refer to the same place. An index from the end can be any element.
    pub(crate) fn may_equal(&self, other: &Segment) -> bool {
        match (self.is_from_end(), other.is_from_end()) {
            (false, false) => self.key() == other.key(),
            (true, true) => true,
            (true, false) => is_digits(&other.key()),
            (false, true) => is_digits(&self.key()),
        }
    }

    /// Whether this is an index from the end, such as `[-1]`.
    pub(crate) fn is_from_end(&self) -> bool {
        matches!(self, Segment::Index(n) if *n < 0)
    }
}

/// Whether a text is an index: digits, without a sign or a leading zero.
pub fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

/// The segments below a kind. Most paths have one, which needs no allocation.
pub(crate) type Segments = SmallVec<[Segment; 1]>;

/// A place in the context: `†state.deal.items[0]["unit price"]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The kind of data.
    pub kind: Name,
    /// The segments below it, outermost first.
    pub segments: Segments,
}

impl Path {
    /// The root of a kind.
    pub fn root(kind: impl Into<Name>) -> Self {
        Self { kind: kind.into(), segments: Segments::new() }
    }

    /// A field of a kind.
    pub fn field(kind: impl Into<Name>, name: impl Into<Name>) -> Self {
        Self { kind: kind.into(), segments: smallvec![Segment::Key(name.into())] }
    }

    /// The value at this path in the `data` of a message, which contains it as nested objects.
    pub(crate) fn spelled_in<'a>(&self, data: &'a Value) -> Option<&'a Value> {
        value_at(data, &self.segments)
    }

    /// The same, if `data` consists only of nested objects along this path.
    pub fn spelled_alone_in<'a>(&self, data: &'a Value) -> Option<&'a Value> {
        self.segments.iter().try_fold(data, |value, segment| match value {
            Value::Object(map) if map.len() == 1 => map.get(segment.key().as_ref()),
            _ => None,
        })
    }

    /// Nested objects along this path, with `value` at its end.
    pub fn spell(&self, value: Value) -> Value {
        nested(&self.segments, value)
    }

    /// The value at the end of `data` that consists only of nested objects along this path.
    pub(crate) fn within(&self, data: Value) -> Value {
        self.segments.iter().fold(data, |value, segment| match value {
            Value::Object(mut map) => map.swap_remove(segment.key().as_ref()).unwrap_or_default(),
            other => other,
        })
    }

    /// Whether one path may be a prefix of the other, so that a read of one sees a write to the other.
    pub fn overlaps(&self, other: &Path) -> bool {
        self.kind == other.kind && self.segments.iter().zip(&other.segments).all(|(a, b)| a.may_equal(b))
    }

    /// Whether a write here replaces or creates the value at the other path: it is the same path or a prefix of it.
    pub fn covers(&self, other: &Path) -> bool {
        self.segments.len() <= other.segments.len() && self.overlaps(other)
    }
}

/// The value at these segments.
pub fn value_at<'a>(value: &'a Value, segments: &[Segment]) -> Option<&'a Value> {
    segments.iter().try_fold(value, |value, segment| match value {
        Value::Object(map) => map.get(segment.key().as_ref()),
        Value::Array(items) => items.get(segment.element(items.len())?),
        _ => None,
    })
}

/// Nested objects along these segments, with `value` at the end.
pub(crate) fn nested(segments: &[Segment], value: Value) -> Value {
    segments
        .iter()
        .rev()
        .fold(value, |inner, segment| Value::Object(std::iter::once((segment.key().into_owned(), inner)).collect()))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "†{}", self.kind)?;
        for segment in &self.segments {
            match segment {
                Segment::Field(name) => write!(f, ".{name}")?,
                Segment::Key(name) => write!(f, "[{}]", Value::from(name.as_str()))?,
                Segment::Index(n) => write!(f, "[{n}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digits_address_an_element_or_a_key_depending_on_the_value() {
        let zero = Segment::Field("0".into());
        assert_eq!(zero.of(&json!(["a"])), Some(&json!("a")));
        assert_eq!(zero.of(&json!({"0": "b"})), Some(&json!("b")));
        assert_eq!(Segment::Index(0).of(&json!({"0": "b"})), None);
        assert_eq!(Segment::Key("0".into()).of(&json!(["a"])), None);
        assert_eq!(Segment::Field("00".into()).of(&json!(["a"])), None);
    }

    #[test]
    fn a_negative_index_can_be_any_element_but_not_a_name() {
        let last = Segment::Index(-1);
        assert!(last.may_equal(&Segment::Field("3".into())));
        assert!(last.may_equal(&Segment::Index(-2)));
        assert!(!last.may_equal(&Segment::Field("name".into())));
    }
}
