//! What a message does to the value at a place.

use serde_json::Value;

use super::Data;
use crate::fold::Method;
use crate::path::Segment;

/// The effect of a write on a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteEffect {
    /// Nothing.
    Not,
    /// It adds to the value, or is a part of it.
    Adds,
    /// It replaces the value.
    Covers,
}

impl Data {
    /// The effect of this message on a place of its kind.
    pub fn effect_on(&self, place: &[Segment]) -> WriteEffect {
        let (path, method, Some(value)) = self.operation() else { return WriteEffect::Not };
        if !path.iter().zip(place).all(|(a, b)| a.may_equal(b)) {
            return WriteEffect::Not;
        }
        let from_the_end = path.iter().zip(place).any(|(a, b)| a.is_from_end() || b.is_from_end());
        // A write below the place, or perhaps beside it, is a part of its value.
        let Some(mut rest) = place.get(path.len()..).filter(|_| !from_the_end && path.len() <= place.len()) else {
            return WriteEffect::Adds;
        };
        let (mut value, mut method) = (value, method);
        loop {
            match (method, value, rest.split_first()) {
                (Method::Push | Method::Concat, ..) => return WriteEffect::Adds,
                (Method::Merge | Method::Assign, Value::Object(_), None) => return WriteEffect::Adds,
                (Method::Merge | Method::Assign, _, Some((step, _))) if step.is_from_end() => return WriteEffect::Adds,
                (Method::Merge | Method::Assign, Value::Object(fields), Some((step, below))) => {
                    // A merge does not change what it does not name.
                    let Some(inner) = fields.get(step.key().as_ref()) else { return WriteEffect::Not };
                    let deep = method == Method::Merge && inner.is_object();
                    (value, rest, method) = (inner, below, if deep { method } else { Method::Set });
                }
                _ => return WriteEffect::Covers,
            }
        }
    }
}
