//! Reading files that may hold anything: bounded, and with the place at fault in every complaint.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use obelus_kernel::Context;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::output;

/// Larger files are refused before they are read, so that memory stays bounded.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a text file; `-` is stdin.
pub(crate) fn text(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
    };
    read.with_context(|| name(path))?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("{}: larger than {} MiB", name(path), MOST_BYTES / 1024 / 1024);
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..good].iter().filter(|&&b| b == b'\n').count() + 1;
        anyhow::anyhow!("{}: not UTF-8: line {line}, byte {good}", name(path))
    })
}

/// What a file is called in messages.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { output::visible(&path.display().to_string()) }
}

/// A request: what an agent is given, and what it should return.
pub(crate) struct Request {
    pub(crate) context: Context,
}

/// Reads a request, or a bare array of messages as its context.
pub(crate) fn request(path: &Path) -> Result<Request> {
    let text = text(path)?;
    let context = if text.trim_start().starts_with('[') {
        Context::from_json(&text)
    } else {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(&text)
            .with_context(|| format!("{}: not a request: it is an object with a `context`", name(path)))?;
        for field in fields.keys().filter(|field| !["context", "schema", "solution"].contains(&field.as_str())) {
            output::warning(&format!("{}: nothing reads the field `{field}`", name(path)));
        }
        let Some(context) = fields.get("context") else {
            bail!("{}: the request has no `context`, an array of messages", name(path));
        };
        if let Some(schema) = fields.get("schema") {
            let schema: Value =
                serde_json::from_str(schema.get()).with_context(|| format!("{}: `schema`", name(path)))?;
            if !schema.is_object() && !schema.is_boolean() && !schema.is_null() {
                bail!("{}: `schema` is a JSON Schema, not {}", name(path), obelus_kernel::type_name(&schema));
            }
        }
        Context::from_json(context.get())
    };
    let context = context.with_context(|| name(path))?;
    for (index, field) in context.ignored() {
        output::warning(&format!("{}: message {index}: nothing reads the field `{field}`", name(path)));
    }
    Ok(Request { context })
}
