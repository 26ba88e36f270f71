//! Reads files; every error names the place at fault.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context as _, Result};
use obelus_runtime::Request;
use obelus_runtime::files::{Places, read_text, read_text_from};

use crate::output;

/// Reads a text file; `-` is stdin.
pub(crate) fn text(path: &Path) -> Result<String> {
    let text = if path == Path::new("-") { read_text_from(std::io::stdin().lock()) } else { read_text(path) };
    text.with_context(|| name(path))
}

/// The name of a file in messages.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { output::visible(&path.display().to_string()) }
}

/// An expression as a person types it: the leading † may be omitted.
pub(crate) fn expression(typed: &str) -> Cow<'_, str> {
    if typed.starts_with(|first: char| first.is_alphanumeric() || first == '_') {
        Cow::Owned(format!("†{typed}"))
    } else {
        Cow::Borrowed(typed)
    }
}

/// Reads a request in JSON or YAML, or a bare array of messages as its context.
pub(crate) fn request(path: &Path) -> Result<Request> {
    request_from(path, &text(path)?)
}

/// The same from the text of the file.
pub(crate) fn request_from(path: &Path, text: &str) -> Result<Request> {
    let request = Request::parse(Path::new(&name(path)), text)?;
    if !request.ignored.is_empty() {
        let places = Places::of(text);
        for field in &request.ignored {
            let place = places.find_key(field).map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
            output::warning(&format!("{}{place}: the field `{field}` is not used", name(path)));
        }
    }
    for (index, field) in request.context.ignored() {
        output::warning(&format!("{}: message {index}: the field `{field}` is not used", name(path)));
    }
    Ok(request)
}
