//! Errors in the saved requests of delegates (DEL-1). Without this check they are found when a delegate starts, and
//! misspelt fields never.

use std::path::{Path, PathBuf};

use obelus_kernel::{Context, Tool};
use obelus_runtime::files::{Places, RequestError, read_document};
use obelus_runtime::{Request, SessionSpec};

use super::faults::{at, place_of_tool};
use crate::input;

/// The depth limit of nested delegates, as for sessions.
const DEEPEST: usize = 8;

/// What is wrong with a saved request, and where the request or the agent names it.
pub(crate) struct DelegateFault {
    /// The place in the file of the request or agent, as a dotted path.
    pub(crate) field: String,
    /// What is wrong, and where in the file of the delegate.
    pub(crate) text: String,
    /// Whether the delegate can run nevertheless.
    pub(crate) is_note: bool,
}

/// All errors and notes about the saved requests that tools of a session name, and those that these name in turn.
pub(crate) fn delegate_faults(spec: &SessionSpec) -> Vec<DelegateFault> {
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for tool in spec.context.tools() {
        let Some(path) = saved_request(tool) else { continue };
        let inner = if tool.schema["_delegate"].is_null() { "properties._delegate.const" } else { "_delegate" };
        let field = format!("{}.{inner}", place_of_tool(spec, &tool.name));
        let mut problems = Vec::new();
        check(&spec.folder, path, DEEPEST, &mut seen, &mut problems);
        found.extend(problems.into_iter().map(|(is_note, text)| {
            let text = format!("the delegate of `{}`: {text}", tool.name);
            DelegateFault { field: field.clone(), text, is_note }
        }));
    }
    found
}

/// The file of a tool's delegate. Other requests are not at hand: an address, one without a file, the model's choice.
fn saved_request(tool: &Tool) -> Option<&str> {
    tool.fixed_name("_delegate").filter(|path| !path.is_empty() && *path != "anonymous" && !path.contains("://"))
}

/// Adds what is wrong with one saved request, each with whether it is a mere note. A file is checked once.
fn check(folder: &Path, path: &str, depth: usize, seen: &mut Vec<PathBuf>, problems: &mut Vec<(bool, String)>) {
    let Some(file) = inside(folder, path, problems) else { return };
    if depth == 0 || seen.contains(&file) {
        return;
    }
    seen.push(file.clone());
    match read(&file, Path::new(path)) {
        Err(text) => problems.push((false, text)),
        Ok(None) => {}
        Ok(Some((request, text))) => {
            let places = Places::of(&text);
            for field in &request.ignored {
                let place = at(places.find_key(field));
                problems.push((true, format!("{path}{place}: the field `{field}` is not used")));
            }
            delegates_of(&request.context).for_each(|path| check(folder, path, depth - 1, seen, problems));
        }
    }
}

fn delegates_of(context: &Context) -> impl Iterator<Item = &str> {
    context.tools().filter_map(|tool| saved_request(tool))
}

/// The real path of a saved request, if it is a file inside the agent's folder.
fn inside(folder: &Path, path: &str, problems: &mut Vec<(bool, String)>) -> Option<PathBuf> {
    // A request from stdin names files in the working folder.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let leads_out = || format!("`{path}` leads out of the agent's folder, where saved requests are");
    if Path::new(path).is_absolute() || path.split(['/', '\\']).any(|part| part == "..") {
        problems.push((false, leads_out()));
        return None;
    }
    let (Ok(real), Ok(own)) = (folder.join(path).canonicalize(), folder.canonicalize()) else {
        problems.push((false, format!("there is no file `{path}` in {}", folder.display())));
        return None;
    };
    if !real.starts_with(&own) {
        problems.push((false, leads_out()));
        return None;
    }
    Some(real)
}

/// A saved request and its text; none if it has no context, which a delegate may do without. Errors name the file as
/// the tool does.
fn read(file: &Path, name: &Path) -> Result<Option<(Request, String)>, String> {
    let text = input::text(file).map_err(|error| format!("{error:#}"))?;
    let document = read_document(name, &text).map_err(|error| error.to_string())?;
    if document.is_array() {
        return Err(format!("{}: a saved request is an object with a `context`, not a list", name.display()));
    }
    match Request::parse(name, &text) {
        Ok(request) => Ok(Some((request, text))),
        // With a position the error names the field that was meant to be the context.
        Err(RequestError::Syntax { place: None, .. }) if document["context"].is_null() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
