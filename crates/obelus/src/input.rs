//! Reading files that may hold anything: bounded, and with the place at fault in every complaint.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use obelus_runtime::Request;

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

/// Reads a request in JSON or YAML, or a bare array of messages as its context.
pub(crate) fn request(path: &Path) -> Result<Request> {
    let text = text(path)?;
    let request = Request::parse(Path::new(&name(path)), &text)?;
    for field in &request.ignored {
        output::warning(&format!("{}: nothing reads the field `{field}`", name(path)));
    }
    for (index, field) in request.context.ignored() {
        output::warning(&format!("{}: message {index}: nothing reads the field `{field}`", name(path)));
    }
    Ok(request)
}
