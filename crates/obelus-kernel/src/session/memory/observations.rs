//! The places of observations' digests in memory.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Memory;
use crate::expr::OutputPath;
use crate::fold::Method;
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use obelus_notebook::call_json::CallJson;

/// A place to which a digest was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::session) struct DigestPlace {
    path: String,
    pub(in crate::session) instance: Option<String>,
    pub(in crate::session) digest: String,
}

impl DigestPlace {
    /// The place that a call is about to write, if the value is a digest.
    pub(super) fn of(path: &Path, instance: Option<&str>, value: &Value) -> Option<Self> {
        let digest = value["digest"].as_str()?.to_owned();
        Some(Self { path: path.to_string(), instance: instance.map(str::to_owned), digest })
    }
}

impl Memory {
    /// The places that still have a digest.
    pub(in crate::session) fn current_digests(&self) -> impl Iterator<Item = (Path, &DigestPlace)> {
        self.digests.iter().filter_map(|of| {
            let path = OutputPath::parse(&of.path).ok()?;
            let mut path = Path::clone(path.paths().next()?);
            let value = self.context.read(&path, of.instance.as_deref())?;
            let is_it = |value: &Value| value["digest"] == of.digest.as_str();
            if let Value::Array(items) = value.as_ref() {
                let index = items.iter().rposition(is_it)?;
                path.segments.push(Segment::Index(i64::try_from(index).ok()?));
            } else if !is_it(&value) {
                return None;
            }
            Some((path, of))
        })
    }

    /// Records written digests. Overwritten places are dropped.
    pub(super) fn note_digests(&mut self, digests: Vec<DigestPlace>) {
        if digests.is_empty() {
            return;
        }
        let standing = self.current_digests().map(|(_, of)| of.clone()).filter(|of| !digests.contains(of));
        self.digests = standing.collect::<Vec<_>>().into_iter().chain(digests).collect();
    }

    /// Sets the places of digests to null, because the observations are lost.
    pub(in crate::session) fn forget_observations(&mut self) {
        let places: Vec<_> = self.current_digests().map(|(path, of)| (path, of.instance.clone())).collect();
        for (path, instance) in places {
            let (call, origins) = (CallJson::of_tool("forgotten"), Origins::of(Origin::Author));
            let written = self.write(call, Arc::new(path), instance, Method::Set, Value::Null, origins);
            debug_assert!(written.is_ok());
        }
        self.digests.clear();
    }

    /// Whether a delegate was given this digest.
    pub(in crate::session) fn mentions_digest(&self, digest: &str) -> bool {
        let whole = |(kind, _): (&str, _)| self.context.read(&Path::root(kind), None);
        self.context.views().filter_map(whole).any(|value| mentions(&value, digest))
    }
}

/// Whether an object somewhere in a value has this digest.
pub(in crate::session) fn mentions(value: &Value, digest: &str) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get("digest").is_some_and(|found| found == digest)
                || fields.values().any(|inner| mentions(inner, digest))
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, digest)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_digest_is_found_anywhere_in_a_value() {
        assert!(mentions(&json!([{"x": {"digest": "one"}}]), "one"));
        assert!(!mentions(&json!({"text": "one", "digest": "two"}), "one"));
    }
}
