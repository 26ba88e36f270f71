//! What the model is shown and nobody keeps: a page, a picture of it.
//!
//! A tool with `x-keep: digest` brings something to look at. The driver takes it off before the session hears of the
//! call's end, so that no journal, log or state ever has it, and keeps the latest in memory. What the session has is a
//! digest, at the place that the call writes. As long as that digest stands there, requests show what it stands for;
//! when the driver has lost it, as after a restart, the session is told, and the places become null.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::picture::digest;
use super::{Input, Session};
use crate::expr::OutputPath;
use crate::fold::Method;
use crate::message::{Data, Message};
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};

/// What a call brought to be looked at. Its words and its picture are written nowhere: where this is serialised or
/// printed for a developer, only the digest is.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// The tool.
    pub tool: String,
    /// SHA-256 of the text, as `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// What there is to read.
    #[serde(skip_serializing)]
    pub text: String,
    /// The file of the picture, if there is one.
    #[serde(skip_serializing)]
    pub image: Option<PathBuf>,
}

impl Observation {
    /// What a tool brought.
    pub fn new(tool: impl Into<String>, text: impl Into<String>, image: Option<PathBuf>) -> Self {
        let text = text.into();
        Self { tool: tool.into(), digest: digest(&text), text, image }
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation").field("tool", &self.tool).field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// A place to which a digest was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Observed {
    path: String,
    instance: Option<String>,
    digest: String,
}

impl Observed {
    /// What a call is about to write, if it is a digest.
    pub(super) fn of(path: &Path, instance: Option<&str>, value: &Value) -> Option<Self> {
        let digest = value["digest"].as_str()?.to_owned();
        Some(Self { path: path.to_string(), instance: instance.map(str::to_owned), digest })
    }
}

impl Session {
    /// Whether a request that was handed out shows what this digest stands for.
    pub fn shows_observation(&self, id: &str, digest: &str) -> bool {
        if let Some((job, rest)) = id.split_once('/') {
            return self.child(job).is_some_and(|child| child.shows_observation(rest, digest));
        }
        let Ok(number) = id.parse::<u64>() else { return false };
        if let Some(at) = self.sub_requests.get(&number) {
            // Whoever carries out one call sees what that call was given.
            let job = self.steps.get(&at.step).and_then(|step| step.jobs.get(at.job as usize));
            return job.is_some_and(|job| {
                let call = job.frozen.as_ref().is_some_and(|frozen| mentions(&frozen.call, digest));
                call || job.scope.iter().any(|message| mentions(message, digest))
            });
        }
        let is_shown = |path: &Path, instance: Option<&str>| {
            !self.plans_before_reading() || self.context.origins(path, instance).is_trusted()
        };
        let mut own = self.held().filter(|(_, of)| of.digest == digest);
        own.any(|(path, of)| is_shown(&path, of.instance.as_deref())) || self.was_given(digest)
    }

    /// Whether a digest stands anywhere in the session, so that something is meant to be before the model's eyes.
    pub fn has_observations(&self) -> bool {
        self.held().next().is_some() || self.children().any(|(_, child)| child.has_observations())
    }

    /// Whether this is a delegate that was given the digest along with its task.
    fn was_given(&self, digest: &str) -> bool {
        let whole = |(kind, _): (&str, _)| self.context.read(&Path::root(kind), None);
        let mut given = self.context.views().filter_map(whole);
        self.depth > 0 && !self.plans_before_reading() && given.any(|value| mentions(&value, digest))
    }

    /// The places where a digest still stands.
    fn held(&self) -> impl Iterator<Item = (Path, &Observed)> {
        self.observed.iter().filter_map(|of| {
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

    /// Digests were written.
    pub(super) fn note_seen(&mut self, observed: Vec<Observed>) {
        if observed.is_empty() {
            return;
        }
        // What was written over, by whomever, is of no interest any more.
        let held: Vec<Observed> = self.held().map(|(_, of)| of.clone()).filter(|of| !observed.contains(of)).collect();
        self.observed = held.into_iter().chain(observed).collect();
    }

    /// What was before the model's eyes is gone: no place says any longer that it is there.
    pub(super) fn forget_seen(&mut self) {
        let places: Vec<_> = self.held().map(|(path, of)| (path, of.instance.clone())).collect();
        for (path, instance) in places {
            let call = Arc::new(json!({"_tool": "forgotten"}));
            let mut data = Data::result(call, Arc::new(path), Some(self.date()), Value::Null);
            data.instance = instance;
            data.method = Some(Method::Set);
            data.origins = Some(Origins::of(Origin::Author));
            self.remember(Message::Data(Box::new(data)));
        }
        self.observed.clear();
        let children: Vec<String> = self.children().map(|(id, _)| id).collect();
        for id in children {
            self.tell_child(&id, Input::Forgotten);
        }
    }
}

/// Whether an object somewhere in a value has this digest.
fn mentions(value: &Value, digest: &str) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get("digest").is_some_and(|found| found == digest)
                || fields.values().any(|inner| mentions(inner, digest))
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, digest)),
        _ => false,
    }
}
