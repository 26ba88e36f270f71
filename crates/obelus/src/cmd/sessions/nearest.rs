//! The nearest right name, for a session or a field that does not exist.

use std::borrow::Cow;

use anyhow::Result;
use obelus_kernel::session::Session;
use obelus_kernel::{Expr, Path, closest};
use obelus_runtime::{HostError, StoreError};
use serde_json::Value;

use super::super::people::with_store;
use super::inspect;
use crate::cli::StoreArgs;
use crate::command_error::{Declined, UNKNOWN_SESSION};
use crate::language::{fill, words_of};

/// The same error with the nearest name of a session, if the named one does not exist, or with the command that lists
/// all.
pub(super) fn of_session<T>(done: Result<T>, at: &StoreArgs) -> Result<T> {
    done.map_err(|error| {
        let Some(id) = error.chain().find_map(unknown) else { return error };
        let rows = inspect::open(at).ok().flatten().and_then(|store| store.list().ok()).unwrap_or_default();
        let names: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let phrases = words_of(None);
        // Names of one or two letters are all similar to each other.
        let hint = match closest(id, &names).filter(|_| id.chars().count() > 2) {
            Some(near) => fill(phrases.starting.did_you_mean, &[near]),
            None => fill(phrases.starting.all_sessions, &[&with_store("obelus sessions list", at)]),
        };
        let words = StoreError::Unknown(id.to_owned()).in_words(phrases.language);
        Declined { code: UNKNOWN_SESSION.to_owned(), words: words + &hint, language: phrases.language }.into()
    })
}

fn unknown<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a str> {
    match (cause.downcast_ref(), cause.downcast_ref()) {
        (Some(StoreError::Unknown(id)), _) | (_, Some(HostError::Store(StoreError::Unknown(id)))) => Some(id),
        _ => None,
    }
}

/// The nearest path that has a value, for a path that has none.
pub(in crate::cmd) fn path(session: &Session, expr: &str) -> Option<String> {
    let expr = Expr::parse(expr).ok()?;
    let [path] = expr.refs()[..] else { return None };
    let context = session.context();
    let kinds: Vec<&str> = context.views().map(|(kind, _)| kind).collect();
    if !kinds.contains(&path.kind.as_str()) {
        let kind = closest(&path.kind, &kinds)?;
        return Some(Path { kind: kind.into(), segments: path.segments.clone() }.to_string());
    }
    let mut value = match path.kind.as_str() {
        "state" => Cow::Owned(session.state()),
        kind => context.read(&Path::root(kind), None)?,
    };
    for (index, segment) in path.segments.iter().enumerate() {
        if let Some(inner) = segment.of(&value).cloned() {
            value = Cow::Owned(inner);
            continue;
        }
        let Value::Object(fields) = &*value else { return None };
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        let near = closest(&segment.key(), &names)?;
        let mut right = Path::clone(path);
        right.segments.truncate(index);
        right.segments.push(obelus_kernel::memory::Segment::Field(near.into()));
        return Some(right.to_string());
    }
    None
}
